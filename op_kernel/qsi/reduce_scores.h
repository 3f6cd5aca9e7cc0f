// SPDX-License-Identifier: Apache-2.0
// reduce_scores.h - vector stage: a score for every block of a share.
//     logit[t] = float(dots[t]) * (query_scale * key_scale[t])
//     score    = m + ln(sum over the block of exp(logit - m)),  m = max logit;  NaN becomes -inf
// Runs on   both vector cores of a group, half of every hand-off each; a short one may leave the second core
//           without tokens, and the last of a row one core or the other, which takes part all the same
// Path      ws_dots, key_scale --MTE2--> ub --V--> ub_block_scores --MTE3--> scores of the row,
//           or ub_chunk of the core that selects it
// Reads     ws_dots [QSI_RING_SLOTS][QSI_HANDOFF_TOKENS] int32   key_scale, see kv_layout.h   query_scale
// Writes    scores [n] fp32, its own blocks
// Takes     C2V_DOTS_FULL, and gives V2C_DOTS_EMPTY when its share has left the ring
// All blocks are reduced in the same order wherever they stand, so equal keys give equal scores.
#pragma once
#include "common/vector_ops.h"
#include "qsi/block_lse.h"
#include "qsi/cache_pages.h"
#include "qsi/handoffs.h"
#include "qsi/sync.h"
#include "sals/workspace.h"

namespace sals::qsi {

class ReduceScores {
public:
    SALS_DEVICE ReduceScores(const AscendC::LocalTensor<uint8_t>& ub, const QsiTiling& tiling,
                             const Arguments& args, int32_t core, int32_t half)
        : tiling_(tiling), cache_(cache_shape(tiling)), pages_(tiling, args), ub_(ub), half_(half) {
        gm_query_scale_ = global_tensor<float>(args.query_scale);
        gm_key_scale_ = global_tensor<float>(args.key_scale);
        ws_dots_ = global_tensor<int32_t>(args.workspace + qsi_dots_offset(core, 0));
    }

    SALS_DEVICE void open() {
        for (int32_t slot = 0; slot < SHARE_SLOTS; ++slot) {
            SetFlag<HardEvent::V_MTE2>(UB_DOTS_EMPTY + slot);
            SetFlag<HardEvent::MTE3_V>(UB_SCORES_EMPTY + slot);
        }
        SetFlag<HardEvent::V_MTE2>(UB_WIDE_EMPTY);
    }

    SALS_DEVICE void close() {
        for (int32_t slot = 0; slot < SHARE_SLOTS; ++slot) {
            WaitFlag<HardEvent::V_MTE2>(UB_DOTS_EMPTY + slot);
            WaitFlag<HardEvent::MTE3_V>(UB_SCORES_EMPTY + slot);
        }
        WaitFlag<HardEvent::V_MTE2>(UB_WIDE_EMPTY);
    }

    // All hand-offs of a piece that both cores reduce. scores[0] belongs to the first candidate of the row.
    SALS_DEVICE void run(const ScoredPiece& piece, const AscendC::GlobalTensor<float>& scores) {
        if (piece.begin >= piece.end) return;
        query_scale_ = gm_query_scale_.GetValue(piece.row.row);
        for (int32_t begin = piece.begin; begin < piece.last; ++handoffs_) {
            const Handoff handoff = handoff_at(piece, begin);
            const int32_t half_tokens = round_up(handoff.end - begin, 2 * QSI_TILE_TOKENS) / 2;
            const int32_t first = begin + half_ * half_tokens;
            const int32_t last = smaller(first + half_tokens, handoff.end);
            if (first < last) {
                reduce_share({first, last - first, first - handoff.origin}, piece.row, scores);
            } else {
                pass();
            }
            begin = handoff.end;
        }
    }

