// SPDX-License-Identifier: Apache-2.0
// cube_memory.h - the memories of the cube core and the turns that products take in L0. Both products go
// through the same slots: steps alternate in L0A and L0B, results in L0C.
#pragma once
#include "sfaa/sync.h"
#include "sfaa/tasks.h"

namespace sals::sfaa {

// Rows of a product: two terms of every query row of a pass, in whole fractals.
SALS_DEVICE int32_t product_rows(const Pass& pass) { return SFAA_TERMS * pass.query_rows; }
SALS_DEVICE int32_t padded_product_rows(const Pass& pass) {
    return round_up(product_rows(pass), AtlasA2::FRACTAL_ROWS);
}

class CubeMemory {
public:
    SALS_DEVICE explicit CubeMemory(AscendC::TPipe& pipe) {
        pipe.InitBuffer(l1_, sizeof(L1Plan));
        pipe.InitBuffer(l0a_, sizeof(L0aPlan));
        pipe.InitBuffer(l0b_, sizeof(L0bPlan));
        pipe.InitBuffer(l0c_, sizeof(L0cPlan));
    }

    SALS_DEVICE void open() {
        for (int32_t slot = 0; slot < SFAA_KV_SLOTS; ++slot) {
            SetFlag<HardEvent::MTE1_MTE2>(L1_KV_EMPTY + slot);
        }
        SetFlag<HardEvent::MTE1_MTE2>(L1_QUERY_EMPTY);
        SetFlag<HardEvent::MTE1_MTE2>(L1_WEIGHTS_EMPTY);
        SetFlag<HardEvent::M_MTE1>(L0A_QUERY_EMPTY);
        for (int32_t slot = 0; slot < L0_SLOTS; ++slot) SetFlag<HardEvent::M_MTE1>(L0_EMPTY + slot);
        for (int32_t slot = 0; slot < L0C_SLOTS; ++slot) SetFlag<HardEvent::FIX_M>(L0C_EMPTY + slot);
    }

    SALS_DEVICE void close() {
        for (int32_t slot = 0; slot < SFAA_KV_SLOTS; ++slot) {
            WaitFlag<HardEvent::MTE1_MTE2>(L1_KV_EMPTY + slot);
        }
        WaitFlag<HardEvent::MTE1_MTE2>(L1_QUERY_EMPTY);
        WaitFlag<HardEvent::MTE1_MTE2>(L1_WEIGHTS_EMPTY);
        WaitFlag<HardEvent::M_MTE1>(L0A_QUERY_EMPTY);
        for (int32_t slot = 0; slot < L0_SLOTS; ++slot) WaitFlag<HardEvent::M_MTE1>(L0_EMPTY + slot);
        for (int32_t slot = 0; slot < L0C_SLOTS; ++slot) WaitFlag<HardEvent::FIX_M>(L0C_EMPTY + slot);
    }

    // ---- L1 ----
    SALS_DEVICE AscendC::LocalTensor<int8_t> l1_keys(int32_t task) {
        return l1_part(kv_offset(task) + offsetof(L1Plan::KvSlot, keys));
    }
    SALS_DEVICE AscendC::LocalTensor<int8_t> l1_values(int32_t task) {
        return l1_part(kv_offset(task) + offsetof(L1Plan::KvSlot, values));
    }
    SALS_DEVICE AscendC::LocalTensor<int8_t> l1_query() { return l1_part(offsetof(L1Plan, query)); }
    SALS_DEVICE AscendC::LocalTensor<int8_t> l1_weights() { return l1_part(offsetof(L1Plan, weights)); }

    // ---- L0: the slot of the step, or of the product, that is in work ----
    SALS_DEVICE AscendC::LocalTensor<int8_t> l0a_query() {
        return view<int8_t>(l0a_.template Get<uint8_t>(), offsetof(L0aPlan, query));
    }
    SALS_DEVICE AscendC::LocalTensor<int8_t> l0a_weights() {
        return view<int8_t>(l0a_.template Get<uint8_t>(),
                            offsetof(L0aPlan, weights) + step_ * L0A_STEP_BYTES);
    }
    SALS_DEVICE AscendC::LocalTensor<int8_t> l0b() {
        return view<int8_t>(l0b_.template Get<uint8_t>(), step_ * L0_STEP_BYTES);
    }
    SALS_DEVICE AscendC::LocalTensor<int32_t> l0c() {
        return view<int32_t>(l0c_.template Get<uint8_t>(), product_ * L0C_BYTES);
    }

    SALS_DEVICE void begin_step() { WaitFlag<HardEvent::M_MTE1>(L0_EMPTY + step_); }

