// SPDX-License-Identifier: Apache-2.0
// define.h - the registration of an operator, from its signature.
#pragma once
#include "common/signature.h"
#include "register/op_def_registry.h"

namespace sals::host {

struct Functions {
    gert::OpImplRegisterV2::TilingKernelFunc tiling;
    gert::OpImplRegisterV2::InferShapeKernelFunc infer_shape;
    gert::OpImplRegisterV2::InferDataTypeKernelFunc infer_type;
};

void define(ops::OpDef& op, const Signature& signature, const Functions& functions);

}  // namespace sals::host
