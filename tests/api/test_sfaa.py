# SPDX-License-Identifier: Apache-2.0
"""Sparse attention on CPU: against its arithmetic in NumPy, against float64, and bit for bit with itself."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
import torch

import builders
import operators
from cases import CORNER, CORRECTNESS, LAYOUTS, Case
from operators import ops
from sals._contract import INVALID_BLOCK, MAX_CORES, PLAN_FIELDS
from sals.reference import layouts, sfaa_exact, sfaa_fp16_residual, sfaa_two_term
from sals.reference.plan import PlanView, sfaa_by_plan
from tolerance import (
    FP16_RATIO_BOUND,
    FP16_RATIO_HIGH,
    FP16_RATIO_LOW,
    LOGIT_BUCKETS,
    PIECES_RELATIVE,
    TWO_TERM_MAX,
    TWO_TERM_MEDIAN,
    assert_lse_close,
    assert_output_close,
    assert_same_arithmetic,
    assert_same_lse,
    relative_l2,
)

EVERY_CASE = CORRECTNESS + CORNER


def reference(attention, inputs: builders.Inputs, block_ids: np.ndarray, **changes):
    tensors, keywords = inputs.sfaa_args(block_ids, None)
    return attention(*tensors, **{**keywords, **changes})


def assert_bits_equal(actual, expected, message: str = "") -> None:
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(a.view(np.int32), b.view(np.int32), err_msg=message)


def assert_two_term(inputs: builders.Inputs, block_ids: np.ndarray, **changes) -> None:
    """Float32 results agree with the two-term reference, and the case's dtype is their rounding."""
    out, lse = operators.sfaa(inputs, block_ids, "float32", **changes)
    expected_out, expected_lse = reference(sfaa_two_term, inputs, block_ids)
    largest_logit = builders.largest_logit(inputs)
    assert_same_arithmetic(out, expected_out, operators.largest_value(inputs), largest_logit)
    assert_same_lse(lse, expected_lse, largest_logit)
    rounded, same_lse = operators.sfaa(inputs, block_ids, **changes)
    assert_bits_equal((rounded, same_lse), (builders.round_to(out, inputs.case.dtype), lse))


@pytest.mark.sanitize
@pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)
def test_against_both_references(case):
    inputs = builders.build(case, seed=40)
    block_ids, _ = operators.qsi(inputs)
    assert_two_term(inputs, block_ids)
    out, lse = operators.sfaa(inputs, block_ids)
    golden, golden_lse = reference(sfaa_exact, inputs, block_ids)
    assert_output_close(out, golden, case.dtype)
    assert_lse_close(lse, golden_lse, builders.largest_logit(inputs))


LISTS = (
    Case("lists", seq_lens=(200, 77, 0, 333)),
    Case("lists-per-token-scales", seq_lens=(200, 77, 0, 333), static_scales=False, layout="PA_KV"),
    Case("lists-mtp", seq_lens=(200, 2, 0, 333), s_q=4, query_lens=(4, 3, 2, 0), layout="PA_NZ"),
    Case("lists-not-causal", seq_lens=(200, 2, 0, 333), s_q=4, causal=False, layout="BSND"),
    Case("lists-tnd", seq_lens=(200, 77, 0, 333), query_layout="TND", query_lens=(3, 1, 0, 2)),
    Case("lists-block-8", seq_lens=(200, 77, 0, 333), block_size=8, layout="PA_BSND", group=3),
    Case("lists-block-128", seq_lens=(200, 77, 0, 333), block_size=128, page_size=256, head_dim=256),
)


@pytest.mark.sanitize
@pytest.mark.parametrize("heads", [None, 1], ids=["per-head", "one-list"])
@pytest.mark.parametrize("case", LISTS, ids=lambda case: case.name)
def test_holes_repeats_and_partial_blocks_anywhere(case, heads):
    rng = np.random.default_rng(41)
    inputs = builders.build(case, seed=41)
    for width in (0, 1, 7, 40):
        block_ids = operators.random_lists(inputs, rng, width, heads)
        assert_two_term(inputs, block_ids)


