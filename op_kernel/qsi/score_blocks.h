// SPDX-License-Identifier: Apache-2.0
// score_blocks.h - cube stage: products of one int4 query with the int4 keys of a row's candidate tokens.
//     dots[t] = sum_r query[r] * keys[t, r]                    int4 x int4 -> int32, exact
// Runs on   AIC
// Path      key_cache --MTE2--> l1_keys --MTE1--> l0b_keys --M--> l0c_dots --FIX--> ws_dots
// Reads     query [tokens, n_idx, rank] int4   key_cache, see kv_layout.h   block_table [batch, max_pages]
// Writes    ws_dots [QSI_RING_SLOTS][QSI_HANDOFF_TOKENS] int32, private to this core group
// Hands to  reduce_scores.h, by C2V_DOTS_FULL / V2C_DOTS_EMPTY
// A query is one row, so the product is a matrix-vector one (m = 1): the query stands in L0A as it comes from
// memory. It goes there with the keys of every step, and is fetched with those of a piece's first.
#pragma once
#include "qsi/cache_pages.h"
#include "qsi/handoffs.h"
#include "qsi/sync.h"
#include "sals/workspace.h"

namespace sals::qsi {

// What the cube multiplies at once.
struct Step {
    int32_t row;  // list row of the query
    int32_t head;
    int32_t request;
    int32_t token;    // first token, in the request
    int32_t count;    // tokens
    int32_t query;    // its number among the pieces so far
    int32_t dots;     // where they go, in tokens from the start of the ring slot
    int32_t handoff;  // its number
    bool begins_piece;
    bool begins_handoff;
    bool ends_handoff;
};

template <int32_t RANK, QsiKeyForm FORM>
class ScoreBlocks {
public:
    SALS_DEVICE ScoreBlocks(AscendC::TPipe& pipe, const QsiTiling& tiling, const Arguments& args,
                            int32_t core)
        : cache_(cache_shape(tiling)), pages_(tiling, args) {
        pipe.InitBuffer(l1_, sizeof(L1Plan));
        pipe.InitBuffer(l0a_, sizeof(L0aPlan));
        pipe.InitBuffer(l0b_, sizeof(L0bPlan));
        pipe.InitBuffer(l0c_, sizeof(L0cPlan));
        gm_query_ = global_tensor<int8_t>(args.query);
        gm_keys_ = global_tensor<int8_t>(args.key_cache);
        ws_dots_ = global_tensor<int32_t>(args.workspace + qsi_dots_offset(core, 0));
    }

    SALS_DEVICE void open() {
        for (int32_t slot = 0; slot < L1_SLOTS; ++slot) SetFlag<HardEvent::MTE1_MTE2>(L1_KEY_EMPTY + slot);
        for (int32_t slot = 0; slot < L0_SLOTS; ++slot) {
            SetFlag<HardEvent::M_MTE1>(L0_EMPTY + slot);
            SetFlag<HardEvent::FIX_M>(L0C_EMPTY + slot);
        }
    }

    // Scores a piece. Its loads run ahead of its products by all key slots but one, also across pieces.
    SALS_DEVICE void run(const ScoredPiece& piece) {
        if (piece.begin >= piece.end) return;
        for (int32_t begin = piece.begin; begin < piece.end; ++handoffs_) {
            const Handoff handoff = handoff_at(piece, begin);
            for (int32_t token = begin; token < handoff.end;) {
                const int32_t step_end = part_end(handoff.origin, token, STEP_TOKENS, handoff.end);
                push({piece.row.row, piece.row.head, piece.row.request, token, step_end - token, queries_,
                      token - handoff.origin, handoffs_, token == piece.begin, token == begin,
                      step_end == handoff.end});
                token = step_end;
            }
            begin = handoff.end;
        }
        ++queries_;
    }

    SALS_DEVICE void close() {
        while (multiplied_ < loaded_) multiply();
        for (int32_t slot = 0; slot < L1_SLOTS; ++slot) WaitFlag<HardEvent::MTE1_MTE2>(L1_KEY_EMPTY + slot);
        for (int32_t slot = 0; slot < L0_SLOTS; ++slot) {
            WaitFlag<HardEvent::M_MTE1>(L0_EMPTY + slot);
            WaitFlag<HardEvent::FIX_M>(L0C_EMPTY + slot);
        }
        const int32_t unread = handoffs_ < QSI_RING_SLOTS ? handoffs_ : QSI_RING_SLOTS;
        for (int32_t i = 0; i < unread; ++i) CrossCoreWaitFlag(V2C_DOTS_EMPTY);
    }

private:
    using HardEvent = AscendC::HardEvent;
    static constexpr int32_t ROW_BYTES = RANK / 2;
    static constexpr int32_t PLANES = ROW_BYTES / AtlasA2::DATABLOCK_BYTES;
    static constexpr int32_t STEP_TOKENS = qsi_step_tokens(RANK);

