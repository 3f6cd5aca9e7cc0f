// SPDX-License-Identifier: Apache-2.0
// data_copy_nd2nz.h - DataCopy with Nd2NzParams: rows in GM are cut into pieces of 32 bytes (C0), and piece c
// of row n goes to c * dstNzC0Stride + n * dstNzNStride datablocks of L1. The last piece of a row is
// completed with zeros. 4-bit elements travel as bytes: all parameters then count bytes.
#pragma once
#include <cstdint>

#include "ascendc/data_copy.h"

namespace AscendC {

namespace internal {

inline constexpr uint32_t MAX_ND2NZ_MATRICES = 4095;
inline constexpr uint32_t MAX_ND2NZ_STRIDE = 16384;

// Strides in bytes.
struct Nd2NzGeometry {
    uint32_t matrices, rows;
    uint64_t row_bytes;
    int64_t src_row, src_matrix, dst_piece, dst_row, dst_matrix;

    uint32_t full_pieces() const { return static_cast<uint32_t>(row_bytes / ONE_BLK_SIZE); }
    uint32_t rest_bytes() const { return static_cast<uint32_t>(row_bytes % ONE_BLK_SIZE); }

    sim::Span source(uint64_t begin) const {
        sim::Span span = sim::Span::pieces(begin, row_bytes, rows, src_row);
        span.count[1] = matrices;
        span.stride[1] = src_matrix;
        return span;
    }
    sim::Span target(uint64_t begin) const {
        const uint32_t pieces = full_pieces() + (rest_bytes() != 0 ? 1 : 0);
        sim::Span span = sim::Span::pieces(begin, ONE_BLK_SIZE, rows, dst_row);
        span.count[1] = pieces;
        span.stride[1] = dst_piece;
        span.count[2] = matrices;
        span.stride[2] = dst_matrix;
        return span;
    }
};

inline void convert_row(const OperandView& dst, uint64_t to, const OperandView& src, uint64_t from,
                        const Nd2NzGeometry& geometry) {
    for (uint32_t piece = 0; piece < geometry.full_pieces(); ++piece) {
        copy_bytes(dst, to + piece * geometry.dst_piece, src, from + uint64_t{piece} * ONE_BLK_SIZE,
                   ONE_BLK_SIZE);
    }
    const uint32_t rest = geometry.rest_bytes();
    if (rest == 0) return;
    const uint64_t last = to + geometry.full_pieces() * geometry.dst_piece;
    copy_bytes(dst, last, src, from + uint64_t{geometry.full_pieces()} * ONE_BLK_SIZE, rest);
    std::memset(dst.data(last + rest), 0, ONE_BLK_SIZE - rest);
    dst.set_taint(last + rest, ONE_BLK_SIZE - rest, sim::DEFINED);
}

inline void check_nd2nz(CallCheck& check, const Place& dst, const Nd2NzParams& params) {
    check.in_memory("dst", dst.mem, {sim::Mem::L1});
    check.on_core_with(dst.mem);
    check.aligned("dst", dst.mem, dst.begin, ONE_BLK_SIZE);
    check_field(check, "ndNum", params.ndNum, 0, MAX_ND2NZ_MATRICES);
    check_field(check, "nValue", params.nValue, 0, MAX_ND2NZ_STRIDE);
    params.dValue.check(check, "dValue");
    params.srcNdMatrixStride.check(check, "srcNdMatrixStride");
    check_field(check, "srcDValue", params.srcDValue, 1, UINT16_MAX);
    check_field(check, "dstNzC0Stride", params.dstNzC0Stride, 1, MAX_ND2NZ_STRIDE);
    check_field(check, "dstNzNStride", params.dstNzNStride, 1, MAX_ND2NZ_STRIDE);
    check_field(check, "dstNzMatrixStride", params.dstNzMatrixStride, 0, MAX_ND2NZ_STRIDE);
}

inline void issue_nd2nz(const Place& dst, const Place& src, const Nd2NzGeometry& geometry, sim::Where where) {
    sim::Core* const core = &sim::Core::current();
    const sim::Span to = geometry.target(dst.begin), from = geometry.source(src.begin);
    sim::Instruction instruction;
    instruction.name = "DataCopy";
    instruction.pipe = sim::Pipe::MTE2;
    instruction.where = where;
    instruction.work.rows = geometry.matrices * geometry.rows;
    instruction.accesses = {{sim::Mem::GM, sim::Use::READ_MOVE, from, src.past_l2},
                            {sim::Mem::L1, sim::Use::WRITE_MOVE, to}};
    instruction.run = [core, to, from, geometry] {
        const OperandView dst_view(*core, sim::Mem::L1, to), src_view(*core, sim::Mem::GM, from);
        for (uint32_t matrix = 0; matrix < geometry.matrices; ++matrix) {
            for (uint32_t row = 0; row < geometry.rows; ++row) {
                convert_row(dst_view, to.begin + matrix * geometry.dst_matrix + row * geometry.dst_row,
                            src_view, from.begin + matrix * geometry.src_matrix + row * geometry.src_row,
                            geometry);
            }
        }
    };
    core->issue(std::move(instruction));
}

}  // namespace internal

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const Nd2NzParams& params, sim::Where where = sim::Where::here()) {
    static_assert(sizeof(T) <= 4, "DataCopy with Nd2NzParams moves elements of at most 32 bits");
    internal::CallCheck check("DataCopy with Nd2NzParams", where);
    internal::check_nd2nz(check, internal::place_of(dst), params);
    if (!check.ok() || params.ndNum == 0 || params.nValue == 0 || params.dValue == 0) return;

    constexpr int64_t BYTES = sizeof(T);  // of int4b_t: 1, as documented for 4-bit elements
    internal::Nd2NzGeometry geometry;
    geometry.matrices = params.ndNum;
    geometry.rows = params.nValue;
    geometry.row_bytes = params.dValue * sizeof(T);
    geometry.src_row = params.srcDValue * BYTES;
    geometry.src_matrix = params.srcNdMatrixStride * BYTES;
    geometry.dst_piece = int64_t{params.dstNzC0Stride} * ONE_BLK_SIZE;
    geometry.dst_row = int64_t{params.dstNzNStride} * ONE_BLK_SIZE;
    geometry.dst_matrix = params.dstNzMatrixStride * BYTES;
    if (params.ndNum > 1 && geometry.dst_matrix % ONE_BLK_SIZE != 0) {
        check.fail("dstNzMatrixStride in bytes must be a multiple of 32, got " +
                   std::to_string(geometry.dst_matrix));
        return;
    }
    internal::issue_nd2nz(internal::place_of(dst), internal::place_of(src), geometry, where);
}

}  // namespace AscendC
