// SPDX-License-Identifier: Apache-2.0
// vec_mask.h - which lanes of a vector instruction are active. Mode and value are registers that stay until
// they are set again. Normal: a bit per lane of a repeat. Counter: the number of elements of the whole
// instruction.
#pragma once
#include <cstdint>

#include "ascendc/call_check.h"
#include "ascendc/macros.h"
#include "ascendc/types.h"

namespace AscendC {

constexpr uint64_t MASK_PLACEHOLDER = 0;
constexpr uint64_t FULL_MASK = ~0ULL;

inline void SetMaskCount() { sim::Core::current().registers().mask_counter_mode = true; }
inline void SetMaskNorm() { sim::Core::current().registers().mask_counter_mode = false; }

inline void ResetMask() {
    sim::Registers& registers = sim::Core::current().registers();
    registers.mask[0] = registers.mask[1] = FULL_MASK;
}

namespace internal {

// The first `lanes` lanes as bits. 128 and more activate every lane.
constexpr uint64_t low_bits(int64_t lanes) {
    return lanes <= 0 ? 0 : lanes >= 64 ? FULL_MASK : (1ULL << lanes) - 1;
}

inline void set_mask_bits(uint64_t low, uint64_t high) {
    sim::Registers& registers = sim::Core::current().registers();
    registers.mask[0] = low;
    registers.mask[1] = high;
}

inline void set_mask_lanes(int64_t lanes) { set_mask_bits(low_bits(lanes), low_bits(lanes - 64)); }

}  // namespace internal

template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(uint64_t maskHigh, uint64_t maskLow) {
    internal::set_mask_bits(maskLow, maskHigh);
}

template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(int32_t len) {
    if constexpr (mode == MaskMode::COUNTER) {
        internal::set_mask_bits(static_cast<uint32_t>(len), 0);
    } else {
        internal::set_mask_lanes(len);
    }
}

namespace internal {

// The mask arguments of an instruction, in each of their forms, set the registers before it is dispatched.
class Mask {
public:
    // isSetMask = false: the registers stay as they are.
    static Mask from_registers() { return Mask(Form::REGISTERS, 0, 0); }

    // A number of lanes per repeat. It becomes bits whatever the mode is.
    static Mask lanes(uint64_t lanes) { return Mask(Form::LANES, lanes, 0); }

    // Bits; in counter mode the low word is the number of elements. 32-bit lanes have one word.
    static Mask bits(const uint64_t mask[], int bytes_per_lane) {
        return Mask(Form::BITS, mask[0], bytes_per_lane < 4 ? mask[1] : 0);
    }

    // `count` elements in all: counter mode for this instruction, normal mode with every lane afterwards.
    static Mask count(uint64_t count) { return Mask(Form::COUNT, count, 0); }

    bool is_count() const { return form_ == Form::COUNT; }

    void set(CallCheck& call) const {
        if (form_ == Form::LANES) {
            if (sim::Core::current().registers().mask_counter_mode) {
                call.fail(
                    "a mask given as lanes per repeat is written as bits, but the mask mode is counter, "
                    "where the register is an element count. Use the form with mask[] or SetVectorMask, "
                    "or call SetMaskNorm first.");
            }
            set_mask_lanes(static_cast<int64_t>(low_ < 128 ? low_ : 128));
        } else if (form_ == Form::BITS) {
            set_mask_bits(low_, high_);
        } else if (form_ == Form::COUNT) {
            SetMaskCount();
            set_mask_bits(low_, 0);
        }
    }

    void unset() const {
        if (form_ != Form::COUNT) return;
        ResetMask();
        SetMaskNorm();
    }

private:
    enum class Form : uint8_t { REGISTERS, LANES, BITS, COUNT };
    Mask(Form form, uint64_t low, uint64_t high) : form_(form), low_(low), high_(high) {}

    Form form_;
    uint64_t low_, high_;
};

template <bool isSetMask>
Mask lanes_mask(uint64_t lanes) {
    return isSetMask ? Mask::lanes(lanes) : Mask::from_registers();
}

template <class T, bool isSetMask>
Mask bits_mask(const uint64_t mask[]) {
    return isSetMask ? Mask::bits(mask, sizeof(T)) : Mask::from_registers();
}

template <bool isSetMask>
Mask count_mask(int64_t count) {
    return isSetMask ? Mask::count(count > 0 ? static_cast<uint64_t>(count) : 0) : Mask::from_registers();
}

}  // namespace internal

}  // namespace AscendC
