# SPDX-License-Identifier: Apache-2.0
"""Measure, per model, which index to use: projections, RoPE or not, rank, and layers to leave dense.

`Calibration` is all that serving needs; what measures is imported on first use and needs transformers.
"""

import importlib
from typing import Any

from .artifact import Calibration, ModelFingerprint

_HOMES = {
    "Budget": "scoring",
    "CalibrationOptions": "options",
    "Variant": "variants",
    "calibrate": "study",
    "default_variants": "variants",
}

__all__ = [
    "Budget",
    "Calibration",
    "CalibrationOptions",
    "ModelFingerprint",
    "Variant",
    "calibrate",
    "default_variants",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
