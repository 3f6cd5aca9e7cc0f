# SPDX-License-Identifier: Apache-2.0
"""Operands of the cube in their fractal layouts, and the launch of a cube kernel."""

from __future__ import annotations

import numpy as np

from sals import simulator
from simulator import cube_reference as reference

SMALL = {"int4": 8, "int8": 128, "half": 8, "bfloat16": 8, "float": 8}


def random_values(rng, name):
    """Integers that every type holds; their products and sums are exact in fp32."""
    bound = SMALL[name]
    return lambda shape: rng.integers(-bound, bound, shape).astype(np.int64 if "int" in name else np.float32)


def garbage_for(rng, name):
    """What lies beside valid elements: NaN among floating-point numbers."""
    if "int" in name:
        return random_values(rng, name)
    return lambda shape: np.full(shape, np.nan, np.float32)


def as_fractals(values, name):
    raw = reference.storage(values, name)
    count = -(-raw.size // reference.FRACTAL_BYTES)
    return np.pad(raw, (0, count * reference.FRACTAL_BYTES - raw.size)), count


def result_type(name):
    return np.int32 if "int" in name else np.float32


def parameters(*values):
    return np.array(values, np.int64).astype(np.int32)


def launch(library, entry, arguments, clean=True, **options):
    result = simulator.launch(library, entry, arguments, kind="cube", cores=1, **options)
    assert not clean or not result.findings, result.findings
    return result


def operands(rng, name, m, n, k, pairs=False):
    a, b = random_values(rng, name)((m, k)), random_values(rng, name)((k, n))
    garbage = garbage_for(rng, name)
    if m == 1:
        left = reference.vector_fractals(a, name, garbage)
    else:
        left = reference.left_fractals(a, name, garbage, pairs)
    return a, b, as_fractals(left, name), as_fractals(reference.right_fractals(b, name, garbage), name)
