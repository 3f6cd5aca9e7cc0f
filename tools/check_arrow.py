# SPDX-License-Identifier: Apache-2.0
"""Check the dependency arrow between the layers by their ``#include`` lines.

``include/sals`` <- everything; planner <- {AI CPU shell, op_host, CPU backend, tests}; simulator engine <-
{simulator's Ascend C headers, ``python/csrc/sim``}; torch is included by ``python/csrc/ops`` and by the
bindings of devices, ``python/csrc/cuda`` and ``npu``; pybind11 by ``python/csrc/core`` and ``sim`` only.
Kernels see Ascend C, never whose it is.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE_LINE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCE_SUFFIXES = {".h", ".hpp", ".cpp", ".cu"}

# Where the build looks for a header of ours, after the including file's own folder.
SEARCH_PATHS = ("include", "aicpu_tiling", "python/csrc", "op_host", "op_kernel")
CUDA_PATHS = ("include", "aicpu_tiling", "python/csrc", "simulator/cuda")
SIMULATOR_PATHS = ("include", "python/csrc", "simulator/ascendc", "simulator/ascendc/include")

EXTERNAL_KINDS = (
    ("torch", re.compile(r"(torch|ATen|c10|caffe2)/")),
    ("pybind11", re.compile(r"pybind11/")),
    ("intrinsics", re.compile(r"(immintrin|x86intrin|cpuid|arm_neon|arm_sve)\.h$")),
    ("ascendc", re.compile(r"(kernel_operator|kernel_tensor|kernel_event)\w*\.h$|lib/")),
    ("cuda", re.compile(r"cuda_(runtime_api|fp16|bf16)\.h$")),
    ("aicpu", re.compile(r"(cust_)?cpu_\w+\.h$|aicpu")),
    ("cann", re.compile(r"(register|exe_graph|graph|tiling|platform|ge|acl|aclnn\w*|opdev|utils/log)/")),
    ("system", re.compile(r"(dlfcn|ucontext|unistd|sys/mman|sanitizer/\w+)\.h$")),
    ("std", re.compile(r"[a-z_0-9]+$|(math|stdint|stddef|string|stdlib)\.h$")),
)


@dataclass(frozen=True)
class Layer:
    """What the files below `folder` may include: `folders` of ours and `externals` by kind."""

    folder: str
    folders: tuple[str, ...]
    externals: tuple[str, ...] = ("std",)
    search: tuple[str, ...] = SEARCH_PATHS


# The longest matching folder decides.
LAYERS = (
    Layer("include/sals", ("include/sals",)),
    Layer("aicpu_tiling/planner", ("include/sals", "aicpu_tiling/planner")),
    Layer("aicpu_tiling/aicpu", ("include/sals", "aicpu_tiling"), ("std", "aicpu")),
    Layer("aicpu_tiling", ("include/sals", "aicpu_tiling")),
    Layer("op_host", ("include/sals", "aicpu_tiling", "op_host"), ("std", "cann")),
    Layer("op_kernel", ("include/sals", "op_kernel"), ("ascendc",)),
    Layer("python/csrc/core", ("include/sals", "aicpu_tiling", "python/csrc/core"), ("std", "pybind11")),
    Layer("python/csrc/cpu", ("include/sals", "aicpu_tiling", "python/csrc/cpu"), ("std", "intrinsics")),
    Layer(
        "python/csrc/ops",
        ("include/sals", "aicpu_tiling", "python/csrc/cpu", "python/csrc/ops"),
        ("std", "torch"),
    ),
    Layer(
        "python/csrc/cuda",
        ("include/sals", "aicpu_tiling", "python/csrc/ops", "python/csrc/cuda", "simulator/cuda"),
        ("std", "torch", "cuda"),
        CUDA_PATHS,
    ),
    Layer("simulator/cuda", ("python/csrc/cpu", "simulator/cuda"), ("std", "system"), CUDA_PATHS),
    Layer("simulator/ascendc/engine", ("simulator/ascendc/engine",), ("std", "system"), SIMULATOR_PATHS),
    Layer(
        "simulator/ascendc/include",
        ("simulator/ascendc/engine", "simulator/ascendc/include"),
        search=SIMULATOR_PATHS,
    ),
    Layer(
        "python/csrc/sim",
        ("include/sals", "simulator/ascendc/engine", "python/csrc/sim"),
        ("std", "system", "pybind11"),
        SIMULATOR_PATHS,
    ),
)


def inside(path: str, folder: str) -> bool:
    """Whether a path relative to the root lies in `folder`."""
    return path.startswith(folder + "/")


def resolve(root: Path, source: Path, header: str, search: tuple[str, ...]) -> str | None:
    """Find a header of ours; the answer is relative to `root`, None when it is not ours."""
    for folder in (source.parent, *(root / path for path in search)):
        candidate = (folder / header).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root).as_posix()
    return None


def external_kind(header: str) -> str:
    """Name the library that a header which is not ours belongs to."""
    return next((kind for kind, pattern in EXTERNAL_KINDS if pattern.match(header)), "unknown")


def check_file(root: Path, source: Path, layer: Layer) -> list[str]:
    """List the includes of one file that its layer does not allow."""
    name = source.relative_to(root).as_posix()
    found = []
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        match = INCLUDE_LINE.match(line)
        if not match:
            continue
        header = match.group(2)
        owner = resolve(root, source, header, layer.search)
        if owner is None:
            kind = external_kind(header)
            if kind not in layer.externals:
                found.append(f"{name}:{number}: {layer.folder} must not include {header} ({kind})")
        elif not any(inside(owner, folder) for folder in layer.folders):
            found.append(f"{name}:{number}: {layer.folder} must not include {owner}")
    return found


def violations(root: Path = ROOT) -> list[str]:
    """List every include in the layers of `root` that goes against the arrow."""
    root = root.resolve()
    found = []
    for source in sorted(root.glob("*/**/*")):
        name = source.relative_to(root).as_posix()
        layers = [layer for layer in LAYERS if inside(name, layer.folder)]
        if layers and source.suffix in SOURCE_SUFFIXES and source.is_file():
            found += check_file(root, source, max(layers, key=lambda layer: len(layer.folder)))
    return found


if __name__ == "__main__":
    problems = violations()
    print("\n".join(problems) if problems else "the dependency arrow holds")
    sys.exit(bool(problems))
