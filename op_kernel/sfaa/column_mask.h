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

    SALS_DEVICE void open() {
        CreateVecIndex(part<float>(offsetof(SoftmaxPlan, ramp)), 0.0F, static_cast<uint32_t>(MAX_BLOCK_SIZE));
    }

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
    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> part(uint32_t offset) const {
        return memory_.part<T>(offsetof(UbPlan, softmax) + offset);
    }

    // By the token-th query token of the list.
    SALS_DEVICE int32_t visible(const ListRow& row, int32_t token) const {
        return rows_.visible(row, row.s + token);
    }

    SALS_DEVICE void write_positions(const Task& task) const {
        const Floats positions = part<float>(offsetof(SoftmaxPlan, positions));
        const Floats ramp = part<float>(offsetof(SoftmaxPlan, ramp));
        list_.for_each_run(task.pass.row, task.pass.visible, task.slots, [&](const TokenRun& run) {
            Adds(positions[run.column], ramp, static_cast<float>(run.position), run.columns);
        });
        const int32_t filled = columns_ - task.columns;
        if (filled > 0) Duplicate(positions[task.columns], -MASKED, filled);
    }

    SALS_DEVICE void apply_token(const Floats& logits, int32_t visible, int32_t rows) const {
        const auto seen = part<uint8_t>(offsetof(SoftmaxPlan, seen));
        compare(seen, part<float>(offsetof(SoftmaxPlan, positions)), static_cast<float>(visible),
                AscendC::CMPMODE::LT, columns_);
        AscendC::PipeBarrier<PIPE_V>();
        for (int32_t r = 0; r < rows; ++r) {
            const Floats row = logits[r * columns_];
            Select(row, seen, row, MASKED, AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE,
                   static_cast<uint32_t>(columns_));
        }
    }

    const VectorMemory& memory_;
    const BlockList& list_;
    const ListTable& rows_;
    int32_t columns_ = 0;
    int32_t first_row_ = 0;
    bool is_needed_ = false;
};

}  // namespace sals::sfaa
