// SPDX-License-Identifier: Apache-2.0
// fixpipe_move.h - results from L0C (NZ fractals of 16 x 16 values of 4 bytes) to GM or L1, converted and
// laid out: ND rows, NZ fractals of 16 columns, of 8 columns (channel split of float) or of 32 columns (8-bit
// values).
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "ascendc/call_check.h"
#include "ascendc/cube_layout.h"
#include "ascendc/data_copy.h"
#include "ascendc/fixpipe_quant.h"

namespace AscendC::internal {

enum class ResultLayout : uint8_t { ND, NZ, NZ_SPLIT, NZ_MERGED };

struct FixpipeJob {
    Place dst, src;
    uint32_t m = 0, n = 0;
    uint32_t matrices = 1;
    int64_t src_column = 0, src_matrix = 0;  // bytes, between columns of fractals and between matrices
    int64_t dst_step = 0, dst_matrix = 0;    // bytes, between rows (ND) or columns of fractals (NZ); matrices
    ResultLayout layout = ResultLayout::ND;
    QuantMode_t quant = QuantMode_t::NoQuant;
    uint64_t quant_param = 0;
    Place quant_tensor{sim::Mem::L1, 0};  // one parameter per column
    bool relu = false;
    uint8_t unit_flag = 0;
    uint32_t element_bytes = 4;  // of dst

    // Columns that lie together in dst, and columns of a fractal of dst.
    uint32_t run_columns() const { return layout == ResultLayout::NZ_SPLIT ? 8 : CUBE_SIDE; }
    uint32_t fractal_columns() const { return layout == ResultLayout::NZ_MERGED ? 32 : run_columns(); }

    uint64_t src_address(uint32_t matrix, uint32_t row, uint32_t column) const {
        return src.begin + matrix * src_matrix + column / CUBE_SIDE * src_column +
               uint64_t{row} * L0C_ROW_BYTES + uint64_t{column % CUBE_SIDE} * 4;
    }
    uint64_t dst_address(uint32_t matrix, uint32_t row, uint32_t column) const {
        const uint64_t base = dst.begin + matrix * dst_matrix;
        if (layout == ResultLayout::ND) return base + row * dst_step + uint64_t{column} * element_bytes;
        const uint32_t width = fractal_columns();
        // An odd last fractal of 16 columns is not merged: its rows stay 16 values wide.
        const uint32_t pitch = std::min(width, n - column / width * width);
        return base + column / width * dst_step + (uint64_t{row} * pitch + column % width) * element_bytes;
    }

    std::vector<sim::Span> source() const {
        std::vector<sim::Span> spans = valid_result(src.begin, m, n, src_column);
        for (sim::Span& span : spans) {
            span.count[1] = matrices;
            span.stride[1] = src_matrix;
        }
        return spans;
    }
    std::vector<sim::Span> target() const {
        if (layout == ResultLayout::ND) {
            sim::Span span = sim::Span::pieces(dst.begin, uint64_t{n} * element_bytes, m, dst_step);
            span.count[1] = matrices;
            span.stride[1] = dst_matrix;
            return {span};
        }
        const uint32_t width = fractal_columns(), columns = n / width, rest = n % width;
        std::vector<sim::Span> spans;
        if (columns != 0) {
            spans.push_back(
                sim::Span::pieces(dst.begin, uint64_t{m} * width * element_bytes, columns, dst_step));
        }
        if (rest != 0) {
            spans.push_back(
                sim::Span::run(dst.begin + columns * dst_step, uint64_t{m} * rest * element_bytes));
        }
        return spans;
    }
    uint64_t source_extent() const { return src_address(matrices - 1, m - 1, n - 1) + 4 - src.begin; }
    uint64_t target_extent() const {
        uint64_t end = 0;
        for (const sim::Span& span : target()) end = std::max(end, span.end());
        return end - dst.begin;
    }
};

// Converts values of one row that lie together in source and target.
template <class T, class U>
struct RunConverter {
    const FixpipeJob& job;
    AtomicMode atomic;
    const uint8_t* column_params;  // null: one for all

