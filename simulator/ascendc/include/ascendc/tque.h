// SPDX-License-Identifier: Apache-2.0
// tque.h - TQueBind and TQue: buffers that travel from a producing pipe to a consuming pipe and back, with
// the flags that this takes. TBuf: memory without any flags.
#pragma once
#include <array>
#include <string>

#include "ascendc/local_tensor.h"
#include "ascendc/tpipe.h"

namespace AscendC {

// depth 0: the kernel keeps the tensor itself; every buffer then owns its event ids for good.
template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
public:
    static constexpr TPosition buffer_position = internal::buffer_position(src, dst);
    static constexpr HardEvent queued_event = internal::queue_event(src, dst, true);
    static constexpr HardEvent freed_event = internal::queue_event(src, dst, false);
    static_assert(queued_event != HardEvent::MAX, "no data flow between these positions");

    template <class T>
    LocalTensor<T> AllocTensor(sim::Where where = sim::Where::here()) {
        static_assert(depth != 0, "a queue of depth 0 allocates with AllocTensor(tensor)");
        return tensor<T>(alloc(where));
    }

    template <class T>
    void AllocTensor(LocalTensor<T>& out, sim::Where where = sim::Where::here()) {
        static_assert(depth == 0, "AllocTensor(tensor) is for queues of depth 0");
        out = tensor<T>(alloc(where));
    }

    template <class T>
    bool EnQue(const LocalTensor<T>& queued, sim::Where where = sim::Where::here()) {
        return enqueue(queued.sim_begin(), queued_event, where);
    }

    // The data flow of this one trip, where it differs from the queue's.
    template <TPosition srcUserPos, TPosition dstUserPos, class T>
    bool EnQue(const LocalTensor<T>& queued, sim::Where where = sim::Where::here()) {
        static_assert(depth != 0, "a queue of depth 0 has one data flow");
        return enqueue(queued.sim_begin(), internal::queue_event(srcUserPos, dstUserPos, true), where);
    }

    template <class T>
    LocalTensor<T> DeQue(sim::Where where = sim::Where::here()) {
        static_assert(depth != 0, "a queue of depth 0 dequeues with DeQue(tensor)");
        return tensor<T>(dequeue(queued_event, where));
    }

    template <TPosition srcUserPos, TPosition dstUserPos, class T>
    LocalTensor<T> DeQue(sim::Where where = sim::Where::here()) {
        static_assert(depth != 0, "a queue of depth 0 has one data flow");
        return tensor<T>(dequeue(internal::queue_event(srcUserPos, dstUserPos, true), where));
    }

    template <class T>
    void DeQue(LocalTensor<T>& queued, sim::Where where = sim::Where::here()) {
        static_assert(depth == 0, "DeQue(tensor) is for queues of depth 0");
        const internal::Buffer* buffer = find(queued.sim_begin(), "DeQue", where);
        if (buffer != nullptr) internal::wait_flag(queued_event, buffer->queued_id, where);
    }

    template <class T>
    void FreeTensor(LocalTensor<T>& freed, sim::Where where = sim::Where::here()) {
        internal::Buffer* buffer = find(freed.sim_begin(), "FreeTensor", where);
        if (buffer == nullptr) return;
        if (buffer->state == State::FREE) {
            report("FreeTensor: the buffer is free already. Free what AllocTensor gave, once.", where);
            return;
        }
        if constexpr (depth != 0) buffer->freed_id = pipe().template AllocEventID<freed_event>(where);
        internal::set_flag(freed_event, buffer->freed_id, where);
        buffer->freed_event = freed_event;
        buffer->state = State::FREE;
    }

    void FreeAllEvent(sim::Where where = sim::Where::here()) {
        static_assert(depth != 0, "a queue of depth 0 keeps its events");
        for (int i = 0; i < num_buffers_; ++i) await_freed(first_[i], where);
    }

    bool VacantInQue() const { return num_queued_ < depth; }
    bool HasTensorInQue() const { return num_queued_ != 0; }
    int32_t GetTensorCountInQue() const { return num_queued_; }
    bool HasIdleBuffer() const {
        for (int i = 0; i < num_buffers_; ++i) {
            if (first_[i].state == State::FREE) return true;
        }
        return false;
    }

    // Called by TPipe::InitBuffer.
    void bind(internal::Buffer* first, int num, sim::Where where) {
        first_ = first;
        num_buffers_ = num;
        cursor_ = num_queued_ = head_ = 0;
        if constexpr (depth == 0) {
            for (int i = 0; i < num; ++i) {
                first[i].queued_id = pipe().template AllocEventID<queued_event>(where);
                first[i].freed_id = pipe().template AllocEventID<freed_event>(where);
                first[i].freed_event = freed_event;
                first[i].owns_ids = true;
                internal::set_flag(freed_event, first[i].freed_id, where);
            }
        }
    }

private:
    using State = internal::Buffer::State;

    static TPipe& pipe() { return *GetTPipePtr(); }

    static void report(const std::string& text, sim::Where where) {
        sim::Core::current().report(sim::Check::SYNCCHECK, where, text);
    }

    template <class T>
    static LocalTensor<T> tensor(const internal::Buffer* buffer) {
        if (buffer == nullptr) return LocalTensor<T>(buffer_position, 0, 0);
        return LocalTensor<T>(buffer_position, buffer->address,
                              static_cast<uint32_t>(sim_elements<T>(buffer->bytes)));
    }

