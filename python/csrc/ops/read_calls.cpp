// SPDX-License-Identifier: Apache-2.0
#include "ops/read_calls.h"

#include <c10/util/Exception.h>

#include "sals/read_calls.h"

namespace sals::ops {
namespace {

constexpr int64_t SYMBOLIC = -1;  // a size that only a traced program knows

// Arguments as sals/read_calls.h asks for them.
class TorchCall {
public:
    explicit TorchCall(const Arguments& arguments) : arguments_(arguments) {}

    bool has(const char* name) const { return arguments_.has(name); }
    double real(const char* name) const { return arguments_.real(name); }
    bool flag(const char* name) const { return arguments_.flag(name); }
    std::string text(const char* name) const { return arguments_.text(name); }
    TensorSpec tensor(const char* name) const { return spec_of(name, arguments_.tensor(name)); }
    int64_t integer(const char* name) const {  // 0 where only a traced program knows it: max_seq_len
        return arguments_.sym_int(name).maybe_as_int().value_or(0);
    }

private:
    const Arguments& arguments_;
};

}  // namespace

DType dtype_of(at::ScalarType type) {
    switch (type) {
        case at::kHalf:
            return DType::FLOAT16;
        case at::kBFloat16:
            return DType::BFLOAT16;
        case at::kFloat:
            return DType::FLOAT32;
        case at::kChar:
            return DType::INT8;
        case at::kInt:
            return DType::INT32;
        default:
            return DType::OTHER;
    }
}

TensorSpec spec_of(const char* name, const at::Tensor& tensor) {
    TensorSpec spec;
    spec.name = name;
    spec.present = tensor.defined();
    if (!spec.present) return spec;
    spec.dtype = dtype_of(tensor.scalar_type());
    if (spec.dtype == DType::OTHER) {
        spec.dtype_text = std::string(c10::toString(tensor.scalar_type()));
    } else {
        spec.dtype_text = dtype_name(spec.dtype);
    }
    spec.device = tensor.device().str();
    for (const c10::SymInt& size : tensor.sym_sizes())
        spec.shape.push_back(size.maybe_as_int().value_or(SYMBOLIC));
    spec.contiguous = tensor.is_meta() || tensor.is_contiguous();
    return spec;
}

SelectionArgs read_selection(const Arguments& a) { return sals::read_selection(TorchCall(a)); }
QsiArgs read_qsi(const Arguments& a) { return sals::read_qsi(TorchCall(a)); }
SfaaArgs read_sfaa(const Arguments& a) { return sals::read_sfaa(TorchCall(a)); }
PlanArgs read_plan(const Arguments& a) { return sals::read_plan(TorchCall(a)); }
ProjectQueryArgs read_project_query(const Arguments& a) { return sals::read_project_query(TorchCall(a)); }
WriteCacheArgs read_write_cache(const Arguments& a) { return sals::read_write_cache(TorchCall(a)); }

void raise_unless_ok(const Status& status) { TORCH_CHECK_VALUE(status.ok(), status.text); }

}  // namespace sals::ops
