// SPDX-License-Identifier: Apache-2.0
// device_on_cpu.h - the instructions of python/csrc/cuda/device.h on the CPU.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cpu/float_convert.h"
#include "cuda_on_cpu.h"

#define SALS_DEVICE inline
#define SALS_DEVICE_CALL inline
#define SALS_PARAMETER const
#define SALS_KERNEL(threads, blocks_per_sm) inline void

struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct alignas(8) uint2 {
    uint32_t x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};

namespace sals::cuda {

using cuda_on_cpu::block_index;
using cuda_on_cpu::block_threads;
using cuda_on_cpu::dynamic_shared;
using cuda_on_cpu::grid_blocks;
using cuda_on_cpu::sync_block;
using cuda_on_cpu::thread_index;

inline void sync_warp() { cuda_on_cpu::exchange({}); }
inline int32_t arrive(int32_t* counter) { return (*counter)++; }

template <class T>
T shuffle(T x, int lane) {
    static_assert(sizeof(T) <= sizeof(uint64_t));
    cuda_on_cpu::Payload mine{};
    std::memcpy(mine.word, &x, sizeof(T));
    T result;
    std::memcpy(&result, cuda_on_cpu::exchange(mine)[lane].word, sizeof(T));
    return result;
}
template <class T>
T shuffle_xor(T x, int mask) {
    return shuffle(x, thread_index() % cuda_on_cpu::WARP_LANES ^ mask);
}
inline uint32_t ballot(bool x) {
    const cuda_on_cpu::Payload* all = cuda_on_cpu::exchange({{x ? 1U : 0U}});
    uint32_t bits = 0;
    for (int lane = 0; lane < cuda_on_cpu::WARP_LANES; ++lane) bits |= all[lane].word[0] << lane;
    return bits;
}
inline int bit_count(uint32_t x) { return __builtin_popcount(x); }
inline int leading_zeros(uint32_t x) { return x == 0 ? 32 : __builtin_clz(x); }

template <class T>
T add_atomically(T* to, T x) {
    const T before = *to;
    *to += x;
    return before;
}

template <class T>
T load_stream(const T* from) {
    return *from;
}
template <class T>
T load_shared_result(const T* from) {
    return *from;
}

inline uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    uint32_t y = 0;
    for (int i = 0; i < 4; ++i) {
        const uint32_t from = selector >> (4 * i) & 7U;
        y |= static_cast<uint32_t>(bytes >> (8 * from) & 0xFFU) << (8 * i);
    }
    return y;
}
inline int dot4(uint32_t a, uint32_t b, int sum) {
    for (int i = 0; i < 4; ++i) sum += static_cast<int8_t>(a >> 8 * i) * static_cast<int8_t>(b >> 8 * i);
    return sum;
}

inline float add(float a, float b) { return a + b; }
inline float subtract(float a, float b) { return a - b; }
inline float multiply(float a, float b) { return a * b; }
inline float divide(float a, float b) { return a / b; }
inline float float_of_bits(uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}
inline uint32_t bits_of_float(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof(bits));
    return bits;
}
inline float fast_exp2(float x) { return std::exp2(x); }
inline float fast_log2(float x) { return std::log2(x); }

inline uint32_t pack_halves(float low, float high) {
    return cpu::fp16_from_float(low) | static_cast<uint32_t>(cpu::fp16_from_float(high)) << 16;
}
inline float half_to_float(uint32_t bits) { return cpu::float_from_fp16(static_cast<uint16_t>(bits)); }

inline uint32_t subtract_halves(uint32_t a, uint32_t b) {
    return pack_halves(half_to_float(a) - half_to_float(b), half_to_float(a >> 16) - half_to_float(b >> 16));
}

inline float half_of(uint32_t word, int i) { return half_to_float(word >> (16 * i)); }

inline void multiply_tiles(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    const cuda_on_cpu::Payload* all = cuda_on_cpu::exchange({{a[0], a[1], a[2], a[3], b0, b1}});
    const int lane = thread_index() % cuda_on_cpu::WARP_LANES;
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 16; ++k) {
            const auto& from_a = all[row % 8 * 4 + k % 8 / 2].word;
            const auto& from_b = all[column * 4 + k % 8 / 2].word;
            c[i] += half_of(from_a[row / 8 + 2 * (k / 8)], k % 2) * half_of(from_b[4 + k / 8], k % 2);
        }
    }
}
inline int32_t byte_of(uint32_t word, int i) { return static_cast<int8_t>(word >> (8 * i)); }

inline void multiply_byte_tiles(int32_t (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    const cuda_on_cpu::Payload* all = cuda_on_cpu::exchange({{a[0], a[1], a[2], a[3], b0, b1}});
    const int lane = thread_index() % cuda_on_cpu::WARP_LANES;
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 32; ++k) {
            const auto& from_a = all[row % 8 * 4 + k % 16 / 4].word;
            const auto& from_b = all[column * 4 + k % 16 / 4].word;
            c[i] += byte_of(from_a[row / 8 + 2 * (k / 16)], k % 4) * byte_of(from_b[4 + k / 16], k % 4);
        }
    }
}
inline uint32_t turn_halves(uint32_t x) {
    const cuda_on_cpu::Payload* all = cuda_on_cpu::exchange({{x}});
    const int lane = thread_index() % cuda_on_cpu::WARP_LANES;
    const int column = lane / 4;
    uint32_t y = 0;
    for (int i = 0; i < 2; ++i) {
        const int row = lane % 4 * 2 + i;
        y |= (all[row * 4 + column / 2].word[0] >> (16 * (column % 2)) & 0xFFFFU) << (16 * i);
    }
    return y;
}

}  // namespace sals::cuda
