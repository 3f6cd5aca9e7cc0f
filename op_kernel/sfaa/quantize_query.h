// SPDX-License-Identifier: Apache-2.0
// quantize_query.h - vector stage: both int8 terms of the query rows of a pass.
//     q = query * key_scale[channel] * sign(scale)           per-token scales join the scores instead
//     terms = q * 127 / amax,  factor = amax / 127 * |scale|,  amax = max |q| of the row
// Runs on   both vector cores of a group, a share of the rows each
// Path      query, key_scale --MTE2--> ub --V--> ub_first, ub_second --MTE3--> ws_query
// Writes    ws_query [terms][rows of the pass][head_dim] int8
// Hands to  qk_matmul.h, by V2C_QUERY_FULL; factors stay in UB for softmax.h
#pragma once
#include "sfaa/vector_memory.h"

namespace sals::sfaa {

template <int32_t HEAD_DIM, class Query>
class QuantizeQuery {
public:
    SALS_DEVICE QuantizeQuery(const VectorMemory& memory, const Arguments& args, GM_ADDR exchange)
        : memory_(memory), tiling_(memory.tiling()), rings_(sfaa_rings(tiling_)), exchange_(exchange) {
        gm_query_ = global_tensor<Query>(args.query);
        gm_key_scale_ = global_tensor<float>(args.key_scale);
    }

    SALS_DEVICE void open() { SetFlag<HardEvent::MTE3_V>(UB_TERMS_EMPTY); }
    SALS_DEVICE void close() { WaitFlag<HardEvent::MTE3_V>(UB_TERMS_EMPTY); }

    SALS_DEVICE void run(const Pass& pass) {
        const RowShare share = memory_.share(pass);
        if (share.count > 0) load(pass, share);
        for (int32_t done = 0; done < share.count; done += CHUNK_ROWS) {
            const int32_t rows = smaller(CHUNK_ROWS, share.count - done);
            quantize(pass, done, rows);
            store(pass, share.begin + done, rows);
        }
        if (share.count > 0) SetFlag<HardEvent::V_MTE2>(UB_PRODUCTS_EMPTY);
        AscendC::CrossCoreSetFlag<MODE_CUBE_VECTOR, PIPE_MTE3>(V2C_QUERY_FULL);
    }

private:
    using HardEvent = AscendC::HardEvent;
    static constexpr int32_t CHUNK_ROWS = CHUNK_VALUES / HEAD_DIM;
    static constexpr float SMALLEST = 1e-30F;  // keeps quotients finite, and masked logits far away

    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> part(uint32_t offset) const {
        return memory_.part<T>(offsetof(UbPlan, query) + offset);
    }
    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> rows_part(uint32_t offset) const {
        return memory_.part<T>(offsetof(UbPlan, query_rows) + offset);
    }

    SALS_DEVICE void load(const Pass& pass, const RowShare& share) {
        const auto query = rows_part<Query>(offsetof(QueryRowsPlan, rows));
        WaitFlag<HardEvent::V_MTE2>(UB_PRODUCTS_EMPTY);
        for_each_segment(tiling_, pass.row, pass.query_begin + share.begin, share.count,
                         [&](const RowSegment& segment) {
                             DataCopy(query[segment.at * HEAD_DIM],
                                      gm_query_[static_cast<uint64_t>(segment.head * HEAD_DIM)],
                                      static_cast<uint32_t>(segment.count * HEAD_DIM));
                         });
        if (tiling_.static_scales) {
            DataCopy(rows_part<float>(offsetof(QueryRowsPlan, channels)),
                     gm_key_scale_[static_cast<uint64_t>(pass.row.head) * HEAD_DIM],
                     static_cast<uint32_t>(HEAD_DIM));
        }
        SetFlag<HardEvent::MTE2_V>(UB_PRODUCTS_FULL);
        WaitFlag<HardEvent::MTE2_V>(UB_PRODUCTS_FULL);
    }

