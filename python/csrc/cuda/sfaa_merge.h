// SPDX-License-Identifier: Apache-2.0
// sfaa_merge.h - from the results of warps to those of a split, and from splits to the output.
#pragma once
#include "cuda/sfaa_prepare.h"

namespace sals::cuda {

// Factor from values relative to `maximum` to values relative to `common`, which is not smaller.
SALS_DEVICE float rescale(float maximum, float common) {
    return common == -infinity() ? 0.0F : fast_exp2(maximum - common);
}

// Puts a warp's results where all threads of the block can add them up. Places of a row are in the order
// [dim tile][g][0, 1], which lanes fill side by side.
template <int HEAD_DIM>
struct MergedRows {
    static constexpr int STRIDE = HEAD_DIM + 8;  // rows 2t of a store fall into different banks
    SALS_DEVICE static int32_t at(int32_t warp, int32_t rows, int32_t row, int32_t place) {
        return (warp * rows + row) * STRIDE + place;
    }
    SALS_DEVICE static int32_t dim(int32_t place) {
        return dim_of<HEAD_DIM>(place / 16, place / 2 % 8) + place % 2;
    }
};

template <int HEAD_DIM, int SLICES, bool STATIC>
SALS_DEVICE void give_warp_result(const WarpState<HEAD_DIM, SLICES>& state, SfaaMemory& m, float* rows) {
    using Merged = MergedRows<HEAD_DIM>;
    const int32_t g = lane_index() / 4, t = lane_index() % 4;
#pragma unroll
    for (int n = 0; n < SLICES; ++n) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            float sum = STATIC ? state.ones[n][r] : state.sum[n][r];
            for (int mask = 4; !STATIC && mask < LANES; mask *= 2) sum += shuffle_xor(sum, mask);
            const int32_t row = n * SLICE_ROWS + 2 * t + r;
            if (g == 0) m.maximum[warp_index()][row] = state.maximum[n][r];
            if (g == 0) m.sum[warp_index()][row] = sum;
#pragma unroll
            for (int i = 0; i < TileShape<HEAD_DIM>::DIM_TILES; ++i) {
                float2 pair;
                pair.x = state.o[n][i][r];
                pair.y = state.o[n][i][2 + r];
                const int32_t at = Merged::at(warp_index(), SLICES * SLICE_ROWS, row, (i * 8 + g) * 2);
                *reinterpret_cast<float2*>(rows + at) = pair;
            }
        }
    }
}

// The static scale of a channel of the values, or 1.
SALS_DEVICE float value_scale_of(const SfaaArguments& a, const SfaaUnit& u, int32_t dim) {
    const bool has_scale = a.value_scale != nullptr && dim < a.tiling.head_dim;
    return has_scale ? a.value_scale[u.kv_head * a.tiling.head_dim + dim] : 1.0F;
}

// Writes an element of the result, given its weighted sum and the row's sum and maximum.
SALS_DEVICE_CALL void give_output(const SfaaArguments& a, const SfaaUnit& u, int32_t r, int32_t dim,
                                  float weighted, float scale, float maximum, float sum) {
    const SfaaTiling& t = a.tiling;
    const int32_t query_row = u.pass_begin + r;
    const int64_t head = static_cast<int64_t>(u.first_token + query_row / t.group) * t.n_kv * t.group +
                         u.kv_head * t.group + query_row % t.group;
    if (dim == 0 && a.lse != nullptr) a.lse[head] = sum == 0.0F ? -infinity() : (maximum + log2f(sum)) * LN_2;
    if (dim >= t.head_dim) return;
    store_float(a.out, a.type, head * t.head_dim + dim, sum == 0.0F ? 0.0F : weighted / sum * scale);
}

// Partial results of the splits of a row and pass: weighted sums [rows][HEAD_DIM], maxima [rows], sums
// [rows].
template <int HEAD_DIM>
struct Parts {
    float* first;
    int32_t rows;
    SALS_DEVICE Parts(const SfaaArguments& a, const SfaaUnit& u)
        : first(a.parts), rows(sfaa_most_pass_rows(a.tiling)) {
        const int64_t list = static_cast<int64_t>(u.row) * sfaa_passes(a.tiling) + u.pass;
        first += list * sfaa_splits(a.tiling) * floats();
    }
    SALS_DEVICE int64_t floats() const { return static_cast<int64_t>(rows) * (HEAD_DIM + 2); }
    SALS_DEVICE float* weighted(int32_t split, int32_t r) const {
        return first + split * floats() + r * HEAD_DIM;
    }
    SALS_DEVICE float* maximum(int32_t split, int32_t r) const {
        return first + split * floats() + rows * HEAD_DIM + r;
    }
    SALS_DEVICE float* sum(int32_t split, int32_t r) const { return maximum(split, r) + rows; }
};

