# SPDX-License-Identifier: Apache-2.0
"""The cost model reproduces what the vendor measured. Modelled time repeats exactly: nothing is timed here."""

from __future__ import annotations

import pytest

from simulator.calibration import RUNS, Run

TOLERANCE = 0.15  # few constants, no adjustment per run; docs/explanation/cost-model.md says where it is off


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_published_run(run: Run) -> None:
    print(f"{run.name}: measured {run.measured:g} {run.unit}, modelled {run.model():.4g} ({run.error:+.1%})")
    assert abs(run.error) <= TOLERANCE
