// SPDX-License-Identifier: Apache-2.0
// span.h - the bytes an instruction touches: equal pieces at up to three strides. Exact, because a bounding
// box would make neighbours that interleave (planes of a fractal layout) look like conflicts.
#pragma once
#include <cstdint>

namespace sals::sim {

struct Span {
    uint64_t begin = 0;  // byte offset in an on-chip memory; host address in GM
    uint32_t bytes = 0;  // of one piece
    uint32_t count[3] = {1, 1, 1};
    int64_t stride[3] = {0, 0, 0};  // bytes; [0] is the innermost

    static Span run(uint64_t begin, uint64_t bytes) {
        Span s;
        s.begin = begin;
        s.bytes = static_cast<uint32_t>(bytes);
        return s;
    }
    static Span pieces(uint64_t begin, uint64_t bytes, uint32_t count, int64_t stride) {
        Span s = run(begin, bytes);
        s.count[0] = count;
        s.stride[0] = stride;
        return s;
    }
    uint64_t total() const { return uint64_t{bytes} * count[0] * count[1] * count[2]; }
    bool empty() const { return total() == 0; }

    // First byte and one past the last byte (strides are not negative).
    uint64_t end() const {
        uint64_t e = begin + bytes;
        for (int i = 0; i < 3; ++i) e += (count[i] - 1) * stride[i];
        return e;
    }

    // f(begin, bytes) for every maximal contiguous piece along the innermost axis.
    template <class F>
    void for_each(F&& f) const {
        const bool dense = count[0] > 1 && stride[0] == int64_t{bytes};
        const uint32_t inner = dense ? 1 : count[0];
        const uint32_t piece = dense ? bytes * count[0] : bytes;
        for (uint32_t k = 0; k < count[2]; ++k) {
            for (uint32_t j = 0; j < count[1]; ++j) {
                const uint64_t base = begin + k * stride[2] + j * stride[1];
                for (uint32_t i = 0; i < inner; ++i) f(base + i * stride[0], piece);
            }
        }
    }
};

}  // namespace sals::sim
