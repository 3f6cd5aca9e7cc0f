# SPDX-License-Identifier: Apache-2.0
"""The lane of `make test-npu`. Without the simulated runtime nothing here is collected."""

from __future__ import annotations

import pytest

from sals import simulated_runtime

if simulated_runtime.folder() is None:
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/npu/" in item.path.as_posix():
            item.add_marker(pytest.mark.npu)
