// SPDX-License-Identifier: Apache-2.0
// tpipe.h - TPipe hands out on-chip memory and event ids. One TPipe exists per core at a time.
#pragma once
#include <array>
#include <string>
#include <unordered_map>

#include "ascendc/compare_register.h"
#include "ascendc/queue_events.h"
#include "ascendc/sync.h"
#include "ascendc/system.h"

namespace AscendC {

class TPipe;
template <TPosition position>
class TBuf;

constexpr TEventID INVALID_TEVENTID = -1;

namespace internal {

// One buffer of a queue or a TBuf.
struct Buffer {
    enum class State : uint8_t { FREE, OCCUPIED, QUEUED, DEQUEUED };
    State state = State::FREE;
    TEventID queued_id = INVALID_TEVENTID;  // set by EnQue, awaited by DeQue, kept for the next EnQue
    HardEvent queued_event = HardEvent::MAX;
    TEventID freed_id = INVALID_TEVENTID;  // set by FreeTensor, awaited by AllocTensor
    HardEvent freed_event = HardEvent::MAX;
    bool owns_ids = false;  // queue of depth 0
    uint32_t address = 0;
    uint32_t bytes = 0;
};

// The TPipe of every core that has one. A launch runs on one thread, and several may launch at once.
inline std::unordered_map<const sim::Core*, TPipe*>& tpipes() {
    static thread_local std::unordered_map<const sim::Core*, TPipe*> pipes;
    return pipes;
}

}  // namespace internal

class TPipe {
public:
    explicit TPipe(sim::Where where = sim::Where::here()) : where_(where) {
        where_.implied = true;
        Init();
    }
    ~TPipe() { Destroy(); }
    TPipe(const TPipe&) = delete;
    TPipe& operator=(const TPipe&) = delete;

    void Init() {
        InitSocState();
        internal::forget_compare_register(&sim::Core::current());
        reset_pools();
        if ASCEND_IS_AIC {
            for (int i = 0; i < NUM_CUBE_FLAGS; ++i)
                SetFlag<HardEvent::M_MTE1>(AllocEventID<HardEvent::M_MTE1>(), where_);
        }
        internal::tpipes()[&sim::Core::current()] = this;
        destroyed_ = false;
    }

    // Waits for the flags that are still set, then for everything that the core was given to do.
    void Destroy() {
        if (destroyed_) return;
        destroyed_ = true;
        await_freed_buffers();
        if ASCEND_IS_AIC {
            for (int id = 0; id < NUM_CUBE_FLAGS; ++id) {
                WaitFlag<HardEvent::M_MTE1>(id, where_);
                ReleaseEventID<HardEvent::M_MTE1>(static_cast<TEventID>(id));
            }
        }
        pipe_barrier(PIPE_ALL, where_);
        internal::tpipes().erase(&sim::Core::current());
    }

    // All memory and all event ids are free again. Flags set at construction (M_MTE1 on the AIC) stay set.
    void Reset() {
        await_freed_buffers();
        InitSocState();
        reset_pools();
    }

    // `num` buffers of `bytes` each (rounded up to 32) for a queue.
    template <class Queue>
    bool InitBuffer(Queue& queue, uint8_t num, uint32_t bytes, sim::Where where = sim::Where::here()) {
        internal::Buffer* first = take_buffers(mem_of(Queue::buffer_position), num, bytes, where);
        if (first == nullptr) return false;
        queue.bind(first, num, where);
        return true;
    }

    template <TPosition position>
    bool InitBuffer(TBuf<position>& buffer, uint32_t bytes, sim::Where where = sim::Where::here()) {
        internal::Buffer* first = take_buffers(mem_of(position), 1, bytes, where);
        if (first == nullptr) return false;
        buffer.bind(*first);
        return true;
    }

    template <HardEvent event>
    TEventID AllocEventID(sim::Where where = sim::Where::here()) {
        return alloc_id(event, where);
    }

    template <HardEvent event>
    void ReleaseEventID(TEventID id) {
        release_id(event, id);
    }

    // A free id, for use right away: it stays free.
    TEventID FetchEventID(HardEvent event, sim::Where where = sim::Where::here()) {
        for (TEventID id = 0; id < NUM_EVENT_IDS; ++id) {
            if ((ids_in_use_[static_cast<int>(event)] >> id & 1) == 0) return id;
        }
        const TEventID idle = reclaim_id(event);
        if (idle != INVALID_TEVENTID) return idle;
        sim::Core::current().report(sim::Check::SYNCCHECK, where,
                                    "AllocEventID: all 8 event ids of this pair of pipes are in use. "
                                    "Release one, or use fewer queue buffers.");
        return 0;
    }

