// SPDX-License-Identifier: Apache-2.0
// names.h - names of functions and classes as sources write them, for the trace.
#pragma once
#include <cxxabi.h>

#include <cstdlib>
#include <string>

namespace sals::npu {

inline std::string readable_name(const char* mangled) {
    char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr);
    const std::string name = text == nullptr ? mangled : text;
    std::free(text);
    return name.substr(0, name.find('('));
}

}  // namespace sals::npu
