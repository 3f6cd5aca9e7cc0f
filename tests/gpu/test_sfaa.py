# SPDX-License-Identifier: Apache-2.0
"""Kernel two: against the float64 reference, and bit for bit with itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import builders
import calls
import operators
from cases import CORNER, CORRECTNESS, Case
from gpu.backends import Backend
from gpu.test_qsi import LONG, assert_same
from sals.reference import sfaa_exact
from tolerance import (
    LOGIT_BUCKETS,
    TWO_TERM_MAX,
    TWO_TERM_MEDIAN,
    assert_lse_close,
    assert_output_close,
    relative_l2,
)


def attend(backend: Backend, inputs: builders.Inputs, ids: np.ndarray, lens=None, **changes):
    """Output and LSE; without `lens` every list counts as empty for the division into splits."""
    call = {**operators.sfaa_call(inputs, ids), "return_lse": True, **changes}
    if lens is not None:
        call["selected_lens"] = lens
    return backend.run("sfaa", call)


def check(backend: Backend, inputs: builders.Inputs, ids: np.ndarray, lens=None) -> tuple:
    found = attend(backend, inputs, ids, lens)
    tensors, keywords = inputs.sfaa_args(ids, None)
    golden, golden_lse = sfaa_exact(*tensors, **keywords)
    assert found[0].dtype == operators.FLOATS[inputs.case.dtype]
    assert_output_close(operators.to_numpy(found[0]), golden, inputs.case.dtype)
    assert_lse_close(found[1].numpy(), golden_lse, builders.largest_logit(inputs))
    return found


def lists(inputs: builders.Inputs) -> tuple[np.ndarray, torch.Tensor]:
    ids, lens = calls.run("qsi", operators.qsi_call(inputs))
    return ids.numpy(), lens


@pytest.mark.parametrize("case", CORRECTNESS + CORNER, ids=lambda case: case.name)
def test_every_case(backend: Backend, case: Case) -> None:
    inputs = builders.build(case, seed=21)
    check(backend, inputs, *lists(inputs))


@pytest.mark.parametrize(
    "changes",
    [{}, {"static_scales": False}, {"layout": "PA_KV"},
     {"group": 12, "s_q": 4, "shared_list": True, "seq_lens": (5000, 3, 530)},
     {"head_dim": 128, "static_scales": False}, {"block_size": 8, "page_size": 8}, {"order": "score"}],
    ids=str,
)  # fmt: skip
def test_rows_of_several_splits(backend: Backend, changes: dict) -> None:
    inputs = builders.build(LONG.but(**changes), seed=22)
    ids, lens = lists(inputs)
    found = check(backend, inputs, ids, lens)
    assert_same(attend(backend, inputs, ids, lens), found)
    check(backend, inputs, ids)  # one split reads all, and another arithmetic order comes out


@pytest.mark.parametrize("static_scales", [True, False])
@pytest.mark.parametrize("heads", [None, 1])
def test_lists_with_holes_and_repeats(backend: Backend, heads: int | None, static_scales: bool) -> None:
    inputs = builders.build(Case("holes", static_scales=static_scales, seq_lens=(300, 5, 0, 90)), seed=23)
    ids = operators.random_lists(inputs, np.random.default_rng(24), 40, heads)
    found = check(backend, inputs, ids)
    packed = np.full((*ids.shape[:-1], 60), -1, np.int32)  # the same blocks with other holes
    for place in np.ndindex(*ids.shape[:-1]):
        kept = ids[place][ids[place] >= 0]
        packed[place][60 - len(kept) :] = kept
    assert_same(attend(backend, inputs, packed), found)


@pytest.mark.parametrize("bucket", LOGIT_BUCKETS)
@pytest.mark.parametrize("static_scales", [True, False])
def test_error_of_large_logits(backend: Backend, bucket: float, static_scales: bool) -> None:
    """Before rounding to the output: no larger than the two-term arithmetic of the other backends."""
    errors = []
    for seed in range(5):
        case = Case("logits", seq_lens=(400,), head_dim=128, dtype="float32", static_scales=static_scales)
        inputs = builders.build(case, seed, logit_bound=bucket)
        ids, lens = lists(inputs)
        tensors, keywords = inputs.sfaa_args(ids, None)
        golden, _ = sfaa_exact(*tensors, **keywords)
        errors.append(relative_l2(attend(backend, inputs, ids, lens)[0].numpy(), golden))
    assert np.median(errors) <= TWO_TERM_MEDIAN and max(errors) <= TWO_TERM_MAX, errors


@pytest.mark.cuda
@pytest.mark.parametrize("static_scales", [True, False])
def test_long_list_of_like_weights(device: Backend, static_scales: bool) -> None:
    """An average of random values is small: what the matrix units cut off large sums must not show in it."""
    case = Case(
        "flat", seq_lens=(40_000,), n_kv=1, head_dim=128, page_size=128, dtype="float32", keep_den=1,
        max_blocks=8192, static_scales=static_scales,
    )  # fmt: skip
    inputs = builders.build(case, seed=31, logit_bound=0.1)
    ids, lens = lists(inputs)
    tensors, keywords = inputs.sfaa_args(ids, None)
    golden, _ = sfaa_exact(*tensors, **keywords)
    assert relative_l2(attend(device, inputs, ids, lens)[0].numpy(), golden) <= TWO_TERM_MAX


@pytest.mark.parametrize("factor", [1e-25, 1e30])
def test_value_scales_of_any_size(backend: Backend, factor: float) -> None:
    """Scales that differ by many orders within a list neither vanish nor overflow in 16-bit weights."""
    case = Case("scales", seq_lens=(64,), n_kv=1, static_scales=False, keep_den=1, dtype="float32")
    inputs = builders.build(case, seed=25)
    inputs.value_scale *= np.where(np.arange(inputs.value_scale.size) % 2, 1e-3, 1.0).reshape(
        inputs.value_scale.shape
    ).astype(np.float32) * np.float32(factor)
    ids, lens = lists(inputs)
    tensors, keywords = inputs.sfaa_args(ids, None)
    golden, _ = sfaa_exact(*tensors, **keywords)
    assert (
        relative_l2(attend(backend, inputs, ids, lens)[0].numpy() / factor, golden / factor) <= TWO_TERM_MAX
    )


def test_zero_and_negative_value_scales(backend: Backend) -> None:
    inputs = builders.build(Case("signs", static_scales=False, keep_den=1), seed=26)
    inputs.value_scale[:, :, ::3] *= -1
    inputs.value_scale[:, :, 1::3] = 0
    check(backend, inputs, *lists(inputs))


def test_nan_reaches_the_rows_that_see_it(backend: Backend) -> None:
    inputs = builders.build(Case("nan", seq_lens=(64,), n_kv=1, static_scales=False, keep_den=1), seed=27)
    ids, lens = lists(inputs)
    page = inputs.block_table[0, 1]
    inputs.key_scale[page, 0, 3] = np.nan
    assert attend(backend, inputs, ids, lens)[0].isnan().all()


def test_places_and_neighbours_change_nothing(backend: Backend) -> None:
    inputs = builders.build(LONG.but(static_scales=False), seed=28)
    ids, lens = lists(inputs)
    expected = attend(backend, inputs, ids, lens)
    assert_same(attend(backend, operators.permute_pages(inputs, seed=29), ids, lens), expected)
    for request in range(inputs.case.batch):
        one = slice(request, request + 1)
        found = attend(backend, operators.request_slice(inputs, request), ids[one], lens[one])
        assert_same(found, [each[one] for each in expected])


def test_ids_and_pages_that_lead_outside(backend: Backend) -> None:
    """Ids outside the request are skipped, pages clamped."""
    inputs = builders.build(Case("outside", seq_lens=(200, 77)), seed=30)
    ids, lens = lists(inputs)
    wild = np.concatenate([ids, np.full_like(ids, 1 << 30), np.full_like(ids, -(1 << 31))], -1)
    assert_same(attend(backend, inputs, wild, lens), attend(backend, inputs, ids, lens))
    call = {**operators.sfaa_call(inputs, ids), "return_lse": True}
    call["block_table"] = call["block_table"] + (1 << 20)
    call["seq_lens"] = torch.tensor([1 << 30, -5], dtype=torch.int32)
    out, lse = backend.run("sfaa", call)
    assert out.isfinite().all() and out[1].eq(0).all() and lse[1].isneginf().all()
