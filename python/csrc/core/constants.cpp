// SPDX-License-Identifier: Apache-2.0
// constants.cpp - every constant and enum of the contract as one Python dict, under its C++ name.
#include <initializer_list>

#include "core/export.h"
#include "sals/cache_policy.h"
#include "sals/int4_pack.h"
#include "sals/limits.h"
#include "sals/names.h"
#include "sals/plan.h"
#include "sals/plan_walk.h"
#include "sals/qsi_policy.h"
#include "sals/selection.h"
#include "sals/workspace.h"

namespace py = pybind11;

namespace sals::core {
namespace {

template <class Enum, size_t N>
py::dict numbers_by_name(const std::array<Named<Enum>, N>& table) {
    py::dict numbers;
    for (const Named<Enum>& entry : table) numbers[entry.name] = static_cast<int32_t>(entry.value);
    return numbers;
}

// The values in [0, limit] that the contract supports.
template <class IsSupported>
py::tuple supported_values(IsSupported is_supported, int64_t limit) {
    py::list values;
    for (int64_t value = 0; value <= limit; ++value) {
        if (is_supported(value)) values.append(value);
    }
    return py::tuple(values);
}

// Field of Plan -> (first word, number of words).
py::dict plan_fields() {
    py::dict fields;
    const auto add = [&fields](const char* name, size_t offset, size_t bytes) {
        fields[name] = py::make_tuple(offset / sizeof(int32_t), bytes / sizeof(int32_t));
    };
#define SALS_PLAN_FIELD(name) add(#name, offsetof(Plan, name), sizeof(Plan::name))
    SALS_PLAN_FIELD(magic);
    SALS_PLAN_FIELD(version);
    SALS_PLAN_FIELD(op);
    SALS_PLAN_FIELD(num_cores);
    SALS_PLAN_FIELD(num_rows);
    SALS_PLAN_FIELD(tile_tokens);
    SALS_PLAN_FIELD(used_cores);
    SALS_PLAN_FIELD(num_merges);
    SALS_PLAN_FIELD(merge_slices);
    SALS_PLAN_FIELD(row_begin);
    SALS_PLAN_FIELD(tile_begin);
    SALS_PLAN_FIELD(merge_row);
    SALS_PLAN_FIELD(merge_first_slot);
    SALS_PLAN_FIELD(merge_num_parts);
    SALS_PLAN_FIELD(merge_unit_begin);
#undef SALS_PLAN_FIELD
    return fields;
}

}  // namespace

void export_constants(py::module_& module) {
    py::dict constants;
#define SALS_CONSTANT(name) constants[#name] = py::int_(name)
    SALS_CONSTANT(INVALID_BLOCK);
    SALS_CONSTANT(INVALID_SLOT);
    SALS_CONSTANT(MAX_SEQ_LEN);
    SALS_CONSTANT(MAX_KEEP_DEN);
    SALS_CONSTANT(MAX_BLOCK_SIZE);
    SALS_CONSTANT(MAX_SELECTED_BLOCKS);
    SALS_CONSTANT(MAX_CORES);
    SALS_CONSTANT(MAX_LIST_ROWS);
    SALS_CONSTANT(MAX_QUERY_ROWS);
    SALS_CONSTANT(DEFAULT_BLOCK_SIZE);
    SALS_CONSTANT(DEFAULT_MAX_BLOCKS);
    SALS_CONSTANT(DEFAULT_SINK_BLOCKS);
    SALS_CONSTANT(DEFAULT_TAIL_BLOCKS);
    SALS_CONSTANT(QSI_TILE_TOKENS);
    SALS_CONSTANT(QSI_SHARE_TOKENS);
    SALS_CONSTANT(QSI_HANDOFF_TOKENS);
    SALS_CONSTANT(QSI_RING_SLOTS);
    SALS_CONSTANT(QSI_RING_SLOT_BYTES);
    SALS_CONSTANT(QSI_ROW_SLOTS);
    SALS_CONSTANT(QSI_SORTED_BLOCKS);
    SALS_CONSTANT(QSI_STEP_BYTES);
    SALS_CONSTANT(QSI_RANK_STEP);
    SALS_CONSTANT(QSI_TILING_WORDS);
    SALS_CONSTANT(SFAA_TERMS);
    SALS_CONSTANT(SFAA_FIRST_TERM);
    SALS_CONSTANT(SFAA_SECOND_TERM);
    SALS_CONSTANT(SFAA_KV_SLOTS);
    SALS_CONSTANT(SFAA_TASK_BYTES);
    SALS_CONSTANT(SFAA_MAX_TASK_TOKENS);
    SALS_CONSTANT(SFAA_MAX_PASS_ROWS);
    SALS_CONSTANT(SFAA_PASS_BYTES);
    SALS_CONSTANT(SFAA_QUERY_SLOTS);
    SALS_CONSTANT(SFAA_RING_SLOTS);
    SALS_CONSTANT(SFAA_COLUMN_GROUP);
    SALS_CONSTANT(SFAA_TILING_WORDS);
    SALS_CONSTANT(STRIP_TOKENS);
    SALS_CONSTANT(SLOT_CHUNK);
    SALS_CONSTANT(SFAA_STEP_TOKENS);
    SALS_CONSTANT(SFAA_TILE_TOKENS);
    SALS_CONSTANT(MERGE_SLICE_ROWS);
    SALS_CONSTANT(RANK_MULTIPLE);
    SALS_CONSTANT(MAX_HEAD_DIM);
    SALS_CONSTANT(MAX_RANK);
    SALS_CONSTANT(PLANE_BYTES);
    SALS_CONSTANT(INT4_PER_WORD);
    SALS_CONSTANT(INT4_MIN);
    SALS_CONSTANT(INT4_MAX);
    SALS_CONSTANT(COVERAGE_ONE);
    SALS_CONSTANT(COVERAGE_MASS_ONE);
    SALS_CONSTANT(PLAN_MAGIC);
    SALS_CONSTANT(PLAN_VERSION);
    SALS_CONSTANT(PLAN_WORDS);
    SALS_CONSTANT(ROW_END);
    SALS_CONSTANT(NO_SLOT);
#undef SALS_CONSTANT
    constants["PLAN_OP_QSI"] = static_cast<int32_t>(PlanOp::QSI);
    constants["PLAN_OP_SFAA"] = static_cast<int32_t>(PlanOp::SFAA);
    constants["KV_LAYOUTS"] = numbers_by_name(KV_LAYOUTS);
    constants["QUERY_LAYOUTS"] = numbers_by_name(QUERY_LAYOUTS);
    constants["SELECTION_ORDERS"] = numbers_by_name(SELECTION_ORDERS);
    constants["BLOCK_SIZES"] = supported_values(is_supported_block_size, MAX_BLOCK_SIZE);
    constants["HEAD_DIMS"] = supported_values(is_supported_head_dim, MAX_HEAD_DIM);
    constants["DEVICE_RANKS"] = supported_values(is_device_rank, MAX_RANK);
    constants["PLAN_FIELDS"] = plan_fields();
    module.attr("constants") = constants;
}

}  // namespace sals::core
