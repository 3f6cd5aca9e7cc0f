# SPDX-License-Identifier: Apache-2.0
"""English text that is on every machine with CPython: the language reference behind ``help()``."""

from __future__ import annotations

from pydoc_data.topics import topics


def pydoc_text() -> str:
    """Return the topics of ``pydoc`` as one text, in alphabetical order.

    About 465,000 characters (113,000 tokens of SmolLM2) on CPython 3.11. The wording depends on the version
    of CPython, so figures measured on it name that version.
    """
    return "\n\n".join(topics[name].strip() for name in sorted(topics))
