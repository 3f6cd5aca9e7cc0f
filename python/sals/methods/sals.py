# SPDX-License-Identifier: Apache-2.0
"""SALS: blocks by log-sum-exp scores on a calibrated int4 index (the operator ``qsi``)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from .interface import Selector


@dataclasses.dataclass(frozen=True)
class Sals(Selector):
    """SALS (arXiv 2510.24273) with the index of a calibration; see ``docs/explanation/sals.md``.

    The block size is the calibration's.
    """

    name: ClassVar[str] = "sals"
