// SPDX-License-Identifier: Apache-2.0
#include "cpu/qsi.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/qsi_kernels.h"
#include "cpu/score_task.h"
#include "cpu/select.h"
#include "planner/plan_rows.h"
#include "sals/plan_walk.h"

namespace sals::cpu {
namespace {

// A row that several cores score and one then selects from.
struct CutRow {
    int32_t row;
    std::vector<float> scores;
};

class QsiCall {
public:
    QsiCall(const QsiProblem& problem, const QsiTensors& tensors, int32_t* block_ids, int32_t* selected_lens)
        : problem_(problem),
          tensors_(tensors),
          kernels_(qsi_kernels()),
          tokens_(token_rows(problem.axis, tensors.request, problem.axis.s_q)),
          block_ids_(block_ids),
          selected_lens_(selected_lens) {}

    // The plan of a call that came without one.
    Plan plan(int64_t cores) const {
        std::vector<int64_t> scored(tokens_.size());
        for (size_t i = 0; i < tokens_.size(); ++i) {
            const BlockRange range = candidate_blocks(tokens_[i].visible(), problem_.selection);
            scored[i] = (range.end - range.begin) * problem_.selection.block_size;
        }
        return plan_rows(PlanOp::QSI, static_cast<int32_t>(smaller(cores, MAX_CORES)), problem_.n_idx,
                         scored.data(), static_cast<int64_t>(scored.size()), 1);
    }

    void run(const Plan& plan, const Workers& workers) {
        find_cut_rows(plan);
        workers.run(plan.num_cores, [&](int64_t core) { run_core(plan, static_cast<int32_t>(core)); });
        if (!cut_rows_.empty()) {
            workers.run(static_cast<int64_t>(cut_rows_.size()), [&](int64_t i) {
                SelectScratch scratch;
                select(cut_rows_[i].row, cut_rows_[i].scores.data(), scratch);
            });
        }
        write_unplanned_rows(plan.num_rows);
    }

private:
    int64_t visible(int32_t row) const { return tokens_[row / problem_.n_idx].visible(); }

    BlockRange candidates(int32_t row) const { return candidate_blocks(visible(row), problem_.selection); }

    // A row may be cut at several boundaries, which follow each other.
    void find_cut_rows(const Plan& plan) {
        for (int32_t i = 1; i < plan.num_cores; ++i) {
            const int32_t row = plan.row_begin[i];
            if (plan.tile_begin[i] == 0 || (!cut_rows_.empty() && cut_rows_.back().row == row)) continue;
            const BlockRange range = candidates(row);
            cut_rows_.push_back({row, std::vector<float>(range.end - range.begin)});
        }
    }

    // A plan need not cover rows that belong to no request. They see nothing, so there is nothing to score.
    void write_unplanned_rows(int32_t begin) const {
        SelectScratch scratch;
        for (int64_t row = begin; row < problem_.rows(); ++row) {
            select(static_cast<int32_t>(row), nullptr, scratch);
        }
    }

    CutRow& cut_row(int32_t row) {
        return *std::lower_bound(cut_rows_.begin(), cut_rows_.end(), row,
                                 [](const CutRow& cut, int32_t wanted) { return cut.row < wanted; });
    }

    void run_core(const Plan& plan, int32_t core) {
        SelectScratch scratch;
        std::vector<float> scores;
        PlanWalk walk(plan, core);
        for (Piece piece{}; walk.next(piece);) {
            if (piece.slot != NO_SLOT) {
                score(piece, cut_row(piece.row).scores.data());
                continue;
            }
            const BlockRange range = candidates(piece.row);
            const int64_t n = range.end - range.begin;
            if (static_cast<int64_t>(scores.size()) < n) scores.resize(n);
            score(piece, scores.data());
            select(piece.row, scores.data(), scratch);
        }
    }

    // Scores the piece's part of the row's candidates; scores[0] belongs to the first candidate of the row.
    void score(const Piece& piece, float* scores) const {
        const BlockRange range = candidates(piece.row);
        const int64_t tile_blocks = QSI_TILE_TOKENS / problem_.selection.block_size;
        const int64_t begin = range.begin + piece.tile_begin * tile_blocks;
        const int64_t end = smaller(range.begin + piece.tile_end * tile_blocks, range.end);
        if (begin >= end) return;
        const int64_t token = piece.row / problem_.n_idx;
        const ScoreTask task =
            score_task(problem_, tensors_, tokens_[token], token, piece.row % problem_.n_idx);
        kernels_.score_blocks(task, begin, end, scores + (begin - range.begin));
    }

    void select(int32_t row, const float* scores, SelectScratch& scratch) const {
        const int64_t seen = visible(row);
        const SelectedRow out = {block_ids_ + row * problem_.width, problem_.width};
        const int64_t k =
            select_blocks(kernels_, scores, seen, problem_.selection, problem_.order, scratch, out);
        selected_lens_[row] = static_cast<int32_t>(selected_tokens(seen, k, problem_.selection));
    }

    const QsiProblem& problem_;
    const QsiTensors& tensors_;
    const QsiKernels& kernels_;
    std::vector<TokenRow> tokens_;
    std::vector<CutRow> cut_rows_;  // ascending
    int32_t* block_ids_;
    int32_t* selected_lens_;
};

// Scores of the blocks [begin, end) of a row, -inf where the row has none.
void score_or_fill(const QsiProblem& problem, const QsiTensors& tensors, const TokenRow& row, int64_t list,
                   BlockRange range, float* scores) {
    const int64_t blocks = num_blocks(row.visible(), problem.selection.block_size);
    const int64_t end = larger(smaller(range.end, blocks), range.begin);
    if (end > range.begin) {
        const ScoreTask task = score_task(problem, tensors, row, list / problem.n_idx, list % problem.n_idx);
        qsi_kernels().score_blocks(task, range.begin, end, scores);
    }
    std::fill(scores + (end - range.begin), scores + (range.end - range.begin),
              -std::numeric_limits<float>::infinity());
}

}  // namespace

void qsi(const QsiProblem& problem, const QsiTensors& tensors, const Workers& workers, int32_t* block_ids,
         int32_t* selected_lens) {
    if (problem.rows() == 0) return;
    QsiCall call(problem, tensors, block_ids, selected_lens);
    if (tensors.plan != nullptr) {
        call.run(*tensors.plan, workers);
    } else {
        call.run(call.plan(larger(workers.count, int64_t{1})), workers);
    }
}

void block_scores(const QsiProblem& problem, const QsiTensors& tensors, const Workers& workers,
                  float* scores) {
    const int64_t width = num_blocks(problem.max_seq_len, problem.selection.block_size);
    const int64_t total = problem.rows() * width;
    if (total == 0) return;
    const std::vector<TokenRow> tokens = token_rows(problem.axis, tensors.request, problem.axis.s_q);
    const int64_t parts = larger(workers.count, int64_t{1});
    workers.run(parts, [&](int64_t part) {
        const int64_t end = total / parts * (part + 1) + smaller(total % parts, part + 1);
        for (int64_t i = total / parts * part + smaller(total % parts, part); i < end;) {
            const int64_t list = i / width;
            const BlockRange range = {i % width, smaller(width, end - list * width)};
            score_or_fill(problem, tensors, tokens[list / problem.n_idx], list, range, scores + i);
            i += range.end - range.begin;
        }
    });
}

}  // namespace sals::cpu
