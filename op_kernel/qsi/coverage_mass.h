// SPDX-License-Identifier: Apache-2.0
// coverage_mass.h - integer masses of scores and their exact sums.
//     mass(s) = rint(2^23 * exp(s - max))
// A mass is split into 12 high and 12 low bits. The parts of a chunk add up to less than 2^24, so fp32 sums
// are exact in any order; the scalar unit puts them together in 64 bits.
// Runs on   one vector core per row
#pragma once
#include "qsi/pack_scores.h"
#include "sals/coverage.h"

namespace sals::qsi {

class CoverageMass {
public:
    SALS_DEVICE explicit CoverageMass(const AscendC::LocalTensor<uint8_t>& ub) : ub_(ub), pack_(ub) {}

    // Finds the highest score of a row, to which masses relate.
    SALS_DEVICE void find_max(ScoreRow& row) {
        max_ = -__builtin_inff();
        for (row.rewind(); row.has_chunk(); row.release()) {
            const auto x = row.take();
            const int32_t repeats = pad(x, row.count()) / LANES;
            const auto maxima = sums();
            AscendC::PipeBarrier<PIPE_V>();
            WholeReduceMax(maxima, x, LANES, repeats, 1, 1, DATABLOCKS,
                           AscendC::ReduceOrder::ORDER_ONLY_VALUE);
            AscendC::PipeBarrier<PIPE_V>();
            WholeReduceMax(maxima[LANES], maxima, repeats, 1, 1, 1, DATABLOCKS,
                           AscendC::ReduceOrder::ORDER_ONLY_VALUE);
            finish_vector(UB_RESULT);
            const float highest = maxima.GetValue(LANES);
            if (highest > max_) max_ = highest;
        }
    }

    SALS_DEVICE uint32_t max_key() const { return order_key(max_); }

    // Mass of the scores of a row above a key.
    SALS_DEVICE int64_t above(ScoreRow& row, uint32_t key) const {
        int64_t mass = 0;
        for (row.rewind(); row.has_chunk(); row.release()) {
            const auto x = row.take();
            const int32_t lanes = pad(x, row.count());
            compare(pack_.mask(), x, score_of_key(key), AscendC::CMPMODE::GT, lanes);
            weigh(x, lanes);
            mass += sum_marked(lanes);
        }
        return mass;
    }

    // Leaves the masses of x as int32 in kept() and as integral fp32 in scratch(). x may be scratch().
    SALS_DEVICE void weigh(const AscendC::LocalTensor<float>& x, int32_t count) const {
        const auto w = pack_.scratch();
        const auto whole = pack_.kept().template ReinterpretCast<int32_t>();
        AscendC::PipeBarrier<PIPE_V>();
        Adds(w, x, -max_, count);
        AscendC::PipeBarrier<PIPE_V>();
        Exp(w, w, count);
        AscendC::PipeBarrier<PIPE_V>();
        Muls(w, w, static_cast<float>(COVERAGE_MASS_ONE), count);
        AscendC::PipeBarrier<PIPE_V>();
        Cast(whole, w, AscendC::RoundMode::CAST_RINT, count);
        AscendC::PipeBarrier<PIPE_V>();
        Cast(w, whole, AscendC::RoundMode::CAST_NONE, count);
    }

private:
    static constexpr float LOW_RANGE = 4096.0F;  // 12 bits

    SALS_DEVICE AscendC::LocalTensor<float> sums() const {
        return view<float>(ub_, offsetof(UbPlan, select) + offsetof(SelectPlan, threshold) +
                                    offsetof(ThresholdPlan, sample));
    }

    // Fills a chunk up to whole repeats with scores that have no mass.
    SALS_DEVICE int32_t pad(const AscendC::LocalTensor<float>& x, int32_t count) const {
        const int32_t lanes = round_up(count, LANES);
        const int32_t begin = round_up(count, DATABLOCK_LANES);
        fill_datablock_end(x, -__builtin_inff(), count);
        if (begin < lanes) fill(x[begin], -__builtin_inff(), lanes - begin);
        return lanes;
    }

    // Sum of the masses in scratch() whose bits are set in mask().
    SALS_DEVICE int64_t sum_marked(int32_t lanes) const {
        const auto low = pack_.scratch();
        const auto high = pack_.kept();
        const auto whole = high.template ReinterpretCast<int32_t>();
        AscendC::PipeBarrier<PIPE_V>();
        Select(low, pack_.mask(), low, 0.0F, AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE,
               static_cast<uint32_t>(lanes));
        AscendC::PipeBarrier<PIPE_V>();
        Muls(high, low, 1.0F / LOW_RANGE, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        Cast(whole, high, AscendC::RoundMode::CAST_FLOOR, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        Cast(high, whole, AscendC::RoundMode::CAST_NONE, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        Axpy(low, high, -LOW_RANGE, lanes);
        const int32_t repeats = lanes / LANES;
        AscendC::PipeBarrier<PIPE_V>();
        WholeReduceSum(sums(), high, LANES, repeats, 1, 1, DATABLOCKS);
        WholeReduceSum(sums()[LANES], low, LANES, repeats, 1, 1, DATABLOCKS);
        AscendC::PipeBarrier<PIPE_V>();
        WholeReduceSum(sums()[2 * LANES], sums(), repeats, 1, 1, 1, DATABLOCKS);
        WholeReduceSum(sums()[3 * LANES], sums()[LANES], repeats, 1, 1, 1, DATABLOCKS);
        finish_vector(UB_RESULT);
        const int64_t high_sum = static_cast<int64_t>(sums().GetValue(2 * LANES));
        const int64_t low_sum = static_cast<int64_t>(sums().GetValue(3 * LANES));
        return high_sum * static_cast<int64_t>(LOW_RANGE) + low_sum;
    }

    AscendC::LocalTensor<uint8_t> ub_;
    PackScores pack_;
    float max_ = 0.0F;
};

}  // namespace sals::qsi
