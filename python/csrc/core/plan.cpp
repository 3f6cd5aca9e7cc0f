// SPDX-License-Identifier: Apache-2.0
// plan.cpp - the planner for Python: NumPy arrays of lengths in, the words of a plan out.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstring>
#include <optional>

#include "core/export.h"
#include "make_plan.h"
#include "planner/cost_model.h"
#include "planner/plan_rows.h"
#include "sals/plan_walk.h"

namespace py = pybind11;

namespace sals::core {
namespace {

using Int32Array = py::array_t<int32_t, py::array::c_style>;
using Int64Array = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;

void raise_unless_ok(const Status& status) {
    if (!status.ok()) throw py::value_error(status.text);
}

PlanOp op_numbered(int32_t op) {
    if (op != static_cast<int32_t>(PlanOp::QSI) && op != static_cast<int32_t>(PlanOp::SFAA)) {
        throw py::value_error("sals: op must be PLAN_OP_QSI or PLAN_OP_SFAA, got " + std::to_string(op));
    }
    return static_cast<PlanOp>(op);
}

Int32Array words_of(const Plan& plan) {
    Int32Array words(PLAN_WORDS);
    std::memcpy(words.mutable_data(), &plan, sizeof(plan));
    return words;
}

Plan plan_from(const Int32Array& words) {
    if (words.ndim() != 1 || words.size() != PLAN_WORDS) {
        throw py::value_error("sals: plan must have shape [plan_words] = [" + std::to_string(PLAN_WORDS) +
                              "], got " + std::to_string(words.size()) + " words");
    }
    Plan plan;
    std::memcpy(&plan, words.data(), sizeof(plan));
    return plan;
}

TensorSpec spec_of(const char* name, const std::optional<Int32Array>& array) {
    TensorSpec spec;
    spec.name = name;
    spec.present = array.has_value();
    if (!array) return spec;
    spec.dtype = DType::INT32;
    spec.dtype_text = "int32";
    spec.device = "cpu";
    spec.shape.assign(array->shape(), array->shape() + array->ndim());
    return spec;
}

const int32_t* data_or_null(const std::optional<Int32Array>& array) {
    return array ? array->data() : nullptr;
}

// The arguments of a plan call.
struct Lengths {
    Int32Array seq_lens;
    std::optional<Int32Array> query_lens;
    std::optional<Int32Array> query_start_loc;
    RequestTensors tensors() const {
        return {seq_lens.data(), data_or_null(query_lens), data_or_null(query_start_loc), nullptr};
    }
};

struct Call {
    PlanProblem problem;
    Lengths lengths;
};

Call checked_call(int32_t op, Lengths lengths, int64_t heads, int64_t group, int64_t s_q, bool shared_list,
                  const SelectionParams& params, int64_t num_cores) {
    constexpr const char* NAME = "sals::make_plan";
    PlanArgs args;
    args.request.seq_lens = spec_of("seq_lens", lengths.seq_lens);
    args.request.query_lens = spec_of("query_lens", lengths.query_lens);
    args.request.query_start_loc = spec_of("query_start_loc", lengths.query_start_loc);
    args.request.query_layout = lengths.query_start_loc ? "TND" : "BSND";
    args.heads = heads;
    args.group = group;
    args.s_q = s_q;
    args.shared_list = shared_list;
    args.num_cores = num_cores;
    args.selection.max_seq_len = MAX_SEQ_LEN;
    Call call{{}, std::move(lengths)};
    raise_unless_ok(validate(NAME, op_numbered(op), MAX_CORES, args, call.problem));
    call.problem.selection = params;
    raise_unless_ok(check_plan_values(NAME, call.problem, call.lengths.tensors()));
    return call;
}

Int32Array make_plan_words(int32_t op, Int32Array seq_lens, std::optional<Int32Array> query_lens,
                           std::optional<Int32Array> query_start_loc, int64_t heads, int64_t group,
                           int64_t s_q, bool shared_list, const SelectionParams& params, int64_t num_cores) {
    const Call call =
        checked_call(op, {std::move(seq_lens), std::move(query_lens), std::move(query_start_loc)}, heads,
                     group, s_q, shared_list, params, num_cores);
    return words_of(make_plan(call.problem, call.lengths.tensors()));
}

py::array_t<int64_t> plan_tokens(int32_t op, Int32Array seq_lens, std::optional<Int32Array> query_lens,
                                 std::optional<Int32Array> query_start_loc, int64_t s_q, bool shared_list,
                                 const SelectionParams& params) {
    const Call call =
        checked_call(op, {std::move(seq_lens), std::move(query_lens), std::move(query_start_loc)}, 1, 1, s_q,
                     shared_list, params, 1);
    const std::vector<int64_t> tokens = row_tokens(call.problem, call.lengths.tensors());
    return py::array_t<int64_t>(static_cast<py::ssize_t>(tokens.size()), tokens.data());
}

Int32Array plan_rows_words(int32_t op, int32_t num_cores, int64_t heads, const Int64Array& tokens,
                           int64_t query_rows) {
    Checker check("sals::plan_rows");
    check.range("num_cores", num_cores, 1, MAX_CORES);
    check.range("heads", heads, 1, 1 << 16);
    check.range("query_rows", query_rows, 1, 1 << 16);
    check.require(tokens.ndim() == 1, "tokens must have one axis, got " + std::to_string(tokens.ndim()));
    for (py::ssize_t t = 0; t < tokens.size() && check.ok(); ++t) {
        check.range("tokens", tokens.data()[t], 0, MAX_SEQ_LEN);
    }
    raise_unless_ok(check.status());
    return words_of(plan_rows(op_numbered(op), num_cores, heads, tokens.data(), tokens.size(), query_rows));
}

std::vector<std::tuple<int32_t, int32_t, int32_t, int32_t>> plan_pieces(const Int32Array& words,
                                                                        int32_t core) {
    const Plan plan = plan_from(words);
    if (core < 0 || core >= plan.num_cores || plan.num_cores > MAX_CORES) {
        throw py::value_error("sals: core must be one of the plan's " + std::to_string(plan.num_cores) +
                              ", got " + std::to_string(core));
    }
    std::vector<std::tuple<int32_t, int32_t, int32_t, int32_t>> pieces;
    PlanWalk walk(plan, core);
    Piece piece{};
    while (walk.next(piece)) pieces.emplace_back(piece.row, piece.tile_begin, piece.tile_end, piece.slot);
    return pieces;
}

}  // namespace

void export_plan(py::module_& module) {
    module.def("make_plan", make_plan_words, py::arg("op"), py::arg("seq_lens"),
               py::arg("query_lens") = py::none(), py::arg("query_start_loc") = py::none(), py::kw_only(),
               py::arg("heads"), py::arg("group") = 1, py::arg("s_q") = 1, py::arg("shared_list") = false,
               py::arg("params"), py::arg("num_cores"), "The plan, int32 [PLAN_WORDS], of a problem.");
    module.def("plan_tokens", plan_tokens, py::arg("op"), py::arg("seq_lens"),
               py::arg("query_lens") = py::none(), py::arg("query_start_loc") = py::none(), py::kw_only(),
               py::arg("s_q") = 1, py::arg("shared_list") = false, py::arg("params"),
               "Scored (QSI) or listed (SFAA) tokens of each token row, as the planner counts them.");
    module.def("plan_rows", plan_rows_words, py::arg("op"), py::kw_only(), py::arg("num_cores"),
               py::arg("heads"), py::arg("tokens"), py::arg("query_rows"),
               "The plan of rows whose tokens are known: list row = token row * heads + head.");
    module.def("plan_pieces", plan_pieces, py::arg("plan"), py::arg("core"),
               "What one core works on: (row, tile_begin, tile_end or ROW_END, slot or NO_SLOT).");
    module.def(
        "validate_plan",
        [](const Int32Array& words, int32_t op, int64_t num_rows) {
            raise_unless_ok(
                validate_plan("sals::validate_plan", plan_from(words), op_numbered(op), num_rows, num_rows));
        },
        py::arg("plan"), py::arg("op"), py::arg("num_rows"),
        "Raise ValueError unless the plan can be followed.");
    module.def("row_cycles", py::vectorize([](int32_t op, int64_t query_rows, int64_t tokens) {
                   return cost_model(op_numbered(op), query_rows).row_cycles(tokens);
               }),
               py::arg("op"), py::arg("query_rows"), py::arg("tokens"), "Modelled cycles of an uncut row.");
    module.def("part_cycles",
               py::vectorize([](int32_t op, int64_t query_rows, int64_t tokens, int64_t tile_begin,
                                int64_t tile_end) {
                   return cost_model(op_numbered(op), query_rows).part_cycles(tokens, tile_begin, tile_end);
               }),
               py::arg("op"), py::arg("query_rows"), py::arg("tokens"), py::arg("tile_begin"),
               py::arg("tile_end"), "Modelled cycles of a part of a cut row.");
    module.def(
        "merge_cycles",
        [](int32_t op, int64_t unit_parts, int64_t row_tokens) {
            return merge_cycles(op_numbered(op), unit_parts, row_tokens);
        },
        py::arg("op"), py::arg("unit_parts"), py::arg("row_tokens"),
        "Modelled cycles of the step that merges cut rows.");
}

}  // namespace sals::core
