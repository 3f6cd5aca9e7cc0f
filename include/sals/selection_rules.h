// SPDX-License-Identifier: Apache-2.0
// selection_rules.h - the selection arguments as callers give them, checked. Host only.
#pragma once
#include <cmath>
#include <string>

#include "sals/names.h"
#include "sals/selection.h"
#include "sals/tensor_spec.h"

namespace sals {

struct SelectionArgs {
    int64_t max_seq_len = 0;
    int64_t block_size = DEFAULT_BLOCK_SIZE;
    int64_t keep_num = 1;
    int64_t keep_den = 4;
    int64_t min_blocks = 0;
    int64_t max_blocks = DEFAULT_MAX_BLOCKS;
    double coverage = 0.0;
    int64_t sink_blocks = DEFAULT_SINK_BLOCKS;
    int64_t tail_blocks = DEFAULT_TAIL_BLOCKS;
    std::string order = "index";
};

inline void check_block_size(Checker& check, int64_t block_size) {
    check.require(is_supported_block_size(block_size),
                  "block_size must be 8, 16, 32, 64 or 128, got " + std::to_string(block_size));
}

inline SelectionParams check_selection(Checker& check, const SelectionArgs& a) {
    check.range("max_seq_len", a.max_seq_len, 0, MAX_SEQ_LEN);
    check_block_size(check, a.block_size);
    check.range("keep_den", a.keep_den, 1, MAX_KEEP_DEN);
    check.range("keep_num", a.keep_num, 0, a.keep_den);
    check.range("max_blocks", a.max_blocks, 0, MAX_SELECTED_BLOCKS);
    check.range("min_blocks", a.min_blocks, 0, a.max_blocks);
    check.range("sink_blocks", a.sink_blocks, 0, MAX_SEQ_LEN);
    check.range("tail_blocks", a.tail_blocks, 1, MAX_SEQ_LEN);
    check.require(std::isfinite(a.coverage) && a.coverage >= 0.0,
                  "coverage must be a finite number >= 0, got " + std::to_string(a.coverage));
    check.require(value_named(SELECTION_ORDERS, a.order).has_value(),
                  "order must be one of " + names_in(SELECTION_ORDERS) + ", got " + a.order);
    SelectionParams p;
    p.block_size = a.block_size;
    p.keep_num = a.keep_num;
    p.keep_den = a.keep_den;
    p.min_blocks = a.min_blocks;
    p.max_blocks = a.max_blocks;
    p.sink_blocks = a.sink_blocks;
    p.tail_blocks = a.tail_blocks;
    p.coverage_q = check.ok() ? quantize_coverage(std::fmin(a.coverage, 1.0)) : 0;
    if (check.ok() && a.coverage > 0.0 && p.coverage_q == 0) p.coverage_q = 1;  // tiny, but coverage mode
    return p;
}

}  // namespace sals
