// SPDX-License-Identifier: Apache-2.0
#include "aicpu/plan_task.h"
#include "cpu_kernel.h"

namespace aicpu {

class SalsSfaaPlan : public CpuKernel {
public:
    uint32_t Compute(CpuKernelContext& context) override {
        return sals::aicpu_task::run("sals::sfaa_plan", sals::PlanOp::SFAA, context);
    }
};

namespace {
const char* OP_TYPE = "SalsSfaaPlan";
REGISTER_CPU_KERNEL(OP_TYPE, SalsSfaaPlan);
}  // namespace

}  // namespace aicpu
