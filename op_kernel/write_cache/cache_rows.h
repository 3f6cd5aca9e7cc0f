// SPDX-License-Identifier: Apache-2.0
// cache_rows.h - stores rows of codes, and scales, at their places in a cache.
// Path      ub_codes, ub_scale_lanes --MTE3--> cache, scales
#pragma once
#include "common/vector_ops.h"
#include "sals/kv_layout.h"
#include "write_cache/slot_list.h"

namespace sals::write_cache {

class CacheRows {
public:
    // `cache` holds keys and values if it is that of PA_KV.
    SALS_DEVICE CacheRows(const CacheShape& shape, GM_ADDR cache, bool is_value)
        : shape_(shape), is_value_(is_value) {
        gm_cache_ = global_tensor<int8_t>(cache);
    }

    SALS_DEVICE void store(const Place& place, int32_t head, const AscendC::LocalTensor<int8_t>& row) {
        const RowGeometry geometry = row_geometry(shape_, place.page, head, is_value_);
        const bool is_one_piece = geometry.plane_stride == PLANE_BYTES;
        const int64_t piece = is_one_piece ? shape_.row_bytes : PLANE_BYTES;
        const AscendC::DataCopyExtParams pieces(
            static_cast<uint16_t>(shape_.row_bytes / piece), static_cast<uint32_t>(piece), 0,
            static_cast<uint32_t>(geometry.plane_stride - PLANE_BYTES), 0);
        DataCopyPad(gm_cache_[static_cast<uint64_t>(row_byte(geometry, place.offset, 0))], row, pieces);
    }

    SALS_DEVICE void store_scale(const AscendC::GlobalTensor<float>& gm_scales, const Place& place,
                                 int32_t head, const AscendC::LocalTensor<float>& lane) {
        const ScaleGeometry geometry = scale_geometry(shape_, place.page, head);
        const AscendC::DataCopyExtParams word(1, sizeof(float), 0, 0, 0);
        DataCopyPad(gm_scales[static_cast<uint64_t>(geometry.base + place.offset * geometry.token_stride)],
                    lane, word);
    }

private:
    CacheShape shape_;
    bool is_value_;
    AscendC::GlobalTensor<int8_t> gm_cache_;
};

}  // namespace sals::write_cache
