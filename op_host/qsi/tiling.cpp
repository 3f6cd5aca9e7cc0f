// SPDX-License-Identifier: Apache-2.0
#include "common/launch.h"
#include "common/tiling_call.h"
#include "qsi/qsi.h"
#include "qsi/signature.h"
#include "sals/qsi_launch.h"
#include "sals/read_calls.h"
#include "sals/workspace.h"

namespace sals::host {

ge::graphStatus qsi_tiling(gert::TilingContext* context) {
    QsiProblem problem;
    Status status = validate(QSI.op, read_qsi(TilingCall(QSI, *context)), problem);
    if (status.ok()) status = check_on_device(QSI.op, problem);
    if (!status.ok()) return refuse(status);
    const int64_t cores = cores_of(*context).cube;
    const QsiTiling tiling = make_qsi_tiling(problem, cores);
    return finish(*context, tiling, {cores, qsi_workspace_bytes(tiling), tiling.uses_sync_all != 0});
}

}  // namespace sals::host
