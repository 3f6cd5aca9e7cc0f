// SPDX-License-Identifier: Apache-2.0
// vec_reduce.cpp - reductions, sorting, fills and moves within UB.
#include "vec_window.h"

namespace {

// p[15] dstRepStride, p[13] srcBlkStride, p[16] srcRepStride, extra(0) the order of value and index.
template <class T>
void reduce(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst()), src = at<T>(window, a.src0());
    const int32_t dst_stride = a.p[15], block = a.p[13], stride = a.p[16], repeats = a.repeats();
    const auto order = static_cast<ReduceOrder>(a.extra(0));
    const auto call = [&](auto mask) {
        switch (a.op()) {
            case 0:
                return BlockReduceSum(dst, src, repeats, mask, dst_stride, block, stride);
            case 1:
                return BlockReduceMax(dst, src, repeats, mask, dst_stride, block, stride);
            case 2:
                return BlockReduceMin(dst, src, repeats, mask, dst_stride, block, stride);
            case 3:
                return PairReduceSum(dst, src, repeats, mask, dst_stride, block, stride);
            case 4:
                return WholeReduceSum(dst, src, mask, repeats, dst_stride, block, stride);
            case 5:
                return WholeReduceMax(dst, src, mask, repeats, dst_stride, block, stride, order);
            case 6:
                return WholeReduceMin(dst, src, mask, repeats, dst_stride, block, stride, order);
        }
    };
    if (a.form() == LANES) {
        call(a.count());
    } else {
        const uint64_t mask[2] = {a.mask(0), a.mask(1)};
        call(static_cast<const uint64_t*>(mask));
    }
}

template <class T>
void reduce_all(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst()), src = at<T>(window, a.src0()), work = at<T>(window, a.src1());
    switch (a.op()) {
        case 0:
            return ReduceSum(dst, src, work, a.count());
        case 1:
            return ReduceMax(dst, src, work, a.count(), true);
        case 2:
            return ReduceMin(dst, src, work, a.count(), true);
        default:
            return ReduceMax(dst, src, work, a.count());
    }
}

template <class T>
void sort(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    Sort32(at<T>(window, a.dst()), at<T>(window, a.src0()), at<uint32_t>(window, a.src1()), a.repeats());
}

// extra: four places, four lengths, valid bits, suspension.
template <class T>
void merge(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const MrgSortSrcList<T> lists(at<T>(window, a.extra(0)), at<T>(window, a.extra(1)),
                                  at<T>(window, a.extra(2)), at<T>(window, a.extra(3)));
    MrgSort4Info info;
    for (int i = 0; i < 4; ++i) info.elementLengths[i] = a.extra(4 + i);
    info.validBit = static_cast<uint16_t>(a.extra(8));
    info.ifExhaustedSuspension = a.extra(9) != 0;
    info.repeatTimes = a.repeats();
    MrgSort(at<T>(window, a.dst()), lists, info);
    uint16_t used[4];
    GetMrgSortResult(used[0], used[1], used[2], used[3]);
    for (int i = 0; i < 4; ++i) at<int32_t>(window, a.src1()).SetValue(i, used[i]);
}

template <class T>
void duplicate(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst());
    const T value = static_cast<T>(a.extra(0));
    if (a.form() == COUNT) return Duplicate(dst, value, a.count());
    if (a.form() == LANES) {
        return Duplicate(dst, value, static_cast<uint64_t>(a.count()), a.repeats(), a.p[12], a.p[15]);
    }
    const uint64_t mask[2] = {a.mask(0), a.mask(1)};
    Duplicate(dst, value, mask, a.repeats(), a.p[12], a.p[15]);
}

template <class T>
void copy(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const CopyRepeatParams strides(a.p[12], a.p[13], a.p[15], a.p[16]);
    const auto dst = at<T>(window, a.dst()), src = at<T>(window, a.src0());
    with_mask(
        a, strides, [](auto) {},
        [&](auto mask, auto repeats, const auto& s) { Copy(dst, src, mask, repeats, s); });
}

template <class T>
void ramp(const VectorArguments& a, const LocalTensor<uint8_t>& window) {
    const auto dst = at<T>(window, a.dst());
    if (a.op() == 0) return CreateVecIndex(dst, static_cast<T>(a.extra(0)), static_cast<uint32_t>(a.count()));
    ArithProgression(dst, static_cast<T>(a.extra(0)), static_cast<T>(a.extra(1)), a.count());
}

}  // namespace

#define WINDOW_ENTRY(NAME, BODY)                                                \
    ENTRY NAME(GM_ADDR image, GM_ADDR y, GM_ADDR params) {                      \
        const VectorArguments a(params);                                        \
        in_window(image, y, [&](const LocalTensor<uint8_t>& window) { BODY; }); \
    }

WINDOW_ENTRY(vec_reduce, a.type() == FLOAT ? reduce<float>(a, window) : reduce<half>(a, window))
WINDOW_ENTRY(vec_reduce_all, a.type() == FLOAT ? reduce_all<float>(a, window) : reduce_all<half>(a, window))
WINDOW_ENTRY(vec_sort, a.type() == FLOAT ? sort<float>(a, window) : sort<half>(a, window))
WINDOW_ENTRY(vec_merge, a.type() == FLOAT ? merge<float>(a, window) : merge<half>(a, window))
WINDOW_ENTRY(vec_duplicate, a.type() == INT32 ? duplicate<int32_t>(a, window) : duplicate<half>(a, window))
WINDOW_ENTRY(vec_copy, a.type() == INT32 ? copy<int32_t>(a, window) : copy<uint16_t>(a, window))
WINDOW_ENTRY(vec_brcb, a.type() == INT32 ? Brcb(at<int32_t>(window, a.dst()), at<int32_t>(window, a.src0()),
                                                a.repeats(), {a.p[12], a.p[15]})
                                         : Brcb(at<uint16_t>(window, a.dst()), at<uint16_t>(window, a.src0()),
                                                a.repeats(), {a.p[12], a.p[15]}))
WINDOW_ENTRY(vec_ramp, a.type() == INT32 ? ramp<int32_t>(a, window) : ramp<float>(a, window))
WINDOW_ENTRY(vec_transpose, Transpose(at<uint16_t>(window, a.dst()), at<uint16_t>(window, a.src0())))

ENTRY vec_transpose_rows(GM_ADDR image, GM_ADDR y, GM_ADDR params) {
    const VectorArguments a(params);
    in_window(image, y, [&](const LocalTensor<uint8_t>& window) {
        uint64_t dst[16], src[16];
        for (int row = 0; row < 16; ++row) {
            dst[row] = at<half>(window, a.dst() + row * 64).GetPhyAddr();
            src[row] = at<half>(window, a.src0() + row * 128).GetPhyAddr();
        }
        const TransDataTo5HDParams repeats(false, false, a.repeats(), a.p[15], a.p[16]);
        TransDataTo5HD<half>(dst, src, repeats);
    });
}

// A record per launch comes apart again.
WINDOW_ENTRY(vec_extract, Extract(at<float>(window, a.dst()), at<uint32_t>(window, a.src1()),
                                  at<float>(window, a.src0()), a.repeats()))
