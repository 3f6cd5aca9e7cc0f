// SPDX-License-Identifier: Apache-2.0
// int8_dot_portable.h - int8 products on any machine, in registers of 16 bytes. Products of int8 and codes in
// [-127, 127] are at most 16256, so that two fit in 16 bits. Included by int8_dot.h.
#pragma once
#include "cpu/int8_dot.h"

namespace sals::cpu::SALS_TARGET {

inline constexpr int32_t COLUMN_LANES = REGISTER_BYTES / 4;
inline constexpr int32_t MOST_ROWS = 4;

typedef int16_t RegisterI16 __attribute__((vector_size(REGISTER_BYTES)));
typedef uint16_t RegisterU16 __attribute__((vector_size(REGISTER_BYTES)));

inline void pack_keys(const int8_t* const* rows, RowBytes bytes, int32_t* packed, int64_t stride) {
    for (int32_t token = 0; token < TOKEN_STEP; ++token) {
        for (int32_t channel = 0; channel < bytes.head_dim; channel += DEPTH_STEP) {
            packed[channel / DEPTH_STEP * stride + token] =
                load_word(rows[token] + channel_offset(bytes, channel));
        }
    }
}

inline void pack_values(const int8_t* const* rows, RowBytes bytes, int32_t* packed, int64_t stride) {
    for (int32_t token = 0; token < TOKEN_STEP; token += DEPTH_STEP) {
        for (int32_t channel = 0; channel < bytes.head_dim; ++channel) {
            int8_t quartet[DEPTH_STEP];
            const int64_t x = channel_offset(bytes, channel);
            for (int32_t j = 0; j < DEPTH_STEP; ++j) quartet[j] = rows[token + j][x];
            packed[token / DEPTH_STEP * stride + channel] = load_word(quartet);
        }
    }
}

// Bytes as int16 pairs: 0 and 2 of every word, or 1 and 3. Words keep their byte order in memory, so which is
// which does not matter as long as both operands agree.
SALS_INLINE RegisterI16 low_bytes(RegisterI32 x) { return (RegisterI16)((RegisterU16)x << 8) >> 8; }
SALS_INLINE RegisterI16 high_bytes(RegisterI32 x) { return (RegisterI16)x >> 8; }

template <int32_t R, int32_t C>
SALS_INLINE void multiply_block(LeftRows a, PackedWords b, int32_t* out, int64_t out_stride,
                                LineQueue& lines) {
    LineQueue queue = lines;
    RegisterI32 sum[R][C] = {};
    for (int32_t d = 0; d < b.depth_steps; ++d) {
        prefetch_line(queue);
        prefetch_line(queue);
        RegisterI16 low[C], high[C];
        for (int32_t c = 0; c < C; ++c) {
            RegisterI32 column;
            std::memcpy(&column, b.words + d * b.stride + c * COLUMN_LANES, sizeof(column));
            low[c] = low_bytes(column);
            high[c] = high_bytes(column);
        }
        for (int32_t r = 0; r < R; ++r) {
            const RegisterI32 code = RegisterI32{} + load_word(a.codes + r * a.stride + d * DEPTH_STEP);
            const RegisterI16 code_low = low_bytes(code);
            const RegisterI16 code_high = high_bytes(code);
            for (int32_t c = 0; c < C; ++c) {
                const RegisterI16 pairs = low[c] * code_low + high[c] * code_high;
                sum[r][c] += ((RegisterI32)((RegisterU32)pairs << 16) >> 16) + ((RegisterI32)pairs >> 16);
            }
        }
    }
    lines = queue;
    for (int32_t r = 0; r < R; ++r) {
        for (int32_t c = 0; c < C; ++c) {
            std::memcpy(out + r * out_stride + c * COLUMN_LANES, &sum[r][c], sizeof(sum[r][c]));
        }
    }
}

SALS_INLINE void store_int8(int8_t* to, I32x16 x) {
    int32_t lane[LANES];
    store(lane, x);
    for (int32_t i = 0; i < LANES; ++i) to[i] = static_cast<int8_t>(lane[i]);
}

}  // namespace sals::cpu::SALS_TARGET
