// SPDX-License-Identifier: Apache-2.0
// inventory.cpp - every function, built-in, macro and parameter structure of Ascend C that the vendor's
// kernels for indexing and for sparse attention use, in the forms they use.
#include "ascendc/host_api/tiling/template_argument.h"
#include "kernel_tiling/kernel_tiling.h"
#include "parameters.h"

ASCENDC_TPL_ARGS_DECL(Inventory, ASCENDC_TPL_DTYPE_DECL(DTYPE, 1, 27),
                      ASCENDC_TPL_UINT_DECL(LAYOUT, ASCENDC_TPL_8_BW, ASCENDC_TPL_UI_LIST, 0, 1),
                      ASCENDC_TPL_BOOL_DECL(FLASH_DECODE, 0, 1));
ASCENDC_TPL_SEL(ASCENDC_TPL_ARGS_SEL(ASCENDC_TPL_DTYPE_SEL(DTYPE, 1),
                                     ASCENDC_TPL_UINT_SEL(LAYOUT, ASCENDC_TPL_UI_LIST, 0),
                                     ASCENDC_TPL_BOOL_SEL(FLASH_DECODE, 1)));

namespace {

constexpr uint32_t LANES = 64;
constexpr uint32_t SLOTS = 25;
constexpr uint32_t RESULTS = 65536;  // bytes: where the slots begin in UB
constexpr uint32_t SPARE = 131072;

template <HardEvent event>
void order(int32_t id = EVENT_ID0) {
    SetFlag<event>(id);
    WaitFlag<event>(id);
}

template <class T = float>
LocalTensor<T> at(TPosition position, uint32_t begin, uint32_t elements = 4096) {
    return LocalTensor<T>(position, begin, elements);
}

LocalTensor<float> slot(uint32_t i) { return at(TPosition::VECCALC, RESULTS)[i * LANES]; }

void arithmetic(const LocalTensor<float>& a, const LocalTensor<float>& b) {
    const BinaryRepeatParams strides{1, 1, 1, 8, 8, 8};
    const uint64_t even[2] = {0x5555555555555555, 0};
    Duplicate(slot(0), 2.5f, LANES);
    Duplicate(slot(1), 1.0f, even, 1, 1, 8);
    Add(slot(2), a, b, LANES);
    Adds(slot(3), a, 0.5f, LANES);
    Sub(slot(4), a, b, uint64_t{LANES}, 1, strides);
    Mul(slot(5), a, b, LANES);
    Muls(slot(6), a, 3.0f, LANES);
    Div(slot(7), a, b, LANES);
    Max(slot(8), a, b, LANES);
    Exp(slot(9), b, LANES);
    Log(slot(10), a, LANES);
    Abs(slot(11), b, LANES);
}

void conversions(const LocalTensor<float>& b) {
    const auto halves = at<half>(TPosition::VECCALC, SPARE);
    const auto integers = at<int32_t>(TPosition::VECCALC, SPARE + 1024);
    Cast(halves, b, RoundMode::CAST_RINT, LANES);
    Cast(integers, b, RoundMode::CAST_ROUND, LANES);
    PipeBarrier<PIPE_V>();
    Cast(slot(12), halves, RoundMode::CAST_NONE, LANES);
    Cast(slot(13), integers, RoundMode::CAST_NONE, LANES);
}

void choices(const LocalTensor<float>& a) {
    const BrcbRepeatParams spread{1, 8};
    const CopyRepeatParams copied{1, 1, 8, 8};
    const GatherMaskParams gathered{1, 1, 8, 0};
    Brcb(slot(14), a, 1, spread);
    BlockReduceMax(slot(15), a, 1, LANES, 1, 1, 8);
    BlockReduceSum(slot(16), a, 1, LANES, 1, 1, 8);
    WholeReduceMax(slot(17), a, LANES, 1, 1, 1, 8, ReduceOrder::ORDER_VALUE_INDEX);
    Copy(slot(18), a, uint64_t{LANES}, 1, copied);
    DataCopy(slot(19), a, LANES);
    uint64_t kept = 0;
    GatherMask(slot(20), a, 1, false, 0, gathered, kept);
}

void sorting(const LocalTensor<float>& a) {
    const auto ids = at<int32_t>(TPosition::VECCALC, SPARE + 2048);
    ArithProgression<int32_t>(ids, 0, 1, LANES);
    PipeBarrier<PIPE_V>();
    Sort32(slot(21), a, ids.ReinterpretCast<uint32_t>(), 2);
    PipeBarrier<PIPE_V>();
    MrgSort4Info info;
    info.elementLengths[0] = info.elementLengths[1] = 32;
    info.ifExhaustedSuspension = false;
    info.validBit = 0b0011;
    info.repeatTimes = 1;
    const MrgSortSrcList<float> lists(slot(21), slot(22), slot(21), slot(22));
    MrgSort<float>(slot(23), lists, info);
}

}  // namespace

