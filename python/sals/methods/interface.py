# SPDX-License-Identifier: Apache-2.0
"""What every method is: a selector or an evictor, with a budget in tokens.

A *selector* chooses, for each query token, the blocks it reads; the cache keeps everything. An *evictor*
chooses, for each request and KV head, the tokens that the cache keeps; a query reads all of those.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from sals._contract import DEFAULT_BLOCK_SIZE, MAX_SELECTED_BLOCKS
from sals.selection import Selection

if TYPE_CHECKING:
    from sals.kept.layer import LayerKv

    from .scores import Scorer


@dataclasses.dataclass(frozen=True)
class Method:
    """A way to read or keep less than everything."""

    name: ClassVar[str] = ""

    def _require(self, condition: bool, message: str) -> None:
        """Raise a ValueError that names the method."""
        if not condition:
            raise ValueError(f"sals.methods.{self.name}: {message}")

    def _require_count(self, name: str, least: int = 0) -> None:
        """Check that a field is an integer of at least `least`, or None where that is its default."""
        value: Any = getattr(self, name)
        is_count = isinstance(value, int) and not isinstance(value, bool)
        self._require(is_count, f"{name} must be a number of tokens, got {value!r}")
        self._require(value >= least, f"{name} must be at least {least}, got {value}")

    def _require_share(self, name: str, value: float) -> None:
        """Check that a number lies in [0, 1]."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        self._require(is_number and 0 <= value <= 1, f"{name} must be in [0, 1], got {value!r}")


