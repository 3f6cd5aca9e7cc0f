// SPDX-License-Identifier: Apache-2.0
// kernel_launch.h - starts a kernel on a stream, or runs it on the CPU.
#pragma once
#include "cuda/launch.h"

#if defined(SALS_CUDA_ON_CPU)
#include "cuda_on_cpu.h"
#else
#include <cuda_runtime_api.h>
#endif

namespace sals::cuda {

struct Shape {
    int32_t blocks, threads;
    int64_t shared_bytes;
};

#if defined(SALS_CUDA_ON_CPU)

template <class... Arguments>
int launch(void (*kernel)(Arguments...), const Shape& shape, const Device&, const Arguments&... arguments) {
    cuda_on_cpu::run(shape.blocks, shape.threads, shape.shared_bytes, [&] { kernel(arguments...); });
    return 0;
}

#else

template <class... Arguments>
int launch(void (*kernel)(Arguments...), const Shape& shape, const Device& device,
           const Arguments&... arguments) {
    constexpr int64_t WITHOUT_ASKING = 48 << 10;
    if (shape.shared_bytes > WITHOUT_ASKING) {
        const auto bytes = static_cast<int>(shape.shared_bytes);
        const cudaError_t status =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (status != cudaSuccess) return status;
    }
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(shape.blocks));
    config.blockDim = dim3(static_cast<unsigned>(shape.threads));
    config.dynamicSmemBytes = static_cast<size_t>(shape.shared_bytes);
    config.stream = static_cast<cudaStream_t>(device.stream);
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

#endif

}  // namespace sals::cuda
