# SPDX-License-Identifier: Apache-2.0
"""Python code in the README and the docs runs. A fence marked ``python notest`` needs what CI lacks."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^```python *(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def fences(page: Path) -> list[str]:
    return [code for mark, code in FENCE.findall(page.read_text()) if mark != "notest"]


@pytest.mark.parametrize("page", [p for p in PAGES if fences(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_code_runs(page):
    names: dict = {"__name__": "page"}
    for code in fences(page):
        exec(compile(code, str(page), "exec"), names)


LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not missing
