// SPDX-License-Identifier: Apache-2.0
// softmax_flash_v2.h - SoftmaxFlashV2: exp(x - maximum) by rows, the rows' maxima and sums, and with isUpdate
// the factor exp(old maximum - new maximum) that rescales what came before.
#pragma once
#include <type_traits>

#include "ascendc/data_copy.h"
#include "ascendc/softmax_rows.h"

namespace AscendC {

namespace internal {

// Statistics of the first rows, seen from row `row` on.
struct SoftmaxStatistics {
    Floats exp_sum, max, exp_max, in_exp_sum, in_max;

    SoftmaxStatistics from(uint32_t element) const {
        return {exp_sum[element], max[element], exp_max[element], in_exp_sum[element], in_max[element]};
    }
};

// One step: as many rows as the scratch holds.
template <bool IS_UPDATE, SoftmaxMode MODE>
class SoftmaxStep {
public:
    static constexpr bool SPREAD = MODE == SoftmaxMode::SOFTMAX_NORMAL;
    static constexpr uint32_t PER_ROW = SPREAD ? SOFTMAX_BLOCK : 1;

    // `scratch`: a repeat per row, then a datablock per row.
    SoftmaxStep(const SoftmaxRows& rows, const Floats& scratch)
        : rows_(rows),
          count_(static_cast<int32_t>(rows.count * PER_ROW)),
          wide_(scratch),
          values_(scratch[rows.count * SOFTMAX_LANES]),
          result_(SPREAD ? wide_ : values_) {}

    void run(const Floats& dst, const Floats& src, const SoftmaxStatistics& statistics) const {
        reduce<RowMaxima>(src);
        if constexpr (IS_UPDATE) rescale_maxima(statistics);
        copy(statistics.max);
        if constexpr (!SPREAD) {
            spread_rows(wide_, values_, rows_);
            rows_.barrier();
        }
        subtract_from_rows(dst, src, wide_, rows_);
        rows_.barrier();
        Exp(dst, dst, static_cast<int32_t>(rows_.count * rows_.pitch), rows_.where);
        rows_.barrier();
        reduce<RowSums>(dst);
        if constexpr (IS_UPDATE) {
            rescale_sums(statistics);
        } else {
            copy(statistics.exp_sum);
        }
        rows_.barrier();
    }

private:
    // A value per row into `result_`, in the form that statistics have.
    template <class Reduction>
    void reduce(const Floats& src) const {
        reduce_rows<Reduction>(values_, src, wide_, rows_);
        rows_.barrier();
        if constexpr (SPREAD) {
            spread_rows(wide_, values_, rows_);
            rows_.barrier();
        }
    }

    void rescale_maxima(const SoftmaxStatistics& statistics) const {
        Max(result_, result_, statistics.in_max, count_, rows_.where);
        rows_.barrier();
        Sub(statistics.exp_max, statistics.in_max, result_, count_, rows_.where);
        rows_.barrier();
        Exp(statistics.exp_max, statistics.exp_max, count_, rows_.where);
    }

    void rescale_sums(const SoftmaxStatistics& statistics) const {
        Mul(statistics.exp_sum, statistics.exp_max, statistics.in_exp_sum, count_, rows_.where);
        rows_.barrier();
        Add(statistics.exp_sum, statistics.exp_sum, result_, count_, rows_.where);
    }

    // The maximum of a value and itself: a copy of any number of lanes.
    void copy(const Floats& dst) const { Max(dst, result_, result_, count_, rows_.where); }

