// SPDX-License-Identifier: Apache-2.0
#include "cuda_on_cpu.h"

#include <ucontext.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace sals::cuda_on_cpu {
namespace {

constexpr size_t STACK_BYTES = 128 << 10;
constexpr unsigned char GARBAGE = 0xCD;

struct Warp {
    std::array<std::array<Payload, WARP_LANES>, 2> given;  // of this exchange and the one before
    int arrived = 0;
    uint64_t round = 0;
};

struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[STACK_BYTES]};
    bool done = true;
};

struct Grid {
    int block = 0, blocks = 0, threads = 0, thread = 0;
    int arrived = 0;
    uint64_t barrier_round = 0;
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::vector<unsigned char> shared;
    ucontext_t scheduler;
    const std::function<void()>* body = nullptr;
};

Grid grid;

void yield() { swapcontext(&grid.fibers[grid.thread].context, &grid.scheduler); }

void fiber_main() {
    (*grid.body)();
    grid.fibers[grid.thread].done = true;
    yield();
}

void start_fiber(Fiber& fiber) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = STACK_BYTES;
    fiber.context.uc_link = nullptr;
    fiber.done = false;
    makecontext(&fiber.context, fiber_main, 0);
}

void run_block() {
    grid.arrived = 0;
    for (Warp& warp : grid.warps) warp.arrived = 0;
    std::memset(grid.shared.data(), GARBAGE, grid.shared.size());
    for (Fiber& fiber : grid.fibers) start_fiber(fiber);
    for (bool alive = true; alive;) {
        alive = false;
        for (grid.thread = 0; grid.thread < grid.threads; ++grid.thread) {
            if (grid.fibers[grid.thread].done) continue;
            swapcontext(&grid.scheduler, &grid.fibers[grid.thread].context);
            alive = true;
        }
    }
}

}  // namespace

int thread_index() { return grid.thread; }
int block_index() { return grid.block; }
int block_threads() { return grid.threads; }
int grid_blocks() { return grid.blocks; }
unsigned char* dynamic_shared() { return grid.shared.data(); }

void sync_block() {
    const uint64_t round = grid.barrier_round;
    if (++grid.arrived == grid.threads) {
        grid.arrived = 0;
        ++grid.barrier_round;
    }
    while (round == grid.barrier_round) yield();
}

const Payload* exchange(const Payload& mine) {
    Warp& warp = grid.warps[grid.thread / WARP_LANES];
    const uint64_t round = warp.round;
    std::array<Payload, WARP_LANES>& given = warp.given[round % 2];
    given[grid.thread % WARP_LANES] = mine;
    if (++warp.arrived == WARP_LANES) {
        warp.arrived = 0;
        ++warp.round;
    }
    while (round == warp.round) yield();
    return given.data();
}

void run(int blocks, int threads, int64_t shared_bytes, const std::function<void()>& body) {
    grid.blocks = blocks;
    grid.threads = threads;
    grid.fibers.resize(threads);
    grid.warps.assign(threads / WARP_LANES, Warp{});
    grid.shared.resize(shared_bytes + 1);
    grid.body = &body;
    for (grid.block = 0; grid.block < blocks; ++grid.block) run_block();
}

}  // namespace sals::cuda_on_cpu
