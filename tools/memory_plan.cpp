// SPDX-License-Identifier: Apache-2.0
// memory_plan.cpp - the memory plan of the indexer's kernel as a Markdown table, from the structs that the
// kernel itself uses. tools/memory_plan.py prints it.
#include <cstdio>
#include <string>

#include "qsi/memory_plan.h"

namespace {

using namespace sals;
using namespace sals::qsi;

std::string row(const char* memory, const char* what, size_t bytes, size_t capacity) {
    char line[128];
    std::snprintf(line, sizeof(line), "| %s | %s | %zu | %.0f %% |\n", memory, what, bytes,
                  100.0 * static_cast<double>(bytes) / static_cast<double>(capacity));
    return line;
}

}  // namespace

extern "C" const char* memory_plan_table() {
    static const std::string table =
        std::string("| memory | holds | bytes | of it |\n|---|---|---|---|\n") +
        row("L1", "key steps and queries", sizeof(L1Plan), AtlasA2::L1_BYTES) +
        row("L0A", "queries", sizeof(L0aPlan), AtlasA2::L0A_BYTES) +
        row("L0B", "keys", sizeof(L0bPlan), AtlasA2::L0B_BYTES) +
        row("L0C", "dots", sizeof(L0cPlan), AtlasA2::L0C_BYTES) +
        row("UB", "reduction of shares to block scores", sizeof(ReducePlan), AtlasA2::UB_BYTES) +
        row("UB", "chunks of scores, ramp, ids", offsetof(SelectPlan, threshold), AtlasA2::UB_BYTES) +
        row("UB", "threshold selection, or", sizeof(ThresholdPlan), AtlasA2::UB_BYTES) +
        row("UB", "merge-sort ladder", sizeof(LadderPlan), AtlasA2::UB_BYTES) +
        row("UB", "in all", sizeof(UbPlan), AtlasA2::UB_BYTES);
    return table.c_str();
}