    SoftmaxRows rows_;
    int32_t count_;  // lanes of a statistic
    Floats wide_, values_, result_;
};

// The shape that a call works on: its own, else the tensor's; padding is what lies outside oriSrcK columns.
inline SoftMaxShapeInfo softmax_shape(const SoftmaxConfig& config, SoftMaxShapeInfo shape,
                                      const ShapeInfo& of_tensor) {
    if (shape.srcM == 0 || shape.srcK == 0) {
        const uint32_t dims = of_tensor.shapeDim;
        shape.srcK = dims == 0 ? 0 : of_tensor.shape[dims - 1];
        shape.srcM = shape.srcK == 0 ? 0 : static_cast<uint32_t>(GetShapeSize(of_tensor) / shape.srcK);
        shape.oriSrcM = shape.oriSrcK = 0;
    }
    if (config.oriSrcM != 0) shape.oriSrcM = config.oriSrcM;
    if (config.oriSrcK != 0) shape.oriSrcK = config.oriSrcK;
    if (shape.oriSrcM == 0) shape.oriSrcM = shape.srcM;
    if (shape.oriSrcK == 0) shape.oriSrcK = shape.srcK;
    return shape;
}

inline bool softmax_call_is_sound(const SoftMaxShapeInfo& shape, const SoftMaxTiling& tiling,
                                  uint64_t scratch_bytes, bool is_basic_block, SoftmaxMode mode,
                                  sim::Where where) {
    CallCheck check("SoftmaxFlashV2", where);
    check.on_core_with(sim::Mem::UB);
    check.multiple("srcK", shape.srcK, SOFTMAX_BLOCK, ": rows are whole datablocks");
    check.range("oriSrcM", shape.oriSrcM, 0, shape.srcM);
    check.range("oriSrcK", shape.oriSrcK, 0, shape.srcK);
    if (is_basic_block) {
        check.range("srcK with isBasicBlock", shape.srcK, SOFTMAX_LANES, 2047);
        check.multiple("srcK with isBasicBlock", shape.srcK, SOFTMAX_LANES);
        check.multiple("srcM with isBasicBlock", shape.srcM, SOFTMAX_BLOCK);
    }
    if (tiling.srcM != shape.srcM || tiling.srcK != shape.srcK) {
        check.fail("the tiling is for " + std::to_string(tiling.srcM) + " x " + std::to_string(tiling.srcK) +
                   ", the shape is " + std::to_string(shape.srcM) + " x " + std::to_string(shape.srcK));
    }
    if (tiling.reduceM == 0) check.fail("tiling.reduceM is 0: get the tiling from SoftMaxFlashV2TilingFunc");
    const uint64_t needed = uint64_t{tiling.reduceM} * SOFTMAX_ROW_BYTES;
    if (needed > scratch_bytes) {
        check.fail(std::to_string(tiling.reduceM) + " rows at a time need " + std::to_string(needed) +
                   " bytes of sharedTmpBuffer, it has " + std::to_string(scratch_bytes));
    }
    if (mode == SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC && tiling.reduceM < shape.srcM) {
        check.multiple("tiling.reduceM", tiling.reduceM, SOFTMAX_BLOCK,
                       ": every step's statistics begin with a datablock. Give more work space");
    }
    return check.ok() && shape.srcM != 0;
}

}  // namespace internal

// Padding columns of dstTensor are computed too, but take no part in maxima and sums. dstTensor may be
// srcTensor, maxTensor inMaxTensor, expSumTensor inExpSumTensor. Without isUpdate the last three tensors of
// statistics are not used.
template <typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
__aicore__ inline void SoftmaxFlashV2(const LocalTensor<T>& dstTensor, const LocalTensor<T>& expSumTensor,
                                      const LocalTensor<T>& maxTensor, const LocalTensor<T>& srcTensor,
                                      const LocalTensor<T>& expMaxTensor,
                                      const LocalTensor<T>& inExpSumTensor, const LocalTensor<T>& inMaxTensor,
                                      const LocalTensor<uint8_t>& sharedTmpBuffer,
                                      const SoftMaxTiling& tiling,
                                      const SoftMaxShapeInfo& softmaxShapeInfo = {},
                                      sim::Where where = sim::Where::here()) {
    static_assert(std::is_same_v<T, float>, "SoftmaxFlashV2 is modelled for float");
    static_assert(!isDataFormatNZ, "SoftmaxFlashV2 is modelled for rows one after another (ND)");
    using Step = internal::SoftmaxStep<isUpdate, config.mode>;
    const uint32_t scratch_bytes = sharedTmpBuffer.GetSize();
    const SoftMaxShapeInfo shape =
        internal::softmax_shape(config, softmaxShapeInfo, srcTensor.GetShapeInfo());
    const bool other_shape = tiling.srcM != shape.srcM || tiling.srcK != shape.srcK;
    const SoftMaxTiling steps = config.isCheckTiling && other_shape
                                    ? SoftMaxFlashV2TilingFunc(shape, sizeof(T), sizeof(T), scratch_bytes,
                                                               isUpdate, isBasicBlock, false, false, where)
                                    : tiling;
    if (!internal::softmax_call_is_sound(shape, steps, scratch_bytes, isBasicBlock, config.mode, where))
        return;
    const internal::SoftmaxStatistics statistics{expSumTensor, maxTensor, expMaxTensor, inExpSumTensor,
                                                 inMaxTensor};
    const auto scratch = sharedTmpBuffer.ReinterpretCast<float>();
    where.implied = true;
    SetMaskNorm();
    for (uint32_t row = 0; row < shape.srcM; row += steps.reduceM) {
        const uint32_t count = std::min(steps.reduceM, shape.srcM - row);
        const internal::SoftmaxRows rows{count, shape.srcK, shape.oriSrcK, where};
        Step(rows, scratch)
            .run(dstTensor[row * shape.srcK], srcTensor[row * shape.srcK],
                 statistics.from(row * Step::PER_ROW));
    }
    ResetMask();
}

}  // namespace AscendC
