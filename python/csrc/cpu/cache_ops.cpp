// SPDX-License-Identifier: Apache-2.0
#include "cpu/cache_ops.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cpu/float_convert.h"
#include "cpu/project.h"
#include "sals/int4_pack.h"

namespace sals::cpu {
namespace {

constexpr int64_t MAX_WORDS = MAX_RANK / INT4_PER_WORD;
constexpr int64_t SLICE_TOKENS = 16;  // of a query, for one task
constexpr int64_t SERIAL_TOKENS = 4;  // so few take less time than waking another thread
constexpr float INT8_LOWEST = -128.0F;
constexpr float INT8_HIGHEST = 127.0F;

void run_tasks(const Workers& workers, int64_t tokens, int64_t tasks, const std::function<void(int64_t)>& f) {
    if (tokens > SERIAL_TOKENS) return workers.run(tasks, f);
    for (int64_t task = 0; task < tasks; ++task) f(task);
}

// The mean of `group` vectors that follow each other, added in order.
void group_mean(const void* query, FloatType type, int64_t begin, int64_t group, int64_t head_dim,
                float* mean) {
    float head[MAX_HEAD_DIM];
    std::fill_n(mean, head_dim, 0.0F);
    for (int64_t g = 0; g < group; ++g) {
        load_floats(query, type, begin + g * head_dim, head_dim, head);
        for (int64_t x = 0; x < head_dim; ++x) mean[x] += head[x];
    }
    for (int64_t x = 0; x < head_dim; ++x) mean[x] /= static_cast<float>(group);
}

int8_t int8_code(float x, float scale) {
    const float clamped = std::max(INT8_LOWEST, std::min(INT8_HIGHEST, scale != 0.0F ? x / scale : 0.0F));
    return static_cast<int8_t>(nearest_whole(clamped));
}

struct Slot {
    int64_t page;
    int64_t offset;
};

// Writes one head of keys, of values or of index keys; tokens in order, so the last of a slot stays.
class HeadWriter {
public:
    HeadWriter(const WriteCacheProblem& problem, const WriteCacheTensors& tensors)
        : problem_(problem), t_(tensors) {}

    void write_key(int64_t head) const { write_kv(head, false); }
    void write_value(int64_t head) const { write_kv(head, true); }

    void write_index(int64_t head) const {
        const int64_t in_dim = problem_.heads_per_index * problem_.head_dim;
        std::vector<float> input(in_dim);
        const float* projection = t_.projection + head * in_dim * problem_.rank;
        for (int64_t token = 0; token < problem_.tokens; ++token) {
            if (t_.slot_mapping[token] == INVALID_SLOT) continue;
            float latent[MAX_RANK];
            int32_t words[MAX_WORDS];
            const int64_t first_head = token * problem_.n_kv + head * problem_.heads_per_index;
            load_floats(t_.index_key, t_.type, first_head * problem_.head_dim, in_dim, input.data());
            project_latent(input.data(), in_dim, projection, problem_.rank, latent);
            const Slot at = slot(token);
            t_.index_scale[scale_offset(problem_.index, at, head)] =
                quantize_int4(latent, problem_.rank, words);
            const auto* bytes = reinterpret_cast<const int8_t*>(words);
            write_row(problem_.index, at, head, false, bytes, reinterpret_cast<int8_t*>(t_.index_cache));
        }
    }

private:
    Slot slot(int64_t token) const {
        const int64_t slot = t_.slot_mapping[token];
        return {slot / problem_.kv.page_size, slot % problem_.kv.page_size};
    }

    static int64_t scale_offset(const CacheShape& cache, Slot at, int64_t head) {
        const ScaleGeometry scale = scale_geometry(cache, at.page, head);
        return scale.base + at.offset * scale.token_stride;
    }

    static void write_row(const CacheShape& cache, Slot at, int64_t head, bool is_value, const int8_t* row,
                          int8_t* to) {
        const RowGeometry geometry = row_geometry(cache, at.page, head, is_value);
        for (int64_t x = 0; x < cache.row_bytes; x += PLANE_BYTES) {
            std::copy_n(row + x, std::min(PLANE_BYTES, cache.row_bytes - x),
                        to + row_byte(geometry, at.offset, x));
        }
    }

