// SPDX-License-Identifier: Apache-2.0
// kernel.h - the schedule of the attention kernel. A group is one cube core and two vector cores; all walk
// the same tasks. Four overlap; q, k, p, v: query terms, keys, weights, values of a task.
//     cube  MTE2  |kv 4  p1     |kv 5  p2     |kv 6  p3     |     always busy: it binds
//           M     |qk 3     pv 1|qk 4     pv 2|qk 5     pv 3|
//     AIV   V     |softmax 2    |softmax 3    |softmax 4    |
//                 |   rescale 0 |   rescale 1 |   rescale 2 |
// What the cube core fetches next stands in its queue before it waits for the vector cores: a wait stops all
// of its pipes. For the same reason vector cores ask for the scores of the next task while one is in work.
// Rows that a plan cuts are put together behind one SyncAll.
#pragma once
#include "sfaa/gather_kv.h"
#include "sfaa/merge_parts.h"
#include "sfaa/pv_matmul.h"
#include "sfaa/qk_matmul.h"
#include "sfaa/quantize_query.h"
#include "sfaa/rescale_output.h"
#include "sfaa/softmax.h"
#include "sfaa/touch_kv.h"

namespace sals::sfaa {

// Tasks around the one in work. `see` is called for every task in turn before it comes into view; those
// without tokens then vanish.
template <class See>
class TaskWindow {
public:
    SALS_DEVICE TaskWindow(TaskWalk& walk, See see) : walk_(walk), see_(see) {}

    // Brings task `number` into view, if there is one.
    SALS_DEVICE bool reach(int32_t number) {
        while (known_ <= number) {
            Task task;
            if (!walk_.next(task)) return false;
            see_(task);
            if (task.columns > 0) tasks_[known_++ % SIZE] = task;
        }
        return true;
    }

    SALS_DEVICE bool has(int32_t number) const { return number >= 0 && number < known_; }
    SALS_DEVICE const Task& at(int32_t number) const { return tasks_[number % SIZE]; }

private:
    static constexpr int32_t SIZE = 8;
    TaskWalk& walk_;
    See see_;
    Task tasks_[SIZE];
    int32_t known_ = 0;
};

template <int32_t HEAD_DIM, SfaaCacheForm FORM>
SALS_DEVICE void run_cube(AscendC::TPipe& pipe, const SfaaTiling& tiling, const Arguments& args) {
    const int32_t core = static_cast<int32_t>(AscendC::GetBlockIdx());
    TaskWalk walk(tiling, args, core, static_cast<int32_t>(AscendC::GetBlockNum()));
    GM_ADDR exchange = args.workspace + sfaa_core_offset(tiling, core);
    CubeMemory memory(pipe);
    GatherKv<HEAD_DIM, FORM> gather(memory, walk.list(), tiling, args);
    QkMatmul<HEAD_DIM> qk(memory, tiling, exchange);
    PvMatmul<HEAD_DIM> pv(memory, tiling, exchange);
    const auto see = [](const Task&) {};
    TaskWindow<decltype(see)> tasks(walk, see);

    memory.open();
    if (tiling.preloads) {
        for (int32_t i = 0; i <= 2 || tasks.has(i - 3); ++i) {
            const bool has_next = tasks.reach(i);
            if (has_next) gather.plan(tasks.at(i));
            if (tasks.has(i - 1)) qk.run(tasks.at(i - 1));
            if (has_next) gather.begin(tasks.at(i));
            if (tasks.has(i - 3)) pv.fetch_weights(tasks.at(i - 3));
            if (has_next) gather.end(tasks.at(i));
            if (tasks.has(i - 3)) pv.run(tasks.at(i - 3));
            if (has_next && tasks.at(i).begins_pass) qk.fetch_query(tasks.at(i).pass);
        }
    } else {
        for (int32_t i = 0; tasks.reach(i); ++i) {
            const Task& task = tasks.at(i);
            gather.plan(task);
            gather.begin(task);
            gather.end(task);
            if (task.begins_pass) qk.fetch_query(task.pass);
            qk.run(task);
            pv.fetch_weights(task);
            pv.run(task);
        }
    }
    memory.close();
}

template <int32_t HEAD_DIM, class Float>
class VectorKernel {
public:
    SALS_DEVICE VectorKernel(const AscendC::LocalTensor<uint8_t>& ub, const SfaaTiling& tiling,
                             const Arguments& args)
        : core_(static_cast<int32_t>(AscendC::GetBlockIdx() / AtlasA2::AIV_PER_AIC)),
          tiling_(tiling),
          walk_(tiling, args, core_, static_cast<int32_t>(AscendC::GetBlockNum())),
          memory_(ub, tiling, static_cast<int32_t>(AscendC::GetSubBlockIdx())),
          exchange_(args.workspace + sfaa_core_offset(tiling, core_)),
          quantize_(memory_, args, exchange_),
          softmax_(memory_, walk_.list(), walk_.rows(), args, exchange_),
          touch_(memory_, walk_.list(), args, static_cast<int32_t>(AscendC::GetSubBlockIdx())),
          rows_(memory_, args),
          rescale_(memory_, rows_, args, exchange_, core_),
          merge_(memory_, rows_, walk_.rows(), walk_.plan(), args) {
        // Instructions work on whole repeats: what lies behind the data must be defined.
        Duplicate(view<float>(ub, 0), 0.0F, static_cast<int32_t>(sizeof(UbPlan) / sizeof(float)));
        finish_vector(UB_FILLED);
    }

