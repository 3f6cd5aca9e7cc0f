# SPDX-License-Identifier: Apache-2.0
"""The indexer's NPU kernel on the simulator against the NumPy reference: exact but for near ties.

A result may differ from the reference only where float64 scores are as good as equal; between numbers of
cores, schedules and plans it may not differ at all.
"""

from __future__ import annotations

import numpy as np
import pytest

import builders
from cases import Case
from qsi_kernel import CASES, LONG, VERY_LONG, assert_same, check, inputs_of, run
from sals.reference.equivalence import QsiGolden
from sals.selection import Selection
from sals.simulator.qsi import qsi_roofline

TENSORS = ("query", "query_scale", "key_cache", "key_scale", "seq_lens")
CORES = (24, 20, 2, 1)
SCHEDULES = 20


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_case(number):
    """Each case on all numbers of cores, in the order of modelled time and in random ones."""
    case = CASES[number]
    assert_same(
        [
            check(case, cores=24),
            check(case, cores=2, seed=1 + number),
            check(case, cores=20, seed=2 + number, plan=None),
            check(case, cores=1, seed=3 + number),
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("cores", CORES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_schedule(case, cores):
    assert_same([check(case, cores=cores, seed=seed) for seed in range(SCHEDULES + 1)])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_policies_keep_the_same_blocks(case):
    """Threshold selection (order index) and the sorting ladder (order score) agree bit for bit."""
    by_order = [check(case.but(order=order))[0] for order in ("index", "score")]
    ascending, ranked = (np.where(ids < 0, np.iinfo(np.int32).max, ids) for ids in by_order)
    np.testing.assert_array_equal(ascending, np.sort(ranked, axis=-1))


@pytest.mark.parametrize("base", [LONG, VERY_LONG], ids=lambda case: case.name)
@pytest.mark.parametrize("order", ["index", "score"])
@pytest.mark.parametrize(
    "changes", [{}, {"coverage": 0.7}, {"ties": True}], ids=["budget", "coverage", "ties"]
)
def test_long_rows(base, order, changes):
    case = base.but(order=order, **changes)
    assert_same([check(case, cores=24), check(case, cores=24, plan=None), check(case, cores=20, seed=7)])


@pytest.mark.parametrize(
    "changes",
    [
        {"layout": "PA_NZ", "rank": 128},
        {"layout": "PA_BSND", "rank": 128, "block_size": 32},
        {"layout": "BSND", "rank": 256, "n_idx": 1},
        {"s_q": 3, "query_lens": (3, 1, 2)},
    ],
    ids=["PA_NZ", "PA_BSND", "BSND", "mtp"],
)
def test_long_rows_of_other_forms(changes):
    case = LONG.but(**changes)
    assert_same([check(case, cores=24), check(case, cores=24, plan=None), check(case, cores=20, seed=7)])


@pytest.mark.parametrize("order", ["index", "score"])
@pytest.mark.parametrize("block_size", [8, 16, 32, 64, 128])
@pytest.mark.parametrize("sink_blocks", [0, 1, 3])
def test_rows_whose_end_one_vector_core_reduces(order, block_size, sink_blocks):
    """Whole rows of more than two hand-offs, with ends everywhere in a datablock of scores."""
    lengths = tuple(9000 + block_size * blocks + 1 for blocks in range(9))
    case = LONG.but(
        order=order, block_size=block_size, sink_blocks=sink_blocks, tail_blocks=1, seq_lens=lengths, n_kv=1
    )
    assert_same([check(case, cores=cores, plan=None, seed=seed) for cores, seed in ((3, 0), (1, 2), (2, 3))])


@pytest.mark.parametrize("gain", [0.01, 20], ids=["middling", "extreme"])
@pytest.mark.parametrize("coverage", [0.0, 0.7])
@pytest.mark.parametrize("base", [LONG, VERY_LONG], ids=lambda case: case.name)
def test_samples_that_mislead(base, coverage, gain):
    """Every eighth block, of which samples consist, scores unlike all others: the result is the ladder's."""
    sets = []
    for order in ("index", "score"):
        case = base.but(order=order, coverage=coverage, layout="BSND")
        inputs = builders.build(case, seed=30)
        tokens = np.arange(inputs.index_scale.shape[1])
        inputs.index_scale[:, (tokens // case.block_size - case.sink_blocks) % 8 == 0] *= gain
        golden = QsiGolden(*inputs.qsi_args()[0], **inputs.qsi_args()[1])
        block_ids, selected_lens, result = run(inputs, cores=24)
        assert not result.findings, str(result)
        golden.check(block_ids, selected_lens)
        sets.append(np.sort(np.where(block_ids < 0, np.iinfo(np.int32).max, block_ids), axis=-1))
    np.testing.assert_array_equal(*sets)


@pytest.mark.parametrize("rank", [8, 24, 192])
def test_ranks_that_need_padding_are_refused(rank):
    with pytest.raises(ValueError, match=f"must have rank 64, 128 or 256 .*got rank {rank}"):
        run(inputs_of(Case("rank", rank=rank)))


def test_every_key_is_read_once():
    """HBM traffic stays within 2 % of what must be moved; reads of keys and scales are exact."""
    case = Case("bytes", seq_lens=(10240,) * 4, page_size=128, tail_blocks=32)
    inputs = inputs_of(case)
    tensors, keywords = inputs.qsi_args()
    block_ids, _, result = run(inputs, cores=24)
    arguments = dict(zip(TENSORS, tensors, strict=True), block_table=keywords["block_table"])
    roofline = qsi_roofline(result, arguments, block_ids, Selection(), 24)
    scored = sum(len(range(1, length // 16 - 32)) * 16 for length in case.seq_lens) * case.index_heads
    counters = result.counters
    assert counters.region_read_bytes["key_cache"] == scored * case.rank // 2
    assert counters.region_read_bytes["key_scale"] == scored * 4
    assert roofline.traffic <= 1.02, f"{roofline}\n{counters.byte_table()}"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("changes", [{}, {"layout": "BSND"}, {"s_q": 2, "query_lens": (2, 1, 0, 2)}])
def test_wrong_lengths_and_pages_lead_nowhere_outside(changes, seed):
    """Whatever lengths and tables say, the kernel stays inside its tensors and writes every row."""
    rng = np.random.default_rng(seed)
    inputs = builders.build(Case("wrong", seq_lens=(200, 77, 16, 290), max_seq_len=300, **changes), seed=31)
    extremes = np.array([-(2**31), -1, 0, 1, 299, 300, 301, 10**6, 2**31 - 1], np.int32)
    inputs.seq_lens = rng.choice(extremes, len(inputs.seq_lens))
    if inputs.block_table is not None:
        inputs.block_table = rng.choice(extremes, inputs.block_table.shape)
    if inputs.query_lens is not None:
        inputs.query_lens = rng.choice(extremes, len(inputs.query_lens))
    print(inputs.seq_lens, inputs.query_lens)
    block_ids, selected_lens, result = run(inputs, cores=2, seed=seed, plan=None)
    assert not result.findings, str(result)
    assert ((block_ids >= -1) & (block_ids < -(-300 // 16))).all()
    assert ((selected_lens >= 0) & (selected_lens <= 300)).all()
