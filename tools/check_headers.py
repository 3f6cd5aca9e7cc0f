# SPDX-License-Identifier: Apache-2.0
"""Check the kernel sources against the headers of a real CANN toolkit. No device is needed.

    python tools/check_headers.py --cann /usr/local/Ascend/ascend-toolkit/8.1.RC1
    python tools/check_headers.py --cann asc-devkit --cpu-lib /usr/local/Ascend/ascend-toolkit/8.1.RC1

The headers are used as in the toolkit's CPU-debug mode, where a host compiler can read them and one compile
covers the cube core and the vector core. Wrong names, signatures and types are found, in every variant that
an entry point dispatches to. Missing synchronisation, timing and rounding are not: the simulator looks for
those.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CPU_LIB = Path("tools/tikicpulib/lib/include")  # what stands for the compiler's builtins in CPU-debug mode

FLAGS = ("-std=c++17", "-fsyntax-only", "-w")
DEFINES = (
    "__CCE_AICORE__=220",
    "__DAV_C220__",
    "__CCE_KT_TEST__=1",
    "ASCENDC_CPU_DEBUG=1",
    "ASCENDC_DEBUG=1",
)
CLANG_FLAGS = ("-Wno-c++11-narrowing",)  # for the toolkit's own headers

# A builtin of the device compiler that the host has to be given.
BUILTINS = """#pragma once
#include <cstdint>
#include <cstring>
inline void copy_data_align64(uint8_t* to, uint8_t* from, uint64_t bytes) { std::memcpy(to, from, bytes); }
"""

# Names that the open headers mention and the libraries of older toolkits do not know: types and qualifiers of
# a newer architecture. Nothing that is compiled for this one uses them.
NEWER_NAMES = """
struct fp4x2_e1m2_t { uint8_t bits; };
struct fp4x2_e2m1_t { uint8_t bits; };
struct fp8_e4m3fn_t { uint8_t bits; };
struct fp8_e5m2_t { uint8_t bits; };
struct fp8_e8m0_t { uint8_t bits; };
struct hifloat8_t { uint8_t bits; };
#define __ssbuf__
#define __host__
#define __simd_callee__
#define __disable_kernel_type_autoinfer__
#define ASCENDC_HOST_AICORE
"""

# The open tree's own kernel_operator.h also brings the high-level API, which needs generated headers.
BASIC_OPERATOR = """#pragma once
#include "basic_api/kernel_basic_intf.h"
"""


@dataclass(frozen=True)
class Headers:
    """How to compile against one tree of headers."""

    name: str
    include: tuple[Path, ...]
    defines: tuple[str, ...]
    stand_ins: dict[str, str]


class MissingTree(Exception):
    """The given folders are not what the check needs."""


def toolkit_headers(root: Path) -> Headers | None:
    """Headers of an installed toolkit, 8.1 for example; None if `root` is not one."""
    found = sorted(root.glob("*-linux/ascendc/include/basic_api"))
    if not found or not (root / CPU_LIB).is_dir():
        return None
    basic = found[0]
    high = basic.parent / "highlevel_api"
    include = (
        root / CPU_LIB,
        basic.parents[2] / "include",
        *(basic, basic / "impl", basic / "interface"),
        *(high, high / "lib", high / "impl", high / "lib" / "matmul"),
    )
    return Headers(f"CANN toolkit {root.name}", include, (), {"builtins.h": BUILTINS})


def open_headers(root: Path, cpu_lib: Path | None) -> Headers | None:
    """Headers of an asc-devkit checkout; None if `root` is not one."""
    if not (root / "include" / "basic_api" / "kernel_basic_intf.h").is_file():
        return None
    if cpu_lib is None or not (cpu_lib / CPU_LIB).is_dir():
        raise MissingTree(f"{root} needs the CPU-debug library of a toolkit: name one with --cpu-lib")
    folders = ("include", "include/basic_api", "impl/basic_api", "impl", ".")
    include = (*(root / folder for folder in folders), cpu_lib / CPU_LIB)
    stand_ins = {"builtins.h": BUILTINS + NEWER_NAMES, "kernel_operator.h": BASIC_OPERATOR, "simt_stub.h": ""}
    return Headers(f"asc-devkit {root.name}", include, ("__NPU_ARCH__=2201",), stand_ins)


def find_headers(root: Path, cpu_lib: Path | None) -> Headers:
    """Recognise a tree of headers by what it holds."""
    headers = toolkit_headers(root) or open_headers(root, cpu_lib)
    if headers is None:
        raise MissingTree(
            f"{root} holds neither a toolkit (<arch>-linux/ascendc/include/basic_api and {CPU_LIB}) "
            "nor asc-devkit (include/basic_api)"
        )
    return headers


def entry_files(root: Path = ROOT) -> list[Path]:
    """Sources with a kernel entry. They bring all headers and instantiate every variant."""
    return sorted(root.glob("op_kernel/*/*.cpp"))


def compile_errors(source: Path, headers: Headers, compiler: str) -> str:
    """Compile one source without output; the answer is empty or what the compiler says."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in headers.stand_ins.items():
            (Path(folder) / name).write_text(text)
        command = [compiler, *FLAGS]
        if "clang" in Path(compiler).name:
            command += CLANG_FLAGS
        command += [f"-D{define}" for define in (*DEFINES, *headers.defines)]
        command += ["-include", f"{folder}/builtins.h", f"-I{folder}"]
        command += [f"-I{path}" for path in (*headers.include, ROOT / "include", ROOT / "op_kernel")]
        command.append(str(source))
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return ""
    return run.stderr or f"{compiler} ended with status {run.returncode}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check every kernel; 0 if all compile, 1 if not, 2 if there is nothing to check against."""
    parser = argparse.ArgumentParser(description="Check the kernel sources against real CANN headers.")
    parser.add_argument("--cann", type=Path, required=True, help="toolkit (8.1) or asc-devkit checkout (9.x)")
    parser.add_argument("--cpu-lib", type=Path, help=f"for asc-devkit: toolkit that has {CPU_LIB}")
    parser.add_argument("--compiler", default="g++", help="host compiler, g++ or clang++")
    options = parser.parse_args(arguments)
    try:
        headers = find_headers(options.cann.resolve(), options.cpu_lib)
    except MissingTree as missing:
        print(f"check_headers: {missing}", file=sys.stderr)
        return 2
    failed = 0
    for source in entry_files():
        errors = compile_errors(source, headers, options.compiler)
        failed += bool(errors)
        name = source.relative_to(ROOT)
        print(f"{name}: {'errors' if errors else 'OK'} ({headers.name}, {options.compiler})")
        print(errors, end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
