// SPDX-License-Identifier: Apache-2.0
// even_share.h - equal runs of rows for cores that need no plan.
#pragma once
#include "common/device.h"
#include "sals/selection.h"

namespace sals {

struct RowRange {
    int32_t begin;
    int32_t end;
};

// The share of core `core` when `rows` are divided evenly.
SALS_DEVICE RowRange even_share(int32_t rows, int32_t core, int32_t num_cores) {
    const int32_t each = rows / num_cores;
    const int32_t spare = rows % num_cores;
    const int32_t begin = core * each + static_cast<int32_t>(smaller(core, spare));
    return {begin, begin + each + (core < spare ? 1 : 0)};
}

}  // namespace sals
