# SPDX-License-Identifier: Apache-2.0
"""One step of the two CUDA kernels for a profiler: ncu --clock-control none -k regex:sals python -m ..."""

from __future__ import annotations

import argparse

import torch

from benchmarks.bench_cuda import QUARTER
from benchmarks.cuda_sparse import Problem, Step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=131_072)
    options = parser.parse_args()
    steps = [Step(Problem(options.batch, options.tokens, QUARTER), seed) for seed in range(2)]
    for step in steps:
        step.both()
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