@dataclasses.dataclass(frozen=True)
class Selector(Method):
    """Chooses blocks for each query token.

    Parameters
    ----------
    budget : int, optional
        Tokens that a query reads, in whole blocks: sinks, the newest ones, and the best of the others.
        None reads everything, or what `coverage` asks for.
    coverage : float
        Share of the candidates' mass to cover instead (top-p), with `budget` as its upper bound; 0 reads
        `budget` tokens.
    sinks : int
        First tokens that are always read, rounded up to blocks.
    recent : int, optional
        Newest tokens that are always read, rounded up to blocks, at least one; a quarter of the budget by
        default, or 512 without one.
    block_size : int
        Tokens that are chosen together.
    """

    budget: int | None = None
    coverage: float = 0.0
    sinks: int = DEFAULT_BLOCK_SIZE
    recent: int | None = None
    block_size: int = DEFAULT_BLOCK_SIZE

    def __post_init__(self) -> None:
        """Check the settings, and that the blocks which are always read fit the budget."""
        self._require(self.block_size in (8, 16, 32, 64, 128), f"block_size must be 8, 16, 32, 64 or 128, "
                      f"got {self.block_size!r}")  # fmt: skip
        self._require_count("sinks")
        self._require_share("coverage", self.coverage)
        if self.recent is not None:
            self._require_count("recent", 1)
        if self.budget is not None:
            self._require_count("budget", 1)
            forced = self._sink_blocks + self._tail_blocks
            self._require(
                forced <= self._blocks,
                f"budget must hold the {forced * self.block_size} tokens that are always read, "
                f"got {self.budget}",
            )

    @property
    def _blocks(self) -> int:
        return 0 if self.budget is None else self.budget // self.block_size

    @property
    def _sink_blocks(self) -> int:
        return -(-self.sinks // self.block_size)

    @property
    def _tail_blocks(self) -> int:
        if self.recent is not None:
            return -(-self.recent // self.block_size)
        return max(512 // self.block_size if self.budget is None else self._blocks // 4, 1)

    def selection(self) -> Selection:
        """Return the rule of ``include/sals/selection.h`` that these settings mean."""
        chosen = self._blocks - self._sink_blocks - self._tail_blocks
        everything = self.budget is None
        return Selection(
            keep=1 if everything else 0,
            coverage=float(self.coverage),
            block_size=self.block_size,
            sink_blocks=self._sink_blocks,
            tail_blocks=self._tail_blocks,
            min_blocks=0 if everything or self.coverage else chosen,
            max_blocks=MAX_SELECTED_BLOCKS if everything else chosen,
        )


class BlockSelector(Selector):
    """A selector that scores the blocks of :class:`sals.kept.LayerKv` in PyTorch."""

    def block_scores(self, kv: LayerKv, query: Tensor, seen: Tensor, scale: float) -> Tensor | None:
        """Score the blocks of every row.

        Parameters
        ----------
        kv : LayerKv
            The layer's keys and values.
        query : Tensor[float32], shape (rows, s_q, group, head_dim)
            Queries of one KV head each.
        seen : Tensor[int64], shape (rows, s_q)
            Tokens that each query sees.
        scale : float
            Softmax scale.

        Returns
        -------
        Tensor[float32], shape (rows, s_q, blocks), or None
            None reads every block.
        """
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Held:
    """What an evictor knows about the tokens of a layer, a row for each request and KV head.

    Parameters
    ----------
    lengths : Tensor[int64], shape (rows,)
        Tokens held.
    seen : Tensor[int64], shape (rows,)
        Tokens that the request has had.
    positions : Tensor[int64], shape (rows, width)
        Position of each token in its request, ascending.
    scores : Tensor[float32], shape (rows, width), or None
        Accumulated scores, if the method keeps any.
    layer : int
        Index of the layer.
    """

    lengths: Tensor
    seen: Tensor
    positions: Tensor
    scores: Tensor | None
    layer: int = 0

    @property
    def width(self) -> int:
        """Slots of the longest row."""
        return self.positions.shape[1]

    @property
    def ages(self) -> Tensor:
        """Query tokens that could see each token, itself included; the newest token has age 1."""
        return (self.seen[:, None] - self.positions).clamp(min=1)

    @property
    def visible(self) -> Tensor:
        """Which slots hold a token, bool (rows, width)."""
        return torch.arange(self.width, device=self.lengths.device) < self.lengths[:, None]


@dataclasses.dataclass(frozen=True)
class Evictor(Method):
    """Chooses what a cache keeps, for each request and KV head.

    Before a pass of ``s_q`` tokens the cache is cut so that they fit, hence a query never sees more than
    `budget` tokens, itself included. A piece of a prompt of more than half the budget is read on top of the
    cache instead, and the cache is cut afterwards.

    Parameters
    ----------
    budget : int
        Most tokens that a row holds, the new ones included.
    sinks : int
        First tokens of a request that are never evicted.
    interval : int
        Room that a cut makes at least, in tokens: a cut every `interval` tokens.
    """

    budget: int
    sinks: int = 0
    interval: int = 1

    def __post_init__(self) -> None:
        """Check the settings."""
        self._require_count("budget", 1)
        self._require_count("sinks")
        self._require_count("interval", 1)
        self._require_room("interval", self.interval)

    def _require_room(self, name: str, tokens: int) -> None:
        """Check that the budget holds the sinks and `tokens` more."""
        self._require(
            self.sinks + tokens <= self.budget,
            f"budget must hold sinks + {name} = {self.sinks + tokens} tokens, got {self.budget}",
        )

    def scorer(self) -> Scorer | None:
        """Return what scores tokens for this method; None if nothing does."""
        return None

    def room(self, incoming: Tensor) -> Tensor:
        """Tokens for which a cut makes room before a pass that brings `incoming` (rows,) tokens."""
        return torch.where(2 * incoming <= self.budget, incoming.clamp(min=self.interval), 0)

    def due(self, lengths: Tensor, kept: Tensor, incoming: Tensor) -> Tensor:
        """Which rows must be cut before `incoming` (rows,) more tokens, bool (rows,).

        Parameters
        ----------
        lengths, kept : Tensor[int64], shape (rows,)
            Tokens held now, and after the last cut.
        """
        return lengths + incoming > self.budget

    def capacity(self, counts: Tensor) -> Tensor:
        """Slots to allocate for each row after a cut to `counts` tokens."""
        return counts.clamp(min=self.budget)

    def keep(self, held: Held, room: Tensor) -> Tensor:
        """Choose the tokens to keep, bool (rows, width); at most ``budget - room`` (rows,) of a row."""
        raise NotImplementedError
