// SPDX-License-Identifier: Apache-2.0
// sfaa_kernel.h - kernel two: gather and attention over the int8 cache. A thread block takes one split of a
// list row and one pass of its query rows; its warps take tiles in turn, each with a softmax of its own, and
// merge in shared memory. The block that finishes a row last merges the splits, in their order.
#pragma once
#include "cuda/block_ops.h"
#include "cuda/floats.h"
#include "cuda/rows.h"
#include "cuda/sfaa_tile.h"

namespace sals::cuda {

inline constexpr float LOG2_E = 1.44269504F, LN_2 = 0.693147181F;
inline constexpr int MOST_ROWS = 2 * SLICE_ROWS;
inline constexpr int MERGE_SPLITS = 64;  // splits whose factors stand in shared memory together
inline constexpr int32_t NEVER_SEEN = INT32_MAX - (1 << 16);  // position behind all tokens
inline constexpr float LEAST_LOG_SCALE =
    -108.0F;  // smaller value scales count as 2^-108: sums of weights stay finite

// Eight tokens of a listed block.
struct HalfTile {
    int64_t at;        // byte of the first of them in the cache
    int32_t position;  // of that token in the request
    int32_t
        last;  // token of the eight, behind which nothing may be read; negative if that is before the first
};

struct SfaaMemory {
    HalfTile halves[BATCH_HALVES + 1];
    int64_t scale_at[BATCH_HALVES + 1];
    int32_t visible[MOST_ROWS];
    float factor[MOST_ROWS];  // from a row's products to logits in units of log 2, per-token scales apart
    float maximum[SFAA_WARPS][MOST_ROWS], sum[SFAA_WARPS][MOST_ROWS];
    float merged_maximum[MOST_ROWS], merged_sum[MOST_ROWS];
    int32_t warp_entries[SFAA_WARPS];
    int32_t request;
    int32_t is_last;
};

// The part of the work that a thread block has.
struct SfaaUnit {
    int32_t split, pass, row;
    int32_t list_token, kv_head, list_row;
    int32_t first_token;            // of the list
    int32_t pass_begin, pass_rows;  // query rows of the list row
    int32_t begin, end;             // list entries
    int32_t splits;                 // that have work
};

SALS_DEVICE SfaaUnit sfaa_unit(const SfaaArguments& a) {
    const SfaaTiling& t = a.tiling;
    const int32_t passes = sfaa_passes(t), splits = sfaa_splits(t), entries = sfaa_split_entries(t);
    SfaaUnit u{};
    u.pass = block_index() % passes;
    u.split = block_index() / passes % splits;
    u.row = block_index() / passes / splits;
    u.list_token = u.row / t.n_kv;
    u.kv_head = u.row % t.n_kv;
    u.list_row = u.list_token * t.list_heads + (t.list_heads == 1 ? 0 : u.kv_head);
    u.first_token = u.list_token * (t.is_shared ? t.s_q : 1);
    const int32_t pass_size = sfaa_pass_slices(t) * SLICE_ROWS;
    u.pass_begin = u.pass * pass_size;
    u.pass_rows = smaller(sfaa_query_rows(t) - u.pass_begin, pass_size);
    // selected_lens only says how many splits are worth a thread block; the last of them takes all that
    // follows.
    const int32_t tokens = larger(smaller(a.selected_lens[u.list_row], t.width * t.block_size), 0);
    u.splits = smaller(larger(ceil_div(tokens, entries * t.block_size), 1), splits);
    u.begin = u.split * entries;
    u.end = u.split + 1 == u.splits ? t.width : smaller(u.begin + entries, t.width);
    return u;
}

// What the query rows of the pass see, and the request of the list.
SALS_DEVICE void read_rows(const SfaaArguments& a, const SfaaUnit& u, SfaaMemory& m) {
    const int32_t r = thread_index();
    if (r >= MOST_ROWS) return;
    m.visible[r] = 0;
    if (r < u.pass_rows) {
        const TokenRow token = token_row(a.requests, u.first_token + (u.pass_begin + r) / a.tiling.group);
        const bool is_real = token.s < token.q_len;
        const int64_t seen =
            a.tiling.is_causal ? visible_tokens(token.seq_len, token.q_len, token.s) : int64_t{token.seq_len};
        m.visible[r] = is_real ? clamp_visible(a.requests, seen) : 0;
    }
    if (r == 0) m.request = token_row(a.requests, u.first_token).request;
}

// COUNT elements that lie LANES apart. All loads are under way before the first is used.
template <int COUNT>
SALS_DEVICE void load_floats(const void* from, FloatType type, int64_t first, int32_t count,
                             float (&to)[COUNT]) {
    uint32_t bits[COUNT];
    if (type == FloatType::FLOAT32) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            bits[i] = i * LANES < count ? static_cast<const uint32_t*>(from)[first + i * LANES] : 0;
        }
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            bits[i] = i * LANES < count ? static_cast<const uint16_t*>(from)[first + i * LANES] : 0;
        }
    }
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        to[i] = type == FloatType::FLOAT32   ? float_of_bits(bits[i])
                : type == FloatType::FLOAT16 ? half_to_float(bits[i])
                                             : float_of_bits(bits[i] << 16);
    }
}

