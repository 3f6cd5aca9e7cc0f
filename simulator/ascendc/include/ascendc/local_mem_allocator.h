// SPDX-License-Identifier: Apache-2.0
// local_mem_allocator.h - tensors one behind the other in a memory, for kernels without a TPipe. As on a
// device, nothing is aligned and nothing is given back; instructions check what they touch.
#pragma once
#include <cstdint>

#include "ascendc/local_tensor.h"

namespace AscendC {

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

namespace internal {

constexpr TPosition position_in(Hardware memory) {
    switch (memory) {
        case Hardware::L1:
            return TPosition::A1;
        case Hardware::L0A:
            return TPosition::A2;
        case Hardware::L0B:
            return TPosition::B2;
        case Hardware::L0C:
            return TPosition::CO1;
        case Hardware::BIAS:
            return TPosition::C2;
        case Hardware::FIXBUF:
            return TPosition::C2PIPE2GM;
        default:
            return TPosition::VECCALC;
    }
}

}  // namespace internal

template <Hardware hard = Hardware::UB>
class LocalMemAllocator {
public:
    static_assert(hard != Hardware::GM && hard != Hardware::MAX, "the allocator serves memories of a core");

    uint32_t GetCurAddr() const { return next_; }

    template <TPosition pos, class DataType>
    LocalTensor<DataType> Alloc(uint32_t tileSize) {
        static_assert(mem_of(pos) == mem_of(internal::position_in(hard)),
                      "the position lies in another memory");
        const LocalTensor<DataType> tensor(pos, next_, tileSize);
        next_ += static_cast<uint32_t>(sim_bytes<DataType>(tileSize));
        return tensor;
    }
    template <class DataType>
    LocalTensor<DataType> Alloc(uint32_t tileSize) {
        return Alloc<internal::position_in(hard), DataType>(tileSize);
    }
    template <TPosition pos, class DataType, uint32_t tileSize>
    LocalTensor<DataType> Alloc() {
        return Alloc<pos, DataType>(tileSize);
    }
    template <class DataType, uint32_t tileSize>
    LocalTensor<DataType> Alloc() {
        return Alloc<DataType>(tileSize);
    }

private:
    uint32_t next_ = 0;
};

}  // namespace AscendC
