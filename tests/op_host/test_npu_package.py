# SPDX-License-Identifier: Apache-2.0
"""Where the wheel's operator package is, and that CANN is told."""

from pathlib import Path

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