    // Tokens between two planes in L1 and L0B.
    SALS_DEVICE static int32_t plane_tokens(const Step& step) {
        constexpr int32_t ROWS = AtlasA2::FRACTAL_ROWS;
        return (step.count + ROWS - 1) / ROWS * ROWS;
    }

    SALS_DEVICE void push(const Step& step) {
        steps_[loaded_ % L1_SLOTS] = step;
        load(step, loaded_ % L1_SLOTS);
        ++loaded_;
        if (loaded_ - multiplied_ == L1_SLOTS) multiply();
    }

    SALS_DEVICE void load(const Step& step, int32_t slot) {
        WaitFlag<HardEvent::MTE1_MTE2>(L1_KEY_EMPTY + slot);
        // A piece has a step at least: the slot of its query is free when that of the keys is.
        if (step.begins_piece) {
            const uint64_t begin = static_cast<uint64_t>(int64_t{step.row} * ROW_BYTES);
            DataCopy(l1_query(step), gm_query_[begin], ROW_BYTES);
        }
        for (int32_t done = 0; done < step.count;) {
            const PageRun run = pages_.run(step.request, step.token + done, step.count - done);
            load_run(step, slot, done, run);
            done += run.count;
        }
        SetFlag<HardEvent::MTE2_MTE1>(L1_KEY_FULL + slot);
    }

    SALS_DEVICE void load_run(const Step& step, int32_t slot, int32_t at, const PageRun& run) {
        const RowGeometry keys = row_geometry(cache_, run.page, step.head, false);
        const int64_t begin = keys.base + run.offset * keys.token_stride;
        const auto to = l1_keys(slot)[at * AtlasA2::DATABLOCK_BYTES];
        if constexpr (FORM == QsiKeyForm::PLANES) {
            const int32_t plane_bytes = plane_tokens(step) * AtlasA2::DATABLOCK_BYTES;
            for (int32_t plane = 0; plane < PLANES; ++plane) {
                DataCopy(to[plane * plane_bytes],
                         gm_keys_[static_cast<uint64_t>(begin + plane * keys.plane_stride)],
                         run.count * AtlasA2::DATABLOCK_BYTES);
            }
        } else {
            // As int32, whose C0 is 32 bytes like that of any type: strides reach four times as far.
            AscendC::Nd2NzParams rows;
            rows.ndNum = 1;
            rows.nValue = run.count;
            rows.dValue = ROW_BYTES / sizeof(int32_t);
            rows.srcNdMatrixStride = 0;
            rows.srcDValue = static_cast<uint16_t>(keys.token_stride / sizeof(int32_t));
            rows.dstNzC0Stride = plane_tokens(step);
            rows.dstNzNStride = 1;
            rows.dstNzMatrixStride = 0;
            AscendC::GlobalTensor<int32_t> words;
            words.SetGlobalBuffer(
                reinterpret_cast<__gm__ int32_t*>(const_cast<__gm__ int8_t*>(gm_keys_.GetPhyAddr(begin))));
            DataCopy(to.template ReinterpretCast<int32_t>(), words, rows);
        }
    }

    SALS_DEVICE AscendC::LocalTensor<int8_t> l1_keys(int32_t slot) {
        return view<int8_t>(l1_.template Get<uint8_t>(),
                            offsetof(L1Plan, keys) + slot * sizeof(L1Plan::keys[0]));
    }
    SALS_DEVICE AscendC::LocalTensor<int8_t> l1_query(const Step& step) {
        const int32_t slot = step.query % L1_SLOTS;
        return view<int8_t>(l1_.template Get<uint8_t>(),
                            offsetof(L1Plan, query) + slot * sizeof(L1Plan::query[0]));
    }

