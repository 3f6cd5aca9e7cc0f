// SPDX-License-Identifier: Apache-2.0
// vec_window.h - vector instructions on a window of UB: it starts as `image` and ends in `y`, so that a test
// sees every byte. The parameters of an instruction stand in a fixed order (see vec_call.py).
#pragma once
#include "parameters.h"

constexpr uint32_t WINDOW = 32768;  // bytes

enum Form { COUNT, LANES, BITS, REGISTERS };
enum Type { FLOAT, HALF, INT32, INT16, UINT32, UINT16, BFLOAT16 };

struct VectorArguments {
    explicit VectorArguments(GM_ADDR params) : p(params) {}

    int32_t op() const { return p[0]; }
    int32_t type() const { return p[1]; }
    int32_t dst() const { return p[2]; }
    int32_t src0() const { return p[3]; }
    int32_t src1() const { return p[4]; }
    int32_t form() const { return p[5]; }
    int32_t count() const { return p[6]; }
    uint64_t mask(int word) const {
        return uint64_t{static_cast<uint32_t>(p[8 + 2 * word])} << 32 |
               static_cast<uint32_t>(p[7 + 2 * word]);
    }
    int32_t repeats() const { return p[11]; }
    BinaryRepeatParams binary() const { return {p[12], p[13], p[14], p[15], p[16], p[17]}; }
    UnaryRepeatParams unary() const { return {p[12], p[13], p[15], p[16]}; }
    bool counter() const { return p[18] != 0; }
    int32_t extra(int i) const { return p[19 + i]; }

    Parameters p;
};

// Calls body(window) on a vector core.
template <class Body>
void in_window(GM_ADDR image, GM_ADDR y, const Body& body) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    const LocalTensor<uint8_t> window(TPosition::VECCALC, 0, WINDOW);
    DataCopy(window, gm<uint8_t>(image), WINDOW);
    PipeBarrier<PIPE_ALL>();
    body(window);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm<uint8_t>(y), window, WINDOW);
}

template <class T>
LocalTensor<T> at(const LocalTensor<uint8_t>& window, int32_t byte) {
    return window[byte].ReinterpretCast<T>();
}

// Chooses the form of a mask: call(count), or call(mask, repeats, strides) with either kind of mask.
template <class Strides, class CountCall, class MaskCall>
void with_mask(const VectorArguments& a, const Strides& strides, const CountCall& count_call,
               const MaskCall& mask_call) {
    if (a.counter()) SetMaskCount();
    if (a.form() == COUNT) {
        count_call(a.count());
    } else if (a.form() == LANES) {
        mask_call(static_cast<uint64_t>(a.count()), a.repeats(), strides);
    } else {
        const uint64_t mask[2] = {a.mask(0), a.mask(1)};
        mask_call(mask, a.repeats(), strides);
    }
    SetMaskNorm();
}
