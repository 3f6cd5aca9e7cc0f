// SPDX-License-Identifier: Apache-2.0
// cube_staging.h - fractals from GM to L1 and on to L0A and L0B, one after another.
#pragma once
#include "parameters.h"

constexpr uint32_t FRACTAL = 512;
constexpr uint32_t L1_SECOND = 131072;  // bytes; operands are staged at 0, here and at L1_THIRD
constexpr uint32_t L1_THIRD = 262144;

inline LocalTensor<uint8_t> l1(uint32_t begin) {
    return LocalTensor<uint8_t>(TPosition::A1, begin, L1_SECOND);
}

inline void stage(uint32_t begin, GM_ADDR from, uint32_t fractals) {
    DataCopy(l1(begin), gm<uint8_t>(from), fractals * FRACTAL);
}

// Fractals one after another.
inline void load(TPosition position, uint32_t from, uint32_t fractals) {
    const LocalTensor<uint8_t> target(position, 0, fractals * FRACTAL);
    LoadData(target, l1(from), LoadData2DParams(0, fractals, 1, 0, 0, false, 0));
}

template <class T>
LocalTensor<T> operand(TPosition position) {
    return LocalTensor<T>(position, 0, 0);
}
