// SPDX-License-Identifier: Apache-2.0
// calibration.cpp - instruction streams whose run times the vendor has published: a matrix of half walked
// tile by tile into UB or L1, additions with chosen addresses in UB, and matrix multiplications back to back.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

// Rows of one core, and how it walks them: ranges of columns one after the other, each several times.
struct Walk {
    int64_t core_rows, columns, tile_rows, tile_columns, ranges, repeats;
};

// copy(offset in elements of the tile's first, columns of the tile)
template <class Copy>
__aicore__ inline void for_each_tile(const Walk& walk, Copy copy) {
    const int64_t first_row = GetBlockIdx() * walk.core_rows, width = walk.columns / walk.ranges;
    for (int64_t range = 0; range < walk.ranges; ++range) {
        for (int64_t repeat = 0; repeat < walk.repeats; ++repeat) {
            for (int64_t row = 0; row < walk.core_rows; row += walk.tile_rows) {
                for (int64_t column = 0; column < width; column += walk.tile_columns) {
                    const int64_t offset = (first_row + row) * walk.columns + range * width + column;
                    const int64_t left = width - column;
                    copy(offset, left < walk.tile_columns ? left : walk.tile_columns);
                }
            }
        }
    }
}

__aicore__ inline GlobalTensor<half> matrix(GM_ADDR x) {
    GlobalTensor<half> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    return tensor;
}

// A tile of a matrix whose rows have `columns` elements.
__aicore__ inline void tile_to_ub(const LocalTensor<half>& ub, const GlobalTensor<half>& from, int64_t rows,
                                  int64_t width, int64_t columns) {
    DataCopyExtParams params;
    params.blockCount = static_cast<uint16_t>(rows);
    params.blockLen = static_cast<uint32_t>(width * sizeof(half));
    params.srcStride = static_cast<uint32_t>((columns - width) * sizeof(half));
    params.dstStride = 0;
    DataCopyPad(ub, from, params, DataCopyPadExtParams<half>{});
}

__aicore__ inline void tile_to_l1(const LocalTensor<half>& l1, const GlobalTensor<half>& from, int64_t rows,
                                  int64_t width, int64_t columns) {
    Nd2NzParams params;
    params.ndNum = 1;
    params.nValue = static_cast<uint16_t>(rows);
    params.dValue = static_cast<uint16_t>(width);
    params.srcNdMatrixStride = 0;
    params.srcDValue = static_cast<uint16_t>(columns);
    params.dstNzC0Stride = static_cast<uint16_t>(rows);
    params.dstNzNStride = 1;
    params.dstNzMatrixStride = 0;
    DataCopy(l1, from, params);
}

}  // namespace

extern "C" __global__ __aicore__ void rows_to_ub(GM_ADDR x, int64_t core_rows, int64_t columns,
                                                 int64_t tile_rows, int64_t tile_columns, int64_t ranges,
                                                 int64_t repeats) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, tile_rows * tile_columns * sizeof(half));
    const LocalTensor<half> ub = buffer.Get<half>();
    const GlobalTensor<half> from = matrix(x);
    const Walk walk{core_rows, columns, tile_rows, tile_columns, ranges, repeats};
    for_each_tile(walk, [&](int64_t offset, int64_t width) {
        tile_to_ub(ub, from[offset], tile_rows, width, columns);
    });
}

extern "C" __global__ __aicore__ void rows_to_l1(GM_ADDR x, int64_t core_rows, int64_t columns,
                                                 int64_t tile_rows, int64_t tile_columns, int64_t ranges,
                                                 int64_t repeats) {
    TPipe pipe;
    TBuf<TPosition::A1> buffer;
    pipe.InitBuffer(buffer, tile_rows * tile_columns * sizeof(half));
    const LocalTensor<half> l1 = buffer.Get<half>();
    const GlobalTensor<half> from = matrix(x);
    const Walk walk{core_rows, columns, tile_rows, tile_columns, ranges, repeats};
    for_each_tile(walk, [&](int64_t offset, int64_t width) {
        tile_to_l1(l1, from[offset], tile_rows, width, columns);
    });
}

