// SPDX-License-Identifier: Apache-2.0
// request_axis.h - the rules for the axes that every operator shares: requests, query tokens, lengths.
// BSND: [batch, s_q, ...], optionally query_lens [batch]. TND: [tokens, ...] with query_start_loc
// [batch + 1]. Host only.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sals/limits.h"
#include "sals/names.h"
#include "sals/plan.h"
#include "sals/tensor_spec.h"

namespace sals {

struct RequestArgs {
    TensorSpec seq_lens, query_lens, query_start_loc, plan;
    std::string query_layout = "BSND";
};

struct RequestAxis {
    QueryLayout layout = QueryLayout::BSND;
    int64_t batch = 0;
    int64_t s_q = 1;            // BSND: query tokens of one request
    int64_t tokens = 0;         // token rows: batch * s_q, or all tokens of TND
    int64_t max_query_len = 1;  // largest legal query_lens
};

inline std::optional<QueryLayout> check_query_layout(Checker& check, const std::string& name) {
    const std::optional<QueryLayout> layout = value_named(QUERY_LAYOUTS, name);
    check.require(layout.has_value(),
                  "query_layout must be one of " + names_in(QUERY_LAYOUTS) + ", got " + name);
    return layout;
}

inline void check_request_types(Checker& check, const RequestArgs& a, const TensorSpec& leader,
                                QueryLayout layout) {
    check.present(leader);
    check.present(a.seq_lens);
    if (layout == QueryLayout::TND) {
        check.present(a.query_start_loc, "with query_layout TND");
        check.absent(a.query_lens, "with query_layout TND");
    } else {
        check.absent(a.query_start_loc, "with query_layout BSND");
    }
    for (const TensorSpec* t : {&a.seq_lens, &a.query_lens, &a.query_start_loc, &a.plan}) {
        check.same_device(*t, leader);
        check.dtype(*t, {DType::INT32});
    }
    check.ndim(a.seq_lens, "[batch]", 1);
    check.ndim(a.query_lens, "[batch]", 1);
    check.ndim(a.query_start_loc, "[batch + 1]", 1);
    check.ndim(a.plan, "[plan_words]", 1);
}

// The request axes of a query whose leading axes are [batch, s_q] or [tokens].
inline RequestAxis check_request_axis(Checker& check, const RequestArgs& a, const TensorSpec& query,
                                      QueryLayout layout) {
    RequestAxis axis;
    axis.layout = layout;
    axis.batch = a.seq_lens.shape[0];
    check.shape(a.plan, "[plan_words]", {PLAN_WORDS});
    if (layout == QueryLayout::TND) {
        check.shape(a.query_start_loc, "[batch + 1]", {axis.batch + 1});
        axis.tokens = query.shape[0];
        return axis;
    }
    check.require(query.shape[0] == axis.batch, "seq_lens must have shape [batch] = [" +
                                                    std::to_string(query.shape[0]) + "], got " +
                                                    shape_text(a.seq_lens.shape));
    check.shape(a.query_lens, "[batch]", {axis.batch});
    axis.s_q = query.shape[1];
    axis.tokens = axis.batch * axis.s_q;
    axis.max_query_len = axis.s_q;
    return axis;
}

// Leading axes of a per-query tensor, to which the caller appends the inner ones.
inline std::vector<int64_t> query_shape(const RequestAxis& axis, std::initializer_list<int64_t> inner) {
    std::vector<int64_t> shape;
    if (axis.layout == QueryLayout::TND) {
        shape = {axis.tokens};
    } else {
        shape = {axis.batch, axis.s_q};
    }
    shape.insert(shape.end(), inner);
    return shape;
}

}  // namespace sals