ENTRY inventory_vector(GM_ADDR x, GM_ADDR y) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 2 * LANES * sizeof(float));
    LocalTensor<float> a = buffer.Get<float>();
    const LocalTensor<float> b = a[LANES];
    DataCopyParams plain;
    plain.blockCount = 1;
    plain.blockLen = LANES * sizeof(float) / ONE_BLK_SIZE;
    plain.srcGap = plain.dstGap = 0;
    const DataCopyExtParams pieces{1, LANES * sizeof(float), 0, 0, 0};
    const DataCopyPadExtParams<float> padding{false, 0, 0, 0.0f};
    DataCopy(a, gm<float>(x), plain);
    DataCopyPad(b, gm<float>(x)[LANES], pieces, padding);
    order<HardEvent::MTE2_V>();
    Duplicate(slot(0), 0.0f, SLOTS * LANES);
    PipeBarrier<PIPE_V>();
    arithmetic(a, b);
    conversions(b);
    choices(a);
    sorting(a);
    order<HardEvent::V_MTE3>();
    DataCopy(gm<float>(y), slot(0), SLOTS * LANES);
    pipe.Reset();
}

// What the tensors know, and what kernels ask about where they run.
ENTRY inventory_system(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    ICachePreLoad(2);
    if ASCEND_IS_AIC {
        CrossCoreWaitFlag(5);
        CrossCoreSetFlag<2, PIPE_FIX>(6);
        return;
    }
    TPipe pipe;
    CrossCoreSetFlag<2, PIPE_MTE3>(5);
    CrossCoreWaitFlag(6);
    GlobalTensor<int32_t> out = gm<int32_t>(y);
    out.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    if (GetBlockIdx() == 0) {
        InitGlobalMemory(out, 16, 3);
        matmul::InitOutput<int32_t>(gm<int32_t>(GetUserWorkspace(workspace)), 16, 5);
        order<HardEvent::MTE3_S>();
    }
    SyncAll();
    if (GetBlockIdx() != 1) return;
    LocalTensor<float> tensor = at(TPosition::VECCALC, 64, 32);
    const uint32_t sizes[2] = {4, 8};
    tensor.SetShapeInfo(ShapeInfo(2, sizes));
    tensor.SetSize(16);
    tensor.SetValue(0, 1.5f);
    GlobalTensor<uint64_t> line;
    line.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(x), 8);
    DataCachePreload(line, int64_t{0});
    const int32_t values[] = {
        static_cast<int32_t>(GetBlockNum()),
        static_cast<int32_t>(GetSubBlockIdx()),
        static_cast<int32_t>(tensor.GetSize()),
        static_cast<int32_t>(tensor.ReinterpretCast<half>().GetSize()),
        static_cast<int32_t>(GetShapeSize(tensor.GetShapeInfo())),
        tensor.ReinterpretCast<int32_t>().GetValue(0),
        gm<int32_t>(x).GetValue(1),
        static_cast<int32_t>(gm<int32_t>(x).GetPhyAddr(2) - gm<int32_t>(x).GetPhyAddr()),
        gm<int32_t>(workspace).GetValue(15)};
    for (uint32_t i = 0; i < sizeof(values) / sizeof(values[0]); ++i) out.SetValue(i, values[i]);
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE>(out);
}

// A tiling struct by way of UB on an AIV and straight from GM on an AIC, as generated code copies it.
struct Embedded {
    int32_t numbers[10];
    SoftMaxTiling softmax;
    ConfusionTransposeTiling transpose;
};

ENTRY inventory_raw(GM_ADDR tiling, GM_ADDR y) {
    TPipe pipe;
    GET_TILING_DATA_WITH_STRUCT(Embedded, expected, tiling);
    Embedded copied;
    uint8_t* const bytes = reinterpret_cast<uint8_t*>(&copied);
    if ASCEND_IS_AIC {
        copy_data_align64(bytes, tiling, sizeof(Embedded));
    } else {
        __ubuf__ uint8_t* const staged = reinterpret_cast<__ubuf__ uint8_t*>(get_imm(0));
        copy_gm_to_ubuf(staged, tiling, 0, 1, (sizeof(Embedded) + 31) / 32, 0, 0);
        set_flag(PIPE_MTE2, PIPE_S, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_S, EVENT_ID0);
        copy_data_align64(bytes, staged, sizeof(Embedded));
    }
    const bool same = copied.numbers[9] == expected.numbers[9] &&
                      copied.softmax.reduceM == expected.softmax.reduceM &&
                      copied.transpose.param17 == expected.transpose.param17;
    const int32_t verdict = same ? copied.transpose.param17 : 0;
    if ASCEND_IS_AIC {
        gm<int32_t>(y).SetValue(32, verdict);
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE>(gm<int32_t>(y)[32]);
        return;
    }
    const LocalTensor<int32_t> result = at<int32_t>(TPosition::VECCALC, 4096);
    Duplicate(result, verdict, 16);
    pipe_barrier(PIPE_ALL);
    __ubuf__ int32_t* const from = reinterpret_cast<__ubuf__ int32_t*>(result.GetPhyAddr());
    copy_ubuf_to_gm(y + 64 * GetBlockIdx(), from, 0, 2, 1, 0, 0);
}