def test_rows_without_tokens():
    """Empty requests, empty lists and lists of -1 give zeros and an LSE of -inf, and only they do."""
    inputs = builders.build(Case("empty", seq_lens=(64, 0, -1, 64)), seed=42)
    ids = np.array([[0, 1, 2, 3], [-1] * 4, [-1] * 4, [-1] * 4], np.int32).reshape(4, 1, 1, 4)
    out, lse = operators.sfaa(inputs, ids)
    assert not out[1:].any() and np.isneginf(lse[1:]).all()
    assert out[0].any(axis=-1).all() and np.isfinite(lse[0]).all()
    out, lse = operators.sfaa(inputs, ids[..., :0])
    assert not out.any() and np.isneginf(lse).all()


def test_a_repeated_id_counts_as_often_as_it_is_listed():
    inputs = builders.build(Case("repeat", seq_lens=(64,), dtype="float32"), seed=43)
    once, lse_once = operators.sfaa(inputs, np.array([[[[1]]]]))
    twice, lse_twice = operators.sfaa(inputs, np.array([[[[1, -1, 1]]]]))
    np.testing.assert_allclose(twice, once, rtol=1e-5, atol=1e-6)  # integer sums double; one division
    np.testing.assert_allclose(lse_twice, lse_once + math.log(2), rtol=0, atol=4 * np.spacing(lse_once.max()))


def test_selected_lens_change_nothing():
    inputs = builders.build(Case("balance", seq_lens=(4000, 100), page_size=64), seed=44)
    block_ids, selected_lens = operators.qsi(inputs)
    expected = operators.sfaa(inputs, block_ids)
    for lens in (selected_lens, np.full_like(selected_lens, -7), np.full_like(selected_lens, 2**31 - 1)):
        assert_bits_equal(operators.sfaa(inputs, block_ids, selected_lens=torch.from_numpy(lens)), expected)


def test_lse_is_empty_unless_asked_for():
    inputs = builders.build(Case("no-lse"), seed=45)
    call = operators.sfaa_call(inputs, builders.all_blocks(inputs))
    out, lse = ops.sfaa(**call)
    assert lse.shape == (0,) and lse.dtype == torch.float32
    np.testing.assert_array_equal(
        operators.to_numpy(out), operators.sfaa(inputs, builders.all_blocks(inputs))[0]
    )


def test_out_form_writes_every_element():
    inputs = builders.build(Case("out", seq_lens=(100, 0, 40)), seed=46)
    call = operators.sfaa_call(inputs, builders.all_blocks(inputs))
    expected_out, expected_lse = ops.sfaa(**call, return_lse=True)
    out, lse = torch.full_like(expected_out, 9.0), torch.full_like(expected_lse, 9.0)
    returned = ops.sfaa.out(**call, return_lse=True, out=out, lse=lse)
    assert returned[0] is out and returned[1] is lse
    assert torch.equal(out, expected_out) and torch.equal(lse, expected_lse)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_strided_arguments(layout):
    inputs = builders.build(Case("strided", layout=layout, s_q=2, static_scales=False), seed=47)
    block_ids, _ = operators.qsi(inputs)
    call = operators.sfaa_call(inputs, block_ids)
    for name in ("query", "block_ids", "selected_lens", "seq_lens", "block_table"):
        if call[name] is not None:
            wide = torch.full((*call[name].shape, 2), 99, dtype=call[name].dtype)
            wide[..., 1] = call[name]
            call[name] = wide[..., 1]
    out, lse = ops.sfaa(**call, return_lse=True)
    assert out.is_contiguous()
    assert_bits_equal((operators.to_numpy(out), lse.numpy()), operators.sfaa(inputs, block_ids))


def test_rows_behind_the_last_ragged_request_are_padding():
    inputs = builders.build(Case("tail", query_layout="TND", query_lens=(2, 1, 0, 3)), seed=48)
    block_ids, _ = operators.qsi(inputs)
    whole = operators.sfaa(inputs, block_ids)
    inputs.query = np.concatenate([inputs.query, inputs.query[:3]])
    padded_ids = np.concatenate([block_ids, np.full_like(block_ids[:3], 5)])
    for plan in (None, operators.sfaa_plan(inputs, num_cores=3)):
        out, lse = operators.sfaa(inputs, padded_ids, plan=plan)
        np.testing.assert_allclose(out[:6], whole[0], rtol=2**-7)  # a plan may move a bfloat16 tie
        assert not out[6:].any() and np.isneginf(lse[6:]).all()


# ---- numbers ---------------------------------------------------------------------------------------------


