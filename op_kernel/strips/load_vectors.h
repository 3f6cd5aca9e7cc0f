// SPDX-License-Identifier: Apache-2.0
// load_vectors.h - one head of consecutive tokens as fp32 rows.
// Path      gm [tokens, heads, head_dim] --MTE2--> ub_input --V--> rows [tokens][columns]
// Columns beyond head_dim come out as zeros.
#pragma once
#include "strips/sync.h"

namespace sals::strips {

template <class Vector>  // half, bfloat16_t or float
class LoadVectors {
public:
    SALS_DEVICE LoadVectors(const AscendC::LocalTensor<uint8_t>& ub, int32_t head_dim, int32_t columns)
        : ub_(ub), head_dim_(head_dim), columns_(columns) {}

    SALS_DEVICE void open() {
        fill(view<float>(ub_, offsetof(StripPlan, input)), 0.0F, INPUT_SLOTS * STRIP_FLOATS);
        for (int32_t slot = 0; slot < INPUT_SLOTS; ++slot) SetFlag<HardEvent::V_MTE2>(INPUT_EMPTY + slot);
    }

    SALS_DEVICE void close() {
        for (int32_t slot = 0; slot < INPUT_SLOTS; ++slot) WaitFlag<HardEvent::V_MTE2>(INPUT_EMPTY + slot);
    }

    SALS_DEVICE int32_t columns() const { return columns_; }

    // Head `head` of `heads`, of the tokens [first, first + tokens). No earlier vector instruction may still
    // write the rows: this does not wait.
    SALS_DEVICE void run(const Floats& rows, const AscendC::GlobalTensor<Vector>& vectors, int32_t heads,
                         int32_t head, int32_t first, int32_t tokens) {
        const auto input =
            view<Vector>(ub_, offsetof(StripPlan, input) + slot_ * sizeof(StripPlan::input[0]));
        const uint32_t row_bytes = head_dim_ * sizeof(Vector);
        const uint32_t padding = (columns_ - head_dim_) * sizeof(Vector) / AtlasA2::DATABLOCK_BYTES;
        const AscendC::DataCopyExtParams strided(tokens, row_bytes, (heads - 1) * row_bytes, padding, 0);
        WaitFlag<HardEvent::V_MTE2>(INPUT_EMPTY + slot_);
        DataCopyPad(input, vectors[(uint64_t(first) * heads + head) * head_dim_], strided,
                    AscendC::DataCopyPadExtParams<Vector>());
        SetFlag<HardEvent::MTE2_V>(INPUT_FULL + slot_);
        WaitFlag<HardEvent::MTE2_V>(INPUT_FULL + slot_);
        convert(rows, input, tokens * columns_);
        SetFlag<HardEvent::V_MTE2>(INPUT_EMPTY + slot_);
        slot_ = (slot_ + 1) % INPUT_SLOTS;
    }

private:
    using HardEvent = AscendC::HardEvent;

    SALS_DEVICE static void convert(const Floats& rows, const Floats& input, int32_t count) {
        Adds(rows, input, 0.0F, count);
    }
    template <class Narrow>
    SALS_DEVICE static void convert(const Floats& rows, const AscendC::LocalTensor<Narrow>& input,
                                    int32_t count) {
        Cast(rows, input, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    }

    AscendC::LocalTensor<uint8_t> ub_;
    int32_t head_dim_;
    int32_t columns_;
    int32_t slot_ = 0;
};

}  // namespace sals::strips