    // Products of the oldest step that is loaded.
    SALS_DEVICE void multiply() {
        const Step& step = steps_[multiplied_ % L1_SLOTS];
        const int32_t l0_slot = multiplied_ % L0_SLOTS;
        fill_l0(step, multiplied_ % L1_SLOTS, l0_slot);

        WaitFlag<HardEvent::FIX_M>(L0C_EMPTY + l0_slot);
        WaitFlag<HardEvent::MTE1_M>(L0_FULL + l0_slot);
        AscendC::MmadParams product;
        product.m = 1;
        product.n = step.count;
        product.k = RANK;
        product.cmatrixInitVal = true;
        Mmad(l0c_dots(l0_slot), l0_query(l0_slot).template ReinterpretCast<AscendC::int4b_t>(),
             l0_keys(l0_slot).template ReinterpretCast<AscendC::int4b_t>(), product);
        SetFlag<HardEvent::M_MTE1>(L0_EMPTY + l0_slot);
        SetFlag<HardEvent::M_FIX>(L0C_FULL + l0_slot);

        store(step, l0_slot);
        ++multiplied_;
    }

    SALS_DEVICE void fill_l0(const Step& step, int32_t l1_slot, int32_t l0_slot) {
        WaitFlag<HardEvent::M_MTE1>(L0_EMPTY + l0_slot);
        WaitFlag<HardEvent::MTE2_MTE1>(L1_KEY_FULL + l1_slot);
        AscendC::LoadData2DParams fractals;
        fractals.repeatTimes = 1;
        fractals.srcStride = 1;
        const auto keys = l1_keys(l1_slot);
        LoadData(l0_query(l0_slot), l1_query(step), fractals);
        // Planes follow each other in L1 as the cube wants them in L0B: one run of fractals.
        fractals.repeatTimes = PLANES * plane_tokens(step) / AtlasA2::FRACTAL_ROWS;
        LoadData(l0_keys(l0_slot), keys, fractals);
        SetFlag<HardEvent::MTE1_MTE2>(L1_KEY_EMPTY + l1_slot);
        SetFlag<HardEvent::MTE1_M>(L0_FULL + l0_slot);
    }

    SALS_DEVICE void store(const Step& step, int32_t l0_slot) {
        if (step.begins_handoff && step.handoff >= QSI_RING_SLOTS) CrossCoreWaitFlag(V2C_DOTS_EMPTY);
        WaitFlag<HardEvent::M_FIX>(L0C_FULL + l0_slot);
        AscendC::FixpipeParamsV220 row;
        row.nSize = plane_tokens(step);  // whole fractals; the ring has room for them
        row.mSize = 1;
        row.srcStride = AtlasA2::FRACTAL_ROWS;
        row.dstStride = row.nSize;
        row.quantPre = QuantMode_t::NoQuant;
        const int64_t slot = step.handoff % QSI_RING_SLOTS;
        Fixpipe(ws_dots_[static_cast<uint64_t>(slot * QSI_HANDOFF_TOKENS + step.dots)], l0c_dots(l0_slot),
                row);
        SetFlag<HardEvent::FIX_M>(L0C_EMPTY + l0_slot);
        if (step.ends_handoff) AscendC::CrossCoreSetFlag<MODE_CUBE_VECTOR, PIPE_FIX>(C2V_DOTS_FULL);
    }

    SALS_DEVICE AscendC::LocalTensor<int8_t> l0_query(int32_t slot) {
        return view<int8_t>(l0a_.template Get<uint8_t>(), slot * sizeof(L0aPlan::query[0]));
    }
    SALS_DEVICE AscendC::LocalTensor<int8_t> l0_keys(int32_t slot) {
        return view<int8_t>(l0b_.template Get<uint8_t>(), slot * sizeof(L0bPlan::keys[0]));
    }
    SALS_DEVICE AscendC::LocalTensor<int32_t> l0c_dots(int32_t slot) {
        return view<int32_t>(l0c_.template Get<uint8_t>(), slot * sizeof(L0cPlan::dots[0]));
    }

    CacheShape cache_;
    CachePages pages_;
    AscendC::TBuf<AscendC::TPosition::A1> l1_;
    AscendC::TBuf<AscendC::TPosition::A2> l0a_;
    AscendC::TBuf<AscendC::TPosition::B2> l0b_;
    AscendC::TBuf<AscendC::TPosition::CO1> l0c_;
    AscendC::GlobalTensor<int8_t> gm_query_, gm_keys_;
    AscendC::GlobalTensor<int32_t> ws_dots_;
    Step steps_[L1_SLOTS];
    int32_t loaded_ = 0;      // steps so far
    int32_t multiplied_ = 0;  // steps so far
    int32_t handoffs_ = 0;    // so far
    int32_t queries_ = 0;     // pieces so far
};

}  // namespace sals::qsi
