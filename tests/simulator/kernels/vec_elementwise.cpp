// SPDX-License-Identifier: Apache-2.0
// vec_elementwise.cpp - lane-by-lane instructions in all their forms.
#include "vec_window.h"

namespace {

#define CALL(NAME, ...)                                                                        \
    with_mask(                                                                                 \
        a, strides, [&](auto count) { NAME(__VA_ARGS__, count); },                             \
        [&](auto mask, auto repeats, const auto& s) { NAME(__VA_ARGS__, mask, repeats, s); }); \
    break

template <class T>
void binary(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst()), src0 = at<T>(window, a.src0()), src1 = at<T>(window, a.src1());
    const BinaryRepeatParams strides = a.binary();
    switch (a.op()) {
        case 0:
            CALL(Add, dst, src0, src1);
        case 1:
            CALL(Sub, dst, src0, src1);
        case 2:
            CALL(Mul, dst, src0, src1);
        case 3:
            CALL(Max, dst, src0, src1);
        case 4:
            CALL(Min, dst, src0, src1);
    }
}

template <class T>
void binary_real(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst()), src0 = at<T>(window, a.src0()), src1 = at<T>(window, a.src1());
    const BinaryRepeatParams strides = a.binary();
    switch (a.op()) {
        case 5:
            CALL(Div, dst, src0, src1);
        case 6:
            CALL(FusedMulAdd, dst, src0, src1);
        case 7:
            CALL(FusedMulAddRelu, dst, src0, src1);
        case 8:
            CALL(MulAddDst, dst, src0, src1);
        default:
            binary<T>(a, window);
    }
}

void binary_bits(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    using T = uint16_t;
    const auto dst = at<T>(window, a.dst()), src0 = at<T>(window, a.src0()), src1 = at<T>(window, a.src1());
    const BinaryRepeatParams strides = a.binary();
    switch (a.op()) {
        case 9:
            CALL(And, dst, src0, src1);
        case 10:
            CALL(Or, dst, src0, src1);
    }
}

template <class T>
void unary(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst()), src = at<T>(window, a.src0());
    const UnaryRepeatParams strides = a.unary();
    switch (a.op()) {
        case 0:
            CALL(Abs, dst, src);
        case 1:
            CALL(Exp, dst, src);
        case 2:
            CALL(Ln, dst, src);
        case 3:
            CALL(Sqrt, dst, src);
        case 4:
            CALL(Rsqrt, dst, src);
        case 5:
            CALL(Reciprocal, dst, src);
        case 6:
            CALL(Relu, dst, src);
    }
}

template <class T>
void scalar(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst()), src = at<T>(window, a.src0());
    const UnaryRepeatParams strides = a.unary();
    const T value = static_cast<T>(a.extra(0));
    switch (a.op()) {
        case 0:
            CALL(Adds, dst, src, value);
        case 1:
            CALL(Muls, dst, src, value);
        case 2:
            CALL(Maxs, dst, src, value);
        case 3:
            CALL(Mins, dst, src, value);
    }
}

template <class T>
void shift(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst()), src = at<T>(window, a.src0());
    const UnaryRepeatParams strides = a.unary();
    const T bits = static_cast<T>(a.extra(0));
    switch (a.op()) {
        case 0:
            CALL(ShiftLeft, dst, src, bits);
        case 1:
            CALL(ShiftRight, dst, src, bits);
        case 2:
            ShiftRight(dst, src, bits, uint64_t{64}, a.repeats(), strides, true);
            break;
    }
}

template <class T, class U>
void axpy(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst());
    const auto src = at<U>(window, a.src0());
    const UnaryRepeatParams strides = a.unary();
    const U value = static_cast<U>(static_cast<float>(a.extra(0)) / 16);
    do {
        CALL(Axpy, dst, src, value);
    } while (false);
}

}  // namespace

ENTRY vec_binary(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        switch (a.type()) {
            case FLOAT:
                return binary_real<float>(a, window);
            case HALF:
                return binary_real<half>(a, window);
            case INT32:
                return binary<int32_t>(a, window);
            case INT16:
                return binary<int16_t>(a, window);
            default:
                return binary_bits(a, window);
        }
    });
}

ENTRY vec_unary(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        a.type() == FLOAT ? unary<float>(a, window) : unary<half>(a, window);
    });
}

ENTRY vec_scalar(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        switch (a.type()) {
            case FLOAT:
                return scalar<float>(a, window);
            case HALF:
                return scalar<half>(a, window);
            case INT32:
                return scalar<int32_t>(a, window);
            default:
                return scalar<int16_t>(a, window);
        }
    });
}

ENTRY vec_shift(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        switch (a.type()) {
            case INT32:
                return shift<int32_t>(a, window);
            case UINT32:
                return shift<uint32_t>(a, window);
            case INT16:
                return shift<int16_t>(a, window);
            default:
                return shift<uint16_t>(a, window);
        }
    });
}

ENTRY vec_axpy(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        if (a.op() == 0) return axpy<float, float>(a, window);
        if (a.op() == 1) return axpy<half, half>(a, window);
        axpy<float, half>(a, window);
    });
}

// The mask comes from the registers; sticky across instructions until it is set again.
ENTRY vec_registers(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        const auto dst = at<float>(window, a.dst()), src = at<float>(window, a.src0());
        if (a.counter()) {
            SetMaskCount();
            SetVectorMask<float, MaskMode::COUNTER>(a.count());
        } else {
            SetMaskNorm();
            SetVectorMask<float>(a.mask(1), a.mask(0));
        }
        Adds<float, false>(dst, src, 1.0f, MASK_PLACEHOLDER, a.repeats(), a.unary());
        PipeBarrier<PIPE_V>();
        Muls<float, false>(dst, dst, 2.0f, MASK_PLACEHOLDER, a.repeats(), {1, 1, a.p[15], a.p[15]});
        SetMaskNorm();
        ResetMask();
    });
}
