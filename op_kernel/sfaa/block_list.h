// SPDX-License-Identifier: Apache-2.0
// block_list.h - walks the slots of a list: which tokens of the cache stand in which columns of a task. Every
// core walks a list by itself, with the same result. A block takes whole groups of columns; those behind the
// last token that is seen hold other tokens, or none, and are masked. Entries that are not seen take none.
#pragma once
#include "sfaa/list_row.h"

namespace sals::sfaa {

// Consecutive tokens of a request in consecutive columns of a task.
struct TokenRun {
    int32_t position;  // of the first token
    int32_t count;     // tokens that the list may see
    int32_t columns;   // count, rounded up to whole groups
    int32_t column;    // first
};

// Places [begin, end) of a list: entry * block_size + token of the block.
struct Slots {
    int32_t begin;
    int32_t end;
};

class BlockList {
public:
    SALS_DEVICE BlockList(const SfaaTiling& tiling, const Arguments& args)
        : tiling_(tiling), address_(args.block_ids) {
        block_ids_ = global_tensor<int32_t>(args.block_ids);
    }

    SALS_DEVICE int32_t slots() const { return tiling_.width * tiling_.block_size; }

    // Asks for the entries of slots that will be walked soon.
    SALS_DEVICE void preload(int32_t list, const Slots& slots) const {
        if (slots.begin >= slots.end) return;
        constexpr int64_t ENTRIES = AtlasA2::CACHE_LINE_BYTES / sizeof(int32_t);
        const int64_t first = int64_t{list} * tiling_.width;
        const int64_t first_line = (first + slots.begin / tiling_.block_size) / ENTRIES;
        const int64_t last_line = (first + (slots.end - 1) / tiling_.block_size) / ENTRIES;
        preload_lines(address_, first_line, smaller(last_line - first_line + 1, MAX_PRELOADS));
    }

    // use(run) for every run of slots.
    template <class Use>
    SALS_DEVICE void for_each_run(const ListRow& row, int32_t visible, const Slots& slots, Use&& use) const {
        const int32_t block_size = tiling_.block_size;
        const int64_t first = int64_t{row.list} * tiling_.width;
        int32_t column = 0;
        for (int32_t slot = slots.begin; slot < slots.end;) {
            const int32_t entry = slot / block_size;
            const int32_t offset = slot - entry * block_size;
            const int32_t span = smaller(block_size - offset, slots.end - slot);
            slot += span;
            const int64_t id = block_ids_.GetValue(static_cast<uint64_t>(first + entry));
            const int64_t position = id * block_size + offset;
            if (id < 0 || position >= visible) continue;
            const int32_t count = static_cast<int32_t>(smaller(int64_t{span}, visible - position));
            const int32_t columns = (count + SFAA_COLUMN_GROUP - 1) / SFAA_COLUMN_GROUP * SFAA_COLUMN_GROUP;
            use(TokenRun{static_cast<int32_t>(position), count, columns, column});
            column += columns;
        }
    }

private:
    static constexpr int64_t MAX_PRELOADS = 4;  // the hardware drops further ones

    const SfaaTiling& tiling_;
    GM_ADDR address_;
    AscendC::GlobalTensor<int32_t> block_ids_;
};

}  // namespace sals::sfaa
