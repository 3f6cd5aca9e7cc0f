// SPDX-License-Identifier: Apache-2.0
// vec_choose.cpp - Compare, Select, GatherMask, Gather and Gatherb.
#include "vec_window.h"

namespace {

template <class T>
void compare(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<uint8_t>(window, a.dst());
    const auto src0 = at<T>(window, a.src0()), src1 = at<T>(window, a.src1());
    const auto mode = static_cast<CMPMODE>(a.op());
    const T scalar = static_cast<T>(a.extra(1));
    if (a.extra(0) == 0) {
        with_mask(
            a, a.binary(), [&](auto count) { Compare(dst, src0, src1, mode, count); },
            [&](auto mask, auto repeats, const auto& s) {
                Compare(dst, src0, src1, mode, mask, repeats, s);
            });
    } else {
        with_mask(
            a, a.unary(), [&](auto count) { CompareScalar(dst, src0, scalar, mode, count); },
            [&](auto mask, auto repeats, const auto& s) {
                CompareScalar(dst, src0, scalar, mode, mask, repeats, s);
            });
    }
}

template <class T>
void select(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst()), src0 = at<T>(window, a.src0()), src1 = at<T>(window, a.src1());
    const auto bits = at<uint8_t>(window, a.extra(0));
    const auto mode = static_cast<SELMODE>(a.op());
    const T scalar = static_cast<T>(a.extra(1));
    if (mode == SELMODE::VSEL_TENSOR_SCALAR_MODE) {
        with_mask(
            a, a.binary(), [&](auto count) { Select(dst, bits, src0, scalar, mode, count); },
            [&](auto mask, auto repeats, const auto& s) {
                Select(dst, bits, src0, scalar, mode, mask, repeats, s);
            });
    } else {
        with_mask(
            a, a.binary(), [&](auto count) { Select(dst, bits, src0, src1, mode, count); },
            [&](auto mask, auto repeats, const auto& s) {
                Select(dst, bits, src0, src1, mode, mask, repeats, s);
            });
    }
}

// op: 0 a pattern from UB, else a built-in one. The counts are left at extra(0).
template <class T, class U>
void gather_mask(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst()), src = at<T>(window, a.src0());
    const GatherMaskParams params(a.p[13], a.repeats(), a.p[16], a.p[17]);
    uint64_t kept = 0;
    if (a.op() == 0) {
        GatherMask(dst, src, at<U>(window, a.src1()), a.counter(), a.count(), params, kept);
    } else {
        GatherMask(dst, src, static_cast<uint8_t>(a.op()), a.counter(), a.count(), params, kept);
    }
    const auto counts = at<int32_t>(window, a.extra(0));
    counts.SetValue(0, static_cast<int32_t>(kept));
    counts.SetValue(1, static_cast<int32_t>(GetGatherMaskRemainCount()));
}

template <class T>
void gather(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst());
    auto src = at<T>(window, a.src0());
    src.SetSize(a.extra(1));
    const auto offsets = at<uint32_t>(window, a.src1());
    const uint32_t base = a.extra(0);
    if (a.form() == COUNT) {
        Gather(dst, src, offsets, base, static_cast<uint32_t>(a.count()));
    } else if (a.form() == LANES) {
        Gather(dst, src, offsets, base, static_cast<uint64_t>(a.count()), a.repeats(), a.p[15]);
    } else {
        const uint64_t mask[2] = {a.mask(0), a.mask(1)};
        Gather(dst, src, offsets, base, mask, a.repeats(), a.p[15]);
    }
}

}  // namespace

ENTRY vec_compare(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        if (a.type() == FLOAT) return compare<float>(a, window);
        if (a.type() == HALF) return compare<half>(a, window);
        compare<int32_t>(a, window);
    });
}

ENTRY vec_select(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        a.type() == FLOAT ? select<float>(a, window) : select<half>(a, window);
    });
}

ENTRY vec_gather_mask(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        if (a.type() == FLOAT) return gather_mask<float, uint32_t>(a, window);
        gather_mask<half, uint16_t>(a, window);
    });
}

ENTRY vec_gather(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        a.type() == FLOAT ? gather<float>(a, window) : gather<half>(a, window);
    });
}

ENTRY vec_gather_blocks(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        auto src = at<uint32_t>(window, a.src0());
        src.SetSize(a.extra(1));
        Gatherb(at<uint32_t>(window, a.dst()), src, at<uint32_t>(window, a.src1()), a.repeats(),
                {a.p[12], a.p[15]});
    });
}
