// SPDX-License-Identifier: Apache-2.0
// softmax.h - vector stage: two-term weights of a task from its scores.
//     logit  = (first + second / 256) * factor [* key_scale[token]],  masked where the query token sees none
//     weight = exp(logit - m) with m = the largest logit of the row in this task
//     whole  = rint(127 * 256 * weight) = 256 * first term + second term;  the row's sum is that of whole
// With per-token scales of the values, whole * value_scale is split instead, by its own largest value.
// Runs on   both vector cores of a group, a share of the rows each
// Path      ws_scores --MTE2--> ub_scores --V--> ub_weights --MTE3--> ws_weights
// Takes     ws_scores [terms][rows of the pass][task tokens] int32, by C2V_SCORES_FULL
// Hands to  pv_matmul.h: ws_weights, of the same shape, int8, by V2C_WEIGHTS_FULL
// The sum is one of whole numbers, exact in any order: tokens may stand in any column.
#pragma once
#include "sfaa/column_mask.h"
#include "sfaa/token_scales.h"

namespace sals::sfaa {

// No row's largest logit is taken to be below this, so that rows that see nothing have weights of 0.
inline constexpr float LOWEST_MAXIMUM = -1e30F;

template <int32_t HEAD_DIM>
class Softmax {
public:
    SALS_DEVICE Softmax(const VectorMemory& memory, const BlockList& list, const ListTable& rows,
                        const Arguments& args, GM_ADDR exchange)
        : memory_(memory),
          tiling_(memory.tiling()),
          rings_(sfaa_rings(tiling_)),
          exchange_(exchange),
          scales_(memory, list, args),
          mask_(memory, list, rows) {}

    SALS_DEVICE void open() {
        for (int32_t slot = 0; slot < FIRST_SLOTS; ++slot) {
            SetFlag<HardEvent::MTE3_MTE2>(UB_FIRST_EMPTY + slot);
        }
        SetFlag<HardEvent::V_MTE2>(UB_SECOND_EMPTY);
        Duplicate(part<float>(offsetof(SoftmaxPlan, ln_full_scale)), LN_FULL_SCALE, STATS_LANES);
        scales_.open();
    }

    SALS_DEVICE void close() {
        for (int32_t slot = 0; slot < FIRST_SLOTS; ++slot) {
            WaitFlag<HardEvent::MTE3_MTE2>(UB_FIRST_EMPTY + slot);
        }
        WaitFlag<HardEvent::V_MTE2>(UB_SECOND_EMPTY);
        scales_.close();
    }

    // A task's first chunk of scores, which finds room while an earlier task is in work, and its scales.
    SALS_DEVICE void fetch(const Task& task) {
        const RowShare share = memory_.share(task.pass);
        CrossCoreWaitFlag(C2V_SCORES_FULL);
        if (share.count == 0) return;
        const Shape shape = chunk_of(task, share, 0);
        load_first(task, share.begin, shape);
        if (!tiling_.static_scales) scales_.load(task);
        load_second(task, share.begin, shape);
    }

    SALS_DEVICE void run(const Task& task) {
        const RowShare share = memory_.share(task.pass);
        if (share.count > 0) {
            mask_.begin(task, share, padded_columns(task));
            run_chunks(task, share);
            if (!tiling_.static_scales) scales_.release();
        }
        AscendC::CrossCoreSetFlag<MODE_CUBE_VECTOR, PIPE_MTE3>(V2C_WEIGHTS_FULL);
    }

private:
    using HardEvent = AscendC::HardEvent;
    static constexpr int32_t TASK_TOKENS = sfaa_task_tokens(HEAD_DIM);
    static constexpr float LN_FULL_SCALE = 10.3893647F;  // ln(127 * 256)
    static constexpr float SMALLEST = 1e-30F;

    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> part(uint32_t offset) const {
        return memory_.part<T>(offsetof(UbPlan, softmax) + offset);
    }
    // Of the chunk in work, or of another one.
    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> first_terms(int32_t chunk) const {
        return memory_.part<T>(offsetof(UbPlan, scores) + offsetof(ScoresPlan, first) +
                               chunk % FIRST_SLOTS * sizeof(ScoresPlan::first[0]));
    }
    SALS_DEVICE AscendC::LocalTensor<int32_t> second_terms() const {
        return memory_.part<int32_t>(offsetof(UbPlan, scores) + offsetof(ScoresPlan, second));
    }

    SALS_DEVICE static int32_t padded_columns(const Task& task) { return round_up(task.columns, F32_LANES); }

