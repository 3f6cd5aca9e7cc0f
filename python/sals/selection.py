# SPDX-License-Identifier: Apache-2.0
"""The arguments that say how many blocks a row keeps."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from sals import _contract

Keep = int | float | str | Fraction


def keep_fraction(keep: Keep) -> Fraction:
    """Return the exact fraction that a caller means by ``keep``.

    Parameters
    ----------
    keep : int, float, str or Fraction
        A float means its shortest decimal: 0.3 is 3/10, never its binary neighbour. A string is anything
        ``Fraction`` reads, such as ``"1/6"`` or ``"0.28"``.

    Returns
    -------
    Fraction
        In [0, 1], with a denominator of at most 2**20.

    Raises
    ------
    ValueError
        If ``keep`` is no number in [0, 1] or its denominator is too large.
    """
    try:
        fraction = Fraction(repr(keep)) if isinstance(keep, float) else Fraction(keep)
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise ValueError(f"keep must be a number or a fraction such as '1/6', got {keep!r}") from error
    if not 0 <= fraction <= 1:
        raise ValueError(f"keep must be in [0, 1], got {keep!r}")
    if fraction.denominator > _contract.MAX_KEEP_DEN:
        raise ValueError(
            f"keep must have a denominator of at most {_contract.MAX_KEEP_DEN}, got {keep!r} = {fraction}"
        )
    return fraction


@dataclass(frozen=True)
class Selection:
    """Which blocks of a row are kept (``include/sals/selection.h`` states the rule).

    The first ``sink_blocks`` and the last ``tail_blocks`` blocks are always kept. Of the n blocks between,
    budget mode keeps ``min(ceil(n * keep), max_blocks)``, coverage mode (``coverage > 0``) the best blocks
    until they hold that share of the candidates' softmax mass. In both modes at least
    ``min(min_blocks, n)`` and at most ``max_blocks`` candidates are kept.

    Parameters
    ----------
    keep : int, float, str or Fraction, default 1/4
        Share of the candidate blocks, exact: see :func:`keep_fraction`.
    coverage : float, default 0.0
        Softmax mass to cover (top-p); 0 chooses budget mode, 1 or more keeps every candidate.
    block_size : int, default 16
        Tokens per block: 8, 16, 32, 64 or 128.
    sink_blocks, tail_blocks : int
        Blocks kept at the start (>= 0) and at the end (>= 1) of a row.
    min_blocks, max_blocks : int
        Bounds on the kept candidates, ``0 <= min_blocks <= max_blocks <= 8192``.
    order : {"index", "score"}
        Order of the ids: ascending, or sinks, candidates by falling score, tail.
    """

    keep: Keep = Fraction(1, 4)
    coverage: float = 0.0
    block_size: int = _contract.DEFAULT_BLOCK_SIZE
    sink_blocks: int = _contract.DEFAULT_SINK_BLOCKS
    tail_blocks: int = _contract.DEFAULT_TAIL_BLOCKS
    min_blocks: int = 0
    max_blocks: int = _contract.DEFAULT_MAX_BLOCKS
    order: str = "index"

    def __post_init__(self) -> None:
        """Make ``keep`` an exact fraction."""
        object.__setattr__(self, "keep", keep_fraction(self.keep))

    def plan_arguments(self) -> dict[str, Any]:
        """Keyword arguments of ``torch.ops.sals.qsi_plan`` and ``sfaa_plan``."""
        fraction = keep_fraction(self.keep)
        return {
            "block_size": self.block_size,
            "keep_num": fraction.numerator,
            "keep_den": fraction.denominator,
            "min_blocks": self.min_blocks,
            "max_blocks": self.max_blocks,
            "coverage": self.coverage,
            "sink_blocks": self.sink_blocks,
            "tail_blocks": self.tail_blocks,
        }

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of ``torch.ops.sals.qsi``."""
        return {**self.plan_arguments(), "order": self.order}


def all_blocks(seq_lens: Tensor, max_seq_len: int, block_size: int) -> tuple[Tensor, Tensor]:
    """List every block of each request, one list for all its query tokens and heads.

    Parameters
    ----------
    seq_lens : Tensor[int32], shape (batch,)
        Tokens of the requests.
    max_seq_len : int
        Upper bound of `seq_lens`.
    block_size : int
        Tokens per block.

    Returns
    -------
    block_ids : Tensor[int32], shape (batch, 1, 1, ceil(max_seq_len / block_size))
        Ascending, padded with -1.
    selected_lens : Tensor[int32], shape (batch, 1, 1)
    """
    num_blocks = -(-seq_lens // block_size)
    ids = torch.arange(-(-max_seq_len // block_size), dtype=torch.int32, device=seq_lens.device)
    ids = torch.where(ids < num_blocks[:, None], ids, _contract.INVALID_BLOCK).to(torch.int32)
    return ids[:, None, None], seq_lens[:, None, None].contiguous()
