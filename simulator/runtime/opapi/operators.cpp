// SPDX-License-Identifier: Apache-2.0
// operators.cpp - the few operators that torch_npu itself needs: copies and fills, casts, a little
// arithmetic, comparisons. An operator that neither this file nor model_operators.cpp has fails and says its
// name.
#include "opapi/operator.h"

OPERATOR(aclnnInplaceCopy, ([LET(to, self), LET(from, source)] { to.copy_(from); }), aclTensor* self,
         const aclTensor* source)
OPERATOR(aclnnInplaceZero, ([LET(to, self)] { to.zero_(); }), aclTensor* self)
OPERATOR(aclnnInplaceOne, ([LET(to, self)] { to.fill_(1); }), aclTensor* self)
OPERATOR(aclnnInplaceFillScalar, ([LET(to, self), v = scalar_of(value)] { to.fill_(v); }), aclTensor* self,
         const aclScalar* value)
OPERATOR(aclnnCast, ([LET(from, self), LET(to, out)] { to.copy_(from); }), const aclTensor* self, aclDataType,
         aclTensor* out)
OPERATOR(aclnnArange, ([s = scalar_of(start), e = scalar_of(end), d = scalar_of(step), LET(to, out)] {
             at::Tensor result = to;
             at::arange_out(result, s, e, d);
         }),
         const aclScalar* start, const aclScalar* end, const aclScalar* step, aclTensor* out)
OPERATOR(aclnnAdd,
         ([LET(a, self), LET(b, other), f = scalar_of(alpha), LET(to, out)] { to.copy_(at::add(a, b, f)); }),
         const aclTensor* self, const aclTensor* other, const aclScalar* alpha, aclTensor* out)
OPERATOR(aclnnAdds, ([LET(a, self), b = scalar_of(other), f = scalar_of(alpha), LET(to, out)] {
             to.copy_(at::add(a, b, f));
         }),
         const aclTensor* self, const aclScalar* other, const aclScalar* alpha, aclTensor* out)
OPERATOR(aclnnInplaceAdd, ([LET(a, self), LET(b, other), f = scalar_of(alpha)] { a.add_(b, f); }),
         aclTensor* self, const aclTensor* other, const aclScalar* alpha)
OPERATOR(aclnnInplaceAdds, ([LET(a, self), b = scalar_of(other), f = scalar_of(alpha)] { a.add_(b, f); }),
         aclTensor* self, const aclScalar* other, const aclScalar* alpha)
OPERATOR(aclnnMul, ([LET(a, self), LET(b, other), LET(to, out)] { to.copy_(at::mul(a, b)); }),
         const aclTensor* self, const aclTensor* other, aclTensor* out)
OPERATOR(aclnnMuls, ([LET(a, self), b = scalar_of(other), LET(to, out)] { to.copy_(at::mul(a, b)); }),
         const aclTensor* self, const aclScalar* other, aclTensor* out)
OPERATOR(aclnnInplaceMul, ([LET(a, self), LET(b, other)] { a.mul_(b); }), aclTensor* self,
         const aclTensor* other)
OPERATOR(aclnnInplaceMuls, ([LET(a, self), b = scalar_of(other)] { a.mul_(b); }), aclTensor* self,
         const aclScalar* other)
OPERATOR(aclnnEqual, ([LET(a, self), LET(b, other), LET(to, out)] { to.fill_(at::equal(a, b)); }),
         const aclTensor* self, const aclTensor* other, aclTensor* out)
OPERATOR(aclnnEqTensor, ([LET(a, self), LET(b, other), LET(to, out)] { to.copy_(at::eq(a, b)); }),
         const aclTensor* self, const aclTensor* other, aclTensor* out)
OPERATOR(aclnnEqScalar, ([LET(a, self), b = scalar_of(other), LET(to, out)] { to.copy_(at::eq(a, b)); }),
         const aclTensor* self, const aclScalar* other, aclTensor* out)
OPERATOR(aclnnIsFinite, ([LET(a, self), LET(to, out)] { to.copy_(at::isfinite(a)); }), const aclTensor* self,
         aclTensor* out)
OPERATOR(aclnnIsClose, ([LET(a, self), LET(b, other), rtol, atol, equal_nan, LET(to, out)] {
             to.copy_(at::isclose(a, b, rtol, atol, equal_nan));
         }),
         const aclTensor* self, const aclTensor* other, double rtol, double atol, bool equal_nan,
         aclTensor* out)
OPERATOR(aclnnAll,
         ([LET(a, self), axes = dim->values, keepdim, LET(to, out)] { to.copy_(at::all(a, axes, keepdim)); }),
         const aclTensor* self, const aclIntArray* dim, bool keepdim, aclTensor* out)
OPERATOR(aclnnLtTensor, ([LET(a, self), LET(b, other), LET(to, out)] { to.copy_(at::lt(a, b)); }),
         const aclTensor* self, const aclTensor* other, aclTensor* out)
OPERATOR(aclnnFloorDivide,
         ([LET(a, self), LET(b, other), LET(to, out)] { to.copy_(at::floor_divide(a, b)); }),
         const aclTensor* self, const aclTensor* other, aclTensor* out)
OPERATOR(aclnnFloorDivides,
         ([LET(a, self), b = scalar_of(other), LET(to, out)] { to.copy_(at::floor_divide(a, b)); }),
         const aclTensor* self, const aclScalar* other, aclTensor* out)
OPERATOR(aclnnSWhere,
         ([LET(c, condition), LET(a, self), LET(b, other), LET(to, out)] { to.copy_(at::where(c, a, b)); }),
         const aclTensor* condition, const aclTensor* self, const aclTensor* other, aclTensor* out)
