// SPDX-License-Identifier: Apache-2.0
// vec_library.cpp - library functions composed of vector instructions, and instructions that work through
// registers.
#include "parameters.h"

namespace {

constexpr uint32_t TILE = 65536;  // bytes of source and destination
constexpr uint32_t STATISTIC = 4096;
constexpr uint32_t SCRATCH = 2 * TILE + 5 * STATISTIC;

template <class T = float>
LocalTensor<T> ub(uint32_t begin, uint32_t bytes = TILE) {
    return LocalTensor<T>(TPosition::VECCALC, begin, bytes / sizeof(T));
}

LocalTensor<float> statistic(uint32_t i) { return ub(2 * TILE + i * STATISTIC, STATISTIC); }

constexpr SoftmaxConfig NARROW = {false, 0, 0, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC};

DataCopyExtParams bytes(uint32_t count) { return {1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0}; }

void loaded() {
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
}

void computed() {
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
}

// Parameters: m, k, columns that are not padding, bytes of scratch, in place (2: nor waiting for the source),
// rows that the tiling was made for.
template <bool UPDATE, const SoftmaxConfig& CONFIG>
void softmax(GM_ADDR x, GM_ADDR before, GM_ADDR y, GM_ADDR after, const Parameters& p) {
    TPipe pipe;
    const uint32_t m = p[0], k = p[1], scratch = p[3];
    const bool in_place = p[4] != 0;
    const uint32_t count = CONFIG.mode == SoftmaxMode::SOFTMAX_NORMAL ? m * 8 : m;
    const LocalTensor<float> src = ub(0), dst = ub(in_place ? 0 : TILE);
    const LocalTensor<float> sum = statistic(in_place ? 3 : 0), max = statistic(in_place ? 4 : 1);
    DataCopy(src, gm<float>(x), m * k);
    for (uint32_t i = 0; i < 2; ++i)
        DataCopyPad(statistic(3 + i), gm<float>(before)[i * count], bytes(count), {});
    if (p[4] != 2) loaded();
    const SoftMaxShapeInfo shape{m, k, m, static_cast<uint32_t>(p[2])};
    const SoftMaxShapeInfo seen{static_cast<uint32_t>(p[5]), k, m, k};
    const SoftMaxTiling tiling = SoftMaxFlashV2TilingFunc(seen, sizeof(float), sizeof(float), scratch, UPDATE,
                                                          false, false, &CONFIG == &NARROW);
    SoftmaxFlashV2<float, UPDATE, true, false, false, CONFIG>(dst, sum, max, src, statistic(2), statistic(3),
                                                              statistic(4), ub<uint8_t>(SCRATCH, scratch),
                                                              tiling, shape);
    computed();
    DataCopy(gm<float>(y), dst, m * k);
    DataCopyPad(gm<float>(after), sum, bytes(count));
    DataCopyPad(gm<float>(after)[count], max, bytes(count));
    if (UPDATE) DataCopyPad(gm<float>(after)[2 * count], statistic(2), bytes(count));
}

}  // namespace

#define SOFTMAX(NAME, UPDATE, CONFIG)                                                        \
    ENTRY softmax_##NAME(GM_ADDR x, GM_ADDR before, GM_ADDR y, GM_ADDR after, GM_ADDR p) {   \
        if (GetBlockIdx() == 0) softmax<UPDATE, CONFIG>(x, before, y, after, Parameters(p)); \
    }

SOFTMAX(first, false, SOFTMAX_DEFAULT_CFG)
SOFTMAX(first_narrow, false, NARROW)
SOFTMAX(update, true, SOFTMAX_DEFAULT_CFG)
SOFTMAX(update_narrow, true, NARROW)

