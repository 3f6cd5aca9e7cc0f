// SPDX-License-Identifier: Apache-2.0
#define SALS_TARGET avx2
#include "cpu/sfaa_step.h"

namespace sals::cpu {

const SfaaKernels& sfaa_kernels_avx2() { return avx2::SFAA_KERNELS; }

}  // namespace sals::cpu
