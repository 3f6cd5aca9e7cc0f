// SPDX-License-Identifier: Apache-2.0
// gm.cpp - regions of global memory and the search for the one that holds an address.
#include "engine/gm.h"

#include <algorithm>
#include <stdexcept>

#include "engine/memory.h"

namespace sals::sim {

Region::Region(const GmRegion& given) : given_(given) {
    const bool undefined = given.role == GmRegion::Role::OUTPUT || given.role == GmRegion::Role::WORKSPACE;
    if (given.role == GmRegion::Role::INPUT) return;
    taint_.assign(given.bytes, undefined ? UNDEFINED : DEFINED);
    words_.resize(given.bytes / 4 + 1);  // the last one may be a part
}

std::array<Region::Cell, 4>& Region::bytes_of(uint64_t word) {
    Cell& whole = words_[word];
    std::array<Cell, 4>& cells = bytes_[word];
    if (whole.split) return cells;
    cells.fill(whole);
    if (whole.more) {
        for (const Cell& cell : cells) others_[&cell] = others_[&whole];
        others_.erase(&whole);
    }
    whole.split = true;
    return cells;
}

// One of a thread is enough: whoever comes after its last access comes after the earlier ones.
static void keep(std::vector<GmParty>& parties, const GmParty& party) {
    for (GmParty& kept : parties) {
        if (kept.thread != party.thread) continue;
        kept = party;
        return;
    }
    parties.push_back(party);
}

// The last reader or writer of the cell is about to be replaced by one that does not come after it.
void Region::keep_reader(Cell& cell) {
    keep(others_[&cell].readers, cell.reader);
    cell.more = true;
}

void Region::keep_writer(Cell& cell) {
    Others& others = others_[&cell];
    if (cell.atomic) {
        keep(others.atomics, cell.writer);
    } else {
        others.before = cell.writer;
    }
    cell.more = true;
}

GmSpace::GmSpace(const std::vector<GmRegion>& regions) {
    for (const GmRegion& region : regions) {
        if (region.data != nullptr && region.bytes > 0) regions_.emplace_back(region);
    }
    std::sort(regions_.begin(), regions_.end(),
              [](const Region& a, const Region& b) { return a.begin() < b.begin(); });
    for (size_t i = 1; i < regions_.size(); ++i) {
        if (regions_[i].begin() < regions_[i - 1].end()) {
            throw std::invalid_argument("launch: GM arguments " + regions_[i - 1].given().name + " and " +
                                        regions_[i].given().name + " overlap in memory");
        }
    }
}

Region* GmSpace::find(uint64_t begin, uint64_t end) {
    auto after = std::upper_bound(regions_.begin(), regions_.end(), begin,
                                  [](uint64_t address, const Region& r) { return address < r.begin(); });
    if (after == regions_.begin()) return nullptr;
    Region& region = *(after - 1);
    return begin <= end && end <= region.end() ? &region : nullptr;
}

}  // namespace sals::sim
