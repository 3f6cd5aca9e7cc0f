# SPDX-License-Identifier: Apache-2.0
"""Wall time of the stages of a pass, for those who ask."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager

STAGES = ("write", "project", "select", "attend", "rest")

_NOTHING: AbstractContextManager[None] = contextlib.nullcontext()


class StageTimer:
    """Seconds spent per stage, summed over layers and passes.

    Stages are "write" (quantise and store the new tokens), "project" (query to index space), "select" (block
    scores and choice), "attend" (attention over the chosen blocks) and "rest" (everything else in a forward
    pass, a prefill's attention included). The times mean something where work is synchronous, as on the CPU.

    Attributes
    ----------
    seconds : dict of str to float
        Seconds per stage.
    passes : int
        Forward passes recorded.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.passes = 0

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Count the time of a ``with`` block to a stage."""
        return self._measure(name)

    def finish_pass(self, seconds: float, staged_before: float) -> None:
        """Count a pass of `seconds`; what the stages did not take since `staged_before` is the rest."""
        self.seconds["rest"] += seconds - (self.staged() - staged_before)
        self.passes += 1

    def staged(self) -> float:
        """Seconds counted to the stages inside the attention."""
        return sum(seconds for name, seconds in self.seconds.items() if name != "rest")

    @contextlib.contextmanager
    def _measure(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - begin


class _NoTimer(StageTimer):
    """Records nothing."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        return _NOTHING


NO_TIMER = _NoTimer()
