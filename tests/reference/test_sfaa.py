# SPDX-License-Identifier: Apache-2.0
"""Sparse attention: the exact path against plain loops, the two-term path against the exact one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import builders
from cases import CORNER, CORRECTNESS, LAYOUTS, Case
from sals.reference import layouts, qsi, sfaa_exact, sfaa_two_term
from sals.reference.two_term import split, split_rows
from tolerance import PIECES_RELATIVE, assert_lse_close, assert_output_close


def lists_of(inputs: builders.Inputs):
    """Lists of the case's own indexer."""
    tensors, keywords = inputs.qsi_args()
    return qsi(*tensors, **keywords)


def run(attention, inputs: builders.Inputs, block_ids: np.ndarray, **changes):
    tensors, keywords = inputs.sfaa_args(block_ids, None)
    return attention(*tensors, **{**keywords, **changes})


def naive_attention(inputs: builders.Inputs, request: int, query_head: int, query, positions: list[int]):
    """Softmax attention over explicit positions, by loops."""
    case = inputs.case
    head = query_head // case.group
    logits, values = [], []
    for position in positions:
        place = (case.layout, inputs.block_table, request, head, np.array([position]))
        value_cache = inputs.key_cache if inputs.value_cache is None else inputs.value_cache
        key = layouts.gather_tokens(inputs.key_cache, *place)[0, : case.head_dim].astype(float)
        value = layouts.gather_tokens(value_cache, *place, layouts.VALUE)[0, : case.head_dim].astype(float)
        if case.static_scales:
            key, value = key * inputs.key_scale[head], value * inputs.value_scale[head]
        else:
            key = key * layouts.gather_scales(inputs.key_scale, *place)[0]
            value = value * layouts.gather_scales(inputs.value_scale, *place)[0]
        logits.append(inputs.scale * sum(a * b for a, b in zip(query.tolist(), key.tolist(), strict=True)))
        values.append(value)
    if not positions:
        return np.zeros(case.head_dim), -math.inf
    weights = [math.exp(logit) for logit in logits]
    out = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    return out, math.log(sum(weights))


