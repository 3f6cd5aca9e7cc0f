// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_support.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#if !defined(SALS_CUDA_ON_CPU)
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAStream.h>

#include <map>
#include <mutex>
#include <utility>
#endif

namespace sals::ops {

cuda::FloatType cuda_float_type(const at::Tensor& tensor) {
    switch (tensor.scalar_type()) {
        case at::kHalf:
            return cuda::FloatType::FLOAT16;
        case at::kBFloat16:
            return cuda::FloatType::BFLOAT16;
        default:
            return cuda::FloatType::FLOAT32;
    }
}

at::Tensor scratch_floats(int64_t count, const at::Device& device) {
    return at::empty({count}, at::TensorOptions().dtype(at::kFloat).device(device));
}

#if defined(SALS_CUDA_ON_CPU)

cuda::Device cuda_device(const at::Device&) { return {nullptr, 2}; }

void check_launch(int, const char*) {}

at::Tensor zero_counters(int64_t count, const at::Device&) { return at::zeros({count}, at::kInt); }

#else

cuda::Device cuda_device(const at::Device& device) {
    static std::mutex mutex;
    static std::map<int, int> multiprocessors;
    const std::lock_guard<std::mutex> lock(mutex);
    const int index = device.index();
    if (multiprocessors.find(index) == multiprocessors.end()) {
        int count = 0;
        check_launch(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, index),
                     "cudaDeviceGetAttribute");
        multiprocessors[index] = count;
    }
    return {c10::cuda::getCurrentCUDAStream(device.index()).stream(), multiprocessors[index]};
}

void check_launch(int status, const char* op) {
    if (status == cudaSuccess) return;
    const auto error = static_cast<cudaError_t>(status);
    TORCH_CHECK(false, op, ": CUDA error ", status, ": ", cudaGetErrorString(error));
}

namespace {

constexpr int64_t LEAST_COUNTERS = 1 << 14;
constexpr int64_t CAPTURED_COUNTERS = 1 << 20;

// Counters of one device.
struct Counters {
    std::map<void*, at::Tensor> of_stream;
    at::Tensor captured;  // the memory that captured calls divide among themselves
    int64_t captured_used = 0;
};

}  // namespace

at::Tensor zero_counters(int64_t count, const at::Device& device) {
    static std::mutex mutex;
    static auto& devices = *new std::map<int, Counters>;  // outlives the CUDA runtime's own clean-up
    const auto zeros = [&device](int64_t n) {
        return at::zeros({n}, at::TensorOptions().dtype(at::kInt).device(device));
    };
    const std::lock_guard<std::mutex> lock(mutex);
    Counters& counters = devices[device.index()];
    if (c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None) {
        if (!counters.captured.defined() || counters.captured_used + count > CAPTURED_COUNTERS) {
            return zeros(count);
        }
        counters.captured_used += count;
        return counters.captured.narrow(0, counters.captured_used - count, count);
    }
    if (!counters.captured.defined()) counters.captured = zeros(CAPTURED_COUNTERS);
    at::Tensor& mine = counters.of_stream[c10::cuda::getCurrentCUDAStream(device.index()).stream()];
    // Memory given up here goes to later work of the same stream only.
    if (!mine.defined() || mine.numel() < count)
        mine = zeros(count > LEAST_COUNTERS ? count : LEAST_COUNTERS);
    return mine;
}

#endif

DeviceRequests::DeviceRequests(const Arguments& a, const RequestAxis& axis, const CacheShape& cache,
                               int64_t max_pages, int32_t max_visible)
    : seq_lens_(packed(a, "seq_lens")),
      query_lens_(packed(a, "query_lens")),
      query_start_loc_(packed(a, "query_start_loc")),
      block_table_(packed(a, "block_table")) {
    requests_.seq_lens = device_pointer<int32_t>(seq_lens_);
    requests_.query_lens = device_pointer<int32_t>(query_lens_);
    requests_.query_start_loc = device_pointer<int32_t>(query_start_loc_);
    requests_.block_table = device_pointer<int32_t>(block_table_);
    requests_.batch = static_cast<int32_t>(axis.batch);
    requests_.s_q = static_cast<int32_t>(axis.s_q);
    requests_.max_visible = max_visible;
    requests_.max_pages = static_cast<int32_t>(max_pages);
    requests_.num_pages = static_cast<int32_t>(cache.num_pages);
    requests_.page_size = static_cast<int32_t>(cache.page_size);
}

void require_aligned(Checker& check, const char* name, const at::Tensor& tensor) {
    constexpr uintptr_t ALIGNMENT = 16;
    if (!tensor.defined()) return;
    check.require(reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % ALIGNMENT == 0,
                  std::string(name) + " must begin at a multiple of 16 bytes on CUDA, got another address");
}

void require_stride(Checker& check, const char* name, const CacheShape& cache) {
    const RowGeometry g = row_geometry(cache, 0, 0, false);
    constexpr int64_t MOST = INT32_MAX / 16;  // offsets inside a tile are 32-bit
    check.require(g.token_stride <= MOST && g.plane_stride <= MOST,
                  std::string(name) + " must have at most 2^27 bytes between tokens on CUDA, got " +
                      std::to_string(larger(g.token_stride, g.plane_stride)));
}

}  // namespace sals::ops
