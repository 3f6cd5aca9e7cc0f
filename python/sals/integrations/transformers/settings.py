# SPDX-License-Identifier: Apache-2.0
"""How an attached model decodes.

No plan is made: without one the operators give a request the same bits in every batch.
"""

from __future__ import annotations

import dataclasses

from sals.selection import Selection

from .requests import Step

# Where selecting begins to pay against listing every block of the same int8 cache, measured on two CPU
# threads (AVX-512) with keep 1/4, 1 sink and 32 tail blocks, batch 1: at 2,000 tokens with 8 KV heads of 128
# channels (group 4), at 7,000 with 3 of 64 (group 3), where a layer takes 0.1 to 0.2 ms either way. The 33
# blocks that are always kept are 528 tokens.
DEFAULT_MIN_DENSE_TOKENS = 2048

DEFAULT_MAX_DECODE_TOKENS = 64


@dataclasses.dataclass(frozen=True)
class DecodeSettings:
    """Which blocks to select, and when not to select.

    Parameters
    ----------
    selection : Selection
        Which blocks a query token attends to.
    min_dense_tokens : int
        A pass whose longest request has fewer tokens is attended densely.
    max_decode_tokens : int
        A pass of more columns over a cache is attended densely: it is a piece of a prompt.
    """

    selection: Selection
    min_dense_tokens: int = DEFAULT_MIN_DENSE_TOKENS
    max_decode_tokens: int = DEFAULT_MAX_DECODE_TOKENS

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name, least in (("min_dense_tokens", 0), ("max_decode_tokens", 1)):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"sals.attach: {name} must be at least {least}, got {value}")

    def stays_dense(self, step: Step) -> bool:
        """Whether a pass over the cache attends to every block."""
        return step.s_q > self.max_decode_tokens or step.max_seq_len < self.min_dense_tokens
