// SPDX-License-Identifier: Apache-2.0
// place.h - where a tensor starts: its memory, and the byte offset in it or the address in GM.
#pragma once
#include <cstdint>

#include "ascendc/global_tensor.h"
#include "ascendc/local_tensor.h"

namespace AscendC::internal {

struct Place {
    sim::Mem mem;
    uint64_t begin;
    bool past_l2 = false;
};

template <class T>
Place place_of(const LocalTensor<T>& tensor) {
    return {tensor.sim_mem(), tensor.sim_begin()};
}

template <class T>
Place place_of(const GlobalTensor<T>& tensor) {
    return {sim::Mem::GM, tensor.sim_address(), tensor.sim_past_l2()};
}

}  // namespace AscendC::internal
