// SPDX-License-Identifier: Apache-2.0
// data_copy_pad.h - DataCopyPad: blocks of any number of bytes between GM and UB. In UB every block starts at
// a multiple of 32 bytes: [left padding][data][right padding][dummies up to 32 bytes].
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ascendc/data_copy.h"

namespace AscendC {

namespace internal {

inline constexpr uint32_t MAX_PAD_BLOCK_BYTES = 2097151;  // 21-bit field

// One block in UB and in GM, and the steps from block to block, all in bytes.
struct PadGeometry {
    uint32_t blocks = 0;
    uint64_t left = 0, data = 0, right = 0;
    uint64_t ub_step = 0, gm_step = 0;

    uint64_t ub_block() const {
        return (left + data + right + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
    }
};

// What fills padding and dummies.
struct PadFill {
    uint64_t value = 0;          // bits of an element
    bool defined = true;         // false: whatever the hardware finds
    bool first_element = false;  // dummies without padding repeat the block's first element
};

inline void fill_elements(const OperandView& ub, uint64_t begin, uint64_t end, uint64_t value,
                          uint64_t element_bytes, uint8_t taint) {
    for (uint64_t at = begin; at < end; at += element_bytes) {
        std::memcpy(ub.data(at), &value, std::min(element_bytes, end - at));
    }
    ub.set_taint(begin, end - begin, taint);
}

inline void load_padded_block(const OperandView& ub, uint64_t to, const OperandView& gm, uint64_t from,
                              const PadGeometry& geometry, PadFill fill, uint64_t element_bytes) {
    const uint64_t data = to + geometry.left;
    const uint64_t tail = data + geometry.data;
    copy_bytes(ub, data, gm, from, geometry.data);
    uint8_t taint = fill.defined ? sim::DEFINED : sim::UNDEFINED;
    if (fill.first_element) {
        fill.value = 0;
        std::memcpy(&fill.value, ub.data(data), element_bytes);
        taint = *ub.taint(data);
    }
    fill_elements(ub, to, data, fill.value, element_bytes, taint);
    fill_elements(ub, tail, to + geometry.ub_block(), fill.value, element_bytes, taint);
}

inline void check_pad(CallCheck& check, const Place& ub, const DataCopyExtParams& params,
                      uint64_t element_bytes) {
    check.in_memory("the local tensor", ub.mem, {sim::Mem::UB});
    check.on_core_with(sim::Mem::UB);
    check.aligned("the local tensor", ub.mem, ub.begin, ONE_BLK_SIZE);
    check_field(check, "blockCount", params.blockCount, 0, MAX_DMA_BLOCKS);
    check.range("blockLen", params.blockLen, 0, MAX_PAD_BLOCK_BYTES);
    check.multiple("blockLen", params.blockLen, element_bytes, ", part of an element");
}

inline void check_padding(CallCheck& check, const DataCopyPadParams& pad, uint64_t element_bytes) {
    pad.leftPadding.check(check, "leftPadding");
    pad.rightPadding.check(check, "rightPadding");
    check.range("leftPadding in bytes", pad.leftPadding * element_bytes, 0, ONE_BLK_SIZE);
    check.range("rightPadding in bytes", pad.rightPadding * element_bytes, 0, ONE_BLK_SIZE);
    if (element_bytes == 8 && pad.isPad && pad.paddingValue != 0) {
        check.fail("paddingValue of 64-bit elements must be 0");
    }
}

template <class T>
void issue_padded_load(const Place& ub, const Place& gm, const PadGeometry& geometry, PadFill fill,
                       sim::Where where) {
    sim::Core* const core = &sim::Core::current();
    const sim::Span to = sim::Span::pieces(ub.begin, geometry.ub_block(), geometry.blocks, geometry.ub_step);
    const sim::Span from = sim::Span::pieces(gm.begin, geometry.data, geometry.blocks, geometry.gm_step);
    sim::Instruction instruction;
    instruction.name = "DataCopyPad";
    instruction.pipe = sim::Pipe::MTE2;
    instruction.where = where;
    instruction.accesses = {{sim::Mem::GM, sim::Use::READ_MOVE, from, gm.past_l2},
                            {sim::Mem::UB, sim::Use::WRITE_MOVE, to}};
    instruction.run = [core, to, from, geometry, fill] {
        const OperandView ub_view(*core, sim::Mem::UB, to), gm_view(*core, sim::Mem::GM, from);
        for (uint64_t i = 0; i < geometry.blocks; ++i) {
            load_padded_block(ub_view, to.begin + i * geometry.ub_step, gm_view,
                              from.begin + i * geometry.gm_step, geometry, fill, sizeof(T));
        }
    };
    core->issue(std::move(instruction));
}

// Padding comes from the structure (isPad), else from SetPadValue. A value in the structure stays set.
inline PadFill pad_fill(bool is_pad, uint64_t value, bool has_padding) {
    sim::Registers& registers = sim::Core::current().registers();
    if (is_pad) {
        registers.pad_value = value;
        registers.pad_value_set = true;
    }
    return {registers.pad_value, registers.pad_value_set, !has_padding};
}

template <class T>
void load_padded_call(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params,
                      const DataCopyPadParams& pad, sim::Where where) {
    static_assert(!std::is_same_v<T, int4b_t>, "DataCopyPad moves whole bytes: view the tensors as int8_t");
    CallCheck check("DataCopyPad", where);
    check_pad(check, place_of(dst), params, sizeof(T));
    check_padding(check, pad, sizeof(T));
    if (!check.ok() || params.blockCount == 0 || params.blockLen == 0) return;
    PadGeometry geometry;
    geometry.blocks = params.blockCount;
    geometry.left = pad.leftPadding * sizeof(T);
    geometry.data = params.blockLen;
    geometry.right = pad.rightPadding * sizeof(T);
    geometry.gm_step = uint64_t{params.blockLen} + params.srcStride;
    geometry.ub_step = geometry.ub_block() + uint64_t{params.dstStride} * ONE_BLK_SIZE;
    const bool has_padding = pad.leftPadding != 0 || pad.rightPadding != 0;
    const PadFill fill = pad_fill(pad.isPad, pad.paddingValue, has_padding);
    issue_padded_load<T>(place_of(dst), place_of(src), geometry, fill, where);
}

template <class T>
void store_padded_call(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& params,
                       sim::Where where) {
    static_assert(!std::is_same_v<T, int4b_t>, "DataCopyPad moves whole bytes: view the tensors as int8_t");
    CallCheck check("DataCopyPad", where);
    check_pad(check, place_of(src), params, sizeof(T));
    check_atomic_type<T>(check, place_of(dst));
    if (!check.ok() || params.blockCount == 0 || params.blockLen == 0) return;
    PadGeometry geometry;
    geometry.data = params.blockLen;
    const uint64_t gm_step = uint64_t{params.blockLen} + params.dstStride;
    const uint64_t ub_step = geometry.ub_block() + uint64_t{params.srcStride} * ONE_BLK_SIZE;
    const MoveEnd to{sim::Mem::GM,
                     sim::Span::pieces(dst.sim_address(), params.blockLen, params.blockCount, gm_step),
                     dst.sim_past_l2()};
    const MoveEnd from{sim::Mem::UB,
                       sim::Span::pieces(src.sim_begin(), params.blockLen, params.blockCount, ub_step)};
    issue_copy("DataCopyPad", sim::Pipe::MTE3, to, from, where);
}

inline DataCopyExtParams widen(const DataCopyParams& params) {
    DataCopyExtParams wide(params.blockCount, params.blockLen, params.srcStride, params.dstStride, 0);
    return wide;
}

template <class T>
uint64_t element_bits(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}

}  // namespace internal

template <typename T, TPosition position = TPosition::MAX>
__aicore__ inline void SetPadValue(T paddingValue) {
    sim::Registers& registers = sim::Core::current().registers();
    registers.pad_value = internal::element_bits(paddingValue);
    registers.pad_value_set = true;
}

template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                   const DataCopyExtParams& params, const DataCopyPadExtParams<T>& pad,
                                   sim::Where where = sim::Where::here()) {
    const uint64_t value = internal::element_bits(pad.paddingValue);
    internal::load_padded_call<T>(dst, src, params, {pad.isPad, pad.leftPadding, pad.rightPadding, value},
                                  where);
}

template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                   const DataCopyParams& params, const DataCopyPadParams& pad,
                                   sim::Where where = sim::Where::here()) {
    internal::load_padded_call<T>(dst, src, internal::widen(params), pad, where);
}

template <typename T>
__aicore__ inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                   const DataCopyExtParams& params, sim::Where where = sim::Where::here()) {
    internal::store_padded_call<T>(dst, src, params, where);
}

template <typename T>
__aicore__ inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                   const DataCopyParams& params, sim::Where where = sim::Where::here()) {
    internal::store_padded_call<T>(dst, src, internal::widen(params), where);
}

}  // namespace AscendC
