// SPDX-License-Identifier: Apache-2.0
// tensors.h - typed views of memory: a part of a local memory by its byte offset, a global tensor by address.
#pragma once
#include "common/device.h"
#include "sals/arch.h"

namespace sals {

template <class T>
SALS_DEVICE AscendC::LocalTensor<T> view(const AscendC::LocalTensor<uint8_t>& memory, uint32_t byte_offset) {
    return memory[byte_offset].template ReinterpretCast<T>();
}

template <class T>
SALS_DEVICE AscendC::GlobalTensor<T> global_tensor(GM_ADDR address) {
    AscendC::GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address));
    return tensor;
}

// Fetches the lines [first, first + lines) of the scalar cache, of 64 bytes from `address`, ahead of their
// use: they arrive together instead of one after the other. At most four at a time, and only lines that
// exist.
SALS_DEVICE void preload_lines(GM_ADDR address, int64_t first, int64_t lines) {
    const AscendC::GlobalTensor<uint64_t> words = global_tensor<uint64_t>(address);
    for (int64_t line = first; line < first + lines; ++line) {
        AscendC::DataCachePreload(words, line * AtlasA2::CACHE_LINE_BYTES);
    }
}

}  // namespace sals