    // The last hand-offs of a piece, which one core reduces alone. The first is loaded ahead.
    SALS_DEVICE void load_last(const ScoredPiece& piece) {
        if (piece.last < piece.end) load_whole(piece, piece.last);
    }
    SALS_DEVICE void reduce_last(const ScoredPiece& piece, const AscendC::LocalTensor<float>& scores) {
        for (int32_t begin = piece.last; begin < piece.end; ++shares_) {
            if (begin > piece.last) load_whole(piece, begin);
            const int32_t end = handoff_at(piece, begin).end;
            const int32_t block = (begin - piece.last) / tiling_.block_size;
            reduce(shares_ % SHARE_SLOTS, end - begin, scores[block]);
            begin = end;
        }
        AscendC::PipeBarrier<PIPE_V>();
    }
    SALS_DEVICE void pass_last(const ScoredPiece& piece) {
        for (int32_t begin = piece.last; begin < piece.end; begin = handoff_at(piece, begin).end) {
            pass();
            ++handoffs_;
        }
    }

private:
    using HardEvent = AscendC::HardEvent;
    using Share = ReducePlan::Share;

    SALS_DEVICE uint32_t share_offset(int32_t slot) const {
        return offsetof(UbPlan, reduce) + offsetof(ReducePlan, shares) + slot * sizeof(Share);
    }

    struct Tokens {
        int32_t begin;  // in the request
        int32_t count;
        int32_t dots;  // where theirs stand, in tokens from the start of the ring slot
    };

    // Takes part in a hand-off without tokens.
    SALS_DEVICE void pass() {
        CrossCoreWaitFlag(C2V_DOTS_FULL);
        AscendC::CrossCoreSetFlag<MODE_CUBE_VECTOR, PIPE_MTE2>(V2C_DOTS_EMPTY);
    }

    SALS_DEVICE AscendC::LocalTensor<int32_t> dots(int32_t slot) const {
        return view<int32_t>(ub_, share_offset(slot) + offsetof(Share, dots));
    }
    SALS_DEVICE AscendC::LocalTensor<float> scales(int32_t slot) const {
        return view<float>(ub_, share_offset(slot) + offsetof(Share, scales));
    }

    // Waiting for the cube core stops all pipes of this core: the scales are on their way before.
    SALS_DEVICE void load_share(const Tokens& tokens, const RowInfo& row, int32_t slot) {
        WaitFlag<HardEvent::V_MTE2>(UB_DOTS_EMPTY + slot);
        load_scales(row, tokens.begin, tokens.count, scales(slot));
        CrossCoreWaitFlag(C2V_DOTS_FULL);
        DataCopy(dots(slot), ws_dots_[ring_offset(tokens.dots)], tokens.count);
        AscendC::CrossCoreSetFlag<MODE_CUBE_VECTOR, PIPE_MTE2>(V2C_DOTS_EMPTY);
        SetFlag<HardEvent::MTE2_V>(UB_DOTS_FULL + slot);
    }

    SALS_DEVICE void load_whole(const ScoredPiece& piece, int32_t begin) {
        load_share({begin, handoff_at(piece, begin).end - begin, 0}, piece.row, shares_ % SHARE_SLOTS);
        ++handoffs_;
    }

    SALS_DEVICE void reduce(int32_t slot, int32_t tokens, const AscendC::LocalTensor<float>& scores) {
        WaitFlag<HardEvent::MTE2_V>(UB_DOTS_FULL + slot);
        block_lse(ub_, dots(slot), scales(slot), query_scale_, tiling_.block_size, tokens, scores);
        SetFlag<HardEvent::V_MTE2>(UB_DOTS_EMPTY + slot);
    }

