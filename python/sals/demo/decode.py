# SPDX-License-Identifier: Apache-2.0
"""One way of decoding the text: score known tokens, then time single steps that continue it."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable

import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel, StaticCache

from sals.integrations.transformers import IndexAttachment, SalsCache

Progress = Callable[[], None]


@dataclasses.dataclass
class Decoded:
    """What one way of decoding gave.

    Parameters
    ----------
    name : str
        "dense", or the share of blocks kept.
    logits : Tensor[float32], shape (tokens, vocabulary)
        Predictions after each scored token.
    stages : dict of str to float
        Seconds of one decode step by stage; dense has only "rest".
    step_seconds : float
        Median seconds of one decode step.
    continuation : Tensor[int64]
        Greedy continuation behind the scored tokens.
    stored_bytes, read_bytes : int
        KV cache and index: stored for each token; read by a decode step, of the whole context.
    mass : float
        Share of the dense attention mass that the chosen blocks hold; 1 for dense.
    """

    name: str
    logits: Tensor
    stages: dict[str, float]
    step_seconds: float
    continuation: Tensor
    stored_bytes: int
    read_bytes: int
    mass: float = 1.0


class Decoder:
    """Runs a model over a text with one cache, in the order prefill, score, steps."""

    def __init__(self, model: PreTrainedModel, cache: Cache, progress: Progress) -> None:
        self._model = model
        self._cache = cache
        self._progress = progress

    def forward(self, tokens: Tensor, keep: int | None = None) -> Tensor:
        """Feed tokens ``[n]`` behind what the cache holds; logits of the last ``keep`` (all by default)."""
        kept = len(tokens) if keep is None else keep
        output = self._model(tokens[None], cache=self._cache, use_cache=True, logits_to_keep=kept)
        self._progress()
        return output.logits[0].float()

    def score(self, tokens: Tensor, chunk: int) -> Tensor:
        """Teacher-forced logits of known tokens, fed in chunks."""
        return torch.cat([self.forward(part) for part in tokens.split(chunk)])

    def steps(self, first: Tensor, count: int) -> tuple[Tensor, list[float]]:
        """Continue greedily, token by token; the tokens and the seconds of each step."""
        tokens, seconds = [first], []
        for _ in range(count):
            begin = time.perf_counter()
            logits = self.forward(tokens[-1])
            seconds.append(time.perf_counter() - begin)
            tokens.append(logits[-1].argmax(-1, keepdim=True))
        return torch.cat(tokens), seconds


def median(values: list[float]) -> float:
    """Middle value."""
    return float(torch.tensor(values).median())


@dataclasses.dataclass(frozen=True)
class Passage:
    """The text of a run, as token ids: context, then tokens to score; and how to go on."""

    context: Tensor
    scored: Tensor
    chunk: int
    steps: int

    @property
    def max_len(self) -> int:
        """Columns a cache needs."""
        return len(self.context) + len(self.scored) + self.steps


def decode_dense(model: PreTrainedModel, passage: Passage, progress: Progress) -> Decoded:
    """Decode densely over a preallocated cache, as transformers does it."""
    cache = StaticCache(config=model.config, max_cache_len=passage.max_len)
    decoder = Decoder(model, cache, progress)
    decoder.forward(passage.context, keep=1)
    logits = decoder.score(passage.scored, passage.chunk)
    continuation, seconds = decoder.steps(logits[-1].argmax(-1, keepdim=True), passage.steps)
    step = median(seconds)
    config = model.config.get_text_config()
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    stored = 2 * config.num_hidden_layers * config.num_key_value_heads * head_dim * model.dtype.itemsize
    read = stored * (len(passage.context) + len(passage.scored))
    return Decoded("dense", logits, {"rest": step}, step, continuation, stored, read)


def prefill_sparse(handle: IndexAttachment, passage: Passage, progress: Progress) -> SalsCache:
    """Read the context once; every budget decodes from a copy of this state."""
    cache = handle.new_cache(max_batch=1, max_len=passage.max_len)
    Decoder(handle.model, cache, progress).forward(passage.context, keep=1)
    return cache


def decode_sparse(
    handle: IndexAttachment, cache: SalsCache, name: str, passage: Passage, progress: Progress
) -> Decoded:
    """Decode with SALS from a prefilled cache, which is given back as it came."""
    decoder = Decoder(handle.model, cache, progress)
    with contextlib.ExitStack() as undo:
        undo.callback(lambda: cache.crop(len(passage.context) - cache.get_seq_length()))
        with handle.measured() as recall:
            logits = decoder.score(passage.scored, passage.chunk)
        first = logits[-1].argmax(-1, keepdim=True)
        with handle.timed() as timer:
            continuation, seconds = decoder.steps(first, passage.steps)
        stages = {stage: spent / timer.passes for stage, spent in timer.seconds.items()}
    length = len(passage.context) + len(passage.scored)
    read = recall.bytes_read(cache, length)
    return Decoded(
        name, logits, stages, median(seconds), continuation, cache.bytes_per_token, read, recall.mean_mass
    )
