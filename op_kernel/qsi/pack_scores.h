// SPDX-License-Identifier: Apache-2.0
// pack_scores.h - the scores of a list that pass a bound, packed; and counted.
#pragma once
#include "common/vector_ops.h"
#include "qsi/memory_plan.h"
#include "qsi/score_key.h"
#include "qsi/sync.h"

namespace sals::qsi {

// Of some scores.
struct Amount {
    int32_t count;
    int64_t weight;
};

SALS_DEVICE Amount operator+(const Amount& a, const Amount& b) {
    return {a.count + b.count, a.weight + b.weight};
}
SALS_DEVICE Amount operator-(const Amount& a, const Amount& b) {
    return {a.count - b.count, a.weight - b.weight};
}

class PackScores {
public:
    SALS_DEVICE explicit PackScores(const AscendC::LocalTensor<uint8_t>& ub) : ub_(ub) {}

    SALS_DEVICE AscendC::LocalTensor<float> kept() const {
        return part<float>(offsetof(ThresholdPlan, kept));
    }
    SALS_DEVICE AscendC::LocalTensor<float> scratch() const {
        return part<float>(offsetof(ThresholdPlan, scratch));
    }
    // Both together, ROOM scores.
    SALS_DEVICE AscendC::LocalTensor<float> room() const { return kept(); }
    SALS_DEVICE AscendC::LocalTensor<uint8_t> mask() const {
        return part<uint8_t>(offsetof(ThresholdPlan, mask));
    }

    // Packs the scores with x <mode> key into dst. Lanes up to the next datablock become -inf, which is never
    // above a threshold and has no mass: whatever is compared next is compared in whole repeats.
    SALS_DEVICE int32_t pack(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& x,
                             uint32_t key, AscendC::CMPMODE mode, int32_t count) const {
        compare(mask(), x, score_of_key(key), mode, count);
        const int32_t packed = gather(dst, x, mask(), count, UB_RESULT);
        fill_datablock_end(dst, -__builtin_inff(), packed);
        return packed;
    }

private:
    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> part(uint32_t offset) const {
        return view<T>(ub_, offsetof(UbPlan, select) + offsetof(SelectPlan, threshold) + offset);
    }

    AscendC::LocalTensor<uint8_t> ub_;
};

}  // namespace sals::qsi
