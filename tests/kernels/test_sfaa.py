# SPDX-License-Identifier: Apache-2.0
"""The attention's NPU kernel on the simulator against float64, and bit for bit with itself."""

from __future__ import annotations

import numpy as np
import pytest

import builders
import operators
from cases import LAYOUTS, Case
from sals.reference import layouts
from sfaa_kernel import (
    CASES,
    assert_right,
    assert_same,
    attend,
    check,
    golden_of,
    inputs_of,
    lists_of,
    plan_of,
    run,
)  # fmt: skip

CORES = (24, 20, 2, 1)
SCHEDULES = 20

# Several tasks a row, rows that a plan cuts, requests without tokens between them.
LONG = Case("long", seq_lens=(3000, 700, 0, 5000), n_kv=1, group=8, head_dim=128, page_size=128)

# Query rows beyond one pass, as heads and as tokens of one list.
MANY_ROWS = tuple(
    Case(
        f"{group}-heads-{s_q}-tokens-of-{head_dim}", seq_lens=(900, 77, 3), group=group, s_q=s_q,
        shared_list=s_q > 1, head_dim=head_dim, page_size=64,
    )
    for head_dim, group, s_q in ((64, 33, 4), (128, 130, 1), (128, 16, 6), (256, 12, 3))
)  # fmt: skip

# As in tests/api: holes, repeats and partial blocks in any place of a list.
LISTS = (
    Case("lists", seq_lens=(200, 77, 0, 333)),
    Case("lists-per-token-scales", seq_lens=(200, 77, 0, 333), static_scales=False, layout="PA_KV"),
    Case("lists-mtp", seq_lens=(200, 2, 0, 333), s_q=4, query_lens=(4, 3, 2, 0), layout="PA_NZ"),
    Case("lists-not-causal", seq_lens=(200, 2, 0, 333), s_q=4, causal=False, layout="BSND"),
    Case("lists-tnd", seq_lens=(200, 77, 0, 333), query_layout="TND", query_lens=(3, 1, 0, 2)),
    Case("lists-block-8", seq_lens=(200, 77, 0, 333), block_size=8, layout="PA_BSND", group=3),
    Case("lists-block-128", seq_lens=(200, 77, 0, 333), block_size=128, page_size=256, head_dim=256),
    Case("lists-dense-scales", seq_lens=(200, 77, 0, 331), block_size=8, layout="BSND", static_scales=False),
)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_case(number):
    """Each case on all numbers of cores, in the order of modelled time and in random ones."""
    case = CASES[number]
    assert_same(
        [
            check(case, cores=24),
            check(case, cores=2, seed=1 + number),
            check(case, cores=20, seed=2 + number),
            check(case, cores=1, seed=3 + number),
        ]
    )
    check(case, cores=20, seed=4 + number, planned=True)


@pytest.mark.slow
@pytest.mark.parametrize("cores", CORES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_schedule(case, cores):
    assert_same([check(case, cores=cores, seed=seed) for seed in range(SCHEDULES + 1)])
    assert_same([check(case, cores=cores, seed=seed, planned=True) for seed in range(SCHEDULES + 1)])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"group": 40, "head_dim": 256, "layout": "PA_NZ", "dtype": "float16"},
        {"group": 10, "s_q": 4, "shared_list": True, "static_scales": False, "layout": "PA_KV"},
        {"group": 1, "head_dim": 64, "static_scales": False, "layout": "BSND"},
    ],
    ids=["decode", "fp16-256", "mtp", "one-head"],
)
@pytest.mark.parametrize("cores", [7, 20])
def test_rows_that_a_plan_cuts(changes, cores):
    """Parts of rows merge to the right result, the same one in every order of execution."""
    case = LONG.but(**changes)
    assert plan_of(inputs_of(case), cores)[7] > 0
    assert_same([check(case, cores=cores, seed=seed, planned=True) for seed in (0, 3, 4)])
    assert_same([check(case, cores=1), check(case, cores=cores, seed=5)])


@pytest.mark.parametrize("case", MANY_ROWS, ids=lambda case: case.name)
def test_query_rows_beyond_one_pass(case):
    assert_same([check(case, cores=24), check(case, cores=2, seed=6)])
    check(case, cores=5, seed=7, planned=True)


