// SPDX-License-Identifier: Apache-2.0
#include "cpu/sfaa.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "cpu/float_convert.h"
#include "cpu/sfaa_split.h"

namespace sals::cpu {
namespace {

const SfaaKernels& kernels() {
#if !defined(SALS_PORTABLE_ONLY)
    if (simd_level() == SimdLevel::AVX512) return sfaa_kernels_avx512();
    if (simd_level() == SimdLevel::AVX2) return sfaa_kernels_avx2();
#endif
    return sfaa_kernels_portable();
}

struct PartialMemory {
    float maximum[PASS_ROWS];
    float row_sum[PASS_ROWS];
    float exp_sum[PASS_ROWS];
    alignas(64) float accumulator[PASS_ROWS * MAX_HEAD_DIM];
    Partial view() { return {maximum, row_sum, exp_sum, accumulator}; }
};

// All that one worker needs; rows stand tightly packed, so that small problems touch little of it.
struct WorkerMemory {
    StepTokens step[2];
    StepTokens* now = &step[0];
    StepTokens* next = &step[1];
    RowPart following{};  // the part after the one in work; empty after the last
    QueryRows query;
    StepScratch scratch;
    PartialMemory piece, total;
    alignas(64) float floats[PASS_ROWS * MAX_HEAD_DIM];  // the query of a pass
    float lse[PASS_ROWS];
};

void reset(const Partial& partial, int64_t rows, int64_t head_dim) {
    std::fill_n(partial.maximum, rows, -__builtin_inff());
    std::fill_n(partial.row_sum, rows, 0.0F);
    std::fill_n(partial.exp_sum, rows, 0.0F);
    std::fill_n(partial.accumulator, rows * head_dim, 0.0F);
}

// Some of the query rows of a list row: as many as go through the list together. Query row
// token * group + g of the list row is head (head * group + g) of its token.
struct Pass {
    int64_t begin;
    int64_t count;
};

class SfaaRun {
public:
    SfaaRun(const SfaaProblem& problem, const SfaaTensors& tensors, void* out, float* lse)
        : problem_(problem), tensors_(tensors), out_(out), lse_(lse), rows_(problem, tensors) {}

    void run(const Workers& workers) {
        query_rows_ = problem_.group * (problem_.shared_list() ? problem_.axis.s_q : 1);
        if (tensors_.plan == nullptr && query_rows_ > PASS_ROWS) return run_passes(workers);
        split_ = tensors_.plan != nullptr ? split_by_plan(*tensors_.plan, rows_, problem_.rows())
                                          : split_rows(problem_, rows_, workers.count);
        slots_.reset(new float[split_.slots * slot_floats()]);
        for_each(workers, split_.workers(), [this](int64_t worker) { work(worker); });
        const auto cut_rows = static_cast<int64_t>(split_.cut_rows.size());
        for_each(workers, cut_rows, [this](int64_t i) { merge_cut_row(split_.cut_rows[i]); });
    }

private:
    // Rows of many query rows are divided by passes, so that no partial result has to be stored.
    void run_passes(const Workers& workers) {
        split_.tiles = rows_.tiles();
        split_.piece_tiles = PIECE_TILES;
        const int64_t passes = ceil_div(query_rows_, int64_t{PASS_ROWS});
        const int64_t units = problem_.rows() * passes;
        const int64_t used = std::min(units, workers.count);
        for_each(workers, used, [&](int64_t worker) {
            const std::unique_ptr<WorkerMemory> memory(new WorkerMemory);
            for (int64_t unit = units * worker / used; unit < units * (worker + 1) / used; ++unit) {
                const int64_t begin = unit % passes * PASS_ROWS;
                const Pass pass = {begin, std::min<int64_t>(PASS_ROWS, query_rows_ - begin)};
                attend_part({unit / passes, 0, split_.tiles, NOT_CUT}, pass, *memory);
            }
        });
    }

    static void for_each(const Workers& workers, int64_t count, const std::function<void(int64_t)>& f) {
        if (count > 1) {
            workers.run(count, f);
        } else if (count == 1) {
            f(0);
        }
    }

