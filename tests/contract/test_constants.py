# SPDX-License-Identifier: Apache-2.0
"""The constants that Python reads are those of the headers, complete and consistent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sals import _contract

HEADERS = Path(__file__).resolve().parents[2] / "include" / "sals"
PLAN_HEADER = (HEADERS / "plan.h").read_text()


def test_every_public_number_of_the_headers_is_exported() -> None:
    pattern = re.compile(r"^inline constexpr int(?:32|64)_t\s+([A-Z0-9_]+)\s*=", re.MULTILINE)
    names = {name for header in HEADERS.glob("*.h") for name in pattern.findall(header.read_text())}
    assert len(names) > 20
    assert names <= set(dir(_contract))


def test_plan_fields_are_the_struct_in_order_without_gaps() -> None:
    struct = re.search(r"struct Plan \{(.*?)\n\};", PLAN_HEADER, re.DOTALL)
    assert struct
    members = re.findall(r"^\s*int32_t (\w+)", struct[1], re.MULTILINE)
    fields = _contract.PLAN_FIELDS
    assert [name for name in members if name not in ("reserved", "unused")] == list(fields)
    position = 0
    for name, (first, words) in fields.items():
        assert first == position or name == "row_begin", name  # reserved words end the header
        position = first + words
    assert position <= _contract.PLAN_WORDS


def test_array_fields_have_room_for_every_core() -> None:
    words = {name: count for name, (_, count) in _contract.PLAN_FIELDS.items()}
    assert words["row_begin"] == words["tile_begin"] == _contract.MAX_CORES + 1
    assert words["merge_row"] == words["merge_first_slot"] == words["merge_num_parts"] == _contract.MAX_CORES
    assert words["merge_unit_begin"] == 2 * _contract.MAX_CORES + 1


def test_numbers_fixed_for_ever() -> None:
    assert _contract.KV_LAYOUTS == {"BSND": 0, "PA_BSND": 1, "PA_BNSD": 2, "PA_NZ": 3, "PA_KV": 4}
    assert _contract.QUERY_LAYOUTS == {"BSND": 0, "TND": 1}
    assert _contract.SELECTION_ORDERS == {"index": 0, "score": 1}
    assert (_contract.PLAN_OP_QSI, _contract.PLAN_OP_SFAA) == (1, 2)


def test_supported_sizes() -> None:
    assert _contract.BLOCK_SIZES == (8, 16, 32, 64, 128)
    assert _contract.HEAD_DIMS == (64, 80, 96, 128, 192, 256)
    for size in _contract.BLOCK_SIZES:
        assert _contract.QSI_TILE_TOKENS % size == 0
        assert max(_contract.SFAA_TILE_TOKENS, size) % min(_contract.SFAA_TILE_TOKENS, size) == 0


def test_an_unknown_constant_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NO_SUCH_CONSTANT"):
        _ = _contract.NO_SUCH_CONSTANT
