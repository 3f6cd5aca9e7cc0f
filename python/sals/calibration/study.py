# SPDX-License-Identifier: Apache-2.0
"""Choose the index of a model by measurement."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from .artifact import Calibration, ModelFingerprint
from .evaluate import HeldOut, Scorer, TokenScores, index_scorer
from .moments import collect_moments
from .options import CalibrationOptions
from .variants import ProjectionFactory, Variant, default_variants

Progress = Callable[[str], None]


def calibrate(
    model: PreTrainedModel,
    tokens: Tensor,
    options: CalibrationOptions | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Find the index that keeps a model's outputs closest to dense attention, by measurement on a text.

    Projections come from the first half of the text, measurements from the second. Every variant is ranked by
    the share of dense attention that its blocks hold; the best are run sparsely (int4 index, int8 cache) and
    compared by KL(dense || sparse) of the next token, averaged over the budgets. Finally the layers with the
    least mass are tried as dense layers. Everything tried is in the ``report`` of the result.

    Parameters
    ----------
    model : PreTrainedModel
        A decoder with ``q_proj`` and ``k_proj`` in its attention layers, in evaluation mode. float32 gives
        figures that are free of rounding.
    tokens : Tensor[int64], shape (tokens,)
        The text, on the model's device. Use text like the model's workload.
    options : CalibrationOptions, optional
        Sizes and rules.
    progress : callable, optional
        Is told, in a sentence, what has been done.

    Returns
    -------
    Calibration
        Projections, dense layers, settings and the report.

    Raises
    ------
    ValueError
        If the text is too short, its shape is wrong or the model is of another form.

    References
    ----------
    SALS, arXiv 2510.24273, for projections from the covariance of keys. The paper fixes which keys and which
    layers; here both are measured.

    Examples
    --------
    >>> tokens = tokenizer(text, return_tensors="pt").input_ids[0]  # doctest: +SKIP
    >>> calibration = calibrate(model, tokens)  # doctest: +SKIP
    >>> calibration.save("model.safetensors")  # doctest: +SKIP
    """
    options = options or CalibrationOptions()
    return _Study(model, tokens, options, progress or (lambda _: None)).run()


