// SPDX-License-Identifier: Apache-2.0
// mmad_compute.h - the arithmetic of Mmad. Operands are unpacked from their fractals first: integers to
// int16, one line after another, for exact dot products; floating-point values to float, so that the sum over
// k is taken in fp32 in ascending order of k.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "ascendc/cube_layout.h"
#include "ascendc/half.h"
#include "ascendc/int4.h"

namespace AscendC::internal {

// Loops over whole blocks have a constant length, which compilers vectorise.
inline constexpr uint32_t K_BLOCK = 64;  // of integers; a multiple of C0 of int4 and int8
inline constexpr uint32_t N_BLOCK = CUBE_SIDE;

template <class T, class Wide>
void unpack_piece(const uint8_t* piece, Wide* values) {
    if constexpr (std::is_same_v<T, int4b_t>) {
        for (uint32_t i = 0; i < ROW_BYTES; ++i) {
            values[2 * i] = static_cast<Wide>(static_cast<int8_t>(piece[i] << 4) >> 4);
            values[2 * i + 1] = static_cast<Wide>(static_cast<int8_t>(piece[i]) >> 4);
        }
    } else {
        T elements[C0<T>];
        std::memcpy(elements, piece, ROW_BYTES);
        for (uint32_t i = 0; i < C0<T>; ++i) values[i] = static_cast<Wide>(elements[i]);
    }
}

// Line after line, `pitch` values each, of which the first k are valid and the others 0.
template <class T, class Wide>
std::vector<Wide> unpack_lines(const uint8_t* memory, const FractalLayout& layout, uint32_t k,
                               uint32_t pitch) {
    std::vector<Wide> values(size_t{layout.lines} * pitch);
    for (uint32_t line = 0; line < layout.lines; ++line) {
        Wide* const first = values.data() + size_t{line} * pitch;
        for (uint32_t piece = 0; piece * C0<T> < k; ++piece) {
            unpack_piece<T>(memory + layout.piece(line, piece), first + size_t{piece} * C0<T>);
        }
        std::fill(first + k, first + pitch, Wide{0});
    }
    return values;
}

inline int32_t saturate(int64_t value) {
    return static_cast<int32_t>(
        std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

inline int32_t dot(const int16_t* a, const int16_t* b) {
    int32_t sum = 0;
    for (uint32_t p = 0; p < K_BLOCK; ++p) sum += int32_t{a[p]} * b[p];
    return sum;
}

// row[n] += a[k] * b[n][k]; k in whole blocks. Results saturate.
inline void multiply_row(const int16_t* a, const int16_t* b, uint32_t n, uint32_t k, int32_t* row) {
    for (uint32_t j = 0; j < n; ++j) {
        const int16_t* const column = b + size_t{j} * k;
        int32_t sum = 0;
        for (uint32_t p = 0; p < k; p += K_BLOCK) sum += dot(a + p, column + p);
        row[j] = saturate(int64_t{row[j]} + sum);
    }
}

// row[n] += a[k] * b[k][n]; n in whole blocks.
inline void multiply_row(const float* a, const float* b, uint32_t n, uint32_t k, float* row) {
    for (uint32_t j = 0; j < n; j += N_BLOCK) {
        float sums[N_BLOCK];
        std::copy_n(row + j, N_BLOCK, sums);
        for (uint32_t p = 0; p < k; ++p) {
            const float factor = a[p];
            const float* const values = b + size_t{p} * n + j;
            for (uint32_t i = 0; i < N_BLOCK; ++i) sums[i] += factor * values[i];
        }
        std::copy_n(sums, N_BLOCK, row + j);
    }
}

// [k][n_pitch] from lines [n][k_pitch]
inline std::vector<float> transposed(const std::vector<float>& lines, uint32_t n, uint32_t k,
                                     uint32_t k_pitch, uint32_t n_pitch) {
    std::vector<float> result(size_t{k} * n_pitch);
    for (uint32_t j = 0; j < n; ++j) {
        for (uint32_t p = 0; p < k; ++p) result[size_t{p} * n_pitch + j] = lines[size_t{j} * k_pitch + p];
    }
    return result;
}

// A row of C, which lies in pieces of 16 values.
template <class C>
class ResultRow {
public:
    ResultRow(uint8_t* first, uint64_t column_step, uint32_t n) : first_(first), step_(column_step), n_(n) {}

    void load(C* row) const {
        for (uint32_t j = 0; j < n_; j += CUBE_SIDE) std::memcpy(row + j, piece(j), bytes(j));
    }
    void store(const C* row) const {
        for (uint32_t j = 0; j < n_; j += CUBE_SIDE) std::memcpy(piece(j), row + j, bytes(j));
    }

private:
    uint8_t* piece(uint32_t j) const { return first_ + j / CUBE_SIDE * step_; }
    size_t bytes(uint32_t j) const { return std::min(CUBE_SIDE, n_ - j) * sizeof(C); }

    uint8_t* first_;
    uint64_t step_;
    uint32_t n_;
};

struct MmadShape {
    FractalLayout a, b;
    uint64_t c = 0;  // offset in L0C
    uint32_t m = 0, n = 0, k = 0;

    uint64_t c_column_step() const { return uint64_t{ceil_div(m, CUBE_SIDE)} * L0C_FRACTAL_BYTES; }
};

enum class StartValue : uint8_t { ZERO, L0C, BIAS };

// C = start + A * B, in place. `bias` holds n values for StartValue::BIAS.
template <class T, class C>
void multiply(const MmadShape& shape, const uint8_t* l0a, const uint8_t* l0b, uint8_t* l0c, StartValue start,
              const uint8_t* bias) {
    constexpr bool FLOAT = std::is_same_v<C, float>;
    using Wide = std::conditional_t<FLOAT, float, int16_t>;
    const uint32_t k_pitch = round_up(shape.k, FLOAT ? C0<T> : K_BLOCK), n_pitch = round_up(shape.n, N_BLOCK);
    const std::vector<Wide> a = unpack_lines<T, Wide>(l0a, shape.a, shape.k, k_pitch);
    std::vector<Wide> b = unpack_lines<T, Wide>(l0b, shape.b, shape.k, k_pitch);
    if constexpr (FLOAT) b = transposed(b, shape.n, shape.k, k_pitch, n_pitch);
    std::vector<C> row(n_pitch);
    for (uint32_t i = 0; i < shape.m; ++i) {
        const ResultRow<C> result(l0c + shape.c + uint64_t{i} * L0C_ROW_BYTES, shape.c_column_step(),
                                  shape.n);
        if (start == StartValue::L0C) {
            result.load(row.data());
        } else if (start == StartValue::BIAS) {
            std::memcpy(row.data(), bias, shape.n * sizeof(C));
        } else {
            std::fill(row.begin(), row.end(), C{0});
        }
        multiply_row(a.data() + size_t{i} * k_pitch, b.data(), FLOAT ? n_pitch : shape.n,
                     FLOAT ? shape.k : k_pitch, row.data());
        result.store(row.data());
    }
}

}  // namespace AscendC::internal
