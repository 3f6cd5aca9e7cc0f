// SPDX-License-Identifier: Apache-2.0
// gm.h - global memory: the regions a launch may touch, which of their bytes are undefined, and the race
// detector of what all cores share. Inputs are read-only, so nothing about them needs to be recorded.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/launch.h"
#include "engine/span.h"

namespace sals::sim {

struct GmParty {
    uint16_t thread;  // core * NUM_PIPES + pipe
    uint32_t index;   // instruction of that thread
};

struct GmConflict {
    bool found = false;
    GmParty earlier{0, 0};
    bool earlier_wrote = false;
    uint64_t address = 0;
};

class Region {
public:
    explicit Region(const GmRegion& given);

    const GmRegion& given() const { return given_; }
    uint64_t begin() const { return reinterpret_cast<uint64_t>(given_.data); }
    uint64_t end() const { return begin() + given_.bytes; }
    bool is_input() const { return given_.role == GmRegion::Role::INPUT; }
    uint8_t* taint(uint64_t address) { return taint_.empty() ? nullptr : &taint_[address - begin()]; }

    // known(party) says whether the accessing instruction starts after `party` is complete.
    template <class Known>
    GmConflict read(const Span& span, GmParty me, const Known& known);
    template <class Known>
    GmConflict write(const Span& span, GmParty me, bool atomic, const Known& known);

    double read_bytes = 0, write_bytes = 0;  // asked for by the cores

private:
    struct Word {
        GmParty writer{0, 0};
        GmParty reader{0, 0};
        bool atomic = false;        // the last write was atomic
        bool more_readers = false;  // in readers_
    };
    template <class F>
    void for_words(const Span& span, F&& f);

    GmRegion given_;
    std::vector<uint8_t> taint_;
    std::vector<Word> words_;
    std::unordered_map<uint64_t, std::vector<GmParty>> readers_;
};

class GmSpace {
public:
    explicit GmSpace(const std::vector<GmRegion>& regions);
    // The region that holds all of [begin, end), or null.
    Region* find(uint64_t begin, uint64_t end);
    std::vector<Region>& regions() { return regions_; }

private:
    std::vector<Region> regions_;  // by address
};

template <class F>
void Region::for_words(const Span& span, F&& f) {
    span.for_each([&](uint64_t first, uint32_t bytes) {
        const uint64_t from = (first - begin()) / 4, last = (first - begin() + bytes - 1) / 4;
        for (uint64_t w = from; w <= last; ++w) f(w, words_[w]);
    });
}

template <class Known>
GmConflict Region::read(const Span& span, GmParty me, const Known& known) {
    GmConflict conflict;
    for_words(span, [&](uint64_t w, Word& word) {
        if (word.writer.index != 0 && !conflict.found && !known(word.writer)) {
            conflict = {true, word.writer, true, begin() + w * 4};
        }
        if (word.reader.thread != me.thread && word.reader.index != 0 && !known(word.reader)) {
            readers_[w].push_back(word.reader);
            word.more_readers = true;
        }
        word.reader = me;
    });
    return conflict;
}

template <class Known>
GmConflict Region::write(const Span& span, GmParty me, bool atomic, const Known& known) {
    GmConflict conflict;
    const auto note = [&](const GmParty& party, bool wrote, uint64_t w) {
        if (party.index == 0 || conflict.found || known(party)) return;
        conflict = {true, party, wrote, begin() + w * 4};
    };
    for_words(span, [&](uint64_t w, Word& word) {
        if (!(atomic && word.atomic)) note(word.writer, true, w);
        if (word.reader.thread != me.thread) note(word.reader, false, w);
        if (word.more_readers) {
            for (const GmParty& reader : readers_[w]) {
                if (reader.thread != me.thread) note(reader, false, w);
            }
            readers_.erase(w);
            word.more_readers = false;
        }
        word.writer = me;
        word.atomic = atomic;
        word.reader = {0, 0};
    });
    return conflict;
}

}  // namespace sals::sim
