// SPDX-License-Identifier: Apache-2.0
// selection_attributes.h - the selection arguments, which qsi and both plans take in this order.
#pragma once
#include "common/signature.h"
#include "sals/selection_rules.h"

namespace sals::host {

inline constexpr std::array<Attribute, 9> SELECTION_ATTRIBUTES = {
    required("max_seq_len", Kind::INTEGER),
    integer("block_size", DEFAULT_BLOCK_SIZE),
    integer("keep_num", 1),
    integer("keep_den", 4),
    integer("min_blocks", 0),
    integer("max_blocks", DEFAULT_MAX_BLOCKS),
    real("coverage", 0.0),
    integer("sink_blocks", DEFAULT_SINK_BLOCKS),
    integer("tail_blocks", DEFAULT_TAIL_BLOCKS),
};

// The selection of an aclnn function, whose parameters come in that order.
inline SelectionArgs selection_of(int64_t max_seq_len, int64_t block_size, int64_t keep_num, int64_t keep_den,
                                  int64_t min_blocks, int64_t max_blocks, double coverage,
                                  int64_t sink_blocks, int64_t tail_blocks) {
    SelectionArgs s;
    s.max_seq_len = max_seq_len;
    s.block_size = block_size;
    s.keep_num = keep_num;
    s.keep_den = keep_den;
    s.min_blocks = min_blocks;
    s.max_blocks = max_blocks;
    s.coverage = coverage;
    s.sink_blocks = sink_blocks;
    s.tail_blocks = tail_blocks;
    return s;
}

template <size_t A, size_t B>
constexpr std::array<Attribute, A + B> join(const std::array<Attribute, A>& a,
                                            const std::array<Attribute, B>& b) {
    std::array<Attribute, A + B> all{};
    for (size_t i = 0; i < A; ++i) all[i] = a[i];
    for (size_t i = 0; i < B; ++i) all[A + i] = b[i];
    return all;
}

}  // namespace sals::host
