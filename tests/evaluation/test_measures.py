# SPDX-License-Identifier: Apache-2.0
"""Statistics, needles, and what the comparison measures, on a tiny model."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from torch import Tensor

from integrations.tiny_llama import make_calibration, make_model, random_ids
from sals.evaluation.needles import make_needles
from sals.evaluation.options import EvalOptions, parse_budgets, parse_names
from sals.evaluation.passage import Passage, run_row
from sals.evaluation.prefix import Prefix
from sals.evaluation.results import Results, RowResult
from sals.evaluation.rows import DEFAULT_ROWS, ROWS, Row, make_row
from sals.evaluation.statistics import Mean, kl_and_excess, segments, verdict
from sals.methods import make_method


@pytest.fixture(autouse=True)
def _no_gradients():
    with torch.no_grad():
        yield


def test_intervals_cover_the_mean_in_nineteen_of_twenty_cases() -> None:
    generator = random.Random(5)
    for n in (2, 5, 16):
        hits = 0
        for _ in range(2000):
            mean = Mean.of([generator.gauss(3, 2) for _ in range(n)])
            hits += mean.low <= 3 <= mean.high
        # 0.95 with a standard error of 0.005.
        assert abs(hits / 2000 - 0.95) < 0.02, n
    assert Mean.of([1.0]).half == math.inf
    with pytest.raises(ValueError, match=r"a mean must be of at least one value, got none"):
        Mean.of([])


def test_verdicts_are_of_paired_differences() -> None:
    noise = [0.0, 10.0, -5.0, 3.0, 7.0]
    ours = [value + 1 for value in noise]
    assert verdict(ours, [value + 2.1 + 0.01 * i for i, value in enumerate(noise)]) == "wins"
    assert verdict(ours, [value + 0.01 * i for i, value in enumerate(noise)]) == "loses"
    assert verdict(ours, [value + 1 + (-1) ** i for i, value in enumerate(noise)]) == "ties"


def test_kl_and_loss_by_segment() -> None:
    torch.manual_seed(3)
    dense, other = torch.randn(2, 70, 11).log_softmax(-1)
    targets = torch.randint(11, (70,))
    kl, excess = kl_and_excess(dense, other, targets)
    assert len(kl) == len(excess) == 3  # 32, 32 and 6 tokens
    expected = [float((dense[i].exp() * (dense[i] - other[i])).sum()) for i in range(70)]
    assert kl[1] == pytest.approx(sum(expected[32:64]) / 32, rel=1e-5)
    loss = [float(dense[i, targets[i]] - other[i, targets[i]]) for i in range(70)]
    assert excess[2] == pytest.approx(sum(loss[64:]) / 6, rel=1e-5)
    assert segments(torch.arange(40.0)) == [15.5, 35.5]


class Words:
    """A tokenizer of words."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def __call__(self, text: str, **_: object) -> object:
        class Encoded:
            input_ids = torch.tensor(
                [[self.known.setdefault(word, len(self.known)) for word in text.split()]]
            )

        return Encoded


def test_needles_stand_where_they_say() -> None:
    tokenizer = Words()
    tokenizer("hay")
    needles = make_needles(tokenizer, torch.zeros(4000, dtype=torch.int64), 1000, (0.2, 0.8), seed=1)
    assert [(needle.kind, needle.depth) for needle in needles] == [
        ("single", 0.2), ("single", 0.8), ("multi-key", 0.2), ("multi-key", 0.8),
    ]  # fmt: skip
    names = {number: word for word, number in tokenizer.known.items()}
    for needle in needles:
        assert len(needle.context) == 1000
        words = [names[int(token)] for token in needle.context]
        answer = names[int(needle.window[-1])]
        facts = [i for i, word in enumerate(words) if word == "number"]
        assert len(facts) == (1 if needle.kind == "single" else 8)
        where = words.index(f"{answer}.")
        assert abs(where / 1000 - needle.depth) < 0.08
        place = names[int(needle.window[-3])]
        assert words[where - 2] == place
    with pytest.raises(ValueError, match=r"depths must be numbers in \[0, 1\], got \(1\.5,\)"):
        make_needles(tokenizer, torch.zeros(4000, dtype=torch.int64), 1000, (1.5,), seed=1)
    with pytest.raises(ValueError, match=r"needles need a text of at least 1000 tokens, got 10"):
        make_needles(tokenizer, torch.zeros(10, dtype=torch.int64), 1000, (0.5,), seed=1)


