# SPDX-License-Identifier: Apache-2.0
"""Error of int8 attention against float64 by the size of the logits, for three ways to compute it.

Usage: python -m benchmarks.bench_numerics [--seeds N]
NumPy only. The caches hold the same int8 codes for all, so this is the error of the arithmetic alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.bench_kernels import markdown
from sals.reference import sfaa_exact, sfaa_fp16_residual, sfaa_two_term
from sals.reference.closeness import relative_l2
from sals.selection import Selection
from sals.simulator.sfaa_trial import SfaaTrial, bfloat16_bits, floats_of_bfloat16

LOGITS = (5, 20, 50, 180)  # the largest |logit| of a problem
TOKENS = 2560


def problem(seed: int, largest_logit: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of attention of 4 query heads over one head's whole context."""
    trial = SfaaTrial(
        batch=1, seq_len=TOKENS, heads=1, group=4, layout="BSND", selection=Selection(keep=1), data_seed=seed
    )
    arguments = trial.arguments()
    keys = arguments["key_cache"][0, :, 0].astype(np.float64) * arguments["key_scale"]
    query = floats_of_bfloat16(arguments["query"]).astype(np.float64)
    logits = query[0, 0] @ keys.T * trial.keywords()["scale"]
    scaled = (query * (largest_logit / np.abs(logits).max())).astype(np.float32)
    arguments["query"] = floats_of_bfloat16(bfloat16_bits(scaled))
    return arguments, trial.keywords()


def rounded(values: np.ndarray) -> np.ndarray:
    """Round to bfloat16, half away from zero."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32) + np.uint32(0x8000)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def rows(seeds: int) -> Iterator[Sequence[str]]:
    yield (
        "largest |logit|", "fp16 residuals and accumulators", "two terms and fp32", "ratio",
        "exact, rounded to bfloat16",
    )  # fmt: skip
    for largest_logit in LOGITS:
        problems = [problem(seed, largest_logit) for seed in range(seeds)]
        golden = [sfaa_exact(**arguments, **keywords)[0] for arguments, keywords in problems]

        def errors(
            attention: Callable[..., Any], problems: Any = problems, golden: Any = golden
        ) -> list[float]:
            return [
                relative_l2(attention(**arguments, **keywords)[0], out)
                for (arguments, keywords), out in zip(problems, golden, strict=True)
            ]

        fp16, two_term = errors(sfaa_fp16_residual), errors(sfaa_two_term)
        output = [relative_l2(rounded(out), out) for out in golden]
        yield (
            str(largest_logit), _cell(fp16), _cell(two_term),
            f"{np.median(fp16) / np.median(two_term):.0f}", _cell(output),
        )  # fmt: skip


def _cell(errors: Sequence[float]) -> str:
    return f"{np.median(errors):.1e} ({max(errors):.1e})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    print(f"Relative L2 error of the output, median (largest) of {options.seeds} seeds:\n")
    print("\n".join(markdown(list(rows(options.seeds)))))


if __name__ == "__main__":
    main()
