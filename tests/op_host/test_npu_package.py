# SPDX-License-Identifier: Apache-2.0
"""Where the wheel's operator package is, and that CANN is told."""

import sys
import types
import warnings
from pathlib import Path

import pytest

from sals.npu_package import LIBRARY, VARIABLE, announce, package_folder


def test_a_package_is_found_by_its_library(tmp_path: Path) -> None:
    assert package_folder(tmp_path) is None
    library = tmp_path / "opp" / LIBRARY
    library.parent.mkdir(parents=True)
    library.write_text("")
    assert package_folder(tmp_path) == tmp_path / "opp"


def test_it_comes_before_other_packages_and_only_once() -> None:
    variables = {VARIABLE: "/others/a:/others/b:"}
    announce(Path("/sals/opp"), variables)
    announce(Path("/sals/opp"), variables)
    assert variables == {VARIABLE: "/sals/opp:/others/a:/others/b"}


def test_without_a_package_nothing_changes() -> None:
    variables: dict[str, str] = {}
    announce(None, variables)
    assert variables == {}


@pytest.mark.parametrize("variable", ("", "/sals/opp"))
@pytest.mark.parametrize("in_use", (False, True))
def test_a_package_that_comes_too_late_says_so(
    monkeypatch: pytest.MonkeyPatch, variable: str, in_use: bool
) -> None:
    """torch_npu may have been imported before; only an NPU that was used without the package is too late."""
    torch_npu = types.ModuleType("torch_npu")
    torch_npu.npu = types.SimpleNamespace(is_initialized=lambda: in_use)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch_npu", torch_npu)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        announce(Path("/sals/opp"), {VARIABLE: variable})
    assert bool(caught) is (in_use and not variable)
    for warning in caught:
        assert "an NPU was used before `import sals`" in str(warning.message)
        assert f"{VARIABLE}=/sals/opp" in str(warning.message)
