# SPDX-License-Identifier: Apache-2.0
"""Compile the NPU sources against the headers of a real CANN toolkit. No device is needed.

For kernels the headers are used as in the toolkit's CPU-debug mode, where a host compiler can read them and
one compile covers the cube core and the vector core. Wrong names, signatures and types are found, in every
variant that an entry point dispatches to. Missing synchronisation, timing and rounding are not: the simulator
looks for those.

Host sources and AI CPU tasks are ordinary C++. Registrations are compiled for each of the three libraries
that CANN makes of them. asc-devkit has no headers for these two.
"""

from __future__ import annotations

import re
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = ("op_kernel", "op_host", "aicpu_tiling", "include/sals")  # folders of the project's sources
METADEF = "tools/msopgen/template/custom_operator_sample/AICPU/*/metadef/inc"
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

# The open tree's own kernel_operator.h also brings the high-level API, which needs generated headers. And one
# of its headers declares a constexpr function that returns half, of which the library of 8.1 makes a class
# without constexpr constructors: clang refuses the declaration. All constexpr functions of that header are
# called at run time only.
BASIC_OPERATOR = """#pragma once
#include "utils/kernel_utils_mode.h"
#define constexpr
#include "utils/kernel_utils_struct_norm_sort.h"
#undef constexpr
#include "basic_api/kernel_basic_intf.h"
"""


@dataclass(frozen=True)
class Part:
    """How to compile one part of the sources: kernels, host, AI CPU tasks or the binding."""

    name: str
    sources: tuple[str, ...]  # globs below the project's root
    include: tuple[Path, ...]
    ours: tuple[str, ...]  # folders of the project that are on the include path
    defines: tuple[str, ...] = ()
    stand_ins: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Headers:
    """A tree of headers and the parts that can be compiled against it."""

    name: str
    parts: tuple[Part, ...]


class MissingTreeError(Exception):
    """A folder does not hold what it should."""


class MissingLibraryError(Exception):
    """Headers of kernels that need a toolkit's CPU-debug library beside them."""


def kernel_part(include: tuple[Path, ...], defines: tuple[str, ...], stand_ins: dict[str, str]) -> Part:
    """Return the sources with a kernel entry. They bring all headers and instantiate every variant."""
    return Part(
        "kernels", ("op_kernel/*/*.cpp",), include, ("include", "op_kernel"), (*DEFINES, *defines), stand_ins
    )


def host_parts(arch: Path, root: Path) -> tuple[Part, ...]:
    """Return registration, tiling, aclnn functions. In 8.1 a template has headers that AI CPU tasks need."""
    include, experiment = arch / "include", arch / "include" / "experiment"
    high = arch / "ascendc" / "include" / "highlevel_api"
    templates = sorted(root.glob(METADEF))
    folders = (
        *(include, include / "external", include / "aclnn"),
        *(experiment, *(experiment / name for name in ("platform", "metadef", "runtime", "msprof"))),
        *(high, high / "tiling"),
        *templates[:1],
    )

    def part(name: str, sources: str, *defines: str) -> Part:
        abi = "_GLIBCXX_USE_CXX11_ABI=0"
        return Part(name, (sources,), folders, ("include", "op_host"), (abi, *defines))

    return (
        part("host", "op_host/*/*.cpp"),
        part("tiling library", "op_host/*/def.cpp", "OP_TILING_LIB"),
        part("graph library", "op_host/*/def.cpp", "OP_PROTO_LIB"),
    )


def aicpu_part(arch: Path) -> Part:
    """Return AI CPU tasks; the planner that they call needs no headers of a toolkit."""
    include = (arch / "include" / "aicpu",)
    return Part("AI CPU tasks", ("aicpu_tiling/aicpu/*.cpp",), include, ("include", "aicpu_tiling"))


def toolkit_headers(root: Path) -> Headers | None:
    """Return headers of an installed toolkit, 8.1 for example; None if `root` is not one."""
    found = sorted(root.glob("*-linux/ascendc/include/basic_api"))
    if not found or not (root / CPU_LIB).is_dir():
        return None
    basic = found[0]
    high = basic.parent / "highlevel_api"
    arch = basic.parents[2]
    include = (
        root / CPU_LIB,
        arch / "include",
        *(basic, basic / "impl", basic / "interface"),
        *(high, high / "lib", high / "impl", high / "lib" / "matmul"),
    )
    kernels = kernel_part(include, (), {"builtins.h": BUILTINS})
    return Headers(f"CANN toolkit {root.name}", (kernels, *host_parts(arch, root), aicpu_part(arch)))


