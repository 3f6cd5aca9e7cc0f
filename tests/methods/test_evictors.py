# SPDX-License-Identifier: Apache-2.0
"""Evictors against the token-by-token reference, and the mistakes of published implementations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from methods.rows import GROUP, HEAD_DIM, SCALE, Requests, held, new_layer, one_pass, prompt, step
from sals.kept.codes import from_codes, int8_codes
from sals.methods import make_method
from sals.methods.interface import Held
from sals.methods.scores import received_mass
from sals.methods.stca import Cover
from sals.reference import keeping
from sals.reference.closeness import TWO_TERM_MAX, relative_l2

TOKENS, PROMPT = 96, 40

# A method with the reference's rule for "keep before one more token".
RULES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "window": ("window", {"budget": 24}, lambda h, s, seen: keeping.newest(h, 23)),
    "streaming": ("streaming", {"budget": 24}, lambda h, s, seen: keeping.keep_streaming(h, 23, 4)),
    "h2o": ("h2o", {"budget": 24}, lambda h, s, seen: keeping.keep_heavy(h, s, 23, 0, 11)),
    "h2o, sinks": ("h2o", {"budget": 24, "sinks": 4}, lambda h, s, seen: keeping.keep_heavy(h, s, 23, 4, 11)),
    "h2o, no recent": (
        "h2o",
        {"budget": 24, "recent": 0},
        lambda h, s, seen: keeping.keep_heavy(h, s, 23, 0, 0),
    ),
    "h2o, no heavy": ("h2o", {"budget": 24, "recent": 24}, lambda h, s, seen: keeping.newest(h, 23)),
    "h2o, decay": (
        "h2o",
        {"budget": 24, "decay": 0.9},
        lambda h, s, seen: keeping.keep_heavy(h, s, 23, 0, 11),
    ),
    "h2o, normalised": (
        "h2o",
        {"budget": 24, "normalise": True},
        lambda h, s, seen: keeping.keep_heavy(h, {p: s[p] / (seen - p) for p in h}, 23, 0, 11),
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_decoding_is_the_references(name: str) -> None:
    method, settings, rule = RULES[name]
    requests = Requests.random(4, TOKENS)
    kv = new_layer(make_method(method, **settings))
    prompt(kv, requests, PROMPT)
    read, outputs = [[] for _ in range(4)], []

    def keep(positions: list[int], scores: dict[int, float], seen: int) -> list[int]:
        return positions if len(positions) + 1 <= 24 else rule(positions, scores, seen)

    for token in range(PROMPT, TOKENS):
        outputs.append(step(kv, requests, token, token + 1))
        for row in range(4):
            read[row].append(held(kv, row))
    actual = torch.cat(outputs, dim=1).double().numpy()
    for row in range(4):
        stored = requests.stored(row)
        exact = (x[row].double().numpy() for x in (requests.query, requests.key, requests.value))
        golden, history = keeping.decode(
            *exact, SCALE, PROMPT, keep, settings.get("decay", 1.0), stored=stored
        )
        assert read[row] == history, f"row {row}"
        assert relative_l2(actual[row], golden[PROMPT:]) <= TWO_TERM_MAX


@pytest.mark.parametrize("name", ["h2o", "random"])
def test_scores_of_one_request_do_not_move_another(name: str) -> None:
    """FMInference/H2O issue 14: scores were summed over the batch."""
    requests = Requests.random(6, TOKENS)
    method = make_method(name, budget=24)
    together = new_layer(method)
    prompt(together, requests, PROMPT)
    outputs = [step(together, requests, token, token + 1) for token in range(PROMPT, TOKENS)]
    for row in range(6 if name == "h2o" else 1):
        one = Requests(*(x[row : row + 1] for x in (requests.query, requests.key, requests.value)))
        alone = new_layer(method)
        prompt(alone, one, PROMPT)
        for index, token in enumerate(range(PROMPT, TOKENS)):
            assert torch.equal(step(alone, one, token, token + 1)[0], outputs[index][row])
        assert held(alone, 0) == held(together, row)


def test_no_recent_window_still_accumulates() -> None:
    """FMInference/H2O: recent_budget 0 made ``[:, -0:]`` select the whole row, so nothing was scored."""
    method = make_method("h2o", budget=8, recent=0)
    scores = torch.tensor([[5.0, 1, 1, 4, 1, 3, 2, 1, 1, 9]])
    lengths = torch.tensor([10])
    kept = method.keep(Held(lengths, lengths, torch.arange(10)[None], scores), torch.tensor([4]))
    assert kept[0].nonzero().flatten().tolist() == [0, 3, 5, 9]


def test_equal_scores_keep_the_older() -> None:
    method = make_method("h2o", budget=6, recent=2)
    lengths = torch.tensor([10])
    kept = method.keep(
        Held(lengths, lengths, torch.arange(10)[None], torch.ones(1, 10)), torch.zeros(1, dtype=torch.int64)
    )
    assert kept[0].nonzero().flatten().tolist() == [0, 1, 2, 3, 8, 9]


@pytest.mark.parametrize("name", ["window", "streaming", "h2o", "random", "stca"])
def test_everything_fits_nothing_is_lost(name: str) -> None:
    settings = {"coverage": 1.0} if name == "stca" else {}
    requests = Requests.random(3, TOKENS)
    evicting, dense = new_layer(make_method(name, budget=TOKENS, **settings)), new_layer(make_method("dense"))
    for kv in (evicting, dense):
        prompt(kv, requests, PROMPT)
    for begin, end in ((PROMPT, PROMPT + 1), (PROMPT + 1, PROMPT + 9), (PROMPT + 9, TOKENS)):
        assert torch.equal(step(evicting, requests, begin, end), step(dense, requests, begin, end))
    assert held(evicting, 0) == list(range(TOKENS))


@pytest.mark.parametrize("name", ["window", "streaming", "h2o", "random"])
def test_one_token_more_than_the_budget_costs_one(name: str) -> None:
    settings = {"sinks": 1} if name == "streaming" else {}
    requests = Requests.random(2, 41)
    kv = new_layer(make_method(name, budget=40, **settings))
    prompt(kv, requests, 40)
    assert held(kv, 0) == list(range(40))
    step(kv, requests, 40, 41)
    assert len(held(kv, 0)) == 40 and held(kv, 0)[-1] == 40


def test_a_chunk_longer_than_the_window_keeps_recent_tokens() -> None:
    """mit-han-lab/streaming-llm: with num_coming > recent_size only the sinks stayed."""
    requests = Requests.random(2, 200)
    kv = new_layer(make_method("streaming", budget=24))
    prompt(kv, requests, 30)
    step(kv, requests, 30, 130)  # longer than the whole budget: read on top, cut afterwards
    assert held(kv, 0) == [0, 1, 2, 3, *range(111, 130)]
    step(kv, requests, 130, 142)  # half the budget: room is made before
    assert held(kv, 0) == [0, 1, 2, 3, *range(122, 142)]


def test_a_prompt_in_pieces_ends_in_the_same_window() -> None:
    requests = Requests.random(2, 160)
    whole, pieces = (new_layer(make_method("streaming", budget=32)) for _ in range(2))
    prompt(whole, requests, 150)
    prompt(pieces, requests, 50)
    for begin in (50, 100):
        step(pieces, requests, begin, begin + 50)
    for token in range(150, 160):
        assert torch.equal(step(whole, requests, token, token + 1), step(pieces, requests, token, token + 1))
    assert held(whole, 1) == held(pieces, 1)


@pytest.mark.parametrize("name", ["h2o", "streaming", "stca", "random", "dense", "quest"])
def test_a_rollback_leaves_no_trace(name: str) -> None:
    settings = {} if name in ("dense",) else {"budget": 64}
    requests, guesses = Requests.random(3, 120), Requests.random(3, 8, seed=5)
    method = make_method(name, **settings)
    plain, rolled = new_layer(method, 256), new_layer(method, 256)
    for kv in (plain, rolled):
        prompt(kv, requests, 50)
    for token in range(50, 120):
        if token % 7 == 0 and token < 58:
            # Two of the guesses are right: they are the request's own tokens.
            cut = requests.cut(token, token + 2)
            mixed = [torch.cat([a, b[:, :3]], 1) for a, b in zip(cut, guesses.cut(0, 3), strict=True)]
            one_pass(rolled, *mixed, torch.full((3,), 5))
            rolled.crop(torch.full((3,), token))
        expected = step(plain, requests, token, token + 1)
        actual = step(rolled, requests, token, token + 1)
        assert torch.equal(actual, expected), f"token {token}"
    assert held(plain, 2) == held(rolled, 2)


def test_rejected_queries_leave_the_scores() -> None:
    requests = Requests.random(2, 60)
    kv, plain = (new_layer(make_method("h2o", budget=64)) for _ in range(2))
    for layer in (kv, plain):
        prompt(layer, requests, 40)
    step(kv, requests, 40, 45)
    kv.crop(torch.full((2,), 42))
    step(plain, requests, 40, 42)
    for layer in (kv, plain):
        layer.begin(torch.zeros(2, dtype=torch.int64))
    torch.testing.assert_close(kv.rows.padded("score"), plain.rows.padded("score"), rtol=1e-6, atol=1e-6)


def test_ragged_rows_are_rows_alone() -> None:
    """Rows of different lengths, with padding behind the real tokens, in the prompt and in later passes."""
    lens, later = torch.tensor([40, 17, 1, 33]), torch.tensor([3, 0, 2, 1])
    requests = Requests.random(4, TOKENS)
    for name, settings in (("h2o", {"budget": 20}), ("stca", {"budget": 30, "recent": 4, "interval": 2})):
        method = make_method(name, **settings)
        together = new_layer(method)
        prompt(together, requests, 40, lens)
        out = one_pass(together, *requests.cut(40, 43), later)
        again = one_pass(together, *requests.cut(43, 46), later)
        for row in range(4):
            one = Requests(*(x[row : row + 1] for x in (requests.query, requests.key, requests.value)))
            alone = new_layer(method)
            prompt(alone, one, int(lens[row]))
            new = int(later[row])
            for begin, result in ((40, out), (43, again)):
                expected = one_pass(alone, *one.cut(begin, begin + new), later[row : row + 1])
                torch.testing.assert_close(result[row, :new], expected[0], rtol=1e-4, atol=1e-5)
                assert not result[row, new:].any()
            assert held(together, row) == held(alone, 0)


def test_scores_are_the_column_sums_of_attention() -> None:
    requests = Requests.random(2, 70)
    seen = torch.arange(1, 71).expand(2, -1)
    mass = received_mass(requests.query, requests.key, seen, SCALE)
    for row in range(2):
        expected = np.zeros(70)
        for token in range(70):
            key, value = requests.key[row].numpy(), requests.value[row].numpy()
            _, weights = keeping.attention(
                requests.query[row, token].numpy(), key, value, range(token + 1), SCALE
            )
            expected[: token + 1] += weights.mean(axis=0)
        np.testing.assert_allclose(mass[row].numpy(), expected, rtol=1e-5, atol=1e-6)
    total = mass.sum(1)
    torch.testing.assert_close(total, torch.full((2,), 70.0), rtol=1e-5, atol=0)


def test_fp16_logits_beyond_its_range_stay_finite() -> None:
    """Products of fp16 numbers of 300 are 90,000 each, above the largest fp16 number."""
    query = torch.full((1, 4, GROUP, HEAD_DIM), 300.0, dtype=torch.float16)
    key = torch.full((1, 4, HEAD_DIM), 300.0, dtype=torch.float16)
    key[0, 1] = -300
    mass = received_mass(query, key, torch.arange(1, 5)[None], SCALE)
    assert bool(mass.isfinite().all())
    torch.testing.assert_close(mass.sum(), torch.tensor(4.0))


def test_a_query_that_sees_nothing_scores_nothing() -> None:
    """A row of masked logits gave NaN, which spread to every score."""
    requests = Requests.random(2, 5)
    seen = torch.tensor([[1, 2, 3, 0, 0], [0, 0, 0, 0, 0]])
    logits = torch.einsum("rsgd,rkd->rsgk", requests.query, requests.key) * SCALE
    hidden = torch.arange(5) >= seen[..., None]
    lse = logits.masked_fill(hidden[:, :, None], -torch.inf).logsumexp(-1)
    alone = received_mass(requests.query[:1, :3], requests.key[:1], seen[:1, :3], SCALE)
    for given in (None, lse):
        mass = received_mass(requests.query, requests.key, seen, SCALE, lse=given)
        assert not mass[1].any()
        torch.testing.assert_close(mass[:1], alone, rtol=1e-5, atol=1e-6)


def test_memory_falls_with_eviction() -> None:
    """FMInference/H2O issue 6 (and slices of cloned storage): tokens were masked, memory and time grew."""
    requests = Requests.random(3, 400)
    kv = new_layer(make_method("h2o", budget=64))
    prompt(kv, requests, 300)
    before = sum(t.untyped_storage().nbytes() for t in kv.tensors())
    for token in range(300, 400):
        step(kv, requests, token, token + 1)
    after = sum(t.untyped_storage().nbytes() for t in kv.tensors())
    pending = 3 * GROUP * (HEAD_DIM + 1) * 4
    assert after - pending == before == 3 * 64 * (2 * (HEAD_DIM + 4) + 4 + 4)


# STCA ------------------------------------------------------------------------------------------------------


def cover(scores: list[list[float]], protected: list[int] = ()) -> Cover:
    values = torch.tensor(scores)
    sure = torch.zeros_like(values, dtype=torch.bool)
    sure[:, list(protected)] = True
    return Cover(values, torch.ones_like(sure), sure)


def test_one_rule_keeps_the_token_that_crosses_the_threshold() -> None:
    """The article's two programs disagree: one drops the token that crosses p, the other adds one more."""
    scores = cover([[0.5, 0.25, 0.1875, 0.0625]])
    assert scores.kept(0.75, 0, 4).tolist() == [[True, True, False, False]]  # 0.75 before the third
    assert scores.kept(0.76, 0, 4).tolist() == [[True, True, True, False]]
    assert scores.kept(0.2, 0, 4).tolist() == [[True, False, False, False]]


