// SPDX-License-Identifier: Apache-2.0
// vec_gather_mask.h - GatherMask: the elements whose bit in a pattern is 1, side by side. How many they are
// depends on data and is returned at once: the scalar unit waits for the vector pipe before and after.
#pragma once
#include <vector>

#include "ascendc/vec_copy.h"

namespace AscendC {

enum class GatherMaskMode : uint8_t { VERSION_V1 = 0, VERSION_V2 = 1 };
constexpr GatherMaskMode defaultGatherMaskMode = GatherMaskMode::VERSION_V2;

namespace internal {

// Bits of the built-in patterns 1..7, repeated every four lanes.
constexpr uint8_t FIXED_PATTERNS[] = {0x0, 0x5, 0xA, 0x1, 0x2, 0x4, 0x8, 0xF};

// Where the bits come from: UB, or one of the built-in patterns.
struct GatherPattern {
    const char* operand;  // null: built in
    uint64_t begin;
    uint64_t repeat_stride;  // bytes
    uint8_t fixed;

    bool bit(const uint8_t* ub, uint64_t repeat, uint64_t lane) const {
        if (operand == nullptr) return (FIXED_PATTERNS[fixed] >> (lane % 4) & 1) != 0;
        return (ub[begin + repeat * repeat_stride + lane / 8] >> (lane % 8) & 1) != 0;
    }
};

template <class T>
class GatherMaskCall {
public:
    GatherMaskCall(const LocalTensor<T>& dst, const LocalTensor<T>& src, const GatherPattern& pattern,
                   const GatherMaskParams& params, sim::Where where)
        : call_("GatherMask", where), where_(where), dst_(dst.sim_begin()), pattern_(pattern) {
        static_assert(is_movable<T>, "GatherMask takes 16- and 32-bit elements");
        call_.check_place("dst", dst, ONE_BLK_SIZE);
        src_ = call_.operand("src0", src, params.src0BlockStride, params.src0RepeatStride);
        params.repeatTimes.check(call_, "repeatTimes");
        params.src1RepeatStride.check(call_, "src1RepeatStride");
        repeats_ = uint16_t{params.repeatTimes};
    }

