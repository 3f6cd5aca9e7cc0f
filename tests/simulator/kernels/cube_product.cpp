// SPDX-License-Identifier: Apache-2.0
// cube_product.cpp - products of operands that come laid out as fractals, tiles of L0C handed over by unit
// flags, and the whole way from rows in GM.
#include "cube_staging.h"

namespace {

enum class Start { ZERO, ACCUMULATE, BIAS, TABLE };

// p: m, n, k, fractals of A, fractals of B, kDirectionAlign. y: C [m, n].
template <class T, class C, Start start>
void product(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    SetAtomicNone();
    stage(0, a, p[3]);
    stage(L1_SECOND, b, p[4]);
    constexpr bool biased = start == Start::BIAS || start == Start::TABLE;
    if constexpr (biased) stage(L1_THIRD, bias, 2);
    PipeBarrier<PIPE_ALL>();
    load(TPosition::A2, 0, p[3]);
    load(TPosition::B2, L1_SECOND, p[4]);
    const LocalTensor<C> table(TPosition::C2, start == Start::TABLE ? 0 : 64, 240);
    if constexpr (biased) {
        const LocalTensor<C> staged(TPosition::C1, L1_THIRD, 240);
        DataCopy(table, staged, DataCopyParams(1, 15, 0, 0));
    }
    PipeBarrier<PIPE_ALL>();
    MmadParams mmad;
    mmad.m = p[0];
    mmad.n = p[1];
    mmad.k = p[2];
    mmad.kDirectionAlign = p[5] != 0;
    const LocalTensor<C> c = operand<C>(TPosition::CO1);
    const LocalTensor<T> l0a = operand<T>(TPosition::A2), l0b = operand<T>(TPosition::B2);
    if constexpr (start == Start::BIAS) {
        mmad.cmatrixInitVal = false;
        Mmad(c, l0a, l0b, table, mmad);
    } else {
        mmad.cmatrixSource = start == Start::TABLE;
        mmad.cmatrixInitVal = start != Start::TABLE;
        Mmad(c, l0a, l0b, mmad);
    }
    if constexpr (start == Start::ACCUMULATE) {
        PipeBarrier<PIPE_M>();
        mmad.cmatrixInitVal = false;
        Mmad(c, l0a, l0b, mmad);
    }
    PipeBarrier<PIPE_ALL>();
    FixpipeParamsV220 out;
    out.nSize = p[1];
    out.mSize = p[0];
    out.srcStride = (p[0] + 15) / 16 * 16;
    out.dstStride = static_cast<uint32_t>(p[1]);
    Fixpipe<C, C>(gm<C>(y), c, out);
}

// Two products through one tile of L0C, ordered by unit flags or by nothing. p: fractals of A, of B. y: C
// twice.
template <bool flagged>
void handed_over(GM_ADDR a, GM_ADDR b, GM_ADDR y) {
    constexpr int32_t M = 32, N = 32, K = 32;
    SetAtomicNone();
    stage(0, a, 2);
    stage(L1_SECOND, b, 2);
    PipeBarrier<PIPE_ALL>();
    load(TPosition::A2, 0, 2);
    load(TPosition::B2, L1_SECOND, 2);
    PipeBarrier<PIPE_ALL>();
    const LocalTensor<int32_t> c = operand<int32_t>(TPosition::CO1);
    for (int32_t turn = 0; turn < 2; ++turn) {
        MmadParams mmad(M, N, K, flagged ? 3 : 0, false, true);
        Mmad(c, operand<int8_t>(TPosition::A2), operand<int8_t>(TPosition::B2), mmad);
        FixpipeParamsV220 out(N, M, M, N, false);
        out.unitFlag = flagged ? 3 : 0;
        Fixpipe<int32_t, int32_t>(gm<int32_t>(y)[turn * M * N], c, out);
    }
}

uint16_t ceil_div(uint32_t value, uint32_t unit) { return static_cast<uint16_t>((value + unit - 1) / unit); }

// Rows to NZ fractals in L1, with room for `aligned_rows`.
template <class T>
void load_rows(uint32_t to, GM_ADDR from, uint32_t rows, uint32_t columns, uint32_t aligned_rows) {
    Nd2NzParams params(1, rows, columns, 0, columns, aligned_rows, 1, 0);
    DataCopy(l1(to).ReinterpretCast<T>(), gm<T>(from), params);
}

// A [m, k] in L1 (NZ) to L0A (ZZ).
template <class T>
void load_a(uint32_t m, uint32_t k) {
    constexpr uint32_t C0 = 32 / sizeof(T), ELEMENTS = 16 * C0;
    const LocalTensor<T> target = operand<T>(TPosition::A2), source = l1(0).ReinterpretCast<T>();
    for (uint32_t i = 0; i < ceil_div(m, 16); ++i) {
        LoadData(target[i * ceil_div(k, C0) * ELEMENTS], source[i * ELEMENTS],
                 LoadData2DParams(0, ceil_div(k, C0), ceil_div(m, 16), 0, 0, false, 0));
    }
}

template <class T, class C>
void multiply_out(uint32_t m, uint32_t n, uint32_t k, GM_ADDR y) {
    PipeBarrier<PIPE_ALL>();
    MmadParams mmad(m, n, k, 0, false, true);
    const LocalTensor<C> c = operand<C>(TPosition::CO1);
    Mmad(c, operand<T>(TPosition::A2), operand<T>(TPosition::B2), mmad);
    PipeBarrier<PIPE_ALL>();
    Fixpipe<C, C>(gm<C>(y), c, FixpipeParamsV220(n, m, ceil_div(m, 16) * 16, n, false));
}

}  // namespace

