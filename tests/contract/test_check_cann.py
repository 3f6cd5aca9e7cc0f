# SPDX-License-Identifier: Apache-2.0
"""The check of NPU sources against a toolkit: what it takes for one, and what it says otherwise."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sals.cann_headers import (
    CPU_LIB,
    SOURCES,
    Headers,
    MissingLibraryError,
    MissingTreeError,
    Part,
    find_headers,
    find_sources,
    source_files,
)
from sals.cli import app

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
    headers = find_headers(make_toolkit(tmp_path))
    kernels = part(headers, "kernels")
    assert kernels.include[0] == tmp_path / CPU_LIB
    assert tmp_path / "aarch64-linux/include" in kernels.include
    assert tmp_path / "aarch64-linux/include/aicpu" in part(headers, "AI CPU tasks").include


def test_asc_devkit_borrows_the_library_of_a_toolkit(tmp_path):
    tree, toolkit = make_asc_devkit(tmp_path / "devkit"), make_toolkit(tmp_path / "toolkit")
    headers = find_headers(tree, [tree, toolkit])
    assert [part.name for part in headers.parts] == ["kernels"]
    assert headers.parts[0].include[-1] == toolkit / CPU_LIB
    with pytest.raises(MissingLibraryError, match="name a toolkit, too"):
        find_headers(tree, [tree])


def test_an_environment_with_torch_npu_is_recognised(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/version.py").write_text("__version__ = '2.13.0+cpu'\n")
    (tmp_path / "torch_npu/include").mkdir(parents=True)
    binding = part(find_headers(tmp_path), "binding")
    assert binding.defines == ("CURRENT_VERSION=V2R13",)
    assert tmp_path / "torch_npu/include/third_party/acl/inc" in binding.include
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "python/csrc/npu").glob("*.cpp")}
    assert {path.relative_to(ROOT).as_posix() for path in source_files(binding, ROOT)} == sources != set()


def check_cann(*arguments: object):
    return CliRunner().invoke(app, ["check-cann", *map(str, arguments)])


def test_a_folder_without_headers_is_skipped(tmp_path):
    result = check_cann(tmp_path / "nothing")
    assert result.exit_code == 0
    assert f"skipped: no toolkit at {tmp_path / 'nothing'}: neither" in result.output
    assert "0 compiled" in result.output


def test_asc_devkit_alone_is_an_error(tmp_path):
    result = check_cann(make_asc_devkit(tmp_path))
    assert result.exit_code == 2


def test_a_compiler_that_is_not_there_is_an_error(tmp_path):
    result = check_cann(make_toolkit(tmp_path), "--compiler", "no-compiler-at-all")
    assert result.exit_code == 2


def make_sources(root: Path, kernel: str) -> Path:
    for name in SOURCES:
        (root / name).mkdir(parents=True)
    (root / "op_kernel/one").mkdir()
    (root / "op_kernel/one/one.cpp").write_text(kernel)
    return root


@pytest.mark.parametrize(
    ("kernel", "code", "said"),
    [("int one;", 0, "1 compiled, 0 failed"), ("int one", 1, "1 compiled, 1 failed")],
)
def test_every_source_is_compiled(tmp_path, kernel, code, said):
    toolkit, sources = make_toolkit(tmp_path / "toolkit"), make_sources(tmp_path / "sources", kernel)
    result = check_cann(toolkit, "--sources", sources, "--compiler", "g++")
    assert (result.exit_code, said in result.output) == (code, True), result.output


def test_sources_are_found_from_a_folder_below(tmp_path):
    sources = make_sources(tmp_path, "")
    assert find_sources([sources / "op_kernel/one"]) == sources
    with pytest.raises(MissingTreeError, match="no sources of sals"):
        find_sources([tmp_path.parent])


def names(headers: Headers, part_name: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in source_files(part(headers, part_name), ROOT)}


def test_no_source_is_left_out(tmp_path):
    headers = find_headers(make_toolkit(tmp_path))
    assert {f"op_kernel/{name}/{name}.cpp" for name in ("qsi", "sfaa")} <= names(headers, "kernels")
    everything = {path.relative_to(ROOT).as_posix() for path in (ROOT / "op_host").rglob("*.cpp")}
    assert names(headers, "host") == everything
    registrations = {name for name in everything if name.endswith("/def.cpp")}
    assert names(headers, "tiling library") == names(headers, "graph library") == registrations != set()
    assert "aicpu_tiling/aicpu/plan_task.cpp" in names(headers, "AI CPU tasks")


@pytest.mark.skipif("SALS_CANN" not in os.environ, reason="SALS_CANN names no toolkit")
def test_sources_compile_against_the_toolkit():
    result = check_cann(os.environ["SALS_CANN"])
    assert result.exit_code == 0, result.output