    SALS_DEVICE void reduce_share(const Tokens& tokens, const RowInfo& row,
                                  const AscendC::GlobalTensor<float>& scores) {
        const int32_t slot = shares_ % SHARE_SLOTS;
        const auto block_scores = view<float>(ub_, share_offset(slot) + offsetof(Share, block_scores));
        load_share(tokens, row, slot);
        WaitFlag<HardEvent::MTE3_V>(UB_SCORES_EMPTY + slot);
        reduce(slot, tokens.count, block_scores);
        SetFlag<HardEvent::V_MTE3>(UB_SCORES_FULL + slot);

        WaitFlag<HardEvent::V_MTE3>(UB_SCORES_FULL + slot);
        const int32_t block = tokens.begin / tiling_.block_size - row.first;
        const AscendC::DataCopyExtParams run(1, tokens.count / tiling_.block_size * sizeof(float), 0, 0, 0);
        DataCopyPad(scores[block], block_scores, run);
        SetFlag<HardEvent::MTE3_V>(UB_SCORES_EMPTY + slot);
        ++shares_;
    }

    SALS_DEVICE uint64_t ring_offset(int32_t dots) const {
        return static_cast<uint64_t>(handoffs_ % QSI_RING_SLOTS * QSI_HANDOFF_TOKENS + dots);
    }

    SALS_DEVICE void load_scales(const RowInfo& row, int32_t token, int32_t count,
                                 const AscendC::LocalTensor<float>& scales) {
        for (int32_t done = 0; done < count;) {
            const PageRun run = pages_.run(row.request, token + done, count - done);
            const ScaleGeometry geometry = scale_geometry(cache_, run.page, row.head);
            const int64_t begin = geometry.base + run.offset * geometry.token_stride;
            if (geometry.token_stride == 1) {
                const AscendC::DataCopyExtParams row_of_scales(1, run.count * sizeof(float), 0, 0, 0);
                DataCopyPad(scales[done], gm_key_scale_[static_cast<uint64_t>(begin)], row_of_scales,
                            AscendC::DataCopyPadExtParams<float>());
            } else {
                load_strided(scales[done], begin, geometry.token_stride, run.count);
            }
            done += run.count;
        }
    }

    // A scale that stands alone arrives in a datablock of its own, padded with zeros; their sum packs it.
    SALS_DEVICE void load_strided(const AscendC::LocalTensor<float>& scales, int64_t begin, int64_t stride,
                                  int32_t count) {
        const auto wide = view<float>(ub_, offsetof(UbPlan, reduce) + offsetof(ReducePlan, wide_scales));
        const AscendC::DataCopyPadExtParams<float> zeros(true, 0, DATABLOCK_LANES - 1, 0.0F);
        for (int32_t done = 0; done < count; done += WIDE_TOKENS) {
            const int32_t tokens = count - done < WIDE_TOKENS ? count - done : WIDE_TOKENS;
            const AscendC::DataCopyExtParams column(tokens, sizeof(float), (stride - 1) * sizeof(float), 0,
                                                    0);
            WaitFlag<HardEvent::V_MTE2>(UB_WIDE_EMPTY);
            DataCopyPad(wide, gm_key_scale_[static_cast<uint64_t>(begin + done * stride)], column, zeros);
            SetFlag<HardEvent::MTE2_V>(UB_WIDE_FULL);
            WaitFlag<HardEvent::MTE2_V>(UB_WIDE_FULL);
            const int32_t repeats = tokens / DATABLOCKS;
            AscendC::BlockReduceSum(scales[done], wide, repeats, LANES, 1, 1, DATABLOCKS);
            SetFlag<HardEvent::V_MTE2>(UB_WIDE_EMPTY);
        }
        AscendC::PipeBarrier<PIPE_V>();  // the scales are read next, by the same pipe
    }

    const QsiTiling& tiling_;
    CacheShape cache_;
    CachePages pages_;
    AscendC::LocalTensor<uint8_t> ub_;
    int32_t half_;  // which share of a hand-off is this core's
    AscendC::GlobalTensor<float> gm_query_scale_, gm_key_scale_;
    AscendC::GlobalTensor<int32_t> ws_dots_;
    float query_scale_ = 0.0F;
    int32_t handoffs_ = 0;  // so far
    int32_t shares_ = 0;    // so far, with tokens
};

}  // namespace sals::qsi
