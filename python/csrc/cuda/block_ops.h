// SPDX-License-Identifier: Apache-2.0
// block_ops.h - sums and extremes over the threads of a block. All threads call.
#pragma once
#include "cuda/device.h"

namespace sals::cuda {

inline constexpr int QSI_THREADS = 256;
inline constexpr int QSI_WARPS = QSI_THREADS / LANES;

// Sum of x over the lanes up to and with this one.
template <class T>
SALS_DEVICE T warp_prefix(T x) {
#pragma unroll 1
    for (int distance = 1; distance < LANES; distance *= 2) {
        const T other = shuffle(x, lane_index() >= distance ? lane_index() - distance : lane_index());
        if (lane_index() >= distance) x += other;
    }
    return x;
}

// Sum of x over the threads before this one; `total` is that over all. `scratch` holds a value per warp.
template <class T>
SALS_DEVICE_CALL T block_prefix(T x, T* scratch, T& total) {
    const T inclusive = warp_prefix(x);
    sync_block();  // the scratch may still be read
    if (lane_index() == LANES - 1) scratch[warp_index()] = inclusive;
    sync_block();
    T before = 0;
    total = 0;
#pragma unroll 1
    for (int w = 0; w < QSI_WARPS; ++w) {
        if (w < warp_index()) before += scratch[w];
        total += scratch[w];
    }
    return before + inclusive - x;
}

SALS_DEVICE_CALL uint32_t block_max(uint32_t x, uint32_t* scratch) {
    for (int mask = LANES / 2; mask > 0; mask /= 2) {
        const uint32_t other = shuffle_xor(x, mask);
        x = other > x ? other : x;
    }
    sync_block();
    if (lane_index() == 0) scratch[warp_index()] = x;
    sync_block();
    for (int w = 0; w < QSI_WARPS; ++w) x = scratch[w] > x ? scratch[w] : x;
    return x;
}

SALS_DEVICE uint32_t block_min(uint32_t x, uint32_t* scratch) { return ~block_max(~x, scratch); }

// Whether this thread block is the last to finish its part of a row. The last one sees what all have written,
// and leaves the counter at 0.
SALS_DEVICE bool is_last_of(int32_t* arrivals, int32_t parts, int32_t* shared_flag) {
    sync_block();
    if (parts == 1) return true;
    if (thread_index() == 0) {
        *shared_flag = arrive(arrivals) == parts - 1 ? 1 : 0;
        if (*shared_flag != 0) *arrivals = 0;
    }
    sync_block();
    return *shared_flag != 0;
}

}  // namespace sals::cuda
