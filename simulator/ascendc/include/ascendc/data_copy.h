// SPDX-License-Identifier: Apache-2.0
// data_copy.h - DataCopy of blocks of 32 bytes: GM to UB and L1, UB and L1 to GM, UB to UB, L1 to the bias
// table and to the fixpipe buffer. Lengths and gaps are in datablocks of 32 bytes (64 in the bias table, 128
// in the fixpipe buffer); a gap runs from the end of a block to the start of the next.
#pragma once
#include <cstdint>

#include "ascendc/atomic.h"
#include "ascendc/call_check.h"
#include "ascendc/data_copy_params.h"
#include "ascendc/move.h"
#include "ascendc/place.h"

namespace AscendC {

namespace internal {

inline constexpr uint32_t MAX_DMA_BLOCKS = 4095;      // 12-bit field
inline constexpr uint32_t MAX_DMA_BLOCK_LEN = 65535;  // 16-bit field

// What a datablock of a memory holds in the parameters of DataCopy, and how its tensors are aligned.
constexpr uint32_t dma_unit(sim::Mem mem) {
    return mem == sim::Mem::BT ? 64 : mem == sim::Mem::FB ? 128 : ONE_BLK_SIZE;
}

constexpr sim::Pipe dma_pipe(sim::Mem dst, sim::Mem src) {
    if (src == sim::Mem::GM) return sim::Pipe::MTE2;
    if (dst == sim::Mem::GM) return sim::Pipe::MTE3;
    if (dst == sim::Mem::BT) return sim::Pipe::MTE1;
    return dst == sim::Mem::FB ? sim::Pipe::FIX : sim::Pipe::V;
}

constexpr bool dma_route_exists(sim::Mem dst, sim::Mem src) {
    if (src == sim::Mem::GM) return dst == sim::Mem::UB || dst == sim::Mem::L1;
    if (src == sim::Mem::UB) return dst == sim::Mem::GM || dst == sim::Mem::UB;
    if (src == sim::Mem::L1) return dst == sim::Mem::GM || dst == sim::Mem::BT || dst == sim::Mem::FB;
    return false;
}

inline void check_dma_route(CallCheck& check, const Place& dst, const Place& src) {
    if (!dma_route_exists(dst.mem, src.mem)) {
        check.fail(std::string("there is no way from ") + sim::name_of(src.mem) + " to " +
                   sim::name_of(dst.mem) + " on this architecture");
    }
    check.on_core_with(dst.mem);
    check.on_core_with(src.mem);
}

// Between GM and UB an address in GM is a multiple of the element; into L1 any byte will do.
inline void check_dma_alignment(CallCheck& check, const Place& dst, const Place& src,
                                uint32_t element_bytes) {
    const uint32_t gm_bytes = dst.mem == sim::Mem::L1 || src.mem == sim::Mem::L1 ? 1 : element_bytes;
    check.aligned("dst", dst.mem, dst.begin, dst.mem == sim::Mem::GM ? gm_bytes : dma_unit(dst.mem));
    check.aligned("src", src.mem, src.begin, src.mem == sim::Mem::GM ? gm_bytes : ONE_BLK_SIZE);
}

template <class T>
void check_atomic_type(CallCheck& check, const Place& dst) {
    const AtomicMode mode = AtomicMode::current();
    if (dst.mem != sim::Mem::GM || !mode.on()) return;
    if constexpr (is_atomic_type<T>) {
        if (mode.type == atomic_type_of<T>()) return;
    }
    check.fail(
        "the atomic operation was set for another data type than the one that is moved: name it in "
        "SetAtomicAdd, SetAtomicMax or SetAtomicMin, or end it with SetAtomicNone");
}

inline void copy_blocks(CallCheck& check, const Place& dst, const Place& src, const DataCopyParams& params,
                        uint32_t element_bytes, sim::Where where) {
    check_dma_route(check, dst, src);
    check_dma_alignment(check, dst, src, element_bytes);
    check_field(check, "blockCount", params.blockCount, 0, MAX_DMA_BLOCKS);
    params.blockLen.check(check, "blockLen");
    params.srcGap.check(check, "srcGap");
    params.dstGap.check(check, "dstGap");
    if (!check.ok() || params.blockCount == 0 || params.blockLen == 0) return;

    const uint32_t unit = dma_unit(dst.mem);
    const uint64_t bytes = uint64_t{params.blockLen} * unit;
    const MoveEnd to{
        dst.mem,
        sim::Span::pieces(dst.begin, bytes, params.blockCount, bytes + uint64_t{params.dstGap} * unit),
        dst.past_l2};
    const MoveEnd from{src.mem,
                       sim::Span::pieces(src.begin, bytes, params.blockCount,
                                         bytes + uint64_t{params.srcGap} * ONE_BLK_SIZE),
                       src.past_l2};
    sim::Work work;
    work.elem_bytes = static_cast<uint8_t>(element_bytes);
    work.elements = params.blockCount * bytes / element_bytes;
    work.repeats = params.blockCount;
    issue_copy("DataCopy", dma_pipe(dst.mem, src.mem), to, from, where, work);
}

template <class T>
void copy_blocks(const Place& dst, const Place& src, const DataCopyParams& params, sim::Where where) {
    CallCheck check("DataCopy", where);
    check_atomic_type<T>(check, dst);
    copy_blocks(check, dst, src, params, sizeof(T), where);
}

// The form with a number of elements: one block, rounded down to whole datablocks as the hardware does.
template <class T>
void copy_count(const Place& dst, const Place& src, uint32_t count, sim::Where where) {
    const uint32_t unit = dma_unit(dst.mem);
    const uint64_t bytes = sim_bytes<T>(count);
    CallCheck check("DataCopy", where);
    check.multiple("count in bytes", bytes, unit,
                   ": the rest is not moved. Move whole datablocks, or use DataCopyPad between GM and UB");
    copy_blocks<T>(dst, src, DataCopyParams(1, bytes / unit, 0, 0), where);
}

}  // namespace internal

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                const DataCopyParams& params, sim::Where where = sim::Where::here()) {
    internal::copy_blocks<T>(internal::place_of(dst), internal::place_of(src), params, where);
}

template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                const DataCopyParams& params, sim::Where where = sim::Where::here()) {
    internal::copy_blocks<T>(internal::place_of(dst), internal::place_of(src), params, where);
}

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const DataCopyParams& params, sim::Where where = sim::Where::here()) {
    internal::copy_blocks<T>(internal::place_of(dst), internal::place_of(src), params, where);
}

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count,
                                sim::Where where = sim::Where::here()) {
    internal::copy_count<T>(internal::place_of(dst), internal::place_of(src), count, where);
}

template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
                                sim::Where where = sim::Where::here()) {
    internal::copy_count<T>(internal::place_of(dst), internal::place_of(src), count, where);
}

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
                                sim::Where where = sim::Where::here()) {
    internal::copy_count<T>(internal::place_of(dst), internal::place_of(src), count, where);
}

}  // namespace AscendC
