// SPDX-License-Identifier: Apache-2.0
#include "common/launch.h"
#include "common/tiling_call.h"
#include "project_query/project_query.h"
#include "project_query/signature.h"
#include "sals/project_query_launch.h"
#include "sals/read_calls.h"

namespace sals::host {

ge::graphStatus project_query_tiling(gert::TilingContext* context) {
    const ProjectQueryArgs args = read_project_query(TilingCall(PROJECT_QUERY, *context));
    ProjectQueryProblem problem;
    Status status = validate(PROJECT_QUERY.op, args, problem);
    if (status.ok()) status = check_on_device(PROJECT_QUERY.op, problem);
    if (!status.ok()) return refuse(status);
    const ProjectQueryTiling tiling = make_project_query_tiling(problem, args.query.dtype, args.scale);
    return finish(*context, tiling, {cores_of(*context).vector, 0, false});
}

}  // namespace sals::host
