// SPDX-License-Identifier: Apache-2.0
// select_row.h - vector stage: one row of block_ids from its scores: sinks, chosen candidates, tail, padding.
// Runs on   one vector core per row
// Reads     scores [n] fp32, written by both vector cores of the group, or of several for a cut row
// Writes    block_ids [width], selected_lens
#pragma once
#include "qsi/select_coverage.h"
#include "qsi/select_sorted.h"
#include "qsi/select_threshold.h"

namespace sals::qsi {

template <class Policy>
class SelectRow {
public:
    SALS_DEVICE SelectRow(const AscendC::LocalTensor<uint8_t>& ub, const RowTable& rows,
                          const Arguments& args)
        : rows_(rows),
          ub_(ub),
          writer_(ub, rows.tiling(), args),
          scores_(ub),
          policy_(ub, writer_),
          coverage_(ub, writer_.ramp()) {}

    SALS_DEVICE void open() {
        writer_.open();
        scores_.open();
        SortedSample::open(ub_);
    }

    SALS_DEVICE void close() {
        scores_.close();
        writer_.close();
    }

    // Begins a row: writes what is known before its scores are.
    SALS_DEVICE void prepare(const RowInfo& row) {
        writer_.begin_row(row.row);
        writer_.write_run(0, row.first);
        if (!is_counted(row)) write_length(row, row.k);
    }

    // Turns to the scores of a row, if its choice depends on any. The last ones may be missing (score_row.h).
    SALS_DEVICE void attach(const RowInfo& row, const AscendC::GlobalTensor<float>& scores, int32_t stored) {
        scores_.attach(scores, row.n, stored, Policy::CHUNK_SCORES);
    }
    SALS_DEVICE AscendC::LocalTensor<float> last_scores() const { return scores_.last_scores(); }

    // Ends a row that was prepared.
    SALS_DEVICE void run(const RowInfo& row) {
        if (row.is_scored) {
            write_chosen(row);
        } else {
            writer_.write_run(row.first, row.k);
        }
        const int32_t tail = row.first + row.n;
        const int64_t blocks = num_blocks<int64_t>(row.visible, rows_.params().block_size);
        writer_.write_run(tail, static_cast<int32_t>(blocks) - tail);
        writer_.finish_row();
    }

    // A row of a call that was refused.
    SALS_DEVICE void write_empty(int32_t row) {
        writer_.begin_row(row);
        writer_.write_length(0);
        writer_.finish_row();
    }

private:
    // Whether only the scores say how many candidates are kept.
    SALS_DEVICE bool is_counted(const RowInfo& row) const { return rows_.min_kept(row) < row.k; }

    SALS_DEVICE void write_length(const RowInfo& row, int32_t k) {
        writer_.write_length(static_cast<int32_t>(selected_tokens(row.visible, k, rows_.params())));
    }

    SALS_DEVICE void write_chosen(const RowInfo& row) {
        int32_t k = row.k;
        if (is_counted(row)) {
            k = coverage_.run(scores_, rows_.params());
            write_length(row, k);
        }
        if (k > 0) policy_.run(scores_, row.first, k);
        scores_.detach();
    }

    const RowTable& rows_;
    AscendC::LocalTensor<uint8_t> ub_;
    RowWriter writer_;
    ScoreRow scores_;
    Policy policy_;
    SelectCoverage coverage_;
};

}  // namespace sals::qsi
