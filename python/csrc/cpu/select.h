// SPDX-License-Identifier: Apache-2.0
// select.h - the exact choice among the scored blocks of one row.
#pragma once
#include <cstdint>
#include <vector>

#include "cpu/qsi_kernels.h"
#include "sals/selection.h"

namespace sals::cpu {

// Memory of one thread, reused from row to row.
struct SelectScratch {
    std::vector<int32_t> keys, masses, ids;
    std::vector<uint64_t> pairs, other_pairs;
};

struct SelectedRow {
    int32_t* ids;   // [width], every element is written
    int64_t width;  // at least the blocks that the rule can keep
};

// Writes the row's list and returns how many candidates are kept. scores[i] is the score of the i-th
// candidate of candidate_blocks(visible, params).
int64_t select_blocks(const QsiKernels& kernels, const float* scores, int64_t visible,
                      const SelectionParams& params, SelectionOrder order, SelectScratch& scratch,
                      SelectedRow row);

}  // namespace sals::cpu