// Every core reads the whole matrix past the L2, tile by tile: block after block of `tile_rows` rows, all
// cores in the same order or each beginning with its own block.
template <class Copy>
__aicore__ inline void for_each_shared_tile(int64_t rows, int64_t columns, int64_t tile_rows,
                                            int64_t tile_columns, int64_t staggered, Copy copy) {
    const int64_t blocks = rows / tile_rows;
    for (int64_t i = 0; i < blocks; ++i) {
        const int64_t block = staggered != 0 ? (i + GetBlockIdx()) % blocks : i;
        for (int64_t column = 0; column < columns; column += tile_columns) {
            copy(block * tile_rows * columns + column);
        }
    }
}

extern "C" __global__ __aicore__ void shared_to_ub(GM_ADDR x, int64_t rows, int64_t columns,
                                                   int64_t tile_rows, int64_t tile_columns,
                                                   int64_t staggered) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, tile_rows * tile_columns * sizeof(half));
    const LocalTensor<half> ub = buffer.Get<half>();
    GlobalTensor<half> from = matrix(x);
    from.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    for_each_shared_tile(rows, columns, tile_rows, tile_columns, staggered, [&](int64_t offset) {
        tile_to_ub(ub, from[offset], tile_rows, tile_columns, columns);
    });
}

extern "C" __global__ __aicore__ void shared_to_l1(GM_ADDR x, int64_t rows, int64_t columns,
                                                   int64_t tile_rows, int64_t tile_columns,
                                                   int64_t staggered) {
    TPipe pipe;
    TBuf<TPosition::A1> buffer;
    pipe.InitBuffer(buffer, tile_rows * tile_columns * sizeof(half));
    const LocalTensor<half> l1 = buffer.Get<half>();
    GlobalTensor<half> from = matrix(x);
    from.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    for_each_shared_tile(rows, columns, tile_rows, tile_columns, staggered, [&](int64_t offset) {
        tile_to_l1(l1, from[offset], tile_rows, tile_columns, columns);
    });
}

// z = x + y, each core its own run of `core_tiles` tiles, two tiles in flight; inputs through the L2 or past
// it.
extern "C" __global__ __aicore__ void stream(GM_ADDR x, GM_ADDR y, GM_ADDR z, int64_t core_tiles,
                                             int64_t tile, int64_t past_l2) {
    const uint32_t count = static_cast<uint32_t>(tile);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 6 * count * sizeof(half));
    const LocalTensor<half> ub = buffer.Get<half>();
    GlobalTensor<half> from_x = matrix(x), from_y = matrix(y), to = matrix(z);
    if (past_l2 != 0) {
        from_x.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
        from_y.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    }
    for (int32_t half_of = 0; half_of < 2; ++half_of) {
        SetFlag<HardEvent::V_MTE2>(half_of);
        SetFlag<HardEvent::MTE3_V>(half_of);
    }
    for (int64_t i = 0; i < core_tiles; ++i) {
        const int32_t event = static_cast<int32_t>(i % 2);
        const int64_t offset = (GetBlockIdx() * core_tiles + i) * tile;
        const LocalTensor<half> a = ub[event * 3 * count], b = a[count], c = b[count];
        WaitFlag<HardEvent::V_MTE2>(event);
        DataCopy(a, from_x[offset], count);
        DataCopy(b, from_y[offset], count);
        SetFlag<HardEvent::MTE2_V>(event);
        WaitFlag<HardEvent::MTE2_V>(event);
        WaitFlag<HardEvent::MTE3_V>(event);
        Add(c, a, b, static_cast<int32_t>(count));
        SetFlag<HardEvent::V_MTE2>(event);
        SetFlag<HardEvent::V_MTE3>(event);
        WaitFlag<HardEvent::V_MTE3>(event);
        DataCopy(to[offset], c, count);
        SetFlag<HardEvent::MTE3_V>(event);
    }
    for (int32_t half_of = 0; half_of < 2; ++half_of) {
        WaitFlag<HardEvent::V_MTE2>(half_of);
        WaitFlag<HardEvent::MTE3_V>(half_of);
    }
}

