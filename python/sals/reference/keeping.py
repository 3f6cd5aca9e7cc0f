# SPDX-License-Identifier: Apache-2.0
"""What the methods keep and how attention over it is defined: one row, one token at a time, in float64.

A row is one request and KV head. `keys` and `values` are [tokens, head_dim], `queries` [tokens, group,
head_dim], all of the whole request; a cache is the ascending list of positions that it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Keep = Callable[[list[int], dict[int, float], int], list[int]]
"""Maps the positions held, their scores and the tokens seen so far to the positions to keep."""


def attention(
    query: np.ndarray, keys: np.ndarray, values: np.ndarray, held: Sequence[int], scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Attend from one token's queries [group, head_dim] to what is held; output and weights [group, held]."""
    logits = scale * query.astype(np.float64) @ keys[list(held)].astype(np.float64).T
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ values[list(held)].astype(np.float64), weights


def newest(held: Sequence[int], count: int) -> list[int]:
    """Return the last `count` positions; none for a count of 0."""
    return list(held[len(held) - count :]) if 0 < count < len(held) else list(held) * (count > 0)


def keep_streaming(held: list[int], budget: int, sinks: int) -> list[int]:
    """StreamingLLM: the first `sinks` tokens of the request and the newest ones."""
    first = [position for position in held if position < sinks]
    return sorted({*first, *newest(held, budget - sinks)})


def keep_heavy(held: list[int], scores: dict[int, float], budget: int, sinks: int, recent: int) -> list[int]:
    """H2O: sinks, the newest, and the heaviest of the others; of equals the older."""
    sure = {*(position for position in held if position < sinks), *newest(held, recent)}
    others = sorted((position for position in held if position not in sure), key=lambda p: (-scores[p], p))
    return sorted({*sure, *others[: max(budget - len(sure), 0)]})


def keep_covering(
    held: list[int],
    scores: dict[int, float],
    coverage: float,
    sinks: int,
    recent: int,
    min_keep: int,
    max_keep: int,
) -> list[int]:
    """STCA: sinks and newest; then a token is kept iff the mass before it is below ``coverage`` of all."""
    sure = {*(position for position in held if position < sinks), *newest(held, recent)}
    others = sorted((position for position in held if position not in sure), key=lambda p: (-scores[p], p))
    total = sum(scores[position] for position in held)
    mass = sum(scores[position] for position in sure)
    kept = list(sure)
    for position in others:
        wanted = coverage >= 1 or mass < coverage * total or len(kept) < min_keep
        if not wanted or len(kept) >= max_keep:
            break
        kept.append(position)
        mass += scores[position]
    return sorted(kept)


def decode(
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    scale: float,
    prompt: int,
    keep: Keep,
    decay: float = 1.0,
    stored: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, list[list[int]]]:
    """Decode one row: a dense prompt, then token by token over what is kept.

    Before every token `keep` is asked what stays; the token then reads that and itself, and adds its weights
    (the mean over the group) to the scores. `stored` are keys and values as a cache gives them back, which is
    what tokens behind the prompt read.

    Returns
    -------
    out : float64 array, shape (tokens, group, head_dim)
    held : list of list of int
        What each token behind the prompt has read.
    """
    scores = dict.fromkeys(range(len(keys)), 0.0)
    held: list[int] = []
    outputs, history = [], []
    for token in range(len(keys)):
        if token >= prompt:
            held = keep(held, scores, token)
        held = [*held, token]
        source = (keys, values) if stored is None or token < prompt else stored
        out, weights = attention(queries[token], *source, held, scale)
        for position in scores:
            scores[position] *= decay
        for position, weight in zip(held, weights.mean(axis=0), strict=True):
            scores[position] += float(weight)
        outputs.append(out)
        if token >= prompt:
            history.append(held)
    return np.stack(outputs), history


def quest_bound(query: np.ndarray, block_keys: np.ndarray) -> float:
    """Quest: the largest logit (without scale) that any key inside the block's box could have."""
    low, high = block_keys.min(axis=0), block_keys.max(axis=0)
    return float(np.maximum(query * low, query * high).sum())


def rotate(x: np.ndarray, position: int, theta: float = 10000.0) -> np.ndarray:
    """RoPE of vectors [..., head_dim] at a position, in float64, halves paired as Llama pairs them."""
    half = x.shape[-1] // 2
    angle = position * theta ** (-np.arange(half) / half)
    first, second = x[..., :half].astype(np.float64), x[..., half:].astype(np.float64)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