    int64_t slot_floats() const { return query_rows_ * (problem_.head_dim + 3); }

    // Part of a slot that belongs to query rows from `begin` on.
    Partial slot(int64_t index, int64_t begin) const {
        float* base = slots_.get() + index * slot_floats();
        return {base + begin, base + query_rows_ + begin, base + 2 * query_rows_ + begin,
                base + 3 * query_rows_ + begin * problem_.head_dim};
    }

    template <class F>
    void for_each_pass(F&& f) const {
        for (int64_t begin = 0; begin < query_rows_; begin += PASS_ROWS) {
            f(Pass{begin, std::min<int64_t>(PASS_ROWS, query_rows_ - begin)});
        }
    }

    // First query head (over all tokens) of a query row, and how many rows follow it in memory.
    struct Heads {
        int64_t first;
        int64_t count;
    };
    Heads heads(const ListRow& row, int64_t query_row, int64_t end) const {
        const int64_t token = query_row / problem_.group, g = query_row % problem_.group;
        return {(row.first_token + token) * problem_.n_q + row.head * problem_.group + g,
                std::min<int64_t>(problem_.group - g, end - query_row)};
    }

    int64_t load_query(const ListRow& row, Pass pass, WorkerMemory& memory) const {
        const int64_t head_dim = problem_.head_dim, end = pass.begin + pass.count;
        QueryRows& query = memory.query;
        query.count = static_cast<int32_t>(pass.count);
        query.head_dim = static_cast<int32_t>(head_dim);
        query.static_scales = problem_.static_scales;
        int64_t most_visible = 0;
        for (int64_t r = pass.begin; r < end;) {
            const Heads h = heads(row, r, end);
            const int64_t visible = rows_.visible(row.first_token + r / problem_.group);
            most_visible = std::max<int64_t>(most_visible, visible);
            load_floats(tensors_.query, tensors_.query_type, h.first * head_dim, h.count * head_dim,
                        memory.floats + (r - pass.begin) * head_dim);
            std::fill_n(query.visible + (r - pass.begin), h.count, static_cast<int32_t>(visible));
            r += h.count;
        }
        const float* scale = problem_.static_scales ? tensors_.key_scale + row.head * head_dim : nullptr;
        if (most_visible > 0) kernels_.quantize_query(memory.floats, scale, tensors_.scale, query);
        return most_visible;
    }

    // Where the step that begins at `tile` ends: steps do not cross pieces.
    int64_t step_end(const RowPart& part, int64_t tile) const {
        constexpr int64_t STEP_TILES = SFAA_STEP_TOKENS / SFAA_TILE_TOKENS;
        const int64_t left = split_.piece_tiles - (tile - part.tile_begin) % split_.piece_tiles;
        return std::min<int64_t>(tile + std::min<int64_t>(STEP_TILES, left), part.tile_end);
    }

    void read_step(const ListRow& row, const RowPart& part, int64_t tile, int64_t visible,
                   StepTokens& tokens) const {
        rows_.read_tiles(row, tile, step_end(part, tile), visible, tokens);
    }

    // Tiles [begin, end) of a part, a step at a time; memory.now has the first step. While one is computed,
    // the memory of the next is asked for, even of the next piece: a step that starts cold takes much longer.
    void attend_piece(const ListRow& row, const RowPart& part, int64_t begin, int64_t end, int64_t visible,
                      WorkerMemory& memory, const Partial& partial) const {
        for (int64_t tile = begin; tile < end;) {
            tile = step_end(part, tile);
            if (tile < part.tile_end) {
                read_step(row, part, tile, visible, *memory.next);
            } else {
                read_following(memory.following, *memory.next);
            }
            kernels_.attend_step(memory.query, *memory.now, *memory.next, memory.scratch, partial);
            std::swap(memory.now, memory.next);
        }
    }

