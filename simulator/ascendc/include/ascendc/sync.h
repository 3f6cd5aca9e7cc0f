// SPDX-License-Identifier: Apache-2.0
// sync.h - order between the pipes of one core, and between cores.
#pragma once
#include <string>

#include "ascendc/macros.h"
#include "ascendc/types.h"

namespace AscendC {

namespace internal {

struct PipePair {
    pipe_t src;
    pipe_t dst;
};

// In the order of HardEvent.
constexpr PipePair EVENT_PIPES[] = {
    {PIPE_MTE2, PIPE_MTE1}, {PIPE_MTE1, PIPE_MTE2}, {PIPE_MTE1, PIPE_M}, {PIPE_M, PIPE_MTE1},
    {PIPE_MTE2, PIPE_V},    {PIPE_V, PIPE_MTE2},    {PIPE_MTE3, PIPE_V}, {PIPE_V, PIPE_MTE3},
    {PIPE_M, PIPE_V},       {PIPE_V, PIPE_M},       {PIPE_V, PIPE_V},    {PIPE_MTE3, PIPE_MTE1},
    {PIPE_MTE1, PIPE_MTE3}, {PIPE_MTE1, PIPE_V},    {PIPE_MTE2, PIPE_M}, {PIPE_M, PIPE_MTE2},
    {PIPE_V, PIPE_MTE1},    {PIPE_M, PIPE_FIX},     {PIPE_FIX, PIPE_M},  {PIPE_MTE3, PIPE_MTE2},
    {PIPE_MTE2, PIPE_MTE3}, {PIPE_S, PIPE_V},       {PIPE_V, PIPE_S},    {PIPE_S, PIPE_MTE2},
    {PIPE_MTE2, PIPE_S},    {PIPE_S, PIPE_MTE3},    {PIPE_MTE3, PIPE_S}, {PIPE_MTE2, PIPE_FIX},
    {PIPE_FIX, PIPE_MTE2},  {PIPE_FIX, PIPE_S},     {PIPE_M, PIPE_S},    {PIPE_FIX, PIPE_MTE3},
    {PIPE_MTE1, PIPE_FIX},  {PIPE_FIX, PIPE_MTE1},  {PIPE_FIX, PIPE_FIX}};
static_assert(sizeof(EVENT_PIPES) / sizeof(PipePair) == static_cast<size_t>(HardEvent::MAX),
              "one pair per event");

constexpr PipePair pipes_of(HardEvent event) { return EVENT_PIPES[static_cast<int>(event)]; }

constexpr sim::Pipe sim_pipe(pipe_t pipe) {
    if (pipe == PIPE_V) return sim::Pipe::V;
    if (pipe == PIPE_M) return sim::Pipe::M;
    if (pipe == PIPE_MTE1) return sim::Pipe::MTE1;
    if (pipe == PIPE_MTE2) return sim::Pipe::MTE2;
    if (pipe == PIPE_MTE3) return sim::Pipe::MTE3;
    return pipe == PIPE_FIX ? sim::Pipe::FIX : sim::Pipe::S;
}

// Flags of pipes that a core does not have do nothing on it, so that code shared by both kinds may set them.
constexpr bool exists_on(sim::CoreKind kind, HardEvent event) {
    const PipePair pipes = pipes_of(event);
    if (kind == sim::CoreKind::AIC) return pipes.src != PIPE_V && pipes.dst != PIPE_V;
    switch (event) {
        case HardEvent::MTE2_MTE1:
        case HardEvent::MTE1_MTE2:
        case HardEvent::MTE1_M:
        case HardEvent::M_MTE1:
        case HardEvent::M_FIX:
        case HardEvent::FIX_M:
            return false;
        default:
            return true;
    }
}

inline void pipe_barrier(pipe_t pipe, sim::Where where) {
    sim::Core& core = sim::Core::current();
    if (pipe == PIPE_ALL) {
        core.pipe_barrier_all(where);
    } else {
        core.pipe_barrier(sim_pipe(pipe), where);
    }
}

inline void set_flag(HardEvent event, int id, sim::Where where) {
    sim::Core& core = sim::Core::current();
    if (!exists_on(core.kind(), event)) return;
    const PipePair pipes = pipes_of(event);
    if (pipes.src == pipes.dst) {  // V_V, FIX_FIX: one pipe against itself is a barrier
        core.pipe_barrier(sim_pipe(pipes.src), where);
    } else {
        core.set_flag(sim_pipe(pipes.src), sim_pipe(pipes.dst), id, where);
    }
}

inline void wait_flag(HardEvent event, int id, sim::Where where) {
    sim::Core& core = sim::Core::current();
    const PipePair pipes = pipes_of(event);
    if (!exists_on(core.kind(), event) || pipes.src == pipes.dst) return;
    core.wait_flag(sim_pipe(pipes.src), sim_pipe(pipes.dst), id, where);
}

constexpr uint16_t LAST_USER_CROSS_CORE_ID = 10;

inline bool cross_core_id_is_free(uint16_t id, const char* api, sim::Where where) {
    if (id <= LAST_USER_CROSS_CORE_ID) return true;
    sim::Core::current().report(sim::Check::SYNCCHECK, where,
                                std::string(api) + ": flag id " + std::to_string(id) +
                                    " is not one of 0..10. 11..14 belong to SyncAll, 15 to the system.");
    return false;
}

}  // namespace internal

template <HardEvent event>
void SetFlag(int32_t id, sim::Where where = sim::Where::here()) {
    internal::set_flag(event, id, where);
}

template <HardEvent event>
void WaitFlag(int32_t id, sim::Where where = sim::Where::here()) {
    internal::wait_flag(event, id, where);
}

template <pipe_t pipe>
void PipeBarrier(sim::Where where = sim::Where::here()) {
    internal::pipe_barrier(pipe, where);
}

template <pipe_t src, pipe_t dst>
class TQueSync {
public:
    void SetFlag(TEventID id, sim::Where where = sim::Where::here()) {
        sim::Core::current().set_flag(internal::sim_pipe(src), internal::sim_pipe(dst), id, where);
    }
    void WaitFlag(TEventID id, sim::Where where = sim::Where::here()) {
        sim::Core::current().wait_flag(internal::sim_pipe(src), internal::sim_pipe(dst), id, where);
    }
};

// Mode 0: all cores of a kind. Mode 1: the AIVs of a group. Mode 2: an AIC and its AIVs.
template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t flagId, sim::Where where = sim::Where::here()) {
    static_assert(modeId <= 2, "architecture 2201 has the cross-core modes 0, 1 and 2");
    static_assert(pipe != PIPE_ALL, "CrossCoreSetFlag follows one pipe");
    if (!internal::cross_core_id_is_free(flagId, "CrossCoreSetFlag", where)) return;
    sim::Core::current().cross_core_set(modeId, internal::sim_pipe(pipe), flagId, where);
}

// Neither the mode nor the pipe is part of the wait on architecture 2201: every pipe of the core stops.
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t flagId, sim::Where where = sim::Where::here()) {
    if (!internal::cross_core_id_is_free(flagId, "CrossCoreWaitFlag", where)) return;
    sim::Core::current().cross_core_wait(flagId, where);
}

template <bool isAIVOnly = true>
void SyncAll(sim::Where where = sim::Where::here()) {
    sim::Core::current().sync_all(isAIVOnly, where);
}

}  // namespace AscendC

inline void set_flag(pipe_t src, pipe_t dst, int id, sals::sim::Where where = sals::sim::Where::here()) {
    sals::sim::Core::current().set_flag(AscendC::internal::sim_pipe(src), AscendC::internal::sim_pipe(dst),
                                        id, where);
}

inline void wait_flag(pipe_t src, pipe_t dst, int id, sals::sim::Where where = sals::sim::Where::here()) {
    sals::sim::Core::current().wait_flag(AscendC::internal::sim_pipe(src), AscendC::internal::sim_pipe(dst),
                                         id, where);
}

inline void pipe_barrier(pipe_t pipe, sals::sim::Where where = sals::sim::Where::here()) {
    AscendC::internal::pipe_barrier(pipe, where);
}
