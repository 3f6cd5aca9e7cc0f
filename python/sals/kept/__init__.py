# SPDX-License-Identifier: Apache-2.0
"""An int8 KV cache with a row of tokens for each request and KV head, so that heads may keep different ones.

To the operator ``sfaa`` a row is a request with one KV head: it lists all blocks of its row, or those that a
selector chose, and rows may have any lengths.
"""

from .layer import LayerKv
from .rows import SlotRows

__all__ = ["LayerKv", "SlotRows"]
