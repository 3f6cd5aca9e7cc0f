# SPDX-License-Identifier: Apache-2.0
"""Wrong use of the transformers integration is refused with a sentence that says what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import DynamicCache, MistralConfig, MistralForCausalLM

from integrations.tiny_llama import make_calibration, make_model, pad_left, random_ids
from sals.integrations.transformers import SalsCache, attach, detach


def test_head_dim(model: Any) -> None:
    other = make_model(head_dim=32)
    with pytest.raises(ValueError, match=r"head_dim must be one of 64, 80, 96, 128, 192, 256, got 32"):
        attach(other, make_calibration_for(other))


def make_calibration_for(model: Any) -> Any:
    """A calibration whose tensors suit a model of any shape."""
    from sals.calibration import Calibration, ModelFingerprint

    facts = ModelFingerprint.of(model.config)
    projection = torch.zeros(facts.n_layers, facts.n_kv, facts.head_dim, 16)
    return Calibration(
        query_projection=projection,
        key_projection=projection,
        rotated=True,
        block_size=16,
        sink_blocks=1,
        tail_blocks=2,
        dense_layers=(),
        model=facts,
    )


def test_calibration_of_another_model(calibration: Any) -> None:
    with pytest.raises(ValueError, match=r"calibration was made for another model: hidden_size 256"):
        attach(make_model(hidden_size=128), calibration)


def test_sliding_window() -> None:
    config = MistralConfig(
        vocab_size=32,
        hidden_size=128,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        sliding_window=64,
    )
    mistral = MistralForCausalLM(config).eval()
    with pytest.raises(ValueError, match=r"must attend to the whole context, got sliding_window 64"):
        attach(mistral, make_calibration_for(mistral))


def test_training_mode(calibration: Any) -> None:
    other = make_model()
    other.train()
    with pytest.raises(ValueError, match=r"must be in eval mode, got training mode"):
        attach(other, calibration)
    other.eval()
    with attach(other, calibration):
        other.train()
        with pytest.raises(ValueError, match=r"must be in eval mode, got training mode"):
            other(random_ids(1, 4))


def test_gradients(model: Any, calibration: Any) -> None:
    with (
        attach(model, calibration),
        torch.enable_grad(),
        pytest.raises(ValueError, match=r"there is no gradient, got tensors that require one"),
    ):
        model(random_ids(1, 4))


def test_output_attentions(model: Any, calibration: Any) -> None:
    with attach(model, calibration), pytest.raises(ValueError, match=r"output_attentions"):
        model(random_ids(1, 4), output_attentions=True)


def test_another_cache(model: Any, calibration: Any) -> None:
    with attach(model, calibration):
        cache = DynamicCache(config=model.config)
        model(random_ids(1, 4), cache=cache)
        with pytest.raises(ValueError, match=r"past tokens must be in a SalsCache, got another cache"):
            model(random_ids(1, 1), cache=cache)


def test_a_model_that_is_not_attached(model: Any, calibration: Any) -> None:
    with pytest.raises(RuntimeError, match=r"model must be attached first"):
        model(random_ids(1, 4), cache=SalsCache(model.config, 1, 64, calibration))
    with attach(model, calibration) as handle:
        used = handle.new_cache(1, 64)
        model(random_ids(1, 4), cache=used)
    with pytest.raises(RuntimeError, match=r"model must be attached first"):
        model(random_ids(1, 1), cache=used)
    with pytest.raises(ValueError, match=r"sals.detach: model must be attached"):
        detach(model)


def test_attached_twice(model: Any, calibration: Any) -> None:
    with attach(model, calibration), pytest.raises(ValueError, match=r"must not be attached already"):
        attach(model, calibration)


def test_a_cache_of_another_calibration(model: Any, calibration: Any) -> None:
    with attach(model, calibration), pytest.raises(ValueError, match=r"one with another calibration"):
        model(random_ids(1, 4), cache=SalsCache(model.config, 1, 64, make_calibration(model)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keep": "1/0"}, r"keep must be a number"),
        ({"keep": 1.5}, r"keep must be in \[0, 1\]"),
        ({"min_dense_tokens": -1}, r"min_dense_tokens must be at least 0, got -1"),
        ({"max_decode_tokens": 0}, r"max_decode_tokens must be at least 1, got 0"),
        (
            {"page_size": 24},
            r"page_size must be a positive multiple of .* = 16, got 24",
        ),
        ({"layout": "BSND"}, r"layout must be paged \(PA_...\), got 'BSND'"),
        ({"layout": "NHD"}, r"layout must be one of .*, got 'NHD'"),
    ],
)
def test_settings(model: Any, calibration: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attach(model, calibration, **arguments)
    assert model.config._attn_implementation != "sals"


def test_what_the_cache_cannot_take(model: Any, calibration: Any) -> None:
    with attach(model, calibration) as handle:
        cache = handle.new_cache(2, 40)
        with pytest.raises(ValueError, match=r"batch must be at most 2, got 3"):
            model(random_ids(3, 4), cache=cache)
        with pytest.raises(ValueError, match=r"max_len must be at least 41 to take 41 more columns, got 40"):
            model(random_ids(2, 41), cache=cache)
        ids, mask = pad_left([random_ids(1, 20), random_ids(1, 10)])
        model(ids, attention_mask=mask, cache=cache)
        with pytest.raises(ValueError, match=r"batch must be 2, as before, got 1"):
            model(random_ids(1, 1), cache=cache)
        longer = torch.ones(2, 21, dtype=torch.long)
        longer[0, 0] = 0
        with pytest.raises(ValueError, match=r"attention_mask must leave in the columns"):
            model(random_ids(2, 1), attention_mask=longer, cache=cache)
        with pytest.raises(ValueError, match=r"crop takes minus the number"):
            cache.crop(5)
        with pytest.raises(ValueError, match=r"max_batch must be at least 4, got 2"):
            cache.batch_repeat_interleave(2)
        assert cache.get_seq_length() == 20


def test_masks_other_than_causal(model: Any, calibration: Any) -> None:
    with attach(model, calibration) as handle:
        with pytest.raises(ValueError, match=r"the mask must be causal with padding"):
            model(random_ids(1, 4), position_ids=torch.tensor([[0, 1, 0, 1]]), use_cache=False)
        four = torch.ones(1, 1, 4, 4, dtype=torch.bool).tril()
        with pytest.raises(ValueError, match=r"attention_mask must have shape \[batch, columns\]"):
            model(random_ids(1, 4), attention_mask=four, cache=handle.new_cache(1, 16))
