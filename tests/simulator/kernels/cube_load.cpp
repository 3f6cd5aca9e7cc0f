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
