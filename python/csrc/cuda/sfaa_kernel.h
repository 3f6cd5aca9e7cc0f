// SPDX-License-Identifier: Apache-2.0
// sfaa_kernel.h - kernel two: gather and attention over the int8 cache. A thread block takes one split of a
// list row and one pass of its query rows; its warps take tiles in turn, each with a softmax of its own, and
// merge in shared memory. The block that finishes a row last merges the splits, in their order.
#pragma once
#include "cuda/sfaa_attend.h"
#include "cuda/sfaa_merge.h"

namespace sals::cuda {

template <int HEAD_DIM, int SLICES, bool STATIC, bool CLAMPS>
SALS_DEVICE void sfaa_body(const SfaaArguments& a) {
    auto& m = *reinterpret_cast<SfaaMemory*>(dynamic_shared());
    unsigned char* room = dynamic_shared() + sizeof(SfaaMemory);
    const SfaaUnit u = sfaa_unit(a);
    if (u.split >= u.splits) return;
    constexpr int32_t SLOTS = SLICES * SLICE_ROWS;
    const int32_t batch = smaller(int32_t{SFAA_THREADS}, BATCH_HALVES * HALF_TOKENS / a.tiling.block_size);
    int32_t id = listed_id(a, u, u.begin, batch);
    read_rows(a, u, m);
    load_query<HEAD_DIM>(a, u, SLOTS, m, reinterpret_cast<int8_t*>(room));
    sync_block();
    SeenRange seen = {INT32_MAX, 0};
    for (int32_t r = 0; r < u.pass_rows; ++r) {
        seen.least = smaller(seen.least, m.visible[r]);
        seen.most = larger(seen.most, m.visible[r]);
    }
    WarpState<HEAD_DIM, SLICES> state;
    state.clear();
    for (int32_t begin = u.begin; begin < u.end; begin += batch) {
        const int32_t halves = read_entries(a, u, id, seen.most, m);
        if (begin + batch < u.end) id = listed_id(a, u, begin + batch, batch);
        attend_tiles<HEAD_DIM, SLICES, STATIC, CLAMPS>(a, m, reinterpret_cast<const uint4*>(room), halves,
                                                       seen, state);
        sync_block();  // halves are still read
    }
    auto* rows = reinterpret_cast<float*>(room);
    sync_block();  // so may the query be, whose place the results take
    give_warp_result<HEAD_DIM, SLICES, STATIC>(state, m, rows);
    sync_block();
    merge_warps<HEAD_DIM>(a, u, SLOTS, m, rows);
    if (u.splits == 1) return;
    int32_t* arrivals = a.arrivals + static_cast<int64_t>(u.row) * sfaa_passes(a.tiling) + u.pass;
    if (is_last_of(arrivals, u.splits, &m.is_last)) merge_splits<HEAD_DIM, SLICES>(a, u, m, rows);
}

template <int HEAD_DIM, int SLICES, bool STATIC, bool CLAMPS>
SALS_KERNEL(SFAA_THREADS, (HEAD_DIM * SLICES <= 128 ? 4 : 2))
sfaa_kernel(SALS_PARAMETER SfaaArguments a) {
    sfaa_body<HEAD_DIM, SLICES, STATIC, CLAMPS>(a);
}

template <int HEAD_DIM, int SLICES>
SALS_HD int64_t sfaa_shared_bytes() {
    constexpr int64_t QUERY = int64_t{SLICES} * TileShape<HEAD_DIM>::KEY_STEPS * LANES * sizeof(uint4);
    constexpr int64_t ROWS = int64_t{SFAA_WARPS} * SLICES * SLICE_ROWS * (HEAD_DIM + 8) * sizeof(float);
    return static_cast<int64_t>(sizeof(SfaaMemory)) + (ROWS > QUERY ? ROWS : QUERY);
}

}  // namespace sals::cuda
