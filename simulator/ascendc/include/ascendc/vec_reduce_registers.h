// SPDX-License-Identifier: Apache-2.0
// vec_reduce_registers.h - results that reductions leave in registers. Reading one waits for the vector pipe.
#pragma once
#include <cstring>

#include "ascendc/vec_reduce_all.h"

namespace AscendC {

namespace internal {

template <class T>
T value_of_register(uint64_t bits) {
    static_assert(is_one_of<T, half, float>, "reductions leave half and float");
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

}  // namespace internal

// The extreme over all repeats of the last WholeReduceMax or WholeReduceMin, and where it stands: an integer
// as wide as T, in the bits of a T.
template <class T>
void GetReduceMaxMinCount(T& maxMinValue, T& maxMinIndex, sim::Where where = sim::Where::here()) {
    sim::Core& core = sim::Core::current();
    core.drain(sim::Pipe::V, where);
    maxMinValue = internal::value_of_register<T>(core.registers().reduce_value);
    maxMinIndex = internal::value_of_register<T>(core.registers().reduce_index);
}

// The sum that the last ReduceSum with a number of elements found.
template <class T>
T GetAccVal(sim::Where where = sim::Where::here()) {
    sim::Core& core = sim::Core::current();
    core.drain(sim::Pipe::V, where);
    return internal::value_of_register<T>(core.registers().acc_value);
}

// Newer names of the same.
template <class T>
void GetReduceRepeatMaxMinSpr(T& maxMinValue, T& maxMinIndex, sim::Where where = sim::Where::here()) {
    GetReduceMaxMinCount(maxMinValue, maxMinIndex, where);
}
template <class T>
T GetReduceRepeatSumSpr(sim::Where where = sim::Where::here()) {
    return GetAccVal<T>(where);
}

}  // namespace AscendC
