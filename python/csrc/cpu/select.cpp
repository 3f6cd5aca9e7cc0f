// SPDX-License-Identifier: Apache-2.0
#include "cpu/select.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace sals::cpu {
namespace {

// The kept candidates: those whose key is above the threshold, and the first `ties` whose key equals it.
struct Cut {
    int32_t threshold;
    int64_t ties;
};

struct KeyRow {
    const QsiKernels& kernels;
    const int32_t* keys;
    int64_t n;
    KeyRange range;

    int64_t count_above(int32_t threshold) const { return kernels.count_above(keys, n, threshold); }
};

// The lowest key in the range that is high. The highest one is, and so is every key above a high one.
template <class IsHigh>
int32_t lowest_key(KeyRange range, IsHigh is_high) {
    int64_t low = range.lowest;
    int64_t high = range.highest;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (is_high(static_cast<int32_t>(middle))) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return static_cast<int32_t>(low);
}

// The k best, 0 < k < n: fewer than k keys are above the threshold, and with the ties exactly k are kept.
Cut cut_by_count(const KeyRow& row, int64_t k) {
    int64_t low = row.range.lowest;
    int64_t high = row.range.highest;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const int64_t above = row.count_above(static_cast<int32_t>(middle));
        if (above == k) return {static_cast<int32_t>(middle), 0};
        if (above < k) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    const int32_t threshold = static_cast<int32_t>(low);
    return {threshold, k - row.count_above(threshold)};
}

// The least mass that need not be kept: mass < limit is mass * COVERAGE_ONE < coverage_q * total, without
// forming those products, which may exceed 64 bits.
int64_t coverage_limit(int64_t total, int64_t coverage_q) {
    return coverage_q * (total / COVERAGE_ONE) + ceil_div(coverage_q * (total % COVERAGE_ONE), COVERAGE_ONE);
}

// How many candidates coverage mode keeps before the clamps. All of mass above the threshold is kept, and
// ties while the mass before them is below the limit.
int64_t coverage_blocks(const KeyRow& row, int64_t coverage_q, std::vector<int32_t>& masses) {
    if (coverage_q >= COVERAGE_ONE) return row.n;
    const int64_t total = row.kernels.masses(row.keys, row.n, row.range.highest, masses.data());
    const int64_t limit = coverage_limit(total, coverage_q);
    const auto mass_above = [&](int32_t key) {
        return row.kernels.mass_above(row.keys, masses.data(), row.n, key);
    };
    const int32_t threshold = lowest_key(row.range, [&](int32_t key) { return mass_above(key) < limit; });
    const int64_t above = row.count_above(threshold);
    const int64_t ties =
        threshold > row.range.lowest ? row.count_above(threshold - 1) - above : row.n - above;
    if (ties == 0) return above;
    const int64_t mass_before = mass_above(threshold);
    const int64_t tied_mass =
        (threshold > row.range.lowest ? mass_above(threshold - 1) : total) - mass_before;
    if (tied_mass == 0) return above + ties;
    return above + smaller(ties, ceil_div(limit - mass_before, tied_mass / ties));
}

// Sorts ids, given ascending, by falling key; equal keys keep their order. Three passes over 11 bits each.
void sort_by_score(const int32_t* keys, int32_t first_id, int64_t k, SelectScratch& scratch, int32_t* ids) {
    constexpr int32_t DIGIT_BITS = 11;
    constexpr uint64_t DIGITS = uint64_t{1} << DIGIT_BITS;
    scratch.pairs.resize(k);
    scratch.other_pairs.resize(k);
    for (int64_t i = 0; i < k; ++i) {
        const uint32_t falling = ~(static_cast<uint32_t>(keys[ids[i] - first_id]) ^ 0x80000000U);
        scratch.pairs[i] = uint64_t{falling} << 32 | static_cast<uint32_t>(ids[i]);
    }
    for (int32_t shift = 32; shift < 64; shift += DIGIT_BITS) {
        std::array<int32_t, DIGITS + 1> begin = {};
        for (const uint64_t pair : scratch.pairs) ++begin[(pair >> shift) % DIGITS + 1];
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        for (const uint64_t pair : scratch.pairs) {
            scratch.other_pairs[begin[(pair >> shift) % DIGITS]++] = pair;
        }
        scratch.pairs.swap(scratch.other_pairs);
    }
    for (int64_t i = 0; i < k; ++i) ids[i] = static_cast<int32_t>(scratch.pairs[i] & UINT32_MAX);
}

void grow(std::vector<int32_t>& buffer, int64_t elements) {
    if (static_cast<int64_t>(buffer.size()) < elements) buffer.resize(elements);
}

// Puts the kept candidates into scratch.ids, ascending or by score, and returns their number.
int64_t select_candidates(const QsiKernels& kernels, const float* scores, BlockRange candidates,
                          const SelectionParams& params, SelectionOrder order, SelectScratch& scratch) {
    const int64_t n = candidates.end - candidates.begin;
    const int32_t first_id = static_cast<int32_t>(candidates.begin);
    if (n == 0 || params.max_blocks == 0) return 0;
    const int64_t padded = ceil_div(n, KEY_LANES) * KEY_LANES;
    grow(scratch.keys, padded);
    grow(scratch.ids, padded + KEY_LANES);
    int32_t* keys = scratch.keys.data();
    const KeyRow row = {kernels, keys, n, kernels.order_keys(scores, n, keys)};
    int64_t k = budget_blocks(n, params);
    if (params.coverage_q > 0) {
        grow(scratch.masses, padded);
        k = clamp_budget(coverage_blocks(row, params.coverage_q, scratch.masses), n, params);
    }
    if (k == 0) return 0;
    const Cut cut = k < n ? cut_by_count(row, k) : Cut{PAD_KEY, 0};
    kernels.take(keys, n, cut.threshold, cut.ties, first_id, scratch.ids.data());
    if (order == SelectionOrder::SCORE) sort_by_score(keys, first_id, k, scratch, scratch.ids.data());
    return k;
}

}  // namespace

int64_t select_blocks(const QsiKernels& kernels, const float* scores, int64_t visible,
                      const SelectionParams& params, SelectionOrder order, SelectScratch& scratch,
                      SelectedRow row) {
    const int64_t blocks = num_blocks(visible, params.block_size);
    const BlockRange candidates = candidate_blocks(visible, params);
    const int64_t k = select_candidates(kernels, scores, candidates, params, order, scratch);
    int32_t* end = row.ids;
    for (int64_t id = 0; id < candidates.begin; ++id) *end++ = static_cast<int32_t>(id);
    end = std::copy_n(scratch.ids.data(), k, end);
    for (int64_t id = candidates.end; id < blocks; ++id) *end++ = static_cast<int32_t>(id);
    std::fill(end, row.ids + row.width, INVALID_BLOCK);
    return k;
}

}  // namespace sals::cpu
