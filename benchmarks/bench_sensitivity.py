# SPDX-License-Identifier: Apache-2.0
"""How far the modelled efficiency of the kernels depends on the constants of the cost model.

Usage: python -m benchmarks.bench_sensitivity [--markdown FILE]
Builds the simulator once more, with constants that an environment variable scales, and runs each kernel with
one group of them at half and at one and a half times its value. Needs a C++ compiler; the package is that of
the environment.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.bench_kernels import markdown

ENGINE = Path(__file__).parents[1] / "simulator" / "ascendc"
FACTORS = (0.5, 1.5)
# Constants of cost_table.h that change together; RATE and LANES below stand for those of vector instructions.
GROUPS = {
    "start of a DMA, and of its pieces": ("DMA_ISSUE", "REQUEST"),
    "HBM bandwidth": ("HBM_BYTES_PER_NS", "HBM_READ_RATE"),
    "L2 bandwidth": ("L2_BYTES_PER_NS", "L2_READ_RATE", "L2_WRITE_RATE", "UB_OUT_RATE"),
    "vector rate": ("VECTOR_RATE",),
    "latency of global memory": ("GM_LATENCY", "SCALAR_GM_MISS"),
    "cross-core flag": ("CROSS_CORE",),
    "dispatch of an instruction": ("DISPATCH",),
}
EXPORTED = ("HBM_BYTES_PER_NS", "HBM_READ_RATE", "L2_BYTES_PER_NS", "L2_READ_RATE")  # to the floors
PREFIX = "SALS_SCALE_"
SCALE = """#include <cstdlib>
#include <string>
namespace sals::sim::table {
inline double scale_of(const char* name) {
    const char* text = std::getenv((std::string("SALS_SCALE_") + name).c_str());
    return text ? std::atof(text) : 1;
}
}
"""
SHORTEST_REPEAT = "std::max(1.0, amount / per_cycle / repeats)"
KERNELS = ("attention, 8 query rows", "attention, 40 query rows", "indexer")


def scalable(source: Path) -> None:
    """Let environment variables scale the constants of a copy of the engine."""
    header = source / "engine" / "cost_table.h"
    text = header.read_text()
    for name in {name for names in GROUPS.values() for name in names} - {"VECTOR_RATE"}:
        pattern = rf"inline constexpr double {name} =\s*([^;]+);"
        text, count = re.subn(pattern, rf'inline const double {name} = (\1) * scale_of("{name}");', text)
        if count != 1:
            raise RuntimeError(f"cost_table.h must define {name} once, found {count}")
    header.write_text(text.replace("#pragma once\n", "#pragma once\n" + SCALE))
    cost = source / "engine" / "cost.cpp"
    text = cost.read_text()
    for old, new in (
        ("table::VECTOR_SETUP", "(table::VECTOR_SETUP / VECTOR_SCALE)"),
        (SHORTEST_REPEAT, f"{SHORTEST_REPEAT} / VECTOR_SCALE"),
        ("amount / per_cycle, 0", "amount / per_cycle / VECTOR_SCALE, 0"),
        ("Timing vector(", 'const double VECTOR_SCALE = table::scale_of("VECTOR_RATE");\n\nTiming vector('),
    ):  # fmt: skip
        if old not in text:
            raise RuntimeError(f"cost.cpp has no {old!r}")
        text = text.replace(old, new)
    cost.write_text(text)


def build(folder: Path) -> Path:
    """Build the changed engine; return the library to load before the package's own."""
    source = folder / "ascendc"
    shutil.copytree(ENGINE, source)
    scalable(source)
    library = folder / "libsals_sim.so"
    files = sorted(map(str, (source / "engine").glob("*.cpp")))
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, "-std=c++17", "-O2", "-fPIC", "-shared", f"-I{source}", *files, "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def efficiencies() -> list[float]:
    """Run the kernels on 84 x 10,240 tokens; in a process whose engine may be changed."""
    from sals import _sim
    from sals.simulator.qsi_trial import QsiTrial
    from sals.simulator.sfaa_trial import SfaaTrial

    for name in EXPORTED:
        setattr(_sim, name, getattr(_sim, name) * float(os.environ.get(PREFIX + name, 1)))
    found = []
    for trial in (
        SfaaTrial(batch=84, layout="PA_NZ"),
        SfaaTrial(batch=84, group=10, s_q=4, layout="PA_NZ"),
        QsiTrial(batch=84, seq_len=10_240, heads=2),
    ):
        arguments = trial.arguments()
        outputs, result = trial.run(arguments, race_detection=False)
        found.append(trial.roofline(result, arguments, outputs).efficiency)
    return found


def run(library: Path, scales: Mapping[str, float]) -> list[float]:
    """Efficiencies with some constants scaled."""
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    environment.update({PREFIX + name: str(factor) for name, factor in scales.items()})
    command = [sys.executable, "-m", "benchmarks.bench_sensitivity", "--worker"]
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def rows(library: Path) -> Iterator[Sequence[str]]:
    yield "constants", "times", *KERNELS
    yield "as in the table", "1", *(f"{value:.1%}" for value in run(library, {}))
    for group, names in GROUPS.items():
        for factor in FACTORS:
            found = run(library, dict.fromkeys(names, factor))
            yield group, str(factor), *(f"{value:.1%}" for value in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(efficiencies()))
        return
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(markdown(list(rows(build(Path(folder)))))) + "\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
