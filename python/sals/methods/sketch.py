# SPDX-License-Identifier: Apache-2.0
"""Sketch attention: a fixed random projection in place of a calibrated one, on the same int4 index."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, ClassVar

import torch
from torch import Tensor

from sals._contract import RANK_MULTIPLE
from sals.calibration.artifact import Calibration, ModelFingerprint

from .interface import Selector

RATIOS = (4, 8, 16, 32)


def gaussian_projection(head_dim: int, ratio: int, seed: int) -> Tensor:
    """Return the fixed projection of keys and queries, float32 (head_dim, head_dim / ratio).

    Entries are N(0, 1) / sqrt(width), so ``E[(q P)(k P)^T] = q k^T``. It is drawn once for a seed and a
    shape: the same tensor for every step, layer and head.

    Raises
    ------
    ValueError
        If the sketch would have no width.
    """
    width = head_dim // ratio
    if width < 1:
        raise ValueError(f"sals.methods.sketch: ratio must be at most head_dim = {head_dim}, got {ratio}")
    return _drawn(head_dim, width, seed)


@functools.lru_cache
def _drawn(head_dim: int, width: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(head_dim, width, generator=generator) / width**0.5


@dataclasses.dataclass(frozen=True)
class Sketch(Selector):
    """Scores blocks with random sketches of queries and keys.

    Queries and keys are those of the attention: after RoPE and, in models that have one, after the query and
    key norm. The sketch is the index of the operator ``qsi``, so it is stored in int4 (padded with zeros to
    a rank that the operator takes) and a block's score is the log-sum-exp of its tokens' logits: the
    article's choice by token becomes a choice by block.

    Parameters
    ----------
    ratio : int
        4, 8, 16 or 32: a sketch has ``head_dim / ratio`` numbers.
    seed : int
        Of the projection.
    """

    name: ClassVar[str] = "sketch"
    ratio: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ratio."""
        super().__post_init__()
        self._require(self.ratio in RATIOS, f"ratio must be one of {RATIOS}, got {self.ratio!r}")
        self._require_count("seed")

    def index(self, config: Any) -> Calibration:
        """Return the index of a model with this projection; nothing is measured."""
        facts = ModelFingerprint.of(config)
        projection = gaussian_projection(facts.head_dim, self.ratio, self.seed)
        return _as_index(projection.expand(facts.n_layers, facts.n_kv, -1, -1), facts, self)


def fit_projection(
    model: Any, tokens: Tensor, sketch: Sketch, windows: int = 8, length: int = 512
) -> Calibration:
    """Fit the sketch of every layer and KV head to a text: the leading directions of its keys.

    Parameters
    ----------
    model : PreTrainedModel
        The model, in evaluation mode.
    tokens : Tensor[int64], shape (tokens,)
        The text.
    sketch : Sketch
        Gives the width; pass the result to ``attach(model, calibration, method=sketch)``.
    windows, length : int
        Pieces of the text that are read, and their length.

    Raises
    ------
    ValueError
        If the text is shorter than the windows.
    """
    from sals.calibration.moments import collect_moments
    from sals.calibration.variants import ProjectionFactory, Variant

    if tokens.dim() != 1 or tokens.shape[0] < windows * length:
        raise ValueError(
            f"sals.methods.sketch: tokens must be a vector of at least {windows * length} token ids, "
            f"got shape {list(tokens.shape)}"
        )
    facts = ModelFingerprint.of(model.config)
    stride = tokens.shape[0] // windows
    pieces = [tokens[i * stride : i * stride + length] for i in range(windows)]
    limit = model.config.get_text_config().max_position_embeddings
    moments = collect_moments(model, pieces, limit, sketch.block_size)
    factory = ProjectionFactory(moments, facts.n_kv, facts.head_dim)
    variant = Variant("pca", max(facts.head_dim // sketch.ratio, 1), rotated=True)
    return _as_index(factory.projection(variant), facts, sketch)


def _as_index(projection: Tensor, facts: ModelFingerprint, sketch: Sketch) -> Calibration:
    """Pad projections [n_layers, n_kv, head_dim, width] to a rank that the operators take."""
    padded = torch.nn.functional.pad(projection, (0, -projection.shape[-1] % RANK_MULTIPLE)).contiguous()
    selection = sketch.selection()
    return Calibration(
        query_projection=padded,
        key_projection=padded,
        rotated=True,
        block_size=selection.block_size,
        sink_blocks=selection.sink_blocks,
        tail_blocks=selection.tail_blocks,
        dense_layers=(),
        model=facts,
    )
