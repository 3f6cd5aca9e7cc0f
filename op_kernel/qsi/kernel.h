// SPDX-License-Identifier: Apache-2.0
// kernel.h - the schedule of the indexer. A group is one cube core and two vector cores; all walk the same
// pieces of rows. H = hand-off of 2048 tokens, a and b its shares; rows 1 and 2 are handled whole.
//     cube  MTE2   |keys H0 |keys H1 |keys H2 |keys H3 |...        always ahead by three steps: it binds
//           M, FIX     |H0      |H1      |H2      |...
//     AIV 0            |H0a |   |H1a |   |select row 1   |H4a |    even rows
//     AIV 1            |H0b |   |H1b |   |H2b |   |H3b |    |      odd rows
//                                 row 1 ends ^ both have written its scores (V2V_ROW_SCORED)
// A selection may take as long as the ring is deep and the other core idle: it hides behind the keys.
// The last hand-off of a long row is short, and reduced by the core that selects: the scores before it have
// arrived by then, and its own need not travel.
// A row's scores pass through global memory (in practice the L2 cache): its shares alternate between two
// cores, and long rows exceed the UB. At 4 bytes per block this is 1/128 of the traffic of the keys. Rows
// that a plan cuts are selected behind one SyncAll, each by one vector core.
#pragma once
#include "qsi/reduce_scores.h"
#include "qsi/score_blocks.h"
#include "qsi/select_row.h"

namespace sals::qsi {

// The group of a core: a cube core and two vector cores.
SALS_DEVICE int32_t group_of_core() {
    int32_t group = static_cast<int32_t>(AscendC::GetBlockIdx());
    if ASCEND_IS_AIV {
        group /= AtlasA2::AIV_PER_AIC;
    }
    return group;
}

// What the first row needs is asked for together with the rest of the plan.
SALS_DEVICE PlanReader plan_reader(const RowTable& rows, const Arguments& args, int32_t core) {
    const QsiTiling& tiling = rows.tiling();
    const int32_t cores = static_cast<int32_t>(AscendC::GetBlockNum());
    if (args.plan != nullptr) {
        const PlanReader::Start start = PlanReader::start_of(args.plan, core);
        if (start.row >= 0 && start.row < qsi_rows(tiling) && start.tile >= 0)
            rows.preload(start.row, int64_t{start.tile} * QSI_TILE_TOKENS);
        PlanReader::preload_rest(args.plan, core, cores);
    }
    return PlanReader(args.plan, PlanOp::QSI, QSI_TILE_TOKENS, qsi_rows(tiling), core, cores);
}

template <int32_t RANK, QsiKeyForm FORM>
SALS_DEVICE void run_cube(AscendC::TPipe& pipe, const QsiTiling& tiling, const Arguments& args) {
    const int32_t core = group_of_core();
    const RowTable rows(tiling, args);
    PlanReader plan = plan_reader(rows, args, core);
    ScoreBlocks<RANK, FORM> score(pipe, tiling, args, core);
    score.open();
    for (Piece piece; plan.next(piece);) score.run(scored_piece(rows, piece, core));
    score.close();
}

template <class Policy>
class VectorKernel {
public:
    SALS_DEVICE VectorKernel(const AscendC::LocalTensor<uint8_t>& ub, const QsiTiling& tiling,
                             const Arguments& args)
        : tiling_(tiling),
          workspace_(args.workspace),
          core_(group_of_core()),
          half_(static_cast<int32_t>(AscendC::GetSubBlockIdx())),
          rows_(tiling, args),
          plan_(plan_reader(rows_, args, core_)),
          reduce_(ub, tiling, args, core_, half_),
          select_(ub, rows_, args) {
        // Instructions work on whole repeats: what lies behind the data must be defined.
        Duplicate(view<float>(ub, 0), 0.0F, static_cast<int32_t>(sizeof(UbPlan) / sizeof(float)));
        finish_vector(UB_RESULT);  // the ramp begins with words from the scalar unit
    }

