# SPDX-License-Identifier: Apache-2.0
"""``sals tune``: the coverage of STCA that meets a budget on a text."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from sals.calibration import ModelFingerprint
from sals.demo.model import load_local, load_smollm2
from sals.demo.text import pydoc_text
from sals.methods import make_method
from sals.methods.memory import kv_bytes, row_slots, token_state_bytes
from sals.methods.stca import Stca
from sals.methods.tuning import CoverageWarning, find_coverage

from .prefix import Prefix

MIB = 2**20


def tokens_that_fit(method: Stca, facts: ModelFingerprint, memory_bytes: float) -> float:
    """Tokens that heads may keep on average in a memory, beside the `interval` new ones.

    Raises
    ------
    ValueError
        If there is no room for any.
    """
    slot = kv_bytes(facts.head_dim) + token_state_bytes(method, facts.head_dim).stored
    tokens = memory_bytes / (facts.n_layers * facts.n_kv * slot) - row_slots(method, 0)
    if tokens < 1:
        least = (row_slots(method, 0) + 1) * facts.n_layers * facts.n_kv * slot
        raise ValueError(
            f"sals tune: memory must be at least {least / MIB:.1f} MiB for this model, "
            f"got {memory_bytes / MIB:.1f} MiB"
        )
    return tokens


def run_tune(
    budget: int | None,
    memory_mib: float | None,
    context: int,
    scores: str,
    min_keep: int,
    model_dir: Path | None,
    text: Path | None,
) -> Iterator[str]:
    """Find the coverage for a budget in tokens or a memory, and yield lines that say so.

    Raises
    ------
    ValueError
        If not exactly one of budget and memory is given, or one is too small; if the text is too short.
    """
    if (budget is None) == (memory_mib is None):
        raise ValueError("sals tune: either budget or memory must be given, got both or none")
    method = make_method("stca", budget=context, scores=scores, min_keep=min_keep)
    assert isinstance(method, Stca)
    load: Any = load_local if model_dir else load_smollm2
    model, tokenizer = load(*([model_dir] if model_dir else []), dtype=torch.float32)
    facts = ModelFingerprint.of(model.config)
    words = text.read_text() if text else pydoc_text()
    tokens = tokenizer(words, return_tensors="pt", verbose=False).input_ids[0][:context]
    if len(tokens) < context:
        raise ValueError(f"sals tune: text must have at least {context:,} tokens, got {len(tokens):,}")
    wanted = float(budget) if budget else tokens_that_fit(method, facts, float(memory_mib or 0) * MIB)
    prefix = Prefix(model, tokens)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        layers = [prefix.scores(method.scorer(), layer) for layer in range(facts.n_layers)]
        fit = find_coverage(method, layers, wanted)
    yield f"coverage {fit.coverage:.4f} keeps {fit.mean:.0f} of {context:,} tokens in a head on average"
    counts = fit.counts.flatten()
    yield (
        f"variance {fit.variance:.0f} (standard deviation {fit.variance**0.5:.0f}), "
        f"from {int(counts.min()):,} to {int(counts.max()):,} over {len(counts)} layers and heads"
    )
    yield f'attach(model, method="stca", budget={context}, coverage={fit.coverage:.4f})'
    yield from (f"note: {line}" for line in fit.advice)
