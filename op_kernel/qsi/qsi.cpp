// SPDX-License-Identifier: Apache-2.0
// qsi.cpp - entry of the indexer kernel: for every list row the blocks that sparse attention shall read.
// One cube core with two vector cores per group; needs batch scheduling (qsi_tiling.h, uses_sync_all).
#include "qsi/kernel.h"

namespace sals::qsi {

template <int32_t RANK>
SALS_DEVICE void run_cube_of_rank(AscendC::TPipe& pipe, const QsiTiling& tiling, const Arguments& args) {
    if (qsi_key_form(static_cast<KvLayout>(tiling.cache_layout), RANK) == QsiKeyForm::PLANES) {
        run_cube<RANK, QsiKeyForm::PLANES>(pipe, tiling, args);
    } else {
        run_cube<RANK, QsiKeyForm::ROWS>(pipe, tiling, args);
    }
}

SALS_DEVICE void dispatch_cube(AscendC::TPipe& pipe, const QsiTiling& tiling, const Arguments& args) {
    switch (tiling.rank) {
        case 64:
            return run_cube_of_rank<64>(pipe, tiling, args);
        case 128:
            return run_cube_of_rank<128>(pipe, tiling, args);
        case 256:
            return run_cube_of_rank<256>(pipe, tiling, args);
        default:
            SALS_ASSERT(false, "rank must be 64, 128 or 256");
    }
}

SALS_DEVICE void dispatch_vector(AscendC::TPipe& pipe, const QsiTiling& tiling, const Arguments& args) {
    if (tiling.order == static_cast<int32_t>(SelectionOrder::SCORE)) {
        run_vector<SelectSorted>(pipe, tiling, args);
    } else {
        run_vector<SelectThreshold>(pipe, tiling, args);
    }
}

}  // namespace sals::qsi

extern "C" __global__ __aicore__ void sals_qsi(GM_ADDR query, GM_ADDR query_scale, GM_ADDR key_cache,
                                               GM_ADDR key_scale, GM_ADDR seq_lens, GM_ADDR query_lens,
                                               GM_ADDR query_start_loc, GM_ADDR block_table, GM_ADDR plan,
                                               GM_ADDR block_ids, GM_ADDR selected_lens, GM_ADDR workspace,
                                               GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    REGISTER_TILING_DEFAULT(sals::QsiTiling);  // tells CANN how much room the tiling needs
    sals::preload_lines(tiling, 0, (sizeof(sals::QsiTiling) - 1) / sals::AtlasA2::CACHE_LINE_BYTES + 1);
    sals::PlanReader::preload_start(plan, sals::qsi::group_of_core());
    const sals::QsiTiling sizes = sals::qsi::read_tiling(tiling);
    const sals::qsi::Arguments args = {query,           query_scale,   key_cache,
                                       key_scale,       seq_lens,      query_lens,
                                       query_start_loc, block_table,   plan,
                                       block_ids,       selected_lens, AscendC::GetUserWorkspace(workspace)};
    AscendC::TPipe pipe;
    if ASCEND_IS_AIC {
        sals::qsi::dispatch_cube(pipe, sizes, args);
    }
    if ASCEND_IS_AIV {
        sals::qsi::dispatch_vector(pipe, sizes, args);
    }
}
