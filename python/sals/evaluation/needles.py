# SPDX-License-Identifier: Apache-2.0
"""Needles in a haystack, made offline: facts hidden in a text, one of which is asked for at the end."""

from __future__ import annotations

import dataclasses
import random

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

PLACES = (
    "lighthouse", "harbour", "museum", "orchard", "station", "castle", "library", "bakery",
    "garden", "theatre", "factory", "chapel",
)  # fmt: skip
DIGITS = 5


@dataclasses.dataclass(frozen=True)
class Needle:
    """One task: a context, and a question with its answer.

    Parameters
    ----------
    kind : str
        "single" or "multi-key".
    depth : float
        Where the fact that is asked for stands, as a share of the context.
    context : Tensor[int64], shape (tokens,)
        Text with the facts.
    window : Tensor[int64]
        Question and answer.
    answer_len : int
        Tokens of the answer, the last ones of the window.
    """

    kind: str
    depth: float
    context: Tensor
    window: Tensor
    answer_len: int

    def score(self, log_p: Tensor) -> tuple[float, bool]:
        """Mean log likelihood of the answer's tokens, in nats, and whether each was the most likely one.

        Parameters
        ----------
        log_p : Tensor, shape (window, vocabulary)
            Predictions behind each token of the window.
        """
        target = self.window[-self.answer_len :]
        predicted = log_p[-self.answer_len - 1 : -1]
        likelihood = predicted.gather(1, target[:, None]).mean()
        return float(likelihood), bool((predicted.argmax(-1) == target).all())


def make_needles(
    tokenizer: PreTrainedTokenizerBase, haystack: Tensor, tokens: int, depths: tuple[float, ...], seed: int
) -> list[Needle]:
    """Make a single and a multi-key task at every depth.

    Parameters
    ----------
    tokenizer : PreTrainedTokenizerBase
        Of the model.
    haystack : Tensor[int64], shape (tokens,)
        Text to hide in; every task takes another part of it.
    tokens : int
        Tokens of a context.
    depths : tuple of float
        In [0, 1].
    seed : int
        Of places and numbers.

    Raises
    ------
    ValueError
        If the haystack is too short or a depth is none.
    """
    if not all(0 <= depth <= 1 for depth in depths) or not depths:
        raise ValueError(f"sals eval: depths must be numbers in [0, 1], got {depths}")
    kinds = [("single", 1), ("multi-key", 8)]
    tasks = len(kinds) * len(depths)
    if len(haystack) < tokens:
        raise ValueError(f"sals eval: needles need a text of at least {tokens} tokens, got {len(haystack)}")
    stride = (len(haystack) - tokens) // max(tasks - 1, 1)
    generator = random.Random(seed)
    needles = []
    for index, (kind, count, depth) in enumerate(
        (kind, count, depth) for kind, count in kinds for depth in depths
    ):
        hay = haystack[index * stride : index * stride + tokens]
        needles.append(_hide(tokenizer, hay, kind, count, depth, generator))
    return needles


def _hide(
    tokenizer: PreTrainedTokenizerBase,
    hay: Tensor,
    kind: str,
    count: int,
    depth: float,
    generator: random.Random,
) -> Needle:
    """Hide `count` facts, the one asked for at `depth` and the others evenly over the text."""
    places = generator.sample(PLACES, count)
    numbers = ["".join(generator.choices("0123456789", k=DIGITS)) for _ in places]
    depths = [depth, *((index + 0.5) / (count - 1) for index in range(count - 1))]
    facts = [
        _encode(tokenizer, f"\nThe secret number of the {place} is {number}.\n")
        for place, number in zip(places, numbers, strict=True)
    ]
    hay = hay[: len(hay) - sum(map(len, facts))]
    order = sorted(range(count), key=lambda index: depths[index])
    pieces, begin = [], 0
    for index in order:
        end = round(depths[index] * len(hay))
        pieces += [hay[begin:end], facts[index]]
        begin = end
    context = torch.cat([*pieces, hay[begin:]])
    fact = f"secret number of the {places[0]}"
    asked = f"\n\nQuestion: What is the {fact}?\nAnswer: The {fact} is"
    question, answer = _encode(tokenizer, asked), _encode(tokenizer, f" {numbers[0]}")
    return Needle(kind, depth, context, torch.cat([question, answer]), len(answer))


def _encode(tokenizer: PreTrainedTokenizerBase, text: str) -> Tensor:
    return tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids[0]
