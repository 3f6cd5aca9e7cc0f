# SPDX-License-Identifier: Apache-2.0
"""The CUDA kernels in two places: their sources on a CPU, which every machine has, and a CUDA device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import sals
from calls import Call

FOLDER = Path(sals.__file__).parent
CUDA_MISSING = "needs a CUDA device and a sals built with SALS_BACKEND=cuda"


def has_cuda() -> bool:
    return (FOLDER / "_cuda.so").exists() and torch.cuda.is_available()


@dataclass(frozen=True)
class Backend:
    """Runs operators on CPU tensors and returns CPU tensors, whatever it moves in between."""

    namespace: str
    device: str

    @property
    def ops(self) -> Any:
        return getattr(torch.ops, self.namespace)

    def move(self, call: Call) -> Call:
        return {
            name: value.to(self.device) if isinstance(value, torch.Tensor) else value
            for name, value in call.items()
        }

    def run(self, op: str, call: Call) -> Any:
        name, _, form = op.partition(".")
        return self.fetch(getattr(getattr(self.ops, name), form or "default")(**self.move(call)))

    def fetch(self, result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(self.fetch(each) for each in result)
        return result.cpu() if isinstance(result, torch.Tensor) else result


ON_CPU = Backend("sals_cuda_on_cpu", "cpu")
ON_CUDA = Backend("sals", "cuda")


def load_kernels_on_cpu() -> None:
    torch.ops.load_library(str(FOLDER / "_cuda_on_cpu.so"))
