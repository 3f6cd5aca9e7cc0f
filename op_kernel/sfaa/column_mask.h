// SPDX-License-Identifier: Apache-2.0
// column_mask.h - which columns of a task a query token does not see: tokens newer than itself, and what
// fills the last column group of a block or the last repeat of a task. Most tasks have no such column.
#pragma once
#include "sfaa/vector_memory.h"

namespace sals::sfaa {

// Far below any logit, and finite, so that no NaN can come of it.
inline constexpr float MASKED = -3.4e38F;

class ColumnMask {
public:
    SALS_DEVICE ColumnMask(const VectorMemory& memory, const BlockList& list, const ListTable& rows)
        : memory_(memory), list_(list), rows_(rows) {}

    // Prepares a task of which `rows` are this core's.
    SALS_DEVICE void begin(const Task& task, const RowShare& rows, int32_t columns) {
        columns_ = columns;
        first_row_ = task.pass.query_begin + rows.begin;
        const ListRow& row = task.pass.row;
        // The first of the rows sees least, unless padding follows it.
        const int32_t last_token = (first_row_ + rows.count - 1) / memory_.tiling().group;
        const int32_t least =
            smaller(visible(row, first_row_ / memory_.tiling().group), visible(row, last_token));
        is_needed_ = task.columns < columns || task.last_position >= least;
        if (is_needed_) write_positions(task);
    }

    SALS_DEVICE bool is_needed() const { return is_needed_; }

    // Masks what rows [at, at + rows) of the share do not see.
    SALS_DEVICE void apply(const Task& task, const Floats& logits, int32_t at, int32_t rows) const {
        if (!is_needed_) return;
        AscendC::PipeBarrier<PIPE_V>();
        const int32_t group = memory_.tiling().group;
        for (int32_t done = 0; done < rows;) {
            const int32_t query_row = first_row_ + at + done;
            const int32_t token = query_row / group;
            const int32_t count = smaller((token + 1) * group - query_row, rows - done);
            apply_token(logits[done * columns_], visible(task.pass.row, token), count);
            done += count;
        }
    }

private:
    static constexpr int32_t GROUPS_OF_REPEAT = F32_LANES / SFAA_COLUMN_GROUP;

    // By the token-th query token of the list.
    SALS_DEVICE int32_t visible(const ListRow& row, int32_t token) const {
        return rows_.visible(row, row.s + token);
    }

    // Of the first column of each group.
    SALS_DEVICE void write_positions(const Task& task) {
        int32_t groups = 0;
        list_.for_each_run(task.pass.row, task.pass.visible, task.slots, [&](const TokenRun& run) {
            for (int32_t at = 0; at < run.columns; at += SFAA_COLUMN_GROUP) {
                positions_[groups++] = run.position + at;
            }
        });
        while (groups < columns_ / SFAA_COLUMN_GROUP) positions_[groups++] = INT32_MAX;
    }

    // One instruction per repeat of columns with any that is not seen.
    SALS_DEVICE void apply_token(const Floats& logits, int32_t visible, int32_t rows) const {
        const uint8_t next_row = static_cast<uint8_t>(columns_ / F32_DATABLOCK);
        for (int32_t column = 0; column < columns_; column += F32_LANES) {
            uint64_t unseen[2] = {0, 0};
            for (int32_t group = 0; group < GROUPS_OF_REPEAT; ++group) {
                const int32_t position = positions_[column / SFAA_COLUMN_GROUP + group];
                const int32_t seen = smaller(larger(visible - position, 0), SFAA_COLUMN_GROUP);
                const uint64_t bits = (uint64_t{1} << SFAA_COLUMN_GROUP) - (uint64_t{1} << seen);
                unseen[0] |= bits << (group * SFAA_COLUMN_GROUP);
            }
            if (unseen[0] != 0) {
                Duplicate(logits[column], MASKED, unseen, static_cast<uint8_t>(rows), 1, next_row);
            }
        }
    }

    const VectorMemory& memory_;
    const BlockList& list_;
    const ListTable& rows_;
    int32_t positions_[SFAA_MAX_TASK_TOKENS / SFAA_COLUMN_GROUP];
    int32_t columns_ = 0;
    int32_t first_row_ = 0;
    bool is_needed_ = false;
};

}  // namespace sals::sfaa