    // What the worker's next part is likely to begin with; that part reads its own list again.
    void read_following(const RowPart& part, StepTokens& tokens) const {
        tokens.stretch_count = 0;
        if (part.tile_begin >= part.tile_end) return;
        const ListRow row = rows_.list_row(part.row);
        read_step(row, part, part.tile_begin, rows_.visible(row.first_token + row.tokens - 1), tokens);
    }

    void attend_part(const RowPart& part, Pass pass, WorkerMemory& memory) const {
        const ListRow row = rows_.list_row(part.row);
        const auto count = static_cast<int32_t>(pass.count);
        const auto head_dim = static_cast<int32_t>(problem_.head_dim);
        const int64_t visible = load_query(row, pass, memory);
        const Partial total = memory.total.view();
        reset(total, count, head_dim);
        if (visible > 0) read_step(row, part, part.tile_begin, visible, *memory.now);
        int64_t piece = 0;
        for (int64_t begin = part.tile_begin; begin < part.tile_end; begin += split_.piece_tiles, ++piece) {
            const int64_t end = std::min<int64_t>(begin + split_.piece_tiles, part.tile_end);
            const bool is_cut = part.slot != NOT_CUT;
            const Partial partial = is_cut ? slot(part.slot + piece, pass.begin) : memory.piece.view();
            reset(partial, count, head_dim);
            if (visible > 0) attend_piece(row, part, begin, end, visible, memory, partial);
            if (!is_cut) kernels_.merge(count, head_dim, partial, total);
        }
        if (part.slot == NOT_CUT) finish(row, pass, total, memory);
    }

    void finish(const ListRow& row, Pass pass, const Partial& total, WorkerMemory& memory) const {
        const int64_t head_dim = problem_.head_dim, end = pass.begin + pass.count;
        const float* scale = problem_.static_scales ? tensors_.value_scale + row.head * head_dim : nullptr;
        kernels_.finish(static_cast<int32_t>(pass.count), static_cast<int32_t>(head_dim), total, scale,
                        total.accumulator, lse_ != nullptr ? memory.lse : nullptr);
        for (int64_t r = pass.begin; r < end;) {
            const Heads h = heads(row, r, end);
            store_floats(total.accumulator + (r - pass.begin) * head_dim, h.count * head_dim,
                         tensors_.query_type, h.first * head_dim, out_);
            if (lse_ != nullptr) std::copy_n(memory.lse + (r - pass.begin), h.count, lse_ + h.first);
            r += h.count;
        }
    }

    void work(int64_t worker) const {
        const std::unique_ptr<WorkerMemory> memory(new WorkerMemory);
        WorkerParts parts(split_, worker);
        RowPart part{};
        for (bool has_part = parts.next(part); has_part;) {
            memory->following = {};
            has_part = parts.next(memory->following);
            for_each_pass([&](Pass pass) { attend_part(part, pass, *memory); });
            part = memory->following;
        }
    }

    void merge_cut_row(const CutRow& cut) const {
        const std::unique_ptr<WorkerMemory> memory(new WorkerMemory);
        for_each_pass([&](Pass pass) {
            const auto count = static_cast<int32_t>(pass.count);
            const auto head_dim = static_cast<int32_t>(problem_.head_dim);
            const Partial total = memory->total.view();
            reset(total, count, head_dim);
            for (int64_t i = 0; i < cut.slots; ++i) {
                kernels_.merge(count, head_dim, slot(cut.first_slot + i, pass.begin), total);
            }
            finish(rows_.list_row(cut.row), pass, total, *memory);
        });
    }

    const SfaaProblem& problem_;
    const SfaaTensors& tensors_;
    void* out_;
    float* lse_;
    SfaaRows rows_;
    SfaaSplit split_;
    const SfaaKernels& kernels_ = kernels();
    int64_t query_rows_ = 0;
    std::unique_ptr<float[]> slots_;
};

}  // namespace

void sfaa(const SfaaProblem& problem, const SfaaTensors& tensors, const Workers& workers, void* out,
          float* lse) {
    if (problem.axis.tokens == 0) return;
    SfaaRun(problem, tensors, out, lse).run(workers);
}

}  // namespace sals::cpu
