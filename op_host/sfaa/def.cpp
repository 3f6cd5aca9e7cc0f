// SPDX-License-Identifier: Apache-2.0
// def.cpp - registers SalsSfaa: aclnnSalsSfaa, kernel sals_sfaa.
#include "common/define.h"
#include "sfaa/sfaa.h"
#include "sfaa/signature.h"

namespace ops {

class SalsSfaa : public OpDef {
public:
    explicit SalsSfaa(const char* name) : OpDef(name) {
        using namespace sals::host;
        define(*this, SFAA, {sfaa_tiling, sfaa_shapes, sfaa_types});
    }
};
OP_ADD(SalsSfaa);

}  // namespace ops