#define PRODUCT(name, T, C, start)                                         \
    ENTRY name(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR y, GM_ADDR p) { \
        product<T, C, Start::start>(a, b, bias, y, p);                     \
    }

PRODUCT(product_int4, int4b_t, int32_t, ZERO)
PRODUCT(product_int8, int8_t, int32_t, ZERO)
PRODUCT(product_half, half, float, ZERO)
PRODUCT(product_bfloat16, bfloat16_t, float, ZERO)
PRODUCT(product_float, float, float, ZERO)
PRODUCT(sum_int4, int4b_t, int32_t, ACCUMULATE)
PRODUCT(sum_int8, int8_t, int32_t, ACCUMULATE)
PRODUCT(sum_half, half, float, ACCUMULATE)
PRODUCT(biased_int8, int8_t, int32_t, BIAS)
PRODUCT(biased_float, float, float, BIAS)
PRODUCT(table_int8, int8_t, int32_t, TABLE)
PRODUCT(table_float, float, float, TABLE)

ENTRY unit_flags(GM_ADDR a, GM_ADDR b, GM_ADDR y) { handed_over<true>(a, b, y); }
ENTRY no_unit_flags(GM_ADDR a, GM_ADDR b, GM_ADDR y) { handed_over<false>(a, b, y); }

// C = A [m, k] * B [k, n]: B is transposed on its way, in squares of 32 x 32.
ENTRY matmul_int8(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    const uint32_t m = p[0], n = p[1], k = p[2], squares_k = ceil_div(k, 32), squares_n = ceil_div(n, 32);
    SetAtomicNone();
    load_rows<int8_t>(0, a, m, k, ceil_div(m, 16) * 16);
    load_rows<int8_t>(L1_SECOND, b, k, n, squares_k * 32);
    PipeBarrier<PIPE_ALL>();
    load_a<int8_t>(m, k);
    for (uint32_t i = 0; i < squares_k; ++i) {
        LoadDataWithTranspose(operand<int8_t>(TPosition::B2)[i * squares_n * 1024],
                              l1(L1_SECOND).ReinterpretCast<int8_t>()[i * 1024],
                              LoadData2dTransposeParams(0, squares_n, squares_k, 1, 0));
    }
    multiply_out<int8_t, int32_t>(m, n, k, y);
}

// The same in half, with LoadData transposing fractals.
ENTRY matmul_half(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    const uint32_t m = p[0], n = p[1], k = p[2], fractals_k = ceil_div(k, 16), fractals_n = ceil_div(n, 16);
    SetAtomicNone();
    load_rows<half>(0, a, m, k, ceil_div(m, 16) * 16);
    load_rows<half>(L1_SECOND, b, k, n, fractals_k * 16);
    PipeBarrier<PIPE_ALL>();
    load_a<half>(m, k);
    for (uint32_t i = 0; i < fractals_k; ++i) {
        LoadData(operand<half>(TPosition::B2)[i * fractals_n * 256],
                 l1(L1_SECOND).ReinterpretCast<half>()[i * 256],
                 LoadData2DParams(0, fractals_n, fractals_k, 0, 0, true, 0));
    }
    multiply_out<half, float>(m, n, k, y);
}

// C = A [m, k] * B^T with B [n, k] in float: B needs no transposition.
ENTRY matmul_float(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    const uint32_t m = p[0], n = p[1], k = p[2], fractals = ceil_div(n, 16) * ceil_div(k, 8);
    SetAtomicNone();
    load_rows<float>(0, a, m, k, ceil_div(m, 16) * 16);
    load_rows<float>(L1_SECOND, b, n, k, ceil_div(n, 16) * 16);
    PipeBarrier<PIPE_ALL>();
    load_a<float>(m, k);
    load(TPosition::B2, L1_SECOND, fractals);
    multiply_out<float, float>(m, n, k, y);
}

// Calls that break one rule each, chosen by p.
ENTRY broken(GM_ADDR params) {
    const Parameters p(params);
    const LocalTensor<int8_t> a = operand<int8_t>(TPosition::A2), b = operand<int8_t>(TPosition::B2);
    const LocalTensor<int32_t> c = operand<int32_t>(TPosition::CO1);
    const LocalTensor<half> h(TPosition::A1, 0, 256);
    MmadParams mmad(16, 16, 32, 0, false, true);
    switch (p[0]) {
        case 0:
            Mmad(c[16], a, b, mmad);
            break;
        case 1:
            Mmad(c, a[32], b, mmad);
            break;
        case 2:
            mmad.n = 4096;
            Mmad(c, a, b, mmad);
            break;
        case 3:
            Mmad(c, b, a, mmad);
            break;
        case 4:
            mmad.unitFlag = 1;
            Mmad(c, a, b, mmad);
            break;
        case 5:
            LoadData(a, h.ReinterpretCast<int8_t>(), LoadData2DParams(0, 1, 1, 0, 0, true, 0));
            break;
        case 6:
            LoadData(a, h.ReinterpretCast<int8_t>(), LoadData2DParams(0, 256, 1, 0, 0, false, 0));
            break;
        case 7:
            Fixpipe<half, int32_t, CFG_ROW_MAJOR>(h, c, FixpipeParamsV220(16, 16, 16, 16, false));
            break;
        case 8:
            Mmad(c, a, b, mmad);  // L0A and L0B were never loaded
            break;
        default:
            break;
    }
}
