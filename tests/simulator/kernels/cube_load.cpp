// SPDX-License-Identifier: Apache-2.0
// cube_load.cpp - one load into L0A or L0B, with parameters taken from `p`, shown as a product with the
// identity.
#include "cube_staging.h"

namespace {

// Fills L0A or L0B with the 8 fractals of `image`, runs one load from the fractals of x, and shows the 8
// fractals as a product with the identity. p: startIndex, repeatTimes, srcStride, dstGap, then ifTranspose or
// dstFracGap.
template <class T, class C, bool to_b, bool square>
void loaded(GM_ADDR image, GM_ADDR x, GM_ADDR identity, GM_ADDR y, GM_ADDR params) {
    constexpr uint32_t SHOWN = 8, SOURCE = 24, IDENTITY = 8;
    constexpr uint32_t C0 = static_cast<uint32_t>(sim_elements<T>(32));
    constexpr TPosition TARGET = to_b ? TPosition::B2 : TPosition::A2,
                        OTHER = to_b ? TPosition::A2 : TPosition::B2;
    const Parameters p(params);
    SetAtomicNone();
    stage(0, image, SHOWN);
    stage(L1_SECOND, x, SOURCE);
    stage(L1_THIRD, identity, IDENTITY);
    PipeBarrier<PIPE_ALL>();
    load(TARGET, 0, SHOWN);
    load(OTHER, L1_THIRD, IDENTITY);
    PipeBarrier<PIPE_ALL>();
    const LocalTensor<T> source = l1(L1_SECOND).ReinterpretCast<T>(), target = operand<T>(TARGET);
    if constexpr (square) {
        LoadDataWithTranspose(target, source, LoadData2dTransposeParams(p[0], p[1], p[2], p[3], p[4]));
    } else {
        LoadData(target, source, LoadData2DParams(p[0], p[1], p[2], 0, p[3], p[4] != 0, 0));
    }
    PipeBarrier<PIPE_ALL>();
    MmadParams mmad;
    mmad.m = to_b ? C0 : SHOWN * 16;
    mmad.n = to_b ? SHOWN * 16 : C0;
    mmad.k = C0;
    const LocalTensor<C> c = operand<C>(TPosition::CO1);
    Mmad(c, operand<T>(TPosition::A2), operand<T>(TPosition::B2), mmad);
    PipeBarrier<PIPE_ALL>();
    FixpipeParamsV220 out(mmad.n, mmad.m, (mmad.m + 15) / 16 * 16, mmad.n, false);
    Fixpipe<C, C>(gm<C>(y), c, out);
}

uint32_t round_up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

// The matrix [rows, columns] of T in GM to NZ fractals in L1 with room for whole ones.
template <class T>
void load_matrix(uint32_t to, GM_ADDR from, uint32_t rows, uint32_t columns) {
    DataCopy(l1(to).ReinterpretCast<T>(), gm<T>(from),
             Nd2NzParams(1, rows, columns, 0, columns, round_up(rows, 16), 1, 0));
}

// All columns of the matrix from `k_start` on, all rows from `m_start` on.
template <class T>
LoadData3DParamsV2<T> window(uint32_t rows, uint32_t columns, uint32_t m_start, uint32_t k_start,
                             bool transpose) {
    LoadData3DParamsV2<T> params;
    params.l1H = 1;
    params.l1W = round_up(rows, 16);
    params.channelSize = round_up(columns, 32 / sizeof(T));
    params.mStartPt = m_start;
    params.kStartPt = k_start;
    params.mExtension = params.l1W - m_start;
    params.kExtension = params.channelSize - k_start;
    params.enTranspose = transpose;
    return params;
}

// C = A [m, k] * B [k, n], leaving out the first k0 of k. p: m, n, k, k0. A is stored as [k, m] if
// `transpose`.
template <class T, bool transpose>
void multiply_windows(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    const uint32_t m = p[0], n = p[1], k = p[2], k0 = p[3];
    SetAtomicNone();
    load_matrix<T>(0, a, transpose ? k : m, transpose ? m : k);
    load_matrix<T>(L1_SECOND, b, k, n);
    PipeBarrier<PIPE_ALL>();
    const LocalTensor<T> l0a = operand<T>(TPosition::A2), l0b = operand<T>(TPosition::B2);
    const LocalTensor<T> l1_a = l1(0).ReinterpretCast<T>(), l1_b = l1(L1_SECOND).ReinterpretCast<T>();
    LoadData(l0a, l1_a, transpose ? window<T>(k, m, k0, 0, true) : window<T>(m, k, 0, k0, false));
    LoadData(l0b, l1_b, window<T>(k, n, k0, 0, false));
    PipeBarrier<PIPE_ALL>();
    MmadParams mmad(m, n, k - k0, 0, false, true);
    mmad.kDirectionAlign = transpose;
    const LocalTensor<float> c = operand<float>(TPosition::CO1);
    Mmad(c, l0a, l0b, mmad);
    PipeBarrier<PIPE_ALL>();
    Fixpipe<float, float>(gm<float>(y), c, FixpipeParamsV220(n, m, round_up(m, 16), n, false));
}

}  // namespace

#define LOADED(name, T, C, to_b, square)                                           \
    ENTRY name(GM_ADDR image, GM_ADDR x, GM_ADDR identity, GM_ADDR y, GM_ADDR p) { \
        loaded<T, C, to_b, square>(image, x, identity, y, p);                      \
    }

LOADED(load_a_int8, int8_t, int32_t, false, false)
LOADED(load_a_half, half, float, false, false)
LOADED(load_a_int4, int4b_t, int32_t, false, false)
LOADED(load_b_int8, int8_t, int32_t, true, false)
LOADED(load_b_half, half, float, true, false)
LOADED(load_b_int4, int4b_t, int32_t, true, false)
LOADED(load_b_float, float, float, true, false)
LOADED(transpose_a_int8, int8_t, int32_t, false, true)
LOADED(transpose_a_half, half, float, false, true)
LOADED(transpose_a_float, float, float, false, true)
LOADED(transpose_b_int4, int4b_t, int32_t, true, true)
LOADED(transpose_b_int8, int8_t, int32_t, true, true)
LOADED(transpose_b_half, half, float, true, true)
LOADED(transpose_b_float, float, float, true, true)
LOADED(transpose_a_int4, int4b_t, int32_t, false, true)

#define WINDOWS(name, T, transpose) \
    ENTRY name(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR p) { multiply_windows<T, transpose>(a, b, y, p); }

WINDOWS(windows_half, half, false)
WINDOWS(windows_half_transposed, half, true)
WINDOWS(windows_float, float, false)
WINDOWS(windows_float_transposed, float, true)

ENTRY convolution(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR) {
    LoadData3DParamsV2<half> params = window<half>(16, 16, 0, 0, false);
    params.filterW = 3;
    LoadData(operand<half>(TPosition::A2), l1(0).ReinterpretCast<half>(), params);
}
