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

// One operand, cut into repeats.
class Operand {
public:
    Operand(const Access& access, uint32_t repeats) : span_(access.span), writes_(access.writes()) {
        const uint64_t pieces = uint64_t{span_.count[0]} * span_.count[1] * span_.count[2];
        if (pieces == 1) {
            cut_run(repeats);
        } else if (pieces <= repeats) {
            per_repeat_ = 1;
            repeats_ = static_cast<uint32_t>(pieces);
        } else if (pieces % repeats == 0) {
            per_repeat_ = static_cast<uint32_t>(pieces / repeats);
            repeats_ = repeats;
        }
    }

    bool writes() const { return writes_; }

    // Moves on to repeat r; r grows by one from 0.
    void advance(uint32_t r) {
        previous_ = current_;
        current_ = {};
        if (r >= repeats_) return;
        for (uint32_t p = 0; p < per_repeat_; ++p) add_piece(uint64_t{r} * per_repeat_ + p);
    }
    const Blocks& current() const { return current_; }
    const Blocks& previous() const { return previous_; }
    // A block that the repeat before has read too is not read again (repeat stride 0).
    bool reads() const { return !writes_ && current_.count > 0 && !(current_ == previous_); }

private:
    // A contiguous run: every repeat takes the same power of two of bytes. A source that is shorter than a
    // block per repeat is one that all repeats share; it is read once, and no repeat waits for it.
    void cut_run(uint32_t repeats) {
        if (!writes_ && repeats > 1 && span_.bytes < uint64_t{repeats} * table::UB_BLOCK) return;
        uint32_t step = 1;
        while (uint64_t{step} * repeats < span_.bytes) step *= 2;
        run_end_ = span_.begin + span_.bytes;
        span_.bytes = step;
        span_.count[0] = repeats;
        span_.stride[0] = step;
        per_repeat_ = 1;
        repeats_ = repeats;
    }

    void add_piece(uint64_t piece) {
        const uint64_t i = piece % span_.count[0], rest = piece / span_.count[0];
        const uint64_t j = rest % span_.count[1], k = rest / span_.count[1];
        const uint64_t begin = span_.begin + i * span_.stride[0] + j * span_.stride[1] + k * span_.stride[2];
        const uint64_t end = run_end_ == 0 ? begin + span_.bytes : std::min(run_end_, begin + span_.bytes);
        for (uint64_t block = begin / table::UB_BLOCK; block * table::UB_BLOCK < end; ++block) {
            current_.add(static_cast<uint32_t>(block));
        }
    }

    Span span_;
    bool writes_;
    uint64_t run_end_ = 0;
    uint32_t per_repeat_ = 0, repeats_ = 0;  // 0: not cut into repeats, takes no part
    Blocks current_, previous_;
};

// Rows that the fullest group has to give or take.
uint32_t rows_of_fullest_group(const std::vector<Operand>& operands, bool writes) {
    std::array<uint32_t, table::UB_GROUPS> rows{};
    for (const Operand& operand : operands) {
        if (writes ? !operand.writes() : !operand.reads()) continue;
        const Blocks& blocks = operand.current();
        for (uint32_t i = 0; i < blocks.count; ++i) ++rows[group_of(blocks.index[i])];
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
        if (access.mem == Mem::UB && !access.span.empty()) operands.emplace_back(access, repeats);
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
