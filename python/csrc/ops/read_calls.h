// SPDX-License-Identifier: Apache-2.0
// read_calls.h - from an operator call to the arguments that the contract's checks understand.
#pragma once
#include <string>

#include "ops/arguments.h"
#include "sals/cache_problem.h"
#include "sals/plan_problem.h"
#include "sals/qsi_problem.h"
#include "sals/sfaa_problem.h"

namespace sals::ops {

DType dtype_of(at::ScalarType type);
TensorSpec spec_of(const char* name, const at::Tensor& tensor);

QsiArgs read_qsi(const Arguments& a);  // qsi and block_scores
SfaaArgs read_sfaa(const Arguments& a);
PlanArgs read_plan(const Arguments& a);  // qsi_plan and sfaa_plan
ProjectQueryArgs read_project_query(const Arguments& a);
WriteCacheArgs read_write_cache(const Arguments& a);

// The selection arguments; max_seq_len is 0 where it is symbolic.
SelectionArgs read_selection(const Arguments& a);

// Raises ValueError with the status' sentence.
void raise_unless_ok(const Status& status);

}  // namespace sals::ops