@pytest.mark.parametrize("static_scales", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_exact_agrees_with_loops(layout, static_scales):
    case = Case(
        "loops", layout=layout, static_scales=static_scales, s_q=3, seq_lens=(70, 2, 30), query_lens=(2, 3, 0)
    )
    inputs = builders.build(case, seed=1)
    block_ids = np.full((3, 1, 1, 4), -1, np.int32)
    block_ids[0, 0, 0] = [4, -1, 0, 4]  # the partial block first and twice, a hole
    block_ids[1, 0, 0, 2] = 0
    out, lse = run(sfaa_exact, inputs, block_ids)
    entries = {0: [4, 0, 4], 1: [0]}
    visible = {(0, 0): 69, (0, 1): 70, (1, 0): 0, (1, 1): 1, (1, 2): 2}
    for (request, s), length in visible.items():
        slots = [i * 16 + t for i in entries[request] for t in range(16)]
        positions = [p for p in slots if p < length]
        for head in range(case.n_q):
            expected = naive_attention(inputs, request, head, inputs.query[request, s, head], positions)
            np.testing.assert_allclose(out[request, s, head], expected[0], rtol=1e-11, atol=1e-13)
            np.testing.assert_allclose(lse[request, s, head], expected[1], rtol=1e-12)
    assert not out[2].any() and not out[0, 2].any() and np.isneginf(lse[2]).all()


@pytest.mark.parametrize("case", CORRECTNESS + CORNER, ids=lambda case: case.name)
def test_two_term_is_close_to_exact(case):
    inputs = builders.build(case, seed=2)
    block_ids, _ = lists_of(inputs)
    golden, golden_lse = run(sfaa_exact, inputs, block_ids)
    out, lse = run(sfaa_two_term, inputs, block_ids)
    assert out.dtype == lse.dtype == np.float32
    assert_output_close(builders.round_to(out, case.dtype), golden, case.dtype)
    assert_lse_close(lse, golden_lse, builders.largest_logit(inputs))


@pytest.mark.parametrize("attention", [sfaa_exact, sfaa_two_term])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_does_not_change_the_result(layout, attention):
    """The same dense rows through any layout and page order give the same bits."""
    results = []
    for chosen in ("BSND", layout):
        inputs = builders.build(Case("same-name", layout=chosen, n_kv=2), seed=3)
        rng = np.random.default_rng(30)
        dense = rng.integers(-127, 128, (4, 333, 2, 64)).astype(np.int8)
        for cache, component in ((inputs.key_cache, layouts.KEY), (inputs.value_cache, layouts.VALUE)):
            target = inputs.key_cache if cache is None else cache
            layouts.fill_cache(target, chosen, inputs.block_table, dense, inputs.seq_lens, component)
        inputs.query = rng.standard_normal(inputs.query.shape).astype(np.float32)
        inputs.key_scale = inputs.value_scale = np.full((2, 64), 0.01, np.float32)
        results.append(run(attention, inputs, builders.all_blocks(inputs)))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_repeated_id_counts_as_often_as_it_is_listed():
    inputs = builders.build(Case("repeat", seq_lens=(64,)), seed=4)
    once, lse_once = run(sfaa_exact, inputs, np.array([[[[1]]]]))
    twice, lse_twice = run(sfaa_exact, inputs, np.array([[[[1, -1, 1]]]]))
    np.testing.assert_allclose(once, twice, rtol=1e-13)
    np.testing.assert_allclose(lse_twice, lse_once + math.log(2), rtol=1e-13)


def test_head_axis_of_one_serves_all_heads():
    inputs = builders.build(Case("broadcast"), seed=5)
    ids = builders.all_blocks(inputs)
    one = run(sfaa_two_term, inputs, ids)
    each = run(sfaa_two_term, inputs, np.repeat(ids, 2, axis=2))
    for a, b in zip(one, each, strict=True):
        np.testing.assert_array_equal(a, b)


def test_ragged_and_padded_queries_agree():
    """TND is BSND without the padding rows, for per-token lists."""
    spans = (2, 3, 0, 1)
    inputs = builders.build(Case("padded", s_q=3, query_lens=spans), seed=6)
    ids, _ = lists_of(inputs)
    padded = run(sfaa_two_term, inputs, ids)
    real = np.arange(3)[None, :] < np.array(spans)[:, None]
    tensors, keywords = inputs.sfaa_args(ids[real], None)
    keywords |= {
        "query_layout": "TND", "query_lens": None, "query_start_loc": np.array([0, 2, 5, 5, 6], np.int32)
    }  # fmt: skip
    ragged = sfaa_two_term(inputs.query[real], *tensors[1:], **keywords)
    for a, b in zip(padded, ragged, strict=True):
        np.testing.assert_array_equal(a[real], b)
        assert np.unique(a[~real]).size == 1


def test_rows_after_the_last_ragged_request_are_padding():
    inputs = builders.build(Case("tail", query_layout="TND", query_lens=(1, 1, 1, 1)), seed=7)
    ids, _ = lists_of(inputs)
    inputs.query = np.concatenate([inputs.query, inputs.query])
    out, lse = run(sfaa_exact, inputs, np.concatenate([ids, ids]))
    assert out[:4].any(axis=-1).all() and not out[4:].any() and np.isneginf(lse[4:]).all()


@pytest.mark.parametrize("bad", [-2, 5, 1 << 30])
def test_an_id_out_of_range_is_refused(bad):
    inputs = builders.build(Case("bad-id", seq_lens=(80,)), seed=0)
    with pytest.raises(ValueError, match=r"block_ids must be -1 or in \[0, 5\)"):
        run(sfaa_exact, inputs, np.array([[[[0, bad]]]]))


@pytest.mark.parametrize("static_scales", [True, False])
def test_pieces_change_the_last_bits_only(static_scales):
    case = Case("pieces", seq_lens=(2000,), static_scales=static_scales, block_size=16)
    inputs = builders.build(case, seed=8)
    ids = builders.all_blocks(inputs)
    whole, whole_lse = run(sfaa_two_term, inputs, ids)
    for cuts in ([3], [1, 2, 3, 9], list(range(1, 16))):

        def pieces(list_row, num_tiles, cuts=cuts):
            return zip([0, *cuts], [*cuts, num_tiles], strict=True)

        cut, cut_lse = run(sfaa_two_term, inputs, ids, pieces=pieces)
        scale = np.abs(whole).max()
        np.testing.assert_allclose(cut, whole, rtol=0, atol=PIECES_RELATIVE * scale)
        np.testing.assert_allclose(cut_lse, whole_lse, rtol=PIECES_RELATIVE)


def test_order_inside_a_tile_changes_no_bit_of_static_rows_sums():
    """Integer sums do not depend on order: permuting blocks within a tile keeps the output's bits."""
    inputs = builders.build(Case("order", seq_lens=(128,), n_kv=1), seed=9)
    forward, _ = run(sfaa_two_term, inputs, np.arange(8).reshape(1, 1, 1, 8))
    shuffled, _ = run(sfaa_two_term, inputs, np.array([5, 1, 7, 0, 2, 6, 4, 3]).reshape(1, 1, 1, 8))
    np.testing.assert_array_equal(forward, shuffled)


def test_split_by_hand():
    first, second = split(np.array([127, 0.5, 1.5, -0.25, 100.001], np.float32))
    assert first.tolist() == [127, 0, 2, 0, 100]
    assert second.tolist() == [0, 127, -127, -64, 0]  # 254 * -0.25 = -63.5 goes to the even -64


def test_split_resolution():
    x = np.random.default_rng(10).standard_normal((40, 128)).astype(np.float32)
    first, second, amax = split_rows(x)
    assert np.abs(first).max() == 127 and np.abs(second).max() <= 127
    back = (first + second / 254) * (amax / 127)[:, None]
    # Half a step of the second term, and the float32 rounding of x * (127 / amax).
    assert np.all(np.abs(back - x) <= amax[:, None] * (1 / (127 * 508) + 2**-22))
    assert not any(term.any() for term in split_rows(np.zeros((2, 8), np.float32)))


def test_a_query_of_zeros_averages_the_values():
    inputs = builders.build(Case("zero-query", seq_lens=(100,)), seed=11)
    inputs.query = np.zeros_like(inputs.query)
    out, lse = run(sfaa_two_term, inputs, builders.all_blocks(inputs))
    golden, golden_lse = run(sfaa_exact, inputs, builders.all_blocks(inputs))
    np.testing.assert_allclose(golden_lse, math.log(100), rtol=1e-14)
    np.testing.assert_allclose(lse, golden_lse, rtol=1e-6)
    np.testing.assert_allclose(out, golden, rtol=1e-5, atol=1e-6)


def test_lse_counts_weights_too_small_for_int8():
    """127 weights of exp(-12) all round to 0 in the two-term row sum, but the LSE is that of all tokens."""
    inputs = builders.build(Case("small-weights", seq_lens=(128,), n_kv=1, dtype="float32"), seed=12)
    inputs.key_cache[...] = 0
    inputs.key_cache[inputs.block_table[0, 0], 0, 0, 0] = 127
    inputs.key_scale = np.full((1, 64), 1 / 127, np.float32)
    inputs.query = np.zeros_like(inputs.query)
    inputs.query[..., 0] = 12 / inputs.scale
    _, lse = run(sfaa_two_term, inputs, builders.all_blocks(inputs))
    np.testing.assert_allclose(lse, math.log(math.exp(12) + 127), rtol=1e-6)
