# SPDX-License-Identifier: Apache-2.0
"""Rolling positions without a model: keys are kept before RoPE and rotated to their index in the cache."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from methods.rows import HEAD_DIM, SCALE, Requests, prompt, step
from sals.kept import LayerKv
from sals.methods import make_method
from sals.reference import keeping

S = 40


def rotate(keys: Tensor) -> Tensor:
    """RoPE at positions 0 to n - 1."""
    return at(keys, torch.arange(keys.shape[1]))


def at(x: Tensor, positions: Tensor) -> Tensor:
    """RoPE of [rows, n, ..., head_dim] at positions [n]."""
    half = HEAD_DIM // 2
    angle = positions[:, None] * 10000.0 ** (-torch.arange(half) / half)
    angle = angle.view(-1, *[1] * (x.dim() - 3), half)
    first, second = x[..., :half], x[..., half:]
    return torch.cat(
        [first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], -1
    )


def rolling_layer(name: str = "window", budget: int = S) -> LayerKv:
    return LayerKv(make_method(name, budget=budget, positions="rolling"), 0, HEAD_DIM, 4096, rotate)


@pytest.mark.parametrize("pieces", [[1] * 60, [5] * 12, [20, 1, 20, 19], [60]], ids=str)
def test_the_last_s_tokens_are_these_tokens_alone(pieces: list[int]) -> None:
    """awslabs/keys_values issue 140, bit for bit; their ring buffer was off by 0.15 to 0.22."""
    requests = Requests.random(2, 160)
    query = at(requests.query[:, 159:], torch.tensor([S - 1]))
    whole, alone = rolling_layer(), rolling_layer()
    prompt(whole, requests, 99)
    begin = 99
    for piece in pieces:
        step(whole, requests, begin, begin + piece)
        begin += piece
    requests.query = torch.cat([requests.query[:, :159], query], 1)
    last = Requests(*(x[:, -S:] for x in (requests.query, requests.key, requests.value)))
    prompt(alone, last, S - 1)
    assert torch.equal(step(whole, requests, 159, 160), step(alone, last, S - 1, S))


def test_the_reference_has_the_same_oracle_exactly() -> None:
    """In float64 with positions counted from the first token held, the last S tokens are the same numbers."""
    requests = Requests.random(1, 100)
    query, key, value = (x[0].double().numpy() for x in (requests.query, requests.key, requests.value))

    def rolled(first: int, count: int) -> np.ndarray:
        keys = np.stack([keeping.rotate(key[first + index], index) for index in range(count)])
        newest = keeping.rotate(query[first + count - 1], count - 1)
        return keeping.attention(newest, keys, value[first : first + count], range(count), SCALE)[0]

    suffix = Requests(*(x[:, -S:] for x in (requests.query, requests.key, requests.value)))
    alone = np.stack([keeping.rotate(suffix.key[0, i].double().numpy(), i) for i in range(S)])
    newest = keeping.rotate(suffix.query[0, -1].double().numpy(), S - 1)
    golden = keeping.attention(newest, alone, suffix.value[0].double().numpy(), range(S), SCALE)[0]
    assert np.array_equal(rolled(100 - S, S), golden)


def test_full_retention_is_dense_in_the_reference_bit_for_bit() -> None:
    """Every rule keeps all of a request that fits; attention over that is the same expression."""
    requests = Requests.random(1, 50)
    query, key, value = (x[0].double().numpy() for x in (requests.query, requests.key, requests.value))
    dense = np.stack([keeping.attention(query[t], key, value, range(t + 1), SCALE)[0] for t in range(50)])
    rules = {
        "streaming": lambda h, s, seen: keeping.keep_streaming(h, 50, 4),
        "h2o": lambda h, s, seen: keeping.keep_heavy(h, s, 50, 0, 25),
        "window": lambda h, s, seen: keeping.newest(h, 50),
        "stca": lambda h, s, seen: keeping.keep_covering(h, s, 1.0, 4, 8, 0, 50),
    }
    for name, rule in rules.items():
        out, history = keeping.decode(query, key, value, SCALE, 20, rule)
        assert np.array_equal(out, dense), name
        assert history[-1] == list(range(50))


def test_rolling_positions_do_not_drift() -> None:
    """vLLM pull request 43374: keys that are rotated again at every eviction lose digits each time.

    Here the codes before RoPE are all that is stored, so 1,000 steps leave them as they came.
    """
    requests = Requests.random(1, 1100)
    kv = rolling_layer("streaming", 24)
    prompt(kv, requests, 100)
    sinks = kv.keys()[0, :4].clone()
    for token in range(100, 1100):
        step(kv, requests, token, token + 1)
    assert torch.equal(kv.keys()[0, :4], sinks)
    assert kv.positions()[0].tolist() == [0, 1, 2, 3, *range(1080, 1100)]