    // Rows [at, at + rows) of the share.
    SALS_DEVICE void quantize(const Pass& pass, int32_t at, int32_t rows) {
        const Shape shape = {rows, HEAD_DIM};
        const Floats values = rows_part<float>(offsetof(QueryRowsPlan, values));
        const Floats scratch = rows_part<float>(offsetof(QueryRowsPlan, scratch));
        Cast(values, rows_part<Query>(offsetof(QueryRowsPlan, rows))[at * HEAD_DIM],
             AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(shape.size()));
        if (tiling_.static_scales)
            multiply_columns(values, rows_part<float>(offsetof(QueryRowsPlan, channels)), shape);

        AscendC::PipeBarrier<PIPE_V>();
        Abs(scratch, values, shape.size());
        fold_rows<Fold::MAX>(memory_.per_row(0), scratch, memory_.fold_scratch(), shape);
        find_factors(pass, at, rows);
        multiply_rows(values, memory_.lanes(0), shape);
        round_to_whole(values, shape.size());
        WaitFlag<HardEvent::MTE3_V>(UB_TERMS_EMPTY);
        split_terms(part<int8_t>(offsetof(QueryPlan, first)), part<int8_t>(offsetof(QueryPlan, second)),
                    values, shape.size());
        SetFlag<HardEvent::V_MTE3>(UB_TERMS_FULL);
    }

    // From amax in per_row(0): lanes(0) = 127 * 256 / amax with the sign of the scale, and the factors.
    SALS_DEVICE void find_factors(const Pass& pass, int32_t at, int32_t rows) {
        const Floats amax = memory_.per_row(0);
        const Floats inverse = memory_.per_row(1);
        const Floats factors = memory_.factors(pass.number)[at];
        const bool is_negative = tiling_.scale < 0.0F;
        const float scale = is_negative ? -tiling_.scale : tiling_.scale;
        Duplicate(inverse, is_negative ? -FULL_SCALE : FULL_SCALE, rows);
        AscendC::PipeBarrier<PIPE_V>();
        Maxs(amax, amax, SMALLEST, rows);
        AscendC::PipeBarrier<PIPE_V>();
        Div(inverse, inverse, amax, rows);
        Muls(factors, amax, scale / FIRST_TERM, rows);
        AscendC::PipeBarrier<PIPE_V>();
        Maxs(factors, factors, SMALLEST, rows);
        spread_rows(memory_.lanes(0), inverse, rows);
        Brcb(memory_.factor_lanes(pass.number)[at * F32_DATABLOCK], factors,
             static_cast<uint8_t>((rows + F32_DATABLOCK - 1) / F32_DATABLOCK), {1, F32_DATABLOCK});
    }

    SALS_DEVICE void store(const Pass& pass, int32_t begin, int32_t rows) {
        const auto terms = global_tensor<int8_t>(exchange_ + rings_.query(pass.number % SFAA_QUERY_SLOTS));
        const uint32_t bytes = rows * HEAD_DIM;
        WaitFlag<HardEvent::V_MTE3>(UB_TERMS_FULL);
        DataCopy(terms[static_cast<uint64_t>(begin * HEAD_DIM)], part<int8_t>(offsetof(QueryPlan, first)),
                 bytes);
        DataCopy(terms[static_cast<uint64_t>((pass.query_rows + begin) * HEAD_DIM)],
                 part<int8_t>(offsetof(QueryPlan, second)), bytes);
        SetFlag<HardEvent::MTE3_V>(UB_TERMS_EMPTY);
    }

    const VectorMemory& memory_;
    const SfaaTiling& tiling_;
    SfaaRings rings_;
    GM_ADDR exchange_;  // rings of this core group
    AscendC::GlobalTensor<Query> gm_query_;
    AscendC::GlobalTensor<float> gm_key_scale_;
};

}  // namespace sals::sfaa