    // All rows of the share, or as many as fit so that the next chunk begins at a datablock of statistics.
    SALS_DEVICE static Shape chunk_of(const Task& task, const RowShare& share, int32_t at) {
        const int32_t columns = padded_columns(task);
        if (share.count * columns <= CHUNK_SCORES) return {share.count, columns};
        const int32_t rows = CHUNK_SCORES / columns / F32_DATABLOCK * F32_DATABLOCK;
        return {smaller(rows, share.count - at), columns};
    }

    SALS_DEVICE Floats stat(const Task& task, uint32_t offset, int32_t at) const {
        return memory_.part<float>(memory_.task_stats(task.number) + offset)[at];
    }

    // The first chunk has been fetched.
    SALS_DEVICE void run_chunks(const Task& task, const RowShare& share) {
        int32_t at = 0;
        Shape shape = chunk_of(task, share, 0);
        while (at + shape.rows < share.count) {
            const int32_t next = at + shape.rows;
            const Shape next_shape = chunk_of(task, share, next);
            load_first(task, share.begin + next, next_shape);
            run_chunk(task, share, at, shape);
            load_second(task, share.begin + next, next_shape);
            at = next;
            shape = next_shape;
        }
        run_chunk(task, share, at, shape);
    }

    // Rows [at, at + rows) of the share.
    SALS_DEVICE void run_chunk(const Task& task, const RowShare& share, int32_t at, const Shape& shape) {
        WaitFlag<HardEvent::MTE2_V>(UB_FIRST_FULL + chunk_ % FIRST_SLOTS);
        const Floats weights = floats_of(first_terms<int32_t>(chunk_), shape.size());
        WaitFlag<HardEvent::MTE2_V>(UB_SECOND_FULL);
        const Floats scratch = floats_of(second_terms(), shape.size());
        join_terms(weights, scratch, shape.size());
        if (tiling_.static_scales) SetFlag<HardEvent::V_MTE2>(UB_SECOND_EMPTY);
        if (!tiling_.static_scales) multiply_columns(weights, scales_.keys(), shape);
        mask_.apply(task, weights, at, shape.rows);
        exponentiate(task, weights, at, shape);
        round_and_sum(task, weights, at, shape);
        if (!tiling_.static_scales) {
            fold_value_scales(task, weights, scratch, at, shape);
            SetFlag<HardEvent::V_MTE2>(UB_SECOND_EMPTY);
        }
        hand_over(task, share.begin + at, weights, shape);
        ++chunk_;
    }

    // Rows [begin, begin + rows) of the pass.
    SALS_DEVICE void load_first(const Task& task, int32_t begin, const Shape& shape) {
        WaitFlag<HardEvent::MTE3_MTE2>(UB_FIRST_EMPTY + loaded_ % FIRST_SLOTS);
        load(first_terms<int32_t>(loaded_), task, begin, shape);
        SetFlag<HardEvent::MTE2_V>(UB_FIRST_FULL + loaded_ % FIRST_SLOTS);
        ++loaded_;
    }
    SALS_DEVICE void load_second(const Task& task, int32_t begin, const Shape& shape) {
        WaitFlag<HardEvent::V_MTE2>(UB_SECOND_EMPTY);
        load(second_terms(), task, task.pass.query_rows + begin, shape);
        SetFlag<HardEvent::MTE2_V>(UB_SECOND_FULL);
    }

    // Rows from `begin` on of both terms of the pass.
    SALS_DEVICE void load(const AscendC::LocalTensor<int32_t>& to, const Task& task, int32_t begin,
                          const Shape& shape) {
        const auto from = global_tensor<int32_t>(exchange_ + rings_.scores(task.number % SFAA_RING_SLOTS));
        constexpr int32_t WORD = sizeof(int32_t);
        constexpr int32_t DATABLOCK = AtlasA2::DATABLOCK_BYTES;
        const AscendC::DataCopyParams rows(shape.rows, task.columns * WORD / DATABLOCK,
                                           (TASK_TOKENS - task.columns) * WORD / DATABLOCK,
                                           (shape.columns - task.columns) * WORD / DATABLOCK);
        DataCopy(to, from[static_cast<uint64_t>(begin * TASK_TOKENS)], rows);
    }

