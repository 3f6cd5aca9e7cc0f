// SPDX-License-Identifier: Apache-2.0
#define SALS_TARGET portable
#include "cpu/qsi_kernels_impl.h"
