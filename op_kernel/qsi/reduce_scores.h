// SPDX-License-Identifier: Apache-2.0
// reduce_scores.h - vector stage: a score for every block of a share.
//     logit[t] = float(dots[t]) * (query_scale * key_scale[t])
//     score    = m + ln(sum over the block of exp(logit - m)),  m = max logit;  NaN becomes -inf
// Runs on   both vector cores of a group, half of every hand-off each; a short one may leave the second core
//           without tokens, which takes part all the same
// Path      ws_dots, key_scale --MTE2--> ub --V--> ub_block_scores --MTE3--> scores of the row
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

    // All hand-offs of a piece. scores[0] belongs to the first candidate of the row.
    SALS_DEVICE void run(const ScoredPiece& piece, const AscendC::GlobalTensor<float>& scores) {
        if (piece.begin >= piece.end) return;
        const float query_scale = gm_query_scale_.GetValue(piece.row.row);
        for (int32_t begin = piece.begin; begin < piece.end; ++handoffs_) {
            const int32_t end = part_end(piece, begin, QSI_HANDOFF_TOKENS, piece.end);
            const int32_t slot_begin = begin - (begin - piece.origin) % QSI_HANDOFF_TOKENS;
            const int32_t half_tokens = round_up(end - begin, 2 * QSI_TILE_TOKENS) / 2;
            const int32_t first = begin + half_ * half_tokens;
            const int32_t last = first + half_tokens;
            reduce_share({first, (last < end ? last : end) - first, first - slot_begin}, piece.row,
                         query_scale, scores);
            begin = end;
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
        int32_t count;  // none if not positive
        int32_t dots;   // where theirs stand, in tokens from the start of the ring slot
    };

    SALS_DEVICE void reduce_share(const Tokens& tokens, const RowInfo& row, float query_scale,
                                  const AscendC::GlobalTensor<float>& scores) {
        const int32_t count = tokens.count;
        if (count <= 0) {
            CrossCoreWaitFlag(C2V_DOTS_FULL);
            AscendC::CrossCoreSetFlag<MODE_CUBE_VECTOR, PIPE_MTE2>(V2C_DOTS_EMPTY);
            return;
        }
        const int32_t slot = shares_ % SHARE_SLOTS;
        const auto dots = view<int32_t>(ub_, share_offset(slot) + offsetof(Share, dots));
        const auto scales = view<float>(ub_, share_offset(slot) + offsetof(Share, scales));
        const auto block_scores = view<float>(ub_, share_offset(slot) + offsetof(Share, block_scores));

        // Waiting for the cube core stops all pipes of this core: the scales are on their way before.
        WaitFlag<HardEvent::V_MTE2>(UB_DOTS_EMPTY + slot);
        load_scales(row, tokens.begin, count, scales);
        CrossCoreWaitFlag(C2V_DOTS_FULL);
        DataCopy(dots, ws_dots_[ring_offset(tokens.dots)], count);
        AscendC::CrossCoreSetFlag<MODE_CUBE_VECTOR, PIPE_MTE2>(V2C_DOTS_EMPTY);
        SetFlag<HardEvent::MTE2_V>(UB_DOTS_FULL + slot);

        WaitFlag<HardEvent::MTE2_V>(UB_DOTS_FULL + slot);
        WaitFlag<HardEvent::MTE3_V>(UB_SCORES_EMPTY + slot);
        block_lse(ub_, dots, scales, query_scale, tiling_.block_size, count, block_scores);
        SetFlag<HardEvent::V_MTE2>(UB_DOTS_EMPTY + slot);
        SetFlag<HardEvent::V_MTE3>(UB_SCORES_FULL + slot);

        WaitFlag<HardEvent::V_MTE3>(UB_SCORES_FULL + slot);
        const int32_t block = tokens.begin / tiling_.block_size - row.first;
        const AscendC::DataCopyExtParams run(1, count / tiling_.block_size * sizeof(float), 0, 0, 0);
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
    int32_t handoffs_ = 0;  // so far
    int32_t shares_ = 0;    // so far, with tokens
};

}  // namespace sals::qsi
