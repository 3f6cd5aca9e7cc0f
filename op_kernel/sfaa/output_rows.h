// SPDX-License-Identifier: Apache-2.0
// output_rows.h - the query rows in work: their largest logit, sums and weighted values so far, as in flash
// decoding, and how they leave: as results, or as a part of a row that several cores share.
//     m' = max(m, m_t),  x' = x * exp(m - m') + x_t * exp(m_t - m')    for sum, exp_sum and values
//     out = values / sum [* value_scale[channel]],  lse = m + ln(exp_sum);  without a token 0 and -inf
// Runs on   vector cores
// Path      ub_rows --V--> ub_out --MTE3--> out, lse, or a part in the workspace
#pragma once
#include "sfaa/vector_memory.h"

namespace sals::sfaa {

// Rows [begin, begin + count) of a list row that a core has in work.
struct QueryRows {
    int32_t begin;
    int32_t count;
};

template <int32_t HEAD_DIM, class Output>
class OutputRows {
public:
    static constexpr int32_t CHUNK_ROWS = CHUNK_VALUES / HEAD_DIM;

    SALS_DEVICE OutputRows(const VectorMemory& memory, const Arguments& args)
        : memory_(memory), tiling_(memory.tiling()) {
        gm_out_ = global_tensor<Output>(args.out);
        gm_lse_ = global_tensor<float>(args.lse);
    }

    SALS_DEVICE void open() { SetFlag<HardEvent::MTE3_V>(UB_OUT_EMPTY); }
    SALS_DEVICE void close() { WaitFlag<HardEvent::MTE3_V>(UB_OUT_EMPTY); }

    // Begins with, or adds, what a task or part found; `from` holds its statistics. Afterwards lanes(0) holds
    // the factor of the rows so far, lanes(1) that of the new ones.
    SALS_DEVICE void merge_stats(uint32_t from, int32_t rows, bool begins) {
        if (begins) {
            DataCopy(total(0), memory_.part<float>(from), sizeof(Stats) / sizeof(float));
            return;
        }
        const Floats mine = memory_.per_row(0);
        const Floats theirs = memory_.per_row(1);
        const Floats maximum = total(offsetof(Stats, maximum));
        const Floats their_maximum = memory_.part<float>(from + offsetof(Stats, maximum));
        DataCopy(mine, maximum, STATS_LANES);
        Max(maximum, maximum, their_maximum, rows);
        AscendC::PipeBarrier<PIPE_V>();
        Sub(mine, mine, maximum, rows);
        Sub(theirs, their_maximum, maximum, rows);
        AscendC::PipeBarrier<PIPE_V>();
        Exp(mine, mine, STATS_LANES + rows);  // theirs, too
        merge_sums(from, rows);
    }

    // The factors of merge_stats for every row.
    SALS_DEVICE void spread_factors(int32_t rows) {
        spread_rows(memory_.lanes(0), memory_.per_row(0), rows);
        Brcb(memory_.lanes(1), memory_.per_row(1),
             static_cast<uint8_t>((rows + F32_DATABLOCK - 1) / F32_DATABLOCK), {1, F32_DATABLOCK});
    }

    // Adds values x of all rows.
    SALS_DEVICE void merge_values(const Floats& x, int32_t rows, bool begins) {
        const Floats sum = values(0);
        const Shape shape = {rows, HEAD_DIM};
        if (begins) {
            AscendC::PipeBarrier<PIPE_V>();
            DataCopy(sum, x, static_cast<uint32_t>(shape.size()));
            return;
        }
        multiply_rows(x, memory_.lanes(1), shape);
        multiply_rows_and_add(sum, memory_.lanes(0), x, shape);
    }

    // Static scales of the values' channels, to be loaded before finish().
    SALS_DEVICE Floats channels() const { return part<float>(offsetof(OutputPlan, channels)); }

    // The rows in work.
    SALS_DEVICE void finish(const ListRow& row, const QueryRows& rows) {
        finish_with(row, rows, values(0), spread_total(rows.count));
    }

    // Statistics of rows, one datablock each, as part_stats() lays them out.
    struct StatLanes {
        Floats maxima, sums, exp_sums;
    };

