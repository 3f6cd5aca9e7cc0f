// SPDX-License-Identifier: Apache-2.0
// cuda_on_cpu.h - runs the sources of our CUDA kernels on a CPU, so that their results can be tested where no
// GPU is. Blocks run one after another; the threads of a block are fibers that change at every barrier and
// warp operation, in a fixed order. Races and memory ordering do not show here: compute-sanitizer is for
// them.
#pragma once
#include <cstdint>
#include <functional>

namespace sals::cuda_on_cpu {

inline constexpr int WARP_LANES = 32;
inline constexpr int PAYLOAD_WORDS = 8;

struct Payload {
    uint32_t word[PAYLOAD_WORDS];
};

int thread_index();
int block_index();
int block_threads();
int grid_blocks();
unsigned char* dynamic_shared();

void sync_block();
// What each lane of the calling warp gives; all lanes must call. Valid until the lane's next call.
const Payload* exchange(const Payload& mine);

// Runs `body` for every thread of every block. Dynamic shared memory holds garbage at the start of a block.
void run(int blocks, int threads, int64_t shared_bytes, const std::function<void()>& body);

}  // namespace sals::cuda_on_cpu