namespace {

template <class T>
void select_through_register(GM_ADDR a, GM_ADDR b, GM_ADDR y, int32_t mode) {
    constexpr uint32_t LANES = 256 / sizeof(T), REPEATS = 2;
    const auto src0 = ub<T>(0), src1 = ub<T>(TILE), dst = ub<T>(2 * TILE);
    const auto bits = ub<uint8_t>(3072, 256), scalar = ub<uint8_t>(4096, 256);
    const BinaryRepeatParams strides{1, 1, 1, 8, 8, 8};
    DataCopy(src0, gm<T>(a), LANES * REPEATS);
    DataCopy(src1, gm<T>(b), LANES * REPEATS);
    loaded();
    Compares(bits, src0, static_cast<T>(0.0f), CMPMODE::GT, LANES * REPEATS);
    PipeBarrier<PIPE_V>();
    SetVectorMask<T>(LANES);
    if (mode == 0) {
        Compare(src0, src1, CMPMODE::LT, uint64_t{LANES - 3}, strides);
        SetVectorMask<T>(LANES);
        Select<T, SELMODE::VSEL_CMPMASK_SPR>(dst, src0, src1, REPEATS, strides);
    } else if (mode == 1) {
        Duplicate(scalar.ReinterpretCast<T>(), static_cast<T>(-7.5f), LANES);
        PipeBarrier<PIPE_V>();
        SetCmpMask(scalar);
        SetVectorMask<T>(LANES);
        Select(dst, bits, src0, REPEATS, strides);
    } else if (mode == 2) {
        const auto address = scalar.ReinterpretCast<uint32_t>();
        Duplicate(address, static_cast<uint32_t>(bits.GetPhyAddr()), 32);
        PipeBarrier<PIPE_V>();
        SetCmpMask(address);
        SetVectorMask<T>(LANES);
        Select<T, SELMODE::VSEL_TENSOR_TENSOR_MODE>(dst, src0, src1, REPEATS, strides);
    } else {
        Select<T, SELMODE::VSEL_CMPMASK_SPR>(dst, src0, src1, REPEATS, strides);
    }
    computed();
    DataCopy(gm<T>(y), dst, LANES * REPEATS);
}

// The extreme and its place, the same by the registers, a sum by its register.
template <class T>
void reduce_into_registers(GM_ADDR x, GM_ADDR y, GM_ADDR places) {
    constexpr uint32_t LANES = 256 / sizeof(T), REPEATS = 5;
    using Index = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
    DataCopy(ub<T>(0), gm<T>(x), LANES * REPEATS);
    loaded();
    T value{}, place{};
    const auto keep = [&](uint32_t at) {
        Index index;
        std::memcpy(&index, &place, sizeof(index));
        gm<T>(y).SetValue(at, value);
        gm<int32_t>(places).SetValue(at, static_cast<int32_t>(index));
    };
    WholeReduceMax(ub<T>(TILE), ub<T>(0), LANES, REPEATS, 1, 1, 8);
    GetReduceMaxMinCount<T>(value, place);
    keep(0);
    PipeBarrier<PIPE_V>();
    WholeReduceMin(ub<T>(TILE), ub<T>(0), LANES - 1, REPEATS, 1, 1, 8);
    GetReduceRepeatMaxMinSpr<T>(value, place);
    keep(1);
    ReduceSum(ub<T>(2 * TILE), ub<T>(0), ub<T>(TILE), LANES * REPEATS);
    value = GetAccVal<T>();
    keep(2);
    DataCacheCleanAndInvalid<T, CacheLine::ENTIRE_DATA_CACHE>(gm<T>(y));
}

}  // namespace

ENTRY select_by_register(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR p) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    const Parameters parameters(p);
    if (parameters[1] == 2) {
        select_through_register<half>(a, b, y, parameters[0]);
    } else {
        select_through_register<float>(a, b, y, parameters[0]);
    }
}

ENTRY compare_by_register(GM_ADDR a, GM_ADDR b, GM_ADDR y) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    const uint64_t even[2] = {0x5555555555555555, 0};
    DataCopy(ub(0), gm<float>(a), 64);
    DataCopy(ub(TILE), gm<float>(b), 64);
    loaded();
    Compare(ub(0), ub(TILE), CMPMODE::GE, even, BinaryRepeatParams{});
    GetCmpMask(ub<uint8_t>(2 * TILE));
    computed();
    DataCopyPad(gm<uint8_t>(y), ub<uint8_t>(2 * TILE), {1, 16, 0, 0, 0});
}

ENTRY reduce_registers(GM_ADDR x, GM_ADDR y, GM_ADDR places, GM_ADDR p) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    if (Parameters(p)[0] == 2) {
        reduce_into_registers<half>(x, y, places);
    } else {
        reduce_into_registers<float>(x, y, places);
    }
}

namespace {

// Sum, extremes and their places over the lanes of a mask. Each call hands its result to MTE3 by a flag of
// its own: the pipe must have awaited one before the next. Parameters: repeats, stride, lanes, bits or lanes.
template <class T>
void reduce_repeats(GM_ADDR x, GM_ADDR y, const Parameters& p) {
    const int32_t repeats = p[0], stride = p[1], lanes = p[2];
    const uint64_t low = lanes >= 64 ? ~0ULL : (1ULL << lanes) - 1;
    const uint64_t high = lanes > 64 ? (1ULL << (lanes - 64)) - 1 : 0;
    const uint64_t bits[2] = {low, high};
    const auto src = ub<T>(0), scratch = ub<T>(TILE), results = ub<T>(2 * TILE);
    DataCopy(src, gm<T>(x), repeats * stride * 32 / sizeof(T) + 256 / sizeof(T));
    loaded();
    Duplicate(results, static_cast<T>(0.0f), 256 / sizeof(T));
    SetFlag<HardEvent::V_S>(EVENT_ID0);
    WaitFlag<HardEvent::V_S>(EVENT_ID0);
    if (p[3] != 0) {
        ReduceSum(results, src, scratch, bits, repeats, stride);
        PipeBarrier<PIPE_ALL>();
        ReduceMax(results[16], src, scratch, bits, repeats, stride, true);
        PipeBarrier<PIPE_ALL>();
        ReduceMin(results[32], src, scratch, bits, repeats, stride, true);
    } else {
        ReduceSum(results, src, scratch, lanes, repeats, stride);
        PipeBarrier<PIPE_ALL>();
        ReduceMax(results[16], src, scratch, lanes, repeats, stride, true);
        PipeBarrier<PIPE_ALL>();
        ReduceMin(results[32], src, scratch, lanes, repeats, stride, true);
    }
    DataCopy(gm<T>(y), results, 64);
}

}  // namespace

ENTRY reduce_masked(GM_ADDR x, GM_ADDR y, GM_ADDR p) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    const Parameters parameters(p);
    if (parameters[4] == 2) {
        reduce_repeats<half>(x, y, parameters);
    } else {
        reduce_repeats<float>(x, y, parameters);
    }
}
