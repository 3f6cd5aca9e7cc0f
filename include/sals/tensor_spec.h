// SPDX-License-Identifier: Apache-2.0
// tensor_spec.h - what a check needs to know of a tensor, whatever framework it comes from, and the
// sentences in which a check complains. Host only.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

#include "sals/status.h"

namespace sals {

enum class DType : int32_t { FLOAT16, BFLOAT16, FLOAT32, INT8, INT32, OTHER };

inline const char* dtype_name(DType dtype) {
    static constexpr std::array<const char*, 6> NAMES = {"float16", "bfloat16", "float32",
                                                         "int8",    "int32",    "another dtype"};
    return NAMES[static_cast<size_t>(dtype)];
}

struct TensorSpec {
    const char* name = "";
    bool present = false;
    DType dtype = DType::OTHER;
    std::string dtype_text;  // the framework's name of the dtype, for messages
    std::string device;      // "cpu", "npu:0"
    std::vector<int64_t> shape;
    bool contiguous = true;
};

inline std::string shape_text(const std::vector<int64_t>& shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return text + "]";
}

// Collects the first broken rule of an operator call: "<op>: <argument> must <requirement>, got <value>".
class Checker {
public:
    explicit Checker(const char* op) : op_(op) {}

    bool ok() const { return status_.ok(); }
    Status status() const { return status_; }

    void fail(const std::string& sentence) {
        if (ok()) status_.text = std::string(op_) + ": " + sentence;
    }

    void require(bool condition, const std::string& sentence) {
        if (!condition) fail(sentence);
    }

    // Python passes None for a required tensor as well: it arrives as an undefined one.
    void present(const TensorSpec& t) {
        require(t.present, std::string(t.name) + " must be a tensor, got None");
    }

    void present(const TensorSpec& t, const std::string& when) {
        require(t.present, std::string(t.name) + " must be given " + when + ", got None");
    }

    void absent(const TensorSpec& t, const std::string& when) {
        require(!t.present, std::string(t.name) + " must be None " + when + ", got a tensor");
    }

    void dtype(const TensorSpec& t, std::initializer_list<DType> allowed) {
        if (!t.present) return;
        std::string names;
        for (DType d : allowed) {
            if (d == t.dtype) return;
            names += std::string(names.empty() ? "" : " or ") + dtype_name(d);
        }
        fail(std::string(t.name) + " must have dtype " + names + ", got " + t.dtype_text);
    }

    void same_device(const TensorSpec& t, const TensorSpec& leader) {
        if (!t.present || t.device == leader.device) return;
        fail(std::string(t.name) + " must be on the device of " + leader.name + " (" + leader.device +
             "), got " + t.device);
    }

    void contiguous(const TensorSpec& t) {
        if (t.present && !t.contiguous) fail(std::string(t.name) + " must be contiguous, got strided memory");
    }

    void ndim(const TensorSpec& t, const char* axes, size_t ndim) {
        if (!t.present || t.shape.size() == ndim) return;
        fail(std::string(t.name) + " must have shape " + axes + ", got " + shape_text(t.shape));
    }

    void shape(const TensorSpec& t, const char* axes, const std::vector<int64_t>& expected) {
        if (!t.present || t.shape == expected) return;
        fail(std::string(t.name) + " must have shape " + axes + " = " + shape_text(expected) + ", got " +
             shape_text(t.shape));
    }

    void range(const char* name, int64_t value, int64_t low, int64_t high) {
        if (value >= low && value <= high) return;
        fail(std::string(name) + " must be in [" + std::to_string(low) + ", " + std::to_string(high) +
             "], got " + std::to_string(value));
    }

    // A number that operators multiply by in fp32.
    void finite_float32(const char* name, double value) {
        if (std::isfinite(static_cast<float>(value))) return;
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%g", value);
        fail(std::string(name) + " must be finite in float32, got " + text.data());
    }

private:
    const char* op_;
    Status status_;
};

}  // namespace sals