    // The step is in L0: the cube may take it.
    SALS_DEVICE void hand_step_to_cube() {
        SetFlag<HardEvent::MTE1_M>(L0_FULL + step_);
        WaitFlag<HardEvent::MTE1_M>(L0_FULL + step_);
    }

    SALS_DEVICE void end_step() {
        SetFlag<HardEvent::M_MTE1>(L0_EMPTY + step_);
        step_ = (step_ + 1) % L0_SLOTS;
    }

    SALS_DEVICE void begin_product() { WaitFlag<HardEvent::FIX_M>(L0C_EMPTY + product_); }

    // Stores the product of `rows` x `columns` to rows of `stride` elements.
    SALS_DEVICE void store_product(const AscendC::GlobalTensor<int32_t>& to, int32_t rows, int32_t columns,
                                   int32_t stride) {
        SetFlag<HardEvent::M_FIX>(L0C_FULL + product_);
        WaitFlag<HardEvent::M_FIX>(L0C_FULL + product_);
        AscendC::FixpipeParamsV220 params;
        params.nSize = columns;
        params.mSize = rows;
        params.srcStride = round_up(rows, AtlasA2::FRACTAL_ROWS);
        params.dstStride = stride;
        params.quantPre = QuantMode_t::NoQuant;
        Fixpipe(to, l0c(), params);
        SetFlag<HardEvent::FIX_M>(L0C_EMPTY + product_);
        product_ = (product_ + 1) % L0C_SLOTS;
    }

    // Rows of L1, in planes of 32 bytes of `padded_rows` each, to L0A: fractals row by row. The planes are
    // [plane, plane + planes).
    SALS_DEVICE static void load_rows(const AscendC::LocalTensor<int8_t>& l0a,
                                      const AscendC::LocalTensor<int8_t>& l1, int32_t padded_rows,
                                      int32_t plane, int32_t planes) {
        const int32_t groups = padded_rows / AtlasA2::FRACTAL_ROWS;
        AscendC::LoadData2DParams fractals;
        fractals.repeatTimes = planes;
        fractals.srcStride = groups;
        for (int32_t group = 0; group < groups; ++group) {
            LoadData(l0a[group * planes * AtlasA2::FRACTAL_BYTES],
                     l1[(plane * groups + group) * AtlasA2::FRACTAL_BYTES], fractals);
        }
    }

    // Whole rows from global memory to planes of 32 bytes in L1, as int32, whose C0 is 32 bytes as well.
    SALS_DEVICE static void fetch_rows(const AscendC::LocalTensor<int8_t>& l1,
                                       const AscendC::GlobalTensor<int8_t>& gm, int32_t rows,
                                       int32_t row_bytes, int32_t stride_bytes) {
        AscendC::Nd2NzParams params;
        params.ndNum = 1;
        params.nValue = rows;
        params.dValue = row_bytes / sizeof(int32_t);
        params.srcNdMatrixStride = 0;
        params.srcDValue = stride_bytes / sizeof(int32_t);
        params.dstNzC0Stride = round_up(rows, AtlasA2::FRACTAL_ROWS);
        params.dstNzNStride = 1;
        params.dstNzMatrixStride = 0;
        DataCopy(l1.template ReinterpretCast<int32_t>(), words_at(gm, 0), params);
    }

    SALS_DEVICE static AscendC::GlobalTensor<int32_t> words_at(const AscendC::GlobalTensor<int8_t>& bytes,
                                                               int64_t offset) {
        AscendC::GlobalTensor<int32_t> words;
        words.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(
            const_cast<__gm__ int8_t*>(bytes.GetPhyAddr(static_cast<uint64_t>(offset)))));
        return words;
    }

private:
    using HardEvent = AscendC::HardEvent;

    SALS_DEVICE static uint32_t kv_offset(int32_t task) {
        return offsetof(L1Plan, kv) + task % SFAA_KV_SLOTS * sizeof(L1Plan::KvSlot);
    }
    SALS_DEVICE AscendC::LocalTensor<int8_t> l1_part(uint32_t offset) {
        return view<int8_t>(l1_.template Get<uint8_t>(), offset);
    }

    AscendC::TBuf<AscendC::TPosition::A1> l1_;
    AscendC::TBuf<AscendC::TPosition::A2> l0a_;
    AscendC::TBuf<AscendC::TPosition::B2> l0b_;
    AscendC::TBuf<AscendC::TPosition::CO1> l0c_;
    int32_t step_ = 0;
    int32_t product_ = 0;
};

}  // namespace sals::sfaa
