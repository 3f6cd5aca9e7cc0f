// SPDX-License-Identifier: Apache-2.0
// mmad.h - Mmad: C[m, n] = A[m, k] * B[k, n] + (nothing, C or a bias) on the cube unit. Only valid elements
// are read and written; the rest of their fractals is ignored. m = 1 is GEMV: A is then read as k consecutive
// elements.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ascendc/call_check.h"
#include "ascendc/field.h"
#include "ascendc/mmad_compute.h"
#include "ascendc/place.h"

namespace AscendC {

struct MmadParams {
    __aicore__ MmadParams() {}
    __aicore__ MmadParams(const internal::U16 m_value, const internal::U16 n_value,
                          const internal::U16 k_value, const bool is_bias, const int32_t fm_offset,
                          const bool en_sparse, const bool en_winograd_a, const bool en_winograd_b)
        : m(m_value),
          n(n_value),
          k(k_value),
          isBias(is_bias),
          fmOffset(fm_offset),
          enSsparse(en_sparse),
          enWinogradA(en_winograd_a),
          enWinogradB(en_winograd_b) {}
    __aicore__ MmadParams(const internal::U16 m_value, const internal::U16 n_value,
                          const internal::U16 k_value, const uint8_t unit_flag, const bool cmatrix_source,
                          const bool cmatrix_init_val)
        : m(m_value),
          n(n_value),
          k(k_value),
          unitFlag(unit_flag),
          cmatrixSource(cmatrix_source),
          cmatrixInitVal(cmatrix_init_val) {}

