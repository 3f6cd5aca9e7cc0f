// SPDX-License-Identifier: Apache-2.0
// slot_list.h - which tokens of a strip are to be written, and where. A token is left out if its slot is -1
// or not in the cache, and if a later token has the same slot. So every slot has one writer, whatever the
// number of cores, and nothing needs to be ordered between cores.
// Runs on   every vector core for its own tokens
// Path      gm_slots, later tokens --MTE2--> ub_slots --V--> how many equal one of the strip's
// Each token is compared with all tokens behind it, 64 per repeat. That grows with the square of their
// number; op_kernel/README.md has figures.
#pragma once
#include "common/vector_ops.h"
#include "write_cache/arguments.h"
#include "write_cache/memory_plan.h"

namespace sals::write_cache {

struct Place {
    int32_t page;
    int32_t offset;
};

class SlotList {
public:
    SALS_DEVICE SlotList(const AscendC::LocalTensor<uint8_t>& ub, const WriteCacheTiling& tiling,
                         const Arguments& args)
        : ub_(ub), tiling_(tiling) {
        gm_slots_ = global_tensor<int32_t>(args.slot_mapping);
    }

    SALS_DEVICE void open() {
        fill(slots(), INVALID_SLOT, SLOT_CHUNK);
        SetFlag<HardEvent::V_MTE2>(SLOTS_EMPTY);
    }

    SALS_DEVICE void close() { WaitFlag<HardEvent::V_MTE2>(SLOTS_EMPTY); }

    // Looks at the tokens [first, first + tokens).
    SALS_DEVICE void find(int32_t first, int32_t tokens) {
        live_ = 0;
        for (int32_t t = 0; t < tokens; ++t) take(t, gm_slots_.GetValue(first + t));
        for (int32_t begin = first + tokens; begin < tiling_.tokens && live_ != 0; begin += SLOT_CHUNK) {
            search(begin, tokens);
        }
    }

    SALS_DEVICE uint32_t live() const { return live_; }  // bit t: token t is to be written
    SALS_DEVICE bool is_live(int32_t t) const { return (live_ >> t & 1) != 0; }
    SALS_DEVICE Place place(int32_t t) const {
        return {slot_[t] / tiling_.page_size, slot_[t] % tiling_.page_size};
    }

private:
    using HardEvent = AscendC::HardEvent;

    SALS_DEVICE AscendC::LocalTensor<int32_t> slots() const {
        return view<int32_t>(ub_, offsetof(UbPlan, slots));
    }

    SALS_DEVICE void drop(int32_t t) { live_ &= ~(uint32_t{1} << t); }

    SALS_DEVICE void take(int32_t t, int32_t slot) {
        slot_[t] = slot;
        if (slot < 0 || slot >= tiling_.num_slots) return;
        for (int32_t earlier = 0; earlier < t; ++earlier) {
            if (slot_[earlier] == slot) drop(earlier);
        }
        live_ |= uint32_t{1} << t;
    }

    // Drops the tokens whose slots are in the chunk that begins with token `begin`.
    SALS_DEVICE void search(int32_t begin, int32_t tokens) {
        const int32_t count = smaller(SLOT_CHUNK, tiling_.tokens - begin);
        const auto is_equal = view<uint8_t>(ub_, offsetof(UbPlan, is_equal));
        const auto found = view<int32_t>(ub_, offsetof(UbPlan, found));
        const AscendC::DataCopyExtParams run(1, count * sizeof(int32_t), 0, 0, 0);
        WaitFlag<HardEvent::V_MTE2>(SLOTS_EMPTY);
        DataCopyPad(slots(), gm_slots_[static_cast<uint64_t>(begin)], run,
                    AscendC::DataCopyPadExtParams<int32_t>());
        SetFlag<HardEvent::MTE2_V>(SLOTS_FULL);
        WaitFlag<HardEvent::MTE2_V>(SLOTS_FULL);
        for (int32_t t = 0; t < tokens; ++t) {
            if (!is_live(t)) continue;
            CompareScalar(is_equal, slots(), slot_[t], AscendC::CMPMODE::EQ,
                          static_cast<uint32_t>(round_up(count, F32_LANES)));
            if (gather(found, slots(), is_equal, count, FOUND) > 0) drop(t);
        }
        SetFlag<HardEvent::V_MTE2>(SLOTS_EMPTY);
    }

    AscendC::LocalTensor<uint8_t> ub_;
    const WriteCacheTiling& tiling_;
    AscendC::GlobalTensor<int32_t> gm_slots_;
    uint32_t live_ = 0;
    int32_t slot_[STRIP_TOKENS] = {};
};

}  // namespace sals::write_cache
