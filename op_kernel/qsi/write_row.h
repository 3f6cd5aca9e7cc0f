// SPDX-License-Identifier: Apache-2.0
// write_row.h - puts a row of block_ids together: runs of consecutive ids, ids that a selection found, and
// padding. Every word of the row is written once.
// Runs on   one vector core per row
// Path      ub_ids --MTE3--> block_ids [rows, width], selected_lens [rows]
#pragma once
#include "common/vector_ops.h"
#include "qsi/row_info.h"
#include "qsi/sync.h"

namespace sals::qsi {

class RowWriter {
public:
    SALS_DEVICE RowWriter(const AscendC::LocalTensor<uint8_t>& ub, const QsiTiling& tiling,
                          const Arguments& args)
        : width_(tiling.width), ub_(ub) {
        gm_block_ids_ = global_tensor<int32_t>(args.block_ids);
        gm_selected_lens_ = global_tensor<int32_t>(args.selected_lens);
    }

    SALS_DEVICE void open() {
        write_ramp();
        for (int32_t slot = 0; slot < IDS_SLOTS; ++slot) SetFlag<HardEvent::MTE3_V>(UB_IDS_EMPTY + slot);
    }

    SALS_DEVICE void close() {
        for (int32_t slot = 0; slot < IDS_SLOTS; ++slot) WaitFlag<HardEvent::MTE3_V>(UB_IDS_EMPTY + slot);
    }

    SALS_DEVICE void begin_row(int32_t row) {
        row_ = row;
        written_ = 0;
    }

    // 0, 1, ..., CHUNK - 1
    SALS_DEVICE AscendC::LocalTensor<int32_t> ramp() const {
        return part<int32_t>(offsetof(SelectPlan, ramp));
    }

    // Ids first, first + 1, ...
    SALS_DEVICE void write_run(int32_t first, int32_t count) {
        for (int32_t done = 0; done < count; done += CHUNK) {
            const int32_t ids = count - done < CHUNK ? count - done : CHUNK;
            const auto out = acquire();
            Adds(out, ramp(), first + done, ids);
            append(ids);
        }
    }

    SALS_DEVICE void write_length(int32_t selected_tokens) {
        fill(acquire(), selected_tokens, DATABLOCK_LANES);
        store(gm_selected_lens_[static_cast<uint64_t>(row_)], 1);
    }

    // Pads the row.
    SALS_DEVICE void finish_row() {
        const int32_t padding = width_ - written_;
        for (int32_t done = 0; done < padding; done += CHUNK) {
            const int32_t ids = padding - done < CHUNK ? padding - done : CHUNK;
            fill(acquire(), INVALID_BLOCK, ids);
            append(ids);
        }
    }

    // A buffer for up to CHUNK ids, to be filled by the vector unit and then appended.
    SALS_DEVICE AscendC::LocalTensor<int32_t> acquire() {
        WaitFlag<HardEvent::MTE3_V>(UB_IDS_EMPTY + slot_);
        return buffer();
    }

    SALS_DEVICE void append(int32_t count) {
        store(gm_block_ids_[static_cast<uint64_t>(int64_t{row_} * width_ + written_)], count);
        written_ += count;
    }

private:
    using HardEvent = AscendC::HardEvent;

    // Doubles what is there: an instruction per doubling, where CreateVecIndex takes one per repeat. The
    // barrier of the first row's length waits for the last.
    SALS_DEVICE void write_ramp() {
        CreateVecIndex(ramp(), int32_t{0}, static_cast<uint32_t>(LANES));
        for (int32_t done = LANES; done < CHUNK; done *= 2) {
            AscendC::PipeBarrier<PIPE_V>();
            Adds(ramp()[done], ramp(), done, done);
        }
    }

    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> part(uint32_t offset) const {
        return view<T>(ub_, offsetof(UbPlan, select) + offset);
    }

    SALS_DEVICE AscendC::LocalTensor<int32_t> buffer() const {
        return part<int32_t>(offsetof(SelectPlan, ids) + slot_ * sizeof(SelectPlan::ids[0]));
    }

    SALS_DEVICE void store(const AscendC::GlobalTensor<int32_t>& dst, int32_t count) {
        SetFlag<HardEvent::V_MTE3>(UB_IDS_FULL + slot_);
        WaitFlag<HardEvent::V_MTE3>(UB_IDS_FULL + slot_);
        if (count > 0) {
            const AscendC::DataCopyExtParams run(1, count * sizeof(int32_t), 0, 0, 0);
            DataCopyPad(dst, buffer(), run);
        }
        SetFlag<HardEvent::MTE3_V>(UB_IDS_EMPTY + slot_);
        slot_ = (slot_ + 1) % IDS_SLOTS;
    }

    int32_t width_;
    AscendC::LocalTensor<uint8_t> ub_;
    AscendC::GlobalTensor<int32_t> gm_block_ids_, gm_selected_lens_;
    int32_t row_ = 0;
    int32_t written_ = 0;  // ids of the row so far
    int32_t slot_ = 0;
};

}  // namespace sals::qsi
