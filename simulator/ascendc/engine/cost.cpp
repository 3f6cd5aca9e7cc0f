// SPDX-License-Identifier: Apache-2.0
// cost.cpp - cycles of an instruction from its name, its accesses and its work.
#include "engine/cost.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/cost_table.h"
#include "engine/ub_banks.h"

namespace sals::sim {
namespace {

using RateTable = std::unordered_map<std::string_view, const table::VectorRate*>;

// f(name) for every name of a list separated by blanks.
template <class F>
void for_each_name(std::string_view names, F&& f) {
    while (!names.empty()) {
        const size_t end = std::min(names.find(' '), names.size());
        f(names.substr(0, end));
        names.remove_prefix(std::min(end + 1, names.size()));
    }
}

const RateTable& vector_rates() {
    static const RateTable rates = [] {
        RateTable by_name;
        for (const table::VectorRate& rate : table::VECTOR_RATES) {
            for_each_name(rate.names, [&](std::string_view name) { by_name.emplace(name, &rate); });
        }
        return by_name;
    }();
    return rates;
}

[[noreturn]] void unknown(const Instruction& instruction) {
    std::ostringstream text;
    text << "cost model: nothing is known about " << instruction.name << " on pipe "
         << name_of(instruction.pipe) << "; give it a line in engine/cost_table.h";
    throw std::logic_error(text.str());
}

void expect_name(const Instruction& instruction, std::string_view names) {
    bool found = false;
    for_each_name(names, [&](std::string_view name) { found = found || name == instruction.name; });
    if (!found) unknown(instruction);
}

bool touches(const Instruction& instruction, Mem mem) {
    return std::any_of(instruction.accesses.begin(), instruction.accesses.end(),
                       [&](const Access& access) { return access.mem == mem; });
}

double bytes_of(const Instruction& instruction, bool written) {
    double bytes = 0;
    for (const Access& access : instruction.accesses) {
        if (access.writes() == written) bytes += static_cast<double>(access.span.total());
    }
    return bytes;
}

double round_up(uint32_t value, uint32_t multiple) {
    return static_cast<double>((value + multiple - 1) / multiple) * multiple;
}

// Pieces of GM that a DMA visits: contiguous along the innermost axis counts as one.
double gm_pieces(const Instruction& instruction) {
    double pieces = 0;
    for (const Access& access : instruction.accesses) {
        if (access.mem != Mem::GM || access.span.empty()) continue;
        const Span& span = access.span;
        const bool dense = span.stride[0] == int64_t{span.bytes};
        pieces += static_cast<double>(dense ? 1 : span.count[0]) * span.count[1] * span.count[2];
    }
    return pieces;
}

// The data of a DMA flow while the next one is being issued, so its issue is no set-up.
Timing dma(const Instruction& instruction) {
    expect_name(instruction, table::DMA_NAMES);
    if (!touches(instruction, Mem::GM)) {  // InitConstValue fills L1
        return {0, table::DMA_ISSUE + bytes_of(instruction, true) / table::FILL_RATE, 0};
    }
    const double requests = std::max<double>(instruction.work.rows, gm_pieces(instruction));
    return {0, table::DMA_ISSUE + requests * table::REQUEST, table::GM_LATENCY};
}

Timing load(const Instruction& instruction) {
    expect_name(instruction, table::LOAD_NAMES);
    const double bytes = bytes_of(instruction, true);
    if (touches(instruction, Mem::L0A)) return {table::LOAD_SETUP, bytes / table::L1_TO_L0A_RATE, 0};
    if (touches(instruction, Mem::L0B)) return {table::LOAD_SETUP, bytes / table::L1_TO_L0B_RATE, 0};
    return {table::LOAD_SETUP, bytes / table::L1_TO_TABLE_RATE, 0};
}

Timing fixpipe(const Instruction& instruction) {
    expect_name(instruction, table::FIXPIPE_NAMES);
    if (touches(instruction, Mem::FB) && !touches(instruction, Mem::L0C)) {
        return {table::FIXPIPE_SETUP, bytes_of(instruction, true) / table::L1_TO_TABLE_RATE, 0};
    }
    double read = 0;
    for (const Access& access : instruction.accesses) {
        if (access.mem == Mem::L0C) read += static_cast<double>(access.span.total());
    }
    const double out = bytes_of(instruction, true) / table::FIXPIPE_OUT_RATE;
    return {table::FIXPIPE_SETUP, std::max(read / table::L0C_READ_RATE, out),
            touches(instruction, Mem::GM) ? table::GM_LATENCY : 0};
}

Timing mmad(const Instruction& instruction) {
    expect_name(instruction, "Mmad");
    const Work& work = instruction.work;
    const table::CubeDepth depth = work.elem_bytes == 0   ? table::CUBE_INT4
                                   : work.elem_bytes == 1 ? table::CUBE_B8
                                   : work.elem_bytes == 2 ? table::CUBE_B16
                                                          : table::CUBE_B32;
    const double tiles = round_up(work.m, 16) / 16 * (round_up(work.n, 16) / 16);
    return {table::MMAD_SETUP, tiles * round_up(work.k, depth.granule) / depth.per_cycle, 0};
}

Timing vector(const Instruction& instruction) {
    const std::string_view name = instruction.name;
    if (name == "DataCopy") {
        return {table::VECTOR_SETUP, bytes_of(instruction, true) / table::UB_COPY_RATE, 0};
    }
    const auto found = vector_rates().find(name);
    if (found == vector_rates().end()) unknown(instruction);
    const Work& work = instruction.work;
    const table::VectorRate& rate = *found->second;
    const double per_cycle = work.elem_bytes <= 2 ? rate.b16 : rate.b32;
    const double repeats = work.repeats;
    double amount = static_cast<double>(work.elements);
    if (rate.unit == table::Unit::BYTES) amount *= std::max<double>(work.elem_bytes, 1);
    if (rate.unit == table::Unit::REPEATS) amount = repeats;
    if (repeats == 0) return {table::VECTOR_SETUP, amount / per_cycle, 0};
    const double repeat_cycles = std::max(1.0, amount / per_cycle / repeats);
    return {table::VECTOR_SETUP, banked_cycles(instruction, repeat_cycles), 0};
}

}  // namespace

Timing timing_of(const Instruction& instruction) {
    switch (instruction.pipe) {
        case Pipe::V:
            return vector(instruction);
        case Pipe::M:
            return mmad(instruction);
        case Pipe::MTE1:
            return load(instruction);
        case Pipe::MTE2:
        case Pipe::MTE3:
            return dma(instruction);
        case Pipe::FIX:
            return fixpipe(instruction);
        case Pipe::S:
            break;
    }
    unknown(instruction);
}

double scalar_access_cycles(Mem) { return table::SCALAR_LOCAL; }
double scalar_gm_hit_cycles() { return table::SCALAR_GM_HIT; }
double scalar_gm_miss_cycles() { return table::SCALAR_GM_MISS; }
double dispatch_cycles() { return table::DISPATCH; }
double sync_cycles() { return table::SYNC; }
double cross_core_cycles() { return table::CROSS_CORE; }
double sync_all_cycles() { return table::SYNC_ALL; }
double launch_cycles() { return table::LAUNCH; }

}  // namespace sals::sim