def test_a_needle_is_scored_by_its_answer_alone() -> None:
    needle = make_needles(Words(), torch.zeros(400, dtype=torch.int64), 300, (0.5,), seed=1)[0]
    log_p = torch.full((len(needle.window), 60), -5.0)
    log_p[-2, needle.window[-1]] = -0.5
    assert needle.score(log_p) == (-0.5, True)
    log_p[-2, (int(needle.window[-1]) + 1) % 60] = -0.1
    assert needle.score(log_p) == (-0.5, False)


@pytest.fixture(scope="module")
def passage() -> Passage:
    with torch.no_grad():
        ids = random_ids(1, 432)[0]
        return Passage(Prefix(make_model(), ids[:400]), ids[400:], chunk=16, steps=4)


def test_a_prefix_is_the_models_own_prefill(passage: Passage) -> None:
    dense = passage.dense()
    whole = torch.cat([passage.prefix.tokens, passage.window])
    expected = passage.prefix.model(whole[None]).logits[0, 400:].log_softmax(-1)
    torch.testing.assert_close(dense.log_p, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", DEFAULT_ROWS)
def test_rows_start_from_the_prefix_as_from_a_prompt(passage: Passage, name: str) -> None:
    """Filling a cache from recorded states is what a prompt through the attached model does."""
    from sals.evaluation.rows import attach_options
    from sals.integrations.transformers import attach

    model = passage.prefix.model
    calibration = make_calibration(model)
    row = make_row(name, 128, passage.prefix, seed=0)
    dense = passage.dense()
    outcome = run_row(model, row, passage, dense.watch(), calibration)
    with attach(model, **attach_options(row, calibration)) as handle:
        cache = handle.new_cache(1, 440)
        model(passage.prefix.tokens[None], cache=cache)
        parts = [model(chunk[None], cache=cache).logits[0] for chunk in passage.window.split(16)]
    expected = torch.cat(parts).log_softmax(-1)
    # The prompt's scores are the same sums in another order, so a near tie may fall otherwise: rarely.
    assert float((outcome.log_p - expected).abs().mean()) < 1e-3
    assert outcome.step_seconds > 0


def test_what_is_watched(passage: Passage) -> None:
    model = passage.prefix.model
    dense = passage.dense()
    everything = run_row(model, Row("dense", make_method("dense")), passage, dense.watch(), None)
    assert everything.watch.mass.tolist() == pytest.approx([1, 1], abs=1e-4)
    assert everything.watch.cosine.min() > 0.999
    # The watched passes are the first of 16 tokens each: queries that see 401 to 416 tokens.
    assert everything.watch.tokens.tolist() == pytest.approx([408.5, 408.5])
    calibration = make_calibration(model)
    rows = {
        name: make_row(name, 128, passage.prefix, 0) for name in ("sals", "oracle", "streaming", "window")
    }
    found = {name: run_row(model, row, passage, dense.watch(), calibration) for name, row in rows.items()}
    assert found["oracle"].watch.mass[0] > found["sals"].watch.mass[0]
    assert all(0 < outcome.watch.mass.min() < 1 for outcome in found.values())
    for name in ("sals", "oracle"):
        # Eight blocks, of which the newest is 1 to 16 tokens long.
        assert found[name].watch.tokens.tolist() == pytest.approx([120.5, 120.5])
    for name in ("streaming", "window"):
        # 128 with the last query of a pass, 15 fewer with the first.
        assert found[name].watch.tokens.tolist() == pytest.approx([120.5, 120.5])
        assert found[name].held.tolist() == [[128, 128]] * 2


def test_stca_meets_the_budget_on_average(passage: Passage) -> None:
    row = make_row("stca", 192, passage.prefix, 0)
    assert row.fit is not None
    assert 192 - 64 - 1 <= row.fit.mean <= 192 - 64
    outcome = run_row(passage.prefix.model, row, passage, passage.dense().watch(), None)
    assert float(outcome.held.double().mean()) == pytest.approx(row.fit.mean, abs=0.5)


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match=r"methods must be among dense, .*, got h3o"):
        EvalOptions(methods=("sals", "h3o"))
    with pytest.raises(ValueError, match=r"budgets must be in \(0, 1\], got 2"):
        EvalOptions(budgets=(Fraction(2),))
    with pytest.raises(
        ValueError, match=r"budgets must be at least four chunks = 128 tokens, got 1/128 of 8192"
    ):
        EvalOptions(budgets=(Fraction(1, 128),))
    with pytest.raises(ValueError, match=r"places must be positive, got 0"):
        EvalOptions(places=0)
    with pytest.raises(ValueError, match=r"budgets must be shares such as 1/4,1/8, got 'a/b'"):
        parse_budgets("a/b")
    assert parse_budgets("1/4, 0.5") == (Fraction(1, 4), Fraction(1, 2))
    assert parse_names("sals, h2o,") == ("sals", "h2o")
    assert set(DEFAULT_ROWS) <= set(ROWS)


