// SPDX-License-Identifier: Apache-2.0
// vec_cast.h - Cast. A repeat handles as many lanes as the wider of the two types has in 256 bytes; the
// strides of each operand count its own datablocks.
#pragma once
#include "ascendc/vec_call.h"
#include "ascendc/vec_cast_rules.h"

namespace AscendC {

// The factor of Cast from int32_t to half.
inline void SetDeqScale(half scale) { sim::Core::current().registers().deq_scalar = scale.bits; }

namespace internal {

template <class T>
T load_lane(const uint8_t* bytes, uint64_t index) {
    if constexpr (std::is_same_v<T, int4b_t>) {
        return int4b_t(bytes[index / 2] >> (4 * (index % 2)));
    } else {
        return load<T>(bytes, index);
    }
}

template <class T>
void store_lane(uint8_t* bytes, uint64_t index, T value) {
    if constexpr (std::is_same_v<T, int4b_t>) {
        const int shift = 4 * static_cast<int>(index % 2);
        bytes[index / 2] =
            static_cast<uint8_t>((bytes[index / 2] & ~(0xF << shift)) | (value.storage & 0xF) << shift);
    } else {
        store<T>(bytes, index, value);
    }
}

template <class T, class U>
class CastCall {
public:
    static constexpr uint32_t LANES = std::min(lanes_of<T>(), lanes_of<U>());

    CastCall(const Mask& mask, U8 repeats, RoundMode mode, sim::Where where)
        : call_("Cast", where), mode_(mode) {
        static_assert(cast_modes<T, U>() != 0, "architecture 2201 has no Cast between these types");
        const bool deq = std::is_same_v<T, half> && std::is_same_v<U, int32_t>;
        const uint32_t bit = static_cast<uint32_t>(mode) < 8 ? mode_bit(mode) : 0;
        if (!deq && (cast_modes<T, U>() & bit) == 0) {
            call_.fail("rounding mode " + std::to_string(static_cast<int>(mode)) +
                       " does not exist for this pair of types");
        }
        call_.activate(mask, repeats, LANES);
    }

    void with_strides(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                      const UnaryRepeatParams& strides) {
        run(call_.operand("dst", dst, strides.dstBlkStride, strides.dstRepStride),
            call_.operand("src", src, strides.srcBlkStride, strides.srcRepStride));
    }

    void without_gaps(const LocalTensor<T>& dst, const LocalTensor<U>& src) {
        run(call_.operand("dst", dst, LANES), call_.operand("src", src, LANES));
    }

private:
    void run(const Operand& dst, const Operand& src) {
        if (dst.bits == 4 || src.bits == 4) check_pairs();
        const bool narrows_in_place = dst.bits < src.bits && dst.begin == src.begin;
        call_.may_overlap(dst, "src", src, narrows_in_place);
        call_.reads(src);
        call_.writes(dst);
        if constexpr (std::is_same_v<T, half> && std::is_same_v<U, int32_t>) {
            const uint16_t bits = static_cast<uint16_t>(call_.core()->registers().deq_scalar);
            const double scale = static_cast<float>(half::from_bits(bits));
            dispatch(dst, src, [scale](U x) { return half(static_cast<float>(x * scale)); });
        } else {
            dispatch_mode(dst, src);
        }
    }

    template <class F>
    void dispatch(const Operand& dst, const Operand& src, F f) {
        call_.dispatch_pieces(std::max(dst.bits, src.bits) / 8, std::array{dst, src},
                              [f](uint8_t* ub, const auto& at, uint32_t, uint32_t count) {
                                  for (uint32_t i = 0; i < count; ++i) {
                                      store_lane<T>(ub + at[0], i, f(load_lane<U>(ub + at[1], i)));
                                  }
                              });
    }

    template <RoundMode mode>
    void dispatch_rounding(const Operand& dst, const Operand& src) {
        dispatch(dst, src, [](U x) { return cast_lane<T, U, mode>(x); });
    }

    void dispatch_mode(const Operand& dst, const Operand& src) {
        switch (mode_) {
            case RoundMode::CAST_FLOOR:
                return dispatch_rounding<RoundMode::CAST_FLOOR>(dst, src);
            case RoundMode::CAST_CEIL:
                return dispatch_rounding<RoundMode::CAST_CEIL>(dst, src);
            case RoundMode::CAST_ROUND:
                return dispatch_rounding<RoundMode::CAST_ROUND>(dst, src);
            case RoundMode::CAST_TRUNC:
                return dispatch_rounding<RoundMode::CAST_TRUNC>(dst, src);
            case RoundMode::CAST_ODD:
                return dispatch_rounding<RoundMode::CAST_ODD>(dst, src);
            default:
                return dispatch_rounding<RoundMode::CAST_RINT>(dst, src);
        }
    }

    // Two int4 lanes share a byte: both are active or neither.
    void check_pairs() {
        bool even = call_.plan().tail % 2 == 0;
        for (const LaneRun& run : call_.plan().runs) even = even && run.begin % 2 == 0 && run.count % 2 == 0;
        if (!even)
            call_.fail("lanes of int4b_t are active in pairs: use an even count, or equal neighbouring bits");
    }

    VectorCall call_;
    RoundMode mode_;
};

}  // namespace internal

template <class T, class U>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, uint32_t count,
          sim::Where where = sim::Where::here()) {
    internal::CastCall<T, U>(internal::count_mask<true>(count), 1, roundMode, where).without_gaps(dst, src);
}

template <class T, class U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
          const uint64_t mask[], internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,
          sim::Where where = sim::Where::here()) {
    using Wider = std::conditional_t<(internal::bits_of<T>() > internal::bits_of<U>()), T, U>;
    internal::CastCall<T, U>(internal::bits_mask<Wider, isSetMask>(mask), repeatTime, roundMode, where)
        .with_strides(dst, src, repeatParams);
}

template <class T, class U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, uint64_t mask,
          internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,
          sim::Where where = sim::Where::here()) {
    internal::CastCall<T, U>(internal::lanes_mask<isSetMask>(mask), repeatTime, roundMode, where)
        .with_strides(dst, src, repeatParams);
}

}  // namespace AscendC
