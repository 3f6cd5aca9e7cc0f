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

std::string kernel_of(const host::Signature& signature) {
    const std::string op = signature.op;
    return op.substr(op.rfind(':') + 1);
}

bool is_input(const host::Signature& signature, const host::Port& port) {
    return host::index_of(signature.inputs, port.name) != host::NOT_FOUND;
}

// Such an operator writes all its caches, those that are no outputs included.
bool writes_inputs(const host::Signature& signature) {
    return std::any_of(signature.outputs.begin(), signature.outputs.end(),
                       [&](const host::Port& port) { return is_input(signature, port); });
}

}  // namespace

KernelLaunch::KernelLaunch(const Call& call, CoreKind kind, Tiled tiled)
    : name_(kernel_of(call.signature)), kind_(kind), tiled_(std::move(tiled)) {
    const host::Signature& s = call.signature;
    for (size_t i = 0; i < s.inputs.count; ++i) {
        const bool written = writes_inputs(s) && s.inputs.first[i].memory == host::Memory::AS_IT_IS;
        add(s.inputs.first[i].name, call.inputs.at(i), written ? Role::INOUT : Role::INPUT);
    }
    size_t next = 0;
    for (const host::Port& port : s.outputs) {
        // CANN passes a tensor that is written in place a second time; no kernel uses that.
        add(port.name, is_input(s, port) ? nullptr : call.outputs.at(next++), Role::OUTPUT);
    }
}

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
    const gert::TilingData& left = tiled_.context.tiling;
    std::vector<uint8_t> tiling(left.bytes.begin(), left.bytes.begin() + static_cast<int64_t>(left.size));
    std::vector<uint8_t*> arguments = arguments_;
    std::vector<sim::GmRegion> regions = regions_;
    arguments.insert(arguments.end(), {workspace, tiling.data()});
    if (workspace_bytes() > 0) {
        regions.push_back({"workspace", workspace, workspace_bytes(), Role::WORKSPACE});
    }
    regions.push_back({"tiling", tiling.data(), tiling.size(), Role::INPUT});
    const sim::LaunchResult result = launch(arguments, regions);
    Outcome outcome;
    outcome.host_function = tiled_.function;
    if (result.findings.empty()) return outcome;
    outcome.code = ACL_ERROR_RT_AICORE_EXCEPTION;
    outcome.text = text_of(name_, result.findings.front());
    return outcome;
}

sim::LaunchResult KernelLaunch::launch(const std::vector<uint8_t*>& arguments,
                                       const std::vector<sim::GmRegion>& regions) const {
    // A process has one simulated chip: kernels of several streams and devices take turns.
    static std::mutex chip;
    const std::lock_guard<std::mutex> lock(chip);
    sim::LaunchOptions options;
    const bool mix = kind_ == CoreKind::MIX;
    options.cores = static_cast<int>(tiled_.context.block_dim);
    options.cube_cores = mix;
    options.vectors_per_cube = mix ? VECTORS_PER_CUBE : 1;
    options.batch_schedule = tiled_.context.schedule_mode != 0;
    void* entry = library_of(name_).entry("sals_" + name_);
    return sim::launch([&] { simpy::call_entry(entry, arguments); }, regions, options);
}

int kernel_first_phase(const char* type, CoreKind kind, const Call& call, uint64_t* workspace_bytes,
                       aclOpExecutor** executor) {
    Checker check(call.signature.op);
    check_contiguous(check, call);
    if (!check.ok()) return fail(ACL_ERROR_INVALID_PARAM, check.status().text);
    Tiled tiled;
    aclError code = tile(type, call, tiled);
    if (code == ACL_ERROR_NONE) code = check_results(type, call);
    if (code != ACL_ERROR_NONE) return code;
    const KernelLaunch kernel(call, kind, std::move(tiled));
    const auto run = [kernel](uint8_t* workspace) { return kernel.run(workspace); };
    return first_phase({std::string("aclnn") + type, kernel.workspace_bytes(), run}, workspace_bytes,
                       executor);
}

}  // namespace sals::npu
