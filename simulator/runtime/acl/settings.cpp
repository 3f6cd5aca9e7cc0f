// SPDX-License-Identifier: Apache-2.0
#include "acl/settings.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace sals::npu {
namespace {

int64_t number(const char* name, int64_t default_value, int64_t low, int64_t high) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') return default_value;
    char* end = nullptr;
    const int64_t value = std::strtoll(text, &end, 10);
    if (*end != '\0' || value < low || value > high) {
        throw std::invalid_argument(std::string("sals: ") + name + " must be an integer in [" +
                                    std::to_string(low) + ", " + std::to_string(high) + "], got " + text);
    }
    return value;
}

Settings read() {
    constexpr int64_t MIB = int64_t{1} << 20;
    Settings s{};
    s.devices = static_cast<int32_t>(number("SALS_NPU_DEVICES", 2, 1, 16));
    s.cores = static_cast<int32_t>(number("SALS_NPU_CORES", 20, 1, 64));
    s.memory_bytes = static_cast<size_t>(number("SALS_NPU_MEMORY", 1024, 1, 64 * 1024) * MIB);
    s.protect = number("SALS_NPU_PROTECT", 1, 0, 1) != 0;
    return s;
}

}  // namespace

const Settings& settings() {
    static const Settings read_once = read();
    return read_once;
}

}  // namespace sals::npu
