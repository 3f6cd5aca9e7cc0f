# SPDX-License-Identifier: Apache-2.0
"""Compile a kernel for the simulator. A library is built once for the same sources, headers and flags."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
CHECKOUT = PACKAGE.parents[1]

# No contraction, so that equal inputs give equal bits. No unique symbols, so that a library can be unloaded.
FLAGS = ("-std=c++17", "-O2", "-fPIC", "-ffp-contract=off")
# GCC 12 takes some functions that change memory for pure and leaves their calls out (CMakeLists.txt, too).
GCC_FLAGS = ("-fno-gnu-unique", "-fno-ipa-modref", "-fno-ipa-pure-const")


class BuildError(RuntimeError):
    """A kernel does not compile. The message is the compiler's."""


def include_dirs() -> list[Path]:
    """Folders of the simulator's Ascend C headers: those of the checkout this package runs from, if any."""
    tree = CHECKOUT / "simulator" / "ascendc"
    if (tree / "include" / "kernel_operator.h").exists():
        return [tree / "include", tree, CHECKOUT / "include"]
    return [PACKAGE / "simulator" / "include"]


def cache_dir() -> Path:
    """Where built kernels are kept: ``$SALS_CACHE_DIR``, or the user's cache folder."""
    chosen = os.environ.get("SALS_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sals"


def build(
    source: str | Path,
    *,
    output: str | Path | None = None,
    include: Sequence[str | Path] = (),
    defines: Sequence[str] = (),
    flags: Sequence[str] = (),
    compiler: str = "g++",
) -> Path:
    """Compile a kernel source against the simulator's Ascend C headers.

    Parameters
    ----------
    source : path
        A C++ file that includes ``kernel_operator.h``.
    output : path, optional
        Where to put the library. By default it lies in a cache, and is compiled only if the source, a header,
        a flag or the compiler is new.
    include : sequence of paths
        Further folders of headers.
    defines : sequence of str
        Macros, as ``NAME`` or ``NAME=value``.
    flags : sequence of str
        Further flags of the compiler, which count over the usual ones: ``-O0`` compiles faster.
    compiler : str
        ``g++``, ``clang++`` or another compiler of C++17.

    Returns
    -------
    Path
        The library, for :func:`sals.simulator.launch`.

    Raises
    ------
    BuildError
        If the compiler is not there or refuses the source.
    """
    source = Path(source).resolve()
    if not source.is_file():
        raise FileNotFoundError(f"sals: there is no kernel source {source}")
    if shutil.which(compiler) is None:
        raise BuildError(f"sals: there is no compiler {compiler} to build {source.name} with")
    command = [compiler, *FLAGS]
    command += GCC_FLAGS if _is_gcc(compiler) else ()
    command += [*flags, *(f"-D{define}" for define in defines)]
    command += [f"-I{path}" for path in (*include, *include_dirs())]
    library = cache_dir() / "kernels" / f"{source.stem}-{_fingerprint(command, source)}.so"
    if not library.exists():
        _compile(command, source, library)
    if output is None:
        return library
    shutil.copyfile(library, output)
    return Path(output)


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"sals: {' '.join(command)}\n{done.stderr.strip()}")
    return done.stdout


def _is_gcc(compiler: str) -> bool:
    return "Free Software Foundation" in _run([compiler, "--version"])


def _fingerprint(command: Sequence[str], source: Path) -> str:
    """Name the compiler, the flags and everything the source includes."""
    digest = hashlib.sha256()
    for text in (_run([command[0], "--version"]), " ".join(command), _run([*command, "-E", str(source)])):
        digest.update(text.encode())
    return digest.hexdigest()[:16]


def _compile(command: Sequence[str], source: Path, library: Path) -> None:
    """Compile and link beside the target and move it there, so that nobody sees half a library."""
    library.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=library.parent, suffix=".so")
    os.close(handle)
    link = ["-shared", "-Wl,-z,defs", f"-L{PACKAGE}", "-lsals_sim", f"-Wl,-rpath,{PACKAGE}"]
    try:
        _run([*command, str(source), "-o", name, *link])
        os.replace(name, library)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
