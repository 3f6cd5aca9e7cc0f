// SPDX-License-Identifier: Apache-2.0
// select.h - the exact choice of a row's blocks, by one thread block. No sort: histograms over the range of
// the keys narrow the threshold down to one key, then the kept ids are written in ascending order. Only
// order="score" sorts, and only what is kept.
#pragma once
#include "cuda/block_ops.h"
#include "cuda/exp_log.h"
#include "cuda/launch.h"
#include "sals/coverage.h"
#include "sals/selection.h"

namespace sals::cuda {

inline constexpr int BIN_BITS = 11;
inline constexpr int BINS = 1 << BIN_BITS;
inline constexpr int KEY_VECTORS = 8;  // of four keys, of a thread
inline constexpr int THREAD_KEYS = 4 * KEY_VECTORS;
inline constexpr int TILE_KEYS = QSI_THREADS * THREAD_KEYS;  // a longer row is read again in every pass
inline constexpr int FEW_KEYS = QSI_THREADS;                 // so few are compared pair by pair
inline constexpr uint32_t NO_KEY = 0;                        // below the key of every score

// The kept candidates: keys above the threshold, and the first `ties` of those that equal it.
struct Cut {
    uint32_t threshold;
    int32_t ties;
};

struct SelectMemory {
    uint4 keys[KEY_VECTORS][QSI_THREADS];  // of the row or tile, each read by its thread only
    int32_t counts[BINS];
    uint64_t masses[BINS];  // coverage mode
    uint64_t scratch[QSI_WARPS];
    uint32_t extremes[QSI_WARPS];
    int32_t found_bin;
    int64_t found_before;
    uint32_t few[FEW_KEYS];
    int32_t few_count;
    Cut found_cut;
};

SALS_DEVICE float score_of_key(uint32_t key) {
    return float_of_bits((key & 0x80000000U) != 0 ? key & 0x7FFFFFFFU : ~key);
}

SALS_DEVICE int32_t coverage_mass(uint32_t key, uint32_t best_key) {
    const float score = score_of_key(key), best = score_of_key(best_key);
    const float below = score == best ? 0.0F : subtract(score, best);
    return static_cast<int32_t>(rintf(multiply(static_cast<float>(COVERAGE_MASS_ONE), exact_exp(below))));
}

// Keys that have the order of scores. The code runs once for a row, so it is kept small: what is cold costs
// more than what is not unrolled. A thread holds consecutive ones of a row, or of a tile of it.
class Selector {
public:
    SALS_DEVICE Selector(SelectMemory& memory, const float* scores, int32_t n)
        : m_(memory), scores_(scores), n_(n), tiles_((n + TILE_KEYS - 1) / TILE_KEYS) {
        const int32_t even = (n + QSI_THREADS - 1) / QSI_THREADS;
        vectors_ = tiles_ == 1 ? (even + 3) / 4 : KEY_VECTORS;
        uint32_t low = UINT32_MAX, high = NO_KEY;
        if (tiles_ == 1) load(0);
        each_key([&](int32_t, uint32_t key) {
            low = key != NO_KEY && key < low ? key : low;
            high = key > high ? key : high;
        });
        lowest_ = block_min(low, m_.extremes);
        highest_ = block_max(high, m_.extremes);
    }

    // The k best, 0 < k < n.
    SALS_DEVICE Cut cut_by_count(int64_t k) {
        Range range = {lowest_, highest_};
        for (int64_t need = k;;) {
            const int shift = range.shift();
            fill_bins<false>(range, shift);
            const int bin = find_bin(need, m_.counts);
            need -= m_.found_before;
            const int32_t in_bin = m_.counts[bin];
            range = range.part(bin, shift);
            // No key is 0, so there is always a threshold below the range.
            if (need == in_bin) return {range.low - 1, 0};
            if (shift == 0) return {range.low, static_cast<int32_t>(need)};
            if (in_bin <= FEW_KEYS) return cut_few(range, static_cast<int32_t>(need));
        }
    }

    // Candidates that coverage mode keeps before the clamps.
    SALS_DEVICE_CALL int64_t coverage_count(int64_t coverage_q) {
        if (coverage_q >= COVERAGE_ONE) return n_;
        Range range = {lowest_, highest_};
        int64_t limit = 0, before = 0, kept = 0;
        for (bool first = true;; first = false) {
            const int shift = range.shift();
            fill_bins<true>(range, shift);
            if (first) limit = coverage_limit(sum_bins(m_.masses), coverage_q);
            const int bin = find_bin(limit - before, m_.masses);
            before += m_.found_before;
            kept += count_above(bin);
            const auto in_bin = static_cast<int64_t>(m_.masses[bin]);
            const int64_t tied = m_.counts[bin];
            range = range.part(bin, shift);
            if (shift == 0) return kept + covered_ties(tied, in_bin / tied, before, limit);
        }
    }

