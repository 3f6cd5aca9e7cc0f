# SPDX-License-Identifier: Apache-2.0
"""Known defects of earlier operators for this problem, as regression tests of the defined behaviour.

Each is also among the corner cases of tests/cases.py, under the same number, for every other lane. Defect 1,
rounded ceilings, is in test_selection.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import builders
from cases import CORNER, Case
from sals.reference import qsi, select, selection, sfaa_exact
from sals.reference.plan import PlanView

ATTENTION_RTOL = 1e-12  # float64 sums of at most some hundred terms, in another order


def corner(prefix: str) -> list[Case]:
    found = [case for case in CORNER if case.name.startswith(prefix)]
    assert found, prefix
    return found


def indexed(case: Case, seed: int):
    inputs = builders.build(case, seed)
    tensors, keywords = inputs.qsi_args()
    return inputs, *qsi(*tensors, **keywords)


def attend(inputs: builders.Inputs, block_ids, selected_lens=None, **changes):
    tensors, keywords = inputs.sfaa_args(block_ids, selected_lens)
    return sfaa_exact(*tensors, **{**keywords, **changes})


def alone(inputs: builders.Inputs, request: int) -> builders.Inputs:
    """One request of a batch by itself, on the same caches."""
    pick = slice(request, request + 1)
    changes = {
        name: None if getattr(inputs, name) is None else getattr(inputs, name)[pick]
        for name in ("index_query", "query_scale", "query", "seq_lens", "query_lens", "block_table")
    }
    return builders.Inputs(**{**vars(inputs), **changes})


@pytest.mark.parametrize("case", corner("defect-2"), ids=lambda case: case.name)
def test_defect_2_rank_and_head_dim_are_independent(case):
    """Planner and indexer demanded different values of the one head_dim argument."""
    inputs, block_ids, _ = indexed(case, seed=31)
    assert inputs.index_query.shape[-1] * 8 == 64 and inputs.query.shape[-1] == 128
    assert attend(inputs, block_ids)[0].shape == inputs.query.shape


@pytest.mark.parametrize("case", corner("defect-5"), ids=lambda case: case.name)
def test_defect_5_empty_requests_inside_a_batch(case):
    """A skipped row flipped the parity of a double buffer, so the row after it read another query's data."""
    inputs, block_ids, selected_lens = indexed(case, seed=32)
    out, lse = attend(inputs, block_ids)
    for request, length in enumerate(case.seq_lens):
        one = alone(inputs, request)
        tensors, keywords = one.qsi_args()
        ids_alone, lens_alone = qsi(*tensors, **keywords)
        np.testing.assert_array_equal(block_ids[request], ids_alone[0])
        np.testing.assert_array_equal(selected_lens[request], lens_alone[0])
        out_alone, lse_alone = attend(one, ids_alone)
        np.testing.assert_array_equal(out[request], out_alone[0])
        np.testing.assert_array_equal(lse[request], lse_alone[0])
        if length <= 0 or case.spans[request] == 0:
            assert (block_ids[request] == -1).all() and not out[request].any()
            assert np.isneginf(lse[request]).all()


@pytest.mark.parametrize("case", corner("defect-6"), ids=lambda case: case.name)
def test_defect_6_fewer_query_tokens_than_rows(case):
    """The causal mask of the padding rows spilled into the next query's first tokens."""
    inputs, block_ids, _ = indexed(case, seed=33)
    out, lse = attend(inputs, block_ids)
    for request, q_len in enumerate(case.spans):
        assert not out[request, q_len:].any() and np.isneginf(lse[request, q_len:]).all()
        for s in range(q_len):
            one = alone(inputs, request)
            one.query, one.query_lens = one.query[:, s : s + 1], None
            one.seq_lens = one.seq_lens - (q_len - 1 - s)
            kept = np.where(block_ids[request] * case.block_size < one.seq_lens, block_ids[request], -1)
            out_alone, lse_alone = attend(one, kept[None])
            np.testing.assert_allclose(out[request, s], out_alone[0, 0], rtol=ATTENTION_RTOL)
            np.testing.assert_allclose(lse[request, s], lse_alone[0, 0], rtol=ATTENTION_RTOL)


