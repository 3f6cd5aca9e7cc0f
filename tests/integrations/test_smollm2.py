# SPDX-License-Identifier: Apache-2.0
"""A real model: what sparse decoding over the int8 cache changes in its predictions."""

from __future__ import annotations

import pytest
import torch

from sals.calibration import Calibration, ModelFingerprint
from sals.demo.model import load_smollm2
from sals.demo.text import pydoc_text
from sals.integrations.transformers import attach

CONTEXT, NEW = 2000, 64

# Mean KL divergence (nats) from dense predictions: three times what was measured on a CPU in float32, 0.0005
# for the int8 cache alone and 0.0024 with a quarter of the blocks.
INT8_KL = 0.0015
QUARTER_KL = 0.0072


@pytest.mark.demo
@pytest.mark.slow
def test_predictions_stay_close_to_dense_ones() -> None:
    model, tokenizer = load_smollm2()
    ids = torch.tensor([tokenizer(pydoc_text()[:20_000]).input_ids[: CONTEXT + NEW]])
    facts = ModelFingerprint.of(model.config)
    # The whole rotated key as index: the best that no calibration can do.
    identity = torch.eye(facts.head_dim).expand(facts.n_layers, facts.n_kv, -1, -1).contiguous()
    calibration = Calibration(
        query_projection=identity,
        key_projection=identity,
        rotated=True,
        block_size=16,
        sink_blocks=1,
        tail_blocks=32,
        dense_layers=(),
        model=facts,
    )
    dense = model(ids, use_cache=False).logits[0, -NEW:].double().log_softmax(-1)
    for keep, min_dense_tokens, limit in ((1, CONTEXT * 2, INT8_KL), ("1/4", 0, QUARTER_KL)):
        with attach(model, calibration, keep=keep, min_dense_tokens=min_dense_tokens) as handle:
            cache = handle.new_cache(1, CONTEXT + NEW)
            model(ids[:, :CONTEXT], cache=cache, logits_to_keep=1)
            sparse = model(ids[:, CONTEXT:], cache=cache).logits[0].double().log_softmax(-1)
        divergence = float((dense.exp() * (dense - sparse)).sum(-1).mean())
        print(f"keep {keep}: KL {divergence:.5f}")
        assert 0 <= divergence <= limit