def test_scores_need_not_sum_to_one() -> None:
    """The article compares the sum of unnormalised scores with p, so the first token alone passes it."""
    scores = [[5.0, 3.0, 1.5, 0.5]]
    assert (
        cover(scores).kept(0.9, 0, 4).tolist()
        == cover([[s / 10 for s in scores[0]]]).kept(0.9, 0, 4).tolist()
    )
    assert cover(scores).counts(0.9, 0, 4).tolist() == [3]


def test_each_head_keeps_its_own_number() -> None:
    """The article takes the largest number over batch and heads for all."""
    assert cover([[0.97, 0.01, 0.01, 0.01], [0.25, 0.25, 0.25, 0.25]]).counts(0.9, 0, 4).tolist() == [1, 4]


def test_sinks_and_recent_are_kept_whatever_their_scores() -> None:
    """Nothing protects them in the article. What they hold counts towards the coverage."""
    kept = cover([[0.0, 0.6, 0.3, 0.1, 0.0]], protected=[0, 4]).kept(0.5, 0, 5)
    assert kept.tolist() == [[True, True, False, False, True]]
    assert cover([[0.875, 0.0625, 0.0625, 0.0]], protected=[0]).counts(0.875, 0, 4).tolist() == [1]


def test_bounds_on_the_kept() -> None:
    peaked = cover([[0.97, 0.01, 0.01, 0.01]])
    assert peaked.counts(0.5, 3, 4).tolist() == [3]
    assert cover([[0.25] * 4]).counts(1.0, 0, 2).tolist() == [2]
    assert cover([[0.0] * 4]).counts(0.5, 0, 4).tolist() == [2]  # no score yet: all alike
    assert cover([[0.25] * 4], protected=[0, 1, 2]).counts(0.1, 0, 2).tolist() == [3]
    assert peaked.counts(1.0, 0, 4).tolist() == [4]


