// SPDX-License-Identifier: Apache-2.0
#include "common/launch.h"
#include "common/tiling_call.h"
#include "sals/read_calls.h"
#include "sals/sfaa_launch.h"
#include "sals/workspace.h"
#include "sfaa/sfaa.h"
#include "sfaa/signature.h"

namespace sals::host {

ge::graphStatus sfaa_tiling(gert::TilingContext* context) {
    const TilingCall call(SFAA, *context);
    const SfaaArgs args = read_sfaa(call);
    SfaaProblem problem;
    Status status = validate(SFAA.op, args, problem);
    if (status.ok()) status = check_on_device(SFAA.op, problem, args.query.dtype);
    if (!status.ok()) return refuse(status);
    SfaaLaunch launch;
    launch.dtype = args.query.dtype;
    launch.scale = args.scale;
    launch.causal = call.flag("causal");
    launch.return_lse = call.flag("return_lse");
    launch.num_cores = cores_of(*context).cube;
    const SfaaTiling tiling = make_sfaa_tiling(problem, launch);
    return finish(*context, tiling,
                  {launch.num_cores, sfaa_workspace_bytes(tiling), tiling.uses_sync_all != 0});
}

}  // namespace sals::host
