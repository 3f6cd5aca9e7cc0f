# SPDX-License-Identifier: Apache-2.0
"""The pictures of a comparison."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from .results import Results
from .statistics import Mean

# Selectors have filled marks, evictors open ones; a row keeps its colour in every picture.
COLORS = (
    "#3182bd", "#e6550d", "#31a354", "#756bb1", "#8c6d31", "#636363",
    "#d6616b", "#17becf", "#bcbd22", "#e377c2", "#1f1f1f", "#9ecae1",
)  # fmt: skip
MARKS = "osD^vPX*<>hd"


def save_plots(results: Results, folder: Path, titles: dict[str, str]) -> dict[str, str]:
    """Save the plots that the results allow; returns their file names by kind."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    saved = {}
    for name, draw in (("quality", _quality), ("retention", _retention), ("layers", _layers)):
        figure = draw(plt, results, titles)
        if figure is not None:
            figure.savefig(folder / f"{name}.png", dpi=110)
            plt.close(figure)
            saved[name] = f"{name}.png"
    return saved


def _sparse_names(results: Results) -> list[str]:
    return list(dict.fromkeys(row.name for row in results.rows if row.name != "dense"))


def _quality(plt: Any, results: Results, titles: dict[str, str]) -> Any:
    """KL over budget, and the likelihood of the needles' answers."""
    names = _sparse_names(results)
    if not names:
        return None
    panels = 2 if results.needles else 1
    figure, axes = plt.subplots(1, panels, figsize=(6.2 * panels, 5), layout="constrained", squeeze=False)
    window = results.about["window"]
    tokens = {budget: float(Fraction(budget) * window) for budget in results.budgets}
    for index, name in enumerate(names):
        rows = {row.budget: row for row in results.rows if row.name == name}
        style = _style(index, next(iter(rows.values())).is_selector)
        means = [rows[budget].kl_mean for budget in results.budgets]
        # The lower end of an interval may lie below 0, which a logarithmic axis cannot show.
        error = [[min(m.half, 0.9 * m.mean) for m in means], [m.half for m in means]]
        x = [tokens[budget] for budget in results.budgets]
        axes[0, 0].errorbar(x, [m.mean for m in means], yerr=error, label=titles[name], **style)
        if results.needles:
            likelihood = [Mean.of(results.likelihoods(budget)[name]).mean for budget in results.budgets]
            axes[0, 1].plot(x, likelihood, **{k: v for k, v in style.items() if k != "capsize"})
    _label(
        axes[0, 0],
        tokens,
        "KL(dense || method), nats per token",
        f"Text behind {results.about['context']:,} tokens",
    )
    axes[0, 0].set_yscale("log")
    if results.needles:
        dense = Mean.of(results.likelihoods(results.budgets[0])["dense, full precision"]).mean
        axes[0, 1].axhline(dense, color="#000000", linestyle=":", label="dense, full precision")
        axes[0, 1].legend(loc="lower right")
        _label(
            axes[0, 1],
            tokens,
            "log likelihood of an answer's token",
            "Needles, the same shares of their context",
        )
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    return figure


def _style(index: int, is_selector: bool) -> dict[str, Any]:
    color = COLORS[index % len(COLORS)]
    return {
        "color": color,
        "marker": MARKS[index % len(MARKS)],
        "markerfacecolor": color if is_selector else "white",
        "linestyle": "-" if is_selector else "--",
        "capsize": 3,
        "markersize": 6,
    }


def _label(axis: Any, tokens: dict[str, float], ylabel: str, heading: str) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xticks(list(tokens.values()), [f"{share}\n{count:,.0f}" for share, count in tokens.items()])
    axis.minorticks_off()
    axis.set(xlabel="budget: share, tokens of the window", ylabel=ylabel, title=heading)
    axis.grid(alpha=0.3)


def _retention(plt: Any, results: Results, titles: dict[str, str]) -> Any:
    """How many tokens STCA's heads hold, a panel for each budget."""
    rows = [row for row in results.rows if row.coverage]
    if not rows:
        return None
    figure, axes = plt.subplots(
        1,
        len(results.budgets),
        figsize=(4.2 * len(results.budgets), 3.6),
        layout="constrained",
        squeeze=False,
    )
    for axis, budget in zip(axes[0], results.budgets, strict=True):
        mean = float(Fraction(budget) * results.about["window"])
        held = {row.name: row.held for row in rows if row.budget == budget}
        top = max(max(values) for values in held.values())
        bins = [top * step / 24 for step in range(25)]
        for index, (values, label) in enumerate(_alike(held, titles)):
            axis.hist(values, bins=bins, histtype="step", linewidth=1.8, color=COLORS[index], label=label)
        axis.axvline(mean, color="#000000", linestyle=":", label="budget")
        axis.set(title=f"Budget {budget}", xlabel="tokens held by a layer's head", ylabel="layers and heads")
    axes[0, 0].legend(fontsize="small")
    return figure


def _alike(held: dict[str, list[int]], titles: dict[str, str]) -> list[tuple[list[int], str]]:
    """Join the labels of rows that hold the same: demoting keeps what evicting keeps."""
    labels: dict[tuple[int, ...], list[str]] = {}
    for name, values in held.items():
        labels.setdefault(tuple(values), []).append(titles[name])
    return [(list(values), "\n".join(names)) for values, names in labels.items()]


def _layers(plt: Any, results: Results, titles: dict[str, str]) -> Any:
    """Attention kept by each layer, at the middle budget."""
    if not results.budgets:
        return None
    budget = results.budgets[len(results.budgets) // 2]
    rows = [row for row in results.at(budget) if row.name != "dense"]
    figure, axis = plt.subplots(figsize=(11, 0.36 * len(rows) + 1.6), layout="constrained")
    image = axis.imshow([row.mass for row in rows], aspect="auto", cmap="viridis", vmin=0, vmax=1)
    axis.set_yticks(range(len(rows)), [titles[row.name] for row in rows])
    axis.set(xlabel="layer", title=f"Share of dense attention on what is read, budget {budget}")
    figure.colorbar(image, ax=axis, pad=0.01)
    return figure
