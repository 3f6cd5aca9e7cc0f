// SPDX-License-Identifier: Apache-2.0
// def.cpp - registers SalsWriteCache: aclnnSalsWriteCache, kernel sals_write_cache.
#include "common/define.h"
#include "write_cache/signature.h"
#include "write_cache/write_cache.h"

namespace ops {

class SalsWriteCache : public OpDef {
public:
    explicit SalsWriteCache(const char* name) : OpDef(name) {
        using namespace sals::host;
        define(*this, WRITE_CACHE, {write_cache_tiling, write_cache_shapes, write_cache_types});
    }
};
OP_ADD(SalsWriteCache);

}  // namespace ops
