// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernel_launch.h"
#include "cuda/sfaa_kernel.h"

namespace sals::cuda {
namespace {

template <int HEAD_DIM, int SLICES, bool STATIC, bool CLAMPS>
int run(const SfaaArguments& a, const Device& device) {
    const int64_t blocks = sfaa_arrivals(a.tiling) * sfaa_splits(a.tiling);
    if (blocks == 0) return 0;
    const Shape shape = {static_cast<int32_t>(blocks), SFAA_THREADS, sfaa_shared_bytes<HEAD_DIM, SLICES>()};
    return launch(sfaa_kernel<HEAD_DIM, SLICES, STATIC, CLAMPS>, shape, device, a);
}

template <int HEAD_DIM, int SLICES, bool STATIC>
int run_ends(const SfaaArguments& a, const Device& device) {
    const bool clamps = a.requests.page_size % a.tiling.block_size != 0;
    return clamps ? run<HEAD_DIM, SLICES, STATIC, true>(a, device)
                  : run<HEAD_DIM, SLICES, STATIC, false>(a, device);
}

template <int HEAD_DIM, int SLICES>
int run_scales(const SfaaArguments& a, const Device& device) {
    return a.tiling.static_scales ? run_ends<HEAD_DIM, SLICES, true>(a, device)
                                  : run_ends<HEAD_DIM, SLICES, false>(a, device);
}

template <int HEAD_DIM>
int run_slices(const SfaaArguments& a, const Device& device) {
    return sfaa_pass_slices(a.tiling) == 1 ? run_scales<HEAD_DIM, 1>(a, device)
                                           : run_scales<HEAD_DIM, 2>(a, device);
}

}  // namespace

int64_t sfaa_part_floats(const SfaaTiling& t) {
    if (sfaa_splits(t) == 1) return 0;
    const int64_t row = padded_head_dim(t.head_dim) + 2;
    return sfaa_arrivals(t) * sfaa_splits(t) * sfaa_most_pass_rows(t) * row;
}

int64_t sfaa_arrivals(const SfaaTiling& t) { return int64_t{sfaa_rows(t)} * sfaa_passes(t); }

int launch_sfaa(const SfaaArguments& a, const Device& device) {
    switch (padded_head_dim(a.tiling.head_dim)) {
        case 64:
            return run_slices<64>(a, device);
        case 128:
            return run_slices<128>(a, device);
        default:
            return run_slices<256>(a, device);
    }
}

}  // namespace sals::cuda
