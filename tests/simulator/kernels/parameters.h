// SPDX-License-Identifier: Apache-2.0
// parameters.h - what the kernels of these tests share: parameters that the test chooses, and views of GM.
#pragma once
#include "kernel_operator.h"

#define ENTRY extern "C" __global__ __aicore__ void

using namespace AscendC;

class Parameters {
public:
    explicit Parameters(GM_ADDR p) { values_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(p)); }
    int32_t operator[](int32_t i) const { return values_.GetValue(i); }

private:
    GlobalTensor<int32_t> values_;
};

template <class T>
GlobalTensor<T> gm(GM_ADDR address) {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address));
    return tensor;
}
