// SPDX-License-Identifier: Apache-2.0
// simd_level.h - which instruction set the kernels use: the best this machine has, unless the environment
// variable SALS_SIMD (portable, avx2 or avx512) asks for less.
#pragma once
#include <cstdint>

namespace sals::cpu {

enum class SimdLevel : int32_t { PORTABLE = 0, AVX2 = 1, AVX512 = 2 };

// Decided once per process. Throws std::invalid_argument if SALS_SIMD is none of the words, or more than
// the machine has.
SimdLevel simd_level();

const char* simd_level_name(SimdLevel level);

}  // namespace sals::cpu
