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

// Elements of T in the 32 bytes of a fractal's row.
template <class T>
inline constexpr uint32_t C0 = static_cast<uint32_t>(sim_elements<T>(ROW_BYTES));

template <class T, class Wide>
void unpack_piece(const uint8_t* piece, uint32_t elements, Wide* values) {
    if constexpr (std::is_same_v<T, int4b_t>) {
        for (uint32_t i = 0; i < elements / 2; ++i) {
            values[2 * i] = static_cast<Wide>(static_cast<int8_t>(piece[i] << 4) >> 4);
            values[2 * i + 1] = static_cast<Wide>(static_cast<int8_t>(piece[i]) >> 4);
        }
    } else {
        for (uint32_t i = 0; i < elements; ++i) {
            T value;
            std::memcpy(&value, piece + i * sizeof(T), sizeof(T));
            values[i] = static_cast<Wide>(value);
        }
    }
}

// Line after line, `k` values each.
template <class T, class Wide>
std::vector<Wide> unpack_lines(const uint8_t* memory, const FractalLayout& layout, uint32_t k) {
    std::vector<Wide> values(size_t{layout.lines} * k);
    for (uint32_t line = 0; line < layout.lines; ++line) {
        for (uint32_t first = 0; first < k; first += C0<T>) {
            unpack_piece<T>(memory + layout.piece(line, first / C0<T>), std::min(C0<T>, k - first),
                            values.data() + size_t{line} * k + first);
        }
    }
    return values;
}

inline int32_t saturate(int64_t value) {
    return static_cast<int32_t>(
        std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

// row[n] += a[k] * b[n][k]; integer results saturate.
inline void multiply_row(const int16_t* a, const int16_t* b, uint32_t n, uint32_t k, int32_t* row) {
    for (uint32_t j = 0; j < n; ++j) {
        const int16_t* column = b + size_t{j} * k;
        int32_t sum = 0;
        for (uint32_t p = 0; p < k; ++p) sum += int32_t{a[p]} * column[p];
        row[j] = saturate(int64_t{row[j]} + sum);
    }
}

// row[n] += a[k] * b[k][n]
inline void multiply_row(const float* a, const float* b, uint32_t n, uint32_t k, float* row) {
    for (uint32_t p = 0; p < k; ++p) {
        const float factor = a[p];
        const float* values = b + size_t{p} * n;
        for (uint32_t j = 0; j < n; ++j) row[j] += factor * values[j];
    }
}

inline std::vector<float> transposed(const std::vector<float>& lines, uint32_t n, uint32_t k) {
    std::vector<float> result(lines.size());
    for (uint32_t j = 0; j < n; ++j) {
        for (uint32_t p = 0; p < k; ++p) result[size_t{p} * n + j] = lines[size_t{j} * k + p];
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
    using Wide = std::conditional_t<std::is_same_v<C, float>, float, int16_t>;
    const std::vector<Wide> a = unpack_lines<T, Wide>(l0a, shape.a, shape.k);
    std::vector<Wide> b = unpack_lines<T, Wide>(l0b, shape.b, shape.k);
    if constexpr (std::is_same_v<C, float>) b = transposed(b, shape.n, shape.k);
    std::vector<C> row(shape.n);
    for (uint32_t i = 0; i < shape.m; ++i) {
        const ResultRow<C> result(l0c + shape.c + uint64_t{i} * L0C_ROW_BYTES, shape.c_column_step(),
                                  shape.n);
        if (start == StartValue::L0C) {
            result.load(row.data());
        } else if (start == StartValue::BIAS) {
            std::memcpy(row.data(), bias, row.size() * sizeof(C));
        } else {
            std::fill(row.begin(), row.end(), C{0});
        }
        multiply_row(a.data() + size_t{i} * shape.k, b.data(), shape.n, shape.k, row.data());
        result.store(row.data());
    }
}

}  // namespace AscendC::internal
