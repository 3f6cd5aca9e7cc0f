// SPDX-License-Identifier: Apache-2.0
// vec_sort.h - records of a score and an index, 8 bytes each, in descending order of the score. float: score,
// index; half: score, 2 reserved bytes, index. Equal scores keep their order; NaN goes last.
#pragma once
#include <algorithm>
#include <array>
#include <numeric>

#include "ascendc/vec_call.h"

namespace AscendC {

constexpr int32_t MRG_SORT_ELEMENT_LEN = 4;

template <class T>
struct MrgSortSrcList {
    MrgSortSrcList() = default;
    MrgSortSrcList(const LocalTensor<T>& first, const LocalTensor<T>& second, const LocalTensor<T>& third,
                   const LocalTensor<T>& fourth)
        : src1(first), src2(second), src3(third), src4(fourth) {}

    LocalTensor<T> src1;
    LocalTensor<T> src2;
    LocalTensor<T> src3;
    LocalTensor<T> src4;
};

struct MrgSort4Info {
    MrgSort4Info() = default;
    MrgSort4Info(const uint16_t lengths[MRG_SORT_ELEMENT_LEN], bool suspend, uint16_t valid,
                 internal::U8 repeats)
        : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(repeats) {
        for (int i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) elementLengths[i] = lengths[i];
    }

    internal::U16 elementLengths[MRG_SORT_ELEMENT_LEN] = {0, 0, 0, 0};  // records
    bool ifExhaustedSuspension = false;                                 // stop when a list is used up
    uint16_t validBit = 0;
    internal::U8 repeatTimes = 1;
};

namespace internal {

constexpr uint32_t RECORD = 8;
constexpr uint32_t SORTED_LANES = 32;

template <class T>
bool sorts_before(T a, T b) {
    const float x = a, y = b;
    if (x != x) return false;
    return y != y || x > y;
}

template <class T>
class Merge {
public:
    std::array<uint64_t, MRG_SORT_ELEMENT_LEN> begin{};
    std::array<uint32_t, MRG_SORT_ELEMENT_LEN> length{};
    uint32_t lists = 0;
    uint32_t repeats = 1;
    bool suspend = false;
    uint64_t dst = 0;

    uint32_t total() const { return std::accumulate(length.begin(), length.begin() + lists, 0u); }

    // How many records each list gave, of the last repeat.
    std::array<uint32_t, MRG_SORT_ELEMENT_LEN> run(sim::Memory& ub) const {
        std::array<uint32_t, MRG_SORT_ELEMENT_LEN> taken{};
        for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
            const uint64_t offset = uint64_t{repeat} * total() * RECORD;
            taken = {};
            for (uint32_t out = 0; out < total(); ++out) {
                const uint32_t best = next_list(ub, offset, taken);
                const uint64_t from = begin[best] + offset + uint64_t{taken[best]} * RECORD;
                const uint64_t to = dst + offset + uint64_t{out} * RECORD;
                std::memcpy(ub.data.data() + to, ub.data.data() + from, RECORD);
                std::fill_n(ub.taint.data() + to, RECORD, sim::DEFINED);
                if (++taken[best] == length[best] && suspend) break;
            }
        }
        return taken;
    }

private:
    uint32_t next_list(const sim::Memory& ub, uint64_t offset,
                       const std::array<uint32_t, MRG_SORT_ELEMENT_LEN>& taken) const {
        uint32_t best = lists;
        T best_score{};
        for (uint32_t list = 0; list < lists; ++list) {
            if (taken[list] == length[list]) continue;
            const T score =
                load<T>(ub.data.data() + begin[list] + offset + uint64_t{taken[list]} * RECORD, 0);
            if (best == lists || sorts_before(score, best_score)) {
                best = list;
                best_score = score;
            }
        }
        return best;
    }
};

template <class T>
void check_merge(VectorCall& call, const Merge<T>& merge, const MrgSort4Info& params) {
    constexpr uint32_t MAX_LENGTH = 4095;
    if (params.validBit != 3 && params.validBit != 7 && params.validBit != 15) {
        call.fail("validBit must be 3, 7 or 15 (the first two, three or four lists), got " +
                  std::to_string(params.validBit));
    }
    for (uint32_t list = 0; list < merge.lists; ++list) {
        call.range("elementLengths", params.elementLengths[list], 0, MAX_LENGTH);
        call.aligned("a list", sim::Mem::UB, merge.begin[list], RECORD);
    }
    params.repeatTimes.check(call, "repeatTimes");
    if (merge.repeats <= 1) return;
    bool uniform = merge.lists == MRG_SORT_ELEMENT_LEN && !merge.suspend;
    for (uint32_t list = 1; list < merge.lists; ++list) {
        uniform = uniform && merge.length[list] == merge.length[0] &&
                  merge.begin[list] == merge.begin[list - 1] + uint64_t{merge.length[0]} * RECORD;
    }
    if (!uniform) {
        call.fail(
            "repeatTimes above 1 needs four lists of one length that follow each other in UB, without "
            "suspension");
    }
}

}  // namespace internal