@pytest.mark.parametrize("heads", [None, 1], ids=["per-head", "one-list"])
@pytest.mark.parametrize("case", LISTS, ids=lambda case: case.name)
def test_holes_repeats_and_partial_blocks_anywhere(case, heads):
    rng = np.random.default_rng(36)
    inputs = inputs_of(case)
    for width in (0, 1, 7, 40):
        block_ids = operators.random_lists(inputs, rng, width, heads)
        assert_right(inputs, attend(inputs, block_ids), run(inputs, block_ids, cores=3, seed=width))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_change_nothing(layout):
    """The same rows give the same bits in any layout."""
    results = []
    for chosen in ("PA_BNSD", layout):
        inputs = builders.build(Case("same-name", layout=chosen, n_kv=1), seed=37)
        rng = np.random.default_rng(38)
        for cache, component in ((inputs.key_cache, layouts.KEY), (inputs.value_cache, layouts.VALUE)):
            dense = rng.integers(-127, 128, (4, 333, 1, 64), dtype=np.int8)
            target = inputs.key_cache if cache is None else cache
            layouts.fill_cache(target, chosen, inputs.block_table, dense, inputs.seq_lens, component)
        rng = np.random.default_rng(39)
        inputs.query = builders.round_to(rng.standard_normal(inputs.query.shape), "bfloat16")
        inputs.key_scale, inputs.value_scale = rng.uniform(0.01, 0.02, (2, 1, 64)).astype(np.float32)
        out, lse, result = run(inputs, builders.all_blocks(inputs), cores=2)
        assert not result.findings, str(result)
        results.append((out, lse))
    assert_same(results)


@pytest.mark.parametrize("static_scales", [True, False], ids=["static", "per-token"])
def test_page_places_change_nothing(static_scales):
    inputs = inputs_of(Case("pages", seq_lens=(700, 99), static_scales=static_scales))
    block_ids = builders.all_blocks(inputs)
    moves = [inputs, *(operators.permute_pages(inputs, seed) for seed in range(3))]
    results = [run(moved, block_ids, cores=2, seed=seed)[:2] for seed, moved in enumerate(moves)]
    assert_same(results)


def test_every_key_is_read_once():
    """Keys and values of listed tokens, in whole groups of 8, and nothing else of the caches."""
    case = Case("bytes", seq_lens=(10240, 5001), n_kv=2, group=4, head_dim=128, page_size=128, tail_blocks=32)
    counters = run(inputs_of(case), lists_of(case), cores=24)[2].counters
    tokens = 0
    for length, ids in zip(case.seq_lens, lists_of(case), strict=True):
        listed = ids[ids >= 0]
        partial = 16 - length % 16 if length % 16 else 0
        tokens += 16 * listed.size - case.n_kv * (partial // 8 * 8)
    for name in ("key_cache", "value_cache"):
        assert counters.region_read_bytes[name] == tokens * case.head_dim, counters.byte_table()


# Whether runs, and pairs, are joined.
JOINS = ((False, False), (False, True), (True, False), (True, True))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "changes",
    [{}, {"seq_lens": (1203, 77, 3), "static_scales": False, "s_q": 2}, {"page_size": 24, "block_size": 8}],
    ids=["pages", "partial", "small-pages"],
)
def test_joined_gathers_change_nothing(changes, layout):
    """Runs and pairs move the same bytes to the same places."""
    case = Case("joins", seq_lens=(3000, 500), layout=layout, page_size=128, head_dim=128).but(**changes)
    inputs = inputs_of(case)
    counts, results = [], []
    for seed, (runs, pairs) in enumerate(JOINS):
        found = run(inputs, lists_of(case), cores=3, seed=seed, joins_runs=runs, joins_pairs=pairs)
        assert_right(inputs, golden_of(case), found)
        results.append(found[:2])
        counts.append(found[2].counters.instructions["DataCopy"].count)
    assert_same(results)
    alone, pairs, runs, both = counts
    assert runs < alone and both <= runs
    assert pairs == alone if layout == "PA_KV" else pairs < alone


# How the cores share and order their work.
POLICIES = (
    {"touched_percent": 25},
    {"touched_percent": 100},
    {"preloads": False},
    {"preloads": False, "touched_percent": 60},
)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("static_scales", [True, False], ids=["static", "per-token"])
def test_shares_of_the_gather_and_overlap_change_nothing(static_scales, layout):
    """Vector cores that read ahead of the cube core, and tasks one by one."""
    case = Case(
        "policies", seq_lens=(3000, 0, 77, 1203), layout=layout, page_size=128, head_dim=128, s_q=2,
        static_scales=static_scales,
    )  # fmt: skip
    results = [check(case, cores=3)]
    for seed, policy in enumerate(POLICIES):
        results.append(check(case, cores=3, seed=seed, **policy))
    assert_same(results)
    planned = [check(case, cores=5, planned=True, **policy) for policy in ({}, *POLICIES)]
    assert_same(planned)