    void write_kv(int64_t head, bool is_value) const {
        const int64_t head_dim = problem_.head_dim;
        int8_t* cache = is_value && t_.value_cache != nullptr ? t_.value_cache : t_.key_cache;
        float* scales = is_value ? t_.value_scale : t_.key_scale;
        int8_t codes[MAX_HEAD_DIM] = {};  // zeros beyond head_dim
        float row[MAX_HEAD_DIM];
        for (int64_t token = 0; token < problem_.tokens; ++token) {
            if (t_.slot_mapping[token] == INVALID_SLOT) continue;
            const int64_t begin = (token * problem_.n_kv + head) * head_dim;
            load_floats(is_value ? t_.value : t_.key, t_.type, begin, head_dim, row);
            const Slot at = slot(token);
            if (problem_.static_scales) {
                const float* scale = scales + head * head_dim;
                for (int64_t x = 0; x < head_dim; ++x) codes[x] = int8_code(row[x], scale[x]);
            } else {
                const float scale = largest_magnitude(row, head_dim) / INT8_HIGHEST;
                for (int64_t x = 0; x < head_dim; ++x) codes[x] = int8_code(row[x], scale);
                scales[scale_offset(problem_.kv, at, head)] = scale;
            }
            write_row(problem_.kv, at, head, is_value, codes, cache);
        }
    }

    const WriteCacheProblem& problem_;
    const WriteCacheTensors& t_;
};

}  // namespace

void project_query(const ProjectQueryProblem& problem, const void* query, FloatType type,
                   const float* projection, float scale, const Workers& workers, int32_t* packed,
                   float* query_scale) {
    const int64_t in_dim = problem.heads_per_index * problem.head_dim;
    const int64_t slices = ceil_div(problem.tokens, SLICE_TOKENS);
    const auto project_slice = [&](int64_t task) {
        const int64_t head = task / slices, begin = task % slices * SLICE_TOKENS;
        std::vector<float> mean(in_dim);
        float latent[MAX_RANK];
        for (int64_t token = begin; token < std::min(begin + SLICE_TOKENS, problem.tokens); ++token) {
            for (int64_t h = 0; h < problem.heads_per_index; ++h) {
                const int64_t kv_head = head * problem.heads_per_index + h;
                const int64_t first_head = token * problem.n_q + kv_head * problem.group;
                group_mean(query, type, first_head * problem.head_dim, problem.group, problem.head_dim,
                           mean.data() + h * problem.head_dim);
            }
            project_latent(mean.data(), in_dim, projection + head * in_dim * problem.rank, problem.rank,
                           latent);
            const int64_t row = token * problem.n_idx + head;
            const int64_t words = problem.rank / INT4_PER_WORD;
            query_scale[row] = quantize_int4(latent, problem.rank, packed + row * words) * scale;
        }
    };
    run_tasks(workers, problem.tokens, problem.n_idx * slices, project_slice);
}

Status check_slots(const char* op, const WriteCacheProblem& problem, const int32_t* slot_mapping) {
    Checker check(op);
    for (int64_t token = 0; token < problem.tokens && check.ok(); ++token) {
        const int64_t slot = slot_mapping[token];
        if (slot == INVALID_SLOT || (slot >= 0 && slot < problem.slots())) continue;
        check.fail(element("slot_mapping", token) + " must be -1 or a slot in [0, " +
                   std::to_string(problem.slots()) + "), got " + std::to_string(slot));
    }
    return check.status();
}

void write_cache(const WriteCacheProblem& problem, const WriteCacheTensors& tensors, const Workers& workers) {
    const HeadWriter writer(problem, tensors);
    run_tasks(workers, problem.tokens, 2 * problem.n_kv + problem.n_idx, [&](int64_t task) {
        if (task < problem.n_kv) {
            writer.write_key(task);
        } else if (task < 2 * problem.n_kv) {
            writer.write_value(task - problem.n_kv);
        } else {
            writer.write_index(task - 2 * problem.n_kv);
        }
    });
}

}  // namespace sals::cpu
