// SPDX-License-Identifier: Apache-2.0
// row_ops.h - vector instructions on fp32 matrices [rows][columns] whose columns are a multiple of a repeat.
// Every function orders itself behind earlier vector instructions: what it reads is there.
#pragma once
#include "common/vector_ops.h"

namespace sals::sfaa {

using Floats = AscendC::LocalTensor<float>;

struct Shape {
    int32_t rows;
    int32_t columns;
    SALS_DEVICE int32_t size() const { return rows * columns; }
};

// One instruction's share of a matrix: repeats along a row, or one column of repeats over all rows, whatever
// takes fewer instructions.
struct Sweep {
    int32_t offset;  // of the first repeat in the matrix
    int32_t row;     // of the first repeat
    int32_t column;  // of the first repeat
    int32_t repeats;
    uint8_t stride;         // datablocks from repeat to repeat: of the matrix,
    uint8_t row_stride;     // of a datablock per row,
    uint8_t column_stride;  // and of a row of columns
};

template <class Use>
SALS_DEVICE void for_each_sweep(const Shape& shape, Use&& use) {
    const int32_t in_row = shape.columns / F32_LANES;
    constexpr uint8_t REPEAT = F32_LANES / F32_DATABLOCK;
    if (shape.rows < in_row) {
        for (int32_t r = 0; r < shape.rows; ++r)
            use(Sweep{r * shape.columns, r, 0, in_row, REPEAT, 0, REPEAT});
        return;
    }
    const uint8_t next_row = static_cast<uint8_t>(shape.columns / F32_DATABLOCK);
    for (int32_t i = 0; i < in_row; ++i) {
        use(Sweep{i * F32_LANES, 0, i * F32_LANES, shape.rows, next_row, 1, 0});
    }
}

// x[r][c] *= lanes[r]
SALS_DEVICE void multiply_rows(const Floats& x, const Floats& lanes, const Shape& shape) {
    AscendC::PipeBarrier<PIPE_V>();
    for_each_sweep(shape, [&](const Sweep& s) {
        Mul(x[s.offset], x[s.offset], lanes[s.row * F32_DATABLOCK], F32_LANES, s.repeats,
            AscendC::BinaryRepeatParams(1, 1, 0, s.stride, s.stride, s.row_stride));
    });
}

// x[r][c] /= lanes[r]
SALS_DEVICE void divide_rows(const Floats& x, const Floats& lanes, const Shape& shape) {
    AscendC::PipeBarrier<PIPE_V>();
    for_each_sweep(shape, [&](const Sweep& s) {
        Div(x[s.offset], x[s.offset], lanes[s.row * F32_DATABLOCK], F32_LANES, s.repeats,
            AscendC::BinaryRepeatParams(1, 1, 0, s.stride, s.stride, s.row_stride));
    });
}

// x[r][c] = x[r][c] * factor[r] + summand[r]
SALS_DEVICE void scale_and_shift_rows(const Floats& x, const Floats& factor, const Floats& summand,
                                      const Shape& shape) {
    AscendC::PipeBarrier<PIPE_V>();
    for_each_sweep(shape, [&](const Sweep& s) {
        FusedMulAdd(x[s.offset], factor[s.row * F32_DATABLOCK], summand[s.row * F32_DATABLOCK], F32_LANES,
                    s.repeats, AscendC::BinaryRepeatParams(1, 0, 0, s.stride, s.row_stride, s.row_stride));
    });
}

// x[r][c] = x[r][c] * lanes[r] + summand[r][c]
SALS_DEVICE void multiply_rows_and_add(const Floats& x, const Floats& lanes, const Floats& summand,
                                       const Shape& shape) {
    AscendC::PipeBarrier<PIPE_V>();
    for_each_sweep(shape, [&](const Sweep& s) {
        FusedMulAdd(x[s.offset], lanes[s.row * F32_DATABLOCK], summand[s.offset], F32_LANES, s.repeats,
                    AscendC::BinaryRepeatParams(1, 0, 1, s.stride, s.row_stride, s.stride));
    });
}

// x[r][c] *= factor[c]
SALS_DEVICE void multiply_columns(const Floats& x, const Floats& factor, const Shape& shape) {
    AscendC::PipeBarrier<PIPE_V>();
    for_each_sweep(shape, [&](const Sweep& s) {
        Mul(x[s.offset], x[s.offset], factor[s.column], F32_LANES, s.repeats,
            AscendC::BinaryRepeatParams(1, 1, 1, s.stride, s.stride, s.column_stride));
    });
}

// lanes[r] = x[r], a whole datablock of it
SALS_DEVICE void spread_rows(const Floats& lanes, const Floats& x, int32_t rows) {
    AscendC::PipeBarrier<PIPE_V>();
    Brcb(lanes, x, static_cast<uint8_t>((rows + F32_DATABLOCK - 1) / F32_DATABLOCK), {1, F32_DATABLOCK});
}

enum class Fold { MAX, SUM };

// dst = the fold of each datablock of src that the mask, a number of lanes or their bits, selects.
template <Fold FOLD, class Mask>
SALS_DEVICE void fold_datablocks(const Floats& dst, const Floats& src, int32_t repeats, const Mask& mask,
                                 int32_t stride) {
    AscendC::PipeBarrier<PIPE_V>();
    if constexpr (FOLD == Fold::MAX) {
        AscendC::BlockReduceMax(dst, src, repeats, mask, 1, 1, stride);
    } else {
        AscendC::BlockReduceSum(dst, src, repeats, mask, 1, 1, stride);
    }
}

struct FoldScratch {
    Floats datablocks;  // a number per datablock
    Floats repeats;     // a datablock per row
};

// result[r] = fold of x[r][...], up to the next whole datablock of rows; up to 512 columns, in a fixed order:
// to a number per datablock, then to one per repeat, then to one per row.
template <Fold FOLD>
SALS_DEVICE void fold_rows(const Floats& result, const Floats& x, const FoldScratch& scratch,
                           const Shape& shape) {
    const int32_t in_row = shape.columns / F32_LANES;
    uint64_t lanes[2] = {0, 0};
    for (int32_t block = 0; block < F32_DATABLOCK; ++block) {
        lanes[0] |= ((uint64_t{1} << in_row) - 1) << (block * F32_DATABLOCK);
    }
    const int32_t left = shape.columns / F32_DATABLOCK;
    fold_datablocks<FOLD>(scratch.datablocks, x, shape.rows * in_row, F32_LANES, F32_DATABLOCK);
    fold_datablocks<FOLD>(scratch.repeats, scratch.datablocks, shape.rows, left, in_row);
    fold_datablocks<FOLD>(result, scratch.repeats, (shape.rows + F32_DATABLOCK - 1) / F32_DATABLOCK, lanes,
                          F32_DATABLOCK);
}

}  // namespace sals::sfaa
