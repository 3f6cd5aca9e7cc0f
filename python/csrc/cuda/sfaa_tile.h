// SPDX-License-Identifier: Apache-2.0
// sfaa_tile.h - attention of a warp over tiles of 16 tokens, with keys and values straight from global memory
// in registers: no shared memory between them and the matrix units.
//     S^T [16 tokens x 8 rows]  = K [tokens x dims] * Q^T     int8, the query in two terms of 8 bits: no
//     conversion O^T [dims x 8 rows]      += V^T [dims x tokens] * P^T   halves; one more product sums the
//     same rounded weights
// Which dims and tokens a lane holds is free as long as both operands agree, so a lane reads 16 bytes of a
// row at once. Lane 4g + t holds, of the keys, tokens g and g + 8, dims 16 (t + 4j) + 0..15; of the values,
// tokens 2t, 2t + 1, 2t + 8, 2t + 9, and VALUE_BYTES dims from VALUE_BYTES * g on (of each 8 * VALUE_BYTES).
#pragma once
#include "cuda/device.h"
#include "cuda/sfaa_policy.h"

namespace sals::cuda {

inline constexpr uint32_t HALF_1024_TWICE = 0x64006400U;
inline constexpr uint32_t HALF_1_TWICE = 0x3C003C00U;
inline constexpr uint32_t HALF_1152_TWICE = 0x64806480U;
inline constexpr uint32_t SIGN_BITS = 0x80808080U;
inline constexpr float FIRST_TERM = 127.0F, SECOND_TERM = 254.0F;  // units: amax/127, and 1/254 of that

// Four bytes v + 128 as halves v: bytes 0, 1 and bytes 2, 3. A half 1024 + x has x in its low byte. To leave
// the 1152 in and take 1152 times the sum of the weights off the result would save instructions, but sums of
// that size are cut off where small results have their digits: long lists of like weights came out off by
// half a percent.
SALS_DEVICE uint32_t first_halves(uint32_t offset) {
    return subtract_halves(pick_bytes(offset, HALF_1024_TWICE, 0x7150), HALF_1152_TWICE);
}
SALS_DEVICE uint32_t last_halves(uint32_t offset) {
    return subtract_halves(pick_bytes(offset, HALF_1024_TWICE, 0x7352), HALF_1152_TWICE);
}

template <int HEAD_DIM>
struct TileShape {
    static constexpr int KEY_LOADS = HEAD_DIM / 64;  // of 16 bytes, for each of a lane's two tokens
    static constexpr int KEY_STEPS = HEAD_DIM / 32;  // matrix products along the dims, two for each load
    static constexpr int VALUE_BYTES = HEAD_DIM >= 128 ? 16 : 8;
    static constexpr int VALUE_LOADS = HEAD_DIM / 8 / VALUE_BYTES;  // for each of a lane's four tokens
    static constexpr int VALUE_WORDS = VALUE_BYTES / 4;
    static constexpr int DIM_TILES = HEAD_DIM / 16;
};

// The dim of row g of dim tile `tile`; row g + 8 has the next one.
template <int HEAD_DIM>
SALS_DEVICE int32_t dim_of(int32_t tile, int32_t g) {
    constexpr int BYTES = TileShape<HEAD_DIM>::VALUE_BYTES;
    return tile * 2 / BYTES * 8 * BYTES + g * BYTES + tile * 2 % BYTES;
}

// Where byte `d` of query row r stands as second operand of the first product: its first term, and 8 bytes
// further the second one.
template <int HEAD_DIM>
SALS_DEVICE int32_t query_byte(int32_t r, int32_t d) {
    const int32_t chunk = d / 16, step = chunk / 4 * 2 + d % 16 / 8;
    const int32_t lane = r % SLICE_ROWS * 4 + chunk % 4;
    return ((r / SLICE_ROWS * TileShape<HEAD_DIM>::KEY_STEPS + step) * LANES + lane) * 16 + d % 8;
}

template <int HEAD_DIM>
struct KeyTile {
    uint4 row[2][TileShape<HEAD_DIM>::KEY_LOADS];
};
template <int HEAD_DIM>
struct ValueTile {
    uint32_t word[4][TileShape<HEAD_DIM>::VALUE_LOADS][TileShape<HEAD_DIM>::VALUE_WORDS];
};
struct ScaleTile {
    float key[2], value[2];
};

// S^T of a tile in units of the first term. `query` has, for each slice and step, what a lane gives as second
// operand: two words of first terms and two of second ones.
template <int HEAD_DIM, int SLICES>
SALS_DEVICE void multiply_keys(const KeyTile<HEAD_DIM>& keys, const uint4* query, float (&s)[SLICES][4]) {
    using T = TileShape<HEAD_DIM>;
    int32_t first[SLICES][4] = {}, second[SLICES][4] = {};
#pragma unroll
    for (int j = 0; j < T::KEY_LOADS; ++j) {
        const uint4 &a = keys.row[0][j], &b = keys.row[1][j];
        const uint32_t tile[2][4] = {{a.x, b.x, a.y, b.y}, {a.z, b.z, a.w, b.w}};
#pragma unroll
        for (int h = 0; h < 2; ++h) {
#pragma unroll
            for (int n = 0; n < SLICES; ++n) {
                const uint4 q = query[(n * T::KEY_STEPS + j * 2 + h) * LANES + lane_index()];
                multiply_byte_tiles(first[n], tile[h], q.x, q.y);
                multiply_byte_tiles(second[n], tile[h], q.z, q.w);
            }
        }
    }
#pragma unroll
    for (int n = 0; n < SLICES; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            s[n][i] =
                static_cast<float>(first[n][i]) + static_cast<float>(second[n][i]) * (1.0F / SECOND_TERM);
        }
    }
}

