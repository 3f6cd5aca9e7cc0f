// SPDX-License-Identifier: Apache-2.0
// results.h - the slots through which codes and scales leave for global memory.
#pragma once
#include "strips/sync.h"

namespace sals::strips {

class Results {
public:
    SALS_DEVICE explicit Results(const AscendC::LocalTensor<uint8_t>& ub) : ub_(ub) {}

    SALS_DEVICE void open() {
        for (int32_t slot = 0; slot < RESULT_SLOTS; ++slot) SetFlag<HardEvent::MTE3_V>(RESULT_EMPTY + slot);
    }

    SALS_DEVICE void close() {
        for (int32_t slot = 0; slot < RESULT_SLOTS; ++slot) WaitFlag<HardEvent::MTE3_V>(RESULT_EMPTY + slot);
    }

    // The vector unit may write the slot from acquire() to publish(), it is stored until release().
    SALS_DEVICE void acquire() { WaitFlag<HardEvent::MTE3_V>(RESULT_EMPTY + slot_); }

    SALS_DEVICE void publish() {
        SetFlag<HardEvent::V_MTE3>(RESULT_FULL + slot_);
        WaitFlag<HardEvent::V_MTE3>(RESULT_FULL + slot_);
    }

    SALS_DEVICE void release() {
        SetFlag<HardEvent::MTE3_V>(RESULT_EMPTY + slot_);
        slot_ = (slot_ + 1) % RESULT_SLOTS;
    }

    template <class Code = int8_t>
    SALS_DEVICE AscendC::LocalTensor<Code> codes() const {
        return view<Code>(ub_, offset() + offsetof(Result, codes));
    }

    SALS_DEVICE Floats scale_lanes() const {
        return view<float>(ub_, offset() + offsetof(Result, scale_lanes));
    }

private:
    using HardEvent = AscendC::HardEvent;

    SALS_DEVICE uint32_t offset() const {
        return offsetof(StripPlan, results) + slot_ * sizeof(StripPlan::results[0]);
    }

    AscendC::LocalTensor<uint8_t> ub_;
    int32_t slot_ = 0;
};

}  // namespace sals::strips
