// SPDX-License-Identifier: Apache-2.0
// sfaa_step.h - attention over one step of tokens. Compiled per instruction set.
//     keys    -> packed     one pass over the memory of the step
//     values  -> packed
//     q K^T   -> dots       exact int32, two terms per query row
//     softmax -> weights    fp32, then two int8 terms
//     P V     -> products   exact int32; both products ask for the memory of the next step
//     products merge into the rows' partial result
#pragma once
#include "cpu/sfaa_merge.h"
#include "cpu/sfaa_two_term.h"

namespace sals::cpu::SALS_TARGET {

SALS_INLINE void pack_step(const StepTokens& step, int32_t head_dim, StepScratch& scratch) {
    const RowBytes bytes = {step.plane_stride, head_dim};
    for (int32_t token = 0; token < step.padded_count; token += TOKEN_STEP) {
        pack_keys(step.key + token, bytes, scratch.keys + token, STEP);
        pack_values(step.value + token, bytes, scratch.values + token / DEPTH_STEP * head_dim, head_dim);
    }
}

// What the weights of a row say of the step, besides themselves.
struct RowStats {
    float maximum, row_sum, exp_sum, output_factor;
};

struct RowMaximum {
    float maximum;
    float poison;  // 0, or NaN if a token that the row sees has no finite logit
};

// Logits in place of the dots of the first term.
SALS_INLINE RowMaximum row_logits(const QueryRows& rows, int32_t r, const StepTokens& step, int32_t* dots) {
    const F32x16 factor = broadcast(rows.factor[r]);
    const bool all_seen = rows.visible[r] > step.last_position;
    const F32x16 zero = broadcast(0.0F);
    F32x16 largest = broadcast(NOTHING), poison = zero;
    for (int32_t i = 0; i < step.padded_count; i += LANES) {
        F32x16 logit = joined(to_f32(load(dots + i)), to_f32(load(dots + STEP + i))) * factor;
        if (!rows.static_scales) logit = logit * load(step.key_scale + i);
        if (!all_seen) {
            const I32x16 seen = less(load(step.position + i), broadcast(rows.visible[r]));
            logit = select(seen, logit, broadcast(NOTHING));
        }
        if (i + LANES > step.count) {
            const I32x16 real = less(lane_index() + broadcast(i), broadcast(step.count));
            logit = select(real, logit, broadcast(NOTHING));
        }
        store(dots + i, bits_of(logit));
        largest = max(largest, logit);
        if (!rows.static_scales) poison = poison + max(zero, logit) * zero;  // max takes a NaN on its right
    }
    return {max_lane(largest), rows.static_scales ? 0.0F : sum(poison)};
}

// The products of these are 0; what is not a number must not reach integer arithmetic.
SALS_INLINE void clear_weights(int8_t* codes, int32_t* sums) {
    std::memset(codes, 0, TERMS * STEP);
    sums[0] = sums[1] = 0;
}

// Per-token value scales join the quantised weights, which are then split anew by their own maximum. Returns
// the factor that the products are short of: NaN if a token that the row sees has no finite scale.
inline float fold_value_scale(float* weights, const int32_t* logits, const StepTokens& step, int8_t* codes,
                              int32_t* sums) {
    F32x16 largest = broadcast(0.0F), poison = broadcast(0.0F);
    for (int32_t i = 0; i < step.padded_count; i += LANES) {
        const I32x16 seen = less(broadcast(NOTHING), from_bits(load(logits + i)));
        const TwoTerms terms = split(load(weights + i) * broadcast(FIRST_TERM));
        const F32x16 scaled = joined(terms.first, terms.second) * load(step.value_scale + i);
        const F32x16 weight = select(seen, scaled, broadcast(0.0F));
        store(weights + i, weight);
        largest = max(largest, abs(weight));
        poison = poison + (weight - weight);
    }
    const float spoilt = sum(poison);
    if (spoilt != 0.0F) {
        clear_weights(codes, sums);
        return spoilt;
    }
    const float amax = max_lane(largest);
    store_split(weights, step.padded_count, unit_factor(amax), codes, codes + STEP, sums);
    return amax / FIRST_TERM;
}

// Two-term weights of one row from its logits. Both sums of the weights are in units of 1/127, as the
// products are, and cancel in the end. The split has a loop of its own: the fewer dependent steps a loop has,
// the more of its iterations a processor overlaps.
SALS_INLINE RowStats row_weights(const QueryRows& rows, int32_t r, const StepTokens& step,
                                 const int32_t* logits, RowMaximum of_row, int8_t* codes, int32_t* sums) {
    const float maximum = of_row.maximum;
    const bool is_spoilt = of_row.poison != 0.0F || maximum > __FLT_MAX__;
    if (maximum == NOTHING || is_spoilt) {
        clear_weights(codes, sums);
        if (is_spoilt) return {0.0F, 1.0F, __builtin_nanf(""), 0.0F};
        return {NOTHING, 0.0F, 0.0F, 0.0F};
    }
    alignas(64) float weights[STEP];
    F32x16 exp_sum = broadcast(0.0F);
    for (int32_t i = 0; i < step.padded_count; i += LANES) {
        const F32x16 p = exp(from_bits(load(logits + i)) - broadcast(maximum));
        store(weights + i, p);
        exp_sum = exp_sum + p;
    }
    store_split(weights, step.padded_count, FIRST_TERM, codes, codes + STEP, sums);
    const float row_sum = static_cast<float>(sums[0]) + static_cast<float>(sums[1]) * (1.0F / SECOND_TERM);
    const float factor = rows.static_scales ? 1.0F : fold_value_scale(weights, logits, step, codes, sums);
    return {maximum, row_sum, sum(exp_sum) + rows.poison[r], factor};
}

// One row of the step's products joins the accumulator.
SALS_INLINE void accumulate(const int32_t* products, int32_t head_dim, float mine, float theirs,
                            float* into) {
    for (int32_t x = 0; x < head_dim; x += LANES) {
        const F32x16 y = joined(to_f32(load(products + x)), to_f32(load(products + head_dim + x)));
        store(into + x, load(into + x) * broadcast(mine) + y * broadcast(theirs));
    }
}

SALS_INLINE void merge_step(const RowStats* stats, int32_t begin, int32_t count, int32_t head_dim,
                            const int32_t* products, const Partial& partial) {
    float maximum[BLOCK_ROWS];
    for (int32_t i = 0; i < count; ++i) maximum[i] = stats[i].maximum;
    Rescale scale;
    rescale(partial.maximum + begin, maximum, count, scale);
    for (int32_t i = 0; i < count; ++i) {
        if (maximum[i] == NOTHING) continue;
        const int32_t r = begin + i;
        const float mine = scale.factor[i], theirs = scale.factor[LANES / 2 + i];
        partial.maximum[r] = scale.maximum[i];
        partial.row_sum[r] = partial.row_sum[r] * mine + stats[i].row_sum * theirs;
        partial.exp_sum[r] = partial.exp_sum[r] * mine + stats[i].exp_sum * theirs;
        accumulate(products + i * TERMS * head_dim, head_dim, mine, stats[i].output_factor * theirs,
                   partial.accumulator + static_cast<int64_t>(r) * head_dim);
    }
}

inline void attend_block(const QueryRows& rows, int32_t begin, const StepTokens& step, StepScratch& scratch,
                         const Partial& partial, LineQueue& lines) {
    const int32_t count = rows.count - begin < BLOCK_ROWS ? rows.count - begin : BLOCK_ROWS;
    const int32_t head_dim = rows.head_dim;
    const LeftRows query = {rows.codes + begin * TERMS * head_dim, head_dim, rows.code_sum + begin * TERMS};
    multiply(query, count * TERMS, {scratch.keys, STEP, head_dim / DEPTH_STEP}, step.padded_count,
             scratch.dots, STEP, lines);
    constexpr int32_t ROW_WORDS = TERMS * STEP;
    RowMaximum maximum[BLOCK_ROWS];
    for (int32_t i = 0; i < count; ++i) {
        maximum[i] = row_logits(rows, begin + i, step, scratch.dots + i * ROW_WORDS);
    }
    RowStats stats[BLOCK_ROWS];
    int32_t sums[BLOCK_ROWS * TERMS];
    for (int32_t i = 0; i < count; ++i) {
        stats[i] = row_weights(rows, begin + i, step, scratch.dots + i * ROW_WORDS, maximum[i],
                               scratch.weights + i * ROW_WORDS, sums + i * TERMS);
    }
    multiply({scratch.weights, STEP, sums}, count * TERMS,
             {scratch.values, head_dim, step.padded_count / DEPTH_STEP}, head_dim, scratch.products, head_dim,
             lines);
    merge_step(stats, begin, count, head_dim, scratch.products, partial);
}

inline void attend_step(const QueryRows& rows, const StepTokens& step, const StepTokens& next,
                        StepScratch& scratch, const Partial& partial) {
    LineQueue lines = {{}, next.stretch, next.stretch + next.stretch_count};
    pack_step(step, rows.head_dim, scratch);
    for (int32_t begin = 0; begin < rows.count; begin += BLOCK_ROWS) {
        attend_block(rows, begin, step, scratch, partial, lines);
    }
    while (prefetch_line(lines)) {
    }
}

inline constexpr SfaaKernels SFAA_KERNELS = {quantize_query, attend_step, merge, finish};

}  // namespace sals::cpu::SALS_TARGET
