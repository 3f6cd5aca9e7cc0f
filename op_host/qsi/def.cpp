// SPDX-License-Identifier: Apache-2.0
// def.cpp - registers SalsQsi: aclnnSalsQsi, kernel sals_qsi.
#include "common/define.h"
#include "qsi/qsi.h"
#include "qsi/signature.h"

namespace ops {

class SalsQsi : public OpDef {
public:
    explicit SalsQsi(const char* name) : OpDef(name) {
        using namespace sals::host;
        define(*this, QSI, {qsi_tiling, qsi_shapes, qsi_types});
    }
};
OP_ADD(SalsQsi);

}  // namespace ops
