# SPDX-License-Identifier: Apache-2.0
"""What a kernel is called with, and where it lies in the simulated global memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

# Every argument starts a page of this size, so that addresses, and with them modelled time, do not depend on
# what the process allocated before. On the chip memory is aligned to 512 bytes.
GM_ALIGNMENT = 1 << 21


@dataclass(frozen=True, eq=False)
class GmArgument:
    """An array in global memory and how the kernel may use it.

    Attributes
    ----------
    array : array
        In the caller's memory.
    role : {"input", "output", "inout", "workspace"}
        Inputs are read-only and defined; outputs and workspace are undefined until the kernel writes them.
    """

    array: np.ndarray
    role: str


def output(array: Any) -> GmArgument:
    """Let the kernel write `array`; it begins undefined, and what is not written holds 0xCD bytes."""
    return GmArgument(as_numpy(array), "output")


def inout(array: Any) -> GmArgument:
    """Let the kernel read and write `array`, which begins as it is."""
    return GmArgument(as_numpy(array), "inout")


def workspace(nbytes: int) -> GmArgument:
    """Give the kernel `nbytes` of undefined scratch memory."""
    return GmArgument(aligned_empty((nbytes,), np.uint8), "workspace")


def as_numpy(value: Any) -> np.ndarray:
    """View an array, or a tensor on the CPU, as an array of the same memory."""
    if hasattr(value, "detach"):
        return bits_of(value)
    if not isinstance(value, np.ndarray):
        raise TypeError(f"sals: an argument must be an array or a CPU tensor, got {type(value).__name__}")
    return value


def bits_of(tensor: Any) -> np.ndarray:
    """View a CPU tensor as an array; NumPy has no bfloat16, so those come as uint16."""
    if tensor.device.type != "cpu":
        raise ValueError(f"sals: the simulator takes tensors on cpu, got one on {tensor.device}")
    tensor = tensor.detach()
    if "bfloat16" in str(tensor.dtype):
        import torch

        tensor = tensor.view(torch.uint16)
    return tensor.numpy()


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype | type) -> np.ndarray:
    """Return an uninitialised array at an address that simulated global memory would have."""
    dtype = np.dtype(dtype)
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.empty(nbytes + GM_ALIGNMENT, np.uint8)
    first = -memory.ctypes.data % GM_ALIGNMENT
    return memory[first : first + nbytes].view(dtype).reshape(shape)


def is_aligned(array: np.ndarray) -> bool:
    """Whether an array may serve as global memory itself, uncopied."""
    return array.flags.c_contiguous and array.ctypes.data % GM_ALIGNMENT == 0


def placed(argument: GmArgument, name: str) -> np.ndarray:
    """Return the array as it lies in global memory: itself if it is aligned, else a copy."""
    array = argument.array
    if array.dtype == object:
        raise TypeError(f"sals: {name} must hold numbers, got an array of Python objects")
    if not array.flags.c_contiguous:
        raise ValueError(f"sals: {name} must be contiguous, got a strided array. Use np.ascontiguousarray")
    if argument.role in ("output", "inout") and not array.flags.writeable:
        raise ValueError(f"sals: {name} must be writeable, because the kernel writes it")
    if is_aligned(array):
        return array
    place = aligned_empty(array.shape, array.dtype)
    if argument.role in ("input", "inout"):
        place[...] = array
    return place