// Adds the warps' results up, and gives them as the output or as a part of it.
template <int HEAD_DIM>
SALS_DEVICE void merge_warps(const SfaaArguments& a, const SfaaUnit& u, int32_t slots, const SfaaMemory& m,
                             const float* rows) {
    using Merged = MergedRows<HEAD_DIM>;
    const Parts<HEAD_DIM> parts(a, u);
    for (int32_t i = thread_index(); i < u.pass_rows * HEAD_DIM; i += SFAA_THREADS) {
        const int32_t r = i / HEAD_DIM, place = i % HEAD_DIM;
        const float scale = u.splits == 1 ? value_scale_of(a, u, Merged::dim(place)) : 1.0F;
        float maximum = m.maximum[0][r];
        for (int w = 1; w < SFAA_WARPS; ++w) maximum = fmaxf(maximum, m.maximum[w][r]);
        float sum = 0.0F, weighted = 0.0F;
        for (int w = 0; w < SFAA_WARPS; ++w) {
            const float factor = rescale(m.maximum[w][r], maximum);
            sum += m.sum[w][r] * factor;
            weighted += rows[Merged::at(w, slots, r, place)] * factor;
        }
        if (u.splits == 1) {
            give_output(a, u, r, Merged::dim(place), weighted, scale, maximum, sum);
            continue;
        }
        parts.weighted(u.split, r)[place] = weighted;
        if (place == 0) *parts.maximum(u.split, r) = maximum;
        if (place == 0) *parts.sum(u.split, r) = sum;
    }
}

// Maximum and sum of each row over all splits; a warp takes a row.
template <int HEAD_DIM>
SALS_DEVICE void merge_sums(const Parts<HEAD_DIM>& parts, const SfaaUnit& u, SfaaMemory& m) {
    for (int32_t r = warp_index(); r < u.pass_rows; r += SFAA_WARPS) {
        float maximum = -infinity(), sum = 0.0F;
        for (int32_t s = lane_index(); s < u.splits; s += LANES) {
            maximum = fmaxf(maximum, load_shared_result(parts.maximum(s, r)));
        }
        for (int mask = 1; mask < LANES; mask *= 2) maximum = fmaxf(maximum, shuffle_xor(maximum, mask));
        for (int32_t s = lane_index(); s < u.splits; s += LANES) {
            sum += load_shared_result(parts.sum(s, r)) *
                   rescale(load_shared_result(parts.maximum(s, r)), maximum);
        }
        for (int mask = 1; mask < LANES; mask *= 2) sum += shuffle_xor(sum, mask);
        if (lane_index() == 0) m.merged_maximum[r] = maximum;
        if (lane_index() == 0) m.merged_sum[r] = sum;
    }
}

// The splits of a row, added up in their order. `factors` has room for a factor of each row and split of a
// batch.
template <int HEAD_DIM, int SLICES>
SALS_DEVICE_CALL void merge_splits(const SfaaArguments& a, const SfaaUnit& u, SfaaMemory& m, float* factors) {
    constexpr int32_t MINE = SLICES * SLICE_ROWS * HEAD_DIM / SFAA_THREADS;  // elements of a thread
    float* sums = factors + MOST_ROWS * MERGE_SPLITS;                        // of all elements
    const Parts<HEAD_DIM> parts(a, u);
    merge_sums(parts, u, m);
#pragma unroll 1
    for (int32_t begin = 0; begin < u.splits; begin += MERGE_SPLITS) {
        const int32_t splits = smaller(u.splits - begin, int32_t{MERGE_SPLITS});
        sync_block();
#pragma unroll 1
        for (int32_t i = thread_index(); i < MERGE_SPLITS * u.pass_rows; i += SFAA_THREADS) {
            const int32_t r = i / MERGE_SPLITS, s = i % MERGE_SPLITS;
            if (s < splits) {
                factors[i] = rescale(load_shared_result(parts.maximum(begin + s, r)), m.merged_maximum[r]);
            }
        }
        sync_block();
#pragma unroll 1
        for (int32_t k = 0; k < MINE; ++k) {
            const int32_t i = thread_index() + k * SFAA_THREADS, r = i / HEAD_DIM;
            if (r >= u.pass_rows) break;
            const float* from = parts.weighted(begin, r) + i % HEAD_DIM;
            const int32_t dim = MergedRows<HEAD_DIM>::dim(i % HEAD_DIM);
            const float scale = value_scale_of(a, u, dim);
            float weighted = begin == 0 ? 0.0F : sums[i];
#pragma unroll 16
            for (int32_t s = 0; s < splits; ++s) {
                weighted += load_shared_result(from + s * parts.floats()) * factors[r * MERGE_SPLITS + s];
            }
            sums[i] = weighted;
            if (begin + splits < u.splits) continue;
            give_output(a, u, r, dim, weighted, scale, m.merged_maximum[r], m.merged_sum[r]);
        }
    }
}

}  // namespace sals::cuda
