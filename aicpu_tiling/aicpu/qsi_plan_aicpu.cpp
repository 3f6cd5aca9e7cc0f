// SPDX-License-Identifier: Apache-2.0
#include "aicpu/plan_task.h"
#include "cpu_kernel.h"

namespace aicpu {

class SalsQsiPlan : public CpuKernel {
public:
    uint32_t Compute(CpuKernelContext& context) override {
        return sals::aicpu_task::run("sals::qsi_plan", sals::PlanOp::QSI, context);
    }
};

namespace {
const char* OP_TYPE = "SalsQsiPlan";
REGISTER_CPU_KERNEL(OP_TYPE, SalsQsiPlan);
}  // namespace

}  // namespace aicpu
