// SPDX-License-Identifier: Apache-2.0
// objects.h - the arguments of aclnn functions, which CANN's headers leave opaque.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "acl/error.h"

struct aclTensor {
    aclDataType dtype;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    int64_t offset;  // elements
    void* storage;   // device memory

    void* data() const;  // of the first element
    int64_t elements() const;
    bool is_contiguous() const;
};

struct aclScalar {
    aclDataType dtype;
    std::array<uint8_t, 16> bytes;
};

struct aclIntArray {
    std::vector<int64_t> values;
};

struct aclTensorList {
    std::vector<const aclTensor*> tensors;  // the list's own
};

// What the first phase of an operator leaves to the second. It holds copies: the arguments may be gone.
struct aclOpExecutor {
    std::string name;
    uint64_t workspace_bytes;
    std::function<sals::npu::Outcome(uint8_t* workspace)> run;
};

namespace sals::npu {

int64_t bytes_of(aclDataType dtype);  // 0: not simulated

}  // namespace sals::npu
