# SPDX-License-Identifier: Apache-2.0
"""The contract's constants, as the headers in ``include/sals`` define them.

Every entry of ``sals._core.constants`` is an attribute of this module. Python never retypes one.
"""

from typing import Any

from sals._core import constants as _constants


def __getattr__(name: str) -> Any:
    """Return the constant that the contract's headers export as `name`."""
    if name in _constants:
        return _constants[name]
    raise AttributeError(f"the contract (include/sals) exports no constant {name!r}")


def __dir__() -> list[str]:
    """List the exported constants."""
    return sorted(_constants)
