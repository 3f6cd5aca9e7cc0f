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
    words_.resize(given.bytes / 4 + 1);
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
    return end <= region.end() ? &region : nullptr;
}

}  // namespace sals::sim
