// SPDX-License-Identifier: Apache-2.0
// channel_scales.h - the static scales of a head as divisors, one per channel.
// Path      gm_scale [n_kv, head_dim] --MTE2--> ub_channel_scales --V--> ub_channel_divisors
#pragma once
#include "strips/quantize.h"
#include "write_cache/arguments.h"
#include "write_cache/memory_plan.h"

namespace sals::write_cache {

using strips::Floats;

class ChannelScales {
public:
    SALS_DEVICE ChannelScales(const AscendC::LocalTensor<uint8_t>& ub, const WriteCacheTiling& tiling)
        : ub_(ub), head_dim_(tiling.head_dim) {}

    // Channels that a padded row has beyond head_dim keep the scale 0.
    SALS_DEVICE void open() {
        fill(scales(), 0.0F, MAX_HEAD_DIM);
        SetFlag<HardEvent::V_MTE2>(CHANNELS_EMPTY);
    }

    SALS_DEVICE void close() { WaitFlag<HardEvent::V_MTE2>(CHANNELS_EMPTY); }

    SALS_DEVICE Floats divisors() const { return view<float>(ub_, offsetof(UbPlan, channel_divisors)); }

    SALS_DEVICE void load(const AscendC::GlobalTensor<float>& gm_scales, int32_t head) {
        WaitFlag<HardEvent::V_MTE2>(CHANNELS_EMPTY);
        DataCopy(scales(), gm_scales[static_cast<uint64_t>(head) * head_dim_],
                 static_cast<uint32_t>(head_dim_));
        SetFlag<HardEvent::MTE2_V>(CHANNELS_FULL);
        WaitFlag<HardEvent::MTE2_V>(CHANNELS_FULL);
        strips::safe_divisors(divisors(), scales(), view<uint8_t>(ub_, offsetof(UbPlan, is_divisor)),
                              MAX_HEAD_DIM);
        SetFlag<HardEvent::V_MTE2>(CHANNELS_EMPTY);
    }

private:
    using HardEvent = AscendC::HardEvent;

    SALS_DEVICE Floats scales() const { return view<float>(ub_, offsetof(UbPlan, channel_scales)); }

    AscendC::LocalTensor<uint8_t> ub_;
    int32_t head_dim_;
};

}  // namespace sals::write_cache
