// SPDX-License-Identifier: Apache-2.0
#include "operators/tiling.h"

#include <dlfcn.h>

#include "acl/faults.h"
#include "acl/runtime.h"
#include "common/tiling_call.h"
#include "operators/kernel.h"
#include "operators/names.h"
#include "utils/log/asc_cpu_log.h"

namespace sals::npu {
namespace {

constexpr size_t TILING_CAPACITY = 1024;  // more than any of our structs; CANN gives what a binary has
constexpr uint8_t POISON = 0xCD;

gert::Shape shape_of(const aclTensor& tensor) { return {tensor.shape}; }
ge::DataType type_of(const aclTensor& tensor) { return static_cast<ge::DataType>(tensor.dtype); }

gert::RuntimeAttrs attributes_of(const Call& call) {
    gert::RuntimeAttrs all;
    for (const Attribute& attribute : call.attributes) all.values.push_back(attribute.address());
    return all;
}

// The simulated chip's libraries need no workspace of their own.
gert::TilingContext tiling_context(const Call& call) {
    gert::TilingContext context;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
        if (call.inputs[i] == nullptr) continue;
        context.shapes[i] = {shape_of(*call.inputs[i])};
        context.descs[i] = {type_of(*call.inputs[i])};
    }
    context.attributes = attributes_of(call);
    const auto cores = static_cast<uint32_t>(core_count());
    context.platform = {cores, cores * VECTORS_PER_CUBE, 0};
    context.tiling.bytes.assign(is_other_tiling() ? 0 : TILING_CAPACITY, POISON);
    return context;
}

std::string name_of(gert::OpImplRegisterV2::TilingKernelFunc function) {
    Dl_info info{};
    const bool found = dladdr(reinterpret_cast<const void*>(function), &info) != 0;
    return found && info.dli_sname != nullptr ? readable_name(info.dli_sname) : "";
}

aclError refuse(const std::string& text) { return fail(ACL_ERROR_INVALID_PARAM, text); }

}  // namespace

aclError tile(const std::string& type, const Call& call, Tiled& tiled) {
    const auto tiling = ops::registered().at(type).core.tiling;
    tiled = {tiling_context(call), name_of(tiling)};
    const bool done = tiling(&tiled.context) == ge::GRAPH_SUCCESS;
    tiled.context.attributes = {};  // they point into the call
    return done ? ACL_ERROR_NONE : refuse(last_host_error);
}

aclError check_results(const std::string& type, const Call& call) {
    const ops::OpDef& op = ops::registered().at(type);
    gert::InferShapeContext shapes;
    gert::InferDataTypeContext types;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
        types.inputs.push_back(call.inputs[i] == nullptr ? ge::DT_UNDEFINED : type_of(*call.inputs[i]));
        if (call.inputs[i] != nullptr) shapes.inputs[i] = shape_of(*call.inputs[i]);
    }
    shapes.attributes = attributes_of(call);
    if (op.infer_shape(&shapes) != ge::GRAPH_SUCCESS) return refuse(last_host_error);
    if (op.infer_type(&types) != ge::GRAPH_SUCCESS) return refuse(last_host_error);
    Checker check(call.signature.op);
    size_t next = 0;
    for (size_t i = 0; i < call.signature.outputs.count; ++i) {
        const char* name = call.signature.outputs.first[i].name;
        if (host::index_of(call.signature.inputs, name) != host::NOT_FOUND) continue;
        const TensorSpec result = spec_of(name, call.outputs.at(next++));
        check.present(result);
        check.dtype(result, {host::dtype_of(types.outputs.at(i))});
        check.shape(result, "of the result", shapes.outputs.at(i).sizes);
        check.contiguous(result);
    }
    return check.ok() ? ACL_ERROR_NONE : refuse(check.status().text);
}

}  // namespace sals::npu
