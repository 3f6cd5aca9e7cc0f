# SPDX-License-Identifier: Apache-2.0
"""Measure, per model, which index to use: projections, RoPE or not, rank, and layers to leave dense."""

from .artifact import Calibration, ModelFingerprint

__all__ = ["Calibration", "ModelFingerprint"]
