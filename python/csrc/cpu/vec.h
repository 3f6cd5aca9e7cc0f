// SPDX-License-Identifier: Apache-2.0
// vec.h - sixteen lanes of fp32 or int32 in the compiler's vector extensions. A file that includes this is
// compiled once per instruction set and names it first (#define SALS_TARGET avx2); all functions live in
// that namespace, so that code for one instruction set never stands in for another's.
// Every function gives the same bits on every target: only correctly rounded operations are used, in a fixed
// order, and nothing is contracted (-ffp-contract=off). Masks are I32x16 of 0 and -1.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#if !defined(SALS_TARGET)
#error "define SALS_TARGET to portable, avx2 or avx512 before including vec.h"
#endif

#define SALS_INLINE inline __attribute__((always_inline))

namespace sals::cpu::SALS_TARGET {

inline constexpr int32_t LANES = 16;

#if defined(__AVX512F__)
inline constexpr int32_t REGISTER_BYTES = 64;
#elif defined(__AVX2__)
inline constexpr int32_t REGISTER_BYTES = 32;
#else
inline constexpr int32_t REGISTER_BYTES = 16;
#endif
inline constexpr int32_t REGISTERS = LANES * 4 / REGISTER_BYTES;

typedef float RegisterF32 __attribute__((vector_size(REGISTER_BYTES)));
typedef int32_t RegisterI32 __attribute__((vector_size(REGISTER_BYTES)));
typedef uint32_t RegisterU32 __attribute__((vector_size(REGISTER_BYTES)));

struct F32x16 {
    RegisterF32 part[REGISTERS];
};

struct I32x16 {
    RegisterI32 part[REGISTERS];
};

// `for` over the registers of one value, always unrolled.
#define SALS_EACH_REGISTER(i) _Pragma("GCC unroll 4") for (int32_t i = 0; i < REGISTERS; ++i)

// ---- memory --------------------------------------------------------------------------------------------

SALS_INLINE F32x16 load(const float* from) {
    F32x16 x;
    std::memcpy(&x, from, sizeof(x));
    return x;
}

SALS_INLINE I32x16 load(const int32_t* from) {
    I32x16 x;
    std::memcpy(&x, from, sizeof(x));
    return x;
}

SALS_INLINE void store(float* to, F32x16 x) { std::memcpy(to, &x, sizeof(x)); }
SALS_INLINE void store(int32_t* to, I32x16 x) { std::memcpy(to, &x, sizeof(x)); }

SALS_INLINE F32x16 broadcast(float value) {
    F32x16 x;
    SALS_EACH_REGISTER(i) x.part[i] = RegisterF32{} + value;
    return x;
}

SALS_INLINE I32x16 broadcast(int32_t value) {
    I32x16 x;
    SALS_EACH_REGISTER(i) x.part[i] = RegisterI32{} + value;
    return x;
}

// 0, 1, ..., 15
SALS_INLINE I32x16 lane_index() {
    static constexpr int32_t INDEX[LANES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return load(INDEX);
}

// ---- arithmetic ----------------------------------------------------------------------------------------

#define SALS_LANEWISE_F32(op)                                     \
    SALS_INLINE F32x16 operator op(F32x16 a, F32x16 b) {          \
        SALS_EACH_REGISTER(i) a.part[i] = a.part[i] op b.part[i]; \
        return a;                                                 \
    }
// Integers wrap around, so they are computed as unsigned.
#define SALS_LANEWISE_I32(op)                                                                              \
    SALS_INLINE I32x16 operator op(I32x16 a, I32x16 b) {                                                   \
        SALS_EACH_REGISTER(i) a.part[i] = (RegisterI32)((RegisterU32)a.part[i] op(RegisterU32) b.part[i]); \
        return a;                                                                                          \
    }
SALS_LANEWISE_F32(+)
SALS_LANEWISE_F32(-)
SALS_LANEWISE_F32(*)
SALS_LANEWISE_F32(/)
SALS_LANEWISE_I32(+)
SALS_LANEWISE_I32(-)
SALS_LANEWISE_I32(*)
SALS_LANEWISE_I32(&)
SALS_LANEWISE_I32(|)
SALS_LANEWISE_I32(^)
#undef SALS_LANEWISE_F32
#undef SALS_LANEWISE_I32

SALS_INLINE I32x16 shift_left(I32x16 x, int32_t bits) {
    SALS_EACH_REGISTER(i) x.part[i] = (RegisterI32)((RegisterU32)x.part[i] << static_cast<uint32_t>(bits));
    return x;
}

// Shifts in copies of the sign.
SALS_INLINE I32x16 shift_right(I32x16 x, int32_t bits) {
    SALS_EACH_REGISTER(i) x.part[i] = x.part[i] >> bits;
    return x;
}

// ---- comparison ----------------------------------------------------------------------------------------

#define SALS_COMPARISON(name, Vector, op)                                           \
    SALS_INLINE I32x16 name(Vector a, Vector b) {                                   \
        I32x16 mask;                                                                \
        SALS_EACH_REGISTER(i) mask.part[i] = (RegisterI32)(a.part[i] op b.part[i]); \
        return mask;                                                                \
    }
SALS_COMPARISON(less, F32x16, <)
SALS_COMPARISON(less, I32x16, <)
SALS_COMPARISON(equal, F32x16, ==)
SALS_COMPARISON(equal, I32x16, ==)
#undef SALS_COMPARISON

SALS_INLINE F32x16 select(I32x16 mask, F32x16 when_set, F32x16 otherwise) {
    SALS_EACH_REGISTER(i) otherwise.part[i] = mask.part[i] ? when_set.part[i] : otherwise.part[i];
    return otherwise;
}

SALS_INLINE I32x16 select(I32x16 mask, I32x16 when_set, I32x16 otherwise) {
    SALS_EACH_REGISTER(i) otherwise.part[i] = mask.part[i] ? when_set.part[i] : otherwise.part[i];
    return otherwise;
}

// min and max give b where either is NaN or both are zeros, as the instructions do. The compiler does not see
// that the vector conditional is the instruction for 64 bytes, so it is named.
#if defined(__AVX512F__)
SALS_INLINE F32x16 min(F32x16 a, F32x16 b) { return {{_mm512_min_ps(a.part[0], b.part[0])}}; }
SALS_INLINE F32x16 max(F32x16 a, F32x16 b) { return {{_mm512_max_ps(a.part[0], b.part[0])}}; }
#else
SALS_INLINE F32x16 min(F32x16 a, F32x16 b) {
    SALS_EACH_REGISTER(i) a.part[i] = a.part[i] < b.part[i] ? a.part[i] : b.part[i];
    return a;
}

SALS_INLINE F32x16 max(F32x16 a, F32x16 b) {
    SALS_EACH_REGISTER(i) a.part[i] = a.part[i] > b.part[i] ? a.part[i] : b.part[i];
    return a;
}
#endif

// ---- conversion ----------------------------------------------------------------------------------------

SALS_INLINE I32x16 bits_of(F32x16 x) {
    I32x16 bits;
    SALS_EACH_REGISTER(i) bits.part[i] = (RegisterI32)x.part[i];
    return bits;
}

SALS_INLINE F32x16 from_bits(I32x16 bits) {
    F32x16 x;
    SALS_EACH_REGISTER(i) x.part[i] = (RegisterF32)bits.part[i];
    return x;
}

SALS_INLINE F32x16 to_f32(I32x16 x) {
    F32x16 y;
    SALS_EACH_REGISTER(i) y.part[i] = __builtin_convertvector(x.part[i], RegisterF32);
    return y;
}

// Truncates; |x| must be below 2^31.
SALS_INLINE I32x16 to_i32(F32x16 x) {
    I32x16 y;
    SALS_EACH_REGISTER(i) y.part[i] = __builtin_convertvector(x.part[i], RegisterI32);
    return y;
}

SALS_INLINE F32x16 abs(F32x16 x) { return from_bits(bits_of(x) & broadcast(INT32_MAX)); }

// Nearest integer, half to even: at 2^23 the fp32 grid is the integers. The sign survives (-0.3 gives -0).
SALS_INLINE F32x16 rint(F32x16 x) {
    const F32x16 grid = broadcast(8388608.0F);
    const I32x16 sign = bits_of(x) & broadcast(INT32_MIN);
    const F32x16 magnitude = abs(x);
    const F32x16 rounded = (magnitude + grid) - grid;
    return from_bits(bits_of(select(less(magnitude, grid), rounded, magnitude)) | sign);
}

// ---- across lanes --------------------------------------------------------------------------------------

// Lanes 8 apart are combined, then 4, 2 and 1 apart, in registers: a lane at a time costs more than the
// arithmetic on a short row.
template <class Lane, class Vector, class Combine>
SALS_INLINE Lane fold(const Vector& x, Combine combine) {
    typedef Lane Lanes8 __attribute__((vector_size(8 * sizeof(Lane))));
    typedef Lane Lanes4 __attribute__((vector_size(4 * sizeof(Lane))));
    typedef Lane Lanes2 __attribute__((vector_size(2 * sizeof(Lane))));
    Lanes8 eight[2];
    std::memcpy(eight, &x, sizeof(eight));
    eight[0] = combine(eight[0], eight[1]);
    Lanes4 four[2];
    std::memcpy(four, &eight[0], sizeof(four));
    four[0] = combine(four[0], four[1]);
    Lanes2 two[2];
    std::memcpy(two, &four[0], sizeof(two));
    two[0] = combine(two[0], two[1]);
    return combine(two[0][0], two[0][1]);
}

SALS_INLINE float sum(F32x16 x) {
    return fold<float>(x, [](auto a, auto b) { return a + b; });
}

SALS_INLINE int32_t sum(I32x16 x) {
    return static_cast<int32_t>(fold<uint32_t>(x, [](auto a, auto b) { return a + b; }));
}

// The maximum of lanes that hold no NaN.
SALS_INLINE float max_lane(F32x16 x) {
    return fold<float>(x, [](auto a, auto b) { return a > b ? a : b; });
}

}  // namespace sals::cpu::SALS_TARGET