def test_tasks_one_by_one_take_longer():
    """What the overlap is for."""
    case = Case("overlap", seq_lens=(6000,), head_dim=128, page_size=128, layout="PA_NZ")
    cycles = [run(inputs_of(case), lists_of(case), cores=2, preloads=p)[2].cycles for p in (True, False)]
    assert 1.5 * cycles[0] < cycles[1]


@pytest.mark.parametrize("share", [-1, 101])
def test_shares_that_are_none_are_refused(share):
    case = Case("refused")
    with pytest.raises(ValueError, match=r"touched_percent must be in \[0, 100\]"):
        run(inputs_of(case), lists_of(case), touched_percent=share)


def gathers(case: Case, **joins: bool) -> int:
    """DMAs of the cube cores: those of the gather, and others whose number depends on the list alone."""
    counters = run(inputs_of(case), lists_of(case), cores=24, **joins)[2].counters
    return sum(core.pipes["MTE2"].instructions for core in counters.cores if core.kind == "AIC")


@pytest.mark.parametrize(
    ("layout", "page_size", "share"),
    [("PA_BNSD", 128, 0.6), ("PA_NZ", 128, 0.6), ("PA_BNSD", 512, 0.5), ("PA_BSND", 512, 0.5)],
)
def test_joins_save_gathers(layout, page_size, share):
    """A list of random blocks, of which the newest are consecutive, in at most this share of the DMAs."""
    case = Case(
        "gathers", seq_lens=(10240, 8192), head_dim=128, page_size=page_size, layout=layout, tail_blocks=32
    )
    blocks = int((lists_of(case) >= 0).sum())
    alone = gathers(case, joins_runs=False, joins_pairs=False)
    others = alone - 2 * blocks
    assert 0 < others < blocks / 4
    joined = gathers(case) - others
    print(f"{joined} of {2 * blocks}: {joined / (2 * blocks):.3f}")
    assert joined <= share * 2 * blocks
    twins = case.but(layout="PA_KV")
    assert gathers(twins, joins_runs=False) - others == blocks


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"layout": "BSND", "static_scales": False},
        {"s_q": 2, "query_lens": (2, 1, 0, 2)},
        {"layout": "PA_KV"},
    ],
    ids=["pages", "dense", "mtp", "twins"],
)
def test_wrong_values_lead_nowhere_outside(changes, seed):
    """Whatever lengths, ids and tables say, the kernel stays inside its tensors and writes every row."""
    rng = np.random.default_rng(seed)
    inputs = builders.build(Case("wrong", seq_lens=(200, 77, 16, 290), max_seq_len=300, **changes), seed=40)
    extremes = np.array([-(2**31), -1, 0, 1, 18, 19, 299, 300, 301, 10**6, 2**31 - 1], np.int32)
    inputs.seq_lens = rng.choice(extremes, len(inputs.seq_lens))
    if inputs.block_table is not None:
        inputs.block_table = rng.choice(extremes, inputs.block_table.shape)
    if inputs.query_lens is not None:
        inputs.query_lens = rng.choice(extremes, len(inputs.query_lens))
    block_ids = rng.choice(extremes, (*inputs.query.shape[:2], 2, 30))
    print(inputs.seq_lens, inputs.query_lens)
    _, _, result = run(inputs, block_ids, cores=2, seed=seed)
    assert not result.findings, str(result)


def test_a_plan_that_does_not_fit_is_refused():
    """The assertion fails, and every row is written as one that sees nothing."""
    inputs, block_ids = inputs_of(LONG), lists_of(LONG)
    plan = plan_of(inputs, 3)
    plan[16] = 1  # the first row would belong to nobody
    out, lse, result = run(inputs, block_ids, cores=3, plan=plan)
    assert result.findings and all("plan" in finding.text for finding in result.findings), str(result)
    assert not out.any() and np.isneginf(lse).all()


def test_lists_of_more_slots_than_the_kernel_counts_are_refused():
    case = Case("refused", seq_lens=(16,), block_size=128, page_size=128, n_kv=1)
    block_ids = np.zeros((1, 1, 1, 2**24), np.int32)
    with pytest.raises(ValueError, match=r"width \* block_size < 2\^31 on an NPU, got 16777216 \* 128"):
        run(inputs_of(case), block_ids)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"head_dim": 96}, "query must have head_dim 64, 128 or 256 on an NPU .*got 96"),
        ({"layout": "PA_NZ", "page_size": 8192, "seq_lens": (16,)}, "page_size <= 8191 in layout PA_NZ"),
        ({"layout": "PA_KV", "page_size": 4096, "seq_lens": (16,)}, r"page_size \* head_dim/4 <= 65535"),
    ],
)
def test_what_only_other_backends_take_is_refused(changes, message):
    case = Case("refused", **changes)
    with pytest.raises(ValueError, match=message):
        run(inputs_of(case), lists_of(case))