@functools.cache
def errors(attention: str, logit_bound: float, static_scales: bool) -> list[float]:
    """Relative L2 errors against float64 of attention over the whole context, one a seed."""
    case = Case(
        "numerics", seq_lens=(2560,), n_kv=1, head_dim=128, page_size=256, static_scales=static_scales
    )
    found = []
    for seed in range(20):
        inputs = builders.build(case, seed, logit_bound)
        ids = builders.all_blocks(inputs)
        golden, _ = reference(sfaa_exact, inputs, ids)
        if attention == "operator":
            out, _ = operators.sfaa(inputs, ids, "float32")
        else:
            out, _ = reference(sfaa_fp16_residual, inputs, ids)
        found.append(relative_l2(out, golden))
    return found


@pytest.mark.parametrize("static_scales", [True, False], ids=["static", "per-token"])
@pytest.mark.parametrize("logit_bound", LOGIT_BUCKETS)
def test_error_before_output_rounding(logit_bound, static_scales):
    found = errors("operator", logit_bound, static_scales)
    print(f"relative L2, |logit| <= {logit_bound}: median {np.median(found):.2e}, max {max(found):.2e}")
    assert np.median(found) <= TWO_TERM_MEDIAN
    assert max(found) <= TWO_TERM_MAX


@pytest.mark.parametrize("logit_bound", LOGIT_BUCKETS)
def test_error_is_far_below_that_of_fp16_residuals(logit_bound):
    ratio = np.median(errors("fp16", logit_bound, True)) / np.median(errors("operator", logit_bound, True))
    assert ratio >= (FP16_RATIO_LOW if logit_bound <= FP16_RATIO_BOUND else FP16_RATIO_HIGH)


@pytest.mark.parametrize("logit_bound", LOGIT_BUCKETS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_rounded_output(dtype, logit_bound):
    case = Case("rounded", seq_lens=(2560,), n_kv=1, head_dim=128, page_size=256, dtype=dtype)
    inputs = builders.build(case, 49, logit_bound)
    ids = builders.all_blocks(inputs)
    golden, golden_lse = reference(sfaa_exact, inputs, ids)
    out, lse = operators.sfaa(inputs, ids)
    assert_output_close(out, golden, dtype)
    assert_lse_close(lse, golden_lse, builders.largest_logit(inputs))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_query_that_is_not_finite_spoils_its_own_row_only(bad):
    inputs = builders.build(Case("bad-query", s_q=2), seed=50)
    ids = builders.all_blocks(inputs)
    clean = operators.sfaa(inputs, ids)
    inputs.query[1, 1, 3, 5] = bad
    out, lse = operators.sfaa(inputs, ids)
    assert np.isnan(out[1, 1, 3]).all() and np.isnan(lse[1, 1, 3])
    spoiled = np.zeros(lse.shape, bool)
    spoiled[1, 1, 3] = True
    assert_bits_equal((out[~spoiled], lse[~spoiled]), (clean[0][~spoiled], clean[1][~spoiled]))


@pytest.mark.parametrize("which", ["key_scale", "value_scale"])
@pytest.mark.parametrize("static_scales", [True, False], ids=["static", "per-token"])
def test_a_nan_scale_spoils_what_reads_it_only(static_scales, which):
    """NaN appears where float64 has it, and nowhere else."""
    inputs = builders.build(Case("bad-scale", static_scales=static_scales, seq_lens=(100, 50)), seed=51)
    ids = builders.all_blocks(inputs)
    clean = operators.sfaa(inputs, ids)
    scale = getattr(inputs, which)
    if static_scales:
        scale[1, 7] = np.nan
    else:
        scale[inputs.block_table[0, 1], 1, 3] = np.nan
    golden, golden_lse = reference(sfaa_exact, inputs, ids)
    out, lse = operators.sfaa(inputs, ids)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(golden))
    np.testing.assert_array_equal(np.isnan(lse), np.isnan(golden_lse))
    kept = ~np.isnan(golden)
    np.testing.assert_array_equal(out[kept], clean[0][kept])


@pytest.mark.sanitize
@pytest.mark.parametrize("length", [1, 2, 9, 16, 129])
@pytest.mark.parametrize("spoilt", ["every key", "newest key"])
def test_a_key_scale_that_is_not_finite_shows(length, spoilt):
    inputs = builders.build(Case("nan-keys", static_scales=False, seq_lens=(length,), n_kv=1), seed=57)
    ids = builders.all_blocks(inputs)
    page, offset = divmod(length - 1, inputs.case.page_size)
    inputs.key_scale[inputs.block_table[0, page], 0, offset] = np.nan
    if spoilt == "every key":
        inputs.key_scale[:] = np.nan
    out, lse = operators.sfaa(inputs, ids)
    assert np.isnan(out).all() and np.isnan(lse).all()


