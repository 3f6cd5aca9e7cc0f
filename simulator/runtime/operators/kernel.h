// SPDX-License-Identifier: Apache-2.0
// kernel.h - the aclnn function of an operator that is one kernel: its first phase runs the registered tiling
// function, its second launches the kernel on the simulated chip with what that left.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/launch.h"
#include "operators/call.h"
#include "operators/tiling.h"

namespace sals::npu {

inline constexpr int VECTORS_PER_CUBE = 2;

enum class CoreKind { MIX, VECTOR };  // cube cores with their vector cores, or vector cores only

class KernelLaunch {
public:
    // The entry `sals_<op>` of `_kernel_<op>.so` in the folder of libsals_sim.so takes inputs and outputs.
    KernelLaunch(const Call& call, CoreKind kind, Tiled tiled);

    uint64_t workspace_bytes() const { return tiled_.context.workspace; }
    // A finding of the simulator is a failure, as an exception of a core is.
    Outcome run(uint8_t* workspace) const;

private:
    void add(const char* name, const aclTensor* tensor, sim::GmRegion::Role role);
    sim::LaunchResult launch(const std::vector<uint8_t*>& arguments,
                             const std::vector<sim::GmRegion>& regions) const;

    std::string name_;
    CoreKind kind_;
    Tiled tiled_;
    std::vector<uint8_t*> arguments_;
    std::vector<sim::GmRegion> regions_;
};

// The first phase of aclnn<type>.
int kernel_first_phase(const char* type, CoreKind kind, const Call& call, uint64_t* workspace_bytes,
                       aclOpExecutor** executor);

}  // namespace sals::npu
