// SPDX-License-Identifier: Apache-2.0
// bracket_search.h - where the scores of a row, weighed from the highest down, reach a target weight, without
// sorting the row. The score that does is bracketed by two scores of a sorted sample; what lies between is
// packed with Compare and GatherMask, bracketed again, and left to the caller once few are left.
//     row [n] --> kept [~ n/5] --> kept [<= 256]
// What a score weighs says the measure: 1 for the k-th highest score (find_threshold.h), the softmax mass for
// coverage (coverage_mass.h).
// Runs on   one vector core per row
// Ends for every input: a bracket that does not hold the score still shrinks the one it is in, and after
// SAMPLED_ROUNDS rounds brackets halve the range of representable scores instead, at most 32 times. Many
// equal scores make the bracket a single score. Rows longer than a chunk are read again for every round until
// what is left fits.
#pragma once
#include "qsi/pack_scores.h"
#include "qsi/sorted_sample.h"

namespace sals::qsi {

// Measure has
//     int64_t weigh(list, count)                          of a packed list
//     Bracket first_probe(sample, target, row)            where scores of a row may reach it
//     Bracket suggest(sample, target, weight, bracket)    where scores of `weight` in a bracket reach target
template <class Measure>
class BracketSearch {
public:
    SALS_DEVICE BracketSearch(const AscendC::LocalTensor<uint8_t>& ub,
                              const AscendC::LocalTensor<int32_t>& ramp, const Measure& measure)
        : pack_(ub), sample_(ub, ramp), measure_(measure) {}

    // 0 < target <= weight of the row. Then the bracket is one score, or list() is short enough to be sorted,
    // or `enough` scores or more are above the bracket.
    SALS_DEVICE void run(ScoreRow& row, int64_t weight, int64_t target, int32_t enough) {
        target_ = target;
        enough_ = enough;
        bracket_ = {LOWEST_KEY, HIGHEST_KEY};
        above_ = {0, 0};
        inside_ = {row.size(), weight};
        if (row.is_one_chunk()) {
            row.rewind();
            list_ = row.take();
            row.release();
            length_ = row.size();
        } else {
            narrow_row(row);
            row.prefetch();
        }
        // A sample can say more once, which costs less than to sort more than a run.
        bool can_say_more = false;
        bool holds = true;
        for (int32_t round = 0; !is_found() && length_ > (can_say_more ? SORT_RUN : SORT_LIMIT); ++round) {
            if (can_say_more && (!holds || length_ <= SORT_LIMIT)) {
                if (!holds) sample_.be_cautious();
                can_say_more = false;
            } else if (round < SAMPLED_ROUNDS) {
                sample_.draw_from_list(list_, length_);
                can_say_more = true;
            }
            holds = narrow_list(round < SAMPLED_ROUNDS ? suggest(0) : bracket_.upper_half());
        }
    }

    SALS_DEVICE const Bracket& bracket() const { return bracket_; }
    SALS_DEVICE const Amount& above() const { return above_; }    // the bracket
    SALS_DEVICE const Amount& inside() const { return inside_; }  // the bracket
    SALS_DEVICE const AscendC::LocalTensor<float>& list() const { return list_; }
    SALS_DEVICE int32_t length() const { return length_; }  // of the list, gaps of -inf included

    SALS_DEVICE const PackScores& pack() const { return pack_; }
    SALS_DEVICE SortedSample& sample() { return sample_; }

private:
    // What a row has at or above the lower end of a probe, and of that, at or below the upper end.
    struct Listed {
        Amount high, within;
        bool is_whole;  // the list holds all that are within, rather than those of the last chunks
    };

    static constexpr int32_t SAMPLED_ROUNDS = 8;
    static constexpr int32_t FEW = CHUNK / 2;  // scores of a row that most likely fit the list

    SALS_DEVICE bool is_found() const { return bracket_.is_one() || above_.count >= enough_; }

    SALS_DEVICE Amount amount(const AscendC::LocalTensor<float>& list, int32_t count) const {
        return {count, count > 0 ? measure_.weigh(list, count) : 0};
    }

    // A part of the bracket, or all of it if it has `few` scores or less. Margins that would leave nothing
    // out give way to the score in the middle of the sample: it is one of many equal ones, or halves the
    // rest.
    SALS_DEVICE Bracket suggest(int32_t few) {
        sample_.restrict_to(bracket_);
        const Bracket probe = measure_.suggest(sample_, target_ - above_.weight, inside_.weight, bracket_);
        const bool is_part = probe.lowest > bracket_.lowest || probe.highest < bracket_.highest;
        if (is_part || inside_.count <= few) return probe;
        if (sample_.begin() == sample_.end()) return bracket_.upper_half();
        const uint32_t middle = sample_.key((sample_.begin() + sample_.end()) / 2);
        return {middle, middle};
    }

