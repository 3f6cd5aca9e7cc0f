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
          writer_(ub, rows.tiling(), args),
          scores_(ub),
          policy_(ub, writer_),
          coverage_(ub, writer_.ramp()) {}

    SALS_DEVICE void open() {
        writer_.open();
        scores_.open();
    }

    SALS_DEVICE void close() {
        scores_.close();
        writer_.close();
    }

    // A row whose choice depends on no score needs none. What can be written before the ids are found is.
    SALS_DEVICE void run(const RowInfo& row, const AscendC::GlobalTensor<float>& scores) {
        const SelectionParams& params = rows_.params();
        int32_t k = row.k;
        writer_.begin_row(row.row);
        writer_.write_run(0, row.first);
        if (row.is_scored) scores_.attach(scores, row.n, Policy::CHUNK_SCORES);
        if (rows_.min_kept(row) < k) k = coverage_.run(scores_, params);
        writer_.write_length(static_cast<int32_t>(selected_tokens(row.visible, k, params)));
        if (!row.is_scored) {
            writer_.write_run(row.first, k);
        } else if (k > 0) {
            policy_.run(scores_, row.first, k);
        }
        if (row.is_scored) scores_.detach();
        const int32_t tail = row.first + row.n;
        const int32_t blocks = static_cast<int32_t>(num_blocks<int64_t>(row.visible, params.block_size));
        writer_.write_run(tail, blocks - tail);
        writer_.finish_row();
    }

    // A row of a call that was refused.
    SALS_DEVICE void write_empty(int32_t row) {
        writer_.begin_row(row);
        writer_.write_length(0);
        writer_.finish_row();
    }

private:
    const RowTable& rows_;
    RowWriter writer_;
    ScoreRow scores_;
    Policy policy_;
    SelectCoverage coverage_;
};

}  // namespace sals::qsi
