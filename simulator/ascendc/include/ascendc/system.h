// SPDX-License-Identifier: Apache-2.0
// system.h - which core this is, caches, the workspace and the kinds of kernels.
#pragma once
#include "ascendc/global_tensor.h"
#include "ascendc/macros.h"
#include "ascendc/types.h"

namespace AscendC {

inline int64_t GetBlockIdx() { return sim::Core::current().block_idx(); }
inline int64_t GetBlockNum() { return sim::Core::current().block_num(); }
inline int64_t GetSubBlockIdx() { return sim::Core::current().sub_block_idx(); }
inline int64_t GetSubBlockNum() { return ASCEND_IS_AIC ? 1 : sim::Core::current().sub_block_num(); }
inline int64_t GetTaskRation() { return GetSubBlockNum(); }
inline int64_t GetTaskRatio() { return GetSubBlockNum(); }
constexpr int16_t GetDataBlockSizeInBytes() { return ONE_BLK_SIZE; }

// The simulator hands kernels the user's part of the workspace; there is no system part in front of it.
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return workspace; }

// Instruction caches are not modelled.
inline void ICachePreLoad(int64_t) {}

// Writes dirty lines of the scalar unit's data cache back and drops them.
template <class T, CacheLine entireType, DcciDst dcciDst = DcciDst::CACHELINE_OUT>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& tensor, sim::Where where = sim::Where::here()) {
    static_assert(dcciDst == DcciDst::CACHELINE_OUT || dcciDst == DcciDst::CACHELINE_ALL,
                  "the data cache stands in front of global memory");
    sim::Core::current().clean_and_invalidate(tensor.sim_address(),
                                              entireType == CacheLine::ENTIRE_DATA_CACHE, where);
}

// Fetches one line of the scalar unit's data cache ahead of its use. Hardware ignores calls while too many
// are under way (more than 4 in a row); here none is lost.
template <class T>
void DataCachePreload(const GlobalTensor<uint64_t>& src, const T cacheOffset,
                      sim::Where where = sim::Where::here()) {
    static_assert(std::is_same_v<T, int16_t> || std::is_same_v<T, int64_t>,
                  "cacheOffset is int16_t or int64_t");
    sim::Core::current().preload(src.sim_address() + static_cast<uint64_t>(static_cast<int64_t>(cacheOffset)),
                                 where);
}

// State of the core as TPipe leaves it: no atomics, mask mode normal, all lanes active.
inline void InitSocState() {
    sim::Registers& registers = sim::Core::current().registers();
    registers.atomic_op = 0;
    registers.mask_counter_mode = false;
    if ASCEND_IS_AIC {
        registers.pad_value = 0;
    } else {
        registers.mask[0] = registers.mask[1] = ~0ULL;
    }
}

}  // namespace AscendC

// The launcher decides which cores start; the kernel's own wish is for the offline compiler.
#define KERNEL_TASK_TYPE_DEFAULT(value)
#define KERNEL_TASK_TYPE(key, value)