def result(name: str, budget: str, kl: list[float]) -> RowResult:
    return RowResult(
        name, budget, name in ("sals", "dense"), kl, list(kl), [0.9, 0.8], [0.99, 0.98], [100.0], [90, 110],
        [1e6], [5e5], [9e5], [20.0], [0.9] if name == "stca" else [], [4.0] if name == "stca" else [], [],
    )  # fmt: skip


def make_results() -> Results:
    about = {
        "model": "tiny", "shape": "2 layers", "text": "words", "machine": "a machine", "index": "rank 64",
        "dense_bf16_bytes": 2e6, "window": 512, "context": 400, "scored": 64, "chunk": 16, "places": 2,
        "needle_tokens": 0, "seed": 0, "needle_depths": [], "needle_seeds": 0, "minutes": 1,
        "processor_minutes": 2,
    }  # fmt: skip
    results = Results(about, 1.0, [5.0])
    for name in ("dense", "sals", "stca", "window"):
        worse = {"dense": 0.0, "sals": 0.1, "stca": 0.1, "window": 5.0}[name]
        for budget in ("1",) if name == "dense" else ("1/4", "1/8"):
            for place in range(2):
                results.add(result(name, budget, [worse + 0.01 * (place + i) * (-1) ** i for i in range(4)]))
    return results


def test_results_join_places_and_come_back(tmp_path: Path) -> None:
    results = make_results()
    assert len(results.rows) == 7
    row = results.rows[1]
    assert row.places == 2 and len(row.kl) == 8 and row.mass == pytest.approx([0.9, 0.8])
    assert results.verdicts("sals", "1/4") == {"stca": "ties", "window": "wins"}
    assert results.verdicts("quest", "1/4") == results.cheaper_verdicts("quest", "1/4") == {}
    results.save(tmp_path / "results.json")
    assert Results.load(tmp_path / "results.json") == results


def test_a_method_that_reads_fewer_bytes_takes_part_with_its_best_budget() -> None:
    results = make_results()
    rows = {(row.name, row.budget): row for row in results.rows}
    # Worse at the same budget, but for the bytes of SALS at 1/8 it may read at 1/4.
    better = [value - 0.05 - 0.001 * index for index, value in enumerate(rows["sals", "1/8"].kl)]
    rows["window", "1/4"].kl = better
    # The best of all reads too much.
    rows["stca", "1/4"].kl, rows["stca", "1/4"].read_bytes = [0.0] * 8, [9e5]
    assert results.cheaper_verdicts("sals", "1/8") == {("stca", "1/8"): "ties", ("window", "1/4"): "loses"}


def test_the_report_says_who_wins(tmp_path: Path) -> None:
    from sals.evaluation.report import write_report

    page = write_report(make_results(), tmp_path).read_text()
    assert "| KL | 1/4, 1/8 | window | STCA | - |" in page
    assert "| KL, bytes alike | 1/4, 1/8 | window at 1/4 | STCA at 1/4 | - |" in page
    assert "| SALS | " in page and "536" in page  # requests of 2 MB in bfloat16 that fit 1 GiB
    for name in ("quality", "retention", "layers"):
        assert f"]({name}.png)" in page
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_the_harness_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    from sals.evaluation import lm_harness

    monkeypatch.setattr(lm_harness.importlib.util, "find_spec", lambda _: None)
    lm_harness.check_installed(())
    with pytest.raises(ModuleNotFoundError, match=r"lm_eval must be installed for its tasks"):
        lm_harness.check_installed(("gsm8k",))


def test_tensors_are_let_go(passage: Passage) -> None:
    """A prefix that outlives its rows must not have been changed by them."""
    before: Tensor = passage.prefix.layers[0].key.clone()
    run_row(
        passage.prefix.model, make_row("h2o", 128, passage.prefix, 0), passage, passage.dense().watch(), None
    )
    assert torch.equal(before, passage.prefix.layers[0].key)
