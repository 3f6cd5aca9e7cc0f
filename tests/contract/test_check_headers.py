# SPDX-License-Identifier: Apache-2.0
"""The check of NPU sources against a toolkit: what it takes for one, and what it says otherwise."""

import os
from pathlib import Path

import pytest

from tools.check_headers import CPU_LIB, Headers, MissingTree, Part, find_headers, main, source_files

ROOT = Path(__file__).resolve().parents[2]


def make_toolkit(root: Path) -> Path:
    (root / "aarch64-linux/ascendc/include/basic_api").mkdir(parents=True)
    (root / CPU_LIB).mkdir(parents=True)
    return root


def make_asc_devkit(root: Path) -> Path:
    header = root / "include/basic_api/kernel_basic_intf.h"
    header.parent.mkdir(parents=True)
    header.write_text("")
    return root


def part(headers: Headers, name: str) -> Part:
    (found,) = [part for part in headers.parts if part.name == name]
    return found


def test_an_installed_toolkit_is_recognised(tmp_path):
    headers = find_headers(make_toolkit(tmp_path), None)
    kernels = part(headers, "kernels")
    assert kernels.include[0] == tmp_path / CPU_LIB
    assert tmp_path / "aarch64-linux/include" in kernels.include
    assert tmp_path / "aarch64-linux/include/aicpu" in part(headers, "AI CPU tasks").include


def test_asc_devkit_borrows_the_library_of_a_toolkit(tmp_path):
    tree, toolkit = make_asc_devkit(tmp_path / "devkit"), make_toolkit(tmp_path / "toolkit")
    headers = find_headers(tree, toolkit)
    assert [part.name for part in headers.parts] == ["kernels"]
    assert headers.parts[0].include[-1] == toolkit / CPU_LIB
    with pytest.raises(MissingTree, match="--cpu-lib"):
        find_headers(tree, None)


def test_a_folder_without_headers_is_refused(tmp_path, capsys):
    assert main(["--cann", str(tmp_path)]) == 2
    assert "holds neither a toolkit" in capsys.readouterr().err


def names(headers: Headers, part_name: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in source_files(part(headers, part_name))}


def test_no_source_is_left_out(tmp_path):
    headers = find_headers(make_toolkit(tmp_path), None)
    assert {f"op_kernel/{name}/{name}.cpp" for name in ("qsi", "sfaa")} <= names(headers, "kernels")
    everything = {path.relative_to(ROOT).as_posix() for path in (ROOT / "op_host").rglob("*.cpp")}
    assert names(headers, "host") == everything
    registrations = {name for name in everything if name.endswith("/def.cpp")}
    assert names(headers, "tiling library") == names(headers, "graph library") == registrations != set()
    assert "aicpu_tiling/aicpu/plan_task.cpp" in names(headers, "AI CPU tasks")


@pytest.mark.skipif("SALS_CANN" not in os.environ, reason="SALS_CANN names no toolkit")
def test_sources_compile_against_the_toolkit():
    assert main(["--cann", os.environ["SALS_CANN"]]) == 0
