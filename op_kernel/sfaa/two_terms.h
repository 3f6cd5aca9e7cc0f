// SPDX-License-Identifier: Apache-2.0
// two_terms.h - float rows as two int8 rows and back: y in [-127, 127] is first + second / 256. The pair
// stands for the whole number nearest to 256 y, so the caller rounds once, and sums of such numbers are
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

// Terms of whole numbers x up to 127 * 256, which are used up: first = (x + 128) >> 8, second = the rest,
// from -128 to 127, which is the low byte. x becomes int16 in place; behind it there is room for the first
// terms, since both take half of its memory. first and second may be at the beginning of either half. There
// is no way to int8 but through fp16.
struct TermHalves {
    AscendC::LocalTensor<int16_t> second;
    AscendC::LocalTensor<int16_t> first;

    SALS_DEVICE TermHalves(const Floats& x, int32_t count) {
        second = x.template ReinterpretCast<int16_t>();
        first = second[round_up(count, LANES)];
    }

    static constexpr int32_t LANES = AtlasA2::REPEAT_BYTES / sizeof(int16_t);
};

// Unlike others it does not wait for what it reads.
SALS_DEVICE void narrow(const Codes& codes, const AscendC::LocalTensor<int16_t>& terms, int32_t count) {
    const auto halves = terms.template ReinterpretCast<half>();
    Cast(halves, terms, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    AscendC::PipeBarrier<PIPE_V>();
    Cast(codes, halves, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
}

SALS_DEVICE void split_terms(const Codes& first, const Codes& second, const Floats& x, int32_t count) {
    constexpr int16_t BITS = 8;
    static_assert(SFAA_SECOND_TERM == 1 << BITS);
    constexpr uint8_t REPEAT = AtlasA2::REPEAT_BYTES / AtlasA2::DATABLOCK_BYTES;
    const TermHalves terms(x, count);
    const auto low = terms.second.template ReinterpretCast<uint16_t>();
    AscendC::PipeBarrier<PIPE_V>();
    Cast(terms.second, x, AscendC::RoundMode::CAST_RINT, static_cast<uint32_t>(count));
    AscendC::PipeBarrier<PIPE_V>();
    ShiftRight(terms.first, terms.second, BITS, static_cast<uint64_t>(TermHalves::LANES),
               static_cast<uint8_t>(round_up(count, TermHalves::LANES) / TermHalves::LANES),
               AscendC::UnaryRepeatParams(1, 1, REPEAT, REPEAT), true);
    ShiftLeft(low, low, static_cast<uint16_t>(BITS), count);
    AscendC::PipeBarrier<PIPE_V>();
    ShiftRight(terms.second, terms.second, BITS, count);
    narrow(first, terms.first, count);
    narrow(second, terms.second, count);
}

// Products of one term as floats, in place. Waits for no earlier vector instruction.
SALS_DEVICE Floats floats_of(const AscendC::LocalTensor<int32_t>& products, int32_t count) {
    const Floats x = products.template ReinterpretCast<float>();
    Cast(x, products, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    return x;
}

// Products of both terms as one float: first + second / 256, in the memory of the first.
SALS_DEVICE void join_terms(const Floats& first, const Floats& second, int32_t count) {
    AscendC::PipeBarrier<PIPE_V>();
    Axpy(first, second, 1.0F / SECOND_TERM, count);
}

}  // namespace sals::sfaa
