// SPDX-License-Identifier: Apache-2.0
// vec_overlap.h - may a destination share memory with a source? Within a repeat they must coincide or be
// apart, and no repeat may write what a later one reads: repeats are in flight together.
#pragma once
#include <vector>

#include "ascendc/vec_lanes.h"

namespace AscendC::internal {

struct ByteRange {
    uint64_t begin, end;
    bool meets(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};

// The bytes that a repeat touches, as the smallest range around them.
inline ByteRange box_of(const LanePlan& plan, const Operand& operand, uint64_t repeat) {
    const uint32_t last = plan.last_lane();
    uint64_t end = operand.address(repeat, last - 1);
    end = std::max(end, operand.address(repeat, 0)) + (operand.bits + 7) / 8;
    return {operand.address(repeat, 0), end};
}

inline void pieces_of(const LanePlan& plan, const Operand& operand, uint32_t repeat,
                      std::vector<ByteRange>& out) {
    const auto add = [&](LaneRun run) {
        while (run.count != 0) {
            const uint32_t piece = std::min(run.count, operand.contiguous(run.begin));
            const uint64_t begin = operand.address(repeat, run.begin);
            out.push_back({begin, begin + (uint64_t{piece} * operand.bits + 7) / 8});
            run.begin += piece;
            run.count -= piece;
        }
    };
    out.clear();
    if (repeat == plan.repeats) {
        add({0, plan.tail});
    } else {
        for (const LaneRun& run : plan.runs) add(run);
    }
}

// The same for a destination that is not made of lanes: `written(repeat)` is the range of bytes of a repeat.
template <class Written>
bool result_overlap_is_unsafe(const LanePlan& plan, const Operand& src, Written&& written) {
    std::vector<ByteRange> read;
    for (uint32_t repeat = 0; repeat < plan.all_repeats(); ++repeat) {
        const ByteRange result = written(repeat);
        for (uint32_t later = repeat; later < plan.all_repeats(); ++later) {
            if (!result.meets(box_of(plan, src, later))) continue;
            pieces_of(plan, src, later, read);
            for (const ByteRange& r : read) {
                if (result.meets(r)) return true;
            }
        }
    }
    return false;
}

// `in_place`: source and destination of one repeat may overlap as they like (an instruction that reads before
// it writes), only later repeats matter.
inline bool overlap_is_unsafe(const LanePlan& plan, const Operand& dst, const Operand& src, bool in_place) {
    const uint32_t repeats = plan.all_repeats();
    const ByteRange whole_dst{box_of(plan, dst, 0).begin, box_of(plan, dst, repeats - 1).end};
    const ByteRange whole_src{box_of(plan, src, 0).begin, box_of(plan, src, repeats - 1).end};
    if (!whole_dst.meets(whole_src)) return false;
    const bool coincide = dst.begin == src.begin && dst.bits == src.bits &&
                          dst.block_stride == src.block_stride && dst.repeat_stride == src.repeat_stride;
    if (coincide && dst.dense(plan.lanes)) return false;
    std::vector<ByteRange> written, read;
    for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
        const ByteRange dst_box = box_of(plan, dst, repeat);
        for (uint32_t later = repeat; later < repeats; ++later) {
            if (later == repeat && (coincide || in_place)) continue;
            if (!dst_box.meets(box_of(plan, src, later))) continue;
            pieces_of(plan, dst, repeat, written);
            pieces_of(plan, src, later, read);
            for (const ByteRange& w : written) {
                for (const ByteRange& r : read) {
                    if (w.meets(r)) return true;
                }
            }
        }
    }
    return false;
}

}  // namespace AscendC::internal
