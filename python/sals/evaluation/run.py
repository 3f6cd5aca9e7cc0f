# SPDX-License-Identifier: Apache-2.0
"""Load, calibrate, run every row, write the report."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sals.calibration import Calibration, CalibrationOptions, ModelFingerprint, calibrate
from sals.demo.model import load_local, load_smollm2
from sals.demo.text import pydoc_text
from sals.methods.interface import Evictor
from sals.methods.memory import dense_bytes, footprint, row_slots

from .endless import endless_methods, run_endless
from .lm_harness import run_tasks
from .needles import Needle, make_needles
from .options import EvalOptions
from .passage import Outcome, Passage, run_row
from .prefix import Prefix
from .report import write_report
from .results import NeedleResult, Results, RowResult
from .rows import Row, attach_options, make_row
from .statistics import kl_and_excess

Progress = Callable[[str], None]

ENDLESS_STRETCH = 512


class Comparison:
    """A run of all rows on one model and text.

    Parameters
    ----------
    options : EvalOptions
        What to run.
    progress : callable
        Is told, in a sentence, what has been done.
    """

    def __init__(self, options: EvalOptions, progress: Progress) -> None:
        self._options = options
        self._progress = progress
        self._begin = time.perf_counter()
        load: Any = load_local if options.model else load_smollm2
        loaded = load(*([options.model] if options.model else []), dtype=torch.float32)
        self.model: PreTrainedModel = loaded[0]
        self.tokenizer: PreTrainedTokenizerBase = loaded[1]
        self._text = options.text.read_text() if options.text else pydoc_text()
        self._tokens: Tensor = self.tokenizer(self._text, return_tensors="pt", verbose=False).input_ids[0]
        self._facts = ModelFingerprint.of(self.model.config)
        self._check_lengths()
        self._tell(f"loaded {self._facts.name} and {len(self._tokens):,} tokens of text")
        self._calibration = self._make_calibration()

    def run(self) -> Results:
        """Run everything."""
        options = self._options
        results = Results(self._about(), options.memory_gib)
        for place, (context, window, targets) in enumerate(self._places()):
            prefix = Prefix(self.model, context)
            self._tell(f"place {place + 1}: read {len(context):,} tokens")
            passage = Passage(prefix, window, options.chunk, options.steps)
            dense = passage.dense()
            loss = -dense.log_p.gather(1, targets[:, None]).mean()
            results.dense_perplexity.append(float(loss.exp()))
            for name, budget in self._grid():
                row = make_row(name, options.tokens(budget, options.window), prefix, options.seed + place)
                outcome = run_row(self.model, row, passage, dense.watch(), self._calibration)
                compared = kl_and_excess(dense.log_p, outcome.log_p, targets)
                results.add(self._row_result(row, budget, outcome, *compared))
                self._tell(f"  {name} {budget}: KL {sum(compared[0]) / len(compared[0]):.4f}")
            if options.endless and place == 0:
                results.endless = self._endless(prefix)
            self._save(results)
        for needle in self._needles():
            self._run_needle(needle, results)
            self._save(results)
        return results

    def run_harness(self, tasks: Sequence[str], results: Results) -> None:
        """Run tasks of the harness, dense and with every row at the smallest budget; STCA at coverage 0.9."""
        budget = self._options.tokens(min(self._options.budgets), self._options.window)
        results.harness["dense, full precision"] = run_tasks(self.model, self.tokenizer, tasks)
        for name in self._options.methods:
            options = attach_options(make_row(name, budget, None, self._options.seed), self._calibration)
            results.harness[name] = run_tasks(self.model, self.tokenizer, tasks, options)
            self._tell(f"{name}: {', '.join(tasks)}")
        self._save(results)

    def _save(self, results: Results) -> None:
        """Write what there is, so that a run that is interrupted leaves it."""
        results.about["minutes"] = round((time.perf_counter() - self._begin) / 60, 1)
        results.about["processor_minutes"] = round(time.process_time() / 60, 1)
        results.save(self._options.output / "results.json")

    def _tell(self, line: str) -> None:
        self._progress(f"[{time.perf_counter() - self._begin:5.0f} s] {line}")

    def _grid(self) -> list[tuple[str, Fraction]]:
        """Rows and budgets; the dense row once, as budget 1."""
        rows = [(name, budget) for budget in self._options.budgets for name in self._options.methods]
        once = [("dense", Fraction(1))] if "dense" in self._options.methods else []
        return once + [(name, budget) for name, budget in rows if name != "dense"]

    def _check_lengths(self) -> None:
        options = self._options
        limit = self.model.config.get_text_config().max_position_embeddings
        longest = max(options.context + options.scored, options.needle_tokens)
        if longest > limit:
            raise ValueError(
                "sals eval: context + scored and needle_tokens must be at most the model's "
                f"{limit:,} positions, got {longest:,}"
            )
        needed = 2 * options.places * (options.context + options.scored + 1)
        needed = max(needed, 2 * (options.context + options.endless + 1), 2 * options.needle_tokens)
        if len(self._tokens) < needed:
            raise ValueError(
                f"sals eval: text must have at least {needed:,} tokens for these options, "
                f"got {len(self._tokens):,}"
            )

    def _make_calibration(self) -> Calibration | None:
        """Calibrate on the first half of the text. No layer is left dense, so that budgets stay equal."""
        options = self._options
        if "sals" not in options.methods:
            return None
        if options.calibration is not None and options.calibration.exists():
            made = Calibration.load(options.calibration)
            made.validate_for(self.model.config)
        else:
            study = CalibrationOptions(context=min(4096, options.context), finalists=1, dense_candidates=0)
            half = self._tokens[: len(self._tokens) // 2]
            made = calibrate(self.model, half, study)
            if options.calibration is not None:
                made.save(options.calibration)
        self._tell("calibrated the index of SALS")
        return dataclasses.replace(made, dense_layers=())

    def _places(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Context, window and targets of each place, evenly over the second half of the text."""
        options = self._options
        half = self._tokens[len(self._tokens) // 2 :]
        length = options.context + options.scored + 1
        stride = len(half) // options.places
        excerpts = [half[place * stride : place * stride + length] for place in range(options.places)]
        return [
            (part[: options.context], part[options.context : -1], part[options.context + 1 :])
            for part in excerpts
        ]

    def _row_result(
        self, row: Row, budget: Fraction, outcome: Outcome, kl: list[float], excess: list[float]
    ) -> RowResult:
        options = self._options
        index = self._calibration if row.method.name == "sals" else None
        if row.method.name == "sketch":
            index = row.method.index(self.model.config)  # type: ignore[attr-defined]
        read = float(outcome.watch.tokens.mean())
        tokens = read
        if isinstance(row.method, Evictor):
            tokens = row_slots(row.method, float(outcome.held.double().mean()))
        size = footprint(row.method, self._facts, options.window, tokens, index)
        return RowResult(
            name=row.name,
            budget=str(budget),
            is_selector=row.is_selector,
            kl=kl,
            excess=excess,
            mass=outcome.watch.mass.tolist(),
            cosine=outcome.watch.cosine.tolist(),
            tokens_read=[read],
            held=outcome.held.flatten().tolist(),
            stored_bytes=[size.stored],
            read_bytes=[size.read],
            resident_bytes=[outcome.resident],
            step_ms=[outcome.step_seconds * 1e3],
            coverage=[] if row.fit is None else [row.fit.coverage],
            variance=[] if row.fit is None else [row.fit.variance],
            advice=[] if row.fit is None else list(row.fit.advice),
        )

    def _endless(self, prefix: Prefix) -> list[dict[str, Any]]:
        options = self._options
        half = self._tokens[len(self._tokens) // 2 :]
        text = half[options.context : options.context + options.endless + 1]
        budget = options.tokens(
            min(options.budgets, key=lambda share: abs(share - Fraction(1, 8))), options.window
        )
        found = run_endless(self.model, prefix, text, endless_methods(budget), ENDLESS_STRETCH)
        self._tell(f"fed {options.endless:,} tokens behind the context")
        return [dataclasses.asdict(one) for one in found]

    def _needles(self) -> list[Needle]:
        options = self._options
        if not options.needle_tokens or not options.needle_seeds:
            return []
        haystack = self._tokens[len(self._tokens) // 2 :]
        sets = [
            make_needles(
                self.tokenizer,
                haystack,
                options.needle_tokens - 96,
                options.needle_depths,
                options.seed + seed,
            )
            for seed in range(options.needle_seeds)
        ]
        return [needle for made in sets for needle in made]

    def _run_needle(self, needle: Needle, results: Results) -> None:
        options = self._options
        prefix = Prefix(self.model, needle.context)
        passage = Passage(prefix, needle.window, options.chunk)
        dense = passage.dense()
        results.needles.append(self._needle_result("dense, full precision", Fraction(1), needle, dense.log_p))
        for name, budget in self._grid():
            tokens = options.tokens(budget, options.needle_tokens)
            row = make_row(name, tokens, prefix, options.seed)
            outcome = run_row(self.model, row, passage, dense.watch(), self._calibration)
            results.needles.append(self._needle_result(name, budget, needle, outcome.log_p))
        self._tell(f"needle {needle.kind} at depth {needle.depth}")

    @staticmethod
    def _needle_result(name: str, budget: Fraction, needle: Needle, log_p: Tensor) -> NeedleResult:
        likelihood, found = needle.score(log_p)
        return NeedleResult(name, str(budget), needle.kind, needle.depth, likelihood, found)

    def _about(self) -> dict[str, Any]:
        """Say what is measured, on what, with what."""
        options, facts = self._options, self._facts
        source = options.text.name if options.text else f"pydoc topics of CPython {platform.python_version()}"
        return {
            "model": facts.name,
            "shape": f"{facts.n_layers} layers, {facts.n_q} query and {facts.n_kv} KV heads, "
            f"head_dim {facts.head_dim}",
            "text": f"{source}, {len(self._tokens):,} tokens, "
            f"SHA-256 {hashlib.sha256(self._text.encode()).hexdigest()[:16]}",
            "machine": f"{_processor()}, {torch.get_num_threads()} threads, torch {torch.__version__}, "
            f"transformers {transformers.__version__}, {time.strftime('%Y-%m-%d')}",
            "index": "" if self._calibration is None else _index_name(self._calibration),
            "dense_bf16_bytes": dense_bytes(facts, options.window),
            **{
                name: getattr(options, name)
                for name in ("window", "context", "scored", "chunk", "places", "needle_tokens", "seed")
            },
            "needle_depths": list(options.needle_depths),
            "needle_seeds": options.needle_seeds,
        }


def _index_name(calibration: Calibration) -> str:
    chosen = [entry["name"] for entry in calibration.report if entry.get("chosen")]
    return chosen[0] if chosen else f"rank {calibration.rank}"


def _processor() -> str:
    """Name of the processor, as the system calls it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def run_eval(options: EvalOptions, progress: Progress = print, lm_eval_tasks: Sequence[str] = ()) -> Path:
    """Run a comparison and write results, plots and report into its folder; returns the report's path.

    Raises
    ------
    ValueError
        If the text is too short or the model too small for the options.
    FileNotFoundError
        If the text or the model is not there.
    """
    options.output.mkdir(parents=True, exist_ok=True)
    comparison = Comparison(options, progress)
    results = comparison.run()
    if lm_eval_tasks:
        comparison.run_harness(lm_eval_tasks, results)
    return write_report(results, options.output)
