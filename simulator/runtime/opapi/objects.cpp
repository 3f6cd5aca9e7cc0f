// SPDX-License-Identifier: Apache-2.0
#include "opapi/objects.h"

#include <cstring>

using sals::npu::bytes_of;

int64_t sals::npu::bytes_of(aclDataType dtype) {
    switch (dtype) {
        case ACL_BOOL:
        case ACL_INT8:
        case ACL_UINT8:
            return 1;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
            return 2;
        case ACL_FLOAT:
        case ACL_INT32:
            return 4;
        case ACL_INT64:
        case ACL_DOUBLE:
            return 8;
        default:
            return 0;
    }
}

void* aclTensor::data() const { return static_cast<uint8_t*>(storage) + offset * bytes_of(dtype); }

int64_t aclTensor::elements() const {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return count;
}

bool aclTensor::is_contiguous() const {
    if (elements() == 0) return true;
    int64_t expected = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] != 1 && strides[axis] != expected) return false;
        expected *= shape[axis];
    }
    return true;
}

extern "C" {

aclTensor* aclCreateTensor(const int64_t* shape, uint64_t axes, aclDataType dtype, const int64_t* strides,
                           int64_t offset, aclFormat, const int64_t*, uint64_t, void* storage) {
    auto* tensor = new aclTensor{dtype, std::vector<int64_t>(shape, shape + axes), {}, offset, storage};
    if (strides != nullptr) tensor->strides.assign(strides, strides + axes);
    return tensor;
}

aclScalar* aclCreateScalar(void* value, aclDataType dtype) {
    auto* scalar = new aclScalar{dtype, {}};
    std::memcpy(scalar->bytes.data(), value, static_cast<size_t>(bytes_of(dtype)));
    return scalar;
}

aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t count) {
    return new aclIntArray{std::vector<int64_t>(values, values + count)};
}

aclTensorList* aclCreateTensorList(const aclTensor* const* tensors, uint64_t count) {
    return new aclTensorList{std::vector<const aclTensor*>(tensors, tensors + count)};
}

int aclDestroyTensor(const aclTensor* tensor) {
    delete tensor;
    return 0;
}
int aclDestroyTensorList(const aclTensorList* list) {
    for (const aclTensor* tensor : list->tensors) delete tensor;
    delete list;
    return 0;
}
int aclDestroyScalar(const aclScalar* scalar) {
    delete scalar;
    return 0;
}
int aclDestroyIntArray(const aclIntArray* array) {
    delete array;
    return 0;
}
}