@pytest.mark.sanitize
@pytest.mark.parametrize("scale", [1e6, 1.0], ids=["its factor", "its logits"])
def test_a_query_that_overflows_shows(scale):
    inputs = builders.build(Case("overflow", seq_lens=(40,), dtype="float32"), seed=58)
    inputs.query[0, 0, 3] = 1e38
    inputs.scale = scale
    out, _ = operators.sfaa(inputs, builders.all_blocks(inputs))
    assert np.isnan(out[0, 0, 3]).all() and np.isfinite(np.delete(out[0, 0], 3, axis=0)).all()


def test_scales_of_tokens_that_are_not_seen_are_not_read():
    """The builders put NaN there; a partial last block reads only its visible tokens."""
    case = Case("unseen", seq_lens=(17, 33, 1), static_scales=False, page_size=16, s_q=2)
    inputs = builders.build(case, seed=52)
    out, lse = operators.sfaa(inputs, builders.all_blocks(inputs))
    assert np.isfinite(out).all() and not np.isnan(lse).any()


def test_zero_query_and_zero_scales():
    inputs = builders.build(Case("zero", seq_lens=(100,), dtype="float32"), seed=53)
    ids = builders.all_blocks(inputs)
    inputs.query[:] = 0
    golden, _ = reference(sfaa_exact, inputs, ids)
    out, lse = operators.sfaa(inputs, ids)
    np.testing.assert_allclose(lse, math.log(100), rtol=1e-6)
    np.testing.assert_allclose(out, golden, rtol=1e-5, atol=1e-6)
    inputs.value_scale[:] = 0
    assert not operators.sfaa(inputs, ids)[0].any()


# ---- bit for bit -----------------------------------------------------------------------------------------

LONG = {"seq_lens": (5000, 0, 300, 9000, 40), "page_size": 64, "group": 2, "keep_num": 1, "keep_den": 1}


@functools.cache
def long_case(static_scales: bool = True, **changes):
    """A ragged batch whose rows are cut into pieces, its lists, and its results."""
    inputs = builders.build(Case("long", **LONG, static_scales=static_scales, **changes), seed=54)
    block_ids, _ = operators.qsi(inputs)
    return inputs, block_ids, operators.sfaa(inputs, block_ids)


def test_twenty_repeats():
    inputs, block_ids, expected = long_case()
    for _ in range(20):
        assert_bits_equal(operators.sfaa(inputs, block_ids), expected)


@pytest.mark.parametrize("static_scales", [True, False])
def test_page_places_change_nothing(static_scales):
    inputs, block_ids, expected = long_case(static_scales)
    for seed in range(3):
        assert_bits_equal(operators.sfaa(operators.permute_pages(inputs, seed), block_ids), expected)


def test_batch_slices_change_nothing_without_a_plan():
    inputs, block_ids, expected = long_case(s_q=2)
    for request in range(inputs.case.batch):
        one = slice(request, request + 1)
        alone = operators.sfaa(operators.request_slice(inputs, request), block_ids[one])
        assert_bits_equal(alone, [result[one] for result in expected], f"request {request}")


@pytest.mark.parametrize("shared_list", [False, True])
def test_the_width_of_a_list_changes_nothing(shared_list):
    """A longer neighbour widens every list of the batch; what it adds to a row is -1."""
    case = Case("wide", seq_lens=(20_000,), n_kv=1, s_q=40 if shared_list else 1, shared_list=shared_list)
    inputs = builders.build(case, seed=56)
    block_ids = builders.all_blocks(inputs)
    padding = np.full((*block_ids.shape[:-1], 6000), INVALID_BLOCK, block_ids.dtype)
    wide = np.concatenate([block_ids, padding], axis=-1)
    assert_bits_equal(operators.sfaa(inputs, wide), operators.sfaa(inputs, block_ids))


