// SPDX-License-Identifier: Apache-2.0
// qk_matmul.h - cube stage: products of both terms of the query rows with the keys of a task.
//     scores[r, t] = sum_d terms[r, d] * keys[t, d]          int8 x int8 -> int32, exact
// Runs on   AIC
// Path      ws_query --MTE2--> l1_query --MTE1--> l0a_query (once per pass)
//           l1_keys --MTE1--> l0b --M--> l0c --FIX--> ws_scores
// Takes     ws_query [rows][head_dim] int8, by V2C_QUERY_FULL   l1_keys, by L1_KV_FULL
// Hands to  softmax.h: ws_scores [rows][task tokens] int32, by C2V_SCORES_FULL
#pragma once
#include "sfaa/cube_memory.h"

namespace sals::sfaa {

template <int32_t HEAD_DIM>
class QkMatmul {
public:
    SALS_DEVICE QkMatmul(CubeMemory& memory, const SfaaTiling& tiling, GM_ADDR exchange)
        : memory_(memory), rings_(sfaa_rings(tiling)), exchange_(exchange) {}

    // The terms of a pass, one task ahead of use.
    SALS_DEVICE void fetch_query(const Pass& pass) {
        CrossCoreWaitFlag(V2C_QUERY_FULL);
        WaitFlag<HardEvent::MTE1_MTE2>(L1_QUERY_EMPTY);
        const auto terms = global_tensor<int8_t>(exchange_ + rings_.query(pass.number % SFAA_QUERY_SLOTS));
        CubeMemory::fetch_rows(memory_.l1_query(), terms, product_rows(pass), HEAD_DIM, HEAD_DIM);
        SetFlag<HardEvent::MTE2_MTE1>(L1_QUERY_FULL);
    }

    SALS_DEVICE void run(const Task& task) {
        if (task.begins_pass) load_query(task.pass);
        WaitFlag<HardEvent::MTE2_MTE1>(L1_KV_FULL + task.number % SFAA_KV_SLOTS);
        const auto scores = global_tensor<int32_t>(exchange_ + rings_.scores(task.number % SFAA_RING_SLOTS));
        const int32_t step_tokens = tokens_of_step(padded_product_rows(task.pass));
        for (int32_t token = 0; token < task.columns; token += step_tokens) {
            const int32_t count = smaller(step_tokens, task.columns - token);
            multiply(task, token, count);
            memory_.store_product(scores[static_cast<uint64_t>(token)], product_rows(task.pass), count,
                                  TASK_TOKENS);
        }
        if (task.ends_pass) SetFlag<HardEvent::M_MTE1>(L0A_QUERY_EMPTY);
        AscendC::CrossCoreSetFlag<MODE_CUBE_VECTOR, PIPE_FIX>(C2V_SCORES_FULL);
    }

private:
    using HardEvent = AscendC::HardEvent;
    static constexpr int32_t TASK_TOKENS = sfaa_task_tokens(HEAD_DIM);
    static constexpr int32_t PLANES = HEAD_DIM / PLANE_BYTES;

    SALS_DEVICE static int32_t tokens_of_step(int32_t padded_rows) {
        const int32_t in_l0c = L0C_BYTES / static_cast<int32_t>(sizeof(int32_t)) / padded_rows;
        return smaller(L0_STEP_BYTES / HEAD_DIM, in_l0c) / AtlasA2::FRACTAL_ROWS * AtlasA2::FRACTAL_ROWS;
    }

    SALS_DEVICE void load_query(const Pass& pass) {
        WaitFlag<HardEvent::M_MTE1>(L0A_QUERY_EMPTY);
        WaitFlag<HardEvent::MTE2_MTE1>(L1_QUERY_FULL);
        CubeMemory::load_rows(memory_.l0a_query(), memory_.l1_query(), padded_product_rows(pass), 0, PLANES);
        SetFlag<HardEvent::MTE1_MTE2>(L1_QUERY_EMPTY);
    }

    SALS_DEVICE void multiply(const Task& task, int32_t token, int32_t count) {
        memory_.begin_step();
        const int32_t groups = round_up(count, AtlasA2::FRACTAL_ROWS) / AtlasA2::FRACTAL_ROWS;
        AscendC::LoadData2DParams fractals;
        fractals.repeatTimes = groups;
        fractals.srcStride = 1;
        const auto keys = memory_.l1_keys(task.number);
        for (int32_t plane = 0; plane < PLANES; ++plane) {
            LoadData(memory_.l0b()[plane * groups * AtlasA2::FRACTAL_BYTES],
                     keys[(plane * TASK_TOKENS + token) * PLANE_BYTES], fractals);
        }
        memory_.hand_step_to_cube();
        memory_.begin_product();
        AscendC::MmadParams product;
        product.m = product_rows(task.pass);
        product.n = count;
        product.k = HEAD_DIM;
        product.cmatrixInitVal = true;
        Mmad(memory_.l0c(), memory_.l0a_query(), memory_.l0b(), product);
        memory_.end_step();
    }

    CubeMemory& memory_;
    SfaaRings rings_;
    GM_ADDR exchange_;  // rings of this core group
};

}  // namespace sals::sfaa
