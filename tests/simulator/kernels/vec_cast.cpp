// SPDX-License-Identifier: Apache-2.0
// vec_cast.cpp - Cast between every pair of types, op is the rounding mode.
#include "vec_window.h"

namespace {

template <class T, class U>
void cast(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        SetDeqScale(static_cast<half>(0.25f));
        const auto dst = at<T>(window, a.dst());
        const auto src = at<U>(window, a.src0());
        const auto mode = static_cast<RoundMode>(a.op());
        with_mask(
            a, a.unary(), [&](auto count) { Cast(dst, src, mode, count); },
            [&](auto mask, auto repeats, const auto& s) { Cast(dst, src, mode, mask, repeats, s); });
    });
}

}  // namespace

#define CAST(NAME, T, U) \
    ENTRY cast_##NAME(GM_ADDR image, GM_ADDR y, GM_ADDR params) { cast<T, U>(image, y, params); }

CAST(float32_to_float16, half, float)
CAST(float32_to_bfloat16, bfloat16_t, float)
CAST(float32_to_int32, int32_t, float)
CAST(float32_to_int16, int16_t, float)
CAST(float32_to_int64, int64_t, float)
CAST(float32_to_float32, float, float)
CAST(float16_to_float32, float, half)
CAST(bfloat16_to_float32, float, bfloat16_t)
CAST(float16_to_int32, int32_t, half)
CAST(float16_to_int16, int16_t, half)
CAST(float16_to_int8, int8_t, half)
CAST(float16_to_uint8, uint8_t, half)
CAST(float16_to_int4, int4b_t, half)
CAST(bfloat16_to_int32, int32_t, bfloat16_t)
CAST(int32_to_float32, float, int32_t)
CAST(int32_to_float16, half, int32_t)
CAST(int32_to_int16, int16_t, int32_t)
CAST(int32_to_int64, int64_t, int32_t)
CAST(int64_to_int32, int32_t, int64_t)
CAST(int64_to_float32, float, int64_t)
CAST(int16_to_float32, float, int16_t)
CAST(int16_to_float16, half, int16_t)
CAST(int8_to_float16, half, int8_t)
CAST(uint8_to_float16, half, uint8_t)
CAST(int4_to_float16, half, int4b_t)