    void convert_run(const OperandView& dst, uint64_t to, const OperandView& src, uint64_t from,
                     uint32_t column, uint32_t count) const {
        if (job.quant == QuantMode_t::NoQuant && !job.relu && !atomic.on()) {
            copy_bytes(dst, to, src, from, uint64_t{count} * sizeof(T));
            return;
        }
        uint8_t values[CUBE_SIDE * sizeof(uint32_t)], taint[CUBE_SIDE * sizeof(uint32_t)];
        for (uint32_t i = 0; i < count; ++i) {
            U value;
            std::memcpy(&value, src.data(from + i * sizeof(U)), sizeof(U));
            const T result = convert<T, U>(value, QuantParam(param_of(column + i)), job.relu);
            std::memcpy(values + i * sizeof(T), &result, sizeof(T));
            uint32_t undefined = 0;
            std::memcpy(&undefined, src.taint(from + i * sizeof(U)), sizeof(U));
            std::memset(taint + i * sizeof(T), undefined == 0 ? sim::DEFINED : sim::UNDEFINED, sizeof(T));
        }
        store(dst, to, values, taint, uint64_t{count} * sizeof(T));
    }

private:
    uint64_t param_of(uint32_t column) const {
        if (column_params == nullptr) return job.quant_param;
        uint64_t param;
        std::memcpy(&param, column_params + size_t{column} * sizeof(param), sizeof(param));
        return param;
    }

    void store(const OperandView& dst, uint64_t to, const uint8_t* values, const uint8_t* taint,
               uint64_t bytes) const {
        if (atomic.on()) {
            atomic.combine(dst.data(to), dst.taint(to), values, taint, bytes);
            return;
        }
        std::memcpy(dst.data(to), values, bytes);
        if (dst.taint(to) != nullptr) std::memcpy(dst.taint(to), taint, bytes);
    }
};

template <class T, class U>
void run_fixpipe(sim::Core& core, const FixpipeJob& job, AtomicMode atomic) {
    const OperandView dst(core, job.dst.mem, sim::Span::run(job.dst.begin, job.target_extent()));
    const OperandView src(core, job.src.mem, sim::Span::run(job.src.begin, job.source_extent()));
    const uint8_t* const column_params =
        is_per_column(job.quant) ? core.memory(job.quant_tensor.mem).data.data() + job.quant_tensor.begin
                                 : nullptr;
    const RunConverter<T, U> converter{job, atomic, column_params};
    for (uint32_t matrix = 0; matrix < job.matrices; ++matrix) {
        for (uint32_t row = 0; row < job.m; ++row) {
            for (uint32_t column = 0; column < job.n; column += job.run_columns()) {
                const uint32_t count = std::min(job.run_columns(), job.n - column);
                converter.convert_run(dst, job.dst_address(matrix, row, column), src,
                                      job.src_address(matrix, row, column), column, count);
            }
        }
    }
}

template <class T, class U>
void issue_fixpipe(const char* name, const FixpipeJob& job, sim::Where where) {
    sim::Core* const core = &sim::Core::current();
    const AtomicMode atomic = job.dst.mem == sim::Mem::GM ? AtomicMode::current() : AtomicMode{};
    sim::Instruction instruction;
    instruction.name = name;
    instruction.pipe = sim::Pipe::FIX;
    instruction.where = where;
    instruction.unit_flag = job.unit_flag;
    instruction.atomic = atomic.on();
    instruction.work.m = job.m;
    instruction.work.n = job.n;
    instruction.work.elements = uint64_t{job.matrices} * job.m * job.n;
    instruction.work.elem_bytes = sizeof(T);
    for (const sim::Span& span : job.source()) {
        instruction.accesses.push_back({job.src.mem, sim::Use::READ_MOVE, span});
    }
    if (is_per_column(job.quant)) {
        instruction.accesses.push_back(
            {job.quant_tensor.mem, sim::Use::READ,
             sim::Span::run(job.quant_tensor.begin, uint64_t{job.n} * sizeof(uint64_t))});
    }
    for (const sim::Span& span : job.target()) {
        instruction.accesses.push_back({job.dst.mem, sim::Use::WRITE_MOVE, span, job.dst.past_l2});
    }
    instruction.run = [core, job, atomic] { run_fixpipe<T, U>(*core, job, atomic); };
    core->issue(std::move(instruction));
}

}  // namespace AscendC::internal
