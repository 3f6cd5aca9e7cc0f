// SPDX-License-Identifier: Apache-2.0
// sfaa.cpp - entry of the attention kernel: sparse flash attention over the listed blocks of an int8 cache.
// One cube core with two vector cores per group; needs batch scheduling (sfaa_tiling.h, uses_sync_all).
#include "sfaa/kernel.h"

namespace sals::sfaa {

template <int32_t HEAD_DIM>
SALS_DEVICE void run_cube_of(AscendC::TPipe& pipe, const SfaaTiling& tiling, const Arguments& args) {
    switch (sfaa_cache_form(static_cast<KvLayout>(tiling.cache_layout))) {
        case SfaaCacheForm::ROWS:
            return run_cube<HEAD_DIM, SfaaCacheForm::ROWS>(pipe, tiling, args);
        case SfaaCacheForm::PLANES:
            return run_cube<HEAD_DIM, SfaaCacheForm::PLANES>(pipe, tiling, args);
        case SfaaCacheForm::TWINS:
            return run_cube<HEAD_DIM, SfaaCacheForm::TWINS>(pipe, tiling, args);
    }
}

template <int32_t HEAD_DIM>
SALS_DEVICE void run_vector_of(AscendC::TPipe& pipe, const SfaaTiling& tiling, const Arguments& args) {
    if (tiling.dtype == static_cast<int32_t>(SfaaDType::BFLOAT16)) {
        run_vector<HEAD_DIM, bfloat16_t>(pipe, tiling, args);
    } else {
        run_vector<HEAD_DIM, half>(pipe, tiling, args);
    }
}

template <int32_t HEAD_DIM>
SALS_DEVICE void run(AscendC::TPipe& pipe, const SfaaTiling& tiling, const Arguments& args) {
    if ASCEND_IS_AIC {
        run_cube_of<HEAD_DIM>(pipe, tiling, args);
    }
    if ASCEND_IS_AIV {
        run_vector_of<HEAD_DIM>(pipe, tiling, args);
    }
}

SALS_DEVICE void dispatch(AscendC::TPipe& pipe, const SfaaTiling& tiling, const Arguments& args) {
    switch (tiling.head_dim) {
        case 64:
            return run<64>(pipe, tiling, args);
        case 128:
            return run<128>(pipe, tiling, args);
        case 256:
            return run<256>(pipe, tiling, args);
        default:
            SALS_ASSERT(false, "head_dim must be 64, 128 or 256");
    }
}

}  // namespace sals::sfaa

extern "C" __global__ __aicore__ void sals_sfaa(GM_ADDR query, GM_ADDR key_cache, GM_ADDR value_cache,
                                                GM_ADDR key_scale, GM_ADDR value_scale, GM_ADDR block_ids,
                                                GM_ADDR selected_lens, GM_ADDR seq_lens, GM_ADDR query_lens,
                                                GM_ADDR query_start_loc, GM_ADDR block_table, GM_ADDR plan,
                                                GM_ADDR out, GM_ADDR lse, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    REGISTER_TILING_DEFAULT(sals::SfaaTiling);  // tells CANN how much room the tiling needs
    (void)selected_lens;                        // for balance only: what is visible follows from seq_lens
    const int32_t cores = static_cast<int32_t>(AscendC::GetBlockNum());
    sals::preload_lines(tiling, 0, (sizeof(sals::SfaaTiling) - 1) / sals::AtlasA2::CACHE_LINE_BYTES + 1);
    sals::PlanReader::preload_tiles(plan, cores);
    const sals::SfaaTiling sizes = sals::sfaa::read_tiling(tiling);
    const sals::sfaa::Arguments args = {query,
                                        key_cache,
                                        value_cache,
                                        key_scale,
                                        value_scale,
                                        block_ids,
                                        seq_lens,
                                        query_lens,
                                        query_start_loc,
                                        block_table,
                                        plan,
                                        out,
                                        lse,
                                        AscendC::GetUserWorkspace(workspace)};
    sals::PlanReader::preload_rows(plan, cores);
    if (sizes.batch > 0) sals::preload_lines(seq_lens, 0, 1);
    AscendC::TPipe pipe;
    sals::sfaa::dispatch(pipe, sizes, args);
}
