// SPDX-License-Identifier: Apache-2.0
// op_def_registry.h - stands in for CANN's registration and tiling headers, with their names and signatures
// as far as our tiling functions use them. Callers fill contexts in and read what a function left there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/ge_error_codes.h"
#include "register/op_def.h"

namespace fe {
struct PlatFormInfos {
    uint32_t cube_cores, vector_cores, library_workspace;
};
}  // namespace fe

namespace gert {

class Shape {
public:
    std::vector<int64_t> sizes;
    size_t GetDimNum() const { return sizes.size(); }
    int64_t GetDim(size_t i) const { return sizes[i]; }
    void SetDimNum(size_t count) { sizes.resize(count); }
    void SetDim(size_t i, int64_t size) { sizes[i] = size; }
};

class StorageShape {
public:
    Shape shape;
    const Shape& GetOriginShape() const { return shape; }
};

class CompileTimeTensorDesc {
public:
    ge::DataType type = ge::DT_UNDEFINED;
    ge::DataType GetDataType() const { return type; }
};

class RuntimeAttrs {
public:
    std::vector<const void*> values;
    template <class T>
    const T* GetAttrPointer(size_t i) const {
        return static_cast<const T*>(values.at(i));
    }
    const char* GetStr(size_t i) const { return GetAttrPointer<char>(i); }
};

class TilingData {
public:
    std::vector<uint8_t> bytes;
    size_t size = 0;
    size_t GetCapacity() const { return bytes.size(); }
    void* GetData() { return bytes.data(); }
    void SetDataSize(size_t count) { size = count; }
};

class TilingContext {
public:
    std::map<size_t, StorageShape> shapes;
    std::map<size_t, CompileTimeTensorDesc> descs;
    RuntimeAttrs attributes;
    fe::PlatFormInfos platform{};
    TilingData tiling;
    size_t workspace = 0;
    uint32_t block_dim = 0, schedule_mode = 0;
    uint64_t tiling_key = 1;

    const StorageShape* GetOptionalInputShape(size_t i) const { return find(shapes, i); }
    const CompileTimeTensorDesc* GetOptionalInputDesc(size_t i) const { return find(descs, i); }
    const RuntimeAttrs* GetAttrs() const { return &attributes; }
    fe::PlatFormInfos* GetPlatformInfo() const { return const_cast<fe::PlatFormInfos*>(&platform); }
    TilingData* GetRawTilingData() { return &tiling; }
    size_t* GetWorkspaceSizes(size_t count) { return count == 1 ? &workspace : nullptr; }
    ge::graphStatus SetBlockDim(uint32_t count) { return set(block_dim, count); }
    ge::graphStatus SetScheduleMode(uint32_t mode) { return set(schedule_mode, mode); }
    ge::graphStatus SetTilingKey(uint64_t key) { return set(tiling_key, key); }

private:
    template <class T>
    static const T* find(const std::map<size_t, T>& all, size_t i) {
        const auto found = all.find(i);
        return found == all.end() ? nullptr : &found->second;
    }
    template <class T>
    static ge::graphStatus set(T& place, T value) {
        place = value;
        return ge::GRAPH_SUCCESS;
    }
};

class InferShapeContext {
public:
    std::map<size_t, Shape> inputs;
    std::map<size_t, Shape> outputs;
    RuntimeAttrs attributes;

    const Shape* GetOptionalInputShape(size_t i) const {
        const auto found = inputs.find(i);
        return found == inputs.end() ? nullptr : &found->second;
    }
    Shape* GetOutputShape(size_t i) { return &outputs[i]; }
    const RuntimeAttrs* GetAttrs() const { return &attributes; }
};

class InferDataTypeContext {
public:
    std::vector<ge::DataType> inputs, outputs;
    ge::DataType GetInputDataType(size_t i) const { return inputs.at(i); }
    ge::graphStatus SetOutputDataType(size_t i, ge::DataType type) {
        outputs.resize(outputs.size() > i ? outputs.size() : i + 1, ge::DT_UNDEFINED);
        outputs[i] = type;
        return ge::GRAPH_SUCCESS;
    }
};

}  // namespace gert
