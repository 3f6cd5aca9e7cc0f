// SPDX-License-Identifier: Apache-2.0
#include "cpu/score_task.h"

#include "sals/int4_pack.h"

namespace sals::cpu {
namespace {

Int4Query split_query(const int32_t* words, int64_t rank) {
    Int4Query query = {};
    query.row_bytes = static_cast<int32_t>(rank / 2);
    for (int32_t byte = 0; byte < query.row_bytes; ++byte) {
        const int32_t word = words[2 * byte / INT4_PER_WORD];
        const int32_t even = int4_get(word, 2 * byte % INT4_PER_WORD);
        const int32_t odd = int4_get(word, 2 * byte % INT4_PER_WORD + 1);
        query.even[byte] = static_cast<int8_t>(16 * even);
        query.odd[byte] = static_cast<int8_t>(odd);
        query.sum += even + odd;
    }
    return query;
}

}  // namespace

ScoreTask score_task(const QsiProblem& problem, const QsiTensors& tensors, const TokenRow& row, int64_t token,
                     int64_t head) {
    const int64_t list = token * problem.n_idx + head;
    const bool paged = is_paged(problem.cache.layout);
    const int64_t first_page = paged ? 0 : row.request;
    const RowGeometry here = row_geometry(problem.cache, first_page, head, false);
    const RowGeometry next = row_geometry(problem.cache, first_page + 1, head, false);
    const ScaleGeometry scales_here = scale_geometry(problem.cache, first_page, head);
    const ScaleGeometry scales_next = scale_geometry(problem.cache, first_page + 1, head);
    ScoreTask task = {};
    task.query = split_query(tensors.query + list * (problem.rank / INT4_PER_WORD), problem.rank);
    task.query_scale = tensors.query_scale[list];
    task.rows = reinterpret_cast<const uint8_t*>(tensors.key_cache) + here.base;
    task.page_step = next.base - here.base;
    task.token_step = here.token_stride;
    task.plane_step = here.plane_stride;
    task.scales = tensors.key_scale + scales_here.base;
    task.scale_page_step = scales_next.base - scales_here.base;
    task.scale_token_step = scales_here.token_stride;
    task.pages = paged ? tensors.request.block_table + row.request * problem.max_pages : nullptr;
    task.page_size = problem.cache.page_size;
    task.block_size = problem.selection.block_size;
    task.visible = row.visible();
    return task;
}

}  // namespace sals::cpu