    // Calls give(place, i, key) for the kept candidates i in ascending order, place counting from 0.
    template <class Give>
    SALS_DEVICE void take(Cut cut, Give&& give) {
        int32_t above_before = 0, ties_before = 0;  // in the tiles so far
        for (int32_t tile = 0; tile < tiles_; ++tile) {
            if (tiles_ > 1) load(tile);
            int32_t above = 0, ties = 0;
            each_held(tile, [&](int32_t, uint32_t key) {
                above += key > cut.threshold ? 1 : 0;
                ties += key == cut.threshold ? 1 : 0;
            });
            uint64_t total = 0;  // both counts in one sum
            const uint64_t before = block_prefix(
                static_cast<uint64_t>(above) << 32 | static_cast<uint32_t>(ties), m_.scratch, total);
            int32_t tie = ties_before + static_cast<int32_t>(before & UINT32_MAX);
            int32_t place =
                above_before + static_cast<int32_t>(before >> 32) + (tie < cut.ties ? tie : cut.ties);
            each_held(tile, [&](int32_t i, uint32_t key) {
                const bool is_tie = key == cut.threshold && key != NO_KEY;
                if (key > cut.threshold || (is_tie && tie < cut.ties)) give(place++, i, key);
                tie += is_tie ? 1 : 0;
            });
            above_before += static_cast<int32_t>(total >> 32);
            ties_before += static_cast<int32_t>(total & UINT32_MAX);
        }
    }

private:
    // Keys from low to high, both included.
    struct Range {
        uint32_t low, high;
        SALS_DEVICE int shift() const {
            const int bits = LANES - leading_zeros(high - low);
            return bits > BIN_BITS ? bits - BIN_BITS : 0;
        }
        SALS_DEVICE Range part(int bin, int shift) const {
            const uint32_t begin = low + (static_cast<uint32_t>(bin) << shift);
            const uint32_t last = begin + ((1U << shift) - 1);
            return {begin, last < high && last >= begin ? last : high};
        }
        SALS_DEVICE bool has(uint32_t key) const { return key >= low && key <= high; }
    };

    SALS_DEVICE int32_t first_of(int32_t tile) const {
        return tile * TILE_KEYS + thread_index() * vectors_ * 4;
    }

    SALS_DEVICE static uint32_t key(float score, bool is_there) {
        return is_there ? order_key(score) : NO_KEY;
    }

    // The tile's keys; NO_KEY behind the last. Rows of scores have room for whole vectors.
    SALS_DEVICE_CALL void load(int32_t tile) {
        const int32_t first = first_of(tile);
        float4 raw[KEY_VECTORS];
#pragma unroll
        for (int v = 0; v < KEY_VECTORS; ++v) {
            if (v >= vectors_) break;
            const bool is_there = first + 4 * v < n_;
            raw[v] =
                load_shared_result(reinterpret_cast<const float4*>(scores_ + (is_there ? first + 4 * v : 0)));
        }
#pragma unroll
        for (int v = 0; v < KEY_VECTORS; ++v) {
            if (v >= vectors_) break;
            const int32_t left = n_ - first - 4 * v;
            m_.keys[v][thread_index()] = {key(raw[v].x, left > 0), key(raw[v].y, left > 1),
                                          key(raw[v].z, left > 2), key(raw[v].w, left > 3)};
        }
    }

    // Calls f(i, key) for the keys that this thread holds.
    template <class F>
    SALS_DEVICE void each_held(int32_t tile, F&& f) const {
        const int32_t first = first_of(tile);
#pragma unroll 1
        for (int v = 0; v < vectors_; ++v) {
            const uint4 four = m_.keys[v][thread_index()];
            f(first + 4 * v, four.x);
            f(first + 4 * v + 1, four.y);
            f(first + 4 * v + 2, four.z);
            f(first + 4 * v + 3, four.w);
        }
    }

    template <class F>
    SALS_DEVICE void each_key(F&& f) {
        for (int32_t tile = 0; tile < tiles_; ++tile) {
            if (tiles_ > 1) load(tile);
            each_held(tile, f);
        }
    }

