// SPDX-License-Identifier: Apache-2.0
#include "common/launch.h"
#include "common/tiling_call.h"
#include "sals/read_calls.h"
#include "sals/write_cache_launch.h"
#include "write_cache/signature.h"
#include "write_cache/write_cache.h"

namespace sals::host {

ge::graphStatus write_cache_tiling(gert::TilingContext* context) {
    const WriteCacheArgs args = read_write_cache(TilingCall(WRITE_CACHE, *context));
    WriteCacheProblem problem;
    Status status = validate(WRITE_CACHE.op, args, problem);
    if (status.ok()) status = check_on_device(WRITE_CACHE.op, problem);
    if (!status.ok()) return refuse(status);
    return finish(*context, make_write_cache_tiling(problem, args.key.dtype),
                  {cores_of(*context).vector, 0, false});
}

}  // namespace sals::host
