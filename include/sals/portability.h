// SPDX-License-Identifier: Apache-2.0
// portability.h - one spelling for functions that the host, the AI CPU and the device kernels share.
#pragma once

#if defined(__CCE_AICORE__) || defined(__NPU_ARCH__)
#define SALS_HD __aicore__ inline
#elif defined(__CUDACC__)
#define SALS_HD __host__ __device__ inline
#else
#define SALS_HD inline
#endif
