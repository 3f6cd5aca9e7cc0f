// SPDX-License-Identifier: Apache-2.0
// softmax_rows.h - rows of floats in UB: one value per row, and a value per row spread or subtracted.
#pragma once
#include <algorithm>

#include "ascendc/softmax_params.h"
#include "ascendc/vec_arithmetic.h"
#include "ascendc/vec_copy.h"
#include "ascendc/vec_reduce_api.h"

namespace AscendC::internal {

// `count` rows, `pitch` elements from row to row, of which the first `valid` take part in maxima and sums.
struct SoftmaxRows {
    uint32_t count;
    uint32_t pitch;
    uint32_t valid;
    sim::Where where;  // implied

    void barrier() const { internal::pipe_barrier(PIPE_V, where); }

    // f(first row, rows, repeat stride) for rows that one instruction can do, one per repeat.
    template <class F>
    void for_batches(F&& f) const {
        constexpr uint32_t MOST = MAX_REPEAT_TIMES / 8 * 8;
        const uint32_t stride = pitch / SOFTMAX_BLOCK;
        const bool fits = stride <= UINT8_MAX;
        const uint32_t step = fits ? MOST : 1;
        for (uint32_t row = 0; row < count; row += step) {
            f(row, std::min(step, count - row), fits ? stride : uint32_t{DEFAULT_REPEAT_STRIDE});
        }
    }
};

using Floats = LocalTensor<float>;

struct RowMaxima {
    static void combine(const Floats& dst, const Floats& a, const Floats& b, uint64_t lanes, U8 rows,
                        const BinaryRepeatParams& strides, sim::Where where) {
        Max(dst, a, b, lanes, rows, strides, where);
    }
    static void finish(const Floats& dst, const Floats& src, uint32_t lanes, U8 rows, uint32_t stride,
                       sim::Where where) {
        WholeReduceMax(dst, src, static_cast<int32_t>(lanes), rows, 1, 1, stride,
                       ReduceOrder::ORDER_ONLY_VALUE, where);
    }
};

struct RowSums {
    static void combine(const Floats& dst, const Floats& a, const Floats& b, uint64_t lanes, U8 rows,
                        const BinaryRepeatParams& strides, sim::Where where) {
        Add(dst, a, b, lanes, rows, strides, where);
    }
    static void finish(const Floats& dst, const Floats& src, uint32_t lanes, U8 rows, uint32_t stride,
                       sim::Where where) {
        WholeReduceSum(dst, src, static_cast<int32_t>(lanes), rows, 1, 1, stride, where);
    }
};

// dst [rows] = one value per row. Rows longer than a repeat are folded into `folded` [rows, 64] first.
template <class Reduction>
void reduce_rows(const Floats& dst, const Floats& src, const Floats& folded, const SoftmaxRows& rows) {
    if (rows.valid <= SOFTMAX_LANES) {
        rows.for_batches([&](uint32_t row, uint32_t n, uint32_t stride) {
            Reduction::finish(dst[row], src[row * rows.pitch], rows.valid, n, stride, rows.where);
        });
        return;
    }
    rows.for_batches([&](uint32_t row, uint32_t n, uint32_t stride) {
        const CopyRepeatParams strides(1, 1, DEFAULT_REPEAT_STRIDE, stride);
        Copy(folded[row * SOFTMAX_LANES], src[row * rows.pitch], uint64_t{SOFTMAX_LANES}, n, strides,
             rows.where);
    });
    for (uint32_t column = SOFTMAX_LANES; column < rows.valid; column += SOFTMAX_LANES) {
        const uint32_t lanes = std::min(SOFTMAX_LANES, rows.valid - column);
        rows.barrier();
        rows.for_batches([&](uint32_t row, uint32_t n, uint32_t stride) {
            const Floats sum = folded[row * SOFTMAX_LANES];
            const BinaryRepeatParams strides(1, 1, 1, DEFAULT_REPEAT_STRIDE, DEFAULT_REPEAT_STRIDE, stride);
            Reduction::combine(sum, sum, src[row * rows.pitch + column], lanes, n, strides, rows.where);
        });
    }
    rows.barrier();
    for (uint32_t row = 0; row < rows.count; row += MAX_REPEAT_TIMES) {
        const uint32_t n = std::min<uint32_t>(MAX_REPEAT_TIMES, rows.count - row);
        Reduction::finish(dst[row], folded[row * SOFTMAX_LANES], SOFTMAX_LANES, n, DEFAULT_REPEAT_STRIDE,
                          rows.where);
    }
}

// blocks [rows rounded up to eights, 8] = every value in a datablock of its own.
inline void spread_rows(const Floats& blocks, const Floats& values, const SoftmaxRows& rows) {
    constexpr uint32_t MOST = MAX_REPEAT_TIMES;
    const uint32_t eights = (rows.count + SOFTMAX_BLOCK - 1) / SOFTMAX_BLOCK;
    for (uint32_t done = 0; done < eights; done += MOST) {
        Brcb(blocks[done * SOFTMAX_LANES], values[done * SOFTMAX_BLOCK], std::min(MOST, eights - done),
             {DEFAULT_BLK_STRIDE, DEFAULT_REPEAT_STRIDE}, rows.where);
    }
}

// dst = src - value of the row, padding included.
inline void subtract_from_rows(const Floats& dst, const Floats& src, const Floats& blocks,
                               const SoftmaxRows& rows) {
    for (uint32_t column = 0; column < rows.pitch; column += SOFTMAX_LANES) {
        const uint32_t lanes = std::min(SOFTMAX_LANES, rows.pitch - column);
        rows.for_batches([&](uint32_t row, uint32_t n, uint32_t stride) {
            const uint32_t at = row * rows.pitch + column;
            Sub(dst[at], src[at], blocks[row * SOFTMAX_BLOCK], uint64_t{lanes}, n,
                BinaryRepeatParams(1, 1, 0, stride, stride, 1), rows.where);
        });
    }
}

}  // namespace AscendC::internal