// Running softmax of a lane: of each slice, query rows 2t and 2t + 1.
template <int HEAD_DIM, int SLICES>
struct WarpState {
    using T = TileShape<HEAD_DIM>;
    float maximum[SLICES][2];  // of logit + log2|value scale|, the same in all lanes that share a row
    float base[SLICES][2];     // what weights are relative to: the maximum, or 0 before there is one
    float sum[SLICES][2];      // per-token scales: of this lane's tokens, value scales apart
    float ones[SLICES][4];     // sums of the weights of all tokens
    float o[SLICES][T::DIM_TILES][4];

    SALS_DEVICE void clear() {
#pragma unroll
        for (int n = 0; n < SLICES; ++n) {
#pragma unroll
            for (int r = 0; r < 2; ++r) maximum[n][r] = -infinity(), base[n][r] = 0.0F, sum[n][r] = 0.0F;
#pragma unroll
            for (int c = 0; c < 4; ++c) ones[n][c] = 0.0F;
#pragma unroll
            for (int i = 0; i < T::DIM_TILES; ++i) {
#pragma unroll
                for (int c = 0; c < 4; ++c) o[n][i][c] = 0.0F;
            }
        }
    }

    // Takes logits (in units of log 2) of a tile and gives the weights P^T. With scales per token, a value's
    // scale joins its weight: weights are exp2(logit + log2|scale| - maximum) with the scale's sign, never
    // above 1, however scales differ. Sums stay without the scale, relative to the same maximum.
    template <bool STATIC>
    SALS_DEVICE void weigh(const float (&s)[SLICES][4], const float (&log_scale)[2], const float (&sign)[2],
                           uint32_t (&p)[SLICES][2]) {
        float z[SLICES][4];
        bool grows = false;
#pragma unroll
        for (int n = 0; n < SLICES; ++n) {
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                z[n][c] = STATIC ? s[n][c] : s[n][c] + log_scale[c / 2];
                grows = grows || z[n][c] > maximum[n][c % 2];
            }
        }
        if (ballot(grows) != 0) raise_maximum(z);
#pragma unroll
        for (int n = 0; n < SLICES; ++n) {
            float weight[4];
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                weight[c] = fast_exp2(z[n][c] - base[n][c % 2]);
                if (STATIC) continue;
                sum[n][c % 2] += fast_exp2(s[n][c] - base[n][c % 2]);
                weight[c] *= sign[c / 2];
            }
            p[n][0] = turn_halves(pack_halves(weight[0], weight[1]));
            p[n][1] = turn_halves(pack_halves(weight[2], weight[3]));
        }
    }

    // O^T += V^T P^T.
    SALS_DEVICE void add_values(const ValueTile<HEAD_DIM>& values, const uint32_t (&p)[SLICES][2]) {
        const uint32_t all_ones[4] = {HALF_1_TWICE, HALF_1_TWICE, HALF_1_TWICE, HALF_1_TWICE};
#pragma unroll
        for (int n = 0; n < SLICES; ++n) multiply_tiles(ones[n], all_ones, p[n][0], p[n][1]);
#pragma unroll
        for (int l = 0; l < T::VALUE_LOADS; ++l) {
#pragma unroll
            for (int w = 0; w < T::VALUE_WORDS; ++w) {
                // Tokens in pairs: (2t, 2t + 1), (2t + 8, 2t + 9); of each, dims 0, 1 and dims 2, 3
                // interleaved.
                uint32_t mixed[2][2];
#pragma unroll
                for (int pair = 0; pair < 2; ++pair) {
                    const uint32_t a = values.word[2 * pair][l][w] ^ SIGN_BITS;
                    const uint32_t b = values.word[2 * pair + 1][l][w] ^ SIGN_BITS;
                    mixed[pair][0] = pick_bytes(a, b, 0x5140);
                    mixed[pair][1] = pick_bytes(a, b, 0x7362);
                }
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const uint32_t tile[4] = {first_halves(mixed[0][half]), last_halves(mixed[0][half]),
                                              first_halves(mixed[1][half]), last_halves(mixed[1][half])};
                    const int dim_tile = (l * T::VALUE_WORDS + w) * 2 + half;
#pragma unroll
                    for (int n = 0; n < SLICES; ++n) multiply_tiles(o[n][dim_tile], tile, p[n][0], p[n][1]);
                }
            }
        }
    }

private:
    SALS_DEVICE void raise_maximum(const float (&z)[SLICES][4]) {
#pragma unroll
        for (int n = 0; n < SLICES; ++n) {
            float factor[2];
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                float m = fmaxf(z[n][r], z[n][2 + r]);
                m = fmaxf(m, shuffle_xor(m, 4));
                m = fmaxf(m, shuffle_xor(m, 8));
                m = fmaxf(m, shuffle_xor(m, 16));
                m = fmaxf(m, maximum[n][r]);
                base[n][r] = m == -infinity() ? 0.0F : m;
                factor[r] = fast_exp2(maximum[n][r] - base[n][r]);
                maximum[n][r] = m;
                sum[n][r] *= factor[r];
            }
#pragma unroll
            for (int c = 0; c < 4; ++c) ones[n][c] *= factor[c % 2];
#pragma unroll
            for (int i = 0; i < T::DIM_TILES; ++i) {
#pragma unroll
                for (int c = 0; c < 4; ++c) o[n][i][c] *= factor[c % 2];
            }
        }
    }
};

}  // namespace sals::cuda