    void await_freed(internal::Buffer& buffer, sim::Where where) {
        if (buffer.freed_id == INVALID_TEVENTID) return;
        internal::wait_flag(freed_event, buffer.freed_id, where);
        if constexpr (depth != 0) {
            pipe().template ReleaseEventID<freed_event>(buffer.freed_id);
            buffer.freed_id = INVALID_TEVENTID;
        }
    }

    internal::Buffer* alloc(sim::Where where) {
        for (int tried = 0; tried < num_buffers_; ++tried) {
            internal::Buffer& buffer = first_[cursor_];
            cursor_ = (cursor_ + 1) % num_buffers_;
            if (buffer.state != State::FREE) continue;
            await_freed(buffer, where);
            buffer.state = State::OCCUPIED;
            return &buffer;
        }
        report(
            "AllocTensor: none of the queue's " + std::to_string(num_buffers_) +
                " buffers is free, which hangs on a device. Call InitBuffer first and FreeTensor after use.",
            where);
        return nullptr;
    }

    internal::Buffer* find(uint64_t address, const char* api, sim::Where where) {
        for (int i = 0; i < num_buffers_; ++i) {
            internal::Buffer& buffer = first_[i];
            if (address >= buffer.address && address < buffer.address + buffer.bytes) return &buffer;
        }
        report(std::string(api) + ": the tensor does not lie in a buffer of this queue.", where);
        return nullptr;
    }

    bool enqueue(uint64_t address, HardEvent event, sim::Where where) {
        internal::Buffer* buffer = find(address, "EnQue", where);
        if (buffer == nullptr) return false;
        if (buffer->state == State::FREE || buffer->state == State::QUEUED) {
            report("EnQue: the tensor is not in the kernel's hands: it was freed or queued before.", where);
            return false;
        }
        if constexpr (depth != 0) {
            if (num_queued_ >= depth) {
                report("EnQue: the queue holds its " + std::to_string(depth) + " tensors already.", where);
                return false;
            }
            queue_[(head_ + num_queued_) % depth] = buffer;
            ++num_queued_;
            keep_id(*buffer, event, where);
        }
        internal::set_flag(event, buffer->queued_id, where);
        buffer->state = depth == 0 ? State::OCCUPIED : State::QUEUED;
        return true;
    }

    // A buffer keeps its id after DeQue: the next SetFlag with it comes after the buffer was freed, hence
    // after the WaitFlag, so that no flag is set twice.
    static void keep_id(internal::Buffer& buffer, HardEvent event, sim::Where where) {
        if (buffer.queued_id != INVALID_TEVENTID && buffer.queued_event == event) return;
        if (buffer.queued_id != INVALID_TEVENTID) pipe().release_id(buffer.queued_event, buffer.queued_id);
        buffer.queued_event = event;
        buffer.queued_id = pipe().alloc_id(event, where);
    }

    internal::Buffer* dequeue(HardEvent event, sim::Where where) {
        if (num_queued_ == 0) {
            report("DeQue: the queue is empty. Every DeQue needs an EnQue before it.", where);
            return nullptr;
        }
        internal::Buffer* buffer = queue_[head_];
        head_ = (head_ + 1) % depth;
        --num_queued_;
        internal::wait_flag(event, buffer->queued_id, where);
        buffer->state = State::DEQUEUED;
        return buffer;
    }

    internal::Buffer* first_ = nullptr;
    int num_buffers_ = 0;
    int cursor_ = 0;
    int num_queued_ = 0;
    int head_ = 0;
    std::array<internal::Buffer*, (depth > 0 ? depth : 1)> queue_{};
};

template <TPosition position, int32_t depth, auto mask = 0>
class TQue
    : public TQueBind<internal::queue_source(position), internal::queue_target(position), depth, mask> {};

// Memory for the kernel to use as it likes.
template <TPosition position = TPosition::LCM>
class TBuf {
public:
    template <class T>
    LocalTensor<T> Get() {
        return LocalTensor<T>(position, address_, static_cast<uint32_t>(sim_elements<T>(bytes_)));
    }

    template <class T>
    LocalTensor<T> Get(uint32_t elements, sim::Where where = sim::Where::here()) {
        check_fits(sim_bytes<T>(elements), "Get", where);
        return LocalTensor<T>(position, address_, elements);
    }

    // `offset` is in bytes.
    template <class T>
    LocalTensor<T> GetWithOffset(uint32_t elements, uint32_t offset, sim::Where where = sim::Where::here()) {
        check_fits(offset + sim_bytes<T>(elements), "GetWithOffset", where);
        return LocalTensor<T>(position, address_ + offset, elements);
    }

    // A TBuf may stand where a queue is expected: these set no flags.
    template <class T>
    LocalTensor<T> AllocTensor() {
        return Get<T>();
    }
    template <class T>
    void EnQue(const LocalTensor<T>&) {}
    template <class T>
    LocalTensor<T> DeQue() {
        return Get<T>();
    }
    template <class T>
    void FreeTensor(LocalTensor<T>&) {}

    // Called by TPipe::InitBuffer.
    void bind(const internal::Buffer& buffer) {
        address_ = buffer.address;
        bytes_ = buffer.bytes;
    }

private:
    void check_fits(uint64_t bytes, const char* api, sim::Where where) const {
        if (bytes <= bytes_) return;
        sim::Core::current().report(sim::Check::MEMCHECK, where,
                                    std::string("TBuf::") + api + ": " + std::to_string(bytes) +
                                        " bytes asked for, the buffer has " + std::to_string(bytes_) +
                                        ". Give InitBuffer the size that is used.");
    }

    uint32_t address_ = 0;
    uint32_t bytes_ = 0;
};

}  // namespace AscendC
