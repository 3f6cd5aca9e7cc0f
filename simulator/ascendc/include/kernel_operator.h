// SPDX-License-Identifier: Apache-2.0
// kernel_operator.h - the one header that a kernel includes: Ascend C, executed by the simulator.
#pragma once
#include "ascendc/global_tensor.h"
#include "ascendc/local_tensor.h"
#include "ascendc/sync.h"
#include "ascendc/system.h"
#include "ascendc/tiling.h"
#include "ascendc/tpipe.h"
#include "ascendc/tque.h"
