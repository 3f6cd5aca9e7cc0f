// SPDX-License-Identifier: Apache-2.0
// selection_attributes.h - the selection arguments, which qsi and both plans take in this order.
#pragma once
#include "common/signature.h"
#include "sals/limits.h"

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

template <size_t A, size_t B>
constexpr std::array<Attribute, A + B> join(const std::array<Attribute, A>& a,
                                            const std::array<Attribute, B>& b) {
    std::array<Attribute, A + B> all{};
    for (size_t i = 0; i < A; ++i) all[i] = a[i];
    for (size_t i = 0; i < B; ++i) all[A + i] = b[i];
    return all;
}

}  // namespace sals::host
