# SPDX-License-Identifier: Apache-2.0
"""The definition of every operator in NumPy: short, slow and obviously right.

Each module holds one concept. Arrays of fp16 or bf16 values are passed as the float32 values they stand for.
"""

from sals.reference.cache import write_cache
from sals.reference.fp16_residual import sfaa_fp16_residual
from sals.reference.projection import project_query
from sals.reference.qsi import block_scores, qsi, select_from_scores
from sals.reference.selection import SelectionParams, select
from sals.reference.sfaa import sfaa_exact, sfaa_two_term

__all__ = [
    "SelectionParams",
    "block_scores",
    "project_query",
    "qsi",
    "select",
    "select_from_scores",
    "sfaa_exact",
    "sfaa_fp16_residual",
    "sfaa_two_term",
    "write_cache",
]
