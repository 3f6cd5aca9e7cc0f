// SPDX-License-Identifier: Apache-2.0
// fixpipe.h - Fixpipe: results from L0C to GM (rows or NZ fractals) and to L1 (NZ fractals), and the same as
// DataCopy with DataCopyCO12DstParams, whose matrices (SetFixpipeNz2ndFlag) and factor
// (SetFixpipePreQuantFlag) are set beforehand.
#pragma once
#include <cstdint>
#include <type_traits>

#include "ascendc/fixpipe_move.h"

namespace AscendC {

enum class CO2Layout : uint8_t { NZ = 0, ROW_MAJOR, COLUMN_MAJOR };

struct FixpipeConfig {
    CO2Layout format;
    __aicore__ constexpr inline FixpipeConfig(CO2Layout layout) : format(layout) {}
};

constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};

struct FixpipeParamsV220 {
    __aicore__ FixpipeParamsV220() {}
    __aicore__ FixpipeParamsV220(const internal::U16 n_size, const internal::U16 m_size,
                                 const internal::U16 src_stride, const uint32_t dst_stride,
                                 const bool relu_en)
        : nSize(n_size), mSize(m_size), srcStride(src_stride), dstStride(dst_stride), reluEn(relu_en) {}
    __aicore__ FixpipeParamsV220(const internal::U16 n_size, const internal::U16 m_size,
                                 const internal::U16 src_stride, const uint32_t dst_stride,
                                 const bool relu_en, const QuantMode_t quant_pre, const int64_t deq_scalar,
                                 const internal::U16 nd_num, const internal::U16 src_nd_stride,
                                 const internal::U16 dst_nd_stride, const uint8_t unit_flag,
                                 const bool is_channel_split = false)
        : nSize(n_size),
          mSize(m_size),
          srcStride(src_stride),
          dstStride(dst_stride),
          quantPre(quant_pre),
          deqScalar(static_cast<uint64_t>(deq_scalar)),
          ndNum(nd_num),
          srcNdStride(src_nd_stride),
          dstNdStride(dst_nd_stride),
          reluEn(relu_en),
          unitFlag(unit_flag),
          isChannelSplit(is_channel_split) {}

    internal::U16 nSize = 0;
    internal::U16 mSize = 0;
    internal::U16 srcStride = 0;  // 64 bytes, between columns of fractals
    uint32_t dstStride = 0;  // ROW_MAJOR: elements of a row of dst; NZ: 32 bytes, between columns of fractals
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    internal::U16 ndNum = 1;        // ROW_MAJOR: matrices
    internal::U16 srcNdStride = 0;  // 1024 bytes
    internal::U16 dstNdStride = 0;  // elements
    bool reluEn = false;
    uint8_t unitFlag = 0;  // as in MmadParams
    bool isChannelSplit = false;
};

__aicore__ inline void SetFixpipeNz2ndFlag(internal::U16 ndNum, internal::U16 srcNdStride,
                                           internal::U16 dstNdStride, sim::Where where = sim::Where::here()) {
    internal::CallCheck check("SetFixpipeNz2ndFlag", where);
    ndNum.check(check, "ndNum");
    srcNdStride.check(check, "srcNdStride");
    dstNdStride.check(check, "dstNdStride");
    sim::Registers& registers = sim::Core::current().registers();
    registers.nd_num = ndNum;
    registers.nd_src_stride = srcNdStride;
    registers.nd_dst_stride = dstNdStride;
}

__aicore__ inline void SetFixpipePreQuantFlag(uint64_t config) {
    sim::Core::current().registers().quant_pre = config;
}

