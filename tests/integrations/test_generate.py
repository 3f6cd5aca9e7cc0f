# SPDX-License-Identifier: Apache-2.0
"""model.generate() on an attached model, and what it asks of the cache."""

from __future__ import annotations

from typing import Any

import torch

from integrations.tiny_llama import (
    OTHER_SHAPES,
    make_calibration,
    make_model,
    pad_left,
    random_ids,
    relative_error,
)
from sals.integrations.transformers import SalsCache, attach, detach

OPTIONS = {"keep": "1/4", "min_dense_tokens": 0}


def test_generate_is_step_by_step_decoding(model: Any, calibration: Any) -> None:
    ids = random_ids(2, 120)
    with attach(model, calibration, **OPTIONS) as handle:
        generated = model.generate(ids, max_new_tokens=12, do_sample=False, return_dict_in_generate=True)
        assert isinstance(generated.cache, SalsCache)
        cache = handle.new_cache(2, 140)
        logits = model(ids, cache=cache).logits
        for _ in range(12):
            newest = logits[:, -1:].argmax(-1)
            ids = torch.cat([ids, newest], dim=1)
            logits = model(newest, cache=cache).logits
    assert torch.equal(generated.sequences, ids)


def test_generate_continues_a_given_cache(model: Any, calibration: Any) -> None:
    ids = random_ids(1, 120)
    with attach(model, calibration, **OPTIONS) as handle:
        whole = model.generate(ids, max_new_tokens=12, do_sample=False)
        cache = handle.new_cache(1, 140)
        begun = model.generate(ids, max_new_tokens=5, do_sample=False, cache=cache)
        continued = model.generate(begun, max_new_tokens=7, do_sample=False, cache=cache)
    assert torch.equal(continued, whole)


def test_generate_pads_left(model: Any, calibration: Any) -> None:
    prompts = [random_ids(1, length, seed=length) for length in (130, 77)]
    ids, mask = pad_left(prompts)
    with attach(model, calibration, **OPTIONS):
        together = model.generate(ids, attention_mask=mask, max_new_tokens=10, do_sample=False)
        for row, prompt in enumerate(prompts):
            alone = model.generate(prompt, max_new_tokens=10, do_sample=False)
            assert torch.equal(together[row, -10:], alone[0, -10:])


def test_generate_samples(model: Any, calibration: Any) -> None:
    ids = random_ids(1, 100)
    with attach(model, calibration, **OPTIONS):
        torch.manual_seed(7)
        first = model.generate(ids, max_new_tokens=10, do_sample=True, num_return_sequences=3)
        torch.manual_seed(7)
        again = model.generate(ids, max_new_tokens=10, do_sample=True, num_return_sequences=3)
    assert first.shape == (3, 110)
    assert torch.equal(first, again)


def test_beam_search_finds_the_dense_beams() -> None:
    model = make_model()
    ids = random_ids(2, 100)
    search = {"max_new_tokens": 10, "do_sample": False, "num_beams": 3}
    dense = model.generate(ids, **search)
    with attach(model, make_calibration(model), keep=1, min_dense_tokens=0):
        sparse = model.generate(ids, **search)
    assert torch.equal(sparse, dense)


def test_prompt_lookup_rolls_back(model: Any, calibration: Any) -> None:
    ids = random_ids(1, 12).repeat(1, 10)
    with attach(model, calibration, **OPTIONS):
        plain = model.generate(ids, max_new_tokens=20, do_sample=False)
        guessed = model.generate(ids, max_new_tokens=20, do_sample=False, prompt_lookup_num_tokens=4)
    assert torch.equal(guessed, plain)


def test_crop_forgets_the_newest_columns(model: Any, calibration: Any) -> None:
    ids, other = random_ids(2, 120), random_ids(2, 9, seed=5)
    with attach(model, calibration, **OPTIONS) as handle:
        cache = handle.new_cache(2, 140)
        model(ids, cache=cache)
        expected = model(other, cache=cache).logits
        cache.crop(-9)
        assert cache.get_seq_length() == 120
        model(random_ids(2, 15, seed=6), cache=cache)
        cache.crop(-15)
        assert torch.equal(model(other, cache=cache).logits, expected)


def test_requests_move_fork_and_leave(model: Any, calibration: Any) -> None:
    ids, newest = random_ids(3, 200), random_ids(3, 1, seed=5)
    with attach(model, calibration, page_size=32, **OPTIONS) as handle:
        cache = handle.new_cache(5, 256)
        model(ids, cache=cache)
        expected = model(newest, cache=cache).logits
        cache.crop(-1)
        for sources in ([2, 0, 1], [1, 1, 0], [0, 2, 2, 2, 0]):
            cache.reset()
            model(ids, cache=cache)
            cache.reorder_cache(torch.tensor(sources))
            # Twice, so that forked requests that shared pages would show: each writes its own token.
            moved = model(newest[sources], cache=cache).logits
            assert relative_error(moved, expected[sources]) <= OTHER_SHAPES
            cache.crop(-1)
            model(random_ids(len(sources), 1, seed=9), cache=cache)
            cache.crop(-1)
            again = model(newest[sources], cache=cache).logits
            assert relative_error(again, expected[sources]) <= OTHER_SHAPES


def test_repeat_and_select(model: Any, calibration: Any) -> None:
    ids, newest = random_ids(2, 100), random_ids(2, 1, seed=5)
    with attach(model, calibration, **OPTIONS) as handle:
        cache = handle.new_cache(4, 128)
        model(ids, cache=cache)
        expected = model(newest, cache=cache).logits
        cache.crop(-1)
        cache.batch_repeat_interleave(2)
        repeated = model(newest.repeat_interleave(2, 0), cache=cache).logits
        assert relative_error(repeated, expected.repeat_interleave(2, 0)) <= OTHER_SHAPES
        cache.crop(-1)
        cache.batch_select_indices(torch.tensor([3]))
        assert relative_error(model(newest[1:], cache=cache).logits, expected[1:]) <= OTHER_SHAPES


def test_detach_gives_the_model_back(model: Any, calibration: Any) -> None:
    ids = random_ids(2, 100)
    before = model(ids).logits
    sequences = model.generate(ids, max_new_tokens=5, do_sample=False)
    implementation = model.config._attn_implementation
    attach(model, calibration, **OPTIONS)
    model.generate(ids, max_new_tokens=5, do_sample=False)
    detach(model)
    assert model.config._attn_implementation == implementation
    assert "_prepare_cache_for_generation" not in vars(model)
    assert torch.equal(model(ids).logits, before)
    assert torch.equal(model.generate(ids, max_new_tokens=5, do_sample=False), sequences)


def test_an_attached_model_can_run_without_a_cache(model: Any, calibration: Any) -> None:
    prompts = [random_ids(1, length, seed=length) for length in (60, 33)]
    ids, mask = pad_left(prompts)
    with attach(model, calibration):
        together = model(ids, attention_mask=mask, use_cache=False).logits
        for row, prompt in enumerate(prompts):
            alone = model(prompt, use_cache=False).logits[0]
            positions = together[row, -prompt.shape[1] :]
            # RoPE is relative, so the shift by the padding costs only rounding.
            torch.testing.assert_close(positions, alone, rtol=1e-4, atol=1e-4)
