# SPDX-License-Identifier: Apache-2.0
"""Every method on a transformers model, by name."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import Qwen3Config, Qwen3ForCausalLM

from integrations.test_decoding import (
    INT8_CACHE,
    QWEN3_FACTS,
    SAME_CACHE,
    pair_norms,
    run,
    without_zeros,
)
from integrations.tiny_llama import (
    OTHER_SHAPES,
    make_model,
    pad_left,
    random_ids,
    relative_error,
    use_int8_dense,
)
from sals.cache import LayerCache
from sals.calibration import ModelFingerprint
from sals.integrations.transformers import KeptCache, attach, detach
from sals.methods import METHODS, make_method
from sals.methods.memory import footprint

# Settings under which a method keeps and reads everything of 233 tokens.
EVERYTHING: dict[str, dict[str, Any]] = {
    "dense": {},
    "sketch": {"min_dense_tokens": 0},
    "quest": {"budget": 256},
    "oracle": {"budget": 256},
    "streaming": {"budget": 240},
    "window": {"budget": 240},
    "h2o": {"budget": 240},
    "random": {"budget": 240},
    "stca": {"budget": 240, "coverage": 1.0},
}
SPARSE: dict[str, dict[str, Any]] = {
    "sketch": {"budget": 96, "min_dense_tokens": 0},
    "quest": {"budget": 96},
    "oracle": {"budget": 96},
    "streaming": {"budget": 64},
    "streaming, rolling": {"budget": 64, "positions": "rolling"},
    "window": {"budget": 64},
    "h2o": {"budget": 64},
    "h2o, no recent": {"budget": 64, "recent": 0},
    "random": {"budget": 64},
    "stca": {"budget": 100, "coverage": 0.7, "interval": 8},
    "stca, sketch": {"budget": 100, "coverage": 0.7, "interval": 8, "scores": "sketch"},
    "stca, demote": {"budget": 100, "coverage": 0.7, "interval": 8, "low": "demote"},
}


def attach_row(model: Any, name: str, settings: dict[str, Any]) -> Any:
    return attach(model, method=name.split(",")[0], **settings)


def test_every_method_is_tried() -> None:
    assert set(EVERYTHING) | {"sals"} == set(METHODS)
    assert {name.split(",")[0] for name in SPARSE} | {"dense", "sals"} == set(METHODS)


@pytest.mark.parametrize("name", EVERYTHING)
def test_full_retention_is_dense_attention_over_the_int8_cache(name: str) -> None:
    model, golden = make_model(), make_model()
    use_int8_dense(golden)
    pieces = [200, 1, 2, 30]
    ids = random_ids(2, sum(pieces))
    expected, _ = run(golden, ids, pieces)
    with attach(model, method=name, **EVERYTHING[name]) as handle:
        actual, cache = run(model, ids, pieces, handle.new_cache(2, 300))
    assert cache.get_seq_length() == sum(pieces)
    assert relative_error(actual, expected) <= SAME_CACHE


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize(("lengths", "last_piece"), [((150, 97, 1), 0), ((150, 97, 60), 50)])
def test_a_padded_batch_is_its_requests_alone(
    model: Any, name: str, lengths: tuple[int, ...], last_piece: int
) -> None:
    prompts = [random_ids(1, length, seed=length) for length in lengths]
    new = random_ids(3, 8)
    ids, mask = pad_left(prompts)
    mask = torch.cat([mask, torch.ones_like(new)], dim=1)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    columns = torch.cat([ids, new], dim=1)
    with attach_row(model, name, SPARSE[name]) as handle:
        cache = handle.new_cache(3, 200)
        end = 0
        for piece in columns.split(without_zeros([150 - last_piece, last_piece, 4, 4]), dim=1):
            begin, end = end, end + piece.shape[1]
            together = model(
                piece, attention_mask=mask[:, :end], position_ids=positions[:, begin:end], cache=cache
            ).logits
        for row, prompt in enumerate(prompts):
            pieces = without_zeros([prompt.shape[1] - last_piece, last_piece, 4, 4])
            request = torch.cat([prompt, new[row : row + 1]], 1)
            alone, one = run(model, request, pieces, handle.new_cache(1, 200))
            # A lot depends on the row, so only the first request of a batch draws as it does alone.
            if row == 0 or name != "random":
                assert relative_error(together[row], alone[0, -4:]) <= OTHER_SHAPES
            if isinstance(cache, KeptCache):
                heads = slice(2 * row, 2 * row + 2)
                assert torch.equal(cache.layers[0].kv.rows.lengths[heads], one.layers[0].kv.rows.lengths)


@pytest.mark.parametrize("name", SPARSE)
def test_generate_pads_left_and_goes_on(model: Any, name: str) -> None:
    prompts = [random_ids(1, length, seed=length) for length in (130, 77)]
    ids, mask = pad_left(prompts)
    with attach_row(model, name, SPARSE[name]):
        together = model.generate(ids, attention_mask=mask, max_new_tokens=10, do_sample=False)
        alone = model.generate(prompts[0], max_new_tokens=10, do_sample=False)
    assert torch.equal(together[0, -10:], alone[0, -10:])


@pytest.mark.parametrize("name", ["streaming", "h2o", "stca", "quest", "stca, demote"])
def test_prompt_lookup_rolls_back(model: Any, name: str) -> None:
    """Guesses take room while they stand, so a budget that cuts would read other tokens: here it does not."""
    settings = SPARSE[name] | ({"coverage": 0.9, "interval": 90} if "stca" in name else {"budget": 240})
    ids = random_ids(1, 12).repeat(1, 10)
    with attach_row(model, name, settings):
        plain = model.generate(ids, max_new_tokens=20, do_sample=False)
        guessed = model.generate(ids, max_new_tokens=20, do_sample=False, prompt_lookup_num_tokens=4)
    assert torch.equal(guessed, plain)


@pytest.mark.parametrize("name", SPARSE)
def test_requests_move_and_fork(model: Any, name: str) -> None:
    ids, newest = random_ids(3, 200), random_ids(3, 1, seed=5)
    with attach_row(model, name, SPARSE[name]) as handle:
        cache = handle.new_cache(5, 256)
        model(ids, cache=cache)
        expected = model(newest, cache=cache).logits
        for sources in ([2, 0, 1], [1, 1, 0], [0, 2, 2, 2, 0]):
            cache.reset()
            model(ids, cache=cache)
            cache.reorder_cache(torch.tensor(sources))
            moved = model(newest[sources], cache=cache).logits
            if name != "random":
                assert relative_error(moved, expected[sources]) <= OTHER_SHAPES


def test_reset_forgets(model: Any) -> None:
    ids, other = random_ids(2, 200), random_ids(2, 150, seed=8)
    with attach(model, method="h2o", budget=64) as handle:
        cache = handle.new_cache(2, 256)
        fresh, _ = run(model, ids, [180, 10, 10], cache)
        cache.reset()
        assert cache.resident_bytes() == 0
        run(model, other, [140, 10], cache)
        cache.reset()
        again, _ = run(model, ids, [180, 10, 10], cache)
    assert torch.equal(fresh, again)


@pytest.mark.parametrize("name", SPARSE)
def test_a_pass_that_failed_can_be_repeated(model: Any, name: str) -> None:
    ids = random_ids(2, 203)
    with attach_row(model, name, SPARSE[name]) as handle:
        expected, _ = run(model, ids, [200, 1, 1, 1], handle.new_cache(2, 256))
        cache = handle.new_cache(2, 256)
        parts = [model(ids[:, :200], cache=cache).logits]

        def fail(*_: Any) -> None:
            raise KeyboardInterrupt

        for token in range(200, 203):
            hook = model.model.layers[0].mlp.register_forward_pre_hook(fail)
            with pytest.raises(KeyboardInterrupt):
                model(ids[:, token : token + 1], cache=cache)
            hook.remove()
            parts.append(model(ids[:, token : token + 1], cache=cache).logits)
    assert torch.equal(torch.cat(parts, 1), expected)


def first_layer_output(model: Any, ids: Tensor, pieces: list[int], **settings: Any) -> Tensor:
    """What the first layer's attention gives for the newest token."""
    seen = []
    with attach(model, **settings) as handle:
        hook = model.model.layers[0].self_attn.o_proj.register_forward_pre_hook(
            lambda _module, args: seen.append(args[0])
        )
        run(model, ids, pieces, handle.new_cache(1, 300))
        hook.remove()
    return seen[-1][0, -1]


