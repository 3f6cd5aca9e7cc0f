// SPDX-License-Identifier: Apache-2.0
#define SALS_TARGET avx2
#include "cpu/qsi_kernels_impl.h"