    // counter: `mask` elements per repeat, else 256 bytes. Returns how many elements were kept.
    uint64_t run(bool counter, uint32_t mask) {
        constexpr uint64_t MOST = 1 << 20;
        sim::Registers& registers = call_.core()->registers();
        set_mask_bits(mask, 0);
        SetMaskNorm();
        registers.gather_mask_count = 0;
        if (counter) call_.range("mask in counter mode", mask, 1, MOST);
        if (!call_.ok() || repeats_ == 0) return 0;
        const uint32_t lanes = counter ? mask : lanes_of<T>();
        call_.activate(LanePlan::of_count(lanes, uint64_t{lanes} * repeats_));
        call_.core()->settle(sim::Pipe::V, where_);  // the pattern must be there, to know what is kept
        if (!pattern_in_bounds(lanes)) return 0;
        const std::vector<uint64_t> kept = kept_addresses();
        describe(kept, lanes);
        if (!call_.ok()) return 0;
        const uint64_t count = kept.size();
        call_.dispatch(sizeof(T), [core = call_.core(), kept, dst = dst_] {
            const UbMove ub(*core);
            for (size_t i = 0; i < kept.size(); ++i) ub.copy(dst + i * sizeof(T), kept[i], sizeof(T));
            const uint64_t end = kept.size() * sizeof(T);
            ub.undefine(dst + end, block_end(end) - end);
        });
        call_.core()->drain(sim::Pipe::V, where_);
        registers.gather_mask_count = count;
        return count;
    }

private:
    static uint64_t block_end(uint64_t bytes) {
        return (bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
    }

    bool pattern_in_bounds(uint32_t lanes) {
        if (pattern_.operand == nullptr) return true;
        const uint64_t end = pattern_.begin + (repeats_ - 1) * pattern_.repeat_stride + (lanes + 7) / 8;
        call_.range("the end of src1Pattern", end, 0, call_.core()->memory(sim::Mem::UB).size());
        return call_.ok();
    }

    std::vector<uint64_t> kept_addresses() const {
        std::vector<uint64_t> kept;
        const uint8_t* ub = call_.core()->memory(sim::Mem::UB).data.data();
        const LanePlan& plan = call_.plan();
        for (uint32_t repeat = 0; repeat < plan.repeats; ++repeat) {
            for (uint32_t lane = 0; lane < plan.lanes; ++lane) {
                if (pattern_.bit(ub, repeat, lane)) kept.push_back(src_.address(repeat, lane));
            }
        }
        return kept;
    }

    void describe(const std::vector<uint64_t>& kept, uint32_t lanes) {
        const ByteRange result{dst_, dst_ + block_end(kept.size() * sizeof(T))};
        if (dst_ != src_.begin) call_.apart("dst", result, "src0", call_.range_of(src_));
        if (pattern_.operand != nullptr) {
            const sim::Span bits = sim::Span::pieces(pattern_.begin, (lanes + 7) / 8, repeats_,
                                                     static_cast<int64_t>(pattern_.repeat_stride));
            call_.apart("dst", result, pattern_.operand, {bits.begin, bits.end()});
            call_.uses(sim::Use::READ, bits);
        }
        call_.uses(sim::Use::READ_MOVE, src_);
        call_.uses(sim::Use::WRITE_MOVE, sim::Span::run(result.begin, result.end - result.begin));
    }

    VectorCall call_;
    sim::Where where_;
    uint64_t dst_;
    GatherPattern pattern_;
    Operand src_;
    uint32_t repeats_ = 0;
};

}  // namespace internal

// The pattern is a bit per element in src1Pattern, consumed without gaps within a repeat.
template <class T, class U, GatherMaskMode mode = defaultGatherMaskMode,
          std::enable_if_t<std::is_integral_v<U>, int> = 0>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1Pattern,
                bool reduceMode, uint32_t mask, const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt,
                sim::Where where = sim::Where::here()) {
    static_assert(std::is_unsigned_v<U> && sizeof(U) == sizeof(T),
                  "the pattern is unsigned and as wide as src0");
    internal::CallCheck place("GatherMask", where);
    place.in_memory("src1Pattern", src1Pattern.sim_mem(), {sim::Mem::UB});
    place.aligned("src1Pattern", sim::Mem::UB, src1Pattern.sim_begin(), ONE_BLK_SIZE);
    rsvdCnt = 0;
    if (!place.ok()) return;
    const uint64_t stride = uint64_t{uint8_t{gatherMaskParams.src1RepeatStride}} * ONE_BLK_SIZE;
    const internal::GatherPattern pattern{"src1Pattern", src1Pattern.sim_begin(), stride, 0};
    rsvdCnt = internal::GatherMaskCall<T>(dst, src0, pattern, gatherMaskParams, where).run(reduceMode, mask);
}

// Built-in patterns: 1 even lanes, 2 odd lanes, 3..6 the first to fourth of every four, 7 all.
template <class T, GatherMaskMode mode = defaultGatherMaskMode>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, uint8_t src1Pattern, bool reduceMode,
                uint32_t mask, const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt,
                sim::Where where = sim::Where::here()) {
    internal::CallCheck check("GatherMask", where);
    check.range("src1Pattern", src1Pattern, 1, 7);
    rsvdCnt = 0;
    if (!check.ok()) return;
    const internal::GatherPattern pattern{nullptr, 0, 0, src1Pattern};
    rsvdCnt = internal::GatherMaskCall<T>(dst, src0, pattern, gatherMaskParams, where).run(reduceMode, mask);
}

// What the last GatherMask kept.
inline int64_t GetGatherMaskRemainCount() {
    return static_cast<int64_t>(sim::Core::current().registers().gather_mask_count);
}

}  // namespace AscendC
