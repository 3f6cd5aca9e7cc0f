# SPDX-License-Identifier: Apache-2.0
"""The smallest and the largest value of every channel in each block of keys."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

LARGEST = torch.finfo(torch.float16).max


class Bounds:
    """Two float16 tensors [rows, blocks, head_dim], brought up to date when keys are written.

    Parameters
    ----------
    num_rows, num_blocks, block_size, head_dim : int
        Shape.
    device : torch.device
        Where the tensors live.
    """

    def __init__(
        self, num_rows: int, num_blocks: int, block_size: int, head_dim: int, device: torch.device
    ) -> None:
        self._block_size = block_size
        shape = num_rows, num_blocks, head_dim
        self.low, self.high = (torch.zeros(shape, dtype=torch.float16, device=device) for _ in range(2))

    def tensors(self) -> Iterator[Tensor]:
        """Both tensors."""
        yield from (self.low, self.high)

    def of(self, blocks: int) -> tuple[Tensor, Tensor]:
        """Return the bounds of the first blocks."""
        return self.low[:, :blocks], self.high[:, :blocks]

    def update(self, keys: Tensor, lengths: Tensor, before: Tensor) -> None:
        """Bound the blocks that have changed.

        The block in which the shortest row ended is bounded anew from all its keys, so a rollback leaves
        nothing behind.

        Parameters
        ----------
        keys : Tensor[float32], shape (rows, width, head_dim)
            All keys.
        lengths, before : Tensor[int64], shape (rows,)
            Keys of each row, now and before the write.
        """
        first = int(before.min()) // self._block_size
        keys = keys[:, first * self._block_size :]
        index = torch.arange(keys.shape[1], device=keys.device) + first * self._block_size
        missing = (index >= lengths[:, None])[..., None]
        padding = -keys.shape[1] % self._block_size
        last = first + (keys.shape[1] + padding) // self._block_size
        for bound, empty, reduce in ((self.low, torch.inf, torch.amin), (self.high, -torch.inf, torch.amax)):
            filled = keys.masked_fill(missing, empty)
            blocks = torch.nn.functional.pad(filled, (0, 0, 0, padding), value=empty)
            extreme = reduce(blocks.unflatten(1, (-1, self._block_size)), 2)
            extreme = extreme.masked_fill(extreme.isinf(), 0.0).clamp(-LARGEST, LARGEST)
            bound[:, first:last] = extreme.to(torch.float16)

    def select(self, rows: Tensor) -> None:
        """Make row i a copy of what was row ``rows[i]``."""
        self.low, self.high = self.low[rows], self.high[rows]
