// SPDX-License-Identifier: Apache-2.0
// load_data.h - LoadData with LoadData2DParams: fractals of 512 bytes from L1 or GM to L0A and L0B, or from
// GM to L1. Without ifTranspose the bytes of a fractal keep their order, so the data type does not matter.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ascendc/call_check.h"
#include "ascendc/cube_layout.h"
#include "ascendc/load_data_params.h"
#include "ascendc/move.h"
#include "ascendc/place.h"

namespace AscendC {

namespace internal {

// Fractals at equal steps in the source and in the destination; bytes.
struct FractalSteps {
    uint64_t src_begin = 0, dst_begin = 0;
    uint32_t count = 0;
    int64_t src_step = 0, dst_step = 0;

    uint64_t src(uint32_t i) const { return src_begin + i * src_step; }
    uint64_t dst(uint32_t i) const { return dst_begin + i * dst_step; }

    sim::Span source(uint64_t bytes) const {
        const uint64_t lowest = src_step < 0 ? src(count - 1) : src_begin;
        return sim::Span::pieces(lowest, bytes, count, src_step < 0 ? -src_step : src_step);
    }
    sim::Span target() const { return sim::Span::pieces(dst_begin, FRACTAL_BYTES, count, dst_step); }
};

// A 16 x 16 matrix of 16-bit elements.
inline void transpose_fractal(const OperandView& dst, uint64_t to, const OperandView& src, uint64_t from) {
    for (uint64_t row = 0; row < 16; ++row) {
        for (uint64_t column = 0; column < 16; ++column) {
            copy_bytes(dst, to + (row * 16 + column) * 2, src, from + (column * 16 + row) * 2, 2);
        }
    }
}

inline void check_load_target(CallCheck& check, const Place& dst, const Place& src) {
    check.on_core_with(dst.mem);
    if (dst.mem == sim::Mem::L1) {
        check.in_memory("src", src.mem, {sim::Mem::GM});
        check.aligned("dst", dst.mem, dst.begin, ONE_BLK_SIZE);
        return;
    }
    check.in_memory("dst", dst.mem, {sim::Mem::L0A, sim::Mem::L0B, sim::Mem::L1});
    check.in_memory("src", src.mem, {sim::Mem::L1, sim::Mem::GM});
    check.aligned("dst", dst.mem, dst.begin, FRACTAL_BYTES);
    if (src.mem == sim::Mem::L1) check.aligned("src", src.mem, src.begin, ONE_BLK_SIZE);
}

template <class T>
void check_load_2d(CallCheck& check, const Place& dst, const Place& src, const LoadData2DParams& params) {
    check_load_target(check, dst, src);
    params.startIndex.check(check, "startIndex");
    params.repeatTimes.check(check, "repeatTimes");
    params.srcStride.check(check, "srcStride");
    params.dstGap.check(check, "dstGap");
    if (params.ifTranspose && (sizeof(T) != 2 || src.mem != sim::Mem::L1)) {
        check.fail(
            "ifTranspose works from L1 to L0A or L0B with 16-bit elements; use LoadDataWithTranspose for "
            "other widths");
    }
    if (params.addrMode != 0 && dst.mem != sim::Mem::L1) {
        check.fail("addrMode 1 (stepping backwards) works from GM to L1 only");
    }
    if (std::is_same_v<T, int4b_t> && src.mem == sim::Mem::GM) {
        check.fail("int4b_t loads from L1 only; view the tensors as int8_t, fractals have no type");
    }
}

template <class T>
void load_2d(const Place& dst, const Place& src, const LoadData2DParams& params, sim::Where where) {
    CallCheck check("LoadData", where);
    check_load_2d<T>(check, dst, src, params);
    if (!check.ok() || params.repeatTimes == 0) return;

    FractalSteps steps;
    steps.src_begin = src.begin + uint64_t{params.startIndex} * FRACTAL_BYTES;
    steps.dst_begin = dst.begin;
    steps.count = params.repeatTimes;
    steps.src_step = int64_t{params.srcStride} * FRACTAL_BYTES * (params.addrMode == 0 ? 1 : -1);
    steps.dst_step = (int64_t{params.dstGap} + 1) * FRACTAL_BYTES;
    const sim::Span from = steps.source(FRACTAL_BYTES), to = steps.target();

    sim::Core* const core = &sim::Core::current();
    sim::Instruction instruction;
    instruction.name = "LoadData";
    instruction.pipe = src.mem == sim::Mem::GM ? sim::Pipe::MTE2 : sim::Pipe::MTE1;
    instruction.where = where;
    instruction.work.repeats = steps.count;
    instruction.accesses = {{src.mem, sim::Use::READ_MOVE, from, src.past_l2},
                            {dst.mem, sim::Use::WRITE_MOVE, to}};
    instruction.run = [core, steps, to, from, to_mem = dst.mem, from_mem = src.mem,
                       transpose = params.ifTranspose] {
        const OperandView dst_view(*core, to_mem, to), src_view(*core, from_mem, from);
        for (uint32_t i = 0; i < steps.count; ++i) {
            if (transpose) {
                transpose_fractal(dst_view, steps.dst(i), src_view, steps.src(i));
            } else {
                copy_bytes(dst_view, steps.dst(i), src_view, steps.src(i), FRACTAL_BYTES);
            }
        }
    };
    core->issue(std::move(instruction));
}

}  // namespace internal

template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const LoadData2DParams& params, sim::Where where = sim::Where::here()) {
    internal::load_2d<T>(internal::place_of(dst), internal::place_of(src), params, where);
}

template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const LoadData2DParams& params, sim::Where where = sim::Where::here()) {
    internal::load_2d<T>(internal::place_of(dst), internal::place_of(src), params, where);
}

}  // namespace AscendC