    SALS_DEVICE void run() {
        reduce_.open();
        select_.open();
        for (Piece piece; plan_.next(piece);) run_piece(scored_piece(rows_, piece, core_));
        join_rows();
        if (plan_.num_merges() > 0) merge_rows();
        if (!plan_.is_valid()) refuse();
        select_.close();
        reduce_.close();
    }

private:
    SALS_DEVICE void run_piece(const ScoredPiece& piece) {
        if (piece.slot != NO_SLOT) {
            reduce_.run(piece, scores_at(qsi_cut_scores_offset(tiling_, piece.slot)));
        } else if (piece.row.is_scored) {
            run_row(piece);
        } else if (unscored_rows_++ % AtlasA2::AIV_PER_AIC == half_) {
            select_.prepare(piece.row);
            select_.run(piece.row);
        }
    }

    // The cores select in turn. One that has joined row r knows that the other has selected row r - 1, so the
    // slot of row r - 1 is free for row r + 1.
    SALS_DEVICE void run_row(const ScoredPiece& piece) {
        const auto scores = scores_at(qsi_scores_offset(tiling_, core_, scored_rows_ % QSI_ROW_SLOTS));
        reduce_.run(piece, scores);
        AscendC::CrossCoreSetFlag<MODE_VECTOR_PAIR, PIPE_MTE3>(V2V_ROW_SCORED);
        ++unjoined_rows_;
        if (scored_rows_++ % AtlasA2::AIV_PER_AIC == half_) {
            select_.prepare(piece.row);
            reduce_.load_last(piece);
            join_rows();
            select_.attach(piece.row, scores, piece.last / tiling_.block_size - piece.row.first);
            reduce_.reduce_last(piece, select_.last_scores());
            select_.run(piece.row);
        } else {
            reduce_.pass_last(piece);
        }
    }

    // Waits until both cores have stored their scores of all rows so far.
    SALS_DEVICE void join_rows() {
        for (; unjoined_rows_ > 0; --unjoined_rows_) CrossCoreWaitFlag(V2V_ROW_SCORED);
    }

    // There are fewer cut rows than cores.
    SALS_DEVICE void merge_rows() {
        const bool has_merge = half_ == 0 && core_ < plan_.num_merges();
        const int32_t cut = has_merge ? plan_.merge_row(core_, tiling_.num_cores) : 0;
        AscendC::SyncAll<true>();
        if (!has_merge) return;
        const RowInfo row = rows_.at(cut);
        select_.prepare(row);
        select_.attach(row, scores_at(qsi_cut_scores_offset(tiling_, core_)), row.n);
        select_.run(row);
    }

    SALS_DEVICE void refuse() {
        const RowRange share = plan_.refused_rows();
        for (int32_t row = share.begin + half_; row < share.end; row += AtlasA2::AIV_PER_AIC)
            select_.write_empty(row);
    }

    SALS_DEVICE AscendC::GlobalTensor<float> scores_at(int64_t offset) const {
        return global_tensor<float>(workspace_ + offset);
    }

    const QsiTiling& tiling_;
    GM_ADDR workspace_;
    int32_t core_;
    int32_t half_;
    RowTable rows_;
    PlanReader plan_;
    ReduceScores reduce_;
    SelectRow<Policy> select_;
    int32_t scored_rows_ = 0;
    int32_t unscored_rows_ = 0;
    int32_t unjoined_rows_ = 0;
};

template <class Policy>
SALS_DEVICE void run_vector(AscendC::TPipe& pipe, const QsiTiling& tiling, const Arguments& args) {
    AscendC::TBuf<AscendC::TPosition::VECCALC> ub;
    pipe.InitBuffer(ub, sizeof(UbPlan));
    VectorKernel<Policy>(ub.Get<uint8_t>(), tiling, args).run();
}

}  // namespace sals::qsi
