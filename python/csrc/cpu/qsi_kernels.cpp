// SPDX-License-Identifier: Apache-2.0
#include "cpu/qsi_kernels.h"

#include "cpu/simd_level.h"

namespace sals::cpu {

const QsiKernels& qsi_kernels() {
#if !defined(SALS_PORTABLE_ONLY)
    if (simd_level() == SimdLevel::AVX512) return avx512::QSI_KERNELS;
    if (simd_level() == SimdLevel::AVX2) return avx2::QSI_KERNELS;
#endif
    return portable::QSI_KERNELS;
}

}  // namespace sals::cpu
