// SPDX-License-Identifier: Apache-2.0
#include "common/define.h"

#include "common/tiling_call.h"

namespace sals::host {
namespace {

constexpr std::array<const char*, 2> COMPUTE_UNITS = {"ascend910b", "ascend910_93"};

void define_port(ops::OpParamDef& param, const Port& port, size_t variants) {
    std::vector<ge::DataType> types;
    for (size_t i = 0; i < variants; ++i) types.push_back(ge_type_of(port.types.of(i)));
    param.ParamType(port.is_required ? ops::REQUIRED : ops::OPTIONAL)
        .DataType(types)
        .Format(std::vector<ge::Format>(variants, ge::FORMAT_ND));
}

void define_attribute(ops::OpAttrDef& param, const Attribute& attribute) {
    param.AttrType(attribute.is_required ? ops::REQUIRED : ops::OPTIONAL);
    switch (attribute.kind) {
        case Kind::INTEGER:
            attribute.is_required ? param.Int() : param.Int(static_cast<int64_t>(attribute.number));
            return;
        case Kind::REAL:
            attribute.is_required ? param.Float() : param.Float(static_cast<float>(attribute.number));
            return;
        case Kind::FLAG:
            attribute.is_required ? param.Bool() : param.Bool(attribute.number != 0.0);
            return;
        case Kind::TEXT:
            attribute.is_required ? param.String() : param.String(attribute.text);
            return;
    }
}

}  // namespace

void define(ops::OpDef& op, const Signature& signature, const Functions& functions) {
    for (const Port& port : signature.inputs) {
        ops::OpParamDef& param = op.Input(port.name);
        define_port(param, port, signature.variants);
        port.memory == Memory::AS_IT_IS ? param.IgnoreContiguous() : param.AutoContiguous();
    }
    for (const Attribute& attribute : signature.attributes)
        define_attribute(op.Attr(attribute.name), attribute);
    for (const Port& port : signature.outputs) define_port(op.Output(port.name), port, signature.variants);
    op.SetInferShape(functions.infer_shape).SetInferDataType(functions.infer_type);
    op.AICore().SetTiling(functions.tiling);
    // The kernels read their tiling on the device, so a binary serves all shapes, static ones too.
    ops::OpAICoreConfig config;
    config.DynamicCompileStaticFlag(true).DynamicFormatFlag(true).DynamicRankSupportFlag(true);
    config.DynamicShapeSupportFlag(true).NeedCheckSupportFlag(false).PrecisionReduceFlag(false);
    for (const char* unit : COMPUTE_UNITS) op.AICore().AddConfig(unit, config);
}

}  // namespace sals::host
