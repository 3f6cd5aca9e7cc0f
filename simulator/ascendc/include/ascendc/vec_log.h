// SPDX-License-Identifier: Apache-2.0
// vec_log.h - Log: the natural logarithm, under the name and with the limits of the library function.
#pragma once
#include "ascendc/vec_arithmetic.h"

namespace AscendC {

// Unlike Ln it does not work in place.
template <typename T, bool isReuseSource = false>
__aicore__ inline void Log(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                           uint32_t calCount, sim::Where where = sim::Where::here()) {
    const uint64_t bytes = uint64_t{calCount} * sizeof(T);
    const internal::ByteRange dst{dstTensor.sim_begin(), dstTensor.sim_begin() + bytes};
    const internal::ByteRange src{srcTensor.sim_begin(), srcTensor.sim_begin() + bytes};
    if (calCount != 0 && dst.meets(src)) {
        internal::CallCheck("Log", where).fail("dstTensor and srcTensor overlap in UB; Ln may work in place");
        return;
    }
    Ln(dstTensor, srcTensor, static_cast<int32_t>(calCount), where);
}

template <typename T, bool isReuseSource = false>
__aicore__ inline void Log(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                           sim::Where where = sim::Where::here()) {
    Log<T, isReuseSource>(dstTensor, srcTensor, srcTensor.GetSize(), where);
}

}  // namespace AscendC