    // Rows whose values and statistics stand anywhere; both are used up.
    SALS_DEVICE void finish_with(const ListRow& row, const QueryRows& rows, const Floats& values,
                                 const StatLanes& stats) {
        const int32_t lanes = rows.count * F32_DATABLOCK;
        AscendC::PipeBarrier<PIPE_V>();
        Muls(stats.sums, stats.sums, 1.0F / SECOND_TERM, lanes);  // in units of the products
        AscendC::PipeBarrier<PIPE_V>();
        Maxs(stats.sums, stats.sums, NO_TOKEN, lanes);
        const Shape shape = {rows.count, HEAD_DIM};
        divide_rows(values, stats.sums, shape);
        if (tiling_.static_scales) multiply_columns(values, channels(), shape);
        acquire();
        AscendC::PipeBarrier<PIPE_V>();
        Cast(part<Output>(offsetof(OutputPlan, out)), values, AscendC::RoundMode::CAST_RINT,
             static_cast<uint32_t>(shape.size()));
        if (tiling_.returns_lse) find_lse(stats, lanes);
        begin_store();
        copy_rows(row, rows.begin, rows.count);
        if (tiling_.returns_lse) copy_lse(row, rows);
        end_store();
    }

    SALS_DEVICE void finish_part(GM_ADDR workspace, const SfaaPart& to, const QueryRows& rows) {
        acquire();
        for (int32_t stat = 0; stat < PART_STATS; ++stat) {
            spread_rows(part_stats(stat), total(stat * sizeof(PerRow)), rows.count);
        }
        store_part(workspace, to, rows, [&](int32_t at, int32_t count) {
            DataCopy(part<float>(offsetof(OutputPlan, out)), values(at),
                     static_cast<uint32_t>(count * HEAD_DIM));
        });
    }

    // Rows that see nothing, whatever is in work.
    SALS_DEVICE void write_empty(const ListRow& row, const QueryRows& rows) {
        acquire();
        fill(part<float>(offsetof(OutputPlan, out)), 0.0F, CHUNK_VALUES);
        fill(part_stats(0), -__builtin_inff(), HALF_ROWS * F32_DATABLOCK);
        begin_store();
        for (int32_t at = 0; at < rows.count; at += HALF_ROWS) {
            const int32_t count = smaller(HALF_ROWS, rows.count - at);
            for (int32_t i = 0; i < count; i += CHUNK_ROWS) {
                copy_rows(row, rows.begin + at + i, smaller(CHUNK_ROWS, count - i));
            }
            if (tiling_.returns_lse) copy_lse(row, {rows.begin + at, count});
        }
        end_store();
    }

    SALS_DEVICE void write_empty_part(GM_ADDR workspace, const SfaaPart& to, const QueryRows& rows,
                                      float lowest_maximum) {
        acquire();
        fill(part_stats(0), lowest_maximum, HALF_ROWS * F32_DATABLOCK);
        fill(part_stats(1), 0.0F, (PART_STATS - 1) * HALF_ROWS * F32_DATABLOCK);
        store_part(workspace, to, rows, [&](int32_t, int32_t) {
            fill(part<float>(offsetof(OutputPlan, out)), 0.0F, CHUNK_VALUES);
        });
    }

private:
    using HardEvent = AscendC::HardEvent;
    static constexpr float NO_TOKEN = 1.0F;  // a row with a token has at least 127

    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> part(uint32_t offset) const {
        return memory_.part<T>(offsetof(UbPlan, output) + offset);
    }
    SALS_DEVICE Floats total(uint32_t offset) const {
        return part<float>(offsetof(OutputPlan, total) + offset);
    }
    SALS_DEVICE Floats values(int32_t row) const {
        return part<float>(offsetof(OutputPlan, rows))[row * HEAD_DIM];
    }

    SALS_DEVICE Floats part_stats(int32_t stat) const {
        return part<float>(offsetof(OutputPlan, out_lanes) + stat * sizeof(PerRowLanes));
    }

    SALS_DEVICE StatLanes spread_total(int32_t rows) {
        const StatLanes lanes = {memory_.lanes(0), memory_.lanes(1), memory_.lanes(2)};
        if (tiling_.returns_lse) {
            spread_rows(lanes.maxima, total(offsetof(Stats, maximum)), rows);
            spread_rows(lanes.exp_sums, total(offsetof(Stats, exp_sum)), rows);
        }
        spread_rows(lanes.sums, total(offsetof(Stats, sum)), rows);
        return lanes;
    }

    // total = total * mine + theirs * factor, for the sum and, one repeat behind it, exp_sum
    SALS_DEVICE void merge_sums(uint32_t from, int32_t rows) {
        static_assert(offsetof(Stats, exp_sum) - offsetof(Stats, sum) == AtlasA2::REPEAT_BYTES);
        constexpr uint8_t REPEAT = F32_LANES / F32_DATABLOCK;
        const uint8_t sums = tiling_.returns_lse ? 2 : 1;
        const Floats mine = total(offsetof(Stats, sum));
        const Floats theirs = memory_.part<float>(from + offsetof(Stats, sum));
        const AscendC::BinaryRepeatParams by_row(1, 1, 1, REPEAT, REPEAT, 0);
        AscendC::PipeBarrier<PIPE_V>();
        Mul(mine, mine, memory_.per_row(0), rows, sums, by_row);
        Mul(theirs, theirs, memory_.per_row(1), rows, sums, by_row);
        AscendC::PipeBarrier<PIPE_V>();
        Add(mine, mine, theirs, rows, sums, AscendC::BinaryRepeatParams(1, 1, 1, REPEAT, REPEAT, REPEAT));
    }

