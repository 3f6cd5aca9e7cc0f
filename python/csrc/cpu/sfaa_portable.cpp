// SPDX-License-Identifier: Apache-2.0
#define SALS_TARGET portable
#include "cpu/sfaa_step.h"

namespace sals::cpu {

const SfaaKernels& sfaa_kernels_portable() { return portable::SFAA_KERNELS; }

}  // namespace sals::cpu
