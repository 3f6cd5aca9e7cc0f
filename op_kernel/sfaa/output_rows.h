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
        Exp(mine, mine, rows);
        Exp(theirs, theirs, rows);
        merge_sum(from, offsetof(Stats, sum), rows);
        if (tiling_.returns_lse) merge_sum(from, offsetof(Stats, exp_sum), rows);
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
        multiply_rows(sum, memory_.lanes(0), shape);
        AscendC::PipeBarrier<PIPE_V>();
        Add(sum, sum, x, shape.size());
    }

    // Static scales of the values' channels, to be loaded before finish().
    SALS_DEVICE Floats channels() const { return part<float>(offsetof(OutputPlan, channels)); }

    SALS_DEVICE void finish(const ListRow& row, const QueryRows& rows) {
        const Floats sum = memory_.per_row(0);
        Muls(sum, total(offsetof(Stats, sum)), 1.0F / SECOND_TERM, rows.count);  // in units of the products
        AscendC::PipeBarrier<PIPE_V>();
        Maxs(sum, sum, 1.0F, rows.count);  // a row with a token has at least 127
        spread_rows(memory_.lanes(0), sum, rows.count);
        for (int32_t at = 0; at < rows.count; at += CHUNK_ROWS) {
            const Shape shape = {smaller(CHUNK_ROWS, rows.count - at), HEAD_DIM};
            const Floats x = values(at);
            divide_rows(x, memory_.lanes(0)[at * F32_DATABLOCK], shape);
            if (tiling_.static_scales) multiply_columns(x, channels(), shape);
            acquire();
            AscendC::PipeBarrier<PIPE_V>();
            Cast(part<Output>(offsetof(OutputPlan, out)), x, AscendC::RoundMode::CAST_RINT,
                 static_cast<uint32_t>(shape.size()));
            store_rows(row, rows.begin + at, shape.rows);
        }
        if (tiling_.returns_lse) finish_lse(row, rows);
    }

    SALS_DEVICE void finish_part(GM_ADDR workspace, const SfaaPart& to, const QueryRows& rows) {
        acquire();
        DataCopy(part<float>(offsetof(OutputPlan, out_stats)), total(0), sizeof(Stats) / sizeof(float));
        store_part_stats(workspace, to, rows);
        for (int32_t at = 0; at < rows.count; at += CHUNK_ROWS) {
            const int32_t count = smaller(CHUNK_ROWS, rows.count - at);
            acquire();
            DataCopy(part<float>(offsetof(OutputPlan, out)), values(at),
                     static_cast<uint32_t>(count * HEAD_DIM));
            store_part_rows(workspace, to, {rows.begin + at, count});
        }
    }

    // Rows that see nothing, whatever is in work.
    SALS_DEVICE void write_empty(const ListRow& row, const QueryRows& rows) {
        acquire();
        fill(part<float>(offsetof(OutputPlan, out)), 0.0F, CHUNK_VALUES);
        fill(part<float>(offsetof(OutputPlan, out_lanes)), -__builtin_inff(), HALF_ROWS * F32_DATABLOCK);
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
        const Floats stats = part<float>(offsetof(OutputPlan, out_stats));
        acquire();
        fill(stats, lowest_maximum, STATS_LANES);
        fill(stats[STATS_LANES], 0.0F, sizeof(Stats) / sizeof(float) - STATS_LANES);
        store_part_stats(workspace, to, rows);
        acquire();
        fill(part<float>(offsetof(OutputPlan, out)), 0.0F, CHUNK_VALUES);
        begin_store();
        for (int32_t at = 0; at < rows.count; at += CHUNK_ROWS) {
            copy_part_rows(workspace, to, {rows.begin + at, smaller(CHUNK_ROWS, rows.count - at)});
        }
        end_store();
    }

