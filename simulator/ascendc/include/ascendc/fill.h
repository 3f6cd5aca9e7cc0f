// SPDX-License-Identifier: Apache-2.0
// fill.h - memory filled with one value: Fill (InitConstValue) of L1, L0A and L0B, and Fill
// (InitGlobalMemory, InitOutput) of GM by a vector core.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ascendc/call_check.h"
#include "ascendc/cube_layout.h"
#include "ascendc/field.h"
#include "ascendc/move.h"
#include "ascendc/place.h"
#include "ascendc/sync.h"

namespace AscendC {

// Blocks of 32 bytes in L1, of 512 bytes in L0A and L0B.
template <typename T>
struct InitConstValueParams {
    __aicore__ InitConstValueParams() {}
    __aicore__ InitConstValueParams(const internal::U16 repeat_times, const internal::U16 block_num,
                                    const internal::U16 dst_gap, const T value)
        : repeatTimes(repeat_times), blockNum(block_num), dstGap(dst_gap), initValue(value) {}

    internal::U16 repeatTimes = 0;
    internal::U16 blockNum = 0;  // of a repeat
    internal::U16 dstGap = 0;    // blocks, from the end of a repeat to the next
    T initValue = 0;
};

namespace internal {

inline constexpr uint32_t MAX_FILL_FIELD = 32767;

template <class T>
void issue_fill(const char* name, sim::Pipe pipe, sim::Mem mem, const sim::Span& span, T value,
                sim::Where where) {
    sim::Core* const core = &sim::Core::current();
    sim::Instruction instruction;
    instruction.name = name;
    instruction.pipe = pipe;
    instruction.where = where;
    instruction.accesses = {{mem, sim::Use::WRITE, span}};
    instruction.run = [core, mem, span, value] {
        const OperandView view(*core, mem, span);
        span.for_each([&](uint64_t begin, uint32_t bytes) {
            for (uint64_t at = 0; at < bytes; at += sizeof(T))
                std::memcpy(view.data(begin + at), &value, sizeof(T));
        });
    };
    core->issue(std::move(instruction));
}

template <class T>
void fill_gm(const GlobalTensor<T>& dst, uint64_t elements, T value, sim::Where where) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "GM is filled with elements of 16 or 32 bits");
    CallCheck check("Fill of GM", where);
    check.on_core_with(sim::Mem::UB);
    if (AtomicMode::current().on()) check.fail("an atomic operation is set: end it with SetAtomicNone");
    if (!check.ok() || elements == 0) return;
    issue_fill("DataCopyPad", sim::Pipe::MTE3, sim::Mem::GM,
               sim::Span::run(dst.sim_address(), elements * sizeof(T)), value, where);
    PipeBarrier<PIPE_MTE3>(where);
}

}  // namespace internal

template <typename T, typename U = T, typename std::enable_if<std::is_same<T, U>::value, bool>::type = true>
__aicore__ inline void Fill(const LocalTensor<T>& dst, const InitConstValueParams<U>& params,
                            sim::Where where = sim::Where::here()) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Fill writes elements of 16 or 32 bits");
    const internal::Place place = internal::place_of(dst);
    const uint32_t block = place.mem == sim::Mem::L1 ? ONE_BLK_SIZE : internal::FRACTAL_BYTES;
    internal::CallCheck check("Fill", where);
    check.in_memory("dst", place.mem, {sim::Mem::L1, sim::Mem::L0A, sim::Mem::L0B});
    check.on_core_with(place.mem);
    check.aligned("dst", place.mem, place.begin, block);
    check_field(check, "repeatTimes", params.repeatTimes, 0, internal::MAX_FILL_FIELD);
    check_field(check, "blockNum", params.blockNum, 0, internal::MAX_FILL_FIELD);
    check_field(check, "dstGap", params.dstGap, 0, internal::MAX_FILL_FIELD);
    if (!check.ok() || params.repeatTimes == 0 || params.blockNum == 0) return;
    const uint64_t bytes = uint64_t{params.blockNum} * block;
    internal::issue_fill(
        "InitConstValue", place.mem == sim::Mem::L1 ? sim::Pipe::MTE2 : sim::Pipe::MTE1, place.mem,
        sim::Span::pieces(place.begin, bytes, params.repeatTimes, bytes + uint64_t{params.dstGap} * block),
        params.initValue, where);
}

template <typename T, typename U = T, typename std::enable_if<std::is_same<T, U>::value, bool>::type = true>
__aicore__ inline void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<U>& params,
                                      sim::Where where = sim::Where::here()) {
    Fill(dst, params, where);
}

template <typename T>
__aicore__ inline void Fill(GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value,
                            sim::Where where = sim::Where::here()) {
    internal::fill_gm(gmWorkspaceAddr, size, value, where);
}

template <typename T>
__aicore__ inline void InitGlobalMemory(GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value,
                                        sim::Where where = sim::Where::here()) {
    internal::fill_gm(gmWorkspaceAddr, size, value, where);
}

template <typename T>
__aicore__ inline void InitOutput(GlobalTensor<T> gmWorkspaceAddr, uint32_t size, T value = 0,
                                  sim::Where where = sim::Where::here()) {
    internal::fill_gm(gmWorkspaceAddr, size, value, where);
}

}  // namespace AscendC

namespace matmul {
using AscendC::InitOutput;
}
