# SPDX-License-Identifier: Apache-2.0
"""StreamingLLM: the first tokens, which collect attention whatever they say, and a window."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from .window import Window


@dataclasses.dataclass(frozen=True)
class Streaming(Window):
    """Keeps `sinks` first tokens and the newest others (arXiv 2309.17453).

    With rolling positions a model can go on beyond the length it was trained for; what was evicted is lost
    in either case.
    """

    name: ClassVar[str] = "streaming"
    sinks: int = 4
