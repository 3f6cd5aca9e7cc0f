// SPDX-License-Identifier: Apache-2.0
#include "cpu/simd_level.h"

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace sals::cpu {
namespace {

constexpr std::array<const char*, 3> NAMES = {"portable", "avx2", "avx512"};

SimdLevel best_level() {
#if defined(SALS_PORTABLE_ONLY)
    return SimdLevel::PORTABLE;
#else
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vnni");
    if (avx512) return SimdLevel::AVX512;
    return __builtin_cpu_supports("avx2") ? SimdLevel::AVX2 : SimdLevel::PORTABLE;
#endif
}

SimdLevel wanted_level() {
    const SimdLevel best = best_level();
    const char* asked = std::getenv("SALS_SIMD");
    if (asked == nullptr || *asked == '\0') return best;
    for (size_t i = 0; i < NAMES.size(); ++i) {
        if (std::string(asked) == NAMES[i] && i <= static_cast<size_t>(best))
            return static_cast<SimdLevel>(i);
    }
    throw std::invalid_argument(std::string("sals: SALS_SIMD must be portable, avx2 or avx512 and at most ") +
                                simd_level_name(best) + " on this machine, got " + asked);
}

}  // namespace

SimdLevel simd_level() {
    static const SimdLevel level = wanted_level();
    return level;
}

const char* simd_level_name(SimdLevel level) { return NAMES[static_cast<size_t>(level)]; }

}  // namespace sals::cpu
