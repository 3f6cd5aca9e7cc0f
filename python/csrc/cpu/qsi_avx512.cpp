// SPDX-License-Identifier: Apache-2.0
#define SALS_TARGET avx512
#include "cpu/qsi_kernels_impl.h"
