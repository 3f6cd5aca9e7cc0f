// SPDX-License-Identifier: Apache-2.0
// block_lse.h - log-sum-exp of every block of a share. A block of 8*h tokens is h datablocks: they are folded
// pairwise down to one, whose 8 lanes one reduction instruction combines. Nothing is copied between.
//     dots [tokens] --> logits, exponentials (in place)
//     fold: [blocks][h][8] -> [blocks][h/2][8] -> ... -> [blocks][1][8] -> [blocks]
#pragma once
#include "common/vector_ops.h"
#include "qsi/memory_plan.h"

namespace sals::qsi {

enum class Fold { MAX, SUM };

class BlockLse {
public:
    SALS_DEVICE BlockLse(const AscendC::LocalTensor<uint8_t>& ub, int32_t block_size, int32_t tokens)
        : ub_(ub), datablocks_(block_size / DATABLOCK_LANES), blocks_(tokens / block_size) {
        // Whole repeats of eight blocks; the lanes behind the last block hold numbers that nobody reads.
        padded_blocks_ = round_up(blocks_, DATABLOCKS);
        padded_tokens_ = padded_blocks_ * block_size;
    }

    SALS_DEVICE void run(const AscendC::LocalTensor<int32_t>& dots, const AscendC::LocalTensor<float>& scales,
                         float query_scale, const AscendC::LocalTensor<float>& scores) {
        const auto logits = dots.template ReinterpretCast<float>();
        const auto maxima = part(offsetof(ReducePlan, maxima));
        const auto sums = part(offsetof(ReducePlan, sums));
        Cast(logits, dots, AscendC::RoundMode::CAST_NONE, padded_tokens_);
        Muls(scales, scales, query_scale, padded_tokens_);
        AscendC::PipeBarrier<PIPE_V>();
        Mul(logits, logits, scales, padded_tokens_);
        fold<Fold::MAX>(maxima, logits);
        subtract_maxima(logits, maxima);
        AscendC::PipeBarrier<PIPE_V>();
        Exp(logits, logits, padded_tokens_);
        fold<Fold::SUM>(sums, logits);
        AscendC::PipeBarrier<PIPE_V>();
        Ln(sums, sums, padded_blocks_);
        AscendC::PipeBarrier<PIPE_V>();
        Add(sums, sums, maxima, padded_blocks_);
        replace_nan(scores, sums);
    }

private:
    SALS_DEVICE AscendC::LocalTensor<float> part(uint32_t offset) const {
        return view<float>(ub_, offsetof(UbPlan, reduce) + offset);
    }

    template <Fold OP>
    SALS_DEVICE void fold(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& src) {
        AscendC::LocalTensor<float> from = src;
        int32_t level = 0;
        for (int32_t left = datablocks_ / 2; left > 0; left /= 2) {
            const auto to = part(offsetof(ReducePlan, fold) + level * sizeof(ReducePlan::fold[0]));
            fold_pairs<OP>(to, from, padded_blocks_ * left / DATABLOCKS);
            from = to;
            level = 1 - level;
        }
        const int32_t repeats = padded_blocks_ / DATABLOCKS;
        AscendC::PipeBarrier<PIPE_V>();
        if constexpr (OP == Fold::MAX) {
            AscendC::BlockReduceMax(dst, from, repeats, LANES, 1, 1, DATABLOCKS);
        } else {
            AscendC::BlockReduceSum(dst, from, repeats, LANES, 1, 1, DATABLOCKS);
        }
    }

    // Datablock i of dst from datablocks 2i and 2i + 1 of src.
    template <Fold OP>
    SALS_DEVICE void fold_pairs(const AscendC::LocalTensor<float>& dst,
                                const AscendC::LocalTensor<float>& src, int32_t repeats) {
        // dst, src0, src1 strides of datablocks, then of repeats
        const AscendC::BinaryRepeatParams pairs(1, 2, 2, DATABLOCKS, 2 * DATABLOCKS, 2 * DATABLOCKS);
        AscendC::PipeBarrier<PIPE_V>();
        if constexpr (OP == Fold::MAX) {
            Max(dst, src, src[DATABLOCK_LANES], LANES, repeats, pairs);
        } else {
            Add(dst, src, src[DATABLOCK_LANES], LANES, repeats, pairs);
        }
    }

    SALS_DEVICE void subtract_maxima(const AscendC::LocalTensor<float>& logits,
                                     const AscendC::LocalTensor<float>& maxima) {
        const auto lanes = part(offsetof(ReducePlan, max_lanes));
        AscendC::PipeBarrier<PIPE_V>();
        Brcb(lanes, maxima, padded_blocks_ / DATABLOCKS, {1, DATABLOCKS});
        AscendC::PipeBarrier<PIPE_V>();
        const uint8_t h = datablocks_;
        if (datablocks_ < DATABLOCKS) {
            // A repeat takes the same datablock of eight blocks.
            const AscendC::BinaryRepeatParams across(h, h, 1, h * DATABLOCKS, h * DATABLOCKS, DATABLOCKS);
            for (int32_t i = 0; i < datablocks_; ++i) {
                const auto column = logits[i * DATABLOCK_LANES];
                Sub(column, column, lanes, LANES, padded_blocks_ / DATABLOCKS, across);
            }
        } else {
            // A repeat takes eight datablocks of one block.
            const AscendC::BinaryRepeatParams along(1, 1, 0, h, h, 1);
            for (int32_t i = 0; i < datablocks_; i += DATABLOCKS) {
                const auto stretch = logits[i * DATABLOCK_LANES];
                Sub(stretch, stretch, lanes, LANES, padded_blocks_, along);
            }
        }
    }

    // Only a NaN differs from itself.
    SALS_DEVICE void replace_nan(const AscendC::LocalTensor<float>& dst,
                                 const AscendC::LocalTensor<float>& src) {
        const auto is_number = view<uint8_t>(ub_, offsetof(UbPlan, reduce) + offsetof(ReducePlan, is_number));
        const uint32_t count = round_up(blocks_, LANES);
        AscendC::PipeBarrier<PIPE_V>();
        Compare(is_number, src, src, AscendC::CMPMODE::EQ, count);
        AscendC::PipeBarrier<PIPE_V>();
        Select(dst, is_number, src, -__builtin_inff(), AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    }

    AscendC::LocalTensor<uint8_t> ub_;
    int32_t datablocks_;  // of a block
    int32_t blocks_;
    int32_t padded_blocks_;
    int32_t padded_tokens_;
};

SALS_DEVICE void block_lse(const AscendC::LocalTensor<uint8_t>& ub, const AscendC::LocalTensor<int32_t>& dots,
                           const AscendC::LocalTensor<float>& scales, float query_scale, int32_t block_size,
                           int32_t tokens, const AscendC::LocalTensor<float>& scores) {
    BlockLse(ub, block_size, tokens).run(dots, scales, query_scale, scores);
}

}  // namespace sals::qsi