namespace internal {

inline constexpr uint32_t MAX_FIXPIPE_N = 4095;
inline constexpr uint32_t MAX_FIXPIPE_ND_M = 8192;
inline constexpr uint32_t MAX_FIXPIPE_SRC_ND_STRIDE = 512;

// What Fixpipe and DataCopy have in common.
struct FixpipeCall {
    const char* name;         // in findings
    const char* instruction;  // for the cost model
    U16 n, m, src_stride;
    uint32_t dst_stride;
    QuantMode_t quant;
    bool relu, channel_split, to_rows;
    uint8_t unit_flag;
};

inline void check_fixpipe_shape(CallCheck& check, const FixpipeCall& call) {
    check_field(check, "nSize", call.n, 0, MAX_FIXPIPE_N);
    if (!call.to_rows) check.multiple("nSize", call.n, call.channel_split ? 8 : CUBE_SIDE, " (NZ)");
    check_field(check, "mSize", call.m, 0, call.to_rows ? MAX_FIXPIPE_ND_M : UINT16_MAX);
    call.src_stride.check(check, "srcStride");
    check.range("dstStride", call.dst_stride, 1, UINT32_MAX);
    if (call.unit_flag == 1 || call.unit_flag > 3) {
        check.fail("unitFlag must be 0, 2 or 3, got " + std::to_string(call.unit_flag));
    }
    const sim::Registers& registers = sim::Core::current().registers();
    if (call.to_rows && registers.nd_num > 1) {
        check.range("source stride of ND matrices", registers.nd_src_stride, 1, MAX_FIXPIPE_SRC_ND_STRIDE);
        check.range("destination stride of ND matrices", registers.nd_dst_stride, 1, UINT16_MAX);
    }
}

template <class T, class U>
void check_fixpipe_types(CallCheck& check, const FixpipeCall& call) {
    if (!converts<T, U>(call.quant))
        check.fail("quantPre does not convert from the type of src to the type of dst");
    if (call.channel_split && (!std::is_same_v<T, float> || call.to_rows || call.unit_flag != 0)) {
        check.fail("channel split works for float to NZ in GM without unitFlag");
    }
    if constexpr (sizeof(T) == 1) {
        const QuantParam param(sim::Core::current().registers().quant_pre);
        if (!is_per_column(call.quant) && param.is_signed != std::is_signed_v<T>) {
            check.fail("bit 46 of the quantisation parameter must be 1 for int8_t and 0 for uint8_t");
        }
    }
}

template <class T, class U>
void check_fixpipe(CallCheck& check, const FixpipeCall& call, const Place& dst, const Place& src) {
    check.in_memory("dst", dst.mem, {sim::Mem::GM, sim::Mem::L1});
    check.in_memory("src", src.mem, {sim::Mem::L0C});
    check.on_core_with(sim::Mem::L0C);
    check.aligned("src", src.mem, src.begin, L0C_ROW_BYTES);
    if (!call.to_rows) check.aligned("dst", dst.mem, dst.begin, ONE_BLK_SIZE);
    check_atomic_type<T>(check, dst);
    if (dst.mem == sim::Mem::L1) {
        if (call.to_rows) check.fail("L1 takes NZ fractals only, not rows: use CFG_NZ, or nz2ndEn = false");
        if (call.quant == QuantMode_t::NoQuant) {
            check.fail("values of 32 bits cannot go to L1: choose a quantPre that narrows them");
        }
        if (call.channel_split) check.fail("channel split goes to GM only");
    }
    check_fixpipe_shape(check, call);
    check_fixpipe_types<T, U>(check, call);
}

template <class T>
constexpr ResultLayout result_layout(const FixpipeCall& call) {
    if (call.to_rows) return ResultLayout::ND;
    if (call.channel_split) return ResultLayout::NZ_SPLIT;
    return sizeof(T) == 1 ? ResultLayout::NZ_MERGED : ResultLayout::NZ;
}

template <class T, class U>
void fixpipe(const FixpipeCall& call, const Place& dst, const Place& src, const Place& quant_tensor,
             sim::Where where) {
    CallCheck check(call.name, where);
    check_fixpipe<T, U>(check, call, dst, src);
    const sim::Registers& registers = sim::Core::current().registers();
    const uint32_t matrices = call.to_rows ? registers.nd_num : 1;
    if (!check.ok() || call.m == 0 || call.n == 0 || matrices == 0) return;

    FixpipeJob job;
    job.dst = dst;
    job.src = src;
    job.m = call.m;
    job.n = call.n;
    job.matrices = matrices;
    job.src_column = int64_t{call.src_stride} * L0C_ROW_BYTES;
    job.dst_step = call.to_rows ? int64_t{call.dst_stride} * static_cast<int64_t>(sizeof(T))
                                : int64_t{call.dst_stride} * ONE_BLK_SIZE;
    if (matrices > 1) {
        job.src_matrix = int64_t{registers.nd_src_stride} * L0C_FRACTAL_BYTES;
        job.dst_matrix = int64_t{registers.nd_dst_stride} * static_cast<int64_t>(sizeof(T));
    }
    job.layout = result_layout<T>(call);
    job.quant = call.quant;
    job.quant_param = registers.quant_pre;
    job.quant_tensor = quant_tensor;
    job.relu = call.relu;
    job.unit_flag = call.unit_flag;
    job.element_bytes = sizeof(T);
    issue_fixpipe<T, U>(call.instruction, job, where);
}

// The parameters of Fixpipe go through the same registers.
template <class T, class U, const FixpipeConfig& config>
void fixpipe_call(const Place& dst, const Place& src, const Place& quant_tensor,
                  const FixpipeParamsV220& params, sim::Where where) {
    constexpr bool TO_ROWS = config.format == CO2Layout::ROW_MAJOR;
    if (TO_ROWS) SetFixpipeNz2ndFlag(params.ndNum, params.srcNdStride, params.dstNdStride, where);
    if (is_scaled(params.quantPre) && !is_per_column(params.quantPre))
        SetFixpipePreQuantFlag(params.deqScalar);
    const FixpipeCall call{"Fixpipe",       "Fixpipe",        params.nSize,
                           params.mSize,    params.srcStride, params.dstStride,
                           params.quantPre, params.reluEn,    params.isChannelSplit,
                           TO_ROWS,         params.unitFlag};
    fixpipe<T, U>(call, dst, src, quant_tensor, where);
}

inline bool refuse_column_params(QuantMode_t mode, sim::Where where) {
    if (!is_per_column(mode)) return false;
    CallCheck("Fixpipe", where)
        .fail("a quantPre with one factor per column needs them: pass the tensor of factors");
    return true;
}

inline void set_quant_tensor(const Place& tensor, bool reset_unit_flags, sim::Where where) {
    CallCheck check("SetFixPipeConfig", where);
    check.in_memory("the tensor of factors", tensor.mem, {sim::Mem::FB});
    check.aligned("the tensor of factors", tensor.mem, tensor.begin, dma_unit(sim::Mem::FB));
    if (reset_unit_flags) check.fail("resetting all unit flags is not modelled");
    if (check.ok()) sim::Core::current().registers().quant_tensor = tensor.begin;
}

template <class T, class U>
void copy_results(const Place& dst, const Place& src, const DataCopyCO12DstParams& params, sim::Where where) {
    constexpr const char* CALL = "DataCopy from CO1";
    if (params.clipReluPre != 0 || params.eltWiseOp != 0) {
        CallCheck(CALL, where).fail("clipReluPre and eltWiseOp do not exist on this architecture");
        return;
    }
    const FixpipeCall call{CALL,
                           "DataCopy",
                           params.nSize,
                           params.mSize,
                           params.srcStride,
                           params.dstStride,
                           params.quantPre,
                           params.reluPre != 0,
                           params.channelSplit,
                           params.nz2ndEn,
                           params.unitFlag};
    fixpipe<T, U>(call, dst, src, {sim::Mem::FB, sim::Core::current().registers().quant_tensor}, where);
}

}  // namespace internal

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                               const FixpipeParamsV220& params, sim::Where where = sim::Where::here()) {
    if (internal::refuse_column_params(params.quantPre, where)) return;
    internal::fixpipe_call<T, U, config>(internal::place_of(dst), internal::place_of(src), {sim::Mem::L1, 0},
                                         params, where);
}

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                               const FixpipeParamsV220& params, sim::Where where = sim::Where::here()) {
    if (internal::refuse_column_params(params.quantPre, where)) return;
    internal::fixpipe_call<T, U, config>(internal::place_of(dst), internal::place_of(src), {sim::Mem::L1, 0},
                                         params, where);
}

