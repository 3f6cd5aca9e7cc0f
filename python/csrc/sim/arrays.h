// SPDX-License-Identifier: Apache-2.0
// arrays.h - NumPy arrays and Python options as the contract's checks see them.
#pragma once
#include <pybind11/numpy.h>

#include <cstring>
#include <string>

#include "sals/tensor_spec.h"

namespace sals::simpy {

// NumPy has no bfloat16: its bits come as uint16.
inline DType dtype_of(const pybind11::array& array) {
    const pybind11::dtype dtype = array.dtype();
    if (dtype.is(pybind11::dtype::of<int32_t>())) return DType::INT32;
    if (dtype.is(pybind11::dtype::of<float>())) return DType::FLOAT32;
    if (dtype.is(pybind11::dtype::of<int8_t>())) return DType::INT8;
    if (dtype.is(pybind11::dtype::of<uint16_t>())) return DType::BFLOAT16;
    return dtype.kind() == 'f' && dtype.itemsize() == 2 ? DType::FLOAT16 : DType::OTHER;
}

inline TensorSpec spec_of(const char* name, const pybind11::dict& arrays) {
    TensorSpec spec;
    spec.name = name;
    const pybind11::object value = arrays[name];
    spec.present = !value.is_none();
    if (!spec.present) return spec;
    const auto array = value.cast<pybind11::array>();
    spec.dtype = dtype_of(array);
    spec.dtype_text = pybind11::str(array.dtype()).cast<std::string>();
    spec.device = "cpu";
    spec.shape.assign(array.shape(), array.shape() + array.ndim());
    spec.contiguous = (array.flags() & pybind11::array::c_style) != 0;
    return spec;
}

template <class T>
T option(const pybind11::dict& options, const char* name) {
    return options[name].cast<T>();
}
template <class T>
T option_or(const pybind11::dict& options, const char* name, T otherwise) {
    return options.contains(name) ? option<T>(options, name) : otherwise;
}

// A call for the readers of sals/read_calls.h.
class NumpyCall {
public:
    NumpyCall(const pybind11::dict& arrays, const pybind11::dict& options)
        : arrays_(arrays), options_(options) {}

    TensorSpec tensor(const char* name) const { return spec_of(name, arrays_); }
    int64_t integer(const char* name) const { return option<int64_t>(options_, name); }
    double real(const char* name) const { return option<double>(options_, name); }
    bool flag(const char* name) const { return option<bool>(options_, name); }
    std::string text(const char* name) const { return option<std::string>(options_, name); }
    bool has(const char* name) const { return arrays_.contains(name) || options_.contains(name); }

private:
    const pybind11::dict& arrays_;
    const pybind11::dict& options_;
};

inline void raise_unless_ok(const Status& status) {
    if (!status.ok()) throw pybind11::value_error(status.text);
}

// A tiling as the words that a kernel reads.
template <class Tiling>
pybind11::array_t<int32_t> words_of(const Tiling& tiling) {
    pybind11::array_t<int32_t> words(sizeof(Tiling) / sizeof(int32_t));
    std::memcpy(words.mutable_data(), &tiling, sizeof(tiling));
    return words;
}

}  // namespace sals::simpy
