// SPDX-License-Identifier: Apache-2.0
// kernel_operator.h - the one header that a kernel includes: Ascend C, executed by the simulator.
#pragma once
#include "ascendc/atomic.h"
#include "ascendc/data_copy.h"
#include "ascendc/data_copy_nd2nz.h"
#include "ascendc/data_copy_pad.h"
#include "ascendc/fixpipe.h"
#include "ascendc/global_tensor.h"
#include "ascendc/load_data.h"
#include "ascendc/load_data_transpose.h"
#include "ascendc/local_tensor.h"
#include "ascendc/mmad.h"
#include "ascendc/sync.h"
#include "ascendc/system.h"
#include "ascendc/tiling.h"
#include "ascendc/tpipe.h"
#include "ascendc/tque.h"
#include "ascendc/vec_arithmetic.h"
