// SPDX-License-Identifier: Apache-2.0
// status.h - the outcome of a check: nothing, or one sentence for the user. Host only.
#pragma once
#include <string>
#include <utility>

namespace sals {

struct Status {
    std::string text;  // empty: all is well
    bool ok() const { return text.empty(); }
};

}  // namespace sals
