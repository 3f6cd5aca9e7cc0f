// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_library.h"

#include <dlfcn.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace sals::simpy {
namespace {

using Caller = void (*)(void*, const KernelArgument*);

template <size_t>
using ArgumentAt = KernelArgument;

template <size_t... I>
void call_with(void* entry, const KernelArgument* arguments, std::index_sequence<I...>) {
    reinterpret_cast<void (*)(ArgumentAt<I>...)>(entry)(arguments[I]...);
}

template <size_t COUNT>
void call_with_count(void* entry, const KernelArgument* arguments) {
    call_with(entry, arguments, std::make_index_sequence<COUNT>());
}

template <size_t... I>
constexpr std::array<Caller, sizeof...(I)> callers(std::index_sequence<I...>) {
    return {&call_with_count<I + 1>...};
}

constexpr auto CALLERS = callers(std::make_index_sequence<MAX_KERNEL_ARGUMENTS>());

}  // namespace

KernelLibrary::KernelLibrary(const std::string& path)
    : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr)
        throw std::runtime_error("sals: cannot load the kernel library: " + std::string(dlerror()));
}

KernelLibrary::~KernelLibrary() { dlclose(handle_); }

void* KernelLibrary::entry(const std::string& name) const {
    void* symbol = dlsym(handle_, name.c_str());
    if (symbol == nullptr) {
        throw std::runtime_error(
            "sals: " + path_ + " has no entry " + name +
            ". A kernel is found by name if it is declared extern \"C\" __global__, else by its mangled "
            "name, which nm -D shows.");
    }
    return symbol;
}

void call_entry(void* entry, const std::vector<KernelArgument>& arguments) {
    CALLERS.at(arguments.size() - 1)(entry, arguments.data());
}

}  // namespace sals::simpy
