// SPDX-License-Identifier: Apache-2.0
// gm.h - global memory: the regions a launch may touch, which of their bytes are undefined, and the race
// detector of what all cores share. Inputs are read-only, so nothing about them needs to be recorded.
#pragma once
#include <algorithm>
#include <array>
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

    // Whether is(party) holds for a writer that the bytes may have their values from.
    template <class Is>
    bool any_writer(const Span& span, const Is& is);

    double read_bytes = 0, write_bytes = 0;  // asked for by the cores

private:
    // Who accessed a word last; or a byte, of words that some instruction accessed only in part: neighbours
    // may share such a word, because DataCopyPad writes single bytes.
    struct Cell {
        GmParty writer{0, 0};
        GmParty reader{0, 0};
        bool atomic = false;  // the last write was atomic
        bool more = false;    // in others_
        bool split = false;   // in bytes_
    };
    // Further parties that a later access must come after, at most one of each thread and kind.
    struct Others {
        std::vector<GmParty> readers;
        std::vector<GmParty> atomics;  // atomic writes in any order
        GmParty before{0, 0};          // the write before the atomic ones
    };
    template <class F>
    void for_cells(const Span& span, F&& f);
    std::array<Cell, 4>& bytes_of(uint64_t word);
    void keep_reader(Cell& cell);
    void keep_writer(Cell& cell);

    GmRegion given_;
    std::vector<uint8_t> taint_;
    std::vector<Cell> words_;
    std::unordered_map<uint64_t, std::array<Cell, 4>> bytes_;  // by word
    std::unordered_map<const Cell*, Others> others_;
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

// f(address, cell) for every word, or byte of a word that is split.
template <class F>
void Region::for_cells(const Span& span, F&& f) {
    span.for_each([&](uint64_t address, uint32_t bytes) {
        const uint64_t first = address - begin(), last = first + bytes;
        for (uint64_t w = first / 4; w * 4 < last; ++w) {
            const uint64_t from = std::max(first, w * 4), to = std::min(last, w * 4 + 4);
            if (to - from == 4 && !words_[w].split) {
                f(begin() + from, words_[w]);
                continue;
            }
            std::array<Cell, 4>& cells = bytes_of(w);
            for (uint64_t b = from; b < to; ++b) f(begin() + b, cells[b % 4]);
        }
    });
}

template <class Known>
GmConflict Region::read(const Span& span, GmParty me, const Known& known) {
    GmConflict conflict;
    for_cells(span, [&](uint64_t address, Cell& cell) {
        const auto note = [&](const GmParty& writer) {
            if (writer.index != 0 && !conflict.found && !known(writer))
                conflict = {true, writer, true, address};
        };
        note(cell.writer);
        if (cell.more) {
            const Others& others = others_[&cell];
            note(others.before);
            for (const GmParty& writer : others.atomics) note(writer);
        }
        if (cell.reader.thread != me.thread && cell.reader.index != 0 && !known(cell.reader))
            keep_reader(cell);
        cell.reader = me;
    });
    return conflict;
}

template <class Known>
GmConflict Region::write(const Span& span, GmParty me, bool atomic, const Known& known) {
    GmConflict conflict;
    for_cells(span, [&](uint64_t address, Cell& cell) {
        const auto note = [&](const GmParty& party, bool wrote) {
            if (party.index == 0 || conflict.found || known(party)) return;
            conflict = {true, party, wrote, address};
        };
        const auto note_reader = [&](const GmParty& reader) {
            if (reader.thread != me.thread) note(reader, false);
        };
        const bool joins = atomic && cell.atomic;
        if (!joins) note(cell.writer, true);
        note_reader(cell.reader);
        if (cell.more) {
            const Others& others = others_[&cell];
            for (const GmParty& reader : others.readers) note_reader(reader);
            note(others.before, true);
            for (const GmParty& writer : others.atomics) {
                if (!joins) note(writer, true);
            }
        }
        if (atomic) {  // does not come after the other atomic writes, so they and what came before them stay
            if (cell.writer.index != 0 && (!cell.atomic || cell.writer.thread != me.thread))
                keep_writer(cell);
        } else {
            if (cell.more) others_.erase(&cell);
            cell.more = false;
            cell.reader = {0, 0};
        }
        cell.writer = me;
        cell.atomic = atomic;
    });
    return conflict;
}

template <class Is>
bool Region::any_writer(const Span& span, const Is& is) {
    bool any = false;
    if (is_input()) return false;
    for_cells(span, [&](uint64_t, Cell& cell) {
        any |= cell.writer.index != 0 && is(cell.writer);
        if (!cell.more) return;
        for (const GmParty& writer : others_[&cell].atomics) any |= is(writer);
    });
    return any;
}

}  // namespace sals::sim
