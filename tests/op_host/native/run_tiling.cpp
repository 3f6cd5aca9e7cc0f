// SPDX-License-Identifier: Apache-2.0
// run_tiling.cpp - calls the tiling and inference functions of an operator on a call that the test put
// together.
#include <cstring>
#include <memory>

#include "common/signature.h"
#include "project_query/project_query.h"
#include "project_query/signature.h"
#include "qsi/qsi.h"
#include "qsi/signature.h"
#include "sfaa/sfaa.h"
#include "sfaa/signature.h"
#include "write_cache/signature.h"
#include "write_cache/write_cache.h"

using namespace sals::host;

namespace {

struct Operator {
    const Signature& signature;
    ge::graphStatus (*tiling)(gert::TilingContext*);
    ge::graphStatus (*shapes)(gert::InferShapeContext*);
    ge::graphStatus (*types)(gert::InferDataTypeContext*);
};

const Operator OPERATORS[] = {
    {QSI, qsi_tiling, qsi_shapes, qsi_types},
    {SFAA, sfaa_tiling, sfaa_shapes, sfaa_types},
    {PROJECT_QUERY, project_query_tiling, project_query_shapes, project_query_types},
    {WRITE_CACHE, write_cache_tiling, write_cache_shapes, write_cache_types},
};

struct Value {
    int64_t integer = 0;
    float real = 0.0F;
    bool flag = false;
    std::string text;
};

// A call under construction. Attributes are kept by their place in the registration.
struct Call {
    const Operator& op;
    gert::TilingContext tiling;
    gert::InferShapeContext shapes;
    std::vector<std::unique_ptr<Value>> values;

    explicit Call(const Operator& called) : op(called) {
        for (size_t i = 0; i < op.signature.attributes.count; ++i)
            values.push_back(std::make_unique<Value>());
        tiling.attributes.values.resize(values.size());
    }

    template <class T>
    void set(const char* name, T Value::* field, T value) {
        const size_t i = index_of(op.signature.attributes, name);
        values[i].get()->*field = value;
        tiling.attributes.values[i] = &(values[i].get()->*field);
    }
};

}  // namespace

extern "C" {

Call* call_new(const char* name) {
    for (const Operator& op : OPERATORS) {
        if (std::strcmp(op.signature.op, name) == 0) return new Call(op);
    }
    return nullptr;
}
void call_free(Call* call) { delete call; }

void call_tensor(Call* call, const char* name, int32_t type, const int64_t* sizes, int64_t axes) {
    const size_t i = index_of(call->op.signature.inputs, name);
    const gert::Shape shape{{sizes, sizes + axes}};
    call->tiling.shapes[i] = {shape};
    call->tiling.descs[i] = {static_cast<ge::DataType>(type)};
    call->shapes.inputs[i] = shape;
}
void call_int(Call* call, const char* name, int64_t value) { call->set(name, &Value::integer, value); }
void call_float(Call* call, const char* name, float value) { call->set(name, &Value::real, value); }
void call_bool(Call* call, const char* name, bool value) { call->set(name, &Value::flag, value); }
void call_text(Call* call, const char* name, const char* value) {
    const size_t i = index_of(call->op.signature.attributes, name);
    call->values[i]->text = value;
    call->tiling.attributes.values[i] = call->values[i]->text.c_str();
}

// Results: block_dim, schedule_mode, tiling_key, workspace, bytes of tiling.
uint32_t call_tiling(Call* call, uint32_t cube, uint32_t vector, uint32_t library, uint8_t* tiling,
                     int64_t capacity, int64_t* results) {
    gert::TilingContext& c = call->tiling;
    c.platform = {cube, vector, library};
    c.tiling.bytes.assign(static_cast<size_t>(capacity), 0xCD);
    const uint32_t status = call->op.tiling(&c);
    std::memcpy(tiling, c.tiling.bytes.data(), static_cast<size_t>(capacity));
    const int64_t all[] = {c.block_dim, c.schedule_mode, static_cast<int64_t>(c.tiling_key),
                           static_cast<int64_t>(c.workspace), static_cast<int64_t>(c.tiling.size)};
    std::memcpy(results, all, sizeof(all));
    return status;
}

// Writes the axes of output `i` and returns their number, or -1.
int64_t call_output(Call* call, int64_t i, int64_t* sizes, int32_t* type) {
    call->shapes.attributes = call->tiling.attributes;
    if (call->op.shapes(&call->shapes) != ge::GRAPH_SUCCESS) return -1;
    gert::InferDataTypeContext types;
    types.inputs = {call->tiling.descs.at(0).type};
    if (call->op.types(&types) != ge::GRAPH_SUCCESS) return -1;
    *type = types.outputs.at(static_cast<size_t>(i));
    const std::vector<int64_t>& found = call->shapes.outputs[static_cast<size_t>(i)].sizes;
    std::memcpy(sizes, found.data(), found.size() * sizeof(int64_t));
    return static_cast<int64_t>(found.size());
}

}  // extern "C"
