// SPDX-License-Identifier: Apache-2.0
// framework.cpp - TPipe, queues, element access and the tiling struct.
#include "parameters.h"

namespace {

constexpr uint32_t TILE = 256;  // floats

struct Tiling {
    int32_t tiles;
    float factor;
    int32_t unused[30];  // more than a line of the data cache
};

// y = x * factor, tile by tile through queues of two buffers.
template <int32_t IN_DEPTH>
class Scale {
public:
    Scale(GM_ADDR x, GM_ADDR y) : x_(gm<float>(x)), y_(gm<float>(y)) {
        pipe_.InitBuffer(in_, 2, TILE * sizeof(float));
        pipe_.InitBuffer(out_, 2, TILE * sizeof(float));
    }

    void run(const Tiling& tiling) {
        for (int32_t t = 0; t < tiling.tiles; ++t) {
            auto loaded = in_.template AllocTensor<float>();
            DataCopy(loaded, x_[t * TILE], TILE);
            in_.EnQue(loaded);
            auto x = in_.template DeQue<float>();
            auto result = out_.template AllocTensor<float>();
            Muls(result, x, tiling.factor, TILE);
            out_.EnQue(result);
            in_.FreeTensor(x);
            auto done = out_.template DeQue<float>();
            DataCopy(y_[t * TILE], done, TILE);
            out_.FreeTensor(done);
        }
    }

private:
    TPipe pipe_;
    TQue<QuePosition::VECIN, IN_DEPTH> in_;
    TQue<QuePosition::VECOUT, 1> out_;
    GlobalTensor<float> x_, y_;
};

}  // namespace

ENTRY queues(GM_ADDR x, GM_ADDR y, GM_ADDR tiling) {
    if (GetBlockIdx() != 0) return;
    GET_TILING_DATA_WITH_STRUCT(Tiling, data, tiling);
    Scale<2>(x, y).run(data);
}

// Tensors that the kernel keeps itself: depth 0.
ENTRY queues_in_place(GM_ADDR x, GM_ADDR y, GM_ADDR tiling) {
    REGISTER_TILING_DEFAULT(Tiling);
    if (GetBlockIdx() != 0) return;
    GET_TILING_DATA(data, tiling);
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 0> moved;
    pipe.InitBuffer(moved, 2, TILE * sizeof(float));
    for (int32_t t = 0; t < data.tiles; ++t) {
        LocalTensor<float> tensor;
        moved.AllocTensor(tensor);
        DataCopy(tensor, gm<float>(x)[t * TILE], TILE);
        moved.EnQue(tensor);
        moved.DeQue(tensor);
        DataCopy(gm<float>(y)[t * TILE], tensor, TILE);
        moved.FreeTensor(tensor);
    }
}

// One wrong use per case.
// y = x + x, in tensors that no TPipe knows, by the words of toolkits that name the cores of a kernel.
extern "C" __global__ __vector__ void allocated(GM_ADDR x, GM_ADDR y) {
    InitSocState();
    LocalMemAllocator<Hardware::UB> ub;
    const LocalTensor<float> from = ub.Alloc<float, TILE>();
    const LocalTensor<float> to = ub.Alloc<TPosition::VECOUT, float>(TILE);
    static_assert(IsSameType<decltype(from), decltype(to)>::value && !IsSameType<int8_t, int4b_t>::value);
    DataCopy(from, gm<float>(x), TILE);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Add(to, from, from, TILE);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(gm<float>(y), to, TILE);
    DataCopy(gm<float>(y)[TILE], from, ub.GetCurAddr() / sizeof(float) / 2);
}

ENTRY large_frame(GM_ADDR params) {
    volatile uint8_t local[1024 * 1024];
    local[0] = static_cast<uint8_t>(*gm<int32_t>(params).GetPhyAddr());
    local[sizeof(local) - 1] = local[0];
}

ENTRY misuse(GM_ADDR params) {
    if (GetBlockIdx() != 0) return;
    const Parameters p(params);
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> queue;
    TBuf<> buffer;
    pipe.InitBuffer(queue, 1, 256);
    pipe.InitBuffer(buffer, 64);
    switch (p[0]) {
        case 0:
            buffer.Get<float>(17);
            break;
        case 1:
            pipe.InitBuffer(buffer, 256 * 1024);
            break;
        case 2:
            queue.DeQue<float>();
            break;
        case 3:
            queue.AllocTensor<float>();
            queue.AllocTensor<float>();
            break;
        case 4: {
            auto tensor = queue.AllocTensor<float>();
            queue.FreeTensor(tensor);
            queue.FreeTensor(tensor);
            break;
        }
        case 5: {
            auto other = buffer.Get<float>();
            queue.EnQue(other);
            break;
        }
        case 6:
            for (int i = 0; i < 9; ++i) pipe.AllocEventID<HardEvent::V_S>();
            break;
        case 7:
            CrossCoreWaitFlag(11);
            break;
    }
}

// Elements of every width, read and written by the scalar unit.
ENTRY elements(GM_ADDR x, GM_ADDR y) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 1024);
    const auto floats = buffer.Get<float>();
    const auto halves = floats[8].ReinterpretCast<half>();
    const auto nibbles = floats[16].ReinterpretCast<int4b_t>();
    const auto bytes = floats[24].ReinterpretCast<int8_t>();
    auto source = gm<float>(x);
    for (uint32_t i = 0; i < 8; ++i) floats.SetValue(i, source.GetValue(i));
    for (uint32_t i = 0; i < 16; ++i) halves(i) = static_cast<float>(i) / 3;
    for (uint32_t i = 0; i < 64; ++i) nibbles.SetValue(i, static_cast<int>(i % 16) - 8);
    for (uint32_t i = 0; i < 32; ++i) bytes(i) = static_cast<int8_t>(nibbles.GetValue(i) * 3);
    floats(0) = floats(1) + static_cast<float>(halves(3));
    auto target = gm<float>(y);
    for (uint32_t i = 0; i < 32; ++i) target.SetValue(i, floats.GetValue(i));
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(target);
}
