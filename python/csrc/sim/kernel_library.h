// SPDX-License-Identifier: Apache-2.0
// kernel_library.h - a shared library of kernels, and calls of its entry functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sals::simpy {

// What a kernel entry takes: pointers to GM, or integers of up to 64 bits, passed the same way.
using KernelArgument = uint8_t*;
inline constexpr size_t MAX_KERNEL_ARGUMENTS = 20;

class KernelLibrary {
public:
    explicit KernelLibrary(const std::string& path);  // throws std::runtime_error
    ~KernelLibrary();
    KernelLibrary(const KernelLibrary&) = delete;
    KernelLibrary& operator=(const KernelLibrary&) = delete;

    void* entry(const std::string& name) const;  // throws std::runtime_error

private:
    std::string path_;
    void* handle_;
};

// Calls `extern "C" void entry(GM_ADDR, ...)` with 1 to MAX_KERNEL_ARGUMENTS arguments.
void call_entry(void* entry, const std::vector<KernelArgument>& arguments);

}  // namespace sals::simpy
