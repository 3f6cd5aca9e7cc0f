// SPDX-License-Identifier: Apache-2.0
// library.h - under which name the operators are registered. The CUDA kernels that run on a CPU, for tests,
// are torch.ops.sals_cuda_on_cpu.* on CPU tensors.
#pragma once
#include <torch/library.h>

#if defined(SALS_CUDA_ON_CPU)
#define SALS_OPERATORS(m) TORCH_LIBRARY(sals_cuda_on_cpu, m)
#define SALS_CUDA_OPERATORS(m) TORCH_LIBRARY_IMPL(sals_cuda_on_cpu, CPU, m)
#else
#define SALS_OPERATORS(m) TORCH_LIBRARY(sals, m)
#define SALS_CUDA_OPERATORS(m) TORCH_LIBRARY_IMPL(sals, CUDA, m)
#endif