    SALS_DEVICE void run() {
        open();
        run_tasks();
        softmax_.close();  // its memory goes to the merge
        if (walk_.plan().num_merges() > 0) {
            merge_.run(static_cast<int32_t>(AscendC::GetBlockIdx()),
                       static_cast<int32_t>(AscendC::GetBlockNum() * AtlasA2::AIV_PER_AIC));
        }
        if (!walk_.plan().is_valid()) refuse();
        close();
    }

private:
    SALS_DEVICE void run_tasks() {
        const auto see = [this](const Task& task) {
            if (task.columns == 0) {
                rescale_.run_empty(task.pass, LOWEST_MAXIMUM);
                return;
            }
            if (task.begins_pass) quantize_.run(task.pass);
            touch_.run(task);
        };
        TaskWindow<decltype(see)> tasks(walk_, see);
        if (tiling_.preloads) {
            tasks.reach(1);
            for (int32_t i = -1; i <= 1 || tasks.has(i - 2); ++i) {
                if (tasks.has(i)) softmax_.run(tasks.at(i));
                tasks.reach(i + 3);
                if (tasks.has(i - 2)) rescale_.fetch(tasks.at(i - 2));
                if (tasks.has(i + 1)) softmax_.fetch(tasks.at(i + 1));
                if (tasks.has(i - 2)) rescale_.run(tasks.at(i - 2));
            }
        } else {
            for (int32_t i = 0; tasks.reach(i); ++i) {
                softmax_.fetch(tasks.at(i));
                softmax_.run(tasks.at(i));
                rescale_.fetch(tasks.at(i));
                rescale_.run(tasks.at(i));
            }
        }
    }

    // Every row as one that sees nothing.
    SALS_DEVICE void refuse() {
        const RowRange range = walk_.plan().refused_rows();
        for (int32_t row = range.begin; row < range.end; ++row) {
            Pass pass{};
            pass.row = walk_.rows().at(row);
            pass.query_rows = sfaa_query_rows(tiling_);
            rescale_.run_empty(pass, LOWEST_MAXIMUM);
        }
    }

    SALS_DEVICE void open() {
        quantize_.open();
        softmax_.open();
        rows_.open();
        rescale_.open();
    }

    SALS_DEVICE void close() {
        quantize_.close();
        rows_.close();
        rescale_.close();
    }

    int32_t core_;
    const SfaaTiling& tiling_;
    TaskWalk walk_;
    VectorMemory memory_;
    GM_ADDR exchange_;
    QuantizeQuery<HEAD_DIM, Float> quantize_;
    Softmax<HEAD_DIM> softmax_;
    TouchKv<HEAD_DIM> touch_;
    OutputRows<HEAD_DIM, Float> rows_;
    RescaleOutput<HEAD_DIM, Float> rescale_;
    MergeParts<HEAD_DIM, Float> merge_;
};

template <int32_t HEAD_DIM, class Float>
SALS_DEVICE void run_vector(AscendC::TPipe& pipe, const SfaaTiling& tiling, const Arguments& args) {
    AscendC::TBuf<AscendC::TPosition::VECCALC> ub;
    pipe.InitBuffer(ub, sizeof(UbPlan));
    VectorKernel<HEAD_DIM, Float>(ub.Get<uint8_t>(), tiling, args).run();
}

}  // namespace sals::sfaa
