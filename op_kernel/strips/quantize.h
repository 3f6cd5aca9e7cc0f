// SPDX-License-Identifier: Apache-2.0
// quantize.h - fp32 rows of a strip to whole codes: clamp(rint(x / scale)), halves to even.
//     scale = amax / largest code, per row; or given per channel
// A scale of 0 gives codes 0: x is divided by infinity instead. Where x is not finite, the row's scale says
// so and codes mean nothing.
// Every function orders itself behind earlier vector instructions: what it reads is there.
#pragma once
#include "strips/memory_plan.h"

namespace sals::strips {

struct CodeRange {
    float lowest;
    float highest;
};
inline constexpr CodeRange INT4_CODES = {-8.0F, 7.0F};
inline constexpr CodeRange INT8_CODES = {-128.0F, 127.0F};

// dst[i] = src[i], but infinity for 0. Whole repeats.
SALS_DEVICE void safe_divisors(const Floats& dst, const Floats& src,
                               const AscendC::LocalTensor<uint8_t>& mask, int32_t count) {
    compare(mask, src, 0.0F, AscendC::CMPMODE::NE, count);
    AscendC::PipeBarrier<PIPE_V>();
    Select(dst, mask, src, __builtin_inff(), AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE,
           static_cast<uint32_t>(count));
}

class Quantize {
public:
    SALS_DEVICE explicit Quantize(const AscendC::LocalTensor<uint8_t>& ub) : ub_(ub) {}

    SALS_DEVICE void open() { fill(scales(), 0.0F, F32_LANES); }

    // One per row, in the first places.
    SALS_DEVICE Floats scales() const { return floats(offsetof(StripPlan, scales)); }

    // Divides rows by their own scales, which remain in scales().
    SALS_DEVICE void divide_by_row_scales(const Floats& x, int32_t rows, int32_t columns,
                                          const CodeRange& codes) {
        const Floats divisors = floats(offsetof(StripPlan, divisors));
        const Floats lanes = floats(offsetof(StripPlan, divisor_lanes));
        find_maxima(x, rows, columns);
        fill(divisors, codes.highest, rows);
        AscendC::PipeBarrier<PIPE_V>();
        Div(scales(), scales(), divisors, rows);
        safe_divisors(divisors, scales(), view<uint8_t>(ub_, offsetof(StripPlan, is_positive)), F32_LANES);
        spread_scales(lanes, divisors, rows);
        AscendC::PipeBarrier<PIPE_V>();
        divide(x, lanes, rows, columns, 0, 1);
    }

    // divisors [columns].
    SALS_DEVICE void divide_by_channels(const Floats& x, const Floats& divisors, int32_t rows,
                                        int32_t columns) {
        AscendC::PipeBarrier<PIPE_V>();
        divide(x, divisors, rows, columns, 1, 0);
    }

    // Clamps and rounds x, and narrows it through fp16, where it is exact, in place; x is used up. What Cast
    // makes of larger numbers depends on a mode of the core, so it gets none.
    template <class Code>  // int8_t or int4b_t
    SALS_DEVICE void narrow(const AscendC::LocalTensor<Code>& codes, const Floats& x, int32_t count,
                            const CodeRange& range) {
        const auto narrow = x.template ReinterpretCast<half>();
        const uint32_t n = static_cast<uint32_t>(count);
        AscendC::PipeBarrier<PIPE_V>();
        Mins(x, x, range.highest, count);
        AscendC::PipeBarrier<PIPE_V>();
        Maxs(x, x, range.lowest, count);
        AscendC::PipeBarrier<PIPE_V>();
        Cast(x, x, AscendC::RoundMode::CAST_RINT, n);
        AscendC::PipeBarrier<PIPE_V>();
        Cast(narrow, x, AscendC::RoundMode::CAST_NONE, n);
        AscendC::PipeBarrier<PIPE_V>();
        Cast(codes, narrow, AscendC::RoundMode::CAST_NONE, n);
    }

    // lanes[r] = scales[r], a whole datablock of it.
    SALS_DEVICE static void spread_scales(const Floats& lanes, const Floats& scales, int32_t rows) {
        const int32_t repeats = (rows + F32_DATABLOCK - 1) / F32_DATABLOCK;
        AscendC::PipeBarrier<PIPE_V>();
        Brcb(lanes, scales, static_cast<uint8_t>(repeats), {1, F32_DATABLOCK});
    }

private:
    SALS_DEVICE Floats floats(uint32_t offset) const { return view<float>(ub_, offset); }

    // scales() = largest magnitude of each row, NaN if any value is.
    SALS_DEVICE void find_maxima(const Floats& x, int32_t rows, int32_t columns) {
        const Floats magnitudes = floats(offsetof(StripPlan, scratch));
        const uint8_t stride = static_cast<uint8_t>(columns / F32_DATABLOCK);
        AscendC::PipeBarrier<PIPE_V>();
        Abs(magnitudes, x, rows * columns);
        for (int32_t c = F32_LANES; c < columns; c += F32_LANES) {
            AscendC::PipeBarrier<PIPE_V>();
            Max(magnitudes, magnitudes, magnitudes[c], smaller(F32_LANES, columns - c), rows,
                AscendC::BinaryRepeatParams(1, 1, 1, stride, stride, stride));
        }
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::WholeReduceMax(scales(), magnitudes, F32_LANES, rows, 1, 1, stride,
                                AscendC::ReduceOrder::ORDER_ONLY_VALUE);
    }

    // x[r][c] /= y[r * row_stride][c * block_stride], strides in datablocks
    SALS_DEVICE void divide(const Floats& x, const Floats& y, int32_t rows, int32_t columns,
                            uint8_t block_stride, uint8_t row_stride) {
        const uint8_t stride = static_cast<uint8_t>(columns / F32_DATABLOCK);
        for (int32_t c = 0; c < columns; c += F32_LANES) {
            Div(x[c], x[c], y[c * block_stride], smaller(F32_LANES, columns - c), rows,
                AscendC::BinaryRepeatParams(1, 1, block_stride, stride, stride, row_stride));
        }
    }

    AscendC::LocalTensor<uint8_t> ub_;
};

}  // namespace sals::strips
