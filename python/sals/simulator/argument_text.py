# SPDX-License-Identifier: Apache-2.0
"""Arguments of a kernel as a command line spells them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sals.simulator.arguments import GmArgument, aligned_empty, inout, output, workspace


def parse_argument(text: str, rng: np.random.Generator) -> tuple[str, Any]:
    """Turn ``name=kind:...`` into a name and an argument of :func:`sals.simulator.launch`.

    Parameters
    ----------
    text : str
        ``x=in:data.npy``, ``x=in:float16:8x2048`` (random), ``z=out:float16:8x2048``, ``z=inout:data.npy``,
        ``w=workspace:65536`` (bytes), ``n=int:2048`` or ``p=null``.
    rng : Generator
        Source of random data: integers over their whole range, floats from a normal distribution.

    Raises
    ------
    ValueError
        If the text is none of these.
    """
    name, _, value = text.partition("=")
    kind, _, rest = value.partition(":")
    try:
        match kind:
            case "in":
                return name, _data(rest, rng)
            case "inout":
                return name, inout(_data(rest, rng).copy())
            case "out":
                return name, output(_empty(rest))
            case "workspace":
                return name, workspace(int(rest))
            case "int":
                return name, int(rest, 0)
            case "null":
                return name, None
    except (ValueError, TypeError) as error:
        raise ValueError(f"sals sim: cannot read the argument {text!r}: {error}") from error
    raise ValueError(
        f"sals sim: an argument is name=in, out, inout, workspace, int or null:..., got {text!r}"
    )


def _data(text: str, rng: np.random.Generator) -> np.ndarray:
    if text.endswith(".npy"):
        return np.ascontiguousarray(np.load(text))
    array = _empty(text)
    if array.dtype.kind == "f":
        array[...] = rng.standard_normal(array.shape)
    else:
        array[...] = rng.integers(0, 256, (array.nbytes,), np.uint8).view(array.dtype).reshape(array.shape)
    return array


def _empty(text: str) -> np.ndarray:
    dtype, _, shape = text.partition(":")
    sizes = tuple(int(size) for size in shape.split("x"))
    if math.prod(sizes) < 1 or min(sizes) < 1:
        raise ValueError(f"sizes must be positive, got {shape}")
    return aligned_empty(sizes, np.dtype(dtype))


def save_arrays(folder: Path, arguments: Mapping[str, Any]) -> None:
    """Save every array but workspaces as ``name.npy``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            np.save(folder / f"{name}.npy", value)
        elif isinstance(value, GmArgument) and value.role != "workspace":
            np.save(folder / f"{name}.npy", value.array)
