// SPDX-License-Identifier: Apache-2.0
// coverage_mass.h - integer masses of scores and their exact sums: the measure of coverage mode.
//     mass(s) = rint(2^23 * exp(s - max))
// Runs on   one vector core per row
#pragma once
#include "qsi/block_lse.h"
#include "qsi/pack_scores.h"
#include "qsi/sorted_sample.h"
#include "sals/coverage.h"

namespace sals::qsi {

class CoverageMass {
public:
    SALS_DEVICE explicit CoverageMass(const AscendC::LocalTensor<uint8_t>& ub) : ub_(ub) {}

    // Finds the highest score of a row, to which masses relate.
    SALS_DEVICE void find_max(ScoreRow& row) {
        const auto maxima = part(offsetof(ThresholdPlan, masses));
        max_ = -__builtin_inff();
        for (row.rewind(); row.has_chunk(); row.release()) {
            const auto x = row.take();
            const int32_t repeats = pad(x, row.count()) / LANES;
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::BlockReduceMax(maxima, x, repeats, LANES, 1, 1, DATABLOCKS);
            const int32_t lanes = fold<Fold::MAX>(maxima, repeats * DATABLOCKS);
            AscendC::PipeBarrier<PIPE_V>();
            WholeReduceMax(sums(), maxima, lanes, 1, 1, 1, DATABLOCKS,
                           AscendC::ReduceOrder::ORDER_ONLY_VALUE);
            finish_vector(UB_RESULT);
            const float highest = sums().GetValue(0);
            if (highest > max_) max_ = highest;
        }
    }

    SALS_DEVICE float highest() const { return max_; }

    // Of a whole row.
    SALS_DEVICE int64_t weigh_row(ScoreRow& row) const {
        int64_t mass = 0;
        for (row.rewind(); row.has_chunk(); row.release()) {
            const auto x = row.take();
            pad(x, row.count());
            mass += weigh(x, row.count());
        }
        return mass;
    }

    // Of a list that ends with scores of no mass up to the next datablock.
    SALS_DEVICE int64_t weigh(const AscendC::LocalTensor<float>& x, int32_t count) const {
        const int32_t lanes = round_up(count, DATABLOCK_LANES);
        find_masses(x, lanes);
        return sum(lanes);
    }

    // Leaves the masses of a list in masses().
    SALS_DEVICE void find_masses(const AscendC::LocalTensor<float>& x, int32_t count) const {
        exponentiate(x, count);
        AscendC::PipeBarrier<PIPE_V>();
        Cast(masses(), part(offsetof(ThresholdPlan, masses)), AscendC::RoundMode::CAST_RINT, count);
    }
    SALS_DEVICE AscendC::LocalTensor<int32_t> masses() const {
        return part(offsetof(ThresholdPlan, masses)).template ReinterpretCast<int32_t>();
    }

    // All of the mass may be that of a few scores which no sample has: begin with as many of the highest as a
    // list holds.
    SALS_DEVICE Bracket first_probe(const SortedSample& sample, int64_t /*target*/, const Amount& row) const {
        const int32_t last = sample.size() - 1;
        return {sample.key(smaller(sample.size() * LISTED / row.count, last)), HIGHEST_KEY};
    }
    // As the masses of the sample say, eight at a time.
    SALS_DEVICE Bracket suggest(const SortedSample& sample, int64_t target, int64_t weight,
                                const Bracket& bracket) const {
        const auto members = part(offsetof(ThresholdPlan, masses));
        const auto groups = sums();
        sample.copy_scores(members, sample.size());
        exponentiate(members, sample.size());
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::BlockReduceSum(groups, members, sample.size() / LANES, LANES, 1, 1, DATABLOCKS);
        AscendC::PipeBarrier<PIPE_V>();
        Cast(masses(), groups, AscendC::RoundMode::CAST_RINT, sample.size() / DATABLOCK_LANES);
        finish_vector(UB_RESULT);
        const int32_t begin = sample.begin() / DATABLOCK_LANES;
        const int32_t end = sample.end() / DATABLOCK_LANES;
        int64_t total = 0;
        for (int32_t i = begin; i < end; ++i) total += masses().GetValue(i);
        int64_t left = share_of(total, target, weight);
        int32_t group = begin;
        while (group < end && left > masses().GetValue(group)) left -= masses().GetValue(group++);
        const int32_t counted = sample.end() - sample.begin();
        const int32_t place = (group - begin) * DATABLOCK_LANES + DATABLOCK_LANES / 2;
        return sample.around(smaller(place, counted), larger(counted, 1), bracket);
    }

private:
    static constexpr int32_t HIGH_SHIFT = 12;
    static constexpr int32_t LISTED = CHUNK * 2 / 3;  // of the highest, about

