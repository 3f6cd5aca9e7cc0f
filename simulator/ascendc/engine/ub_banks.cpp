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

// Different blocks of one operand in one repeat, in their order.
struct Blocks {
    std::array<uint32_t, BLOCKS_PER_REPEAT> index{};  // address / 32
    uint32_t count = 0;

    void add(uint32_t block) {
        for (uint32_t i = 0; i < count; ++i) {
            if (index[i] == block) return;
        }
        if (count < BLOCKS_PER_REPEAT) index[count++] = block;
    }
    bool operator==(const Blocks& other) const {
        return count == other.count && std::equal(index.begin(), index.begin() + count, other.index.begin());
    }
};

uint32_t group_of(uint32_t block) { return block % table::UB_GROUPS; }

uint32_t bank_of(uint32_t block) {
    const uint32_t in_group = (block * table::UB_BLOCK) >> table::UB_BANK_SHIFT;
    return in_group * table::UB_GROUPS + group_of(block);
}

uint64_t banks_of(const Blocks& blocks) {
    uint64_t banks = 0;
    for (uint32_t i = 0; i < blocks.count; ++i) banks |= uint64_t{1} << bank_of(blocks.index[i]);
    return banks;
}

// Lanes of one operand, cut into repeats. A span of a vector operand is either one contiguous run, or has the
// blocks of a repeat along its first axis and the repeats along its second. A source that all repeats share
// is read once, so nothing waits for it; a shorter last repeat that has a span of its own is left out.
class Operand {
public:
    Operand(const Access& access, const Work& work) : span_(access.span), writes_(access.writes()) {
        if (work.repeats == 1 || span_.count[1] > 1) {
            repeats_ = span_.count[1];
            run_end_ = span_.end();
        } else if (span_.count[0] == 1 && (writes_ || span_.bytes > bytes_of_repeat(work))) {
            cut_run(work.repeats);
        }
    }

    bool writes() const { return writes_; }
    bool part_of_block() const { return span_.bytes < table::UB_BLOCK; }

    // Moves on to repeat r; r grows by one from 0.
    void advance(uint32_t r) {
        previous_ = current_;
        current_ = {};
        if (r >= repeats_) return;
        for (uint32_t i = 0; i < span_.count[0]; ++i) add_piece(i * span_.stride[0] + r * span_.stride[1]);
    }
    const Blocks& current() const { return current_; }
    const Blocks& previous() const { return previous_; }
    // A block that the repeat before has read too is not read again (repeat stride 0).
    bool reads() const { return !writes_ && current_.count > 0 && !(current_ == previous_); }

private:
    static uint64_t bytes_of_repeat(const Work& work) {
        return work.elements * work.elem_bytes / work.repeats;
    }

    void cut_run(uint32_t repeats) {
        run_end_ = span_.end();
        uint32_t step = 1;
        while (uint64_t{step} * repeats < span_.bytes) step *= 2;
        span_.bytes = step;
        span_.stride[1] = step;
        repeats_ = repeats;
    }

    void add_piece(uint64_t offset) {
        const uint64_t begin = span_.begin + offset, end = std::min(run_end_, begin + span_.bytes);
        for (uint64_t block = begin / table::UB_BLOCK; block * table::UB_BLOCK < end; ++block) {
            current_.add(static_cast<uint32_t>(block));
        }
    }

    Span span_;
    bool writes_;
    uint64_t run_end_ = 0;
    uint32_t repeats_ = 0;  // 0: takes no part
    Blocks current_, previous_;
};

// Rows that the fullest group has to give or take. Lanes of one block that the mask parts from each other
// come as several operands; their block counts once.
uint32_t rows_of_fullest_group(const std::vector<Operand>& operands, bool writes) {
    std::array<uint32_t, table::UB_GROUPS> rows{};
    std::vector<uint32_t> parts;
    for (const Operand& operand : operands) {
        if (writes ? !operand.writes() : !operand.reads()) continue;
        const Blocks& blocks = operand.current();
        for (uint32_t i = 0; i < blocks.count; ++i) {
            const uint32_t block = blocks.index[i];
            if (operand.part_of_block()) {
                if (std::find(parts.begin(), parts.end(), block) != parts.end()) continue;
                parts.push_back(block);
            }
            ++rows[group_of(block)];
        }
    }
    return *std::max_element(rows.begin(), rows.end());
}

bool pairwise_in_one_bank(const Blocks& a, const Blocks& b) {
    const uint32_t count = std::min(a.count, b.count);
    for (uint32_t i = 0; i < count; ++i) {
        if (bank_of(a.index[i]) != bank_of(b.index[i])) return false;
    }
    return count > 0;
}

bool write_meets_read(const std::vector<Operand>& operands) {
    uint64_t read = 0;
    for (const Operand& operand : operands) {
        if (operand.reads()) read |= banks_of(operand.current());
    }
    for (const Operand& destination : operands) {
        if (!destination.writes()) continue;
        const bool delayed = std::any_of(operands.begin(), operands.end(), [&](const Operand& source) {
            return source.reads() && pairwise_in_one_bank(source.current(), destination.current());
        });
        const Blocks& written = delayed ? destination.previous() : destination.current();
        if ((banks_of(written) & read) != 0) return true;
    }
    return false;
}

}  // namespace

double banked_cycles(const Instruction& instruction, double repeat_cycles) {
    const uint32_t repeats = instruction.work.repeats;
    std::vector<Operand> operands;
    for (const Access& access : instruction.accesses) {
        if (access.mem == Mem::UB && !access.span.empty()) operands.emplace_back(access, instruction.work);
    }
    double cycles = 0;
    for (uint32_t r = 0; r < repeats; ++r) {
        for (Operand& operand : operands) operand.advance(r);
        double repeat = repeat_cycles;
        repeat = std::max<double>(repeat, rows_of_fullest_group(operands, false));
        repeat = std::max<double>(repeat, rows_of_fullest_group(operands, true));
        if (repeat < table::WRITE_READ_REPEAT && write_meets_read(operands))
            repeat = table::WRITE_READ_REPEAT;
        cycles += repeat;
    }
    return cycles;
}

}  // namespace sals::sim