    // Counts, and for coverage masses, of the keys in the range.
    template <bool MASSES>
    SALS_DEVICE_CALL void fill_bins(Range range, int shift) {
        sync_block();  // bins may still be read
#pragma unroll 1
        for (int bin = thread_index(); bin < BINS; bin += QSI_THREADS) {
            m_.counts[bin] = 0;
            if (MASSES) m_.masses[bin] = 0;
        }
        sync_block();
        each_key([&](int32_t, uint32_t key) {
            if (!range.has(key)) return;
            const uint32_t bin = (key - range.low) >> shift;
            add_atomically(&m_.counts[bin], 1);
            if (MASSES) add_atomically(&m_.masses[bin], static_cast<uint64_t>(coverage_mass(key, highest_)));
        });
        sync_block();
    }

    // The `need` best of the at most FEW_KEYS keys in the range, and all above it.
    SALS_DEVICE_CALL Cut cut_few(Range range, int32_t need) {
        sync_block();
        if (thread_index() == 0) m_.few_count = 0;
        sync_block();
        each_key([&](int32_t, uint32_t key) {
            if (range.has(key)) m_.few[add_atomically(&m_.few_count, 1)] = key;
        });
        sync_block();
        const int32_t count = m_.few_count;
        if (thread_index() < count) {
            const uint32_t mine = m_.few[thread_index()];
            int32_t above = 0, equal = 0;
            for (int32_t i = 0; i < count; ++i) {
                above += m_.few[i] > mine ? 1 : 0;
                equal += m_.few[i] == mine ? 1 : 0;
            }
            // Equal keys give the same answer.
            if (above < need && need <= above + equal) m_.found_cut = {mine, need - above};
        }
        sync_block();
        return m_.found_cut;
    }

    template <class T>
    SALS_DEVICE int64_t sum_bins(const T* bins) {
        uint64_t mine = 0, total = 0;
        for (int bin = thread_index(); bin < BINS; bin += QSI_THREADS) mine += bins[bin];
        block_prefix(mine, m_.scratch, total);
        return static_cast<int64_t>(total);
    }

    // Candidates in the bins above `bin`.
    SALS_DEVICE int64_t count_above(int bin) {
        uint64_t mine = 0, total = 0;
        for (int i = thread_index(); i < BINS; i += QSI_THREADS) mine += i > bin ? m_.counts[i] : 0;
        block_prefix(mine, m_.scratch, total);
        return static_cast<int64_t>(total);
    }

    // The bin, from the top, in which the sum reaches `need` > 0; m_.found_before is the sum above it.
    template <class T>
    SALS_DEVICE_CALL int find_bin(int64_t need, const T* bins) {
        constexpr int MINE = BINS / QSI_THREADS;
        const int first = BINS - 1 - thread_index() * MINE;  // threads in the order of falling bins
        uint64_t mine = 0, total = 0;
#pragma unroll
        for (int i = 0; i < MINE; ++i) mine += bins[first - i];
        int64_t before = static_cast<int64_t>(block_prefix(mine, m_.scratch, total));
        if (before < need && need <= before + static_cast<int64_t>(mine)) {
            int bin = first;
            for (; before + static_cast<int64_t>(bins[bin]) < need; --bin) before += bins[bin];
            m_.found_bin = bin;
            m_.found_before = before;
        }
        sync_block();
        return m_.found_bin;
    }

    SelectMemory& m_;
    const float* scores_;
    int32_t n_, tiles_, vectors_;
    uint32_t lowest_, highest_;
};

// Sorts `count` pairs (falling key, id) upwards, in shared memory with room for a power of two.
SALS_DEVICE void sort_pairs(uint64_t* pairs, int32_t count) {
    int32_t size = 1;
    while (size < count) size *= 2;
    for (int32_t i = count + thread_index(); i < size; i += QSI_THREADS) pairs[i] = UINT64_MAX;
    for (int32_t width = 2; width <= size; width *= 2) {
        for (int32_t distance = width / 2; distance > 0; distance /= 2) {
            sync_block();
            for (int32_t i = thread_index(); i < size / 2; i += QSI_THREADS) {
                const int32_t low = 2 * i - (i & (distance - 1));
                const bool rising = (low & width) == 0;
                const uint64_t a = pairs[low], b = pairs[low + distance];
                if ((a > b) != rising) continue;
                pairs[low] = b;
                pairs[low + distance] = a;
            }
        }
    }
    sync_block();
}

}  // namespace sals::cuda
