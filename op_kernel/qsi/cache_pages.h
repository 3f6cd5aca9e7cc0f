// SPDX-License-Identifier: Apache-2.0
// cache_pages.h - walks the tokens of one row through the pages of a cache: runs of tokens that stand in one
// page. A dense cache is one page per request.
#pragma once
#include "qsi/row_info.h"

namespace sals::qsi {

struct PageRun {
    int32_t page;
    int32_t offset;  // first token, in the page
    int32_t count;   // tokens
};

class CachePages {
public:
    SALS_DEVICE CachePages(const QsiTiling& tiling, const Arguments& args) : tiling_(tiling) {
        is_paged_ = is_paged(static_cast<KvLayout>(tiling.cache_layout));
        table_ = global_tensor<int32_t>(args.block_table);
    }

    // The run that begins with `token` of a request, at most `count` tokens long. A page number that the
    // cache does not have is clamped.
    SALS_DEVICE PageRun run(int32_t request, int32_t token, int32_t count) const {
        const int32_t column = is_paged_ ? token / tiling_.page_size : 0;
        const int32_t offset = token - column * tiling_.page_size;
        const int32_t left = tiling_.page_size - offset;
        int32_t page = request;
        if (is_paged_)
            page = table_.GetValue(static_cast<uint64_t>(int64_t{request} * tiling_.max_pages + column));
        page = static_cast<int32_t>(smaller(larger(page, 0), tiling_.num_pages - 1));
        return {page, offset, count < left ? count : left};
    }

private:
    const QsiTiling& tiling_;
    bool is_paged_;
    AscendC::GlobalTensor<int32_t> table_;
};

}  // namespace sals::qsi