@dataclasses.dataclass
class _Entry:
    """A variant with what was measured of it."""

    variant: Variant
    scorer: Scorer
    mass: dict[Fraction, Tensor]
    scores: dict[Fraction, TokenScores] = dataclasses.field(default_factory=dict)

    @property
    def mean_mass(self) -> float:
        return float(torch.stack(list(self.mass.values())).mean())

    @property
    def mean_kl(self) -> float:
        return float(torch.stack([scores.kl for scores in self.scores.values()]).mean())

    def index_bytes(self, n_kv: int) -> int:
        """Bytes a decode step reads per token and layer: int4 codes and a fp32 scale per index head."""
        return (1 if self.variant.joint else n_kv) * (self.variant.rank // 2 + 4)


class _Study:
    def __init__(
        self, model: PreTrainedModel, tokens: Tensor, options: CalibrationOptions, progress: Progress
    ):
        self._model = model
        self._options = options
        self._progress = progress
        self._facts = ModelFingerprint.of(model.config)
        self._variants = options.variants or default_variants(self._facts.n_kv, self._facts.head_dim)
        self._windows, self._excerpts = split_text(tokens, options)

    def run(self) -> Calibration:
        limit = self._options.max_seq_len or self._model.config.get_text_config().max_position_embeddings
        skip = self._options.budget.sink_blocks * self._options.budget.block_size
        moments = collect_moments(self._model, self._windows, limit, skip)
        factory = ProjectionFactory(moments, self._facts.n_kv, self._facts.head_dim)
        self._progress(f"read {len(self._windows)} windows of {self._options.window_tokens} tokens")

        budget, context = self._options.budget, self._options.context
        places = [HeldOut(self._model, excerpt, context, budget) for excerpt in self._excerpts]
        self._progress(f"read {len(places)} held-out contexts of {context} tokens")

        entries = self._screen(places, factory)
        finalists = choose_finalists(entries, self._options.finalists)
        for entry in finalists:
            entry.scores = {keep: self._measure(places, entry, keep) for keep in self._options.keeps}
            self._progress(f"{entry.variant.name}: mass {entry.mean_mass:.4f}, KL {entry.mean_kl:.4f}")
        chosen = self._cheapest_good(finalists)
        dense_layers, trials = self._choose_dense_layers(places, chosen)
        return self._result(
            factory, entries, chosen, dense_layers, trials, _joined([p.dense() for p in places])
        )

    def _screen(self, places: Sequence[HeldOut], factory: ProjectionFactory) -> list[_Entry]:
        scorers = {
            variant.name: index_scorer(factory.projection(variant), variant.rotated, self._options.budget)
            for variant in self._variants
        }
        keeps = self._options.keeps
        masses = [place.kept_mass(scorers, keeps) for place in places]
        self._progress(f"measured the attention mass of {len(scorers)} variants")
        entries = []
        for variant in self._variants:
            name = variant.name
            mass = {keep: torch.stack([mass[name, keep] for mass in masses]).mean(0) for keep in keeps}
            entries.append(_Entry(variant, scorers[name], mass))
        return entries

    def _measure(
        self, places: Sequence[HeldOut], entry: _Entry, keep: Fraction, dense_layers: Sequence[int] = ()
    ) -> TokenScores:
        return _joined([place.sparse(entry.scorer, keep, dense_layers) for place in places])

    def _cheapest_good(self, finalists: Sequence[_Entry]) -> _Entry:
        """Return the entry of fewest index bytes among those with a KL within the tolerance of the lowest."""
        limit = self._kl_limit(finalists)
        good = [entry for entry in finalists if entry.mean_kl <= limit]
        return min(good, key=lambda entry: (entry.index_bytes(self._facts.n_kv), entry.mean_kl))

    def _kl_limit(self, entries: Sequence[_Entry]) -> float:
        return min(entry.mean_kl for entry in entries if entry.scores) * (1 + self._options.tolerance)

    def _reason(self, entry: _Entry, chosen: _Entry, limit: float) -> str:
        """Say why a variant was chosen or not."""
        if entry is chosen:
            return f"fewest index bytes with a mean KL of at most {limit:.4f}"
        if not entry.scores:
            return "kept less attention mass than the finalists"
        if entry.mean_kl > limit:
            return f"mean KL {entry.mean_kl:.4f} above {limit:.4f}"
        return "more index bytes than the chosen one, or as many and a higher KL"

    def _choose_dense_layers(
        self, places: Sequence[HeldOut], chosen: _Entry
    ) -> tuple[tuple[int, ...], list[dict[str, Any]]]:
        """Try each layer of least mass as the only dense one, at the smallest budget, and take what gains."""
        keep = min(self._options.keeps)
        before = float(chosen.scores[keep].kl.mean())
        worst = chosen.mass[keep].argsort()[: self._options.dense_candidates].tolist()
        trials, dense = [], []
        for layer in worst:
            kl = float(self._measure(places, chosen, keep, (layer,)).kl.mean())
            gain = 1 - kl / before
            taken = gain >= self._options.dense_gain
            trials.append(
                {"layer": layer, "mass": float(chosen.mass[keep][layer]), "kl": kl, "chosen": taken}
            )
            dense += [layer] if taken else []
            self._progress(f"layer {layer} dense: KL at {keep} {before:.4f} -> {kl:.4f}")
        return tuple(sorted(dense)), trials

    def _result(
        self,
        factory: ProjectionFactory,
        entries: Sequence[_Entry],
        chosen: _Entry,
        dense_layers: tuple[int, ...],
        trials: list[dict[str, Any]],
        dense: TokenScores,
    ) -> Calibration:
        projection = factory.projection(chosen.variant)
        limit = self._kl_limit(entries)
        report = [
            _report_entry(entry, dense, self._facts.n_kv)
            | {"chosen": entry is chosen, "reason": self._reason(entry, chosen, limit)}
            for entry in entries
        ]
        settings = self._options.settings() | {
            "dense_layer_trials": trials,
            "dense_perplexity": float(dense.nll.mean().exp()),
            "torch": torch.__version__,
            "model_dtype": str(self._model.dtype).removeprefix("torch."),
        }
        budget = self._options.budget
        return Calibration(
            query_projection=projection,
            key_projection=projection,
            rotated=chosen.variant.rotated,
            block_size=budget.block_size,
            sink_blocks=budget.sink_blocks,
            tail_blocks=budget.tail_blocks,
            dense_layers=dense_layers,
            model=self._facts,
            report=tuple(report),
            settings=settings,
        )


def split_text(tokens: Tensor, options: CalibrationOptions) -> tuple[list[Tensor], list[Tensor]]:
    """Return calibration windows, evenly over the first half, and held-out excerpts, over the second.

    Raises
    ------
    ValueError
        If the text is not one-dimensional or a half is too short.
    """
    if tokens.dim() != 1 or tokens.is_floating_point():
        raise ValueError(
            "sals.calibrate: tokens must be a vector of token ids, "
            f"got {tokens.dtype} of shape {list(tokens.shape)}"
        )
    half = tokens.shape[0] // 2
    excerpt = options.context + options.eval_tokens + 1
    needed = 2 * max(options.windows * options.window_tokens, options.offsets * excerpt)
    if tokens.shape[0] < needed:
        raise ValueError(
            f"sals.calibrate: tokens must hold at least {needed} tokens for these options, "
            f"got {tokens.shape[0]}"
        )
    windows = _evenly(tokens[:half], options.windows, options.window_tokens)
    return windows, _evenly(tokens[half:], options.offsets, excerpt)


def _evenly(tokens: Tensor, count: int, length: int) -> list[Tensor]:
    stride = tokens.shape[0] // count
    return [tokens[index * stride : index * stride + length] for index in range(count)]


def choose_finalists(entries: Sequence[_Entry], count: int) -> list[_Entry]:
    """Return the best of each kind by mass, and the ``count`` best that differ in more than their basis."""
    ordered = sorted(entries, key=lambda entry: -entry.mean_mass)
    indexes: dict[tuple[bool, bool, int], _Entry] = {}
    kinds: dict[tuple[bool, bool], _Entry] = {}
    for entry in ordered:
        variant = entry.variant
        indexes.setdefault((variant.rotated, variant.joint, variant.rank), entry)
        kinds.setdefault((variant.rotated, variant.joint), entry)
    wanted = list(indexes.values())[:count] + list(kinds.values())
    return [entry for entry in ordered if any(entry is other for other in wanted)]


def _joined(scores: Sequence[TokenScores]) -> TokenScores:
    return TokenScores(torch.cat([s.nll for s in scores]), torch.cat([s.kl for s in scores]))


def _report_entry(entry: _Entry, dense: TokenScores, n_kv: int) -> dict[str, Any]:
    """Return one line of the report: JSON values, budgets as strings."""
    return {
        "name": entry.variant.name,
        **dataclasses.asdict(entry.variant),
        "index_bytes": entry.index_bytes(n_kv),
        "mass": {str(keep): float(mass.mean()) for keep, mass in entry.mass.items()},
        "layer_mass": {str(keep): [round(float(x), 4) for x in mass] for keep, mass in entry.mass.items()},
        "kl": {str(keep): float(scores.kl.mean()) for keep, scores in entry.scores.items()},
        "relative_perplexity": {
            str(keep): float((scores.nll - dense.nll).mean().exp()) for keep, scores in entry.scores.items()
        },
    }
