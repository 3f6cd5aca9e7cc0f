// SPDX-License-Identifier: Apache-2.0
// op_def.h - stands in for CANN's registration of operators: keeps the functions of each type. Ports and
// attributes are taken and dropped: callers have them from the signature, of which the registration is made.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/ge_error_codes.h"

namespace ge {
enum DataType { DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_BF16 = 27, DT_UNDEFINED = 28 };
enum Format { FORMAT_ND = 2 };
}  // namespace ge

namespace gert {

class TilingContext;
class InferShapeContext;
class InferDataTypeContext;

struct OpImplRegisterV2 {
    using TilingKernelFunc = ge::graphStatus (*)(TilingContext*);
    using InferShapeKernelFunc = ge::graphStatus (*)(InferShapeContext*);
    using InferDataTypeKernelFunc = ge::graphStatus (*)(InferDataTypeContext*);
};

}  // namespace gert

namespace ops {

enum Option { OPTIONAL = 1, REQUIRED = 2 };

class OpParamDef {
public:
    OpParamDef& ParamType(Option) { return *this; }
    OpParamDef& DataType(std::vector<ge::DataType>) { return *this; }
    OpParamDef& Format(std::vector<ge::Format>) { return *this; }
    OpParamDef& AutoContiguous() { return *this; }
    OpParamDef& IgnoreContiguous() { return *this; }
};

class OpAttrDef {
public:
    OpAttrDef& AttrType(Option) { return *this; }
    OpAttrDef& Int() { return *this; }
    OpAttrDef& Int(int64_t) { return *this; }
    OpAttrDef& Float() { return *this; }
    OpAttrDef& Float(float) { return *this; }
    OpAttrDef& Bool() { return *this; }
    OpAttrDef& Bool(bool) { return *this; }
    OpAttrDef& String() { return *this; }
    OpAttrDef& String(const char*) { return *this; }
};

class OpAICoreConfig {
public:
    OpAICoreConfig& DynamicCompileStaticFlag(bool) { return *this; }
    OpAICoreConfig& DynamicFormatFlag(bool) { return *this; }
    OpAICoreConfig& DynamicRankSupportFlag(bool) { return *this; }
    OpAICoreConfig& DynamicShapeSupportFlag(bool) { return *this; }
    OpAICoreConfig& NeedCheckSupportFlag(bool) { return *this; }
    OpAICoreConfig& PrecisionReduceFlag(bool) { return *this; }
};

class OpAICoreDef {
public:
    gert::OpImplRegisterV2::TilingKernelFunc tiling = nullptr;
    OpAICoreDef& SetTiling(gert::OpImplRegisterV2::TilingKernelFunc function) {
        tiling = function;
        return *this;
    }
    OpAICoreDef& AddConfig(const char*, OpAICoreConfig&) { return *this; }
};

class OpDef {
public:
    explicit OpDef(const char* type) : type(type) {}
    OpParamDef& Input(const char*) { return port_; }
    OpParamDef& Output(const char*) { return port_; }
    OpAttrDef& Attr(const char*) { return attribute_; }
    OpDef& SetInferShape(gert::OpImplRegisterV2::InferShapeKernelFunc function) {
        infer_shape = function;
        return *this;
    }
    OpDef& SetInferDataType(gert::OpImplRegisterV2::InferDataTypeKernelFunc function) {
        infer_type = function;
        return *this;
    }
    OpAICoreDef& AICore() { return core; }

    std::string type;
    gert::OpImplRegisterV2::InferShapeKernelFunc infer_shape = nullptr;
    gert::OpImplRegisterV2::InferDataTypeKernelFunc infer_type = nullptr;
    OpAICoreDef core;

private:
    OpParamDef port_;
    OpAttrDef attribute_;
};

inline std::map<std::string, OpDef>& registered() {
    static std::map<std::string, OpDef> all;
    return all;
}

}  // namespace ops

#define OP_ADD(type) \
    [[maybe_unused]] static const bool g_##type##_added = ops::registered().emplace(#type, type(#type)).second