    // Products become 127 * 256 * exp(logit - m).
    SALS_DEVICE void exponentiate(const Task& task, const Floats& x, int32_t at, const Shape& shape) {
        const Floats maxima = stat(task, offsetof(Stats, maximum), at);
        const Floats shift = memory_.per_row(0);
        fold_rows<Fold::MAX>(maxima, x, memory_.fold_scratch(), shape);
        AscendC::PipeBarrier<PIPE_V>();
        Mul(maxima, maxima, memory_.factors(task.pass.number)[at], shape.rows);
        AscendC::PipeBarrier<PIPE_V>();
        if (mask_.is_needed()) {
            Maxs(maxima, maxima, LOWEST_MAXIMUM, shape.rows);
            AscendC::PipeBarrier<PIPE_V>();
        }
        Sub(shift, part<float>(offsetof(SoftmaxPlan, ln_full_scale)), maxima, shape.rows);
        spread_rows(memory_.lanes(0), shift, shape.rows);
        scale_and_shift_rows(x, memory_.factor_lanes(task.pass.number)[at * F32_DATABLOCK], memory_.lanes(0),
                             shape);
        AscendC::PipeBarrier<PIPE_V>();
        Exp(x, x, shape.size());
    }

    SALS_DEVICE void round_and_sum(const Task& task, const Floats& x, int32_t at, const Shape& shape) {
        if (tiling_.returns_lse)
            fold_rows<Fold::SUM>(stat(task, offsetof(Stats, exp_sum), at), x, memory_.fold_scratch(), shape);
        round_to_whole(x, shape.size());
        fold_rows<Fold::SUM>(stat(task, offsetof(Stats, sum), at), x, memory_.fold_scratch(), shape);
    }

    // x * value_scale, scaled by its largest value to whole numbers again; products are short of the factor.
    SALS_DEVICE void fold_value_scales(const Task& task, const Floats& x, const Floats& scratch, int32_t at,
                                       const Shape& shape) {
        const Floats largest = memory_.per_row(0);
        const Floats inverse = memory_.per_row(1);
        multiply_columns(x, scales_.values(), shape);
        AscendC::PipeBarrier<PIPE_V>();
        Abs(scratch, x, shape.size());
        fold_rows<Fold::MAX>(largest, scratch, memory_.fold_scratch(), shape);
        Duplicate(inverse, FULL_SCALE, shape.rows);
        AscendC::PipeBarrier<PIPE_V>();
        Maxs(largest, largest, SMALLEST, shape.rows);
        AscendC::PipeBarrier<PIPE_V>();
        Div(inverse, inverse, largest, shape.rows);
        Muls(memory_.value_factors(task.number)[at], largest, 1.0F / FULL_SCALE, shape.rows);
        spread_rows(memory_.lanes(0), inverse, shape.rows);
        multiply_rows(x, memory_.lanes(0), shape);
        round_to_whole(x, shape.size());
    }

    // Rows [begin, begin + rows) of the pass.
    SALS_DEVICE void hand_over(const Task& task, int32_t begin, const Floats& x, const Shape& shape) {
        const int32_t slot = chunk_ % FIRST_SLOTS;
        const TermHalves terms(x, shape.size());
        const Codes first = terms.first.template ReinterpretCast<int8_t>();
        const Codes second = terms.second.template ReinterpretCast<int8_t>();
        split_terms(first, second, x, shape.size());
        SetFlag<HardEvent::V_MTE3>(UB_WEIGHTS_FULL + slot);
        WaitFlag<HardEvent::V_MTE3>(UB_WEIGHTS_FULL + slot);
        const auto weights = global_tensor<int8_t>(exchange_ + rings_.weights(task.number % SFAA_RING_SLOTS));
        const int32_t datablocks = round_up(task.columns, AtlasA2::DATABLOCK_BYTES);
        const AscendC::DataCopyExtParams rows(shape.rows, task.columns,
                                              (shape.columns - datablocks) / AtlasA2::DATABLOCK_BYTES,
                                              TASK_TOKENS - task.columns, 0);
        DataCopyPad(weights[static_cast<uint64_t>(begin * TASK_TOKENS)], first, rows);
        DataCopyPad(weights[static_cast<uint64_t>((task.pass.query_rows + begin) * TASK_TOKENS)], second,
                    rows);
        SetFlag<HardEvent::MTE3_MTE2>(UB_FIRST_EMPTY + slot);
    }

    const VectorMemory& memory_;
    const SfaaTiling& tiling_;
    SfaaRings rings_;
    GM_ADDR exchange_;  // rings of this core group
    TokenScales scales_;
    ColumnMask mask_;
    int32_t loaded_ = 0;  // chunks whose first terms have been asked for
    int32_t chunk_ = 0;   // in work
};

}  // namespace sals::sfaa
