# SPDX-License-Identifier: Apache-2.0
"""Known defects of earlier operators for this problem, as regression tests of the CPU operators.

Each is also among the corner cases of tests/cases.py, under the same number.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import builders
import calls
import operators
from cases import CORNER, Case
from operators import ops
from sals._contract import PLAN_FIELDS, PLAN_WORDS
from sals.reference import sfaa_exact
from sals.reference.plan import PlanView
from tolerance import assert_output_close

pytestmark = pytest.mark.sanitize


def corner(prefix: str) -> list[Case]:
    found = [case for case in CORNER if case.name.startswith(prefix)]
    assert found, prefix
    return found


def named(prefix: str):
    return pytest.mark.parametrize("case", corner(prefix), ids=lambda case: case.name)


def exact(inputs: builders.Inputs, block_ids: np.ndarray) -> np.ndarray:
    tensors, keywords = inputs.sfaa_args(block_ids, None)
    return sfaa_exact(*tensors, **keywords)[0]


@named("defect-1-")
def test_defect_1_one_ceiling_on_host_and_device(case):
    """Host and kernel rounded k up in different precision: rows overflowed by an id, or kept a stale one."""
    inputs = builders.build(case, seed=101)
    canary = 12345
    width = -(-99 * case.keep_num // 100) + case.sink_blocks + case.tail_blocks
    rows = torch.full((1 + 2 + 1, width), canary, dtype=torch.int32)
    block_ids = rows[1:3].view(1, 1, 2, width)
    lens = torch.empty(1, 1, 2, dtype=torch.int32)
    ops.qsi.out(**operators.qsi_call(inputs), block_ids=block_ids, selected_lens=lens)
    assert (rows[0] == canary).all() and (rows[3] == canary).all()
    for row in rows[1:3].tolist():
        assert len(set(row)) == width and row == sorted(row) and row[0] == 0 and row[-1] == 102


@named("defect-2")
def test_defect_2_rank_and_head_dim_are_independent(case):
    """Planner and indexer demanded different values of the one head_dim argument."""
    inputs = builders.build(case, seed=102)
    block_ids, _ = operators.qsi(inputs, plan=operators.qsi_plan(inputs, num_cores=3))
    out, _ = operators.sfaa(inputs, block_ids, plan=operators.sfaa_plan(inputs, num_cores=3))
    assert_output_close(out, exact(inputs, block_ids), case.dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_defect_3_every_accepted_dtype_is_computed(dtype):
    """float16 passed the checks and hung, because its stages were compiled out."""
    inputs = builders.build(Case("dtypes", dtype=dtype), seed=103)
    block_ids, _ = operators.qsi(inputs)
    assert_output_close(operators.sfaa(inputs, block_ids)[0], exact(inputs, block_ids), dtype)


@named("defect-5")
@pytest.mark.parametrize("num_cores", [None, 1, 2])
def test_defect_5_empty_requests_inside_a_batch(num_cores, case):
    """A skipped row flipped the parity of a double buffer, so the row after it read another query's data."""
    inputs = builders.build(case, seed=105)
    plan = None if num_cores is None else operators.sfaa_plan(inputs, num_cores=num_cores)
    block_ids, selected_lens = operators.qsi(inputs)
    out, lse = operators.sfaa(inputs, block_ids, plan=plan)
    assert_output_close(out, exact(inputs, block_ids), case.dtype)
    for request in range(case.batch):
        alone = operators.request_slice(inputs, request)
        ids, lens = operators.qsi(alone)
        np.testing.assert_array_equal(ids[0], block_ids[request])
        np.testing.assert_array_equal(lens[0], selected_lens[request])
        np.testing.assert_array_equal(operators.sfaa(alone, ids)[1][0], lse[request])


