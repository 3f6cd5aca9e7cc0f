# SPDX-License-Identifier: Apache-2.0
"""What an attached model computes, against dense attention over the same int8 keys and values."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import Qwen3Config, Qwen3ForCausalLM

from integrations.tiny_llama import (
    OTHER_SHAPES,
    make_calibration,
    make_model,
    pad_left,
    random_ids,
    relative_error,
    use_int8_dense,
)
from sals.cache import LayerCache
from sals.integrations.transformers import SalsCache, attach
from tolerance import TWO_TERM_MEDIAN

# Two-term arithmetic is off by TWO_TERM_MEDIAN (relative L2) in the attention of a layer, averaged over
# the many rows of a test. A layer's attention is one of several terms of the hidden state, and an error of an
# early layer passes the later ones with a gain near 1 (residual stream, normalised), so the layers' errors
# add up at worst. The int8 cache itself moves these logits by more than four times that.
N_LAYERS = 2
SAME_CACHE = N_LAYERS * TWO_TERM_MEDIAN

# Half a step of an int8 code is 1/254 of its row's maximum. A row's maximum is about 3 times its RMS, so
# keys and values are off by 3 / (254 * sqrt(3)) = 0.7 % (relative L2). A logit is a sum of 64 such products:
# with logits of a few units that moves weights by about 1 %. Both together stay below 2 % of a layer's
# attention.
INT8_CACHE = N_LAYERS * 0.02

QWEN3_FACTS = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "initializer_range",
)


def without_zeros(pieces: list[int]) -> list[int]:
    return [piece for piece in pieces if piece]


def run(model: Any, ids: Tensor, pieces: list[int], cache: SalsCache | None = None) -> tuple[Tensor, Any]:
    """Logits of each piece of `ids`, fed one after the other, and the cache."""
    logits = []
    for piece in ids.split(pieces, dim=1):
        out = model(piece, cache=cache, use_cache=True)
        cache = out.cache
        logits.append(out.logits)
    return torch.cat(logits, dim=1), cache


@pytest.mark.parametrize("pieces", [[200, 1, 1], [200, 3, 30], [100, 133]], ids=str)
@pytest.mark.parametrize("layout", ["PA_BNSD", "PA_BSND", "PA_NZ", "PA_KV"])
@pytest.mark.parametrize("variant", [{}, {"rotated": False}, {"joint": True}], ids=str)
def test_keeping_every_block_is_dense_attention_over_the_int8_cache(
    pieces: list[int], layout: str, variant: dict[str, Any]
) -> None:
    model, golden = make_model(), make_model()
    use_int8_dense(golden)
    ids = random_ids(2, sum(pieces))
    expected, _ = run(golden, ids, pieces)
    with attach(
        model, make_calibration(model, **variant), keep=1, min_dense_tokens=0, layout=layout
    ) as handle:
        actual, cache = run(model, ids, pieces, handle.new_cache(2, 300))
    assert cache.get_seq_length() == sum(pieces)
    assert relative_error(actual, expected) <= SAME_CACHE


def test_short_contexts_read_every_block(model: Any, calibration: Any) -> None:
    ids = random_ids(2, 204)
    with attach(model, calibration, keep=1, min_dense_tokens=0) as handle:
        chosen, _ = run(model, ids, [200, 1, 3], handle.new_cache(2, 300))
    with attach(model, calibration, keep=0, min_dense_tokens=205) as handle:
        listed, _ = run(model, ids, [200, 1, 3], handle.new_cache(2, 300))
    assert relative_error(listed, chosen) <= SAME_CACHE


def test_a_small_budget_changes_the_result(model: Any, calibration: Any) -> None:
    ids = random_ids(1, 201)
    with attach(model, calibration, keep=1, min_dense_tokens=0) as handle:
        every, _ = run(model, ids, [200, 1], handle.new_cache(1, 300))
    with attach(model, calibration, keep=0, min_dense_tokens=0) as handle:
        none, _ = run(model, ids, [200, 1], handle.new_cache(1, 300))
    torch.testing.assert_close(none[:, :200], every[:, :200], rtol=0, atol=0)
    assert relative_error(none[:, 200:], every[:, 200:]) > 10 * SAME_CACHE


def test_a_prompt_in_pieces_is_the_whole_prompt(model: Any, calibration: Any) -> None:
    ids = random_ids(2, 300)
    with attach(model, calibration) as handle:
        whole, _ = run(model, ids, [300], handle.new_cache(2, 300))
        pieces, _ = run(model, ids, [100, 100, 100], handle.new_cache(2, 300))
    assert relative_error(pieces, whole) <= INT8_CACHE


def test_several_tokens_at_once_are_single_steps(model: Any, calibration: Any) -> None:
    ids = random_ids(2, 232)
    with attach(model, calibration, keep="1/4", min_dense_tokens=0) as handle:
        single, _ = run(model, ids, [200] + 32 * [1], handle.new_cache(2, 300))
        together, _ = run(model, ids, [200, 32], handle.new_cache(2, 300))
    assert relative_error(together, single) <= OTHER_SHAPES


@pytest.mark.parametrize("rotated", [True, False])
@pytest.mark.parametrize(("lengths", "last_piece"), [((150, 97, 1), 0), ((150, 97, 60), 50)])
def test_a_padded_batch_is_its_requests_alone(
    model: Any, rotated: bool, lengths: tuple[int, ...], last_piece: int
) -> None:
    prompts = [random_ids(1, length, seed=length) for length in lengths]
    new = random_ids(3, 8)
    ids, mask = pad_left(prompts)
    mask = torch.cat([mask, torch.ones_like(new)], dim=1)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    columns = torch.cat([ids, new], dim=1)
    with attach(model, make_calibration(model, rotated=rotated), keep="1/4", min_dense_tokens=0) as handle:
        cache = handle.new_cache(3, 200)
        end = 0
        for piece in columns.split(without_zeros([150 - last_piece, last_piece, 8]), dim=1):
            begin, end = end, end + piece.shape[1]
            together = model(
                piece, attention_mask=mask[:, :end], position_ids=positions[:, begin:end], cache=cache
            ).logits
        assert cache.requests.begin(3, 1, None).seq_lens.tolist() == [length + 9 for length in lengths]
        for row, prompt in enumerate(prompts):
            pieces = without_zeros([prompt.shape[1] - last_piece, last_piece, 8])
            alone, _ = run(
                model, torch.cat([prompt, new[row : row + 1]], 1), pieces, handle.new_cache(1, 200)
            )
            assert relative_error(together[row], alone[0, -8:]) <= OTHER_SHAPES


def test_dense_layers_read_every_block(monkeypatch: pytest.MonkeyPatch, model: Any) -> None:
    from sals.integrations.transformers import attention

    widths = []

    def spy(query: Tensor, *args: Any, **options: Any) -> Any:
        widths.append(args[4].shape[-1])
        return attend(query, *args, **options)

    attend = attention.sparse_attention
    monkeypatch.setattr(attention, "sparse_attention", spy)
    with attach(model, make_calibration(model, dense_layers=(1,)), keep="1/4", min_dense_tokens=0) as handle:
        run(model, random_ids(1, 321), [320, 1], handle.new_cache(1, 400))
    # 321 tokens are 21 blocks: 1 sink, 2 tail, and ceil(18 / 4) = 5 of the others; or all 21.
    assert widths == [8, 21]


def pair_norms(x: Tensor) -> Tensor:
    """Lengths of the channel pairs that RoPE rotates; x has shape [..., heads, head_dim]."""
    return x.unflatten(-1, (2, -1)).norm(dim=-2)


@pytest.mark.parametrize("family", ["Llama", "Qwen3"])
def test_the_index_is_made_from_tensors_before_rope(monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    from sals.integrations.transformers import attention

    model = make_model()
    if family == "Qwen3":  # queries and keys pass a norm between projection and RoPE
        facts = {name: getattr(model.config, name) for name in QWEN3_FACTS}
        model = Qwen3ForCausalLM(Qwen3Config(**facts)).eval()
    written, asked = [], []

    def write(_cache: LayerCache, key: Tensor, _value: Tensor, index_key: Tensor, *rest: Tensor) -> None:
        written.append((key, index_key))

    def project(query: Tensor, *rest: Any, **options: Any) -> Any:
        asked.append(query)
        return project_query(query, *rest, **options)

    def attend(query: Tensor, *rest: Any, **options: Any) -> Any:
        asked.append(query)
        return sparse_attention(query, *rest, **options)

    project_query, sparse_attention = attention.project_query, attention.sparse_attention
    monkeypatch.setattr(LayerCache, "write", write)
    monkeypatch.setattr(attention, "project_query", project)
    monkeypatch.setattr(attention, "sparse_attention", attend)
    ids, mask = pad_left([random_ids(1, 5), random_ids(1, 3)])
    with attach(model, make_calibration(model, rotated=False), min_dense_tokens=0) as handle:
        cache = handle.new_cache(2, 16)
        model(ids, attention_mask=mask, cache=cache)
        longer = torch.cat([mask, torch.tensor([[1, 0], [1, 1]])], dim=1)
        model(random_ids(2, 2), attention_mask=longer, cache=cache)
    for rotated, plain in written + list(zip(asked[1::2], asked[::2], strict=True)):
        torch.testing.assert_close(pair_norms(plain), pair_norms(rotated))
        assert relative_error(plain, rotated) > 0.1
    # RoPE at position 0 turns nothing.
    torch.testing.assert_close(written[0][0][0], written[0][1][0])


def test_timer_splits_a_pass(model: Any, calibration: Any) -> None:
    ids = random_ids(1, 100)
    with attach(model, calibration, min_dense_tokens=0) as handle:
        cache = handle.new_cache(1, 128)
        run(model, ids[:, :98], [98], cache)
        with handle.timed() as timer:
            run(model, ids[:, 98:], [1, 1], cache)
        assert timer.passes == 2
        assert all(seconds > 0 for seconds in timer.seconds.values())
        before = dict(timer.seconds)
        run(model, ids[:, :1], [1], cache)
        assert timer.seconds == before