    internal::U16 m = 0;
    internal::U16 n = 0;
    internal::U16 k = 0;
    bool isBias = false;   // older way to say cmatrixInitVal = false
    int32_t fmOffset = 0;  // this and the next three are ignored by architecture 2201
    bool enSsparse = false;
    bool enWinogradA = false;
    bool enWinogradB = false;
    uint8_t unitFlag = 0;          // 0: off. 2: keeps the tile, 3: hands it to Fixpipe
    bool kDirectionAlign = false;  // float: fractals of A come in pairs along k
    bool cmatrixSource = false;    // without a bias tensor: start from the beginning of the bias table
    bool cmatrixInitVal = true;    // start from zero
};

namespace internal {

inline constexpr uint32_t MAX_MMAD_SIDE = 4095;  // 12-bit fields
inline constexpr uint32_t BIAS_ALIGN = 64;

template <class C, class A, class B>
inline constexpr bool is_mmad_combination =
    std::is_same_v<A, B> &&
    ((std::is_same_v<C, int32_t> && (std::is_same_v<A, int8_t> || std::is_same_v<A, int4b_t>)) ||
     (std::is_same_v<C, float> &&
      (std::is_same_v<A, half> || std::is_same_v<A, bfloat16_t> || std::is_same_v<A, float>)));

struct MmadPlaces {
    Place c, a, b;
};

template <class T>
void check_mmad(CallCheck& check, const MmadPlaces& places, const MmadParams& params) {
    check.in_memory("dst", places.c.mem, {sim::Mem::L0C});
    check.in_memory("fm", places.a.mem, {sim::Mem::L0A});
    check.in_memory("filter", places.b.mem, {sim::Mem::L0B});
    check.on_core_with(sim::Mem::L0C);
    check.aligned("dst", places.c.mem, places.c.begin, L0C_FRACTAL_BYTES);
    check.aligned("fm", places.a.mem, places.a.begin, FRACTAL_BYTES);
    check.aligned("filter", places.b.mem, places.b.begin, FRACTAL_BYTES);
    check_field(check, "m", params.m, 0, MAX_MMAD_SIDE);
    check_field(check, "n", params.n, 0, MAX_MMAD_SIDE);
    check_field(check, "k", params.k, 0, MAX_MMAD_SIDE);
    if (std::is_same_v<T, int4b_t>) check.multiple("k of int4b_t", params.k, 2);
    if (params.unitFlag == 1 || params.unitFlag > 3) {
        check.fail("unitFlag must be 0, 2 or 3, got " + std::to_string(params.unitFlag));
    }
}

template <class T>
MmadShape mmad_shape(const MmadPlaces& places, const MmadParams& params) {
    MmadShape shape;
    shape.m = params.m;
    shape.n = params.n;
    shape.k = params.k;
    shape.c = places.c.begin;
    const uint32_t k_bytes = static_cast<uint32_t>(sim_bytes<T>(params.k));
    uint32_t k_fractals = ceil_div(params.k, C0<T>);
    if (std::is_same_v<T, float> && params.kDirectionAlign) k_fractals = ceil_div(k_fractals, 2) * 2;
    const int64_t b_along = int64_t{ceil_div(params.n, CUBE_SIDE)} * FRACTAL_BYTES;
    shape.b = {places.b.begin, params.n, k_bytes, b_along, FRACTAL_BYTES};
    shape.a = {places.a.begin, params.m, k_bytes, FRACTAL_BYTES, int64_t{k_fractals} * FRACTAL_BYTES};
    if (params.m == 1) shape.a.along = ROW_BYTES;  // GEMV: consecutive
    return shape;
}

template <class C, class T>
void issue_mmad(const MmadPlaces& places, const MmadParams& params, StartValue start, uint64_t bias,
                sim::Where where) {
    CallCheck check("Mmad", where);
    check_mmad<T>(check, places, params);
    if (start == StartValue::BIAS) check.aligned("bias", sim::Mem::BT, bias, BIAS_ALIGN);
    if (!check.ok() || params.m == 0 || params.n == 0 || params.k == 0) return;

    const MmadShape shape = mmad_shape<T>(places, params);
    const auto c_spans = valid_result(shape.c, shape.m, shape.n, static_cast<int64_t>(shape.c_column_step()));
    sim::Core* const core = &sim::Core::current();
    sim::Instruction instruction;
    instruction.name = "Mmad";
    instruction.pipe = sim::Pipe::M;
    instruction.where = where;
    instruction.unit_flag = params.unitFlag;
    instruction.work.m = params.m;
    instruction.work.n = params.n;
    instruction.work.k = params.k;
    instruction.work.elem_bytes = std::is_same_v<T, int4b_t> ? 0 : sizeof(T);
    instruction.work.bias = start == StartValue::BIAS;
    for (const sim::Span& span : shape.a.valid()) {
        instruction.accesses.push_back({sim::Mem::L0A, sim::Use::READ, span});
    }
    for (const sim::Span& span : shape.b.valid()) {
        instruction.accesses.push_back({sim::Mem::L0B, sim::Use::READ, span});
    }
    if (start == StartValue::BIAS) {
        instruction.accesses.push_back(
            {sim::Mem::BT, sim::Use::READ, sim::Span::run(bias, uint64_t{shape.n} * sizeof(C))});
    }
    for (const sim::Span& span : c_spans) {
        if (start == StartValue::L0C) instruction.accesses.push_back({sim::Mem::L0C, sim::Use::READ, span});
        instruction.accesses.push_back({sim::Mem::L0C, sim::Use::WRITE, span});
    }
    instruction.run = [core, shape, start, bias] {
        multiply<T, C>(shape, core->memory(sim::Mem::L0A).data.data(),
                       core->memory(sim::Mem::L0B).data.data(), core->memory(sim::Mem::L0C).data.data(),
                       start, core->memory(sim::Mem::BT).data.data() + bias);
    };
    core->issue(std::move(instruction));
}

}  // namespace internal

template <typename T, typename U, typename S>
__aicore__ inline void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter,
                            const MmadParams& params, sim::Where where = sim::Where::here()) {
    static_assert(internal::is_mmad_combination<T, U, S>,
                  "Mmad multiplies int8 or int4 to int32, half, bfloat16 or float to float");
    const bool from_zero = params.cmatrixInitVal && !params.isBias;
    const auto start = from_zero              ? internal::StartValue::ZERO
                       : params.cmatrixSource ? internal::StartValue::BIAS
                                              : internal::StartValue::L0C;
    internal::issue_mmad<T, U>({internal::place_of(dst), internal::place_of(fm), internal::place_of(filter)},
                               params, start, 0, where);
}

template <typename T, typename U, typename S, typename V>
__aicore__ inline void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter,
                            const LocalTensor<V>& bias, const MmadParams& params,
                            sim::Where where = sim::Where::here()) {
    static_assert(
        internal::is_mmad_combination<T, U, S> && std::is_same_v<V, T> && !std::is_same_v<U, int4b_t>,
        "Mmad with bias multiplies int8 to int32, half, bfloat16 or float to float; the bias has the "
        "type of the result");
    internal::CallCheck check("Mmad with bias", where);
    check.in_memory("bias", bias.sim_mem(), {sim::Mem::BT});
    if (params.cmatrixInitVal)
        check.fail("cmatrixInitVal starts from zero and drops the bias: set it to false");
    if (!check.ok()) return;
    internal::issue_mmad<T, U>({internal::place_of(dst), internal::place_of(fm), internal::place_of(filter)},
                               params, internal::StartValue::BIAS, bias.sim_begin(), where);
}

// The order in which the cube walks over C changes no value.
__aicore__ inline void SetMMRowMajor() {}
__aicore__ inline void SetMMColumnMajor() {}
__aicore__ inline void SetMMLayoutTransform(bool) {}

}  // namespace AscendC
