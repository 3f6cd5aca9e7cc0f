// SPDX-License-Identifier: Apache-2.0
// queue_events.h - which flags a queue between two positions needs: one from producer to consumer when a
// tensor is queued, one back when its buffer is freed.
#pragma once
#include "ascendc/types.h"

namespace AscendC::internal {

// A queue named by one position runs between that position and its neighbour in the data flow.
constexpr TPosition queue_source(TPosition position) {
    switch (position) {
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::VECIN:
            return TPosition::GM;
        case TPosition::A2:
            return TPosition::A1;
        case TPosition::B2:
            return TPosition::B1;
        case TPosition::C2:
            return TPosition::C1;
        case TPosition::C2PIPE2GM:
            return TPosition::B1;
        default:
            return position;
    }
}

constexpr TPosition queue_target(TPosition position) {
    switch (position) {
        case TPosition::CO1:
            return TPosition::CO2;
        case TPosition::CO2:
        case TPosition::VECOUT:
            return TPosition::GM;
        default:
            return position;
    }
}

// Where the buffers of a queue live: at the end that is on the chip.
constexpr TPosition buffer_position(TPosition src, TPosition dst) {
    return dst == TPosition::GM || dst == TPosition::CO2 ? src : dst;
}

constexpr HardEvent queue_event(TPosition src_position, TPosition dst_position, bool forward) {
    const sim::Mem src = mem_of(src_position);
    const sim::Mem dst = mem_of(dst_position);
    using sim::Mem;
    if (src == Mem::GM) {
        if (dst == Mem::UB) return forward ? HardEvent::MTE2_V : HardEvent::V_MTE2;
        if (dst == Mem::L1) return forward ? HardEvent::MTE2_MTE1 : HardEvent::MTE1_MTE2;
        if (dst == Mem::L0A || dst == Mem::L0B) return forward ? HardEvent::MTE2_M : HardEvent::M_MTE2;
    } else if (src == Mem::UB) {
        if (dst == Mem::GM) return forward ? HardEvent::V_MTE3 : HardEvent::MTE3_V;
        if (dst == Mem::L1) return forward ? HardEvent::MTE3_MTE1 : HardEvent::MTE1_MTE3;
        if (dst == Mem::UB) return forward ? HardEvent::MTE2_MTE3 : HardEvent::MTE3_MTE2;
    } else if (src == Mem::L1) {
        if (dst == Mem::UB) return forward ? HardEvent::MTE1_V : HardEvent::V_MTE1;
        if (dst == Mem::FB) return forward ? HardEvent::MTE1_FIX : HardEvent::FIX_MTE1;
        if (dst != Mem::GM && dst != Mem::L1) return forward ? HardEvent::MTE1_M : HardEvent::M_MTE1;
    } else if (src == Mem::L0C && dst == Mem::GM) {
        return forward ? HardEvent::M_FIX : HardEvent::FIX_M;
    }
    return HardEvent::MAX;
}

}  // namespace AscendC::internal
