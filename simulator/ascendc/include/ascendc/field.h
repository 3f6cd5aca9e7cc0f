// SPDX-License-Identifier: Apache-2.0
// field.h - a field of an instruction that is narrower than what kernels compute with. It remembers what was
// written, so that a value that the hardware would cut off is a finding and not a riddle.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ascendc/call_check.h"

namespace AscendC::internal {

template <class T>
class Field {
public:
    constexpr Field() = default;
    template <class I, std::enable_if_t<std::is_integral_v<I> || std::is_enum_v<I>, int> = 0>
    constexpr Field(I value) : written_(static_cast<int64_t>(value)) {}

    // What the hardware gets.
    constexpr operator T() const { return static_cast<T>(written_); }

    Field& operator+=(int64_t value) {
        written_ += value;
        return *this;
    }
    Field& operator-=(int64_t value) { return *this += -value; }
    Field& operator++() { return *this += 1; }

    void check(CallCheck& call, const char* name) const {
        if (written_ < 0) {
            call.fail(std::string(name) + " is negative: " + std::to_string(written_));
        } else {
            call.range(name, static_cast<uint64_t>(written_), 0, std::numeric_limits<T>::max());
        }
    }

private:
    int64_t written_ = 0;
};

// The same with limits tighter than the field's type.
template <class T>
void check_field(CallCheck& call, const char* name, const Field<T>& field, uint64_t low, uint64_t high) {
    field.check(call, name);
    call.range(name, T{field}, low, high);
}

using U8 = Field<uint8_t>;
using U16 = Field<uint16_t>;

}  // namespace AscendC::internal
