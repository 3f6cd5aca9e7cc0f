// SPDX-License-Identifier: Apache-2.0
// cuda_plan.cpp - sals::qsi_plan and sals::sfaa_plan on CUDA tensors: the planner runs on the host, in the
// order of the stream and without a wait. Lengths go to pinned memory, a host function plans, the plan comes
// back. Lengths that break the planner's rules give a plan of zeros. A graph may capture all of it.
#include <ATen/DeviceGuard.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "cuda/cuda_support.h"
#include "make_plan.h"
#include "ops/library.h"

namespace sals::ops {
namespace {

void check_cuda(cudaError_t status, const char* op) { check_launch(status, op); }

// A plan on its way. Its pinned memory is used again once the stream has taken the plan; that of a captured
// call belongs to the graph for as long as the process lives.
struct PlanJob {
    PlanProblem problem;
    int32_t* pinned = nullptr;  // plan, then lengths, query lengths or offsets
    int64_t words = 0;
    bool has_query_lens = false, has_start_loc = false;

    int32_t* lens() const { return pinned + PLAN_WORDS; }
    int32_t* others() const { return lens() + problem.batch; }
};

std::mutex free_mutex;
std::vector<PlanJob*>& free_jobs() {
    static auto& jobs = *new std::vector<PlanJob*>;
    return jobs;
}

PlanJob* take_job(int64_t words, const char* op) {
    const std::lock_guard<std::mutex> lock(free_mutex);
    std::vector<PlanJob*>& jobs = free_jobs();
    const auto fits = [words](const PlanJob* job) { return job->words >= words; };
    const auto found = std::find_if(jobs.begin(), jobs.end(), fits);
    if (found != jobs.end()) {
        PlanJob* job = *found;
        jobs.erase(found);
        return job;
    }
    auto* job = new PlanJob;
    job->words = std::max<int64_t>(words, 2 * PLAN_WORDS);
    // Allocation waits for nothing of the device, but CUDA allows it during a capture only when asked to.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    check_cuda(cudaThreadExchangeStreamCaptureMode(&mode), op);
    const cudaError_t status =
        cudaHostAlloc(reinterpret_cast<void**>(&job->pinned),
                      static_cast<size_t>(job->words) * sizeof(int32_t), cudaHostAllocDefault);
    check_cuda(cudaThreadExchangeStreamCaptureMode(&mode), op);
    check_cuda(status, op);
    return job;
}

void run_job(void* data) {
    const auto* job = static_cast<PlanJob*>(data);
    RequestTensors request;
    request.seq_lens = job->lens();
    if (job->has_query_lens) request.query_lens = job->others();
    if (job->has_start_loc) request.query_start_loc = job->others();
    std::memset(job->pinned, 0, sizeof(Plan));
    if (!check_plan_values("sals::plan", job->problem, request).ok()) return;
    const Plan plan = make_plan(job->problem, request);
    std::memcpy(job->pinned, &plan, sizeof(plan));
}

void return_job(void* data) {
    const std::lock_guard<std::mutex> lock(free_mutex);
    free_jobs().push_back(static_cast<PlanJob*>(data));
}

void copy_to(int32_t* pinned, const at::Tensor& from, cudaStream_t stream, const char* op) {
    check_cuda(cudaMemcpyAsync(pinned, from.const_data_ptr(), from.nbytes(), cudaMemcpyDeviceToHost, stream),
               op);
}

template <PlanOp KIND>
void plan(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    const at::OptionalDeviceGuard guard(at::device_of(a.tensor("seq_lens")));
    const at::Device device = a.tensor("seq_lens").device();
    const cuda::Device where = cuda_device(device);
    PlanProblem p;
    raise_unless_ok(validate(a.op(), KIND, where.multiprocessors, read_plan(a), p));
    const at::Tensor seq_lens = packed(a, "seq_lens"), query_lens = packed(a, "query_lens");
    const at::Tensor start_loc = packed(a, "query_start_loc");
    const at::Tensor words = result_on(a, "plan", {PLAN_WORDS}, at::kInt, device);
    PlanJob* job = take_job(PLAN_WORDS + 2 * p.batch + 1, a.op());
    job->problem = p;
    job->has_query_lens = query_lens.defined();
    job->has_start_loc = start_loc.defined();
    const auto on = static_cast<cudaStream_t>(where.stream);
    copy_to(job->lens(), seq_lens, on, a.op());
    if (query_lens.defined()) copy_to(job->others(), query_lens, on, a.op());
    if (start_loc.defined()) copy_to(job->others(), start_loc, on, a.op());
    check_cuda(cudaLaunchHostFunc(on, run_job, job), a.op());
    check_cuda(
        cudaMemcpyAsync(words.mutable_data_ptr(), job->pinned, sizeof(Plan), cudaMemcpyHostToDevice, on),
        a.op());
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    check_cuda(cudaStreamIsCapturing(on, &capture), a.op());
    if (capture == cudaStreamCaptureStatusNone) check_cuda(cudaLaunchHostFunc(on, return_job, job), a.op());
    a.give({words});
}

}  // namespace

SALS_CUDA_OPERATORS(m) {
    m.impl("qsi_plan", torch::CppFunction::makeFromBoxedFunction<&plan<PlanOp::QSI>>());
    m.impl("qsi_plan.out", torch::CppFunction::makeFromBoxedFunction<&plan<PlanOp::QSI>>());
    m.impl("sfaa_plan", torch::CppFunction::makeFromBoxedFunction<&plan<PlanOp::SFAA>>());
    m.impl("sfaa_plan.out", torch::CppFunction::makeFromBoxedFunction<&plan<PlanOp::SFAA>>());
}

}  // namespace sals::ops
