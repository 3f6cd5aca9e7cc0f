# SPDX-License-Identifier: Apache-2.0
"""A text without end: which methods go on beyond the length that the model was trained for."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor
from transformers import PreTrainedModel

from sals.integrations.transformers import KeptCache, attach
from sals.methods import Method, make_method

from .prefix import Prefix

CHUNK = 64


@dataclasses.dataclass(frozen=True)
class Stretch:
    """Perplexity of a stretch of the text.

    Parameters
    ----------
    begin, end : int
        Positions in the text.
    perplexity : float
        Of its tokens.
    """

    begin: int
    end: int
    perplexity: float


@dataclasses.dataclass(frozen=True)
class Endless:
    """A method on a long text.

    Parameters
    ----------
    name : str
        Method and positions.
    stretches : tuple of Stretch
        One after the other, behind the prefix.
    resident : int
        Largest number of bytes that the cache's tensors held.
    """

    name: str
    stretches: tuple[Stretch, ...]
    resident: int


def endless_methods(budget: int) -> dict[str, Method]:
    """Return the methods that are tried: what promises to go on, and the same without its promise."""
    return {
        "streaming, rolling positions": make_method("streaming", budget=budget, positions="rolling"),
        "streaming, original positions": make_method("streaming", budget=budget),
        "window without sinks, rolling positions": make_method("window", budget=budget, positions="rolling"),
    }


def run_endless(
    model: PreTrainedModel, prefix: Prefix, text: Tensor, methods: dict[str, Method], stretch: int
) -> list[Endless]:
    """Feed a text behind a prefix to each method.

    Parameters
    ----------
    text : Tensor[int64], shape (tokens + 1,)
        Its last token is only predicted.
    stretch : int
        Tokens of which a perplexity is given.
    """
    results = []
    for name, method in methods.items():
        with torch.inference_mode(), attach(model, method=method) as handle:
            cache = prefix.fill(handle, len(prefix) + len(text))
            assert isinstance(cache, KeptCache)
            losses, resident = [], 0
            for chunk, target in zip(text[:-1].split(CHUNK), text[1:].split(CHUNK), strict=True):
                log_p = model(chunk[None], cache=cache).logits[0].float().log_softmax(-1)
                losses.append(-log_p.gather(1, target[:, None])[:, 0])
                resident = max(resident, cache.resident_bytes())
        parts, begin = [], len(prefix)
        for part in torch.cat(losses).split(stretch):
            parts.append(Stretch(begin, begin + len(part), float(part.double().mean().exp())))
            begin += len(part)
        results.append(Endless(name, tuple(parts), resident))
    return results