@named("defect-6")
def test_defect_6_fewer_query_tokens_than_rows(case):
    """The causal mask of a query shorter than its shard spilled into the next row and hid its first block."""
    inputs = builders.build(case, seed=106)
    block_ids, _ = operators.qsi(inputs)
    out, lse = operators.sfaa(inputs, block_ids)
    assert_output_close(out, exact(inputs, block_ids), case.dtype)
    for request, q_len in enumerate(case.query_lens):
        assert np.isfinite(lse[request, :q_len]).all() and np.isneginf(lse[request, q_len:]).all()
        for s in range(q_len):
            # The same query token as the newest of a shorter request sees the same tokens.
            one = operators.request_slice(inputs, request)
            one.query = one.query[:, s : s + 1]
            one.query_lens = None
            one.seq_lens = one.seq_lens - q_len + 1 + s
            ids = block_ids[request : request + 1]
            blocks = -(-int(one.seq_lens[0]) // case.block_size)
            alone = operators.sfaa(one, np.where(ids < blocks, ids, -1))
            np.testing.assert_array_equal(alone[0][0, 0], out[request, s])


@named("defect-7")
def test_defect_7_context_shorter_than_the_query(case):
    """An unsigned difference wrapped around: no mask for tiny contexts, and valid rows were zeroed."""
    inputs = builders.build(case, seed=107)
    block_ids, _ = operators.qsi(inputs)
    out, lse = operators.sfaa(inputs, block_ids)
    assert_output_close(out, exact(inputs, block_ids), case.dtype)
    for request, length in enumerate(case.seq_lens):
        for s in range(case.s_q):
            sees = not case.causal or length - case.s_q + 1 + s > 0
            assert np.isfinite(lse[request, s]).all() == sees
            assert out[request, s].any() == sees


def test_defect_8_a_plan_without_optional_lengths():
    """Without an optional length tensor the plan collapsed to one core and cut its last row short."""
    inputs = builders.build(Case("uneven", seq_lens=(9000, 100, 5000, 40), page_size=64), seed=108)
    block_ids, selected_lens = operators.qsi(inputs)
    plan = operators.sfaa_plan(inputs, num_cores=8, query_lens=None)
    assert PlanView(plan.numpy()).field("used_cores") == 8
    full = operators.sfaa_plan(inputs, num_cores=8, query_lens=torch.ones(4, dtype=torch.int32))
    assert torch.equal(plan, full)
    out, _ = operators.sfaa(inputs, block_ids, plan=plan)
    assert_output_close(out, exact(inputs, block_ids), inputs.case.dtype)
    for lens in (np.zeros_like(selected_lens), selected_lens):
        again, _ = operators.sfaa(inputs, block_ids, plan=plan, selected_lens=torch.from_numpy(lens))
        np.testing.assert_array_equal(again, out)


@pytest.mark.parametrize("layout", ["PA_BNSD", "PA_NZ", "PA_KV"])
def test_defect_9_entries_of_minus_one_anywhere(layout):
    """The matrix core did not check for -1 and read the page table, and the cache, out of bounds."""
    inputs = builders.build(Case("holes", seq_lens=(100,), n_kv=1, layout=layout), seed=109)
    plain = np.array([[[[0, 3, 6]]]], np.int32)
    holes = np.array([[[[-1, 0, -1, -1, 3, 6, -1]]]], np.int32)
    out, lse = operators.sfaa(inputs, plain)
    got, got_lse = operators.sfaa(inputs, holes)
    assert_output_close(got, exact(inputs, plain), inputs.case.dtype)
    np.testing.assert_allclose(got_lse, lse, rtol=1e-6)


@named("defect-11")
@pytest.mark.parametrize("order", ["index", "score"])
def test_defect_10_and_11_long_tails(order, case):
    """Tails of more than 128 blocks were planned from another start, of more than 512 overflowed a buffer."""
    inputs = builders.build(case.but(order=order), seed=111)
    block_ids, _ = operators.qsi(inputs)
    for num_cores in (1, 2, 5, 64):
        planned, _ = operators.qsi(inputs, plan=operators.qsi_plan(inputs, num_cores=num_cores))
        np.testing.assert_array_equal(planned, block_ids)
    for request, length in enumerate(case.seq_lens):
        total = -(-length // case.block_size)
        for row in block_ids[request, 0]:
            listed = row[row >= 0].tolist()
            assert len(set(listed)) == len(listed)
            assert set(range(max(0, total - case.tail_blocks), total)) <= set(listed)


@pytest.mark.parametrize("static_scales", [True, False])
@pytest.mark.parametrize("position", [0, 1, 3])
def test_defect_17_a_partial_block_anywhere(position, static_scales):
    """One side compacted a partial block, the other took it for full: keys met the wrong mask."""
    case = Case("partial", seq_lens=(101,), n_kv=1, static_scales=static_scales)
    inputs = builders.build(case, seed=117)
    full = [0, 2, 4]
    ids = np.array([[[[*full[:position], 6, *full[position:]]]]], np.int32)
    out, _ = operators.sfaa(inputs, ids)
    assert_output_close(out, exact(inputs, np.array([[[[0, 2, 4, 6]]]])), case.dtype)


SPOILT = {
    "value-shape": ("sfaa", {"value_cache": lambda t: t[:, :1].contiguous()}, "value_cache must have shape"),
    "key-last-axis": ("sfaa", {"key_cache": lambda t: t[..., :32].contiguous()}, "key_cache must have shape"),
    "scale-kind": ("sfaa", {"key_scale": lambda t: t[0]}, "key_scale must have shape"),
    "plan-shape": ("sfaa", {"plan": torch.zeros(8, dtype=torch.int32)}, "plan must have shape"),
    "plan-dtype": ("qsi", {"plan": torch.zeros(PLAN_WORDS)}, "plan must have dtype int32"),
    "plan-version": ("qsi", {"plan": torch.zeros(PLAN_WORDS, dtype=torch.int32)}, "plan must have the magic"),
    "no-heads": ("sfaa_plan", {"n_kv": 0}, "n_kv must be in"),
    "keep-above-one": ("qsi", {"keep_num": 3}, "keep_num must be in"),
    "length-above-max": ("qsi", {"max_seq_len": 20}, "seq_lens.0. must be at most max_seq_len = 20, got 70"),
}


@pytest.mark.parametrize("op, changes, message", SPOILT.values(), ids=SPOILT)
def test_defect_18_missing_checks(op, changes, message):
    """Each of these crashed or corrupted memory silently."""
    call = calls.BUILDERS[op]()
    for name, change in changes.items():
        call[name] = change(call[name]) if callable(change) else change
    with pytest.raises(ValueError, match=f"^sals::{op}: {message}"):
        calls.run(op, call)


def test_plan_words_stay_inside_the_plan():
    """The last field ends within the words that every backend allocates."""
    assert max(first + count for first, count in PLAN_FIELDS.values()) <= PLAN_WORDS
