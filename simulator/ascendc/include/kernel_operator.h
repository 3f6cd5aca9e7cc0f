// SPDX-License-Identifier: Apache-2.0
// kernel_operator.h - the one header that a kernel includes: Ascend C, executed by the simulator.
#pragma once
#include "ascendc/global_tensor.h"
#include "ascendc/local_tensor.h"
