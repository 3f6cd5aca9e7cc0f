// SPDX-License-Identifier: Apache-2.0
// tiling.h - how a kernel gets its tiling struct: a copy out of global memory, line by line of the data
// cache.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "ascendc/macros.h"

namespace AscendC::internal {

constexpr uint32_t DATA_CACHE_LINE = 64;

inline void read_gm(const uint8_t* gm, uint64_t bytes, uint8_t* out, sals::sim::Where where) {
    for (uint64_t done = 0; done < bytes; done += DATA_CACHE_LINE) {
        const uint32_t piece = static_cast<uint32_t>(std::min<uint64_t>(DATA_CACHE_LINE, bytes - done));
        const uint64_t address = reinterpret_cast<uint64_t>(gm) + done;
        sals::sim::Core::current().scalar_gm_read(address, piece, out + done, where);
    }
}

template <class T>
void read_tiling(T& tiling, const uint8_t* gm, sals::sim::Where where) {
    static_assert(std::is_trivially_copyable_v<T>, "tiling structs travel as bytes");
    read_gm(gm, sizeof(T), reinterpret_cast<uint8_t*>(&tiling), where);
}

}  // namespace AscendC::internal

#define GET_TILING_DATA_WITH_STRUCT(tiling_struct, tiling_data, tiling_arg) \
    tiling_struct tiling_data;                                              \
    ::AscendC::internal::read_tiling(tiling_data, tiling_arg, ::sals::sim::Where::here())

#define REGISTER_TILING_DEFAULT(tiling_struct) using SimDefaultTiling [[maybe_unused]] = tiling_struct
#define GET_TILING_DATA(tiling_data, tiling_arg) \
    GET_TILING_DATA_WITH_STRUCT(SimDefaultTiling, tiling_data, tiling_arg)