// `count` additions of 64 repeats; operands by their byte offset in UB.
extern "C" __global__ __aicore__ void additions(GM_ADDR x, int64_t count, int64_t src0, int64_t src1,
                                                int64_t dst, int64_t src0_block_stride,
                                                int64_t src0_repeat_stride) {
    constexpr uint32_t UB_FLOATS = 36 * 1024, FLOATS = 4096;  // all of UB that is used, one operand
    GlobalTensor<float> from;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), UB_FLOATS);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, UB_FLOATS * sizeof(float));
    const LocalTensor<float> ub = buffer.Get<float>();
    DataCopy(ub, from, UB_FLOATS);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    BinaryRepeatParams strides;
    strides.src0BlkStride = static_cast<uint8_t>(src0_block_stride);
    strides.src0RepStride = static_cast<uint8_t>(src0_repeat_stride);
    const auto at = [&](int64_t bytes) { return ub[static_cast<uint32_t>(bytes / sizeof(float))]; };
    for (int64_t i = 0; i < count; ++i) {
        Add(at(dst), at(src0), at(src1), uint64_t{64}, static_cast<uint8_t>(FLOATS / 64), strides);
    }
}

// `count` times C[m, n] += A[m, k] B[k, n] in half.
extern "C" __global__ __aicore__ void multiplications(GM_ADDR x, int64_t count, int64_t m, int64_t n,
                                                      int64_t k) {
    constexpr uint32_t FRACTAL = 256;  // elements
    const auto a_fractals = static_cast<uint32_t>(m * k) / FRACTAL,
               b_fractals = static_cast<uint32_t>(n * k) / FRACTAL;
    const uint32_t elements = (a_fractals > b_fractals ? a_fractals : b_fractals) * FRACTAL;
    TPipe pipe;
    TBuf<TPosition::A1> l1_buffer;
    TBuf<TPosition::A2> a_buffer;
    TBuf<TPosition::B2> b_buffer;
    TBuf<TPosition::CO1> c_buffer;
    pipe.InitBuffer(l1_buffer, elements * sizeof(half));
    pipe.InitBuffer(a_buffer, a_fractals * FRACTAL * sizeof(half));
    pipe.InitBuffer(b_buffer, b_fractals * FRACTAL * sizeof(half));
    pipe.InitBuffer(c_buffer, static_cast<uint32_t>(m * n) * sizeof(float));
    const LocalTensor<half> l1 = l1_buffer.Get<half>();
    DataCopy(l1, matrix(x), elements);
    SetFlag<HardEvent::MTE2_MTE1>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE1>(EVENT_ID0);
    LoadData2DParams load;
    load.srcStride = 1;
    load.repeatTimes = static_cast<uint8_t>(a_fractals);
    LoadData(a_buffer.Get<half>(), l1, load);
    load.repeatTimes = static_cast<uint8_t>(b_fractals);
    LoadData(b_buffer.Get<half>(), l1, load);
    SetFlag<HardEvent::MTE1_M>(EVENT_ID0);
    WaitFlag<HardEvent::MTE1_M>(EVENT_ID0);
    MmadParams params;
    params.m = static_cast<uint16_t>(m);
    params.n = static_cast<uint16_t>(n);
    params.k = static_cast<uint16_t>(k);
    for (int64_t i = 0; i < count; ++i) {
        params.cmatrixInitVal = i == 0;
        Mmad(c_buffer.Get<float>(), a_buffer.Get<half>(), b_buffer.Get<half>(), params);
    }
}
