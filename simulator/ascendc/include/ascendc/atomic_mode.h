// SPDX-License-Identifier: Apache-2.0
// atomic_mode.h - the operation that moves to GM carry out on what is there, as it was set when they were
// dispatched.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ascendc/half.h"
#include "engine/core.h"

namespace AscendC::internal {

namespace sim = sals::sim;

enum class AtomicOp : int { NONE, ADD, MAX, MIN };
enum class AtomicType : int { FLOAT, HALF, INT16, INT32, INT8, BFLOAT16 };

constexpr uint64_t atomic_type_bytes(AtomicType type) {
    switch (type) {
        case AtomicType::INT8:
            return 1;
        case AtomicType::FLOAT:
        case AtomicType::INT32:
            return 4;
        default:
            return 2;
    }
}

struct AtomicMode {
    AtomicOp op = AtomicOp::NONE;
    AtomicType type = AtomicType::FLOAT;

    static AtomicMode current() {
        const sim::Registers& registers = sim::Core::current().registers();
        return {static_cast<AtomicOp>(registers.atomic_op), static_cast<AtomicType>(registers.atomic_type)};
    }

    bool on() const { return op != AtomicOp::NONE; }

    // dst = dst op src for whole elements. An element is undefined afterwards if it or its partner was.
    void combine(uint8_t* dst, uint8_t* dst_taint, const uint8_t* src, const uint8_t* src_taint,
                 uint64_t bytes) const {
        switch (type) {
            case AtomicType::FLOAT:
                return combine_as<float, float>(dst, dst_taint, src, src_taint, bytes);
            case AtomicType::HALF:
                return combine_as<half, float>(dst, dst_taint, src, src_taint, bytes);
            case AtomicType::BFLOAT16:
                return combine_as<bfloat16_t, float>(dst, dst_taint, src, src_taint, bytes);
            case AtomicType::INT32:
                return combine_as<int32_t, int64_t>(dst, dst_taint, src, src_taint, bytes);
            case AtomicType::INT16:
                return combine_as<int16_t, int32_t>(dst, dst_taint, src, src_taint, bytes);
            case AtomicType::INT8:
                return combine_as<int8_t, int32_t>(dst, dst_taint, src, src_taint, bytes);
        }
    }

private:
    template <class T, class Wide>
    void combine_as(uint8_t* dst, uint8_t* dst_taint, const uint8_t* src, const uint8_t* src_taint,
                    uint64_t bytes) const {
        for (uint64_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
            T old, given;
            std::memcpy(&old, dst + at, sizeof(T));
            std::memcpy(&given, src + at, sizeof(T));
            const T result = static_cast<T>(apply<Wide>(static_cast<Wide>(old), static_cast<Wide>(given)));
            std::memcpy(dst + at, &result, sizeof(T));
            if (dst_taint != nullptr && src_taint != nullptr)
                merge_taint(dst_taint + at, src_taint + at, sizeof(T));
        }
    }

    template <class Wide>
    Wide apply(Wide old, Wide given) const {
        switch (op) {
            case AtomicOp::MAX:
                return std::max(old, given);
            case AtomicOp::MIN:
                return std::min(old, given);
            default:
                return old + given;
        }
    }

    static void merge_taint(uint8_t* dst, const uint8_t* src, uint64_t bytes) {
        uint8_t any = sim::DEFINED;
        for (uint64_t i = 0; i < bytes; ++i) any |= dst[i] | src[i];
        std::memset(dst, any, bytes);
    }
};

}  // namespace AscendC::internal