private:
    using HardEvent = AscendC::HardEvent;

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

    // total = total * mine + theirs * factor
    SALS_DEVICE void merge_sum(uint32_t from, uint32_t stat, int32_t rows) {
        const Floats mine = total(stat);
        const Floats theirs = memory_.part<float>(from + stat);
        AscendC::PipeBarrier<PIPE_V>();
        Mul(mine, mine, memory_.per_row(0), rows);
        Mul(theirs, theirs, memory_.per_row(1), rows);
        AscendC::PipeBarrier<PIPE_V>();
        Add(mine, mine, theirs, rows);
    }

    SALS_DEVICE void acquire() { WaitFlag<HardEvent::MTE3_V>(UB_OUT_EMPTY); }
    SALS_DEVICE void begin_store() {
        SetFlag<HardEvent::V_MTE3>(UB_OUT_FULL);
        WaitFlag<HardEvent::V_MTE3>(UB_OUT_FULL);
    }
    SALS_DEVICE void end_store() { SetFlag<HardEvent::MTE3_V>(UB_OUT_EMPTY); }

    SALS_DEVICE void finish_lse(const ListRow& row, const QueryRows& rows) {
        const Floats lse = memory_.per_row(0);
        const auto has_tokens = memory_.reduced().template ReinterpretCast<uint8_t>();
        acquire();
        Muls(lse, total(offsetof(Stats, exp_sum)), 1.0F / FULL_SCALE, STATS_LANES);
        AscendC::PipeBarrier<PIPE_V>();
        Ln(lse, lse, STATS_LANES);
        compare(has_tokens, total(offsetof(Stats, sum)), 0.0F, AscendC::CMPMODE::GT, STATS_LANES);
        Add(lse, lse, total(offsetof(Stats, maximum)), STATS_LANES);
        AscendC::PipeBarrier<PIPE_V>();
        Select(lse, has_tokens, lse, -__builtin_inff(), AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE,
               static_cast<uint32_t>(STATS_LANES));
        spread_rows(part<float>(offsetof(OutputPlan, out_lanes)), lse, rows.count);
        begin_store();
        copy_lse(row, rows);
        end_store();
    }

    SALS_DEVICE void store_rows(const ListRow& row, int32_t begin, int32_t count) {
        begin_store();
        copy_rows(row, begin, count);
        end_store();
    }

    SALS_DEVICE void copy_rows(const ListRow& row, int32_t begin, int32_t count) {
        const auto out = part<Output>(offsetof(OutputPlan, out));
        for_each_segment(tiling_, row, begin, count, [&](const RowSegment& segment) {
            DataCopy(gm_out_[static_cast<uint64_t>(segment.head * HEAD_DIM)], out[segment.at * HEAD_DIM],
                     static_cast<uint32_t>(segment.count * HEAD_DIM));
        });
    }

    SALS_DEVICE void copy_lse(const ListRow& row, const QueryRows& rows) {
        const Floats lse = part<float>(offsetof(OutputPlan, out_lanes));
        for_each_segment(tiling_, row, rows.begin, rows.count, [&](const RowSegment& segment) {
            const AscendC::DataCopyExtParams column(segment.count, sizeof(float), 0, 0, 0);
            DataCopyPad(gm_lse_[static_cast<uint64_t>(segment.head)], lse[segment.at * F32_DATABLOCK],
                        column);
        });
    }

    SALS_DEVICE void store_part_stats(GM_ADDR workspace, const SfaaPart& to, const QueryRows& rows) {
        const Floats stats = part<float>(offsetof(OutputPlan, out_stats));
        const AscendC::DataCopyExtParams run(1, rows.count * sizeof(float), 0, 0, 0);
        const auto copy = [&](int64_t offset, uint32_t stat) {
            DataCopyPad(global_tensor<float>(workspace + offset)[static_cast<uint64_t>(rows.begin)],
                        stats[stat / sizeof(float)], run);
        };
        begin_store();
        copy(to.maxima, offsetof(Stats, maximum));
        copy(to.sums, offsetof(Stats, sum));
        if (tiling_.returns_lse) copy(to.exp_sums, offsetof(Stats, exp_sum));
        end_store();
    }

    SALS_DEVICE void store_part_rows(GM_ADDR workspace, const SfaaPart& to, const QueryRows& rows) {
        begin_store();
        copy_part_rows(workspace, to, rows);
        end_store();
    }

    SALS_DEVICE void copy_part_rows(GM_ADDR workspace, const SfaaPart& to, const QueryRows& rows) {
        DataCopy(global_tensor<float>(workspace + to.rows)[static_cast<uint64_t>(rows.begin * HEAD_DIM)],
                 part<float>(offsetof(OutputPlan, out)), static_cast<uint32_t>(rows.count * HEAD_DIM));
    }

    const VectorMemory& memory_;
    const SfaaTiling& tiling_;
    AscendC::GlobalTensor<Output> gm_out_;
    AscendC::GlobalTensor<float> gm_lse_;
};

}  // namespace sals::sfaa
