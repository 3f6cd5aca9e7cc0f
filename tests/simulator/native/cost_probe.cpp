// SPDX-License-Identifier: Apache-2.0
// cost_probe.cpp - the cost model without a chip around it, for tests that compare it with a reference.
//   cost_probe bandwidth  reads "start hbm_load hit_load hbm_rate l2_rate direct_load line lines" per line,
//                         starts not falling, and prints the end of every transfer in the order of the lines
//   cost_probe price NAME...  prints for each vector instruction whether it has a price
#include <cstdio>
#include <iostream>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/cost.h"
#include "engine/transfer.h"

using namespace sals::sim;

namespace {

constexpr double CLOCK_GHZ = 1.85;

void finish_until(Bandwidth& bandwidth, double time, std::vector<double>& ends) {
    while (bandwidth.next_completion() <= time &&
           bandwidth.next_completion() < std::numeric_limits<double>::max()) {
        const double end = bandwidth.next_completion();
        ends.at(static_cast<size_t>(bandwidth.complete_next())) = end;
    }
}

void print_ends() {
    Bandwidth bandwidth(CLOCK_GHZ);
    std::vector<double> ends;
    double start = 0;
    uint64_t line = 0;
    size_t lines = 0;
    Transfer transfer;
    while (std::cin >> start >> transfer.hbm_load >> transfer.hit_load >> transfer.hbm_rate >>
           transfer.l2_rate >> transfer.direct_load >> line >> lines) {
        transfer.lines.resize(lines);
        std::iota(transfer.lines.begin(), transfer.lines.end(), line);
        finish_until(bandwidth, start, ends);
        ends.push_back(-1);
        bandwidth.start(start, transfer);
    }
    finish_until(bandwidth, std::numeric_limits<double>::infinity(), ends);
    for (double end : ends) std::printf("%.17g\n", end);
}

void print_price(const char* name) {
    Instruction instruction;
    instruction.pipe = Pipe::V;
    instruction.name = name;
    try {
        timing_of(instruction);
        std::printf("%s priced\n", name);
    } catch (const std::logic_error& error) {
        std::printf("%s %s\n", name, error.what());
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string command = argc > 1 ? argv[1] : "";
    if (command == "bandwidth") {
        print_ends();
    } else if (command == "price") {
        for (int i = 2; i < argc; ++i) print_price(argv[i]);
    } else {
        std::fprintf(stderr, "cost_probe: bandwidth or price, got \"%s\"\n", command.c_str());
        return 2;
    }
    return 0;
}
