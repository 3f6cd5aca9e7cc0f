// SPDX-License-Identifier: Apache-2.0
// device.h - the instructions that the CUDA kernels use, by name. With SALS_CUDA_ON_CPU they are the ones of
// simulator/cuda, and a kernel is an ordinary function. All blocks and grids are one-dimensional; every warp
// operation is executed by all 32 lanes.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(SALS_CUDA_ON_CPU)
#include "cuda_on_cpu.h"
#include "device_on_cpu.h"
#else
#include <cuda_fp16.h>

#define SALS_DEVICE __device__ __forceinline__
#define SALS_DEVICE_CALL inline __device__ __noinline__  // keeps its registers apart from the caller's
#define SALS_PARAMETER const __grid_constant__           // may be pointed to without a copy
#define SALS_KERNEL(threads, blocks_per_sm) __global__ void __launch_bounds__(threads, blocks_per_sm)

namespace sals::cuda {

SALS_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
SALS_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }
SALS_DEVICE int block_threads() { return static_cast<int>(blockDim.x); }
SALS_DEVICE int grid_blocks() { return static_cast<int>(gridDim.x); }
SALS_DEVICE unsigned char* dynamic_shared() {
    extern __shared__ __align__(16) unsigned char memory[];
    return memory;
}

SALS_DEVICE void sync_block() { __syncthreads(); }
SALS_DEVICE void sync_warp() { __syncwarp(); }
// Counts up and returns the count before. What the block wrote before a barrier in front of the call is
// visible to whoever counts later.
SALS_DEVICE int32_t arrive(int32_t* counter) {
    int32_t before;
    asm volatile("atom.add.acq_rel.gpu.global.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}

template <class T>
SALS_DEVICE T shuffle_xor(T x, int mask) {
    return __shfl_xor_sync(0xFFFFFFFFU, x, mask);
}
template <class T>
SALS_DEVICE T shuffle(T x, int lane) {
    return __shfl_sync(0xFFFFFFFFU, x, lane);
}
SALS_DEVICE uint32_t ballot(bool x) { return __ballot_sync(0xFFFFFFFFU, x); }
SALS_DEVICE int bit_count(uint32_t x) { return __popc(x); }
SALS_DEVICE int leading_zeros(uint32_t x) { return __clz(static_cast<int>(x)); }

template <class T>
SALS_DEVICE T add_atomically(T* to, T x) {
    return atomicAdd(to, x);
}
SALS_DEVICE void add_atomically(uint64_t* to, uint64_t x) {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(x));
}

// Memory that is read once and written by no one in this launch; 16 and 8 bytes, aligned.
SALS_DEVICE uint4 load_stream(const uint4* from) {
    uint4 x;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(from));
    return x;
}
SALS_DEVICE uint2 load_stream(const uint2* from) {
    uint2 x;
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(from));
    return x;
}
// What other blocks of this launch wrote before they arrived.
template <class T>
SALS_DEVICE T load_shared_result(const T* from) {
    return __ldcg(from);
}

SALS_DEVICE uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector) {
    return __byte_perm(a, b, selector);
}
SALS_DEVICE int dot4(uint32_t a, uint32_t b, int sum) {
    return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
}

// Arithmetic that is never contracted.
SALS_DEVICE float add(float a, float b) { return __fadd_rn(a, b); }
SALS_DEVICE float subtract(float a, float b) { return __fsub_rn(a, b); }
SALS_DEVICE float multiply(float a, float b) { return __fmul_rn(a, b); }
SALS_DEVICE float divide(float a, float b) { return __fdiv_rn(a, b); }
SALS_DEVICE float float_of_bits(uint32_t bits) { return __uint_as_float(bits); }
SALS_DEVICE uint32_t bits_of_float(float x) { return __float_as_uint(x); }

SALS_DEVICE float fast_exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
SALS_DEVICE float fast_log2(float x) {
    float y;
    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Halves of a word: the first one is in the low bits.
SALS_DEVICE uint32_t pack_halves(float low, float high) {
    const __half2 pair = __floats2half2_rn(low, high);
    uint32_t word;
    memcpy(&word, &pair, sizeof(word));
    return word;
}
SALS_DEVICE float half_to_float(uint32_t bits) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

SALS_DEVICE uint32_t subtract_halves(uint32_t a, uint32_t b) {
    uint32_t y;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

// c [16 x 8] += a [16 x 16] * b [16 x 8], halves with float sums, in the register layout of mma.m16n8k16.
SALS_DEVICE void multiply_tiles(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// c [16 x 8] += a [16 x 32] * b [32 x 8], int8 with int32 sums, in the register layout of mma.m16n8k32.
SALS_DEVICE void multiply_byte_tiles(int32_t (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Turns an 8 x 8 matrix of halves: lane 4i + j gives elements (i, 2j) and (i, 2j + 1).
SALS_DEVICE uint32_t turn_halves(uint32_t x) {
    uint32_t y;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}

}  // namespace sals::cuda
#endif

namespace sals::cuda {

inline constexpr int LANES = 32;

SALS_DEVICE int lane_index() { return thread_index() % LANES; }
SALS_DEVICE int warp_index() { return thread_index() / LANES; }
SALS_DEVICE float infinity() { return float_of_bits(0x7F800000U); }

}  // namespace sals::cuda
