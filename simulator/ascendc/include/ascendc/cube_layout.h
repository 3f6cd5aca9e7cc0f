// SPDX-License-Identifier: Apache-2.0
// cube_layout.h - where the valid elements of a matrix lie in L0A, L0B and L0C. Matrices are cut into
// fractals (16 rows of 32 bytes; in L0C 16 rows of 16 values of 4 bytes); spans cover valid elements only,
// because whatever else a fractal holds is ignored.
//     L0A  A[m, k]   fractals row by row, a fractal holds 16 rows m of C0 elements k            (ZZ)
//     L0B  B[k, n]   fractals by k, then n; a fractal holds 16 columns n of C0 elements k       (ZN)
//     L0C  C[m, n]   fractals by n, then m; a fractal holds 16 rows m of 16 elements n          (NZ)
#pragma once
#include <cstdint>
#include <vector>

#include "ascendc/int4.h"
#include "engine/instruction.h"

namespace AscendC::internal {

namespace sim = sals::sim;

inline constexpr uint32_t CUBE_SIDE = 16;
inline constexpr uint32_t FRACTAL_BYTES = 512;  // in L1, L0A and L0B
inline constexpr uint32_t ROW_BYTES = 32;       // of a fractal in L0A and L0B
inline constexpr uint32_t L0C_ROW_BYTES = 64;   // of a fractal in L0C
inline constexpr uint32_t L0C_FRACTAL_BYTES = 1024;

// Elements of T in the 32 bytes of a fractal's row.
template <class T>
inline constexpr uint32_t C0 = static_cast<uint32_t>(sim_elements<T>(ROW_BYTES));

constexpr uint32_t ceil_div(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit; }
constexpr uint32_t round_up(uint32_t value, uint32_t unit) { return ceil_div(value, unit) * unit; }

// `lines` lines (rows of A, columns of B) of `line_bytes` bytes each, in fractals of 16 lines x 32 bytes.
// Fractals step by `along` along a line and by `across` from one group of 16 lines to the next.
struct FractalLayout {
    uint64_t begin = 0;
    uint32_t lines = 0;
    uint32_t line_bytes = 0;
    int64_t along = 0, across = 0;

    // Byte of the 32-byte piece `piece` of line `line`.
    uint64_t piece(uint32_t line, uint32_t piece_index) const {
        return begin + (line / CUBE_SIDE) * across + piece_index * along + (line % CUBE_SIDE) * ROW_BYTES;
    }

    std::vector<sim::Span> valid() const {
        const uint32_t groups = lines / CUBE_SIDE, rest_lines = lines % CUBE_SIDE;
        const uint32_t pieces = line_bytes / ROW_BYTES, rest_bytes = line_bytes % ROW_BYTES;
        const uint64_t last_group = begin + groups * across, last_piece = pieces * along;
        std::vector<sim::Span> spans;
        add(spans, begin, CUBE_SIDE * ROW_BYTES, 1, pieces, groups);
        add(spans, last_group, rest_lines * ROW_BYTES, 1, pieces, 1);
        add(spans, begin + last_piece, rest_bytes, CUBE_SIDE, 1, groups);
        add(spans, last_group + last_piece, rest_bytes, rest_lines, 1, 1);
        return spans;
    }

private:
    // Pieces of `bytes` in `rows` rows of a fractal, in `along_count` fractals along a line, in
    // `across_count` groups.
    void add(std::vector<sim::Span>& spans, uint64_t first, uint32_t bytes, uint32_t rows,
             uint32_t along_count, uint32_t across_count) const {
        sim::Span span = sim::Span::run(first, bytes);
        span.count[0] = rows;
        span.stride[0] = ROW_BYTES;
        span.count[1] = along_count;
        span.stride[1] = along;
        span.count[2] = across_count;
        span.stride[2] = across;
        if (!span.empty()) spans.push_back(span);
    }
};

// Valid elements of C[m, n] in L0C; columns of fractals are `column_step` bytes apart.
inline std::vector<sim::Span> valid_result(uint64_t begin, uint32_t m, uint32_t n, int64_t column_step) {
    const uint32_t columns = n / CUBE_SIDE, rest = n % CUBE_SIDE;
    std::vector<sim::Span> spans;
    if (columns != 0)
        spans.push_back(sim::Span::pieces(begin, uint64_t{m} * L0C_ROW_BYTES, columns, column_step));
    if (rest != 0) {
        spans.push_back(
            sim::Span::pieces(begin + columns * column_step, uint64_t{rest} * 4, m, L0C_ROW_BYTES));
    }
    return spans;
}

}  // namespace AscendC::internal
