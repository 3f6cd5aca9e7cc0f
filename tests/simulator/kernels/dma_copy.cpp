// SPDX-License-Identifier: Apache-2.0
// dma_copy.cpp - one move per launch on the first core, its parameters taken from `p`. UB and L1 are filled
// with `image` before and written to `y` afterwards, so that a test sees every byte.
#include "parameters.h"

namespace {

constexpr uint32_t WINDOW = 16384;  // bytes of UB or L1 that are looked at

// Runs `move(window)` on a window in `position` that starts as `image` and ends in `y`.
template <class Move>
void in_window(TPosition position, GM_ADDR image, GM_ADDR y, const Move& move) {
    if (GetBlockIdx() != 0) return;
    const LocalTensor<uint8_t> window(position, 0, WINDOW);
    SetAtomicNone();
    DataCopy(window, gm<uint8_t>(image), WINDOW);
    PipeBarrier<PIPE_ALL>();
    move(window);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm<uint8_t>(y), window, WINDOW);
}

DataCopyParams blocks(const Parameters& p) { return DataCopyParams(p[0], p[1], p[2], p[3]); }

template <class T>
void pad_load(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    in_window(TPosition::VECCALC, image, y, [&](const LocalTensor<uint8_t>& window) {
        DataCopyExtParams copy;
        copy.blockCount = p[0];
        copy.blockLen = static_cast<uint32_t>(p[1]);
        copy.srcStride = static_cast<uint32_t>(p[2]);
        copy.dstStride = static_cast<uint32_t>(p[3]);
        DataCopyPadExtParams<T> pad;
        pad.isPad = p[4] != 0;
        pad.leftPadding = p[5];
        pad.rightPadding = p[6];
        pad.paddingValue = static_cast<T>(p[7]);
        if (p[8] != 0) SetPadValue(static_cast<T>(p[9]));
        DataCopyPad(window.ReinterpretCast<T>(), gm<T>(x + p[10]), copy, pad);
    });
}

template <class T>
void pad_store(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    if (GetBlockIdx() != 0) return;
    const Parameters p(params);
    const LocalTensor<uint8_t> window(TPosition::VECCALC, 0, WINDOW);
    SetAtomicNone();
    DataCopy(window, gm<uint8_t>(image), WINDOW);
    PipeBarrier<PIPE_ALL>();
    DataCopyExtParams copy(p[0], static_cast<uint32_t>(p[1]), static_cast<uint32_t>(p[2]),
                           static_cast<uint32_t>(p[3]), 0);
    DataCopyPad(gm<T>(y + p[4]), window.ReinterpretCast<T>(), copy);
}

template <class T>
void nd2nz(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    in_window(TPosition::A1, image, y, [&](const LocalTensor<uint8_t>& window) {
        Nd2NzParams copy(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
        DataCopy(window.ReinterpretCast<T>(), gm<T>(x + p[8]), copy);
    });
}

enum class Atomic { NONE, ADD, MAX, MIN };

// Every vector core combines its own slice of x, 64 elements, with the same 64 elements of y.
template <class T, Atomic atomic>
void combine(GM_ADDR x, GM_ADDR y) {
    constexpr uint32_t COUNT = 64;
    const LocalTensor<T> slice(TPosition::VECCALC, 0, COUNT);
    DataCopy(slice, gm<T>(x)[GetBlockIdx() * COUNT], COUNT);
    PipeBarrier<PIPE_ALL>();
    if constexpr (atomic == Atomic::ADD) SetAtomicAdd<T>();
    if constexpr (atomic == Atomic::MAX) SetAtomicMax<T>();
    if constexpr (atomic == Atomic::MIN) SetAtomicMin<T>();
    if constexpr (atomic == Atomic::NONE) SetAtomicNone();
    DataCopy(gm<T>(y), slice, COUNT);
    SetAtomicNone();
}

}  // namespace

ENTRY copy_in(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    in_window(TPosition::VECCALC, image, y, [&](const LocalTensor<uint8_t>& window) {
        DataCopy(window[p[4]], gm<uint8_t>(x + p[5]), blocks(p));
    });
}

ENTRY copy_in_l1(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    in_window(TPosition::A1, image, y, [&](const LocalTensor<uint8_t>& window) {
        DataCopy(window[p[4]], gm<uint8_t>(x + p[5]), blocks(p));
    });
}

ENTRY copy_count(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    in_window(TPosition::VECCALC, image, y, [&](const LocalTensor<uint8_t>& window) {
        DataCopy(window.ReinterpretCast<float>(), gm<float>(x), static_cast<uint32_t>(p[0]));
    });
}

