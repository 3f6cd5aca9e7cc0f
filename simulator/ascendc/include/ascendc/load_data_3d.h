// SPDX-License-Identifier: Apache-2.0
// load_data_3d.h - LoadData with LoadData3DParamsV2, as matrix products use it: with a 1 x 1 filter the
// feature map is a matrix of l1H * l1W rows and channelSize columns, which lies in L1 as NZ fractals. A
// window of it goes to L0A as it is or transposed (ZZ), or to L0B transposed (ZN). Filters, strides and
// paddings of convolutions are not modelled.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ascendc/load_data.h"

namespace AscendC {

namespace internal {

// Window X of the matrix in L1 and where its elements go. A line of the target is a row of X, or a column
// when X is transposed on its way.
struct MatrixWindow {
    uint64_t src = 0;
    int64_t src_column = 0;  // bytes, between columns of fractals
    uint32_t rows = 0, columns = 0;
    uint32_t element_bits = 8;
    bool transposed = false;
    FractalLayout target;
    uint64_t target_bytes = 0;

    uint32_t row_elements() const { return ROW_BYTES * 8 / element_bits; }  // C0

    sim::Span source() const {
        return sim::Span::pieces(src, uint64_t{rows} * ROW_BYTES, ceil_div(columns, row_elements()),
                                 src_column);
    }
};

template <class T>
MatrixWindow matrix_window(const Place& dst, const Place& src, const LoadData3DParamsV2<T>& params) {
    const uint32_t height = uint32_t{params.l1H} * params.l1W;
    MatrixWindow window;
    window.element_bits = std::is_same_v<T, int4b_t> ? 4 : 8 * sizeof(T);
    window.src_column = int64_t{height} * ROW_BYTES;
    window.src =
        src.begin + params.kStartPt / C0<T> * window.src_column + uint64_t{params.mStartPt} * ROW_BYTES;
    window.rows = params.mExtension;
    window.columns = params.kExtension;
    window.transposed = dst.mem == sim::Mem::L0B || params.enTranspose;

    const uint32_t lines = window.transposed ? window.columns : window.rows;
    const uint32_t length = window.transposed ? round_up(window.rows, CUBE_SIDE) : window.columns;
    const uint32_t groups = ceil_div(lines, CUBE_SIDE), pieces = ceil_div(length, C0<T>);
    window.target = {dst.begin, lines, static_cast<uint32_t>(sim_bytes<T>(length)), FRACTAL_BYTES,
                     int64_t{pieces} * FRACTAL_BYTES};
    if (dst.mem == sim::Mem::L0B) {
        window.target.along = int64_t{groups} * FRACTAL_BYTES;
        window.target.across = FRACTAL_BYTES;
    }
    window.target_bytes = uint64_t{groups} * pieces * FRACTAL_BYTES;
    return window;
}

// What the window does not cover of the target's fractals is undefined afterwards.
inline void move_window(const MatrixWindow& window, const OperandView& dst, const OperandView& src) {
    dst.set_taint(window.target.begin, window.target_bytes, sim::UNDEFINED);
    const uint32_t width = window.row_elements();
    for (uint32_t row = 0; row < window.rows; ++row) {
        for (uint32_t column = 0; column < window.columns; column += width) {
            const uint64_t from = window.src + column / width * window.src_column + uint64_t{row} * ROW_BYTES;
            const uint32_t count = std::min(width, window.columns - column);
            if (!window.transposed) {
                copy_bytes(dst, window.target.piece(row, column / width), src, from,
                           count * window.element_bits / 8);
                continue;
            }
            const uint32_t bytes = window.element_bits / 8;
            for (uint32_t i = 0; i < count; ++i) {
                copy_bytes(dst, window.target.piece(column + i, row / width) + row % width * bytes, src,
                           from + uint64_t{i} * bytes, bytes);
            }
        }
    }
}

template <class T>
bool is_plain_matrix(const LoadData3DParamsV2<T>& params) {
    const bool no_padding =
        (params.padList[0] | params.padList[1] | params.padList[2] | params.padList[3]) == 0;
    return no_padding && params.filterW == 1 && params.filterH == 1 && params.strideW == 1 &&
           params.strideH == 1 && params.dilationFilterW == 1 && params.dilationFilterH == 1 &&
           !params.filterSizeW && !params.filterSizeH && !params.enSmallK && !params.fMatrixCtrl;
}

template <class T>
void check_window(CallCheck& check, const LoadData3DParamsV2<T>& params) {
    const uint32_t height = uint32_t{params.l1H} * params.l1W;
    const uint32_t bottom = uint32_t{params.mStartPt} + params.mExtension;
    const uint32_t right = uint32_t{params.kStartPt} + params.kExtension;
    params.channelSize.check(check, "channelSize");
    params.kExtension.check(check, "kExtension");
    params.mExtension.check(check, "mExtension");
    params.kStartPt.check(check, "kStartPt");
    check_field(check, "l1H", params.l1H, 0, INT16_MAX);
    check_field(check, "l1W", params.l1W, 0, INT16_MAX);
    check_field(check, "mStartPt", params.mStartPt, 0, INT16_MAX);
    check.multiple("channelSize", params.channelSize, C0<T>, " (other numbers of channels are not modelled)");
    check.multiple("kStartPt", params.kStartPt, C0<T>);
    check.range("mStartPt + mExtension", bottom, 0, height);
    check.range("kStartPt + kExtension", right, 0, params.channelSize);
    if (right < params.channelSize) check.multiple("kExtension inside the matrix", params.kExtension, C0<T>);
    if (bottom < height && sizeof(T) != 4)
        check.multiple("mExtension inside the matrix", params.mExtension, CUBE_SIDE);
}

template <class T>
void check_load_3d(CallCheck& check, const Place& dst, const Place& src,
                   const LoadData3DParamsV2<T>& params) {
    check.in_memory("dst", dst.mem, {sim::Mem::L0A, sim::Mem::L0B});
    check.in_memory("src", src.mem, {sim::Mem::L1});
    check.on_core_with(dst.mem);
    check.aligned("dst", dst.mem, dst.begin, FRACTAL_BYTES);
    check.aligned("src", src.mem, src.begin, ONE_BLK_SIZE);
    const bool transposes = dst.mem == sim::Mem::L0B || params.enTranspose;
    if (transposes && (sizeof(T) == 1))
        check.fail("elements of 4 and 8 bits are not transposed; use LoadDataWithTranspose");
    if (!is_plain_matrix(params)) {
        check.fail(
            "filters, strides, dilations and paddings of convolutions are not modelled: the filter must be "
            "1 x 1 with strides and dilations of 1 and no padding");
    }
    check_window(check, params);
}

}  // namespace internal

template <typename T, const IsResetLoad3dConfig& defaultConfig = IS_RESER_LOAD3D_DEFAULT_CONFIG,
          typename U = T, typename std::enable_if<std::is_same<T, U>::value, bool>::type = true>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const LoadData3DParamsV2<U>& params, sim::Where where = sim::Where::here()) {
    static_assert(defaultConfig.isSetFMatrix,
                  "the feature map is described by the parameters: there is no SetFmatrix");
    const internal::Place to = internal::place_of(dst), from = internal::place_of(src);
    internal::CallCheck check("LoadData with LoadData3DParamsV2", where);
    internal::check_load_3d(check, to, from, params);
    const bool empty = params.l1H == 0 || params.l1W == 0 || params.channelSize == 0 ||
                       params.kExtension == 0 || params.mExtension == 0;
    if (!check.ok() || empty) return;

    const internal::MatrixWindow window = internal::matrix_window(to, from, params);
    const sim::Span source = window.source(), target = sim::Span::run(to.begin, window.target_bytes);
    sim::Core* const core = &sim::Core::current();
    sim::Instruction instruction;
    instruction.name = "LoadData";
    instruction.pipe = sim::Pipe::MTE1;
    instruction.where = where;
    instruction.work.repeats = static_cast<uint32_t>(window.target_bytes / internal::FRACTAL_BYTES);
    instruction.accesses = {{sim::Mem::L1, sim::Use::READ_MOVE, source},
                            {to.mem, sim::Use::WRITE_MOVE, target}};
    instruction.run = [core, window, source, target, mem = to.mem] {
        internal::move_window(window, internal::OperandView(*core, mem, target),
                              internal::OperandView(*core, sim::Mem::L1, source));
    };
    core->issue(std::move(instruction));
}

}  // namespace AscendC
