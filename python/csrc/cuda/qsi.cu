// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernel_launch.h"
#include "cuda/qsi_kernel.h"

namespace sals::cuda {
namespace {

template <int CHUNKS>
int run_pages(const QsiArguments& a, const Shape& shape, const Device& device) {
    return a.requests.page_size % STEP_TOKENS == 0 ? launch(qsi_kernel<CHUNKS, true>, shape, device, a)
                                                   : launch(qsi_kernel<CHUNKS, false>, shape, device, a);
}

int run(const QsiArguments& a, int64_t room, const Device& device) {
    const int64_t rows = qsi_rows(a.tiling);
    if (rows == 0) return 0;
    // More thread blocks than shares of one step for each warp would have nothing to do.
    const int64_t steps = rows * larger(ceil_div<int64_t>(a.requests.max_visible, STEP_TOKENS), int64_t{1});
    const int64_t places = int64_t{QSI_BLOCKS_PER_SM} * device.multiprocessors;
    const auto blocks = static_cast<int32_t>(smaller(ceil_div<int64_t>(steps, QSI_WARPS), places));
    const Shape shape = {blocks, QSI_THREADS, static_cast<int64_t>(sizeof(QsiMemory)) + room};
    const int32_t rank = a.has_wide_rows ? a.tiling.rank : 0;
    if (rank == 64) return run_pages<2>(a, shape, device);
    if (rank == 128) return run_pages<4>(a, shape, device);
    if (rank == 256) return run_pages<8>(a, shape, device);
    return launch(qsi_kernel_narrow, shape, device, a);
}

}  // namespace

int launch_qsi(const QsiArguments& a, const Device& device) {
    int64_t pairs = 0;
    if (a.tiling.order == static_cast<int32_t>(SelectionOrder::SCORE)) {
        const int64_t kept =
            max_selected_candidates<int64_t>(a.tiling.max_candidates, selection_params(a.tiling));
        for (pairs = 1; pairs < kept;) pairs *= 2;
    }
    return run(a, pairs * int64_t{sizeof(uint64_t)}, device);
}

int launch_block_scores(const QsiArguments& a, const Device& device) { return run(a, 0, device); }

}  // namespace sals::cuda
