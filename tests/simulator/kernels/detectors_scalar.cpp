// SPDX-License-Identifier: Apache-2.0
// detectors_scalar.cpp - the scalar unit's own loads and stores: its cache of GM, and the unified buffer.
#include "parameters.h"

namespace {

constexpr uint32_t WORDS = 8;

void clean(const GlobalTensor<int32_t>& tensor) {
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(tensor);
}

}  // namespace

// What a core has set it reads back, cleaned or not.
ENTRY read_back(GM_ADDR y) {
    GlobalTensor<int32_t> words = gm<int32_t>(y);
    words.SetValue(1, 5);
    words.SetValue(2, words.GetValue(1) + 1);
}

// A struct that begins on one line of the cache and ends on the next.
ENTRY struct_over_two_lines(GM_ADDR y) {
    struct Pair {
        int64_t first, second;
    };
    gm<Pair>(y + 56).SetValue(0, {3, 4});
}

ENTRY unaligned_element(GM_ADDR y, int64_t byte) { gm<int32_t>(y + byte).SetValue(0, 1); }

// Core 0 sets a word; core 1 loads it after SyncAll.
ENTRY set_for_another(GM_ADDR words, GM_ADDR y, int64_t cleans) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, WORDS * sizeof(int32_t));
    const LocalTensor<int32_t> ub = buffer.Get<int32_t>();
    GlobalTensor<int32_t> given = gm<int32_t>(words);
    if (GetBlockIdx() == 0) {
        given.SetValue(0, 7);
        if (cleans != 0) clean(given);
    }
    SyncAll<true>();
    if (GetBlockIdx() == 1) {
        DataCopy(ub, given, WORDS);
        SetFlag<HardEvent::MTE2_MTE3>(0);
        WaitFlag<HardEvent::MTE2_MTE3>(0);
        DataCopy(gm<int32_t>(y), ub, WORDS);
    }
    SyncAll<true>();
}

// Core 1 reads a word, core 0 sets it to the value it has, core 1 reads it again.
ENTRY same_value_again(GM_ADDR words, int64_t cleans) {
    GlobalTensor<int32_t> given = gm<int32_t>(words);
    if (GetBlockIdx() == 1) given.GetValue(0);
    SyncAll<true>();
    if (GetBlockIdx() == 0) {
        given.SetValue(0, 0);
        clean(given);
    }
    SyncAll<true>();
    if (GetBlockIdx() != 1) return;
    if (cleans != 0) clean(given);
    given.GetValue(0);
}

// The scalar unit fills a row that MTE3 stores.
ENTRY fill_and_store(GM_ADDR y, int64_t flag) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, WORDS * sizeof(int32_t));
    const LocalTensor<int32_t> ub = buffer.Get<int32_t>();
    for (uint32_t i = 0; i < WORDS; ++i) ub.SetValue(i, static_cast<int32_t>(i));
    if (flag == 1) {
        SetFlag<HardEvent::S_MTE3>(0);
        WaitFlag<HardEvent::S_MTE3>(0);
    }
    if (flag == 2) PipeBarrier<PIPE_ALL>();
    DataCopy(gm<int32_t>(y), ub, WORDS);
}

// The flag is seen by the vector unit, and by the store through it and another core's answer.
ENTRY fill_and_pass_on(GM_ADDR y) {
    if ASCEND_IS_AIC {
        return;
    }
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, WORDS * sizeof(int32_t));
    const LocalTensor<int32_t> ub = buffer.Get<int32_t>();
    for (uint32_t i = 0; i < WORDS; ++i) ub.SetValue(i, static_cast<int32_t>(i));
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
    CrossCoreSetFlag<1, PIPE_V>(1);
    CrossCoreWaitFlag(1);
    DataCopy(gm<int32_t>(y)[GetBlockIdx() * WORDS], ub, WORDS);
}

ENTRY poll_without_end(GM_ADDR words) {
    while (gm<int32_t>(words).GetValue(0) == 0) {
    }
}
