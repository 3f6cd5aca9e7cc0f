# SPDX-License-Identifier: Apache-2.0
"""The ways to choose what a query reads (selectors) and what a cache keeps (evictors), by name.

A method is one file with one frozen dataclass; ``docs/how-to/add-a-method.md`` says what it has to define.

>>> from sals.methods import make_method
>>> make_method("h2o", budget=1024).recent
512
"""

from __future__ import annotations

import dataclasses
from typing import Any

from .dense import Dense
from .h2o import H2O
from .interface import Evictor, Method, Selector
from .oracle import Oracle
from .quest import Quest
from .random import RandomEviction
from .sals import Sals
from .sketch import Sketch
from .stca import Stca
from .streaming import Streaming
from .window import Window

__all__ = ["METHODS", "Evictor", "Method", "Selector", "make_method"]

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (Dense, Sals, Sketch, Quest, Oracle, Streaming, H2O, Stca, Window, RandomEviction)
}


def make_method(name: str, **settings: Any) -> Method:
    """Make a method by its name.

    Parameters
    ----------
    name : str
        One of `METHODS`.
    **settings
        The method's own fields, such as ``budget``.

    Raises
    ------
    ValueError
        If there is no such method or setting, or a setting is wrong.
    """
    if name not in METHODS:
        raise ValueError(f"sals.methods: method must be one of {', '.join(METHODS)}, got {name!r}")
    known = [field.name for field in dataclasses.fields(METHODS[name])]
    unknown = [setting for setting in settings if setting not in known]
    if unknown:
        raise ValueError(
            f"sals.methods: settings of {name} must be among {', '.join(known)}, got {', '.join(unknown)}"
        )
    return METHODS[name](**settings)
