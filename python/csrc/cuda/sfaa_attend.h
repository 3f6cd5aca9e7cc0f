// SPDX-License-Identifier: Apache-2.0
// sfaa_attend.h - a warp goes through its tiles: loads, logits, weights, weighted values.
#pragma once
#include "cuda/sfaa_prepare.h"

namespace sals::cuda {

// Loads of a lane. Channels that rows of 80, 96 or 192 lack are read at channel 0: the query has zeros there,
// and results beyond head_dim are not written. CLAMPS: a block may reach beyond the cache, as the last one of
// a dense cache does whose length is no multiple of block_size; pages hold whole blocks.
template <int HEAD_DIM, bool CLAMPS>
class TileLoader {
public:
    using T = TileShape<HEAD_DIM>;

    SALS_DEVICE TileLoader(const SfaaArguments& a, const SfaaMemory& m) : a_(a), m_(m) {
#pragma unroll
        for (int j = 0; j < T::KEY_LOADS; ++j) {
            key_[j] = a.keys.rows + group() * a.keys.token + channel((in_group() + 4 * j) * 16);
        }
#pragma unroll
        for (int l = 0; l < T::VALUE_LOADS; ++l) {
            const uint8_t* even = a.values.rows + 2 * in_group() * a.keys.token;
            value_[0][l] = even + channel((l * 8 + group()) * T::VALUE_BYTES);
            value_[1][l] = value_[0][l] + a.keys.token;
        }
    }

    SALS_DEVICE void keys(const HalfTile (&halves)[2], KeyTile<HEAD_DIM>& to) const {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int64_t at = place(halves[i], group());
#pragma unroll
            for (int j = 0; j < T::KEY_LOADS; ++j) {
                to.row[i][j] = load_stream(reinterpret_cast<const uint4*>(key_[j] + at));
            }
        }
    }

    SALS_DEVICE void values(const HalfTile (&halves)[2], ValueTile<HEAD_DIM>& to) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int64_t at = place(halves[i / 2], 2 * in_group() + i % 2);
#pragma unroll
            for (int l = 0; l < T::VALUE_LOADS; ++l) load_words(value_[i % 2][l] + at, to.word[i][l]);
        }
    }

    SALS_DEVICE void scales(int32_t tile, ScaleTile& to) const {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int32_t h = 2 * tile + i;
            const int32_t token = CLAMPS ? smaller(group(), m_.halves[h].last) : group();
            const int64_t at = m_.scale_at[h] + token * a_.keys.scale_token;
            to.key[i] = a_.keys.scales[at];
            to.value[i] = a_.values.scales[at];
        }
    }

private:
    SALS_DEVICE static int32_t group() { return lane_index() / 4; }
    SALS_DEVICE static int32_t in_group() { return lane_index() % 4; }
    SALS_DEVICE int32_t channel(int32_t byte) const {
        return byte < a_.row_bytes ? byte / 32 * a_.keys.plane + byte % 32 : 0;
    }
    // Of the half, for a lane that reads its token `token`.
    SALS_DEVICE int64_t place(const HalfTile& half, int32_t token) const {
        if (!CLAMPS || token <= half.last) return half.at;
        return half.at + static_cast<int64_t>(half.last - token) * a_.keys.token;
    }
    SALS_DEVICE static void load_words(const uint8_t* from, uint32_t (&to)[4]) {
        const uint4 x = load_stream(reinterpret_cast<const uint4*>(from));
        to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
    }
    SALS_DEVICE static void load_words(const uint8_t* from, uint32_t (&to)[2]) {
        const uint2 x = load_stream(reinterpret_cast<const uint2*>(from));
        to[0] = x.x, to[1] = x.y;
    }

    const SfaaArguments& a_;
    const SfaaMemory& m_;
    const uint8_t* key_[T::KEY_LOADS];
    const uint8_t* value_[2][T::VALUE_LOADS];
};

// A warp's rows, as all its lanes see them: 2t and 2t + 1 of each slice.
template <int SLICES>
struct LaneRows {
    float factor[SLICES][2];
    int32_t visible[SLICES][2];
    SALS_DEVICE explicit LaneRows(const SfaaMemory& m) {
#pragma unroll
        for (int n = 0; n < SLICES; ++n) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int32_t row = n * SLICE_ROWS + lane_index() % 4 * 2 + r;
                factor[n][r] = m.factor[row];
                visible[n][r] = m.visible[row];
            }
        }
    }
};

// What all query rows of a pass see, and what any of them sees.
struct SeenRange {
    int32_t least, most;
};

// Logits of a tile in units of log 2, from products; -inf where a row does not see a token. What scales of
// unseen tokens hold does not matter.
template <int SLICES, bool STATIC>
SALS_DEVICE void make_logits(const LaneRows<SLICES>& rows, const HalfTile (&halves)[2], SeenRange seen,
                             ScaleTile& scales, float (&s)[SLICES][4]) {
    const bool all_see =
        halves[0].position + HALF_TOKENS <= seen.least && halves[1].position + HALF_TOKENS <= seen.least;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int32_t position = halves[i].position + lane_index() / 4;
        if (!STATIC && !all_see && position >= seen.most) scales.key[i] = scales.value[i] = 1.0F;
#pragma unroll
        for (int n = 0; n < SLICES; ++n) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                float& logit = s[n][2 * i + r];
                logit *= STATIC ? rows.factor[n][r] : rows.factor[n][r] * scales.key[i];
                if (!all_see && position >= rows.visible[n][r]) logit = -infinity();
            }
        }
    }
}

// A warp's tiles of the current halves.
template <int HEAD_DIM, int SLICES, bool STATIC, bool CLAMPS>
SALS_DEVICE void attend_tiles(const SfaaArguments& a, const SfaaMemory& m, const uint4* query, int32_t count,
                              SeenRange seen, WarpState<HEAD_DIM, SLICES>& state) {
    const int32_t tiles = (count + 1) / 2;
    int32_t tile = warp_index();
    if (tile >= tiles) return;
    const TileLoader<HEAD_DIM, CLAMPS> load(a, m);
    const LaneRows<SLICES> rows(m);
    KeyTile<HEAD_DIM> keys;
    ValueTile<HEAD_DIM> values;
    ScaleTile scales{};
    HalfTile halves[2] = {m.halves[2 * tile], m.halves[2 * tile + 1]};
    load.keys(halves, keys);
    if (!STATIC) load.scales(tile, scales);
    load.values(halves, values);
#pragma unroll 1
    for (; tile < tiles; tile += SFAA_WARPS) {
        const int32_t next = tile + SFAA_WARPS;
        const bool has_next = next < tiles;
        float s[SLICES][4];
        multiply_keys<HEAD_DIM, SLICES>(keys, query, s);
        make_logits<SLICES, STATIC>(rows, halves, seen, scales, s);
        if (has_next) {
            halves[0] = m.halves[2 * next];
            halves[1] = m.halves[2 * next + 1];
            load.keys(halves, keys);
        }
        float log_scale[2] = {}, sign[2] = {};
        if (!STATIC) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const float log = fast_log2(fabsf(scales.value[i]));
                log_scale[i] = log != log ? log : fmaxf(log, LEAST_LOG_SCALE);
                sign[i] = scales.value[i] < 0.0F ? -1.0F : 1.0F;
            }
            if (has_next) load.scales(next, scales);
        }
        uint32_t p[SLICES][2];
        state.template weigh<STATIC>(s, log_scale, sign, p);
        state.add_values(values, p);
        if (has_next) load.values(halves, values);
    }
}

}  // namespace sals::cuda