@pytest.mark.parametrize("pieces", [[100, *[1] * 60], [100, *[5] * 12], [40, 100, *[1] * 20]], ids=str)
def test_keeping_the_last_s_is_dense_on_the_last_s(model: Any, pieces: list[int]) -> None:
    """awslabs/keys_values issue 140: in the first layer, keys do not depend on what came before.

    With rolling positions the last S tokens stand where they stand alone; only the projections were computed
    in batches of other sizes (tests/methods/test_positions.py has them bit for bit). With the original ones
    RoPE's distances are the same, which moves int8 codes by a step here and there.
    """
    ids, kept = random_ids(1, 160), 48
    for positions, tolerance in (("rolling", OTHER_SHAPES), ("original", INT8_CACHE)):
        settings = {"method": "window", "budget": kept, "positions": positions}
        whole = first_layer_output(model, ids, pieces, **settings)
        alone = first_layer_output(
            model, ids[:, -kept:], [kept - 1, 1], method="window", budget=200, positions=positions
        )
        longer = first_layer_output(
            model, ids[:, -kept - 1 :], [kept, 1], method="window", budget=200, positions=positions
        )
        assert relative_error(whole, alone) <= tolerance
        assert relative_error(whole, longer) > INT8_CACHE


def test_rolling_positions_never_exceed_the_budget(model: Any) -> None:
    angles = []
    embedding = model.model.rotary_emb
    with attach(model, method="streaming", budget=32, positions="rolling") as handle:
        at = handle._rotary.at
        handle._rotary.at = lambda positions, like: angles.append(int(positions.max())) or at(positions, like)
        run(model, random_ids(2, 300), [20, *[1] * 200, *[8] * 10], handle.new_cache(2, 320))
    assert max(angles) == 31
    assert embedding is model.model.rotary_emb


