// SPDX-License-Identifier: Apache-2.0
// kernel.h - the launch of one of our kernels on the simulated chip, as the second phase of its operator.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/launch.h"
#include "opapi/objects.h"

namespace sals::npu {

enum class CoreKind { MIX, VECTOR };  // cube cores with their vector cores, or vector cores only

class KernelLaunch {
public:
    // The entry `sals_<name>` of `_kernel_<name>.so` in the folder of libsals_sim.so.
    KernelLaunch(std::string name, CoreKind kind) : name_(std::move(name)), kind_(kind) {}

    // In the order of the entry's parameters; a null tensor is a null pointer.
    void input(const char* name, const aclTensor* tensor);
    void output(const char* name, const aclTensor* tensor);
    void inout(const char* name, const aclTensor* tensor);
    void workspace(uint64_t bytes);
    template <class Tiling>
    void tiling(const Tiling& tiling) {
        const auto* first = reinterpret_cast<const uint8_t*>(&tiling);
        tiling_.assign(first, first + sizeof(tiling));
    }

    void batch_schedule(bool needed) { batch_schedule_ = needed; }

    uint64_t workspace_bytes() const { return workspace_bytes_; }
    // A finding of the simulator is a failure, as an exception of a core is.
    Outcome run(uint8_t* workspace) const;

private:
    void add(const char* name, const aclTensor* tensor, sim::GmRegion::Role role);
    sim::LaunchResult launch(const std::vector<uint8_t*>& arguments,
                             const std::vector<sim::GmRegion>& regions) const;

    std::string name_;
    CoreKind kind_;
    std::vector<uint8_t*> arguments_;
    std::vector<sim::GmRegion> regions_;
    uint64_t workspace_bytes_ = 0;
    std::vector<uint8_t> tiling_;
    bool batch_schedule_ = false;
};

// Ends the first phase of an operator that is one kernel.
int finish(const char* name, const KernelLaunch& kernel, uint64_t* workspace_bytes, aclOpExecutor** executor);

}  // namespace sals::npu
