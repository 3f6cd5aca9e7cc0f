# SPDX-License-Identifier: Apache-2.0
"""Selectors: the rule in PyTorch is the contract's, and their scores are what they say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from methods.rows import GROUP, HEAD_DIM, SCALE, Requests, new_layer, prompt, step
from sals.kept.attend import RowQuery
from sals.methods import make_method
from sals.methods.ranking import choose_blocks, rank
from sals.methods.sketch import Sketch, gaussian_projection
from sals.reference import SelectionParams, keeping, select
from sals.reference.closeness import TWO_TERM_MAX, relative_l2
from sals.selection import Selection


@settings(max_examples=80, deadline=None, print_blob=True)
@given(
    st.integers(0, 2**31),
    st.integers(1, 700),
    st.sampled_from(
        [{"keep": "1/3"}, {"keep": 0, "min_blocks": 4, "max_blocks": 4}, {"coverage": 0.7}, {"keep": 1}]
    ),
    st.integers(0, 2),
    st.integers(1, 3),
)
def test_blocks_are_the_references(seed: int, longest: int, how: dict, sinks: int, tail: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    selection = Selection(block_size=8, sink_blocks=sinks, tail_blocks=tail, **how)
    seen = torch.randint(0, longest + 1, (3, 2), generator=generator)
    # Few different scores, so that ties are common; and one NaN, which counts as -inf.
    scores = torch.randint(0, 6, (3, 2, -(-longest // 8)), generator=generator).float()
    scores[0, 0, 0] = torch.nan
    block_ids, lens = choose_blocks(scores, seen, selection, longest)
    for row in range(3):
        for query in range(2):
            expected = select(
                scores[row, query].numpy(), int(seen[row, query]), SelectionParams(**selection.arguments())
            )
            ids = block_ids[row, query, 0]
            assert ids[ids >= 0].tolist() == expected
            assert int(lens[row, query, 0]) == sum(min(8, int(seen[row, query]) - 8 * i) for i in expected)


def test_rank_puts_ties_in_order_and_others_last() -> None:
    scores = torch.tensor([[1.0, 3.0, torch.nan, 3.0, -torch.inf]])
    candidates = torch.tensor([[True, True, True, False, True]])
    assert rank(scores, candidates).tolist() == [[1, 0, 2, 5, 3]]


@pytest.mark.parametrize("name", ["oracle", "quest"])
def test_a_budget_for_everything_is_dense(name: str) -> None:
    requests = Requests.random(3, 150)
    selecting, dense = new_layer(make_method(name, budget=160), 160), new_layer(make_method("dense"), 160)
    for kv in (selecting, dense):
        prompt(kv, requests, 100)
    for begin, end in ((100, 101), (101, 120), (120, 150)):
        assert torch.equal(step(selecting, requests, begin, end), step(dense, requests, begin, end))


def test_dense_is_attention_over_the_int8_cache() -> None:
    requests = Requests.random(2, 90)
    kv = new_layer(make_method("dense"), 96)
    prompt(kv, requests, 80)
    out = step(kv, requests, 80, 90).double().numpy()
    for row in range(2):
        stored = requests.stored(row)
        golden = [
            keeping.attention(requests.query[row, token].numpy(), *stored, range(token + 1), SCALE)[0]
            for token in range(80, 90)
        ]
        assert relative_l2(out[row], np.stack(golden)) <= TWO_TERM_MAX


@pytest.mark.parametrize("size", [8, 16, 32])
def test_quest_bounds_every_logit(size: int) -> None:
    requests = Requests.random(2, 150)
    kv = new_layer(make_method("quest", budget=96, block_size=size), 160)
    prompt(kv, requests, 100)
    for begin, end in ((100, 103), (103, 150)):
        step(kv, requests, begin, end)
    query = requests.query[:, 149:]
    seen = torch.full((2, 1), 150)
    bounds = kv.method.block_scores(kv, query, seen, SCALE)
    keys = kv.keys()
    for row in range(2):
        assert bounds.shape[2] == -(-150 // size)
        for block in range(bounds.shape[2]):
            part = keys[row, size * block : min(size * block + size, 150)].numpy()
            golden = max(keeping.quest_bound(query[row, 0, g].numpy(), part) for g in range(GROUP)) * SCALE
            # Both bounds are rounded to float16, by 2^-11 of themselves.
            magnitude = float((query[row, 0].abs() @ keys[row].abs().amax(0)).max()) * SCALE
            assert abs(float(bounds[row, 0, block]) - golden) <= 2**-11 * magnitude
            logits = query[row, 0].numpy() @ part.T * SCALE
            assert float(bounds[row, 0, block]) >= logits.max() - 2**-11 * magnitude


def test_the_oracle_chooses_the_blocks_of_most_attention() -> None:
    requests = Requests.random(2, 200)
    kv = new_layer(make_method("oracle", budget=96), 208)
    prompt(kv, requests, 199)
    step(kv, requests, 199, 200)
    scores = kv.method.block_scores(kv, requests.query[:, 199:], torch.full((2, 1), 200), SCALE)
    for row in range(2):
        key, value = requests.stored(row)
        _, weights = keeping.attention(requests.query[row, 199].numpy(), key, value, range(200), SCALE)
        mass = np.add.reduceat(weights.sum(0), range(0, 200, 16))
        np.testing.assert_allclose(scores[row, 0].exp().numpy(), mass, rtol=1e-4)


def test_a_selector_reads_its_budget() -> None:
    requests = Requests.random(2, 400)
    for name in ("quest", "oracle"):
        kv = new_layer(make_method(name, budget=96), 400)
        seen = []
        kv.observer = lambda layer, reading, seen=seen: seen.append(reading.read)
        prompt(kv, requests, 399)
        step(kv, requests, 399, 400)
        read = seen[0]
        assert read.sum(-1).tolist() == [[96], [96]]
        assert bool(read[..., :16].all()) and bool(read[..., -16:].all())


def test_selectors_forget_what_is_rolled_back() -> None:
    """The bounds of a block that a rejected token had widened must shrink again."""
    requests, other = Requests.random(2, 120), Requests.random(2, 120, seed=9)
    kv, plain = (new_layer(make_method("quest", budget=64), 128) for _ in range(2))
    for layer in (kv, plain):
        prompt(layer, requests, 100)
    step(kv, Requests(other.query, 50 * other.key, other.value), 100, 107)
    kv.crop(torch.full((2,), 101 - 1))
    assert torch.equal(step(kv, requests, 100, 101), step(plain, requests, 100, 101))
    assert all(torch.equal(a, b) for a, b in zip(kv.bounds(), plain.bounds(), strict=True))


# Sketch ----------------------------------------------------------------------------------------------------


def test_a_projection_is_drawn_once() -> None:
    """The article draws it inside the call, so no two steps agree."""
    assert gaussian_projection(64, 8, 0) is gaussian_projection(64, 8, 0)
    assert not torch.equal(gaussian_projection(64, 8, 0), gaussian_projection(64, 8, 1))
    assert gaussian_projection(128, 8, 0).shape == (128, 16)


@pytest.mark.parametrize("ratio", [4, 8, 16, 32])
def test_sketched_products_are_unbiased(ratio: int) -> None:
    """The article's scale is off by sqrt(width / head_dim) and flattens the logits."""
    generator = torch.Generator().manual_seed(1)
    query, key = torch.randn(2, 64, generator=generator).double()
    products = torch.stack(
        [
            (query @ p.double()) @ (key @ p.double())
            for p in (gaussian_projection(64, ratio, s) for s in range(4000))
        ]
    )
    # A product of sketches has the variance (|q|^2 |k|^2 + (q k)^2) / width.
    deviation = ((query @ query * (key @ key) + (query @ key) ** 2) / (64 // ratio) / 4000) ** 0.5
    print(f"mean {products.mean():.3f}, true {query @ key:.3f}, standard error {deviation:.3f}")
    assert abs(products.mean() - query @ key) < 4 * deviation
    article = (64 / ratio / 64) ** 0.5
    assert abs(products.mean() * article - query @ key) > 4 * deviation


def test_the_index_of_a_sketch() -> None:
    from integrations.tiny_llama import make_model

    index = Sketch(ratio=16, seed=3).index(make_model().config)
    assert index.rotated and index.rank == 8  # 4 numbers, padded to what the operators take
    expected = torch.nn.functional.pad(gaussian_projection(64, 16, 3), (0, 4))
    for layer in index.key_projection:
        for head in layer:
            assert torch.equal(head, expected)


def test_a_fitted_projection_beats_chance() -> None:
    from integrations.tiny_llama import make_model, random_ids
    from sals.methods.sketch import fit_projection

    model = make_model()
    fitted = fit_projection(model, random_ids(1, 1024)[0], Sketch(ratio=4), windows=2, length=256)
    assert fitted.query_projection.shape == (2, 2, 64, 16)
    identity = fitted.key_projection[0, 0].T @ fitted.key_projection[0, 0]
    torch.testing.assert_close(identity, torch.eye(16), rtol=0, atol=1e-5)
    with pytest.raises(
        ValueError, match=r"tokens must be a vector of at least 4096 token ids, got shape \[7\]"
    ):
        fit_projection(model, random_ids(1, 7)[0], Sketch())


def test_padding_queries_see_nothing() -> None:
    lens = torch.tensor([2, 0])
    queries = RowQuery(torch.zeros(2, 3, GROUP, HEAD_DIM), lens)
    assert queries.seen(torch.tensor([10, 5])).tolist() == [[9, 10, 0], [0, 0, 0]]