    SALS_DEVICE AscendC::LocalTensor<float> part(uint32_t offset) const {
        return view<float>(ub_, offsetof(UbPlan, select) + offsetof(SelectPlan, threshold) + offset);
    }
    // Free once a sample is sorted.
    SALS_DEVICE AscendC::LocalTensor<float> sums() const { return part(offsetof(ThresholdPlan, sample)); }

    // total * target / weight, about
    SALS_DEVICE static int64_t share_of(int64_t total, int64_t target, int64_t weight) {
        int32_t shift = 0;
        while ((weight >> shift) >= (int64_t{1} << 30)) ++shift;
        return total * (target >> shift) / (weight >> shift);
    }

    // Fills a chunk up to whole repeats with scores that have no mass.
    SALS_DEVICE int32_t pad(const AscendC::LocalTensor<float>& x, int32_t count) const {
        const int32_t lanes = round_up(count, LANES);
        const int32_t begin = round_up(count, DATABLOCK_LANES);
        fill_datablock_end(x, -__builtin_inff(), count);
        if (begin < lanes) fill(x[begin], -__builtin_inff(), lanes - begin);
        return lanes;
    }

    // 2^23 * exp(x - max), into the memory of masses(); x may stand there.
    SALS_DEVICE void exponentiate(const AscendC::LocalTensor<float>& x, int32_t count) const {
        const auto w = part(offsetof(ThresholdPlan, masses));
        AscendC::PipeBarrier<PIPE_V>();
        Adds(w, x, -max_, count);
        AscendC::PipeBarrier<PIPE_V>();
        Exp(w, w, count);
        AscendC::PipeBarrier<PIPE_V>();
        Muls(w, w, static_cast<float>(COVERAGE_MASS_ONE), count);
    }

    // Combines whole datablocks until one repeat is left; returns its lanes.
    template <Fold OP, class T>
    SALS_DEVICE static int32_t fold(const AscendC::LocalTensor<T>& x, int32_t lanes) {
        while (lanes > LANES) {
            const int32_t half = round_up(lanes / 2, DATABLOCK_LANES);
            AscendC::PipeBarrier<PIPE_V>();
            if constexpr (OP == Fold::MAX) {
                Max(x, x, x[half], lanes - half);
            } else {
                Add(x, x, x[half], lanes - half);
            }
            lanes = half;
        }
        return lanes;
    }

    // Of the masses in masses(), a chunk at most. A lane adds up 64 of them, below 2^30; its 12 low bits and
    // the others add up separately, below 2^24, so fp32 sums are exact.
    SALS_DEVICE int64_t sum(int32_t count) const {
        const int32_t lanes = fold<Fold::SUM>(masses(), count);
        const auto high = sums().template ReinterpretCast<int32_t>();
        const auto low = high[LANES];
        AscendC::PipeBarrier<PIPE_V>();
        ShiftRight(high, masses(), HIGH_SHIFT, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        ShiftLeft(low, high, HIGH_SHIFT, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        Sub(low, masses(), low, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        Cast(sums(), high, AscendC::RoundMode::CAST_NONE, 2 * LANES);
        AscendC::PipeBarrier<PIPE_V>();
        const auto both = sums()[2 * LANES];
        WholeReduceSum(both, sums(), lanes, 2, 1, 1, DATABLOCKS);
        finish_vector(UB_RESULT);
        const int64_t high_sum = static_cast<int64_t>(both.GetValue(0));
        return (high_sum << HIGH_SHIFT) + static_cast<int64_t>(both.GetValue(1));
    }

    AscendC::LocalTensor<uint8_t> ub_;
    float max_ = 0.0F;
};

}  // namespace sals::qsi
