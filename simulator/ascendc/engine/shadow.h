// SPDX-License-Identifier: Apache-2.0
// shadow.h - who touched each word of an on-chip memory last: the race detector of one memory of one core.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "engine/clock.h"
#include "engine/span.h"
#include "engine/types.h"

namespace sals::sim {

inline constexpr uint64_t WORD_BYTES = 4;  // the grain of race detection

struct Party {  // of a race: instruction `index` of `pipe`
    Pipe pipe;
    uint32_t index;
};

struct Conflict {
    bool found = false;
    Party earlier{Pipe::S, 0};
    bool earlier_wrote = false;
    uint64_t address = 0;
};

// Which pairs of accesses on one pipe need no barrier between them.
struct PairRule {
    bool same_pipe_ordered = false;  // every pair (the scalar unit, Mmads that chain on one tile)
    uint8_t ordered_with = 0;        // bit p: pairs with pipe p are ordered (automatic synchronisation)
};

class Shadow {
public:
    explicit Shadow(uint64_t bytes = 0) : words_((bytes + WORD_BYTES - 1) / WORD_BYTES) {}

    Conflict read(const Span& span, Party me, const Clock& clock, PairRule rule) {
        Conflict conflict;
        allocate_readers(me.pipe);
        uint32_t* readers = readers_[static_cast<int>(me.pipe)].data();
        for_words(span, [&](uint64_t w) {
            check_writer(w, me, clock, rule, conflict);
            readers[w] = me.index;
        });
        return conflict;
    }

    Conflict write(const Span& span, Party me, const Clock& clock, PairRule rule) {
        Conflict conflict;
        if (writer_.empty()) {
            writer_.assign(words_, 0);
            writer_pipe_.assign(words_, 0);
        }
        for (int p = 0; p < NUM_PIPES; ++p) {
            // Reads of one pipe start before its later writes: no hazard.
            const bool ordered = p == static_cast<int>(me.pipe) || (rule.ordered_with >> p & 1) != 0;
            if (readers_[p].empty() || ordered) continue;
            const uint32_t known = clock.complete[p];
            const uint32_t* readers = readers_[p].data();
            for_words(span, [&](uint64_t w) {
                if (readers[w] > known && !conflict.found) {
                    conflict = {true, {static_cast<Pipe>(p), readers[w]}, false, w * WORD_BYTES};
                }
            });
        }
        for_words(span, [&](uint64_t w) {
            check_writer(w, me, clock, rule, conflict);
            writer_[w] = me.index;
            writer_pipe_[w] = static_cast<uint8_t>(me.pipe);
        });
        return conflict;
    }

private:
    void allocate_readers(Pipe pipe) {
        auto& readers = readers_[static_cast<int>(pipe)];
        if (readers.empty()) readers.assign(words_, 0);
    }

    void check_writer(uint64_t w, Party me, const Clock& clock, PairRule rule, Conflict& conflict) const {
        if (writer_.empty()) return;
        const uint8_t p = writer_pipe_[w];
        if (writer_[w] <= clock.written(static_cast<Pipe>(p)) || conflict.found) return;
        const bool same = p == static_cast<uint8_t>(me.pipe);
        if (same && (rule.same_pipe_ordered || writer_[w] == me.index)) return;
        if ((rule.ordered_with >> p & 1) != 0) return;
        conflict = {true, {static_cast<Pipe>(p), writer_[w]}, true, w * WORD_BYTES};
    }

    template <class F>
    static void for_words(const Span& span, F&& f) {
        span.for_each([&](uint64_t begin, uint32_t bytes) {
            const uint64_t last = (begin + bytes - 1) / WORD_BYTES;
            for (uint64_t w = begin / WORD_BYTES; w <= last; ++w) f(w);
        });
    }

    uint64_t words_;
    std::vector<uint32_t> writer_;
    std::vector<uint8_t> writer_pipe_;
    std::array<std::vector<uint32_t>, NUM_PIPES> readers_;
};

}  // namespace sals::sim
