# SPDX-License-Identifier: Apache-2.0
"""Picture of a result of bench_cuda: python -m benchmarks.plot_cuda RESULT.json PICTURE.png"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    rows = json.loads(options.result.read_text())["rows"]
    figure, (ratio, time) = plt.subplots(1, 2, figsize=(10, 4))
    for batch in sorted({row["batch"] for row in rows}):
        of_batch = sorted(
            {row["tokens"]: row for row in rows if row["batch"] == batch and row["heads"] == "32/8"}.items()
        )
        tokens = [count for count, _ in of_batch]
        if not tokens:
            continue
        marker = "o-" if len(tokens) > 1 else "s"
        ratio.plot(tokens, [row["speed-up"] for _, row in of_batch], marker, label=f"batch {batch}")
        (line,) = time.plot(tokens, [row["both"] for _, row in of_batch], marker, label=f"batch {batch}")
        dense = [row["dense"][row["fastest"]] for _, row in of_batch]
        time.plot(tokens, dense, marker.replace("-", "--"), color=line.get_color(), alpha=0.5)
    ratio.axhline(1, color="grey", linewidth=0.8)
    ratio.set(xscale="log", xlabel="tokens", ylabel="times the fastest dense bf16", title="Speed-up")
    time.set(xscale="log", yscale="log", xlabel="tokens", ylabel="µs", title="Step (dashed: dense)")
    ratio.legend()
    time.legend()
    figure.tight_layout()
    figure.savefig(options.picture, dpi=110)


if __name__ == "__main__":
    main()
