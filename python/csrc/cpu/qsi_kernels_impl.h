// SPDX-License-Identifier: Apache-2.0
// qsi_kernels_impl.h - defines QSI_KERNELS of one instruction set; included once by the file of each.
#pragma once
#include "cpu/score_impl.h"
#include "cpu/select_impl.h"

namespace sals::cpu::SALS_TARGET {

const QsiKernels QSI_KERNELS = {score_blocks, order_keys, count_above, masses, mass_above, take};

}  // namespace sals::cpu::SALS_TARGET