// One parameter per column, in L1.
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR, typename S = uint64_t,
          typename std::enable_if<std::is_same<S, uint64_t>::value, bool>::type = true>
__aicore__ inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                               const LocalTensor<S>& cbufWorkspace, const FixpipeParamsV220& params,
                               sim::Where where = sim::Where::here()) {
    internal::CallCheck check("Fixpipe", where);
    check.in_memory("cbufWorkspace", cbufWorkspace.sim_mem(), {sim::Mem::L1});
    check.aligned("cbufWorkspace", sim::Mem::L1, cbufWorkspace.sim_begin(), ONE_BLK_SIZE);
    if (!internal::is_per_column(params.quantPre)) {
        check.fail("with cbufWorkspace quantPre must be VDEQF16, VQF322B8_PRE or VREQ8");
    }
    if (!check.ok()) return;
    internal::fixpipe_call<T, U, config>(internal::place_of(dst), internal::place_of(src),
                                         internal::place_of(cbufWorkspace), params, where);
}

// Factors per column in the fixpipe buffer, for DataCopy. There is no ReLU tensor on this architecture.
template <typename T, bool setRelu = false>
__aicore__ inline void SetFixPipeConfig(const LocalTensor<T>& preData, bool isUnitFlag = false,
                                        sim::Where where = sim::Where::here()) {
    static_assert(std::is_same_v<T, uint64_t> && !setRelu,
                  "only a tensor of quantisation parameters can be set");
    internal::set_quant_tensor(internal::place_of(preData), isUnitFlag, where);
}

template <typename T, typename U>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                                const DataCopyCO12DstParams& params, sim::Where where = sim::Where::here()) {
    internal::copy_results<T, U>(internal::place_of(dst), internal::place_of(src), params, where);
}

template <typename T, typename U>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                                const DataCopyCO12DstParams& params, sim::Where where = sim::Where::here()) {
    internal::copy_results<T, U>(internal::place_of(dst), internal::place_of(src), params, where);
}

}  // namespace AscendC
