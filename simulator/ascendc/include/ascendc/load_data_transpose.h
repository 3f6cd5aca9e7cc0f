// SPDX-License-Identifier: Apache-2.0
// load_data_transpose.h - LoadDataWithTranspose: squares from L1, transposed, to L0A and L0B. A square is
// made of the fractals that follow each other in L1: 4 of 16 x 64 (int4) or 2 of 16 x 32 (8 bits) below each
// other, one of 16 x 16 (16 bits), 2 of 16 x 8 (32 bits) side by side; the transposed square falls apart in
// the same way.
#pragma once
#include <cstdint>
#include <type_traits>

#include "ascendc/load_data.h"

namespace AscendC {

namespace internal {

// Squares of elements of T.
template <class T>
struct Square {
    static constexpr bool INT4 = std::is_same_v<T, int4b_t>;
    static constexpr uint32_t SIDE = INT4 ? 64 : sizeof(T) == 1 ? 32 : 16;
    static constexpr uint32_t FRACTALS = INT4 ? 4 : sizeof(T) == 2 ? 1 : 2;
    static constexpr uint32_t BYTES = FRACTALS * FRACTAL_BYTES;

    // Fractal of element (row, column), and its byte in the fractal (for int4 of the pair of elements).
    static constexpr uint32_t fractal(uint32_t row, uint32_t column) {
        return sizeof(T) == 4 ? column / 8 : row / 16;
    }
    static constexpr uint32_t byte(uint32_t row, uint32_t column) {
        if (sizeof(T) == 4) return (row * 8 + column % 8) * 4;
        if (INT4) return (row % 16) * 32 + column / 2;
        return ((row % 16) * SIDE + column) * sizeof(T);
    }
};

inline uint8_t nibble(uint8_t byte, uint32_t column) {
    return static_cast<uint8_t>(byte >> (4 * (column % 2)) & 0xF);
}

inline void transpose_int4_square(const OperandView& dst, uint64_t to, uint64_t fractal_step,
                                  const OperandView& src, uint64_t from) {
    using Int4Square = Square<int4b_t>;
    for (uint32_t row = 0; row < Int4Square::SIDE; ++row) {
        for (uint32_t column = 0; column < Int4Square::SIDE; column += 2) {
            const uint64_t low =
                from + Int4Square::fractal(column, row) * FRACTAL_BYTES + Int4Square::byte(column, row);
            const uint64_t high = from + Int4Square::fractal(column + 1, row) * FRACTAL_BYTES +
                                  Int4Square::byte(column + 1, row);
            const uint64_t target =
                to + Int4Square::fractal(row, column) * fractal_step + Int4Square::byte(row, column);
            *dst.data(target) =
                static_cast<uint8_t>(nibble(*src.data(low), row) | nibble(*src.data(high), row) << 4);
            *dst.taint(target) = *src.taint(low) | *src.taint(high);
        }
    }
}

template <class T>
void transpose_square(const OperandView& dst, uint64_t to, uint64_t fractal_step, const OperandView& src,
                      uint64_t from) {
    if constexpr (std::is_same_v<T, int4b_t>) {
        transpose_int4_square(dst, to, fractal_step, src, from);
    } else {
        for (uint32_t row = 0; row < Square<T>::SIDE; ++row) {
            for (uint32_t column = 0; column < Square<T>::SIDE; ++column) {
                const uint64_t source =
                    from + Square<T>::fractal(column, row) * FRACTAL_BYTES + Square<T>::byte(column, row);
                const uint64_t target =
                    to + Square<T>::fractal(row, column) * fractal_step + Square<T>::byte(row, column);
                copy_bytes(dst, target, src, source, sizeof(T));
            }
        }
    }
}

template <class T>
void check_load_transposed(CallCheck& check, const Place& dst, const Place& src,
                           const LoadData2dTransposeParams& params) {
    check.in_memory("dst", dst.mem, {sim::Mem::L0A, sim::Mem::L0B});
    check.in_memory("src", src.mem, {sim::Mem::L1});
    check.on_core_with(dst.mem);
    check.aligned("dst", dst.mem, dst.begin, FRACTAL_BYTES);
    check.aligned("src", src.mem, src.begin, ONE_BLK_SIZE);
    params.startIndex.check(check, "startIndex");
    params.repeatTimes.check(check, "repeatTimes");
    params.srcStride.check(check, "srcStride");
    params.dstGap.check(check, "dstGap");
    params.dstFracGap.check(check, "dstFracGap");
    if (std::is_same_v<T, int4b_t> && dst.mem == sim::Mem::L0A) {
        check.fail("int4b_t can be transposed into L0B only");
    }
    if (params.addrMode != 0) {
        check.fail(
            "addrMode 1 is described in the documentation but not passed on by the headers of this "
            "architecture: leave it 0");
    }
}

}  // namespace internal

template <typename T>
__aicore__ inline void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                             const LoadData2dTransposeParams& params,
                                             sim::Where where = sim::Where::here()) {
    static_assert(sizeof(T) <= 4, "LoadDataWithTranspose moves elements of at most 32 bits");
    using internal::Square;
    internal::CallCheck check("LoadDataWithTranspose", where);
    internal::check_load_transposed<T>(check, internal::place_of(dst), internal::place_of(src), params);
    if (!check.ok() || params.repeatTimes == 0) return;

    internal::FractalSteps steps;
    steps.src_begin = src.sim_begin() + uint64_t{params.startIndex} * Square<T>::BYTES;
    steps.dst_begin = dst.sim_begin();
    steps.count = params.repeatTimes;
    steps.src_step = int64_t{params.srcStride} * Square<T>::BYTES;
    steps.dst_step = (int64_t{params.dstGap} + 1) * internal::FRACTAL_BYTES;
    const uint64_t fractal_step = (uint64_t{params.dstFracGap} + 1) * internal::FRACTAL_BYTES;
    const sim::Span from = steps.source(Square<T>::BYTES);
    sim::Span to = steps.target();
    to.count[1] = Square<T>::FRACTALS;
    to.stride[1] = static_cast<int64_t>(fractal_step);

    sim::Core* const core = &sim::Core::current();
    sim::Instruction instruction;
    instruction.name = "LoadDataWithTranspose";
    instruction.pipe = sim::Pipe::MTE1;
    instruction.where = where;
    instruction.work.repeats = steps.count * Square<T>::FRACTALS;
    instruction.accesses = {{sim::Mem::L1, sim::Use::READ_MOVE, from},
                            {dst.sim_mem(), sim::Use::WRITE_MOVE, to}};
    instruction.run = [core, steps, fractal_step, to, from, to_mem = dst.sim_mem()] {
        const internal::OperandView dst_view(*core, to_mem, to), src_view(*core, sim::Mem::L1, from);
        for (uint32_t i = 0; i < steps.count; ++i) {
            internal::transpose_square<T>(dst_view, steps.dst(i), fractal_step, src_view, steps.src(i));
        }
    };
    core->issue(std::move(instruction));
}

}  // namespace AscendC
