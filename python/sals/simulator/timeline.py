# SPDX-License-Identifier: Apache-2.0
"""A picture of the pipes of a few cores over modelled time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sals.simulator.trace import NOTE, Trace

GROUP_0 = ("AIC 0", "AIV 0", "AIV 1")
LEGEND_NAMES = 12  # the instructions with most time; the others are grey
OTHER_COLOR = "#bdbdbd"


def plot_timeline(
    trace: Trace,
    path: str | Path,
    *,
    cores: Sequence[str] = GROUP_0,
    window: tuple[float, float] | None = None,
    title: str = "",
) -> None:
    """Draw which instruction keeps which pipe busy.

    Parameters
    ----------
    trace : Trace
        From ``launch(trace=True)``.
    path : path
        Picture to write; its ending names the format.
    cores : sequence of str
        Names of cores; those that did not run are left out.
    window : (float, float), optional
        Modelled microseconds to show; by default the whole run.
    title : str
        What ran.

    Raises
    ------
    ValueError
        If none of the cores has an event in the window.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    lanes = _lanes(trace, cores, window)
    if not lanes:
        raise ValueError(f"sals: no event of {', '.join(cores)} lies in the window {window}")
    colors = _colors(trace, np.concatenate([events for _, events in lanes]))
    figure, axes = plt.subplots(figsize=(14, 1.2 + 0.32 * len(lanes)), layout="constrained")
    for place, (_, events) in enumerate(lanes):
        _draw_lane(axes, trace, place, events, colors)
    axes.set_yticks(range(len(lanes)), [label for label, _ in lanes])
    axes.invert_yaxis()
    axes.set(xlabel=f"us. {NOTE}", title=title)
    if window is not None:
        axes.set_xlim(*window)
    axes.margins(x=0)
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in colors.values()]
    axes.legend(handles, colors, loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _lanes(
    trace: Trace, cores: Sequence[str], window: tuple[float, float] | None
) -> list[tuple[str, np.ndarray]]:
    """Return the label and the events of each pipe that is busy in the window."""
    shown = np.ones(len(trace), bool)
    if window is not None:
        begin, end = trace.microseconds(trace.begin), trace.microseconds(trace.end)
        shown = (end > window[0]) & (begin < window[1])
    lanes = []
    for core in cores:
        if core not in trace.core_names:
            continue
        of_core = shown & (trace.core == trace.core_names.index(core))
        for pipe, name in enumerate(trace.pipes):
            events = np.flatnonzero(of_core & (trace.pipe == pipe))
            if len(events):
                lanes.append((f"{core}  {name}", events))
    return lanes


def _colors(trace: Trace, events: np.ndarray) -> dict[str, Any]:
    """Give the instructions with most time a colour each."""
    import matplotlib

    cycles = np.bincount(trace.name[events], (trace.end - trace.begin)[events], minlength=len(trace.names))
    ranked = [trace.names[i] for i in np.argsort(-cycles)[:LEGEND_NAMES] if cycles[i] > 0]
    palette = matplotlib.colormaps["Paired"]
    colors = {name: palette(i) for i, name in enumerate(ranked)}
    return {**colors, "other": OTHER_COLOR} if np.count_nonzero(cycles) > len(ranked) else colors


def _draw_lane(axes: Any, trace: Trace, place: int, events: np.ndarray, colors: dict[str, Any]) -> None:
    begin = trace.microseconds(trace.begin[events])
    last = trace.microseconds(trace.end[events]) - begin
    face = [colors.get(trace.names[i], OTHER_COLOR) for i in trace.name[events]]
    axes.broken_barh(
        np.column_stack([begin, last]).tolist(), (place - 0.4, 0.8), facecolors=face, linewidth=0
    )
