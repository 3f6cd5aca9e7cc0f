// SPDX-License-Identifier: Apache-2.0
// api_stream.cpp - ACL: streams and events.
#include <memory>
#include <string>

#include "acl/acl.h"
#include "acl/event.h"
#include "acl/machine.h"

using namespace sals::npu;

namespace {

using EventHandle = std::shared_ptr<Event>;  // tasks keep an event that its owner has destroyed

Event& event_of(aclrtEvent event) { return **static_cast<EventHandle*>(event); }

aclError no_stream(const char* function) {
    return fail(ACL_ERROR_RT_STREAM_CONTEXT, std::string(function) + ": there is no such stream");
}

}  // namespace

aclError aclrtCreateStream(aclrtStream* stream) { return aclrtCreateStreamWithConfig(stream, 0, 0); }

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) {
    Device* chosen = current_device();
    if (chosen == nullptr) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtCreateStream: this thread has chosen no device");
    }
    *stream = chosen->make_stream();
    return ACL_ERROR_NONE;
}

aclError aclrtDestroyStream(aclrtStream handle) {
    auto* stream = static_cast<Stream*>(handle);
    if (stream == nullptr) return no_stream("aclrtDestroyStream");
    return device(stream->device())->destroy_stream(stream) ? ACL_ERROR_NONE
                                                            : no_stream("aclrtDestroyStream");
}

aclError aclrtDestroyStreamForce(aclrtStream stream) { return aclrtDestroyStream(stream); }

aclError aclrtSynchronizeStream(aclrtStream handle) {
    Stream* stream = stream_of(handle);
    return stream == nullptr ? no_stream("aclrtSynchronizeStream") : report(stream->synchronize());
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t) {
    return aclrtSynchronizeStream(stream);
}

aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return no_stream("aclrtStreamQuery");
    *status = stream->idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return ACL_ERROR_NONE;
}

aclError aclrtStreamGetId(aclrtStream handle, int32_t* id) {
    const Stream* stream = stream_of(handle);
    if (stream == nullptr) return no_stream("aclrtStreamGetId");
    *id = stream->id();
    return ACL_ERROR_NONE;
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t) {
    *event = new EventHandle(std::make_shared<Event>());
    return ACL_ERROR_NONE;
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
    return aclrtCreateEventExWithFlag(event, flag);
}

aclError aclrtDestroyEvent(aclrtEvent event) {
    delete static_cast<EventHandle*>(event);
    return ACL_ERROR_NONE;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream handle) {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return no_stream("aclrtRecordEvent");
    event_of(event).record(*stream);
    return ACL_ERROR_NONE;
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream) {
    event_of(event).reset();
    return ACL_ERROR_NONE;
}

aclError aclrtStreamWaitEvent(aclrtStream handle, aclrtEvent event) {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return no_stream("aclrtStreamWaitEvent");
    return report(event_of(event).make_wait(*stream));
}

aclError aclrtSynchronizeEvent(aclrtEvent event) { return report(event_of(event).synchronize()); }

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    bool complete = false;
    const Outcome outcome = event_of(event).query(complete);
    *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return report(outcome);
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end) {
    std::chrono::steady_clock::time_point from, to;
    if (!event_of(start).completed_at(from) || !event_of(end).completed_at(to)) {
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "aclrtEventElapsedTime: an event is not complete");
    }
    *ms = std::chrono::duration<float, std::milli>(to - from).count();
    return ACL_ERROR_NONE;
}
