// SPDX-License-Identifier: Apache-2.0
// api_graph.cpp - ACL: capture of streams into graphs, and their replay.
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "acl/acl.h"
#include "acl/capture.h"
#include "acl/machine.h"

using namespace sals::npu;

namespace {

std::mutex graphs_mutex;
std::map<aclmdlRI, std::shared_ptr<Capture>> graphs;  // those that have ended and were not destroyed

std::shared_ptr<Capture> graph_of(aclmdlRI handle) {
    const std::lock_guard<std::mutex> lock(graphs_mutex);
    const auto found = graphs.find(handle);
    return found == graphs.end() ? nullptr : found->second;
}

aclError no_graph(const char* function) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, std::string(function) + ": there is no such graph");
}

}  // namespace

aclError aclmdlRICaptureBegin(aclrtStream handle, aclmdlRICaptureMode) {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return fail(ACL_ERROR_RT_STREAM_CONTEXT, "aclmdlRICaptureBegin: no such stream");
    return report(Capture::begin(*stream));
}

aclError aclmdlRICaptureEnd(aclrtStream handle, aclmdlRI* graph) {
    Stream* stream = stream_of(handle);
    const std::shared_ptr<Capture> capture = stream == nullptr ? nullptr : stream->capture();
    if (capture == nullptr) {
        return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "aclmdlRICaptureEnd: the stream is not being captured");
    }
    const Outcome outcome = capture->end(*stream);
    if (!outcome.ok()) return report(outcome);
    *graph = capture.get();
    const std::lock_guard<std::mutex> lock(graphs_mutex);
    graphs[*graph] = capture;
    return ACL_ERROR_NONE;
}

aclError aclmdlRICaptureGetInfo(aclrtStream handle, aclmdlRICaptureStatus* status, aclmdlRI* graph) {
    Stream* stream = stream_of(handle);
    const std::shared_ptr<Capture> capture = stream == nullptr ? nullptr : stream->capture();
    *status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    if (capture != nullptr) {
        *status = capture->is_valid() ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE
                                      : ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED;
    }
    if (graph != nullptr) *graph = capture.get();
    return ACL_ERROR_NONE;
}

aclError aclmdlRIGetId(aclmdlRI graph, uint32_t* id) {
    *id = static_cast<Capture*>(graph)->id();
    return ACL_ERROR_NONE;
}

// Calls that a stricter mode of capture forbids are not told apart here.
aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
    static thread_local aclmdlRICaptureMode current = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
    std::swap(current, *mode);
    return ACL_ERROR_NONE;
}

aclError aclmdlRIExecuteAsync(aclmdlRI handle, aclrtStream stream) {
    const std::shared_ptr<Capture> graph = graph_of(handle);
    if (graph == nullptr) return no_graph("aclmdlRIExecuteAsync");
    return put(stream, {"graph", [graph] { return graph->run(); }});
}

aclError aclmdlRIDestroy(aclmdlRI handle) {
    const std::lock_guard<std::mutex> lock(graphs_mutex);
    return graphs.erase(handle) == 1 ? ACL_ERROR_NONE : no_graph("aclmdlRIDestroy");
}