@pytest.mark.parametrize("coverage", [0.3, 0.8, 0.95])
def test_the_kept_are_the_references(coverage: float) -> None:
    generator = torch.Generator().manual_seed(3)
    scores = torch.rand(8, 60, generator=generator) ** 8
    method = make_method("stca", budget=40, coverage=coverage, min_keep=12, recent=5)
    lengths = torch.full((8,), 60)
    kept = method.keep(
        Held(lengths, lengths, torch.arange(60).expand(8, -1), scores), torch.zeros_like(lengths)
    )
    for row in range(8):
        values = dict(enumerate(scores[row].double().tolist()))
        expected = keeping.keep_covering(list(range(60)), values, coverage, 4, 5, 12, 40)
        assert kept[row].nonzero().flatten().tolist() == expected


def test_kept_tokens_stay_in_order_and_keep_their_values() -> None:
    """Gathering by rank instead of by position scrambles the cache in silence."""
    requests = Requests.random(4, 200)
    kv = new_layer(make_method("stca", budget=60, coverage=0.7, interval=8))
    prompt(kv, requests, 100)
    for token in range(100, 200):
        step(kv, requests, token, token + 1)
    counts = set()
    for row in range(4):
        positions = held(kv, row)
        assert positions == sorted(set(positions))
        counts.add(len(positions))
        codes, scale = int8_codes(requests.key[row, positions])
        stored = from_codes(codes, scale, HEAD_DIM)
        assert torch.equal(kv.keys()[row, : len(positions)], stored)
    assert len(counts) > 1, "heads keep different numbers of tokens"


