# SPDX-License-Identifier: Apache-2.0
"""The error of the two-term arithmetic, and of the fp16-residual one, by the size of the logits."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import builders
from cases import Case
from sals.reference import sfaa_exact, sfaa_fp16_residual, sfaa_two_term
from tolerance import (
    FP16_RATIO_BOUND,
    FP16_RATIO_HIGH,
    FP16_RATIO_LOW,
    LOGIT_BUCKETS,
    TWO_TERM_MAX,
    TWO_TERM_MEDIAN,
    relative_l2,
)

SEEDS = 20


@functools.cache
def errors(attention, logit_bound: float, static_scales: bool) -> list[float]:
    """Relative L2 errors against float64 of attention over the whole context, one a seed."""
    case = Case(
        "numerics", seq_lens=(2560,), n_kv=1, head_dim=128, page_size=256, static_scales=static_scales
    )
    found = []
    for seed in range(SEEDS):
        inputs = builders.build(case, seed, logit_bound)
        tensors, keywords = inputs.sfaa_args(builders.all_blocks(inputs), None)
        golden, _ = sfaa_exact(*tensors, **keywords)
        found.append(relative_l2(attention(*tensors, **keywords)[0], golden))
    return found


@pytest.mark.parametrize("static_scales", [True, False])
@pytest.mark.parametrize("logit_bound", LOGIT_BUCKETS)
def test_two_term_error(logit_bound, static_scales):
    found = errors(sfaa_two_term, logit_bound, static_scales)
    assert np.median(found) <= TWO_TERM_MEDIAN
    assert max(found) <= TWO_TERM_MAX


@pytest.mark.parametrize("logit_bound", LOGIT_BUCKETS)
def test_fp16_residuals_are_worse(logit_bound):
    fp16 = np.median(errors(sfaa_fp16_residual, logit_bound, True))
    two_term = np.median(errors(sfaa_two_term, logit_bound, True))
    assert fp16 / two_term >= (FP16_RATIO_LOW if logit_bound <= FP16_RATIO_BOUND else FP16_RATIO_HIGH)


def test_fp16_residuals_need_static_scales():
    inputs = builders.build(Case("per-token", static_scales=False), seed=0)
    tensors, keywords = inputs.sfaa_args(builders.all_blocks(inputs), None)
    with pytest.raises(ValueError, match="must be static"):
        sfaa_fp16_residual(*tensors, **keywords)
