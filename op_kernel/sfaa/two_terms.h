// SPDX-License-Identifier: Apache-2.0
// two_terms.h - float rows as two int8 rows and back: y in [-127, 127] is first + second / 254. The pair
// stands for the whole number nearest to 254 y, so the caller rounds once, and sums of such numbers are
// exact.
#pragma once
#include "sfaa/memory_plan.h"
#include "sfaa/row_ops.h"

namespace sals::sfaa {

inline constexpr float FIRST_TERM = SFAA_FIRST_TERM;
inline constexpr float SECOND_TERM = SFAA_SECOND_TERM;
inline constexpr float FULL_SCALE = FIRST_TERM * SECOND_TERM;

using Codes = AscendC::LocalTensor<int8_t>;

SALS_DEVICE void round_to_whole(const Floats& x, int32_t count) {
    AscendC::PipeBarrier<PIPE_V>();
    Cast(x, x, AscendC::RoundMode::CAST_RINT, static_cast<uint32_t>(count));
}

// Splits whole numbers x up to 127 * 254: |x - 254 * first| is at most 127. x and scratch are used up: there
// is no way from fp32 to int8 but through fp16, to which they narrow in place.
SALS_DEVICE void split_terms(const Codes& first, const Codes& second, const Floats& x, const Floats& scratch,
                             int32_t count) {
    const uint32_t n = static_cast<uint32_t>(count);
    const auto narrow_first = scratch.template ReinterpretCast<half>();
    const auto narrow_second = x.template ReinterpretCast<half>();
    AscendC::PipeBarrier<PIPE_V>();
    Muls(scratch, x, 1.0F / SECOND_TERM, count);
    round_to_whole(scratch, count);
    AscendC::PipeBarrier<PIPE_V>();
    Axpy(x, scratch, -SECOND_TERM, count);
    AscendC::PipeBarrier<PIPE_V>();
    Cast(narrow_first, scratch, AscendC::RoundMode::CAST_NONE, n);
    Cast(narrow_second, x, AscendC::RoundMode::CAST_NONE, n);
    AscendC::PipeBarrier<PIPE_V>();
    Cast(first, narrow_first, AscendC::RoundMode::CAST_NONE, n);
    Cast(second, narrow_second, AscendC::RoundMode::CAST_NONE, n);
}

// Products of both terms as one float: first + second / 254, in the memory of the first.
SALS_DEVICE Floats join_terms(const AscendC::LocalTensor<int32_t>& first,
                              const AscendC::LocalTensor<int32_t>& second, int32_t count) {
    const Floats one = first.template ReinterpretCast<float>();
    const Floats two = second.template ReinterpretCast<float>();
    const uint32_t n = static_cast<uint32_t>(count);
    Cast(one, first, AscendC::RoundMode::CAST_NONE, n);
    Cast(two, second, AscendC::RoundMode::CAST_NONE, n);
    AscendC::PipeBarrier<PIPE_V>();
    Axpy(one, two, 1.0F / SECOND_TERM, count);
    return one;
}

}  // namespace sals::sfaa
