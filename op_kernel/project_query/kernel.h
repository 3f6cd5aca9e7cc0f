// SPDX-License-Identifier: Apache-2.0
// kernel.h - the schedule of project_query. Units of work are (index head, token), counted head by head and
// divided evenly over the vector cores, so that a core mostly meets one head's projection. It takes up to 16
// tokens of a head at a time:
//     MTE2  |query heads|tile|tile|tile|   |query heads|...
//     V           |mean       |products, sums |quantise|   |mean
//     MTE3                                             |store|
#pragma once
#include "common/even_share.h"
#include "sals/project_query_tiling.h"
#include "strips/project.h"
#include "strips/quantize.h"
#include "strips/results.h"

namespace sals::project_query {

using strips::Floats;
using strips::StripPlan;
static_assert(sizeof(StripPlan) <= AtlasA2::UB_BYTES, "the UB plan of project_query exceeds the UB");

struct Arguments {
    GM_ADDR query;        // fp16, bf16 or fp32 [tokens, n_q, head_dim]
    GM_ADDR projection;   // fp32 [n_idx, in_dim, rank]
    GM_ADDR packed;       // int4 [tokens, n_idx, rank]
    GM_ADDR query_scale;  // fp32 [tokens, n_idx]
};

template <class Vector>
class Kernel {
public:
    SALS_DEVICE Kernel(const AscendC::LocalTensor<uint8_t>& ub, const ProjectQueryTiling& tiling,
                       const Arguments& args)
        : tiling_(tiling),
          load_(ub, tiling.head_dim, tiling.head_dim),
          project_(ub, load_, projection(tiling), args.query, args.projection),
          quantize_(ub),
          results_(ub) {
        gm_packed_ = global_tensor<int8_t>(args.packed);
        gm_query_scale_ = global_tensor<float>(args.query_scale);
    }

    SALS_DEVICE void run(int32_t core, int32_t cores) {
        const RowRange units = even_share(tiling_.tokens * tiling_.n_idx, core, cores);
        load_.open();
        project_.open();
        quantize_.open();
        results_.open();
        for (int32_t unit = units.begin; unit < units.end;) {
            const int32_t first = unit % tiling_.tokens;
            const int32_t tokens = smaller(smaller(units.end - unit, tiling_.tokens - first), STRIP_TOKENS);
            run_strip(unit / tiling_.tokens, first, tokens);
            unit += tokens;
        }
        results_.close();
        project_.close();
        load_.close();
    }

private:
    SALS_DEVICE static strips::Projection projection(const ProjectQueryTiling& t) {
        return {t.heads_per_index, t.group, t.head_dim, t.rank, t.n_q};
    }

    SALS_DEVICE void run_strip(int32_t head, int32_t first, int32_t tokens) {
        const Floats latents = project_.latents();
        const Floats scales = quantize_.scales();
        project_.run(head, first, tokens, ~uint32_t{0});
        quantize_.divide_by_row_scales(latents, tokens, tiling_.rank, strips::INT4_CODES);
        results_.acquire();
        quantize_.narrow(results_.codes<AscendC::int4b_t>(), latents, tokens * tiling_.rank,
                         strips::INT4_CODES);
        Muls(scales, scales, tiling_.scale, tokens);
        quantize_.spread_scales(results_.scale_lanes(), scales, tokens);
        results_.publish();
        store(head, first, tokens);
        results_.release();
    }

    SALS_DEVICE void store(int32_t head, int32_t first, int32_t tokens) {
        const uint64_t row = static_cast<uint64_t>(first) * tiling_.n_idx + head;
        const uint32_t row_bytes = tiling_.rank / 2;
        const uint32_t other_heads = tiling_.n_idx - 1;
        const AscendC::DataCopyExtParams rows(tokens, row_bytes, 0, other_heads * row_bytes, 0);
        const AscendC::DataCopyExtParams words(tokens, sizeof(float), 0, other_heads * sizeof(float), 0);
        DataCopyPad(gm_packed_[row * row_bytes], results_.codes(), rows);
        DataCopyPad(gm_query_scale_[row], results_.scale_lanes(), words);
    }

    const ProjectQueryTiling& tiling_;
    strips::LoadVectors<Vector> load_;
    strips::Project<Vector> project_;
    strips::Quantize quantize_;
    strips::Results results_;
    AscendC::GlobalTensor<int8_t> gm_packed_;
    AscendC::GlobalTensor<float> gm_query_scale_;
};

template <class Vector>
SALS_DEVICE void run(const ProjectQueryTiling& tiling, const Arguments& args) {
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> ub;
    pipe.InitBuffer(ub, sizeof(StripPlan));
    Kernel<Vector>(ub.Get<uint8_t>(), tiling, args)
        .run(static_cast<int32_t>(AscendC::GetBlockIdx()), static_cast<int32_t>(AscendC::GetBlockNum()));
}

}  // namespace sals::project_query
