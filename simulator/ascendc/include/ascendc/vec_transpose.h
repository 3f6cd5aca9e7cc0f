// SPDX-License-Identifier: Apache-2.0
// vec_transpose.h - Transpose of a 16 x 16 matrix of 16-bit elements, and TransDataTo5HD of them: 16 rows at
// addresses of their own become 16 columns.
#pragma once
#include <array>

#include "ascendc/vec_copy.h"

namespace AscendC {

constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;

struct TransDataTo5HDParams {
    constexpr TransDataTo5HDParams() = default;
    constexpr TransDataTo5HDParams(bool dst_high, bool src_high, internal::U8 repeats,
                                   internal::U16 dst_stride, internal::U16 src_stride)
        : dstHighHalf(dst_high),
          srcHighHalf(src_high),
          repeatTimes(repeats),
          dstRepStride(dst_stride),
          srcRepStride(src_stride) {}

    bool dstHighHalf = false;  // of 8-bit elements
    bool srcHighHalf = false;
    internal::U8 repeatTimes = 1;
    internal::U16 dstRepStride = 0;  // datablocks
    internal::U16 srcRepStride = 0;
};

namespace internal {

using AddressList = std::array<uint64_t, NCHW_CONV_ADDR_LIST_SIZE>;

template <class T>
void transpose_rows(const char* name, const AddressList& dst, const AddressList& src, uint32_t repeats,
                    uint64_t dst_stride, uint64_t src_stride, sim::Where where) {
    static_assert(is_one_of<T, int16_t, uint16_t, half>, "transposes 16-bit elements");
    constexpr uint32_t side = NCHW_CONV_ADDR_LIST_SIZE;
    VectorCall call(name, where);
    call.activate(LanePlan::of_count(side * side, uint64_t{side} * side * repeats));
    if (!call.goes_on()) return;
    for (uint32_t row = 0; row < side; ++row) {
        call.aligned("dst", sim::Mem::UB, dst[row], ONE_BLK_SIZE);
        call.aligned("src", sim::Mem::UB, src[row], ONE_BLK_SIZE);
        const auto rows = [&](uint64_t begin, uint64_t stride) {
            return sim::Span::pieces(begin, ONE_BLK_SIZE, stride == 0 ? 1 : repeats,
                                     static_cast<int64_t>(stride));
        };
        call.uses(sim::Use::READ_MOVE, rows(src[row], src_stride));
        call.uses(sim::Use::WRITE_MOVE, rows(dst[row], dst_stride));
    }
    call.dispatch(sizeof(T), [core = call.core(), dst, src, repeats, dst_stride, src_stride] {
        sim::Memory& ub = core->memory(sim::Mem::UB);
        for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
            std::array<T, side * side> values;
            std::array<uint16_t, side * side> taints;  // two bytes each
            for (uint32_t row = 0; row < side; ++row) {
                const uint64_t from = src[row] + repeat * src_stride;
                std::memcpy(&values[row * side], ub.data.data() + from, ONE_BLK_SIZE);
                std::memcpy(&taints[row * side], ub.taint.data() + from, ONE_BLK_SIZE);
            }
            for (uint32_t row = 0; row < side; ++row) {
                const uint64_t to = dst[row] + repeat * dst_stride;
                for (uint32_t column = 0; column < side; ++column) {
                    store<T>(ub.data.data() + to, column, values[column * side + row]);
                    store<uint16_t>(ub.taint.data() + to, column, taints[column * side + row]);
                }
            }
        }
    });
}

}  // namespace internal

template <class T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, sim::Where where = sim::Where::here()) {
    internal::CallCheck check("Transpose", where);
    check.in_memory("dst", dst.sim_mem(), {sim::Mem::UB});
    check.in_memory("src", src.sim_mem(), {sim::Mem::UB});
    if (!check.ok()) return;
    internal::AddressList to, from;
    for (uint32_t row = 0; row < to.size(); ++row) {
        to[row] = dst.sim_begin() + row * ONE_BLK_SIZE;
        from[row] = src.sim_begin() + row * ONE_BLK_SIZE;
    }
    internal::transpose_rows<T>("Transpose", to, from, 1, 0, 0, where);
}

// Addresses as LocalTensor::GetPhyAddr gives them.
template <class T>
void TransDataTo5HD(uint64_t dstList[NCHW_CONV_ADDR_LIST_SIZE], uint64_t srcList[NCHW_CONV_ADDR_LIST_SIZE],
                    const TransDataTo5HDParams& nchwconvParams, sim::Where where = sim::Where::here()) {
    internal::AddressList to, from;
    for (uint32_t row = 0; row < to.size(); ++row) {
        to[row] = dstList[row];
        from[row] = srcList[row];
    }
    const uint64_t dst_stride = uint64_t{uint16_t{nchwconvParams.dstRepStride}} * ONE_BLK_SIZE;
    const uint64_t src_stride = uint64_t{uint16_t{nchwconvParams.srcRepStride}} * ONE_BLK_SIZE;
    internal::transpose_rows<T>("TransDataTo5HD", to, from, uint8_t{nchwconvParams.repeatTimes}, dst_stride,
                                src_stride, where);
}

template <class T>
void TransDataTo5HD(const LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
                    const LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE],
                    const TransDataTo5HDParams& nchwconvParams, sim::Where where = sim::Where::here()) {
    uint64_t to[NCHW_CONV_ADDR_LIST_SIZE], from[NCHW_CONV_ADDR_LIST_SIZE];
    for (int row = 0; row < NCHW_CONV_ADDR_LIST_SIZE; ++row) {
        to[row] = dstList[row].sim_begin();
        from[row] = srcList[row].sim_begin();
    }
    TransDataTo5HD<T>(to, from, nchwconvParams, where);
}

}  // namespace AscendC
