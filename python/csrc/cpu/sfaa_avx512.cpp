// SPDX-License-Identifier: Apache-2.0
#define SALS_TARGET avx512
#include "cpu/sfaa_step.h"

namespace sals::cpu {

const SfaaKernels& sfaa_kernels_avx512() { return avx512::SFAA_KERNELS; }

}  // namespace sals::cpu
