// SPDX-License-Identifier: Apache-2.0
// cache_pages.h - where a token of a request stands in the cache. A dense cache is one page per request.
#pragma once
#include "sfaa/list_row.h"

namespace sals::sfaa {

struct PagePlace {
    int32_t page;
    int32_t offset;  // of the token, in the page
};

class CachePages {
public:
    SALS_DEVICE CachePages(const SfaaTiling& tiling, const Arguments& args)
        : tiling_(tiling), address_(args.block_table) {
        is_paged_ = is_paged(static_cast<KvLayout>(tiling.cache_layout));
        table_ = global_tensor<int32_t>(args.block_table);
    }

    SALS_DEVICE int32_t page_size() const { return tiling_.page_size; }

    // Asks for the table's entry of a position that will be looked up soon, unless `line` was the last.
    SALS_DEVICE void preload(int32_t request, int32_t position, int64_t& line) const {
        if (!is_paged_) return;
        constexpr int64_t ENTRIES = AtlasA2::CACHE_LINE_BYTES / sizeof(int32_t);
        const int64_t wanted =
            (int64_t{request} * tiling_.max_pages + position / tiling_.page_size) / ENTRIES;
        if (wanted != line) preload_lines(address_, wanted, 1);
        line = wanted;
    }

    // A page number that the cache does not have is clamped.
    SALS_DEVICE PagePlace place(int32_t request, int32_t position) const {
        const int32_t column = is_paged_ ? position / tiling_.page_size : 0;
        int32_t page = request;
        if (is_paged_)
            page = table_.GetValue(static_cast<uint64_t>(int64_t{request} * tiling_.max_pages + column));
        page = smaller(larger(page, 0), tiling_.num_pages - 1);
        return {page, position - column * tiling_.page_size};
    }

private:
    const SfaaTiling& tiling_;
    GM_ADDR address_;
    bool is_paged_;
    AscendC::GlobalTensor<int32_t> table_;
};

}  // namespace sals::sfaa
