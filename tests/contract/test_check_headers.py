# SPDX-License-Identifier: Apache-2.0
"""The check of kernel sources against a toolkit: what it takes for one, and what it says otherwise."""

import os
from pathlib import Path

import pytest

from tools.check_headers import CPU_LIB, MissingTree, entry_files, find_headers, main


def make_toolkit(root: Path) -> Path:
    (root / "aarch64-linux/ascendc/include/basic_api").mkdir(parents=True)
    (root / CPU_LIB).mkdir(parents=True)
    return root


def make_asc_devkit(root: Path) -> Path:
    header = root / "include/basic_api/kernel_basic_intf.h"
    header.parent.mkdir(parents=True)
    header.write_text("")
    return root


def test_an_installed_toolkit_is_recognised(tmp_path):
    headers = find_headers(make_toolkit(tmp_path), None)
    assert headers.include[0] == tmp_path / CPU_LIB
    assert tmp_path / "aarch64-linux/include" in headers.include


def test_asc_devkit_borrows_the_library_of_a_toolkit(tmp_path):
    tree, toolkit = make_asc_devkit(tmp_path / "devkit"), make_toolkit(tmp_path / "toolkit")
    headers = find_headers(tree, toolkit)
    assert headers.include[-1] == toolkit / CPU_LIB
    with pytest.raises(MissingTree, match="--cpu-lib"):
        find_headers(tree, None)


def test_a_folder_without_headers_is_refused(tmp_path, capsys):
    assert main(["--cann", str(tmp_path)]) == 2
    assert "holds neither a toolkit" in capsys.readouterr().err


def test_every_kernel_has_an_entry_file():
    kernels = ("project_query", "qsi", "sfaa", "write_cache")
    assert {path.name for path in entry_files()} == {f"{name}.cpp" for name in kernels}


@pytest.mark.skipif("SALS_CANN" not in os.environ, reason="SALS_CANN names no toolkit")
def test_kernels_compile_against_the_toolkit():
    assert main(["--cann", os.environ["SALS_CANN"]]) == 0
