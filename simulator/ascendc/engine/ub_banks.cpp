// SPDX-License-Identifier: Apache-2.0
// ub_banks.cpp - walks the repeats of a vector instruction and counts what its operands wait for each other.
#include "engine/ub_banks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "engine/cost_table.h"

namespace sals::sim {
namespace {

constexpr uint32_t BLOCKS_PER_REPEAT = 8;

uint32_t bank_of(uint64_t block) {  // block = address / 32
    const uint64_t in_group = (block * table::UB_BLOCK) >> table::UB_BANK_SHIFT;
    return static_cast<uint32_t>(in_group * table::UB_GROUPS + block % table::UB_GROUPS);
}

// The blocks of one operand in one repeat.
struct Blocks {
    std::array<uint8_t, BLOCKS_PER_REPEAT> bank{};
    uint32_t count = 0;
    uint64_t banks = 0;  // set of them
    uint64_t first = 0;  // block

    void add(uint64_t block) {
        if (count == BLOCKS_PER_REPEAT) return;
        if (count == 0) first = block;
        bank[count] = static_cast<uint8_t>(bank_of(block));
        banks |= uint64_t{1} << bank[count];
        ++count;
    }
};

// Lanes of one operand, cut into repeats. A span of a vector operand is either one contiguous run, or has the
// blocks of a repeat along its first axis and the repeats along its second. A source that all repeats share
// is read once, so nothing waits for it; a shorter last repeat that has a span of its own is left out.
class Operand {
public:
    Operand(const Access& access, const Work& work) : span_(access.span), writes_(access.writes()) {
        end_ = span_.end();
        if (work.repeats == 1 || span_.count[1] > 1) {
            repeats_ = span_.count[1];
        } else if (span_.count[0] == 1 && (writes_ || span_.bytes > bytes_of_repeat(work))) {
            cut_run(work.repeats);
        }
    }

    bool writes() const { return writes_; }
    bool part_of_block() const { return span_.bytes < table::UB_BLOCK; }
    const Blocks& current() const { return current_; }
    const Blocks& previous() const { return previous_; }

    // Moves on to repeat r; r grows by one from 0.
    void advance(uint32_t r) {
        previous_ = current_;
        current_ = {};
        if (r >= repeats_) return;
        for (uint32_t i = 0; i < span_.count[0]; ++i) {
            const uint64_t begin = span_.begin + i * span_.stride[0] + r * span_.stride[1];
            const uint64_t end = std::min(end_, begin + span_.bytes);
            for (uint64_t at = begin / table::UB_BLOCK; at * table::UB_BLOCK < end; ++at) current_.add(at);
        }
    }

private:
    static uint64_t bytes_of_repeat(const Work& work) {
        return work.elements * work.elem_bytes / work.repeats;
    }

    void cut_run(uint32_t repeats) {
        uint32_t step = 1;
        while (uint64_t{step} * repeats < span_.bytes) step *= 2;
        span_.bytes = step;
        span_.stride[1] = step;
        repeats_ = repeats;
    }

    Span span_;
    bool writes_;
    uint64_t end_;
    uint32_t repeats_ = 0;  // 0: takes no part
    Blocks current_, previous_;
};

// Rows that each group has to give, or to take, in one repeat.
class Rows {
public:
    void add(const Operand& operand) {
        if (operand.part_of_block() && !first_part(operand.current().first)) return;
        for (uint32_t i = 0; i < operand.current().count; ++i) {
            uint32_t& rows = of_group_[operand.current().bank[i] % table::UB_GROUPS];
            most_ = std::max(most_, ++rows);
        }
    }
    uint32_t most() const { return most_; }

private:
    // Lanes of one block that the mask parts from each other come as several operands; their block counts
    // once.
    bool first_part(uint64_t block) {
        if (std::find(parts_.begin(), parts_.end(), block) != parts_.end()) return false;
        parts_.push_back(block);
        return true;
    }

    std::array<uint32_t, table::UB_GROUPS> of_group_{};
    std::vector<uint64_t> parts_;
    uint32_t most_ = 0;
};

bool pairwise_in_one_bank(const Blocks& a, const Blocks& b) {
    const uint32_t count = std::min(a.count, b.count);
    return count > 0 && std::equal(a.bank.begin(), a.bank.begin() + count, b.bank.begin());
}

bool write_meets_read(const std::vector<Operand>& operands) {
    uint64_t read = 0;
    for (const Operand& operand : operands) {
        if (!operand.writes()) read |= operand.current().banks;
    }
    for (const Operand& destination : operands) {
        if (!destination.writes()) continue;
        const bool delayed = std::any_of(operands.begin(), operands.end(), [&](const Operand& source) {
            return !source.writes() && pairwise_in_one_bank(source.current(), destination.current());
        });
        const Blocks& written = delayed ? destination.previous() : destination.current();
        if ((written.banks & read) != 0) return true;
    }
    return false;
}

}  // namespace

double banked_cycles(const Instruction& instruction, double repeat_cycles) {
    std::vector<Operand> operands;
    operands.reserve(instruction.accesses.size());
    for (const Access& access : instruction.accesses) {
        if (access.mem == Mem::UB && !access.span.empty()) operands.emplace_back(access, instruction.work);
    }
    double cycles = 0;
    for (uint32_t r = 0; r < instruction.work.repeats; ++r) {
        Rows read, written;
        for (Operand& operand : operands) {
            operand.advance(r);
            (operand.writes() ? written : read).add(operand);
        }
        double repeat = std::max<double>({repeat_cycles, double(read.most()), double(written.most())});
        if (repeat < table::WRITE_READ_REPEAT && write_meets_read(operands))
            repeat = table::WRITE_READ_REPEAT;
        cycles += repeat;
    }
    return cycles;
}

}  // namespace sals::sim
