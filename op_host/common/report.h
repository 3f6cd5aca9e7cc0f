// SPDX-License-Identifier: Apache-2.0
// report.h - a refused call: one sentence in the log of the host, and the status that ends the call.
#pragma once
#include "register/op_def_registry.h"
#include "sals/status.h"

namespace sals::host {

ge::graphStatus refuse(const Status& status);

}  // namespace sals::host
