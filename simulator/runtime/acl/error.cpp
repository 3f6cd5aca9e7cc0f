// SPDX-License-Identifier: Apache-2.0
#include "acl/error.h"

#include <utility>

namespace sals::npu {
namespace {

struct Recent {
    std::string text;
    std::string handed_out;  // alive until the next call of this thread
};
thread_local Recent recent;

}  // namespace

aclError fail(aclError code, const std::string& text) {
    recent.text = "sals simulated runtime: " + text;
    return code;
}

}  // namespace sals::npu

const char* aclGetRecentErrMsg() {
    using sals::npu::recent;
    if (recent.text.empty()) return nullptr;
    recent.handed_out = std::move(recent.text);
    recent.text.clear();
    return recent.handed_out.c_str();
}
