# SPDX-License-Identifier: Apache-2.0
"""One method on known tokens behind a prefix: predictions, time and memory."""

from __future__ import annotations

import dataclasses
import time

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from sals.calibration import Calibration
from sals.integrations.transformers import KeptCache, attach
from sals.integrations.transformers.columns import ColumnCache

from .prefix import Prefix
from .rows import Row, attach_options
from .watch import Watch

WATCH_EVERY = 4


@dataclasses.dataclass(frozen=True)
class Passage:
    """A prefix and the tokens behind it.

    Parameters
    ----------
    prefix : Prefix
        The context.
    window : Tensor[int64], shape (tokens,)
        Known tokens behind it, fed in chunks.
    chunk : int
        Tokens of a pass.
    steps : int
        Tokens of the window that are fed once more, singly, to time a step.
    """

    prefix: Prefix
    window: Tensor
    chunk: int
    steps: int = 0

    def dense(self) -> DenseRun:
        """Run the model itself."""
        cache = self.prefix.dense_cache()
        with torch.inference_mode():
            logits = self.prefix.model(self.window[None], cache=cache, use_cache=True).logits[0]
        return DenseRun(logits.float().log_softmax(-1), cache, [layer.scale for layer in self.prefix.layers])


@dataclasses.dataclass(frozen=True)
class DenseRun:
    """The model's own predictions behind each token of the window, and its cache."""

    log_p: Tensor
    cache: DynamicCache
    scales: list[float]

    def watch(self) -> Watch:
        """Return a watch that compares with this run."""
        return Watch(self.cache, self.scales)


@dataclasses.dataclass
class Outcome:
    """What a method gave on a passage.

    Parameters
    ----------
    log_p : Tensor[float32], shape (tokens, vocabulary)
        Predictions behind each token of the window.
    watch : Watch
        What the watched passes read.
    held : Tensor[int64], shape (layers, n_kv)
        Tokens in the rows behind the prompt; the prompt's tokens for selectors.
    resident : int
        Largest number of bytes that the cache's tensors held; 0 for index methods, whose caches are
        allocated for `max_len` at once.
    step_seconds : float
        Median time of a step of one token; NaN if none was timed.
    """

    log_p: Tensor
    watch: Watch
    held: Tensor
    resident: int
    step_seconds: float


def run_row(
    model: PreTrainedModel, row: Row, passage: Passage, watch: Watch, calibration: Calibration | None
) -> Outcome:
    """Run one method on a passage."""
    max_len = len(passage.prefix) + len(passage.window)
    with torch.inference_mode(), attach(model, **attach_options(row, calibration)) as handle:
        cache = passage.prefix.fill(handle, max_len)
        held = _held(cache, len(passage.prefix))
        resident = _resident(cache)
        parts = []
        for index, chunk in enumerate(passage.window.split(passage.chunk)):
            if index % WATCH_EVERY == 0:
                with watch.watching(handle, cache):
                    logits = model(chunk[None], cache=cache).logits[0]
            else:
                logits = model(chunk[None], cache=cache).logits[0]
            resident = max(resident, _resident(cache))
            parts.append(logits.float().log_softmax(-1))
        seconds = []
        if passage.steps:
            cache.crop(-passage.steps)
            for token in passage.window[-passage.steps :].split(1):
                begin = time.perf_counter()
                model(token[None], cache=cache)
                seconds.append(time.perf_counter() - begin)
    step = float(torch.tensor(seconds).median()) if seconds else float("nan")
    return Outcome(torch.cat(parts), watch, held, resident, step)


def _resident(cache: ColumnCache) -> int:
    return cache.resident_bytes() if isinstance(cache, KeptCache) else 0


def _held(cache: ColumnCache, tokens: int) -> Tensor:
    if not isinstance(cache, KeptCache):
        facts = cache.calibration.model  # type: ignore[attr-defined]
        return torch.full((facts.n_layers, facts.n_kv), tokens)
    return torch.stack([layer.kv.rows.lengths for layer in cache.layers])