    // ---- a list in UB ------------------------------------------------------------------------------

    // Whether the score was inside the probe.
    SALS_DEVICE bool narrow_list(const Bracket& probe) {
        const auto list = list_;
        const auto kept = pack_.kept();
        const auto scratch = pack_.scratch();
        const Amount high =
            amount(scratch, pack_.pack(scratch, list, probe.lowest, AscendC::CMPMODE::GE, length_));
        list_ = kept;
        if (target_ > above_.weight + high.weight) {
            length_ = pack_.pack(scratch, list, probe.lowest, AscendC::CMPMODE::LT, length_);
            Adds(kept, scratch, 0.0F, length_);
            above_ = above_ + high;
            inside_ = inside_ - high;
            bracket_.highest = probe.lowest - 1;
            return false;
        }
        const Amount within = pack_lower(kept, scratch, high, probe.highest, bracket_.highest);
        const Amount higher = high - within;
        const bool holds = target_ > above_.weight + higher.weight;
        if (holds) {
            above_ = above_ + higher;
            inside_ = within;
            bracket_ = probe;
        } else {
            pack_.pack(kept, scratch, probe.highest, AscendC::CMPMODE::GT, high.count);
            inside_ = higher;
            bracket_.lowest = probe.highest + 1;
        }
        length_ = inside_.count;
        return holds;
    }

    // ---- a row in global memory --------------------------------------------------------------------

    // Reads the row until what is inside the bracket fits the list, or the bracket is one score.
    SALS_DEVICE void narrow_row(ScoreRow& row) {
        const Amount all = inside_;
        sample_.draw_from_row(row, pack_.room());
        Bracket probe = measure_.first_probe(sample_, target_, all);
        for (int32_t round = 1;; ++round) {
            const Listed listed = pack_row(row, probe);
            const Amount higher = listed.high - listed.within;
            const bool holds = target_ > higher.weight && target_ <= listed.high.weight;
            if (holds) {
                bracket_ = probe;
                above_ = higher;
                inside_ = listed.within;
                if (listed.is_whole) return;
            } else if (target_ <= higher.weight) {
                bracket_.lowest = probe.highest + 1;
                inside_ = higher - above_;
            } else {
                bracket_.highest = probe.lowest - 1;
                above_ = listed.high;
                inside_ = all - listed.high;
            }
            if (is_found()) return;
            if (round >= SAMPLED_ROUNDS) {
                probe = bracket_.upper_half();
            } else {
                if (holds && length_ > SORT_LIMIT) sample_.draw_from_list(list_, length_);
                sample_.be_cautious();
                probe = suggest(FEW);
            }
        }
    }

    // Measures a whole row against a probe, and lists in kept() what is inside: of the last chunks, if that
    // does not fit. The list continues at whole datablocks, with -inf in the gaps.
    SALS_DEVICE Listed pack_row(ScoreRow& row, const Bracket& probe) {
        const auto scratch = pack_.scratch();
        Listed listed = {{0, 0}, {0, 0}, true};
        list_ = pack_.kept();
        length_ = 0;
        for (row.rewind(); row.has_chunk(); row.release()) {
            const auto x = row.take();
            const Amount high =
                amount(scratch, pack_.pack(scratch, x, probe.lowest, AscendC::CMPMODE::GE, row.count()));
            if (high.count == 0) continue;
            if (length_ + high.count > CHUNK) {
                listed.is_whole = false;
                length_ = 0;
            }
            const auto list = list_[length_];
            const Amount within = pack_lower(list, scratch, high, probe.highest, HIGHEST_KEY);
            listed.high = listed.high + high;
            listed.within = listed.within + within;
            length_ = round_up(length_ + within.count, DATABLOCK_LANES);
        }
        return listed;
    }

    // Of a list at or above the lower end of a probe, what is not above its upper end. None of the list is
    // above `limit`.
    SALS_DEVICE Amount pack_lower(const AscendC::LocalTensor<float>& dst,
                                  const AscendC::LocalTensor<float>& list, const Amount& high,
                                  uint32_t highest, uint32_t limit) const {
        if (highest < limit) {
            return amount(dst, pack_.pack(dst, list, highest, AscendC::CMPMODE::LE, high.count));
        }
        Adds(dst, list, 0.0F, high.count);
        fill_datablock_end(dst, -__builtin_inff(), high.count);
        return high;
    }

    PackScores pack_;
    SortedSample sample_;
    const Measure& measure_;
    AscendC::LocalTensor<float> list_;  // the scores inside the bracket
    int32_t length_ = 0;
    int64_t target_ = 0;
    int32_t enough_ = 0;
    Bracket bracket_{};  // of the score that is searched
    Amount above_{};
    Amount inside_{};
};

}  // namespace sals::qsi
