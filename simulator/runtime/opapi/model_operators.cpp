// SPDX-License-Identifier: Apache-2.0
// model_operators.cpp - what a Llama model calls between our operators: embedding, RMS norm and RoPE in their
// parts, matrix products, SiLU, dense attention of a prefill, and the choice of the next token.
#include <cstring>

#include "opapi/operator.h"

namespace {

// Accumulates as the CPU does, whatever precision `cubeMathType` allows a cube core.
void multiply(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out) {
    out.copy_(at::matmul(a, b));
}

struct Attention {
    at::Tensor query, key, value, hidden, out;  // hidden: true where a key must not be seen, or undefined
    double scale;
    bool causal;

    void operator()() const {
        const std::optional<at::Tensor> seen =
            hidden.defined() && !causal ? std::optional<at::Tensor>(hidden.logical_not()) : std::nullopt;
        out.copy_(at::scaled_dot_product_attention(query, key, value, seen, 0.0, causal, scale, true));
    }
};

// sparseMode 2 is causal from the upper left corner, with a mask that says so once more; 0 takes the mask.
// softmaxMax and softmaxSum serve the gradient, which nobody asks for here: they stay poisoned.
Attention attention(const aclTensor* query, const aclTensor* key, const aclTensor* value,
                    const aclTensor* hidden, double scale, const char* layout, int64_t sparse_mode,
                    const aclTensor* out) {
    TORCH_CHECK(std::strcmp(layout, "BNSD") == 0, "inputLayout ", layout, " is not simulated");
    TORCH_CHECK(sparse_mode == 0 || sparse_mode == 2, "sparseMode ", sparse_mode, " is not simulated");
    using sals::npu::view_of;
    return {view_of(query), view_of(key), view_of(value),  hidden == nullptr ? at::Tensor() : view_of(hidden),
            view_of(out),   scale,        sparse_mode == 2};
}

}  // namespace

OPERATOR(aclnnEmbedding,
         ([LET(table, weight), LET(ids, indices), LET(to, out)] { to.copy_(at::embedding(table, ids)); }),
         const aclTensor* weight, const aclTensor* indices, aclTensor* out)
OPERATOR(aclnnPowTensorScalar,
         ([LET(a, self), b = scalar_of(exponent), LET(to, out)] { to.copy_(at::pow(a, b)); }),
         const aclTensor* self, const aclScalar* exponent, aclTensor* out)
OPERATOR(aclnnMean, ([LET(a, self), axes = dim->values, keepdim, type = scalar_type_of(dtype), LET(to, out)] {
             to.copy_(at::mean(a, axes, keepdim, type));
         }),
         const aclTensor* self, const aclIntArray* dim, bool keepdim, aclDataType dtype, aclTensor* out)
OPERATOR(aclnnRsqrt, ([LET(a, self), LET(to, out)] { to.copy_(at::rsqrt(a)); }), const aclTensor* self,
         aclTensor* out)
OPERATOR(aclnnCos, ([LET(a, self), LET(to, out)] { to.copy_(at::cos(a)); }), const aclTensor* self,
         aclTensor* out)
OPERATOR(aclnnSin, ([LET(a, self), LET(to, out)] { to.copy_(at::sin(a)); }), const aclTensor* self,
         aclTensor* out)
OPERATOR(aclnnNeg, ([LET(a, self), LET(to, out)] { to.copy_(at::neg(a)); }), const aclTensor* self,
         aclTensor* out)
OPERATOR(aclnnSilu, ([LET(a, self), LET(to, out)] { to.copy_(at::silu(a)); }), const aclTensor* self,
         aclTensor* out)
OPERATOR(aclnnCat, ([all = views_of(tensors), dim, LET(to, out)] { to.copy_(at::cat(all, dim)); }),
         const aclTensorList* tensors, int64_t dim, aclTensor* out)
OPERATOR(aclnnTriu, ([LET(a, self), diagonal, LET(to, out)] { to.copy_(at::triu(a, diagonal)); }),
         const aclTensor* self, int64_t diagonal, aclTensor* out)
OPERATOR(aclnnArgMax, ([LET(a, self), dim, keepdim, LET(to, out)] { to.copy_(at::argmax(a, dim, keepdim)); }),
         const aclTensor* self, int64_t dim, bool keepdim, aclTensor* out)
OPERATOR(aclnnMatmul, ([LET(a, self), LET(b, other), LET(to, out)] { multiply(a, b, to); }),
         const aclTensor* self, const aclTensor* other, aclTensor* out, int8_t /*cubeMathType*/)
OPERATOR(aclnnMm, ([LET(a, self), LET(b, other), LET(to, out)] { multiply(a, b, to); }),
         const aclTensor* self, const aclTensor* other, aclTensor* out, int8_t /*cubeMathType*/)
OPERATOR(aclnnBatchMatMul, ([LET(a, self), LET(b, other), LET(to, out)] { multiply(a, b, to); }),
         const aclTensor* self, const aclTensor* other, aclTensor* out, int8_t /*cubeMathType*/)

extern "C" int aclnnFlashAttentionScoreGetWorkspaceSize(
    const aclTensor* query, const aclTensor* key, const aclTensor* value, const aclTensor* real_shift,
    const aclTensor* drop_mask, const aclTensor* padding_mask, const aclTensor* hidden, const aclIntArray*,
    double scale, double keep_prob, int64_t, int64_t, int64_t, char* layout, int64_t, int64_t sparse_mode,
    const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor* out, uint64_t* workspace_bytes,
    aclOpExecutor** executor) {
    using namespace sals::npu;
    return compute("aclnnFlashAttentionScore", workspace_bytes, executor, [&] {
        const bool plain = real_shift == nullptr && padding_mask == nullptr && keep_prob == 1.0;
        TORCH_CHECK(plain && (drop_mask == nullptr || drop_mask->elements() == 0),
                    "shifts, dropout and padding masks are not simulated");
        return attention(query, key, value, hidden, scale, layout, sparse_mode, out);
    });
}
SALS_SECOND_PHASE(aclnnFlashAttentionScore)
