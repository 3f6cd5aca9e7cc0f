// SPDX-License-Identifier: Apache-2.0
// score_row.h - the scores of one row, chunk by chunk from global memory. The next chunk loads while one is
// in use, and the first one when somebody expects to need it; a row of one chunk is loaded once and stays.
//     for (row.rewind(); row.has_chunk(); row.release()) use(row.take(), row.begin(), row.count());
#pragma once
#include "qsi/sync.h"

namespace sals::qsi {

class ScoreRow {
public:
    SALS_DEVICE explicit ScoreRow(const AscendC::LocalTensor<uint8_t>& ub) : ub_(ub) {}

    SALS_DEVICE void open() {
        for (int32_t slot = 0; slot < CHUNK_SLOTS; ++slot) SetFlag<HardEvent::V_MTE2>(UB_CHUNK_EMPTY + slot);
    }

    SALS_DEVICE void close() {
        for (int32_t slot = 0; slot < CHUNK_SLOTS; ++slot) WaitFlag<HardEvent::V_MTE2>(UB_CHUNK_EMPTY + slot);
    }

    // Turns to a row of n > 0 scores, in chunks of `chunk` at most. Of a single chunk only the first `stored`
    // scores need stand in global memory: it is loaded now, and the others are written to last_scores().
    SALS_DEVICE void attach(const AscendC::GlobalTensor<float>& scores, int32_t n, int32_t stored,
                            int32_t chunk) {
        scores_ = scores;
        n_ = n;
        stored_ = stored;
        chunk_ = chunk;
        chunks_ = (n + chunk - 1) / chunk;
        is_here_ = false;
        is_next_ = false;
        if (is_one_chunk()) prefetch();
    }

    SALS_DEVICE AscendC::LocalTensor<float> last_scores() const { return chunk(first_slot_)[stored_]; }

    // The row is done with; its last chunk may be overwritten.
    SALS_DEVICE void detach() {
        if (is_next_) WaitFlag<HardEvent::MTE2_V>(UB_CHUNK_FULL + first_slot_);
        if (is_next_) SetFlag<HardEvent::V_MTE2>(UB_CHUNK_EMPTY + first_slot_);
        if (is_here_) SetFlag<HardEvent::V_MTE2>(UB_CHUNK_EMPTY + slot_);
    }

    SALS_DEVICE int32_t size() const { return n_; }
    SALS_DEVICE const AscendC::GlobalTensor<float>& scores() const { return scores_; }
    SALS_DEVICE bool is_one_chunk() const { return chunks_ == 1; }

    // Between two passes: loads the first chunk of the next.
    SALS_DEVICE void prefetch() {
        if (is_here_ || is_next_) return;
        load(0);
        is_next_ = true;
    }

    SALS_DEVICE void rewind() {
        prefetch();
        at_ = 0;
        is_next_ = false;
    }

    SALS_DEVICE bool has_chunk() const { return at_ < chunks_; }
    SALS_DEVICE int32_t begin() const { return at_ * chunk_; }
    SALS_DEVICE int32_t count() const { return count_of(at_); }

    // The current chunk; lanes behind its scores are undefined.
    SALS_DEVICE AscendC::LocalTensor<float> take() {
        slot_ = (first_slot_ + at_) % CHUNK_SLOTS;
        if (at_ + 1 < chunks_) load(at_ + 1);
        if (!is_here_) WaitFlag<HardEvent::MTE2_V>(UB_CHUNK_FULL + slot_);
        is_here_ = is_one_chunk();
        return chunk(slot_);
    }

    SALS_DEVICE void release() {
        if (!is_here_) SetFlag<HardEvent::V_MTE2>(UB_CHUNK_EMPTY + slot_);
        ++at_;
    }

private:
    using HardEvent = AscendC::HardEvent;

    SALS_DEVICE int32_t count_of(int32_t i) const { return i + 1 < chunks_ ? chunk_ : n_ - i * chunk_; }

    SALS_DEVICE AscendC::LocalTensor<float> chunk(int32_t slot) const {
        return view<float>(ub_, offsetof(UbPlan, select) + offsetof(SelectPlan, chunk) +
                                    slot * sizeof(SelectPlan::chunk[0]));
    }

    SALS_DEVICE void load(int32_t i) {
        if (i == 0) first_slot_ = next_slot_;
        const int32_t slot = next_slot_;
        next_slot_ = (next_slot_ + 1) % CHUNK_SLOTS;
        WaitFlag<HardEvent::V_MTE2>(UB_CHUNK_EMPTY + slot);
        const int32_t count = smaller(count_of(i), stored_);
        const AscendC::DataCopyExtParams run(1, count * sizeof(float), 0, 0, 0);
        DataCopyPad(chunk(slot), scores_[static_cast<uint64_t>(i * chunk_)], run,
                    AscendC::DataCopyPadExtParams<float>());
        SetFlag<HardEvent::MTE2_V>(UB_CHUNK_FULL + slot);
    }

    AscendC::LocalTensor<uint8_t> ub_;
    AscendC::GlobalTensor<float> scores_;
    int32_t n_ = 0;
    int32_t stored_ = 0;
    int32_t chunk_ = CHUNK;
    int32_t chunks_ = 0;
    int32_t at_ = 0;
    int32_t slot_ = 0;        // of the current chunk
    int32_t first_slot_ = 0;  // of this pass
    int32_t next_slot_ = 0;   // to be loaded
    bool is_here_ = false;    // the only chunk is loaded
    bool is_next_ = false;    // the first chunk of the next pass is
};

}  // namespace sals::qsi