    SALS_DEVICE void acquire() { WaitFlag<HardEvent::MTE3_V>(UB_OUT_EMPTY); }
    SALS_DEVICE void begin_store() {
        SetFlag<HardEvent::V_MTE3>(UB_OUT_FULL);
        WaitFlag<HardEvent::V_MTE3>(UB_OUT_FULL);
    }
    SALS_DEVICE void end_store() { SetFlag<HardEvent::MTE3_V>(UB_OUT_EMPTY); }

    SALS_DEVICE void find_lse(const StatLanes& stats, int32_t lanes) {
        const Floats lse = part_stats(0);
        const auto has_tokens = memory_.fold_scratch().datablocks.template ReinterpretCast<uint8_t>();
        const int32_t padded = round_up(lanes, F32_LANES);
        Muls(lse, stats.exp_sums, 1.0F / FULL_SCALE, padded);
        AscendC::PipeBarrier<PIPE_V>();
        Ln(lse, lse, padded);
        compare(has_tokens, stats.sums, NO_TOKEN, AscendC::CMPMODE::GT, padded);
        Add(lse, lse, stats.maxima, padded);
        AscendC::PipeBarrier<PIPE_V>();
        Select(lse, has_tokens, lse, -__builtin_inff(), AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE,
               static_cast<uint32_t>(padded));
    }

    SALS_DEVICE void copy_rows(const ListRow& row, int32_t begin, int32_t count) {
        const auto out = part<Output>(offsetof(OutputPlan, out));
        for_each_segment(tiling_, row, begin, count, [&](const RowSegment& segment) {
            DataCopy(gm_out_[static_cast<uint64_t>(segment.head * HEAD_DIM)], out[segment.at * HEAD_DIM],
                     static_cast<uint32_t>(segment.count * HEAD_DIM));
        });
    }

    SALS_DEVICE void copy_lse(const ListRow& row, const QueryRows& rows) {
        const Floats lse = part_stats(0);
        for_each_segment(tiling_, row, rows.begin, rows.count, [&](const RowSegment& segment) {
            const AscendC::DataCopyExtParams column(segment.count, sizeof(float), 0, 0, 0);
            DataCopyPad(gm_lse_[static_cast<uint64_t>(segment.head)], lse[segment.at * F32_DATABLOCK],
                        column);
        });
    }

    // Statistics, which are there, and values, which fill(at, count) puts in place by chunks of rows.
    template <class Fill>
    SALS_DEVICE void store_part(GM_ADDR workspace, const SfaaPart& to, const QueryRows& rows, Fill&& fill) {
        for (int32_t at = 0; at < rows.count; at += CHUNK_ROWS) {
            const int32_t count = smaller(CHUNK_ROWS, rows.count - at);
            if (at > 0) acquire();
            fill(at, count);
            begin_store();
            if (at == 0) copy_part_stats(workspace, to, rows);
            const int64_t first = int64_t{rows.begin + at} * HEAD_DIM;
            DataCopy(global_tensor<float>(workspace + to.rows)[static_cast<uint64_t>(first)],
                     part<float>(offsetof(OutputPlan, out)), static_cast<uint32_t>(count * HEAD_DIM));
            end_store();
        }
    }

    SALS_DEVICE void copy_part_stats(GM_ADDR workspace, const SfaaPart& to, const QueryRows& rows) {
        const int64_t offsets[PART_STATS] = {to.maxima, to.sums, to.exp_sums};
        const int32_t stats = tiling_.returns_lse ? PART_STATS : PART_STATS - 1;
        for (int32_t stat = 0; stat < stats; ++stat) {
            const int32_t first = rows.begin * F32_DATABLOCK;
            DataCopy(global_tensor<float>(workspace + offsets[stat])[static_cast<uint64_t>(first)],
                     part_stats(stat), static_cast<uint32_t>(rows.count * F32_DATABLOCK));
        }
    }

    const VectorMemory& memory_;
    const SfaaTiling& tiling_;
    AscendC::GlobalTensor<Output> gm_out_;
    AscendC::GlobalTensor<float> gm_lse_;
};

}  // namespace sals::sfaa
