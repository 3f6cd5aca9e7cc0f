// SPDX-License-Identifier: Apache-2.0
// project.h - latents of an index head for a strip of tokens, in fp32.
//     latent[t][r] = sum over i of x[t][i] * projection[i][r]
//     x[t]         = means of the query groups of one KV head, or of all of them side by side
// Runs on   vector cores. The cube multiplies fp32, too, but in an order of its own; here products are added
//           in that of the CPU operator, so that both agree bit for bit. And a strip has at most 16 rows,
//           whose inputs and latents would have to pass through global memory
// Path      gm_projection --MTE2--> ub_tile --V--> products --V--> latents
// A tile is some rows of the projection. Its products with one token's values are one instruction per 64
// ranks, and so is adding them up: an Add whose second source and destination stay in place from repeat to
// repeat goes through the rows in ascending order.
#pragma once
#include "strips/load_vectors.h"

namespace sals::strips {

struct Projection {
    int32_t heads_per_index;  // KV heads joined in one latent
    int32_t group;            // vectors of a KV head, of which the mean is taken
    int32_t head_dim;
    int32_t rank;
    int32_t heads;  // of all vectors of a token
};

template <class Vector>
class Project {
public:
    SALS_DEVICE Project(const AscendC::LocalTensor<uint8_t>& ub, LoadVectors<Vector>& load,
                        const Projection& shape, GM_ADDR vectors, GM_ADDR projection)
        : ub_(ub), load_(load), shape_(shape), tile_rows_(TILE_FLOATS / shape.rank) {
        gm_vectors_ = global_tensor<Vector>(vectors);
        gm_projection_ = global_tensor<float>(projection);
    }

    SALS_DEVICE void open() {
        for (int32_t slot = 0; slot < TILE_SLOTS; ++slot) SetFlag<HardEvent::V_MTE2>(TILE_EMPTY + slot);
    }

    SALS_DEVICE void close() {
        for (int32_t slot = 0; slot < TILE_SLOTS; ++slot) WaitFlag<HardEvent::V_MTE2>(TILE_EMPTY + slot);
    }

    SALS_DEVICE Floats latents() const { return view<float>(ub_, offsetof(StripPlan, latents)); }

    // Latents [tokens][rank] of an index head. Tokens whose bit in `live` is 0 get zeros; one is 1 at least.
    // No earlier vector instruction may still write the latents: this does not wait.
    SALS_DEVICE void run(int32_t index_head, int32_t first, int32_t tokens, uint32_t live) {
        fill(latents(), 0.0F, tokens * shape_.rank);
        for (int32_t h = 0; h < shape_.heads_per_index; ++h) {
            const int32_t kv_head = index_head * shape_.heads_per_index + h;
            load_mean(kv_head, first, tokens);
            for (int32_t begin = 0; begin < shape_.head_dim; begin += tile_rows_) {
                const int32_t rows = smaller(tile_rows_, shape_.head_dim - begin);
                const auto tile = take_tile(int64_t{kv_head} * shape_.head_dim + begin, rows);
                for (int32_t t = 0; t < tokens; ++t) {
                    if (live >> t & 1) add_products(t, begin, rows, tile);
                }
                release_tile();
            }
        }
    }

private:
    using HardEvent = AscendC::HardEvent;

    SALS_DEVICE Floats values() const { return view<float>(ub_, offsetof(StripPlan, values)); }

    // Values = mean of the group's vectors, added in order.
    SALS_DEVICE void load_mean(int32_t kv_head, int32_t first, int32_t tokens) {
        const Floats further = view<float>(ub_, offsetof(StripPlan, scratch));
        const int32_t count = tokens * load_.columns();
        const int32_t head = kv_head * shape_.group;
        load_.run(values(), gm_vectors_, shape_.heads, head, first, tokens);
        if (shape_.group == 1) return;
        for (int32_t g = 1; g < shape_.group; ++g) {
            load_.run(further, gm_vectors_, shape_.heads, head + g, first, tokens);
            AscendC::PipeBarrier<PIPE_V>();
            Add(values(), values(), further, count);
        }
        fill(further, static_cast<float>(shape_.group), count);
        AscendC::PipeBarrier<PIPE_V>();
        Div(values(), values(), further, count);
    }

    // Rows of the projections, counted over all index heads.
    SALS_DEVICE Floats take_tile(int64_t first_row, int32_t rows) {
        const Floats tile =
            view<float>(ub_, offsetof(StripPlan, tiles) + slot_ * sizeof(StripPlan::tiles[0]));
        WaitFlag<HardEvent::V_MTE2>(TILE_EMPTY + slot_);
        DataCopy(tile, gm_projection_[static_cast<uint64_t>(first_row * shape_.rank)],
                 static_cast<uint32_t>(rows * shape_.rank));
        SetFlag<HardEvent::MTE2_V>(TILE_FULL + slot_);
        WaitFlag<HardEvent::MTE2_V>(TILE_FULL + slot_);
        return tile;
    }

    SALS_DEVICE void release_tile() {
        SetFlag<HardEvent::V_MTE2>(TILE_EMPTY + slot_);
        slot_ = (slot_ + 1) % TILE_SLOTS;
    }

    // Channels [begin, begin + rows) of token t.
    SALS_DEVICE void add_products(int32_t t, int32_t begin, int32_t rows, const Floats& tile) {
        const Floats factors = view<float>(ub_, offsetof(StripPlan, factor_lanes));
        const Floats products = view<float>(ub_, offsetof(StripPlan, products));
        const Floats latent = latents()[t * shape_.rank];
        const uint8_t row_stride = static_cast<uint8_t>(shape_.rank / F32_DATABLOCK);
        AscendC::PipeBarrier<PIPE_V>();
        Brcb(factors, values()[t * load_.columns() + begin], static_cast<uint8_t>(rows / F32_DATABLOCK),
             {1, F32_DATABLOCK});
        AscendC::PipeBarrier<PIPE_V>();
        for (int32_t r = 0; r < shape_.rank; r += F32_LANES) {
            Mul(products[r], tile[r], factors, F32_LANES, rows,
                AscendC::BinaryRepeatParams(1, 1, 0, row_stride, row_stride, 1));
        }
        AscendC::PipeBarrier<PIPE_V>();
        for (int32_t r = 0; r < shape_.rank; r += F32_LANES) {
            Add(latent[r], products[r], latent[r], F32_LANES, rows,
                AscendC::BinaryRepeatParams(1, 1, 1, 0, row_stride, 0));
        }
    }

    AscendC::LocalTensor<uint8_t> ub_;
    LoadVectors<Vector>& load_;
    Projection shape_;
    int32_t tile_rows_;
    AscendC::GlobalTensor<Vector> gm_vectors_;
    AscendC::GlobalTensor<float> gm_projection_;
    int32_t slot_ = 0;
};

}  // namespace sals::strips
