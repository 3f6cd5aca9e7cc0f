# SPDX-License-Identifier: Apache-2.0
"""Measure, per model, which index to use: projections, RoPE or not, rank, and layers to leave dense."""

from .artifact import Calibration, ModelFingerprint
from .calibrate import calibrate
from .options import CalibrationOptions
from .scoring import Budget
from .variants import Variant, default_variants

__all__ = [
    "Budget",
    "Calibration",
    "CalibrationOptions",
    "ModelFingerprint",
    "Variant",
    "calibrate",
    "default_variants",
]
