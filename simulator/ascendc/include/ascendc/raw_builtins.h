// SPDX-License-Identifier: Apache-2.0
// raw_builtins.h - functions of the compiler below DataCopy. An address in UB is an offset, as get_imm and
// LocalTensor::GetPhyAddr give it; an address in GM is a pointer.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ascendc/data_copy.h"
#include "ascendc/tiling.h"

namespace AscendC::internal {

constexpr uint64_t MAX_UB_OFFSET = 1 << 20;  // no pointer of a host process is that low

// Elements have no type: GM may start at any byte, and an atomic operation goes by its own type.
inline void copy_untyped(const char* name, const Place& dst, const Place& src, const DataCopyParams& params,
                         sim::Where where) {
    CallCheck check(name, where);
    copy_blocks(check, dst, src, params, 1, where);
}

// The scalar unit reads 64 bits at a time.
inline void read_ub(uint64_t begin, uint64_t bytes, uint8_t* out, sim::Where where) {
    sim::Core& core = sim::Core::current();
    for (uint64_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        const uint32_t piece = static_cast<uint32_t>(std::min<uint64_t>(sizeof(uint64_t), bytes - done));
        if (!core.scalar_access(sim::Mem::UB, begin + done, piece, false, where)) return;
        std::memcpy(out + done, core.memory(sim::Mem::UB).data.data() + begin + done, piece);
    }
}

}  // namespace AscendC::internal

// A number from pieces of 16 bits, the lowest first.
constexpr uint64_t get_imm(uint64_t imm0_15, uint64_t imm16_31 = 0, uint64_t imm32_47 = 0,
                           uint64_t imm48_63 = 0) {
    return imm0_15 + (imm16_31 << 16) + (imm32_47 << 32) + (imm48_63 << 48);
}

// nBurst pieces of lenBurst datablocks on MTE2, strides from the end of a piece to the next in datablocks.
inline void copy_gm_to_ubuf(__ubuf__ void* dst, __gm__ const void* src, uint8_t,
                            AscendC::internal::U16 nBurst, AscendC::internal::U16 lenBurst,
                            AscendC::internal::U16 srcStride, AscendC::internal::U16 dstStride,
                            sals::sim::Where where = sals::sim::Where::here()) {
    AscendC::internal::copy_untyped("copy_gm_to_ubuf", {sals::sim::Mem::UB, reinterpret_cast<uint64_t>(dst)},
                                    {sals::sim::Mem::GM, reinterpret_cast<uint64_t>(src)},
                                    {nBurst, lenBurst, srcStride, dstStride}, where);
}

// The same from UB to GM on MTE3.
inline void copy_ubuf_to_gm(__gm__ void* dst, __ubuf__ const void* src, uint8_t,
                            AscendC::internal::U16 nBurst, AscendC::internal::U16 lenBurst,
                            AscendC::internal::U16 srcStride, AscendC::internal::U16 dstStride,
                            sals::sim::Where where = sals::sim::Where::here()) {
    AscendC::internal::copy_untyped("copy_ubuf_to_gm", {sals::sim::Mem::GM, reinterpret_cast<uint64_t>(dst)},
                                    {sals::sim::Mem::UB, reinterpret_cast<uint64_t>(src)},
                                    {nBurst, lenBurst, srcStride, dstStride}, where);
}

// The scalar unit copies from UB or GM onto the kernel's stack.
inline void copy_data_align64(uint8_t* dst, const uint8_t* src, uint64_t size,
                              sals::sim::Where where = sals::sim::Where::here()) {
    const uint64_t address = reinterpret_cast<uint64_t>(src);
    if (address < AscendC::internal::MAX_UB_OFFSET) {
        AscendC::internal::read_ub(address, size, dst, where);
    } else {
        AscendC::internal::read_gm(src, size, dst, where);
    }
}
