# SPDX-License-Identifier: Apache-2.0
"""Tokens kept by chance, beside the same sinks and window: what scores have to beat."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor

from .h2o import H2O
from .interface import Held
from .scores import Scorer

# Knuth's multiplicative hash; both factors stay below 2**31, so int64 holds the products.
_MULTIPLIER, _MODULUS = 1_664_525, 2**31


@dataclasses.dataclass(frozen=True)
class RandomEviction(H2O):
    """Keeps a random choice instead of heavy hitters.

    A token's lot follows from the seed, the row and its position, so a token that loses has lost for good
    and the survivors stay an even sample of the past.

    Parameters
    ----------
    seed : int
        Of the lots.
    """

    name: ClassVar[str] = "random"
    sinks: int = 4
    seed: int = 0

    def scorer(self) -> Scorer | None:
        """Nothing is scored."""
        return None

    def keep(self, held: Held, room: Tensor) -> Tensor:
        """Keep as H2O does, by lot."""
        return super().keep(dataclasses.replace(held, scores=self._lots(held)), room)

    def _lots(self, held: Held) -> Tensor:
        """Return lots in [0, 1) from seed, layer, row and position, by a multiplicative hash."""
        rows = torch.arange(len(held.lengths), device=held.lengths.device)[:, None]
        lots = held.positions + 1
        for salt in (rows, held.layer, self.seed):
            lots = (lots * _MULTIPLIER + salt + 1) % _MODULUS
            lots = lots ^ (lots >> 15)
        return (lots * _MULTIPLIER % _MODULUS).float() / _MODULUS
