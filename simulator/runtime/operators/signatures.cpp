// SPDX-License-Identifier: Apache-2.0
// signatures.cpp - the aclnn functions here take what the registrations in op_host say, in that order.
#include <array>
#include <type_traits>

#include "operators/aclnn_sals.h"
#include "project_query/signature.h"
#include "qsi/signature.h"
#include "qsi_plan/signature.h"
#include "sfaa/signature.h"
#include "sfaa_plan/signature.h"
#include "write_cache/signature.h"

namespace sals::npu {
namespace {

using host::Kind;
using host::Signature;

enum class Parameter { TENSOR, INTEGER, REAL, FLAG, TEXT, RESULT_OF_PHASE };

template <class T>
constexpr Parameter parameter_of() {
    using Plain = std::remove_const_t<std::remove_pointer_t<T>>;
    if (std::is_same_v<Plain, aclTensor>) return Parameter::TENSOR;
    if (std::is_same_v<T, int64_t>) return Parameter::INTEGER;
    if (std::is_same_v<T, double>) return Parameter::REAL;
    if (std::is_same_v<T, bool>) return Parameter::FLAG;
    if (std::is_same_v<T, char*>) return Parameter::TEXT;
    return Parameter::RESULT_OF_PHASE;
}

constexpr Parameter parameter_of(Kind kind) {
    switch (kind) {
        case Kind::INTEGER:
            return Parameter::INTEGER;
        case Kind::REAL:
            return Parameter::REAL;
        case Kind::FLAG:
            return Parameter::FLAG;
        default:
            return Parameter::TEXT;
    }
}

template <class... Taken>
constexpr bool takes(int (*)(Taken...), const Signature& signature) {
    constexpr std::array<Parameter, sizeof...(Taken)> TAKEN = {parameter_of<Taken>()...};
    size_t next = 0;
    const auto is_next = [&](Parameter expected) { return next < TAKEN.size() && TAKEN[next++] == expected; };
    bool same = true;
    for (size_t i = 0; i < signature.inputs.count; ++i) same = same && is_next(Parameter::TENSOR);
    for (const host::Attribute& attribute : signature.attributes) {
        same = same && is_next(parameter_of(attribute.kind));
    }
    for (const host::Port& port : signature.outputs) {
        const bool in_place = host::index_of(signature.inputs, port.name) != host::NOT_FOUND;
        same = same && (in_place || is_next(Parameter::TENSOR));
    }
    return same && is_next(Parameter::RESULT_OF_PHASE) && is_next(Parameter::RESULT_OF_PHASE) &&
           next == TAKEN.size();
}

static_assert(takes(&aclnnSalsQsiGetWorkspaceSize, host::QSI));
static_assert(takes(&aclnnSalsSfaaGetWorkspaceSize, host::SFAA));
static_assert(takes(&aclnnSalsQsiPlanGetWorkspaceSize, host::QSI_PLAN));
static_assert(takes(&aclnnSalsSfaaPlanGetWorkspaceSize, host::SFAA_PLAN));
static_assert(takes(&aclnnSalsProjectQueryGetWorkspaceSize, host::PROJECT_QUERY));
static_assert(takes(&aclnnSalsWriteCacheGetWorkspaceSize, host::WRITE_CACHE));

}  // namespace
}  // namespace sals::npu
