// SPDX-License-Identifier: Apache-2.0
#include "operators/kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "acl/runtime.h"
#include "opapi/two_phase.h"
#include "sim/kernel_library.h"

namespace sals::npu {
namespace {

using Role = sim::GmRegion::Role;

constexpr int VECTORS_PER_CUBE = 2;

std::filesystem::path package_folder() {
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(&package_folder), &info);
    std::filesystem::path folder = std::filesystem::absolute(info.dli_fname).parent_path();
    while (folder.has_relative_path() && !std::filesystem::exists(folder / "libsals_sim.so")) {
        folder = folder.parent_path();
    }
    return folder;
}

const simpy::KernelLibrary& library_of(const std::string& name) {
    static std::map<std::string, std::unique_ptr<simpy::KernelLibrary>> loaded;
    std::unique_ptr<simpy::KernelLibrary>& library = loaded[name];
    if (library == nullptr) {
        library = std::make_unique<simpy::KernelLibrary>(package_folder() / ("_kernel_" + name + ".so"));
    }
    return *library;
}

std::string text_of(const std::string& kernel, const sim::Finding& finding) {
    return kernel + ": " + finding.core + " at " + finding.where.file + ":" +
           std::to_string(finding.where.line) + ": " + finding.text;
}

}  // namespace

void KernelLaunch::input(const char* name, const aclTensor* tensor) { add(name, tensor, Role::INPUT); }
void KernelLaunch::output(const char* name, const aclTensor* tensor) { add(name, tensor, Role::OUTPUT); }
void KernelLaunch::inout(const char* name, const aclTensor* tensor) { add(name, tensor, Role::INOUT); }
void KernelLaunch::workspace(uint64_t bytes) { workspace_bytes_ = bytes; }

void KernelLaunch::add(const char* name, const aclTensor* tensor, Role role) {
    uint8_t* data = tensor == nullptr ? nullptr : window(tensor->data());
    arguments_.push_back(data);
    if (data == nullptr) return;
    const auto bytes = static_cast<uint64_t>(tensor->elements() * bytes_of(tensor->dtype));
    // One tensor may be given as several inputs; the chip knows its memory once.
    const bool known =
        role == Role::INPUT && std::any_of(regions_.begin(), regions_.end(), [&](const auto& r) {
            return r.role == Role::INPUT && r.data == data && r.bytes == bytes;
        });
    if (bytes > 0 && !known) regions_.push_back({name, data, bytes, role});
}

Outcome KernelLaunch::run(uint8_t* workspace) const {
    std::vector<uint8_t> tiling = tiling_;
    std::vector<uint8_t*> arguments = arguments_;
    std::vector<sim::GmRegion> regions = regions_;
    arguments.insert(arguments.end(), {workspace, tiling.data()});
    if (workspace_bytes_ > 0) {
        regions.push_back({"workspace", workspace, workspace_bytes_, Role::WORKSPACE});
    }
    regions.push_back({"tiling", tiling.data(), tiling.size(), Role::INPUT});
    const sim::LaunchResult result = launch(arguments, regions);
    if (result.findings.empty()) return {};
    return {ACL_ERROR_RT_AICORE_EXCEPTION, text_of(name_, result.findings.front())};
}

sim::LaunchResult KernelLaunch::launch(const std::vector<uint8_t*>& arguments,
                                       const std::vector<sim::GmRegion>& regions) const {
    // A process has one simulated chip: kernels of several streams and devices take turns.
    static std::mutex chip;
    const std::lock_guard<std::mutex> lock(chip);
    sim::LaunchOptions options;
    const bool mix = kind_ == CoreKind::MIX;
    options.cores = mix ? core_count() : core_count() * VECTORS_PER_CUBE;
    options.cube_cores = mix;
    options.vectors_per_cube = mix ? VECTORS_PER_CUBE : 1;
    options.batch_schedule = batch_schedule_;
    void* entry = library_of(name_).entry("sals_" + name_);
    return sim::launch([&] { simpy::call_entry(entry, arguments); }, regions, options);
}

int finish(const char* name, const KernelLaunch& kernel, uint64_t* workspace_bytes,
           aclOpExecutor** executor) {
    const auto run = [kernel](uint8_t* workspace) { return kernel.run(workspace); };
    return first_phase({name, kernel.workspace_bytes(), run}, workspace_bytes, executor);
}

}  // namespace sals::npu
