// SPDX-License-Identifier: Apache-2.0
// def.cpp - registers SalsProjectQuery: aclnnSalsProjectQuery, kernel sals_project_query.
#include "common/define.h"
#include "project_query/project_query.h"
#include "project_query/signature.h"

namespace ops {

class SalsProjectQuery : public OpDef {
public:
    explicit SalsProjectQuery(const char* name) : OpDef(name) {
        using namespace sals::host;
        define(*this, PROJECT_QUERY, {project_query_tiling, project_query_shapes, project_query_types});
    }
};
OP_ADD(SalsProjectQuery);

}  // namespace ops
