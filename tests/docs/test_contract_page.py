# SPDX-License-Identifier: Apache-2.0
"""The contract's page quotes the headers' numbers."""

import re
from pathlib import Path

from sals import _contract

PAGE = Path(__file__).parents[2] / "docs/reference/contract.md"


def test_constants_are_those_of_the_headers():
    quoted = dict(re.findall(r"\b([A-Z]+(?:_[A-Z]+)+) = (\d+)", PAGE.read_text()))
    assert quoted == {name: str(getattr(_contract, name)) for name in quoted}
    assert len(quoted) == 6


def test_sizes_and_layouts_are_those_of_the_headers():
    text = PAGE.read_text()
    assert f"| block_size | {', '.join(map(str, _contract.BLOCK_SIZES))} |" in text
    assert f"| head_dim | {', '.join(map(str, _contract.HEAD_DIMS))} |" in text
    assert {*re.findall(r"^\| (\w*BS?N?S?D|PA_\w+) \|", text, re.MULTILINE)} == {*_contract.KV_LAYOUTS}