// Query rows in two terms of 8 bits relative to their largest channel, static key scales included. Warps take
// rows in turn. A row with a channel that is not finite gets a factor that is NaN.
template <int HEAD_DIM>
SALS_DEVICE void load_query(const SfaaArguments& a, const SfaaUnit& u, int32_t rows, SfaaMemory& m,
                            int8_t* to) {
    constexpr int MINE = HEAD_DIM / LANES;
    const SfaaTiling& t = a.tiling;
#pragma unroll 1
    for (int32_t r = warp_index(); r < rows; r += SFAA_WARPS) {
        const int32_t query_row = u.pass_begin + r;
        const int64_t head = static_cast<int64_t>(u.first_token + query_row / t.group) * t.n_kv * t.group +
                             u.kv_head * t.group + query_row % t.group;
        const int32_t count =
            r < u.pass_rows ? t.head_dim - lane_index() : 0;  // channels from this lane's first on
        float x[MINE], scale[MINE];
        load_floats(a.query, a.type, head * t.head_dim + lane_index(), count, x);
        if (a.key_scale != nullptr) {
            load_floats(a.key_scale, FloatType::FLOAT32, u.kv_head * t.head_dim + lane_index(), count, scale);
        }
        float largest = 0.0F;
#pragma unroll
        for (int i = 0; i < MINE; ++i) {
            if (a.key_scale != nullptr) x[i] *= scale[i];
            largest = larger_magnitude(largest, x[i]);
        }
        for (int mask = LANES / 2; mask > 0; mask /= 2) {
            largest = larger_magnitude(largest, shuffle_xor(largest, mask));
        }
        const bool is_finite = largest < infinity();
        const float up = largest > 0.0F && is_finite ? FIRST_TERM / largest : 0.0F;
        if (lane_index() == 0) {
            m.factor[r] = is_finite ? largest / FIRST_TERM * t.scale * LOG2_E : float_of_bits(0x7FC00000U);
        }
#pragma unroll
        for (int i = 0; i < MINE; ++i) {
            const float scaled = is_finite ? x[i] * up : 0.0F;
            const float first = nearest_whole(scaled), second = nearest_whole((scaled - first) * SECOND_TERM);
            int8_t* place = to + query_byte<HEAD_DIM>(r, i * LANES + lane_index());
            place[0] = static_cast<int8_t>(first);
            place[8] = static_cast<int8_t>(second);
        }
    }
}

// The list entry of this thread in the batch that begins at `begin`.
SALS_DEVICE int32_t listed_id(const SfaaArguments& a, const SfaaUnit& u, int32_t begin, int32_t most) {
    const int32_t i = begin + thread_index();
    if (thread_index() >= most || i >= u.end) return INVALID_BLOCK;
    return a.block_ids[static_cast<int64_t>(u.list_row) * a.tiling.width + i];
}

// Translates the list entries of a batch, one by each thread, into halves of tiles, and returns how many
// halves there are. They keep their order.
SALS_DEVICE int32_t read_entries(const SfaaArguments& a, const SfaaUnit& u, int32_t id, int32_t most_visible,
                                 SfaaMemory& m) {
    const int64_t position = static_cast<int64_t>(id) * a.tiling.block_size;
    const bool is_there = id >= 0 && position < most_visible;
    const uint32_t warp_there = ballot(is_there);
    if (lane_index() == 0) m.warp_entries[warp_index()] = bit_count(warp_there);
    sync_block();
    const int32_t block_halves = a.tiling.block_size / HALF_TOKENS;
    int32_t place = bit_count(warp_there & ((1U << lane_index()) - 1)), count = 0;
    for (int w = 0; w < SFAA_WARPS; ++w) {
        if (w < warp_index()) place += m.warp_entries[w];
        count += m.warp_entries[w];
    }
    if (is_there) {
        const auto first = static_cast<int32_t>(position);
        const int32_t page_index = PageDivider(a.requests.page_size).quotient(first);
        const int64_t page = page_of(a.requests, m.request, page_index);
        const int64_t offset = first - page_index * a.requests.page_size;
        HalfTile half = {page * a.keys.page + u.kv_head * a.keys.head + offset * a.keys.token, first,
                         most_visible - first - 1};
        int64_t scale_at =
            page * a.keys.scale_page + u.kv_head * a.keys.scale_head + offset * a.keys.scale_token;
        for (int32_t h = place * block_halves; h < (place + 1) * block_halves; ++h) {
            m.halves[h] = half;
            m.scale_at[h] = scale_at;
            half.at += int64_t{HALF_TOKENS} * a.keys.token;
            half.position += HALF_TOKENS;
            half.last -= HALF_TOKENS;
            scale_at += int64_t{HALF_TOKENS} * a.keys.scale_token;
        }
        // Half a tile may be missing behind the last block of 8: any tokens will do, since no row sees them.
        if (place + 1 == count) {
            m.halves[count * block_halves] = m.halves[place * block_halves];
            m.halves[count * block_halves].position = NEVER_SEEN;
            m.scale_at[count * block_halves] = m.scale_at[place * block_halves];
        }
    }
    sync_block();
    return count * block_halves;
}

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
