# SPDX-License-Identifier: Apache-2.0
"""The indexer: scores against plain loops, and lists over all cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

import builders
from cases import CORNER, CORRECTNESS, Case
from sals.reference import block_scores, layouts, qsi, select_from_scores, selection
from sals.reference.equivalence import assert_selections_equivalent
from sals.reference.int4 import pack_int4, unpack_int4
from tolerance import assert_scores_close


def test_by_hand():
    """Dots 6, 2, 0 with scales make logits 6, 3, 0: the first block is 6 + ln(1 + exp(-3)), the second 0."""
    query = pack_int4(np.array([2, 1, 0, 0, 0, 0, 0, 0])).reshape(1, 1, 1, 1)
    keys = np.zeros((1, 10, 1, 8), int)
    keys[0, :9, 0] = np.array([[3, 0, -8, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 7, 0, 0], *[[0] * 8] * 7])
    scale = np.ones((1, 10, 1), np.float32)
    scale[0, 1] = 1.5
    scores = block_scores(
        query, np.ones((1, 1, 1), np.float32), pack_int4(keys), scale, np.array([9]),
        max_seq_len=24, block_size=8, layout="BSND",
    )  # fmt: skip
    expected = [math.log(math.exp(6) + math.exp(3) + 6), 0.0, -math.inf]
    np.testing.assert_allclose(scores[0, 0, 0], expected, rtol=1e-14)


def naive_scores(inputs: builders.Inputs, request: int, token: tuple, head: int, visible: int) -> list[float]:
    """Golden scores of one row by Python loops."""
    case = inputs.case
    query = unpack_int4(inputs.index_query[token][head]).tolist()
    scores = []
    for block in range(selection.num_blocks(visible, case.block_size)):
        total = 0.0
        for position in range(block * case.block_size, min((block + 1) * case.block_size, visible)):
            place = (case.index_layout, inputs.block_table, request, head, np.array([position]))
            key = unpack_int4(layouts.gather_tokens(inputs.index_cache, *place))[0].tolist()
            scale = inputs.query_scale[token][head] * layouts.gather_scales(inputs.index_scale, *place)[0]
            total += math.exp(sum(a * b for a, b in zip(query, key, strict=True)) * float(scale))
        scores.append(math.log(total))
    return scores


@pytest.mark.parametrize("layout", ["PA_BNSD", "PA_BSND", "PA_NZ", "BSND"])
def test_scores_agree_with_loops(layout):
    case = Case("loops", layout=layout, s_q=3, seq_lens=(70, 2), query_lens=(2, 3), max_seq_len=100)
    inputs = builders.build(case, seed=1)
    tensors, keywords = inputs.scores_args()
    scores = block_scores(*tensors, **keywords)
    assert scores.shape == (2, 3, 2, 7)
    visible = {(0, 0): 69, (0, 1): 70, (0, 2): 0, (1, 0): 0, (1, 1): 1, (1, 2): 2}
    for token, length in visible.items():
        for head in range(case.n_kv):
            expected = naive_scores(inputs, token[0], token, head, length)
            # Logits are rounded to float32 by definition: twice 2^-24 of |logit| < 40.
            np.testing.assert_allclose(scores[token][head, : len(expected)], expected, atol=5e-6)
            assert np.isneginf(scores[token][head, len(expected) :]).all()


@pytest.mark.parametrize("case", CORRECTNESS + CORNER, ids=lambda case: case.name)
def test_float32_scores_and_lists(case):
    inputs = builders.build(case, seed=2)
    tensors, keywords = inputs.scores_args()
    golden = block_scores(*tensors, **keywords)
    maxima = block_scores(*tensors, **keywords, reduce=np.max)
    scores = block_scores(*tensors, **keywords, dtype=np.float32)
    assert_scores_close(scores, golden, maxima, case.block_size)
    params = selection.SelectionParams(**case.selection_args())
    batch = inputs.batch_args()
    golden_ids, golden_lens = select_from_scores(
        golden, inputs.seq_lens, params, max_seq_len=case.limit, **batch
    )
    tensors, keywords = inputs.qsi_args()
    block_ids, selected_lens = qsi(*tensors, **keywords)
    assert block_ids.dtype == selected_lens.dtype == np.int32
    assert block_ids.shape == (*scores.shape[:-1], selection.width(case.limit, params))
    differing = assert_selections_equivalent(
        block_ids, golden_ids, golden, maxima, inputs.seq_lens, params, **batch
    )
    if differing == 0:
        np.testing.assert_array_equal(selected_lens, golden_lens)


def test_equal_keys_tie_to_the_lower_id():
    case = Case("all-equal", ties=True, seq_lens=(40 * 16,), n_kv=1, order="score")
    inputs = builders.build(case, seed=3)
    tensors, keywords = inputs.scores_args()
    scores = block_scores(*tensors, **keywords, dtype=np.float32)[0, 0, 0]
    assert len(set(scores.tolist())) == 3
    tensors, keywords = inputs.qsi_args()
    kept = qsi(*tensors, **keywords)[0][0, 0, 0, 1:-2].tolist()
    assert kept == sorted(range(1, 38), key=lambda i: (-scores[i], i))[: len(kept)]


def test_one_list_per_request_sees_the_newest_token():
    case = Case("shared", s_q=4, shared_list=True, query_lens=(4, 2, 0, 1))
    inputs = builders.build(case, seed=4)
    tensors, keywords = inputs.qsi_args()
    block_ids, selected_lens = qsi(*tensors, **keywords)
    assert block_ids.shape[:2] == (4, 1)
    assert (block_ids[2] == -1).all() and not selected_lens[2].any()
    for request in (0, 1, 3):
        newest = (case.seq_lens[request] - 1) // case.block_size
        assert (block_ids[request].max(axis=-1) == newest).all()


def test_a_length_beyond_max_seq_len_is_refused():
    tensors, keywords = builders.build(Case("too-long"), seed=0).scores_args()
    keywords["max_seq_len"] = 300
    with pytest.raises(ValueError, match="seq_lens must be at most max_seq_len = 300, got 333"):
        block_scores(*tensors, **keywords)