    template <HardEvent event>
    TEventID FetchEventID(sim::Where where = sim::Where::here()) {
        return FetchEventID(event, where);
    }

    // The same with the event as a value, for queues.
    TEventID alloc_id(HardEvent event, sim::Where where) {
        const TEventID id = FetchEventID(event, where);
        ids_in_use_[static_cast<int>(event)] |= static_cast<uint8_t>(1u << id);
        return id;
    }
    void release_id(HardEvent event, TEventID id) {
        ids_in_use_[static_cast<int>(event)] &= static_cast<uint8_t>(~(1u << id));
    }

private:
    static constexpr int NUM_CUBE_FLAGS = 3;  // M_MTE1 ids 0..2 belong to TPipe on the AIC
    static constexpr TEventID NUM_EVENT_IDS = 8;
    static constexpr uint32_t MAX_BUFFERS = 64;

    internal::Buffer* take_buffers(sim::Mem mem, uint32_t num, uint32_t bytes, sim::Where where) {
        sim::Core& core = sim::Core::current();
        if (num == 0 || bytes == 0 || num_buffers_ + num > MAX_BUFFERS) {
            core.report(sim::Check::MEMCHECK, where,
                        "InitBuffer: " + std::to_string(num) + " buffers of " + std::to_string(bytes) +
                            " bytes asked for, " + std::to_string(num_buffers_) +
                            " exist. Sizes must not be 0 and a TPipe manages 64 buffers.");
            return nullptr;
        }
        const uint32_t rounded = (bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
        uint32_t& used = used_[static_cast<int>(mem)];
        const uint64_t capacity = core.memory(mem).size();
        if (capacity != 0 && used + uint64_t{num} * rounded > capacity) {
            core.report(sim::Check::MEMCHECK, where,
                        std::string("InitBuffer: ") + sim::name_of(mem) + " has " +
                            std::to_string(capacity - (used < capacity ? used : capacity)) + " of " +
                            std::to_string(capacity) + " bytes left, " + std::to_string(num) + " x " +
                            std::to_string(rounded) + " asked for.");
        }
        internal::Buffer* first = &buffers_[num_buffers_];
        for (uint32_t i = 0; i < num; ++i) {
            first[i] = internal::Buffer{};
            first[i].address = used;
            first[i].bytes = rounded;
            used += rounded;
        }
        num_buffers_ += num;
        return first;
    }

    // The id that a buffer keeps although it is not queued. Its last WaitFlag may not have executed yet.
    TEventID reclaim_id(HardEvent event) {
        for (uint32_t i = 0; i < num_buffers_; ++i) {
            internal::Buffer& buffer = buffers_[i];
            if (buffer.owns_ids || buffer.queued_event != event ||
                buffer.state == internal::Buffer::State::QUEUED) {
                continue;
            }
            const TEventID id = buffer.queued_id;
            if (id == INVALID_TEVENTID) continue;
            buffer.queued_id = INVALID_TEVENTID;
            release_id(event, id);
            return id;
        }
        return INVALID_TEVENTID;
    }

    void await_freed_buffers() {
        for (uint32_t i = 0; i < num_buffers_; ++i) {
            internal::Buffer& buffer = buffers_[i];
            if (buffer.freed_id == INVALID_TEVENTID || buffer.state != internal::Buffer::State::FREE)
                continue;
            internal::wait_flag(buffer.freed_event, buffer.freed_id, where_);
            buffer.freed_id = INVALID_TEVENTID;
        }
    }

    void reset_pools() {
        used_.fill(0);
        ids_in_use_.fill(0);
        num_buffers_ = 0;
    }

    sim::Where where_;
    bool destroyed_ = false;
    uint32_t num_buffers_ = 0;
    std::array<internal::Buffer, MAX_BUFFERS> buffers_;
    std::array<uint32_t, sim::NUM_LOCAL_MEMS + 1> used_{};
    std::array<uint8_t, static_cast<size_t>(HardEvent::MAX)> ids_in_use_{};
};

inline TPipe* GetTPipePtr() {
    const auto found = internal::tpipes().find(&sim::Core::current());
    return found == internal::tpipes().end() ? nullptr : found->second;
}

}  // namespace AscendC