// 32 scores and their indices per repeat become 32 records.
template <class T>
void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src1,
            internal::U8 repeatTime, sim::Where where = sim::Where::here()) {
    using namespace internal;
    static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>, "Sort32 takes half and float");
    VectorCall call("Sort32", where);
    call.check_place("dst", dst, SORTED_LANES * RECORD);
    call.check_place("src0", src0, SORTED_LANES * sizeof(T));
    call.check_place("src1", src1, SORTED_LANES * sizeof(uint32_t));
    repeatTime.check(call, "repeatTime");
    const uint64_t count = uint64_t{SORTED_LANES} * uint8_t{repeatTime};
    call.activate(LanePlan::of_count(SORTED_LANES, count));
    if (!call.goes_on()) return;
    const uint64_t to = dst.sim_begin(), scores = src0.sim_begin(), indices = src1.sim_begin();
    call.apart("dst", {to, to + count * RECORD}, "src0", {scores, scores + count * sizeof(T)});
    call.apart("dst", {to, to + count * RECORD}, "src1", {indices, indices + count * sizeof(uint32_t)});
    call.uses(sim::Use::READ, sim::Span::run(scores, count * sizeof(T)));
    call.uses(sim::Use::READ, sim::Span::run(indices, count * sizeof(uint32_t)));
    call.uses(sim::Use::WRITE, sim::Span::run(to, count * RECORD));
    call.dispatch(sizeof(T), [core = call.core(), to, scores, indices, count] {
        uint8_t* ub = core->memory(sim::Mem::UB).data.data();
        for (uint64_t first = 0; first < count; first += SORTED_LANES) {
            std::array<uint32_t, SORTED_LANES> order;
            std::iota(order.begin(), order.end(), 0u);
            const auto score = [&](uint32_t lane) { return load<T>(ub + scores, first + lane); };
            std::stable_sort(order.begin(), order.end(),
                             [&](uint32_t a, uint32_t b) { return sorts_before(score(a), score(b)); });
            for (uint32_t i = 0; i < SORTED_LANES; ++i) {
                uint8_t* record = ub + to + (first + i) * RECORD;
                std::memset(record, 0, RECORD);
                store<T>(record, 0, score(order[i]));
                store<uint32_t>(record, 1, load<uint32_t>(ub + indices, first + order[i]));
            }
        }
    });
}

// Two to four sorted lists of records become one.
template <class T>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params,
             sim::Where where = sim::Where::here()) {
    using namespace internal;
    static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>, "MrgSort takes half and float");
    VectorCall call("MrgSort", where);
    call.check_place("dst", dst, ONE_BLK_SIZE);
    const std::array<const LocalTensor<T>*, MRG_SORT_ELEMENT_LEN> lists = {&src.src1, &src.src2, &src.src3,
                                                                           &src.src4};
    Merge<T> merge;
    merge.lists = params.validBit >= 15 ? 4 : params.validBit >= 7 ? 3 : 2;
    merge.repeats = uint8_t{params.repeatTimes};
    merge.suspend = params.ifExhaustedSuspension;
    merge.dst = dst.sim_begin();
    for (uint32_t list = 0; list < merge.lists; ++list) {
        call.in_memory("a list", lists[list]->sim_mem(), {sim::Mem::UB});
        merge.begin[list] = lists[list]->sim_begin();
        merge.length[list] = uint16_t{params.elementLengths[list]};
    }
    check_merge(call, merge, params);
    if (!call.ok() || merge.repeats == 0 || merge.total() == 0) return;
    const uint64_t bytes = uint64_t{merge.total()} * merge.repeats * RECORD;
    call.activate(LanePlan::of_count(merge.total(), uint64_t{merge.total()} * merge.repeats));
    for (uint32_t list = 0; list < merge.lists; ++list) {
        const sim::Span span = sim::Span::pieces(merge.begin[list], uint64_t{merge.length[list]} * RECORD,
                                                 merge.repeats, static_cast<int64_t>(merge.total()) * RECORD);
        if (span.empty()) continue;
        call.apart("dst", {merge.dst, merge.dst + bytes}, "a list", {span.begin, span.end()});
        call.uses(sim::Use::READ, span);
    }
    call.uses(sim::Use::WRITE_MOVE, sim::Span::run(merge.dst, bytes));
    call.dispatch(sizeof(T), [core = call.core(), merge] {
        const auto taken = merge.run(core->memory(sim::Mem::UB));
        for (int list = 0; list < MRG_SORT_ELEMENT_LEN; ++list) {
            core->registers().merged[list] = static_cast<uint16_t>(taken[list]);
        }
    });
}

// How many records of each list the last MrgSort used.
inline void GetMrgSortResult(uint16_t& mrgSortList1, uint16_t& mrgSortList2, uint16_t& mrgSortList3,
                             uint16_t& mrgSortList4, sim::Where where = sim::Where::here()) {
    sim::Core& core = sim::Core::current();
    core.drain(sim::Pipe::V, where);
    const uint16_t* merged = core.registers().merged;
    mrgSortList1 = merged[0];
    mrgSortList2 = merged[1];
    mrgSortList3 = merged[2];
    mrgSortList4 = merged[3];
}

}  // namespace AscendC
