# SPDX-License-Identifier: Apache-2.0
"""Measure what sparse attention does to a model's predictions, for every index that calibration knows.

    python -m benchmarks.quality   # SmolLM2-135M, pydoc text; about half an hour on two cores
    python -m benchmarks.quality --keeps 1/4 1/6 1/8 1/16 --layers   # more budgets, and each layer alone
    python -m benchmarks.quality --model DIR --text FILE

Writes docs/explanation/quality-results.md. All rows read the KV cache as int8.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import platform
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import torch
import transformers
from torch import Tensor

from benchmarks import machine
from sals.calibration import CalibrationOptions, ModelFingerprint, calibrate, default_variants
from sals.calibration.evaluate import HeldOut, Scorer, TokenScores, attention_block_scores, index_scorer
from sals.calibration.moments import collect_moments
from sals.calibration.probe import AttentionCall
from sals.calibration.study import split_text
from sals.calibration.variants import ProjectionFactory
from sals.demo.model import load_local, load_smollm2
from sals.demo.text import pydoc_text

KEEPS = (Fraction(1, 4), Fraction(1, 8))
OUTPUT = Path(__file__).parents[1] / "docs/explanation/quality-results.md"
SEED = 0


@dataclasses.dataclass(frozen=True)
class Row:
    """One way to select; ``scorer`` None keeps every block."""

    name: str
    scorer: Scorer | None
    dense_layers: tuple[int, ...] = ()


@dataclasses.dataclass
class Result:
    """Token scores of a row at a budget over all places, and its share of attention mass."""

    scores: TokenScores
    mass: float


def main() -> None:
    arguments = parse_arguments()
    load = load_local if arguments.model else load_smollm2
    model, tokenizer = load(*([arguments.model] if arguments.model else []), dtype=torch.float32)
    text = arguments.text.read_text() if arguments.text else pydoc_text()
    tokens = tokenizer(text, return_tensors="pt").input_ids[0]
    options = CalibrationOptions(
        keeps=tuple(arguments.keeps),
        windows=16,
        window_tokens=1024,
        offsets=arguments.offsets,
        context=arguments.context,
        eval_tokens=arguments.tokens,
    )
    rows = [*baselines(options), *calibrated_rows(model, tokens, options)]
    places = [
        HeldOut(model, excerpt, options.context, options.budget) for excerpt in split_text(tokens, options)[1]
    ]
    results = measure(places, rows, options)
    layers = layer_table(places, rows[-1], min(options.keeps)) if arguments.layers else ""
    source = (
        arguments.text.name if arguments.text else f"the pydoc topics of CPython {platform.python_version()}"
    )
    head = describe(model, tokens.shape[0], source, text, options, places)
    arguments.output.write_text("\n".join([head, table(rows, results, places), layers]))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="model directory; SmolLM2-135M by default")
    parser.add_argument("--text", type=Path, help="text file; the pydoc topics by default")
    parser.add_argument("--keeps", type=Fraction, nargs="+", default=KEEPS, help="budgets")
    parser.add_argument("--layers", action="store_true", help="also measure each layer alone")
    parser.add_argument("--offsets", type=int, default=3, help="places to measure at")
    parser.add_argument("--context", type=int, default=7680, help="tokens before each place")
    parser.add_argument("--tokens", type=int, default=256, help="tokens measured at each place")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    return parser.parse_args()


def baselines(options: CalibrationOptions) -> list[Row]:
    """Selections that use no index."""
    block_size = options.budget.block_size

    def recency(call: AttentionCall) -> Tensor:
        blocks = options.budget.num_blocks(call.key.shape[0])
        return torch.arange(blocks).float().expand(1, call.query.shape[0], blocks)

    def chance(call: AttentionCall) -> Tensor:
        generator = torch.Generator().manual_seed(SEED + call.layer)
        shape = call.key.shape[1], call.query.shape[0], options.budget.num_blocks(call.key.shape[0])
        return torch.rand(shape, generator=generator)

    return [
        Row("int8 cache, all blocks", None),
        Row("oracle: true attention", lambda call: attention_block_scores(call, block_size)),
        Row("sink and window of equal size", recency),
        Row("random blocks", chance),
    ]


def calibrated_rows(
    model: transformers.PreTrainedModel, tokens: Tensor, options: CalibrationOptions
) -> list[Row]:
    """Return every variant, and last what `sals.calibrate` chooses with its own, smaller defaults."""
    facts = ModelFingerprint.of(model.config)
    skip = options.budget.sink_blocks * options.budget.block_size
    limit = model.config.get_text_config().max_position_embeddings
    moments = collect_moments(model, split_text(tokens, options)[0], limit, skip)
    factory = ProjectionFactory(moments, facts.n_kv, facts.head_dim)
    rows = [
        Row(variant.name, index_scorer(factory.projection(variant), variant.rotated, options.budget))
        for variant in default_variants(facts.n_kv, facts.head_dim)
    ]
    chosen = calibrate(model, tokens, progress=print)
    name = next(entry["name"] for entry in chosen.report if entry["chosen"])
    scorer = index_scorer(chosen.key_projection, chosen.rotated, options.budget)
    dense = ", ".join(str(layer) for layer in chosen.dense_layers) or "none"
    rows.append(Row(f"`sals.calibrate`: {name}; no layer dense", scorer))
    rows.append(Row(f"`sals.calibrate`: {name}; dense layers: {dense}", scorer, chosen.dense_layers))
    return rows


def measure(
    places: Sequence[HeldOut], rows: Sequence[Row], options: CalibrationOptions
) -> dict[tuple[str, Fraction], Result]:
    """Run every row at every budget."""
    scorers = {row.name: row.scorer for row in rows if row.scorer is not None}
    masses = [place.kept_mass(scorers, options.keeps) for place in places]
    results = {}
    for row in rows:
        for keep in options.keeps:
            runs = [place.sparse(row.scorer, keep, row.dense_layers) for place in places]
            scores = TokenScores(torch.cat([run.nll for run in runs]), torch.cat([run.kl for run in runs]))
            mass = 1.0
            if row.scorer is not None:
                layer_mass = torch.stack([mass[row.name, keep] for mass in masses]).mean(0)
                layer_mass[list(row.dense_layers)] = 1.0
                mass = float(layer_mass.mean())
            results[row.name, keep] = Result(scores, mass)
        kls = [round(float(results[row.name, keep].scores.kl.mean()), 4) for keep in options.keeps]
        print(f"{row.name}: KL {kls}")
    return results


def table(rows: Sequence[Row], results: dict[tuple[str, Fraction], Result], places: Sequence[HeldOut]) -> str:
    """Render KL, relative perplexity and mass; ± is the standard error over tokens."""
    dense = torch.cat([place.dense().nll for place in places])
    keeps = sorted({keep for _, keep in results}, reverse=True)
    lines = []
    for title, cell in (
        ("Mean KL(dense ‖ sparse), nats per token", lambda result: mean_and_error(result.scores.kl)),
        ("Perplexity relative to dense", lambda result: relative_perplexity(result.scores.nll - dense)),
        ("Share of dense attention held by the blocks kept", lambda result: f"{result.mass:.4f}"),
    ):
        lines += [
            "",
            f"## {title}",
            "",
            "| selection | " + " | ".join(f"keep {keep}" for keep in keeps) + " |",
        ]
        lines += ["|---|" + "---|" * len(keeps)]
        for row in rows:
            cells = " | ".join(cell(results[row.name, keep]) for keep in keeps)
            lines.append(f"| {row.name} | {cells} |")
    return "\n".join(lines)


def layer_table(places: Sequence[HeldOut], row: Row, keep: Fraction) -> str:
    """Render what each layer alone contributes: only this layer sparse, and only this layer dense."""
    assert row.scorer is not None
    mass = torch.stack([place.kept_mass({"row": row.scorer}, [keep])["row", keep] for place in places]).mean(
        0
    )
    lines = [
        "",
        f"## Layers, index as chosen, keep {keep}",
        "",
        "| layer | mass kept | KL, only this layer sparse | KL, only this layer dense |",
        "|---|---|---|---|",
    ]
    layers = range(mass.shape[0])
    for layer in layers:
        others = [other for other in layers if other != layer]
        alone = torch.cat([place.sparse(row.scorer, keep, others).kl for place in places])
        without = torch.cat([place.sparse(row.scorer, keep, [layer]).kl for place in places])
        lines.append(
            f"| {layer} | {mass[layer]:.4f} | {mean_and_error(alone, 5)} | {mean_and_error(without)} |"
        )
    return "\n".join(lines) + "\n"


def mean_and_error(x: Tensor, digits: int = 4) -> str:
    return f"{x.mean():.{digits}f} ± {x.std() / len(x) ** 0.5:.{digits}f}"


def relative_perplexity(difference: Tensor) -> str:
    ratio = difference.mean().exp()
    return f"{ratio:.4f} ± {ratio * difference.std() / len(difference) ** 0.5:.4f}"


def describe(
    model: transformers.PreTrainedModel,
    num_tokens: int,
    source: str,
    text: str,
    options: CalibrationOptions,
    places: Sequence[HeldOut],
) -> str:
    """Say what was measured, on what, with what."""
    facts = ModelFingerprint.of(model.config)
    perplexities = ", ".join(f"{place.dense().nll.mean().exp():.2f}" for place in places)
    budget = options.budget
    lines = [
        "# Quality: results",
        "",
        "Written by `python -m benchmarks.quality`; [quality.md](quality.md) says what the figures mean.",
        "",
        f"- Machine: {machine.describe()}.",
        f"- The model ran in float32 on CPU, with PyTorch operations that restate the operators; "
        f"transformers {transformers.__version__}.",
        f"- Model: {facts.name}, {facts.n_layers} layers, {facts.n_q} query and {facts.n_kv} KV "
        f"heads, head_dim {facts.head_dim}.",
        f"- Text: {source}, {num_tokens} tokens, SHA-256 {hashlib.sha256(text.encode()).hexdigest()[:16]}.",
        f"- Projections come from {options.windows} windows of {options.window_tokens} tokens of its first "
        "half, measurements from the second.",
        f"- {len(places)} places, each {options.eval_tokens} teacher-forced tokens after {options.context} "
        f"tokens of dense context; dense perplexity there {perplexities}.",
        f"- Blocks of {budget.block_size} tokens, {budget.sink_blocks} sink and {budget.tail_blocks} tail "
        "blocks; int4 index.",
        "- All rows read keys and values as int8 with a scale per token and head; dense layers in float32.",
        "- ± is the standard error over tokens.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
