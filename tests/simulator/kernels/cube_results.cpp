// SPDX-License-Identifier: Apache-2.0
// cube_results.cpp - products on their way out of L0C, with parameters taken from `p`.
#include "cube_staging.h"

namespace {

constexpr uint32_t WINDOW = 16384;  // bytes of L1 that are looked at

// What comes out of L0C. p: m, n, k, fractals of A, of B; then nSize, mSize, srcStride, dstStride, quantPre,
// factor (low, high), relu, ndNum, srcNdStride, dstNdStride, channel split, offset of src in bytes.
FixpipeParamsV220 out_params(const Parameters& p) {
    FixpipeParamsV220 out(p[5], p[6], p[7], static_cast<uint32_t>(p[8]), p[12] != 0);
    out.quantPre = static_cast<QuantMode_t>(p[9]);
    out.deqScalar = static_cast<uint32_t>(p[10]) | static_cast<uint64_t>(static_cast<uint32_t>(p[11])) << 32;
    out.ndNum = p[13];
    out.srcNdStride = p[14];
    out.dstNdStride = p[15];
    out.isChannelSplit = p[16] != 0;
    return out;
}

template <class T, class C>
void make_results(GM_ADDR a, GM_ADDR b, const Parameters& p) {
    SetAtomicNone();
    stage(0, a, p[3]);
    stage(L1_SECOND, b, p[4]);
    PipeBarrier<PIPE_ALL>();
    load(TPosition::A2, 0, p[3]);
    load(TPosition::B2, L1_SECOND, p[4]);
    PipeBarrier<PIPE_ALL>();
    MmadParams mmad;
    mmad.m = p[0];
    mmad.n = p[1];
    mmad.k = p[2];
    Mmad(operand<C>(TPosition::CO1), operand<T>(TPosition::A2), operand<T>(TPosition::B2), mmad);
    PipeBarrier<PIPE_ALL>();
}

template <class T, class C, class Out, const FixpipeConfig& config>
void results_out(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    make_results<T, C>(a, b, p);
    const LocalTensor<C> c(TPosition::CO1, static_cast<uint32_t>(p[17]), 0);
    Fixpipe<Out, C, config>(gm<Out>(y), c, out_params(p));
}

template <class T, class C, class Out, const FixpipeConfig& config>
void results_by_column(GM_ADDR a, GM_ADDR b, GM_ADDR factors, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    make_results<T, C>(a, b, p);
    stage(L1_THIRD, factors, 1);
    PipeBarrier<PIPE_ALL>();
    const LocalTensor<uint64_t> l1_factors(TPosition::C1, L1_THIRD, 64);
    Fixpipe<Out, C, config>(gm<Out>(y), operand<C>(TPosition::CO1), l1_factors, out_params(p));
}

template <class T, class C, class Out>
void results_to_l1(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    make_results<T, C>(a, b, p);
    const LocalTensor<uint8_t> window = l1(L1_THIRD);
    DataCopy(window, gm<uint8_t>(y), WINDOW);
    PipeBarrier<PIPE_ALL>();
    Fixpipe<Out, C, CFG_NZ>(window.ReinterpretCast<Out>(), operand<C>(TPosition::CO1), out_params(p));
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm<uint8_t>(y), window, WINDOW);
}

// DataCopy says the same as Fixpipe, with matrices and factor in registers.
template <class T, class C, class Out>
void results_by_data_copy(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    make_results<T, C>(a, b, p);
    const FixpipeParamsV220 like = out_params(p);
    SetFixpipeNz2ndFlag(like.ndNum, like.srcNdStride, like.dstNdStride);
    SetFixpipePreQuantFlag(like.deqScalar);
    DataCopyCO12DstParams out(like.nSize, like.mSize, like.dstStride, like.srcStride, like.quantPre,
                              like.reluEn, false, true);
    DataCopy(gm<Out>(y), operand<C>(TPosition::CO1), out);
}

}  // namespace

#define RESULTS(name, function, ...) \
    ENTRY name(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR p) { function<__VA_ARGS__>(a, b, y, p); }

RESULTS(int32_rows, results_out, int8_t, int32_t, int32_t, CFG_ROW_MAJOR)
RESULTS(int32_fractals, results_out, int8_t, int32_t, int32_t, CFG_NZ)
RESULTS(float_rows, results_out, half, float, float, CFG_ROW_MAJOR)
RESULTS(float_fractals, results_out, half, float, float, CFG_NZ)
RESULTS(half_rows, results_out, half, float, half, CFG_ROW_MAJOR)
RESULTS(half_fractals, results_out, half, float, half, CFG_NZ)
RESULTS(bfloat16_rows, results_out, half, float, bfloat16_t, CFG_ROW_MAJOR)
RESULTS(dequantised_rows, results_out, int8_t, int32_t, half, CFG_ROW_MAJOR)
RESULTS(dequantised_fractals, results_out, int8_t, int32_t, half, CFG_NZ)
RESULTS(requantised_rows, results_out, int8_t, int32_t, int8_t, CFG_ROW_MAJOR)
RESULTS(requantised_fractals, results_out, int8_t, int32_t, int8_t, CFG_NZ)
RESULTS(unsigned_rows, results_out, half, float, uint8_t, CFG_ROW_MAJOR)
RESULTS(half_to_l1, results_to_l1, half, float, half)
RESULTS(requantised_to_l1, results_to_l1, int8_t, int32_t, int8_t)
RESULTS(copied_int32, results_by_data_copy, int8_t, int32_t, int32_t)
RESULTS(copied_dequantised, results_by_data_copy, int8_t, int32_t, half)

ENTRY dequantised_by_column(GM_ADDR a, GM_ADDR b, GM_ADDR factors, GM_ADDR y, GM_ADDR p) {
    results_by_column<int8_t, int32_t, half, CFG_ROW_MAJOR>(a, b, factors, y, p);
}

ENTRY copied_by_column(GM_ADDR a, GM_ADDR b, GM_ADDR factors, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    make_results<int8_t, int32_t>(a, b, p);
    stage(L1_THIRD, factors, 1);
    PipeBarrier<PIPE_ALL>();
    const LocalTensor<uint64_t> l1_factors(TPosition::C1, L1_THIRD, 64), table(TPosition::C2PIPE2GM, 128, 64);
    DataCopy(table, l1_factors, 64);
    PipeBarrier<PIPE_ALL>();
    SetFixPipeConfig(table);
    SetFixpipeNz2ndFlag(1, 0, 0);
    DataCopyCO12DstParams out(p[5], p[6], static_cast<uint32_t>(p[8]), p[7], QuantMode_t::VDEQF16, 0, false,
                              true);
    DataCopy(gm<half>(y), operand<int32_t>(TPosition::CO1), out);
}

ENTRY added_rows(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    make_results<int8_t, int32_t>(a, b, p);
    SetAtomicAdd<int32_t>();
    Fixpipe<int32_t, int32_t>(gm<int32_t>(y), operand<int32_t>(TPosition::CO1), out_params(p));
}