@pytest.mark.parametrize("case", corner("defect-7"), ids=lambda case: case.name)
def test_defect_7_context_shorter_than_the_query(case):
    """Lengths below s_q underflowed: the mask was skipped, or valid rows were zeroed."""
    inputs, block_ids, _ = indexed(case, seed=34)
    out, lse = attend(inputs, block_ids)
    for request, length in enumerate(case.seq_lens):
        for s in range(case.s_q):
            visible = length - case.s_q + 1 + s if case.causal else length
            assert np.isneginf(lse[request, s]).all() == (visible <= 0)
            assert out[request, s].any() == (visible > 0)
            if visible == 1:  # the only visible token is the output
                codes = inputs.value_cache[inputs.block_table[request, 0], :, 0]
                value = codes * inputs.value_scale.astype(float)
                expected = np.repeat(value, case.group, axis=0)
                np.testing.assert_allclose(out[request, s], expected, rtol=ATTENTION_RTOL)


def test_defect_8_optional_arguments_decide_nothing():
    """Without selected lengths the plan collapsed while the kernel assumed full lists."""
    inputs, block_ids, selected_lens = indexed(Case("omitted"), seed=35)
    given = attend(inputs, block_ids, selected_lens)
    for other in (None, np.zeros_like(selected_lens), selected_lens * 100):
        for a, b in zip(given, attend(inputs, block_ids, other), strict=True):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="not a plan"):
        PlanView(np.zeros(0, np.int32))


def test_defect_9_entries_of_minus_one_anywhere():
    """An entry of -1 read the cache out of bounds."""
    inputs = builders.build(Case("holes", seq_lens=(333,), n_kv=1), seed=36)
    packed = attend(inputs, np.array([[[[0, 3, 7, 20]]]]))
    for ids in ([-1, 0, -1, -1, 3, 7, -1, 20, -1], [0, 3, 7, 20, -1, -1]):
        for a, b in zip(packed, attend(inputs, np.array([[[ids]]])), strict=True):
            np.testing.assert_array_equal(a, b)
    out, lse = attend(inputs, np.array([[[[-1, -1]]]]))
    assert not out.any() and np.isneginf(lse).all()


@pytest.mark.parametrize("case", corner("defect-11"), ids=lambda case: case.name)
def test_defect_11_long_tails(case):
    """Tails beyond 128 blocks skipped a block of the next row, beyond 512 overflowed a buffer."""
    inputs, block_ids, selected_lens = indexed(case, seed=37)
    for request, length in enumerate(case.seq_lens):
        total = selection.num_blocks(length, case.block_size)
        row = [i for i in block_ids[request, 0, 0].tolist() if i != -1]
        assert row[-min(case.tail_blocks, total) :] == list(range(max(total - case.tail_blocks, 0), total))
        assert row[0] == 0 and row == sorted(set(row))
        candidates = max(total - case.sink_blocks - case.tail_blocks, 0)
        assert len(row) == min(total, case.sink_blocks + case.tail_blocks) + -(-candidates // 4)
        assert selected_lens[request, 0, 0] == sum(min(16, length - 16 * i) for i in row)


def test_defect_17_a_partial_block_anywhere():
    """A partial block that was not the last listed one shifted keys against values and mask."""
    for layout in ("PA_NZ", "PA_KV"):
        inputs = builders.build(Case("partial", seq_lens=(333,), n_kv=1, layout=layout), seed=38)
        last = attend(inputs, np.array([[[[1, 4, 9, 20]]]]))
        for ids in ([20, 1, 4, 9], [1, 20, 4, 9], [4, 1, -1, 20, 9]):
            for a, b in zip(last, attend(inputs, np.array([[[ids]]])), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


def test_keep_nothing_keeps_sinks_and_tail():
    params = selection.SelectionParams(keep_num=0, sink_blocks=2, tail_blocks=3)
    assert select(np.zeros(10, np.float32), 160, params) == [0, 1, 7, 8, 9]
