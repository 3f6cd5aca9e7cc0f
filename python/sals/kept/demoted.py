# SPDX-License-Identifier: Apache-2.0
"""Tokens that a cache keeps at lower precision: int4 keys and values, which are attended with the others."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from sals import _core

from .attend import RowQuery, attend_rows
from .codes import int4_codes, unpack_int4
from .rows import SlotRows


class DemotedRows:
    """int4 copies of tokens that left the int8 rows.

    Parameters
    ----------
    head_dim, num_rows : int
        Shape.
    device : torch.device
        Where the tensors live.
    """

    def __init__(self, head_dim: int, num_rows: int, device: torch.device) -> None:
        half = int(_core.padded_head_dim(head_dim)) // 2
        codes, scale = ((half,), torch.int8), ((), torch.float32)
        kinds = {"key": codes, "value": codes, "key_scale": scale, "value_scale": scale}
        self.rows = SlotRows({**kinds, "position": ((), torch.int32)}, num_rows, device)

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor that takes memory for each token."""
        return self.rows.tensors()

    def take(self, kept: SlotRows, demoted: Tensor) -> None:
        """Add tokens of int8 rows, given by a mask (rows, width)."""
        values = {"position": kept.padded("position")}
        for name in ("key", "value"):
            scale = f"{name}_scale"
            values[name], values[scale] = int4_codes(kept.padded(name), kept.padded(scale))
        self.rows.append(demoted, values)

    def attend(self, queries: RowQuery, scale: float) -> tuple[Tensor, Tensor]:
        """Attend to all of them: they are older than any query. As :func:`attend_rows`."""
        fields = self.rows.fields
        wide = self.rows.replaced(key=unpack_int4(fields["key"]), value=unpack_int4(fields["value"]))
        return attend_rows(wide, queries, scale, causal=False)

    def crop(self, seen: Tensor) -> None:
        """Forget the tokens from position `seen` (rows,) on."""
        held = (self.rows.padded("position") < seen[:, None]) & self.rows.visible
        self.rows.keep(held, held.sum(1))
