// SPDX-License-Identifier: Apache-2.0
// pv_matmul.h - cube stage: products of both terms of the weights with the values of a task.
//     products[r, d] = sum_t weights[r, t] * values[t, d]    int8 x int8 -> int32, exact
// Runs on   AIC
// Path      ws_weights --MTE2--> l1_weights --MTE1--> l0a_weights
//           l1_values --MTE1, transposed--> l0b --M--> l0c --FIX--> ws_products
// Takes     ws_weights [rows][task tokens] int8, by V2C_WEIGHTS_FULL   l1_values, by L1_KV_FULL (qk_matmul.h)
// Hands to  rescale_output.h: ws_products [rows][head_dim] int32, by C2V_PRODUCTS_FULL
#pragma once
#include "sfaa/cube_memory.h"

namespace sals::sfaa {

template <int32_t HEAD_DIM>
class PvMatmul {
public:
    SALS_DEVICE PvMatmul(CubeMemory& memory, const SfaaTiling& tiling, GM_ADDR exchange)
        : memory_(memory), rings_(sfaa_rings(tiling)), exchange_(exchange) {}

    SALS_DEVICE void fetch_weights(const Task& task) {
        CrossCoreWaitFlag(V2C_WEIGHTS_FULL);
        WaitFlag<HardEvent::MTE1_MTE2>(L1_WEIGHTS_EMPTY);
        const auto weights = global_tensor<int8_t>(exchange_ + rings_.weights(task.number % SFAA_RING_SLOTS));
        CubeMemory::fetch_rows(memory_.l1_weights(), weights, product_rows(task.pass), task.columns,
                               TASK_TOKENS);
        SetFlag<HardEvent::MTE2_MTE1>(L1_WEIGHTS_FULL);
    }

    SALS_DEVICE void run(const Task& task) {
        const int32_t rows = padded_product_rows(task.pass);
        const int32_t step_tokens = tokens_of_step(rows);
        memory_.begin_product();
        for (int32_t token = 0; token < task.columns; token += step_tokens) {
            multiply(task, token, smaller(step_tokens, task.columns - token));
        }
        SetFlag<HardEvent::MTE1_MTE2>(L1_WEIGHTS_EMPTY);
        SetFlag<HardEvent::MTE1_MTE2>(L1_KV_EMPTY + task.number % SFAA_KV_SLOTS);
        const auto products =
            global_tensor<int32_t>(exchange_ + rings_.products(task.number % SFAA_RING_SLOTS));
        memory_.store_product(products, product_rows(task.pass), HEAD_DIM, HEAD_DIM);
        AscendC::CrossCoreSetFlag<MODE_CUBE_VECTOR, PIPE_FIX>(C2V_PRODUCTS_FULL);
    }

private:
    using HardEvent = AscendC::HardEvent;
    static constexpr int32_t TASK_TOKENS = sfaa_task_tokens(HEAD_DIM);
    static constexpr int32_t PLANES = HEAD_DIM / PLANE_BYTES;
    static constexpr int32_t SQUARE = 32;  // tokens and channels that are transposed at once
    static constexpr int32_t COLUMN_GROUPS = HEAD_DIM / AtlasA2::FRACTAL_ROWS;
    static constexpr int32_t MIN_TILES_IN_ORDER = 10;  // whole ones of 16 x 16: fewer may overtake each other

    SALS_DEVICE static int32_t tokens_of_step(int32_t padded_rows) {
        return smaller(L0_STEP_BYTES / HEAD_DIM, L0A_STEP_BYTES / padded_rows) / SQUARE * SQUARE;
    }

    SALS_DEVICE void multiply(const Task& task, int32_t token, int32_t count) {
        const int32_t rows = padded_product_rows(task.pass);
        const int32_t squares = round_up(count, SQUARE) / SQUARE;
        memory_.begin_step();
        load_values(task, token, squares);
        if (token == 0) WaitFlag<HardEvent::MTE2_MTE1>(L1_WEIGHTS_FULL);  // values have been there before
        CubeMemory::load_rows(memory_.l0a_weights(), memory_.l1_weights(), rows, token / SQUARE, squares);
        memory_.hand_step_to_cube();
        AscendC::MmadParams product;
        product.m = product_rows(task.pass);
        product.n = HEAD_DIM;
        product.k = count;
        product.cmatrixInitVal = token == 0;
        const int32_t tiles = product_rows(task.pass) / AtlasA2::FRACTAL_ROWS * COLUMN_GROUPS;
        if (token > 0 && tiles < MIN_TILES_IN_ORDER) AscendC::PipeBarrier<PIPE_M>();
        Mmad(memory_.l0c(), memory_.l0a_weights(), memory_.l0b(), product);
        memory_.end_step();
    }

    // L0B wants fractals of 16 channels x 32 tokens, by tokens first.
    SALS_DEVICE void load_values(const Task& task, int32_t token, int32_t squares) {
        AscendC::LoadData2dTransposeParams params;
        params.startIndex = 0;
        params.repeatTimes = squares;
        params.srcStride = 1;
        params.dstGap = COLUMN_GROUPS - 1;
        params.dstFracGap = 0;
        const auto values = memory_.l1_values(task.number);
        for (int32_t plane = 0; plane < PLANES; ++plane) {
            LoadDataWithTranspose(memory_.l0b()[plane * SQUARE * SQUARE],
                                  values[(plane * TASK_TOKENS + token) * PLANE_BYTES], params);
        }
    }

    CubeMemory& memory_;
    SfaaRings rings_;
    GM_ADDR exchange_;  // rings of this core group
};

}  // namespace sals::sfaa
