// SPDX-License-Identifier: Apache-2.0
// kernel.h - the schedule of write_cache. Tokens are divided evenly over the vector cores. A core takes up to
// 16 of them at a time, finds out which are to be written, and goes through their heads, each a strip:
//     MTE2  |slots|   |key |value |index key|tile|tile|   |key
//     V        |search|  |quantise|quantise |products |quantise|
//     MTE3                        |keys     |values   |        |index
#pragma once
#include "common/even_share.h"
#include "strips/project.h"
#include "strips/quantize.h"
#include "strips/results.h"
#include "write_cache/cache_rows.h"
#include "write_cache/channel_scales.h"

namespace sals::write_cache {

template <class Vector>
class Kernel {
public:
    SALS_DEVICE Kernel(const AscendC::LocalTensor<uint8_t>& ub, const WriteCacheTiling& tiling,
                       const Arguments& args)
        : ub_(ub),
          tiling_(tiling),
          slots_(ub, tiling, args),
          channels_(ub, tiling),
          load_(ub, tiling.head_dim, round_up(tiling.row_bytes, AtlasA2::DATABLOCK_BYTES)),
          project_(ub, load_, projection(tiling), args.index_key, args.projection),
          quantize_(ub),
          results_(ub),
          keys_{CacheRows(kv_cache_shape(tiling), args.key_cache, false), global_tensor<Vector>(args.key),
                global_tensor<float>(args.key_scale)},
          values_{CacheRows(kv_cache_shape(tiling), value_cache(args), true),
                  global_tensor<Vector>(args.value), global_tensor<float>(args.value_scale)},
          index_rows_(index_cache_shape(tiling), args.index_cache, false) {
        gm_index_scale_ = global_tensor<float>(args.index_scale);
    }

    SALS_DEVICE void run(int32_t core, int32_t cores) {
        const RowRange share = even_share(tiling_.tokens, core, cores);
        open();
        for (int32_t first = share.begin; first < share.end; first += STRIP_TOKENS) {
            const int32_t tokens = smaller(STRIP_TOKENS, share.end - first);
            slots_.find(first, tokens);
            if (slots_.live() != 0) write(first, tokens);
        }
        close();
    }

private:
    struct Component {  // keys or values
        CacheRows rows;
        AscendC::GlobalTensor<Vector> vectors;
        AscendC::GlobalTensor<float> scales;
    };

    SALS_DEVICE static strips::Projection projection(const WriteCacheTiling& t) {
        return {t.heads_per_index, 1, t.head_dim, t.rank, t.n_kv};
    }

    SALS_DEVICE static GM_ADDR value_cache(const Arguments& args) {
        return args.value_cache != nullptr ? args.value_cache : args.key_cache;
    }

    SALS_DEVICE void open() {
        slots_.open();
        channels_.open();
        load_.open();
        project_.open();
        quantize_.open();
        results_.open();
    }

    SALS_DEVICE void close() {
        results_.close();
        project_.close();
        load_.close();
        channels_.close();
        slots_.close();
    }

    SALS_DEVICE void write(int32_t first, int32_t tokens) {
        for (int32_t head = 0; head < tiling_.n_kv; ++head) {
            write_vectors(keys_, head, first, tokens);
            write_vectors(values_, head, first, tokens);
        }
        for (int32_t head = 0; head < tiling_.n_idx; ++head) write_index(head, first, tokens);
    }

    SALS_DEVICE void write_vectors(Component& component, int32_t head, int32_t first, int32_t tokens) {
        const Floats x = view<float>(ub_, offsetof(strips::StripPlan, values));
        const int32_t columns = load_.columns();
        load_.run(x, component.vectors, tiling_.n_kv, head, first, tokens);
        if (tiling_.static_scales) {
            channels_.load(component.scales, head);
            quantize_.divide_by_channels(x, channels_.divisors(), tokens, columns);
        } else {
            quantize_.divide_by_row_scales(x, tokens, columns, strips::INT8_CODES);
        }
        results_.acquire();
        quantize_.narrow(results_.codes(), x, tokens * columns, strips::INT8_CODES);
        if (!tiling_.static_scales) {
            quantize_.spread_scales(results_.scale_lanes(), quantize_.scales(), tokens);
        }
        store(component.rows, component.scales, !tiling_.static_scales, head, tokens, columns);
    }

    SALS_DEVICE void write_index(int32_t head, int32_t first, int32_t tokens) {
        const Floats latents = project_.latents();
        project_.run(head, first, tokens, slots_.live());
        quantize_.divide_by_row_scales(latents, tokens, tiling_.rank, strips::INT4_CODES);
        results_.acquire();
        quantize_.narrow(results_.codes<AscendC::int4b_t>(), latents, tokens * tiling_.rank,
                         strips::INT4_CODES);
        quantize_.spread_scales(results_.scale_lanes(), quantize_.scales(), tokens);
        store(index_rows_, gm_index_scale_, true, head, tokens, tiling_.rank / 2);
    }

    // Rows of codes are row_stride bytes apart in the result.
    SALS_DEVICE void store(CacheRows& rows, const AscendC::GlobalTensor<float>& gm_scales, bool has_scales,
                           int32_t head, int32_t tokens, int32_t row_stride) {
        results_.publish();
        for (int32_t t = 0; t < tokens; ++t) {
            if (!slots_.is_live(t)) continue;
            const Place place = slots_.place(t);
            rows.store(place, head, results_.codes()[t * row_stride]);
            if (has_scales) {
                rows.store_scale(gm_scales, place, head, results_.scale_lanes()[t * F32_DATABLOCK]);
            }
        }
        results_.release();
    }

    AscendC::LocalTensor<uint8_t> ub_;
    const WriteCacheTiling& tiling_;
    SlotList slots_;
    ChannelScales channels_;
    strips::LoadVectors<Vector> load_;
    strips::Project<Vector> project_;
    strips::Quantize quantize_;
    strips::Results results_;
    Component keys_, values_;
    CacheRows index_rows_;
    AscendC::GlobalTensor<float> gm_index_scale_;
};

template <class Vector>
SALS_DEVICE void run(const WriteCacheTiling& tiling, const Arguments& args) {
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> ub;
    pipe.InitBuffer(ub, sizeof(UbPlan));
    Kernel<Vector>(ub.Get<uint8_t>(), tiling, args)
        .run(static_cast<int32_t>(AscendC::GetBlockIdx()), static_cast<int32_t>(AscendC::GetBlockNum()));
}

}  // namespace sals::write_cache
