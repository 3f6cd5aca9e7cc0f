# SPDX-License-Identifier: Apache-2.0
"""The command ``sals check-cann``. What it needs is imported when it runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sals.cann_headers import Headers, Part

COMPILERS = ("g++", "clang++-15", "clang++")  # that are looked for, the second clang only without the first


def check_cann(
    path: Annotated[
        list[Path],
        typer.Argument(
            help="Toolkit (8.1); asc-devkit checkout (9.x), which takes a toolkit's CPU library; or the "
            "site-packages of an environment with torch_npu, for the binding."
        ),
    ],
    compiler: Annotated[
        list[str] | None, typer.Option(help="Host compiler; may be repeated. By default g++ and clang++.")
    ] = None,
    sources: Annotated[
        Path | None, typer.Option(help="Folder of the project; by default found from here or the package.")
    ] = None,
) -> None:
    """Compile the NPU sources against the headers of CANN toolkits, without output."""
    from sals.cann_headers import MissingLibraryError, MissingTreeError, find_headers, find_sources

    try:
        near = [Path.cwd(), Path(__file__).resolve().parent] if sources is None else [sources.resolve()]
        root = find_sources(near)
    except MissingTreeError as missing:
        raise typer.BadParameter(f"{missing}; name their folder with --sources") from missing
    trees = []
    for tree in path:
        try:
            trees.append(find_headers(tree.resolve(), path))
        except MissingTreeError as missing:
            typer.echo(f"skipped: {missing}")
        except MissingLibraryError as missing:
            raise typer.BadParameter(str(missing)) from missing
    compiled = [
        is_right for tree in trees for name in _compilers(compiler) for is_right in _check(tree, name, root)
    ]
    typer.echo(f"{len(compiled)} compiled, {compiled.count(False)} failed")
    if not all(compiled):
        raise typer.Exit(1)


def _compilers(given: list[str] | None) -> list[str]:
    wanted = list(given or COMPILERS)
    found = [name for name in wanted if shutil.which(name) is not None]
    missing = [name for name in given or () if name not in found]
    if missing or not found:
        raise typer.BadParameter(f"no compiler {', '.join(missing or wanted)} on PATH")
    clangs = [name for name in found if "clang" in name]
    return found if given else [name for name in found if name not in clangs[1:]]


def _check(headers: Headers, compiler: str, root: Path) -> Iterator[bool]:
    """Compile every source and say how it went."""
    from sals.cann_headers import compile_errors

    jobs = list(_sources(headers, root))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: compile_errors(job[1], job[0], compiler, root), jobs)
        for (part, source), errors in zip(jobs, results, strict=True):
            name = f"{source.relative_to(root)} ({part.name})"
            typer.echo(f"{name}: {'errors' if errors else 'OK'} ({headers.name}, {compiler})")
            typer.echo(errors, nl=False)
            yield not errors


def _sources(headers: Headers, root: Path) -> Iterator[tuple[Part, Path]]:
    from sals.cann_headers import source_files

    for part in headers.parts:
        for source in source_files(part, root):
            yield part, source
