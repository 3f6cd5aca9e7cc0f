// SPDX-License-Identifier: Apache-2.0
#include "cpu/sfaa_rows.h"

#include <algorithm>

namespace sals::cpu {

// Consecutive tokens of one block.
struct SfaaRows::Run {
    int64_t page;
    int64_t offset;    // in the page
    int64_t position;  // in the request
    const int8_t* key;
    const int8_t* value;
    int64_t token_stride;
};

SfaaRows::SfaaRows(const SfaaProblem& problem, const SfaaTensors& tensors)
    : problem_(problem),
      tensors_(tensors),
      run_tokens_(std::min<int64_t>(problem.block_size, SFAA_TILE_TOKENS)) {
    const std::vector<TokenRow> rows = token_rows(problem.axis, tensors.request, problem.axis.s_q);
    visible_.reserve(rows.size());
    request_.reserve(rows.size());
    for (const TokenRow& row : rows) {
        const bool is_real = row.s < row.q_len;
        visible_.push_back(!is_real ? 0 : tensors.causal ? row.visible() : std::max<int64_t>(row.seq_len, 0));
        request_.push_back(row.request);
    }
}

ListRow SfaaRows::list_row(int64_t row) const {
    const int64_t list_token = row / problem_.n_kv;
    const int64_t head = row % problem_.n_kv;
    const int64_t list_head = problem_.list_heads == 1 ? 0 : head;
    ListRow result{};
    result.block_ids = tensors_.block_ids + (list_token * problem_.list_heads + list_head) * problem_.width;
    result.head = head;
    result.tokens = problem_.shared_list() ? problem_.axis.s_q : 1;
    result.first_token = list_token * result.tokens;
    result.request = request_[result.first_token];
    return result;
}

int64_t SfaaRows::list_tokens(int64_t row) const {
    const int64_t list_head = problem_.list_heads == 1 ? 0 : row % problem_.n_kv;
    const int64_t tokens = tensors_.selected_lens[row / problem_.n_kv * problem_.list_heads + list_head];
    return std::min<int64_t>(std::max<int64_t>(tokens, 0), problem_.width * problem_.block_size);
}

SfaaRows::Run SfaaRows::find_run(const ListRow& row, int64_t position) const {
    const CacheShape& cache = problem_.cache;
    Run run{};
    run.position = position;
    run.page = row.request;
    run.offset = position;
    if (is_paged(cache.layout)) {
        const auto index = static_cast<uint32_t>(position) / static_cast<uint32_t>(cache.page_size);
        run.page = tensors_.request.block_table[row.request * problem_.max_pages + index];
        run.offset = position - index * cache.page_size;
    }
    const RowGeometry key = row_geometry(cache, run.page, row.head, false);
    const RowGeometry value = row_geometry(cache, run.page, row.head, true);
    const int8_t* value_cache = tensors_.value_cache != nullptr ? tensors_.value_cache : tensors_.key_cache;
    run.key = tensors_.key_cache + key.base + run.offset * key.token_stride;
    run.value = value_cache + value.base + run.offset * value.token_stride;
    run.token_stride = key.token_stride;
    return run;
}

void SfaaRows::append(const Run& run, int64_t count, StepTokens& tokens) {
    const int64_t begin = tokens.count;
    for (int64_t i = 0; i < count; ++i) tokens.key[begin + i] = run.key + i * run.token_stride;
    for (int64_t i = 0; i < count; ++i) tokens.value[begin + i] = run.value + i * run.token_stride;
    for (int64_t i = 0; i < count; ++i) tokens.position[begin + i] = static_cast<int32_t>(run.position + i);
    tokens.count += static_cast<int32_t>(count);
    const auto last = static_cast<int32_t>(run.position + count - 1);
    if (last > tokens.last_position) tokens.last_position = last;
}

// The cache lines of contiguous memory.
static void append_stretch(const int8_t* begin, int64_t bytes, StepTokens& tokens) {
    const int8_t* line = begin - reinterpret_cast<uintptr_t>(begin) % CACHE_LINE;
    tokens.stretch[tokens.stretch_count++] = {line, begin + bytes};
}

void SfaaRows::append_stretches(const int8_t* rows, int64_t token_stride, int64_t count,
                                StepTokens& tokens) const {
    const int64_t row_bytes = problem_.cache.row_bytes;
    if (token_stride == row_bytes) {
        append_stretch(rows, count * row_bytes, tokens);
    } else if (has_planes(problem_.cache.layout)) {
        for (int64_t x = 0; x < row_bytes; x += PLANE_BYTES) {
            append_stretch(rows + x / PLANE_BYTES * tokens.plane_stride, count * PLANE_BYTES, tokens);
        }
    } else {
        for (int64_t i = 0; i < count; ++i) append_stretch(rows + i * token_stride, row_bytes, tokens);
    }
}

void SfaaRows::append_scales(const ListRow& row, const Run& run, int64_t count, StepTokens& tokens) const {
    const ScaleGeometry scale = scale_geometry(problem_.cache, run.page, row.head);
    const int64_t begin = tokens.count;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = scale.base + (run.offset + i) * scale.token_stride;
        tokens.key_scale[begin + i] = tensors_.key_scale[at];
        tokens.value_scale[begin + i] = tensors_.value_scale[at];
    }
}

void SfaaRows::read_tiles(const ListRow& row, int64_t begin, int64_t end, int64_t visible,
                          StepTokens& tokens) const {
    constexpr int64_t LANES = 16;
    const int64_t block_size = problem_.block_size;
    const int64_t end_slot = std::min<int64_t>(end * SFAA_TILE_TOKENS, problem_.width * block_size);
    tokens.count = 0;
    tokens.stretch_count = 0;
    tokens.last_position = -1;
    tokens.plane_stride = row_geometry(problem_.cache, 0, 0, false).plane_stride;
    for (int64_t slot = begin * SFAA_TILE_TOKENS; slot < end_slot; slot += run_tokens_) {
        const int64_t block = row.block_ids[static_cast<uint64_t>(slot) / static_cast<uint64_t>(block_size)];
        if (block == INVALID_BLOCK) continue;
        const int64_t position = block * block_size + slot % block_size;
        const int64_t count = std::min<int64_t>(run_tokens_, visible - position);
        if (count <= 0) continue;
        const Run run = find_run(row, position);
        if (!problem_.static_scales) append_scales(row, run, count, tokens);
        append(run, count, tokens);
        append_stretches(run.key, run.token_stride, count, tokens);
        append_stretches(run.value, run.token_stride, count, tokens);
    }
    tokens.padded_count = static_cast<int32_t>(ceil_div(int64_t{tokens.count}, LANES) * LANES);
    for (int32_t i = tokens.count; i < tokens.padded_count; ++i) {
        tokens.key[i] = tokens.key[tokens.count - 1];
        tokens.value[i] = tokens.value[tokens.count - 1];
        tokens.position[i] = tokens.last_position;
        tokens.key_scale[i] = 0.0F;
        tokens.value_scale[i] = 0.0F;
    }
}

}  // namespace sals::cpu
