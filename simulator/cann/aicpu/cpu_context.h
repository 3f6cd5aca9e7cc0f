// SPDX-License-Identifier: Apache-2.0
// cpu_context.h - stands in for the AI CPU SDK: the classes through which a kernel sees its task, with the
// names and signatures of CANN's header, as far as our kernels use them. Callers fill tasks in.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace aicpu {

enum DataType { DT_FLOAT = 0, DT_INT32 = 3 };

class TensorShape {
public:
    explicit TensorShape(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}
    std::vector<int64_t> GetDimSizes() const { return sizes_; }

private:
    std::vector<int64_t> sizes_;
};

class Tensor {
public:
    Tensor(void* data, std::vector<int64_t> sizes, DataType type)
        : data_(data), shape_(std::make_shared<TensorShape>(std::move(sizes))), type_(type) {}
    std::shared_ptr<TensorShape> GetTensorShape() const { return shape_; }
    DataType GetDataType() const { return type_; }
    void* GetData() const { return data_; }
    int64_t NumElements() const {
        int64_t count = 1;
        for (int64_t size : shape_->GetDimSizes()) count *= size;
        return count;
    }

private:
    void* data_;
    std::shared_ptr<TensorShape> shape_;
    DataType type_;
};

class AttrValue {
public:
    explicit AttrValue(int64_t value) : integer_(value) {}
    explicit AttrValue(float value) : real_(value) {}
    explicit AttrValue(bool value) : flag_(value) {}
    explicit AttrValue(std::string value) : text_(std::move(value)) {}
    int64_t GetInt() const { return integer_; }
    float GetFloat() const { return real_; }
    bool GetBool() const { return flag_; }
    std::string GetString() const { return text_; }

private:
    int64_t integer_ = 0;
    float real_ = 0.0F;
    bool flag_ = false;
    std::string text_;
};

class CpuKernelContext {
public:
    Tensor* Input(uint32_t index) const { return index < inputs.size() ? inputs[index].get() : nullptr; }
    Tensor* Output(uint32_t index) const { return index < outputs.size() ? outputs[index].get() : nullptr; }
    AttrValue* GetAttr(std::string name) const {
        const auto found = attributes.find(name);
        return found == attributes.end() ? nullptr : found->second.get();
    }
    uint32_t GetInputsSize() const { return static_cast<uint32_t>(inputs.size()); }

    std::vector<std::shared_ptr<Tensor>> inputs, outputs;
    std::map<std::string, std::shared_ptr<AttrValue>> attributes;
    std::string log;
};

}  // namespace aicpu
