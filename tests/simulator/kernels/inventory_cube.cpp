// SPDX-License-Identifier: Apache-2.0
// inventory_cube.cpp - what the same kernels use on the cube core, and every flag they set.
#include "cube_staging.h"

namespace {

constexpr uint32_t SIDE = 16;
constexpr IsResetLoad3dConfig SETS_BOTH = {true, true};

template <HardEvent... events>
void order(int32_t id) {
    ((SetFlag<events>(id), WaitFlag<events>(id)), ...);
}

MmadParams shape(uint16_t k) {
    MmadParams params;
    params.m = params.n = SIDE;
    params.k = k;
    params.cmatrixInitVal = true;
    params.cmatrixSource = false;
    params.unitFlag = 0;
    return params;
}

// int32 sums of int8 [16, 32] and [16, 32] transposed, once as they are and once as half / 1024, twice added.
void integer_product(GM_ADDR a, GM_ADDR b, GM_ADDR sums, GM_ADDR scaled) {
    Nd2NzParams rows;
    rows.ndNum = 1;
    rows.nValue = SIDE;
    rows.dValue = rows.srcDValue = 32;
    rows.srcNdMatrixStride = rows.dstNzMatrixStride = 0;
    rows.dstNzC0Stride = SIDE;
    rows.dstNzNStride = 1;
    DataCopy(l1(0).ReinterpretCast<int8_t>(), gm<int8_t>(a), rows);
    DataCopy(l1(L1_SECOND).ReinterpretCast<int8_t>(), gm<int8_t>(b), rows);
    order<HardEvent::MTE2_MTE1>(0);
    load(TPosition::A2, 0, 1);
    load(TPosition::B2, L1_SECOND, 1);
    order<HardEvent::MTE1_M>(0);
    SetMMLayoutTransform(false);
    Mmad(operand<int32_t>(TPosition::CO1), operand<int8_t>(TPosition::A2), operand<int8_t>(TPosition::B2),
         shape(32));
    PipeBarrier<PIPE_M>();
    order<HardEvent::M_FIX>(0);
    FixpipeParamsV220 out;
    out.nSize = out.mSize = out.srcStride = SIDE;
    out.dstStride = SIDE;
    out.ndNum = 1;
    out.quantPre = QuantMode_t::DEQF16;
    const float factor = 1.0f / 1024;
    uint32_t bits;
    std::memcpy(&bits, &factor, sizeof(bits));
    out.deqScalar = bits;
    SetAtomicAdd<half>();
    for (int i = 0; i < 2; ++i) {
        Fixpipe<half, int32_t, CFG_ROW_MAJOR>(gm<half>(scaled), operand<int32_t>(TPosition::CO1), out);
        PipeBarrier<PIPE_FIX>();
    }
    SetAtomicNone();
    DataCopyCO12DstParams plain;
    plain.nSize = plain.mSize = plain.srcStride = SIDE;
    plain.dstStride = SIDE;
    plain.quantPre = QuantMode_t::NoQuant;
    plain.nz2ndEn = true;
    SetFixpipeNz2ndFlag(1, 1, 1);
    DataCopy(gm<int32_t>(sums), operand<int32_t>(TPosition::CO1), plain);
}

// Half [16, 16] times half [16, 16], the second by rows of k.
void half_product(GM_ADDR a, GM_ADDR b, GM_ADDR y) {
    const uint8_t no_padding[4] = {0, 0, 0, 0};
    stage(0, a, 1);
    stage(L1_SECOND, b, 1);
    order<HardEvent::MTE2_MTE1>(1);
    LoadData3DParamsV2<half> window(no_padding, 1, SIDE, SIDE, SIDE, SIDE, 0, 0, 1, 1, 1, 1, 1, 1, false,
                                    false, half(0.0f));
    LoadData<half, SETS_BOTH>(operand<half>(TPosition::A2), l1(0).ReinterpretCast<half>(), window);
    LoadData2dTransposeParams square;
    square.startIndex = 0;
    square.repeatTimes = 1;
    square.srcStride = 1;
    square.dstGap = square.dstFracGap = 0;
    LoadDataWithTranspose(operand<half>(TPosition::B2), l1(L1_SECOND).ReinterpretCast<half>(), square);
    order<HardEvent::MTE1_M>(1);
    Mmad(operand<float>(TPosition::CO1), operand<half>(TPosition::A2), operand<half>(TPosition::B2),
         shape(SIDE));
    order<HardEvent::M_FIX>(1);
    FixpipeParamsV220 out(SIDE, SIDE, SIDE, SIDE, false);
    out.ndNum = 1;
    Fixpipe<float, float, CFG_ROW_MAJOR>(gm<float>(y), operand<float>(TPosition::CO1), out);
}

}  // namespace

ENTRY inventory_products(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR d, GM_ADDR sums, GM_ADDR scaled,
                         GM_ADDR product) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    integer_product(a, b, sums, scaled);
    order<HardEvent::MTE1_MTE2, HardEvent::FIX_M>(3);
    PipeBarrier<PIPE_ALL>();
    half_product(c, d, product);
}

ENTRY inventory_flags(GM_ADDR y) {
    TPipe pipe;
    if ASCEND_IS_AIC {
        order<HardEvent::MTE1_MTE2, HardEvent::M_MTE1, HardEvent::MTE2_MTE1, HardEvent::MTE1_M,
              HardEvent::FIX_M, HardEvent::M_FIX, HardEvent::MTE3_MTE2, HardEvent::S_MTE2>(3);
    }
    if ASCEND_IS_AIV {
        order<HardEvent::MTE3_V, HardEvent::V_MTE2, HardEvent::S_MTE2, HardEvent::V_MTE3, HardEvent::V_S,
              HardEvent::S_MTE3, HardEvent::MTE2_V, HardEvent::MTE3_S, HardEvent::MTE3_MTE2,
              HardEvent::MTE2_MTE3>(EVENT_ID3);
        gm<int32_t>(y).SetValue(GetBlockIdx() * 16, 1);
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE>(gm<int32_t>(y)[GetBlockIdx() * 16]);
    }
}