def test_demoted_tokens_are_attended_at_lower_precision() -> None:
    requests = Requests.random(3, 160)
    settings = {"budget": 40, "coverage": 0.6, "recent": 8, "interval": 8}
    dense = new_layer(make_method("dense"))
    demoting = new_layer(make_method("stca", low="demote", **settings))
    evicting = new_layer(make_method("stca", **settings))
    for kv in (dense, demoting, evicting):
        prompt(kv, requests, 120)
    errors = {"demote": [], "evict": []}
    for token in range(120, 160):
        golden = step(dense, requests, token, token + 1).numpy()
        errors["demote"].append(relative_l2(step(demoting, requests, token, token + 1).numpy(), golden))
        errors["evict"].append(relative_l2(step(evicting, requests, token, token + 1).numpy(), golden))
    low = demoting._demoted.rows
    assert (demoting.rows.lengths + low.lengths).tolist() == [160] * 3
    # int4 with a scale per token is off by 1 / (14 sqrt(3)) of the row's maximum, about 3 times its RMS: 12 %
    # of a logit and 12 % of a value, on tokens that hold less than half of the attention.
    assert np.mean(errors["demote"]) < 0.24 < np.mean(errors["evict"])


def test_scores_by_sketch() -> None:
    requests = Requests.random(3, 120)
    kv = new_layer(make_method("stca", budget=50, coverage=0.7, scores="sketch", ratio=4, interval=4))
    prompt(kv, requests, 100)
    assert kv.rows.fields["sketch"].shape[1] == HEAD_DIM // 4
    for token in range(100, 120):
        step(kv, requests, token, token + 1)
    positions = held(kv, 0)
    sketch = kv.scorer.features(requests.key[:1])[0, positions].to(torch.bfloat16)
    assert torch.equal(kv.rows.padded("sketch")[0, : len(positions)], sketch)


def test_random_keeps_an_even_sample() -> None:
    requests = Requests.random(1, 1200)
    kv = new_layer(make_method("random", budget=400, recent=0, sinks=0))
    prompt(kv, requests, 1200)
    positions = np.array(held(kv, 0))
    # 400 of 1,200 without order: the mean has a standard deviation of 346 / sqrt(400) * sqrt(2/3) = 14.
    assert abs(positions.mean() - 599.5) < 5 * 14
    other = new_layer(make_method("random", budget=400, recent=0, sinks=0, seed=1))
    prompt(other, requests, 1200)
    assert held(other, 0) != held(kv, 0)