@pytest.mark.parametrize("num_cores", [None, 1, 7, 64])
def test_thread_counts_change_nothing(num_cores):
    inputs, block_ids, _ = long_case()
    plan = None if num_cores is None else operators.sfaa_plan(inputs, num_cores=num_cores)
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(operators.sfaa(inputs, block_ids, plan=plan))
    finally:
        torch.set_num_threads(threads)
    for other in results[1:]:
        assert_bits_equal(other, results[0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_change_nothing(layout):
    """The same rows and scales give the same bits in any layout."""
    results = []
    for chosen in ("BSND", layout):
        inputs = builders.build(Case("same-name", layout=chosen), seed=55)
        rng = np.random.default_rng(55)
        for cache, component in ((inputs.key_cache, layouts.KEY), (inputs.value_cache, layouts.VALUE)):
            dense = rng.integers(-127, 128, (4, 333, 2, 64)).astype(np.int8)
            target = inputs.key_cache if cache is None else cache
            layouts.fill_cache(target, chosen, inputs.block_table, dense, inputs.seq_lens, component)
        inputs.query = builders.round_to(rng.standard_normal(inputs.query.shape), "bfloat16")
        inputs.key_scale = inputs.value_scale = rng.uniform(0.005, 0.02, (2, 64)).astype(np.float32)
        results.append(operators.sfaa(inputs, builders.all_blocks(inputs)))
    assert_bits_equal(*results)


# ---- plans -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("static_scales", [True, False])
@pytest.mark.parametrize("num_cores", [1, 2, 5, 20, 24, 64])
def test_a_plan_cuts_rows_as_the_reference_does(num_cores, static_scales):
    inputs, block_ids, unplanned = long_case(static_scales)
    plan = operators.sfaa_plan(inputs, num_cores=num_cores)
    out, lse = operators.sfaa(inputs, block_ids, "float32", plan=plan)
    tensors, keywords = inputs.sfaa_args(block_ids, None)
    expected, expected_lse = sfaa_by_plan(plan.numpy(), *tensors, **keywords)
    largest_logit = builders.largest_logit(inputs)
    assert_same_arithmetic(out, expected, operators.largest_value(inputs), largest_logit)
    assert_same_lse(lse, expected_lse, largest_logit)
    again = operators.sfaa(inputs, block_ids, "float32", plan=plan.clone())
    assert_bits_equal(again, (out, lse))


def hostile_plan(plan: torch.Tensor, rng: np.random.Generator, rows: int, far: int) -> torch.Tensor:
    """Valid words, but boundaries at random rows and tiles, most of them behind the end of their row."""
    words = plan.numpy().copy()
    view = PlanView(words)
    cores = view.field("num_cores")
    places = sorted((int(rng.integers(0, rows)), int(rng.integers(0, far))) for _ in range(cores - 1))
    for name, values in (
        ("row_begin", [0, *(row for row, _ in places), rows]),
        ("tile_begin", [0, *(tile for _, tile in places), 0]),
    ):
        words[PLAN_FIELDS[name][0] :][: cores + 1] = values
    for name in (
        "used_cores",
        "num_merges",
        "merge_slices",
        "merge_row",
        "merge_num_parts",
        "merge_unit_begin",
    ):
        first, count = PLAN_FIELDS[name]
        words[first : first + count] = rng.integers(-(2**31), 2**31, count)
    return torch.from_numpy(words)


@pytest.mark.sanitize
@pytest.mark.parametrize("far", [3, 40, 1000, 2**31 - 1])
def test_a_hostile_plan_never_changes_which_tokens_are_read(far):
    rng = np.random.default_rng(56)
    case = Case("hostile", seq_lens=(900, 0, 300, 2000, 40), page_size=64, group=2, keep_num=1, keep_den=1)
    inputs = builders.build(case, seed=56)
    block_ids, selected_lens = operators.qsi(inputs)
    out, lse = operators.sfaa(inputs, block_ids, "float32")
    for num_cores in (1, 2, 3, 8, MAX_CORES):
        rows = case.batch * case.n_kv
        plan = hostile_plan(operators.sfaa_plan(inputs, num_cores=num_cores), rng, rows, far)
        got, got_lse = operators.sfaa(inputs, block_ids, "float32", plan=plan)
        np.testing.assert_allclose(got, out, rtol=0, atol=PIECES_RELATIVE * np.abs(out).max())
        np.testing.assert_allclose(got_lse, lse, rtol=PIECES_RELATIVE)
        plan = hostile_plan(operators.qsi_plan(inputs, num_cores=num_cores), rng, rows, far)
        chosen = operators.qsi(inputs, plan=plan)
        np.testing.assert_array_equal(chosen[0], block_ids)
        np.testing.assert_array_equal(chosen[1], selected_lens)
