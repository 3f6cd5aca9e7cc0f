// SPDX-License-Identifier: Apache-2.0
// tensors.h - typed views of memory: a part of a local memory by its byte offset, a global tensor by address.
#pragma once
#include "common/device.h"

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

}  // namespace sals