ENTRY copy_within(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    in_window(TPosition::VECCALC, image, y,
              [&](const LocalTensor<uint8_t>& window) { DataCopy(window[p[4]], window[p[5]], blocks(p)); });
}

ENTRY copy_out(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    if (GetBlockIdx() != 0) return;
    const Parameters p(params);
    const LocalTensor<uint8_t> window(TPosition::VECCALC, 0, WINDOW);
    SetAtomicNone();
    DataCopy(window, gm<uint8_t>(image), WINDOW);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm<uint8_t>(y + p[5]), window[p[4]], blocks(p));
}

ENTRY copy_half_misplaced(GM_ADDR image, GM_ADDR x, GM_ADDR y) {
    in_window(TPosition::VECCALC, image, y, [&](const LocalTensor<uint8_t>& window) {
        DataCopy(window.ReinterpretCast<half>(), gm<half>(x + 1), 16);
    });
}

ENTRY copy_to_l0(GM_ADDR x) {
    const LocalTensor<uint8_t> l0(TPosition::A2, 0, 1024);
    DataCopy(l0, gm<uint8_t>(x), 512);
}

ENTRY copy_on_the_wrong_core(GM_ADDR x) {
    const LocalTensor<uint8_t> ub(TPosition::VECIN, 0, 1024);
    DataCopy(ub, gm<uint8_t>(x), 512);
}

ENTRY pad_in_b8(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR p) { pad_load<int8_t>(image, x, y, p); }
ENTRY pad_in_b16(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR p) { pad_load<int16_t>(image, x, y, p); }
ENTRY pad_in_b32(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR p) { pad_load<int32_t>(image, x, y, p); }
ENTRY pad_in_b64(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR p) { pad_load<int64_t>(image, x, y, p); }
ENTRY pad_out_b8(GM_ADDR image, GM_ADDR y, GM_ADDR p) { pad_store<int8_t>(image, y, p); }
ENTRY pad_out_b32(GM_ADDR image, GM_ADDR y, GM_ADDR p) { pad_store<int32_t>(image, y, p); }

ENTRY nd2nz_b8(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR p) { nd2nz<int8_t>(image, x, y, p); }
ENTRY nd2nz_b16(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR p) { nd2nz<half>(image, x, y, p); }
ENTRY nd2nz_b32(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR p) { nd2nz<int32_t>(image, x, y, p); }
ENTRY nd2nz_b4(GM_ADDR image, GM_ADDR x, GM_ADDR y, GM_ADDR p) { nd2nz<int4b_t>(image, x, y, p); }

ENTRY overwrite(GM_ADDR x, GM_ADDR y) { combine<int32_t, Atomic::NONE>(x, y); }
ENTRY add_int8(GM_ADDR x, GM_ADDR y) { combine<int8_t, Atomic::ADD>(x, y); }
ENTRY add_int16(GM_ADDR x, GM_ADDR y) { combine<int16_t, Atomic::ADD>(x, y); }
ENTRY add_int32(GM_ADDR x, GM_ADDR y) { combine<int32_t, Atomic::ADD>(x, y); }
ENTRY add_half(GM_ADDR x, GM_ADDR y) { combine<half, Atomic::ADD>(x, y); }
ENTRY add_float(GM_ADDR x, GM_ADDR y) { combine<float, Atomic::ADD>(x, y); }
ENTRY max_float(GM_ADDR x, GM_ADDR y) { combine<float, Atomic::MAX>(x, y); }
ENTRY min_half(GM_ADDR x, GM_ADDR y) { combine<half, Atomic::MIN>(x, y); }

ENTRY add_of_another_type(GM_ADDR x, GM_ADDR y) {
    const LocalTensor<int32_t> slice(TPosition::VECCALC, 0, 64);
    DataCopy(slice, gm<int32_t>(x), 64);
    PipeBarrier<PIPE_ALL>();
    SetAtomicAdd<float>();
    DataCopy(gm<int32_t>(y), slice, 64);
}

ENTRY fill_gm(GM_ADDR y, GM_ADDR params) {
    if (GetBlockIdx() != 0) return;
    const Parameters p(params);
    SetAtomicNone();
    GlobalTensor<int32_t> tensor = gm<int32_t>(y);
    InitGlobalMemory(tensor, static_cast<uint64_t>(p[0]), p[1]);
}

ENTRY fill_l1(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const Parameters p(params);
    in_window(TPosition::A1, image, y, [&](const LocalTensor<uint8_t>& window) {
        Fill(window.ReinterpretCast<int16_t>(),
             InitConstValueParams<int16_t>(p[0], p[1], p[2], static_cast<int16_t>(p[3])));
    });
}