def open_headers(root: Path, cpu_lib: Path | None) -> Headers | None:
    """Return headers of asc-devkit, which has those of kernels only; None if `root` is not one."""
    if not (root / "include" / "basic_api" / "kernel_basic_intf.h").is_file():
        return None
    if cpu_lib is None or not (cpu_lib / CPU_LIB).is_dir():
        raise MissingLibraryError(
            f"asc-devkit at {root} needs the CPU-debug library of a toolkit ({CPU_LIB}): name a toolkit, too"
        )
    folders = ("include", "include/basic_api", "impl/basic_api", "impl", ".")
    include = (*(root / folder for folder in folders), cpu_lib / CPU_LIB)
    stand_ins = {"builtins.h": BUILTINS + NEWER_NAMES, "kernel_operator.h": BASIC_OPERATOR, "simt_stub.h": ""}
    return Headers(f"asc-devkit {root.name}", (kernel_part(include, ("__NPU_ARCH__=2201",), stand_ins),))


def binding_headers(root: Path) -> Headers | None:
    """Return headers of torch and torch_npu; None if `root` is no site-packages folder with both."""
    torch, torch_npu = root / "torch", root / "torch_npu" / "include"
    if not (torch / "version.py").is_file() or not torch_npu.is_dir():
        return None
    found = re.search(r"__version__ = ['\"](\d+)\.(\d+)", (torch / "version.py").read_text())
    assert found is not None
    include = (
        *(torch / "include", torch / "include/torch/csrc/api/include"),
        *(torch_npu, *(torch_npu / "third_party" / name for name in ("acl/inc", "hccl/inc", "op-plugin"))),
        Path(sysconfig.get_path("include")),
    )
    version = f"CURRENT_VERSION=V{found[1]}R{found[2]}"  # as python/csrc/npu/CMakeLists.txt has it
    binding = Part("binding", ("python/csrc/npu/*.cpp",), include, ("include", "python/csrc"), (version,))
    return Headers(f"torch_npu for torch {found[1]}.{found[2]}", (binding,))


def find_headers(root: Path, toolkits: Sequence[Path] = ()) -> Headers:
    """Recognise a tree of headers by what it holds.

    Parameters
    ----------
    root : path
        An installed toolkit, an asc-devkit checkout, or the site-packages of an environment with torch_npu.
    toolkits : sequence of path
        Where asc-devkit finds the CPU-debug library that it lacks: the first of them that has it.

    Raises
    ------
    MissingTreeError
        If `root` is none of them.
    MissingLibraryError
        If `root` is asc-devkit, and no toolkit has the library.
    """
    cpu_lib = next((path for path in toolkits if (path / CPU_LIB).is_dir()), None)
    headers = toolkit_headers(root) or open_headers(root, cpu_lib) or binding_headers(root)
    if headers is None:
        raise MissingTreeError(
            f"no toolkit at {root}: neither <arch>-linux/ascendc/include/basic_api and {CPU_LIB}, "
            "nor include/basic_api of asc-devkit, nor torch and torch_npu"
        )
    return headers


def find_sources(near: Sequence[Path]) -> Path:
    """Return the first folder with the project's sources among the given ones and those above them."""
    for folder in (above for start in near for above in (start, *start.parents)):
        if all((folder / name).is_dir() for name in SOURCES):
            return folder
    raise MissingTreeError(f"no sources of sals (op_kernel, op_host, ...) at or above {near[0]}")


def source_files(part: Part, root: Path) -> list[Path]:
    """Return all sources of a part; `root` is the project's folder."""
    return sorted(path for pattern in part.sources for path in root.glob(pattern))


def compile_errors(source: Path, part: Part, compiler: str, root: Path) -> str:
    """Compile one source without output; the answer is empty or what the compiler says."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in part.stand_ins.items():
            (Path(folder) / name).write_text(text)
        command = [compiler, *FLAGS]
        if "clang" in Path(compiler).name:
            command += CLANG_FLAGS
        command += [f"-D{define}" for define in part.defines]
        if "builtins.h" in part.stand_ins:
            command += ["-include", f"{folder}/builtins.h"]
        command += [f"-I{path}" for path in (folder, *part.include, *(root / name for name in part.ours))]
        command.append(str(source))
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return ""
    return run.stderr or f"{compiler} ended with status {run.returncode}"
