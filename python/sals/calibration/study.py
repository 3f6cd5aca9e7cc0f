# SPDX-License-Identifier: Apache-2.0
"""Choose the index of a model by measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from .artifact import Calibration, ModelFingerprint
from .entries import Entry, cheapest_good, choose_finalists, joined, make_report, quality
from .evaluate import HeldOut, TokenScores, index_scorer
from .moments import collect_moments
from .options import CalibrationOptions
from .variants import ProjectionFactory, default_variants

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
        self._positions = model.config.get_text_config().max_position_embeddings
        measured = options.context + options.eval_tokens
        if measured > self._positions:
            raise ValueError(
                f"sals.calibrate: context + eval_tokens must be at most the model's {self._positions} "
                f"positions, got {measured}"
            )

    def run(self) -> Calibration:
        skip = self._options.budget.sink_blocks * self._options.budget.block_size
        max_seq_len = self._options.max_seq_len or self._positions
        moments = collect_moments(self._model, self._windows, max_seq_len, skip)
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
        chosen = cheapest_good(finalists, self._options.tolerance)
        dense_layers, trials = self._choose_dense_layers(places, chosen)
        final = self._with_dense_layers(places, chosen, dense_layers)
        dense = joined([place.dense() for place in places])
        settings = self._options.settings() | {
            "dense_layer_trials": trials,
            "result": quality(final, dense),
            "dense_perplexity": float(dense.nll.mean().exp()),
            "torch": torch.__version__,
            "model_dtype": str(self._model.dtype).removeprefix("torch."),
        }
        report = make_report(entries, chosen, dense, self._options.tolerance)
        projection = factory.projection(chosen.variant)
        return Calibration(
            query_projection=projection,
            key_projection=projection,
            rotated=chosen.variant.rotated,
            block_size=budget.block_size,
            sink_blocks=budget.sink_blocks,
            tail_blocks=budget.tail_blocks,
            dense_layers=dense_layers,
            model=self._facts,
            report=report,
            settings=settings,
        )

    def _screen(self, places: Sequence[HeldOut], factory: ProjectionFactory) -> list[Entry]:
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
            entries.append(Entry(variant, 1 if variant.joint else self._facts.n_kv, scorers[name], mass))
        return entries

    def _measure(
        self, places: Sequence[HeldOut], entry: Entry, keep: Fraction, dense_layers: Sequence[int] = ()
    ) -> TokenScores:
        return joined([place.sparse(entry.scorer, keep, dense_layers) for place in places])

    def _choose_dense_layers(
        self, places: Sequence[HeldOut], chosen: Entry
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
            mass = float(chosen.mass[keep][layer])
            trials.append({"layer": layer, "keep": str(keep), "mass": mass, "kl": kl, "chosen": taken})
            dense += [layer] if taken else []
            self._progress(f"layer {layer} dense: KL at {keep} {before:.4f} -> {kl:.4f}")
        return tuple(sorted(dense)), trials

    def _with_dense_layers(
        self, places: Sequence[HeldOut], chosen: Entry, dense_layers: tuple[int, ...]
    ) -> dict[Fraction, TokenScores]:
        """Return the scores of the final choice: the index and the dense layers together."""
        if not dense_layers:
            return chosen.scores
        return {keep: self._measure(places, chosen, keep, dense_layers) for keep in self._options.keeps}


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
