// SPDX-License-Identifier: Apache-2.0
// kernel.h - the launch of one of our kernels on the simulated chip, as the second phase of its operator.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/launch.h"
#include "opapi/objects.h"

namespace sals::npu {

class KernelLaunch {
public:
    // The entry `sals_<name>` of `_kernel_<name>.so` in the folder above this library's.
    explicit KernelLaunch(std::string name) : name_(std::move(name)) {}

    // In the order of the entry's parameters; a null tensor is a null pointer.
    void input(const char* name, const aclTensor* tensor);
    void output(const char* name, const aclTensor* tensor);
    void inout(const char* name, const aclTensor* tensor);
    void workspace(uint64_t bytes);
    template <class Tiling>
    void tiling(const Tiling& tiling) {
        const auto* first = reinterpret_cast<const uint8_t*>(&tiling);
        tiling_.assign(first, first + sizeof(tiling));
        batch_schedule_ = tiling.uses_sync_all != 0;
    }

    uint64_t workspace_bytes() const { return workspace_bytes_; }
    // A finding of the simulator is a failure, as an exception of a core is.
    Outcome run(uint8_t* workspace) const;

private:
    void add(const char* name, const aclTensor* tensor, sim::GmRegion::Role role);
    sim::LaunchResult launch(const std::vector<uint8_t*>& arguments,
                             const std::vector<sim::GmRegion>& regions) const;

    std::string name_;
    std::vector<uint8_t*> arguments_;
    std::vector<sim::GmRegion> regions_;
    uint64_t workspace_bytes_ = 0;
    std::vector<uint8_t> tiling_;
    bool batch_schedule_ = false;
};

}  // namespace sals::npu
