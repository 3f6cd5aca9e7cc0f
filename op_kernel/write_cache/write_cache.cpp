// SPDX-License-Identifier: Apache-2.0
// write_cache.cpp - entry of the kernel that quantises new tokens into the caches. Vector cores only, as many
// as the launch gives; no workspace, no synchronisation between cores. CANN passes tensors that are written
// in place twice, as inputs and as outputs; here the second addresses (..._ref) are not used.
#include "write_cache/kernel.h"

#include "common/read_tiling.h"

extern "C" __global__ __aicore__ void sals_write_cache(
    GM_ADDR key, GM_ADDR value, GM_ADDR index_key, GM_ADDR projection, GM_ADDR slot_mapping,
    GM_ADDR key_cache, GM_ADDR value_cache, GM_ADDR index_cache, GM_ADDR index_scale, GM_ADDR key_scale,
    GM_ADDR value_scale, GM_ADDR key_cache_ref, GM_ADDR index_cache_ref, GM_ADDR index_scale_ref,
    GM_ADDR key_scale_ref, GM_ADDR value_scale_ref, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    REGISTER_TILING_DEFAULT(sals::WriteCacheTiling);  // tells CANN how much room the tiling needs
    static_cast<void>(key_cache_ref), static_cast<void>(index_cache_ref), static_cast<void>(index_scale_ref);
    static_cast<void>(key_scale_ref), static_cast<void>(value_scale_ref), static_cast<void>(workspace);
    const auto sizes = sals::read_tiling<sals::WriteCacheTiling>(tiling);
    const sals::write_cache::Arguments args = {key,          value,     index_key,   projection,
                                               slot_mapping, key_cache, value_cache, index_cache,
                                               index_scale,  key_scale, value_scale};
    switch (static_cast<sals::VectorDType>(sizes.dtype)) {
        case sals::VectorDType::FLOAT16:
            return sals::write_cache::run<half>(sizes, args);
        case sals::VectorDType::BFLOAT16:
            return sals::write_cache::run<bfloat16_t>(sizes, args);
        case sals::VectorDType::FLOAT32:
            return sals::write_cache::run<float>(sizes, args);
    }
}