def test_rolling_positions_equal_original_ones_while_nothing_is_evicted(model: Any) -> None:
    ids = random_ids(2, 120)
    outputs = []
    for positions in ("rolling", "original"):
        with attach(model, method="streaming", budget=128, positions=positions) as handle:
            outputs.append(run(model, ids, [100, 1, 19], handle.new_cache(2, 128))[0])
    # Quantised before or after RoPE: one int8 rounding of keys more.
    assert relative_error(*outputs) <= INT8_CACHE


def test_generation_goes_on_beyond_the_trained_length() -> None:
    """Positions of 256 are all the model has; memory and positions stay bounded over three times as many."""
    model = make_model(max_position_embeddings=256)
    ids = random_ids(1, 100)
    with attach(model, method="streaming", budget=64, positions="rolling") as handle:
        positions, at = [], handle._rotary.at
        handle._rotary.at = lambda asked, like: positions.append(int(asked.max())) or at(asked, like)
        cache = handle.new_cache(1, 900)
        text = model.generate(ids, max_new_tokens=668, do_sample=False, cache=cache)
        assert text.shape[1] == 768 and cache.get_seq_length() == 767
        assert max(positions[1:]) == 63
        slots = 64 * (2 * 68 + 4) * 2 * 2
        assert cache.resident_bytes() == slots
        again, _ = run(model, text, [100, *[1] * 668], handle.new_cache(1, 900))
    assert torch.equal(again[0, 99:767].argmax(-1), text[0, 100:])


def test_selectors_and_evictors_by_instance(model: Any) -> None:
    method = make_method("h2o", budget=64, decay=0.9)
    with attach(model, method=method) as handle:
        assert handle.method is method
    detached = attach(model, method="quest", budget=96)
    detach(model)
    assert detached.model is model and model.config._attn_implementation != "sals"


def test_fp16_model_stays_finite() -> None:
    model = make_model().half()
    for name in ("h2o", "stca", "quest", "streaming, rolling", "stca, sketch"):
        with attach_row(model, name, SPARSE[name]) as handle:
            logits, cache = run(model, random_ids(2, 180), [150, 1, 1, 28], handle.new_cache(2, 200))
        assert bool(logits.isfinite().all())
        for tensor in cache.layers[0].kv.tensors():
            assert bool(tensor.isfinite().all())


def test_a_sketch_sees_normalised_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models with a query and key norm: sketches are made behind it, of what attention uses."""
    llama = make_model()
    facts = {name: getattr(llama.config, name) for name in QWEN3_FACTS}
    model = Qwen3ForCausalLM(Qwen3Config(**facts)).eval()
    written, normed = [], []

    def write(_cache: LayerCache, key: Tensor, _value: Tensor, index_key: Tensor, *rest: Tensor) -> None:
        written.append((key, index_key))

    monkeypatch.setattr(LayerCache, "write", write)
    for layer in model.model.layers:
        layer.self_attn.k_norm.weight.data.uniform_(0.5, 2.0)
        layer.self_attn.k_norm.register_forward_hook(lambda _module, _args, out: normed.append(out[0]))
    with attach(model, method="sketch") as handle:
        model(random_ids(1, 20), cache=handle.new_cache(1, 32))
    for (key, index_key), before_rope in zip(written, normed, strict=True):
        assert index_key is key
        torch.testing.assert_close(pair_norms(key), pair_norms(before_rope))


def test_bytes_of_an_index_are_the_formulas(model: Any) -> None:
    """Index methods take all pages of `max_len` at once, so whole pages are what the formula says exactly."""
    facts = ModelFingerprint.of(model.config)
    for method in (make_method("sketch", budget=96, ratio=4), make_method("sketch", budget=96, ratio=32)):
        with attach(model, method=method) as handle:
            cache = handle.new_cache(1, 1024)
        allocated = sum(
            t.untyped_storage().nbytes() for layer in cache.layers for t in layer.stored.tensors()
        )
        assert allocated == footprint(method, facts, 1024, 96, handle.calibration).stored


@pytest.mark.parametrize("name", ["h2o", "stca", "streaming", "quest"])
def test_recorded_bytes_are_all_the_memory_there_is(model: Any, name: str) -> None:
    """No tensor of the cache is held elsewhere: what lives on beside the model is what is counted."""

    def storages() -> dict[int, torch.UntypedStorage]:
        gc.collect()
        found = [thing for thing in gc.get_objects() if type(thing) in (Tensor, torch.nn.Parameter)]
        return {t.untyped_storage().data_ptr(): t.untyped_storage() for t in found}

    with attach_row(model, name, SPARSE[name]) as handle:
        before = storages()  # held, so that nothing new takes their place
        cache = handle.new_cache(4, 600)
        run(model, random_ids(4, 520), [500, *[1] * 20], cache)
        held = cache.resident_bytes()
        grown = sum(storage.nbytes() for at, storage in storages().items() if at not in before)
    # Row tables, positions and the mask of columns come on top: a few numbers a row.
    print(f"counted {held}, alive {grown}")
    assert held <= grown <= 1.05 * held + 8192
