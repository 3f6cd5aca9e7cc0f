# SPDX-License-Identifier: Apache-2.0
"""Zeroed host memory in huge pages, for caches that are read in random order.

A block of 16 tokens is 2 KiB of keys and 2 KiB of values, so with pages of 4 KiB nearly every block read by
the attention costs a page-table walk; with pages of 2 MiB hardly any does.
"""

from __future__ import annotations

import math
import mmap

import torch
from torch import Tensor

HUGE_PAGE_BYTES = 2 << 20


def zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device | str = "cpu") -> Tensor:
    """Return a tensor of zeros; on a Linux host a large one lies in huge pages.

    Parameters
    ----------
    shape : tuple of int
        Shape of the tensor.
    dtype : torch.dtype
        Type of its elements.
    device : torch.device or str
        Other devices than the host, small tensors and systems without huge pages get ``torch.zeros``.

    Returns
    -------
    Tensor
        Contiguous. Memory is taken page by page when it is first touched.
    """
    num_bytes = math.prod(shape) * dtype.itemsize
    is_host = torch.device(device).type == "cpu"
    if not is_host or num_bytes < HUGE_PAGE_BYTES or not hasattr(mmap, "MADV_HUGEPAGE"):
        return torch.zeros(shape, dtype=dtype, device=device)
    memory = mmap.mmap(-1, num_bytes + HUGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    octets = torch.frombuffer(memory, dtype=torch.uint8)
    begin = -octets.data_ptr() % HUGE_PAGE_BYTES
    return octets[begin : begin + num_bytes].view(dtype).view(shape)
