"""Figures with HTA's look, and showing them where figures can be shown."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from gpuscope._lazy import need
from gpuscope.errors import MissingDependency

from .utils.utils import shorten_name

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

_NAME_LENGTH = 60

_log = logging.getLogger("gpuscope.hta")


def show(build: Callable[[], Iterable[Figure]], renderer: str | None = None) -> None:
    """Build figures and show them with plotly's renderer, or the one that is named.

    Outside of notebooks plotly would open a browser tab for each: that has to be asked for by name. Whatever
    keeps figures from being shown is said in a warning, since the data that they show is returned all the
    same.
    """
    try:
        plotly_io = need("plotly.io", "visualize=True")
    except MissingDependency as missing:
        warnings.warn(f"no figures are shown: {missing}", stacklevel=3)
        return
    if (
        not renderer
        and not os.environ.get("PLOTLY_RENDERER")
        and plotly_io.renderers.default in ("", "browser")
    ):
        _log.info(
            'no figures are shown outside of notebooks; image_renderer="browser" opens them in a browser'
        )
        return
    try:
        for figure in build():
            figure.show(renderer=renderer or None)
    except (ImportError, OSError, RuntimeError, ValueError) as problem:
        warnings.warn(f"no figures are shown: {problem}", stacklevel=3)


def temporal(frame: pd.DataFrame) -> list[Figure]:
    """How the time of each rank was spent, as stacked bars."""
    shares = ["idle_time_pctg", "compute_time_pctg", "non_compute_time_pctg"]
    figure = _bars(frame, x="rank", y=shares, title="Temporal breakdown across ranks")
    figure.update_layout(barmode="stack", yaxis_title="Percentage", legend_title="Time Breakdown")
    figure.update_xaxes(type="category")
    return [figure]


def idle(frame: pd.DataFrame, as_pct: bool) -> list[Figure]:
    """What the streams of each rank waited for."""
    figures = []
    for rank, rows in frame.groupby("rank"):
        title = f"Idle time breakdown on rank {rank} per CUDA stream"
        value = "idle_time_ratio" if as_pct else "idle_time"
        figure = _bars(rows, x="stream", y=value, color="idle_category", title=title)
        figure.update_xaxes(type="category")
        figure.update_layout(barmode="stack", legend_title="Idle Time Breakdown")
        figure.update_yaxes(
            title="Percentage" if as_pct else "Idle time (us)", tickformat=".0%" if as_pct else ""
        )
        figures.append(figure)
    return figures


def overlap(frame: pd.DataFrame) -> list[Figure]:
    """How much of each rank's communication was hidden."""
    figure = _bars(frame, x="rank", y="comp_comm_overlap_pctg", title="Computation-Communication Overlap")
    figure.update_xaxes(type="category")
    figure.update_yaxes(title="Percentage")
    return [figure]


def kernel_breakdown(types: pd.DataFrame, kernels: pd.DataFrame) -> list[Figure]:
    """Kinds of work as a pie; for each kind a pie of kernels per rank, and bars of each over the ranks."""
    objects = need("plotly.graph_objects", "visualize=True")
    title = "Kernel Type Percentage Across All Ranks"
    pie = objects.Figure(
        objects.Pie(labels=types["kernel_type"], values=types["sum"]), {"title": {"text": title}}
    )
    figures = [pie]
    for kind, rows in kernels.groupby("kernel_type"):
        figures.append(_pies(rows, f'Kernel type "{kind}" - kernel distribution on each rank'))
        figures += _mean_bars(rows, f'Kernel type "{kind}" - ')
    return figures


def annotation_breakdown(frame: pd.DataFrame) -> list[Figure]:
    """A pie of annotations per rank, and bars of each over the ranks."""
    pies = _pies(frame, "User annotation distribution on each rank")
    return [pies, *_mean_bars(frame, "User annotation = ")]


def launches(rank: int, frame: pd.DataFrame, runtime_cutoff: float, delay_cutoff: float) -> list[Figure]:
    """Short kernels, long calls and long delays of a rank, as histograms."""
    short = frame[frame["cpu_duration"].le(runtime_cutoff) & frame["gpu_duration"].lt(frame["cpu_duration"])]
    slow = frame[frame["cpu_duration"].gt(runtime_cutoff)]
    late = frame[frame["launch_delay"].gt(delay_cutoff)]
    delays = f"Launch Delay Outliers (duration > {delay_cutoff} us) on rank {rank}"
    calls = f"Runtime Event Duration Outliers (duration > {runtime_cutoff} us) on rank {rank}"
    shorts = f"Short GPU kernels (gpu op duration < cpu op duration) on rank {rank}"
    return [
        _histogram(short, ["gpu_duration", "cpu_duration"], shorts),
        _histogram(slow, ["cpu_duration"], calls),
        _histogram(late, ["launch_delay"], delays),
    ]


def sequences(frame: pd.DataFrame, rank: int, top_k: int) -> list[Figure]:
    """How often the most frequent sequences occur."""
    top = frame.head(top_k)
    return [_bars(top, x="pattern", y="count", title=f"Top {top_k} frequent patterns for rank {rank}")]


def differences(frame: pd.DataFrame, quantity: str, change: str, title: str) -> Figure:
    """Two traces and what differs between them, name by name."""
    objects = need("plotly.graph_objects", "visualize")
    ending = f"_{quantity}"
    columns = [column for column in frame.columns if column.endswith(ending)][:2]
    bars = [objects.Bar(name=column[: -len(ending)], x=frame.index, y=frame[column]) for column in columns]
    bars.append(objects.Bar(name="Difference", x=frame.index, y=frame[change]))
    figure = objects.Figure(bars)
    figure.update_layout(barmode="group", title_text=title)
    return figure


def _bars(frame: pd.DataFrame, **options: Any) -> Figure:
    return need("plotly.express", "visualize=True").bar(frame, **options)


def _histogram(frame: pd.DataFrame, columns: list[str], title: str) -> Figure:
    figure = need("plotly.express", "visualize=True").histogram(frame, x=columns, title=title, nbins=100)
    figure.update_traces(opacity=0.7)
    figure.update_layout(barmode="overlay", xaxis_title="Duration (us)", yaxis_title="Count", legend_title="")
    return figure


def _pies(rows: pd.DataFrame, title: str) -> Figure:
    """One pie per rank, two in a row."""
    objects = need("plotly.graph_objects", "visualize=True")
    ranks = sorted(rows["rank"].unique())
    labels = _labels(rows["name"])
    cells = [[{"type": "domain"}] * 2 for _ in range((len(ranks) + 1) // 2)]
    figure = need("plotly.subplots", "visualize=True").make_subplots(rows=len(cells), cols=2, specs=cells)
    for place, rank in enumerate(ranks):
        of_rank = rows[rows["rank"].eq(rank)]
        values = {"labels": of_rank["name"].map(labels), "values": of_rank["sum (us)"]}
        pie = objects.Pie(**values, hovertext=of_rank["name"], title=f"Rank {rank}", textinfo="percent")
        figure.add_trace(pie, row=place // 2 + 1, col=place % 2 + 1)
    figure.update_layout(title_text=title, height=400 * len(cells))
    return figure


def _labels(names: Iterable[str]) -> dict[str, str]:
    """Names that fit beside a figure; hovering shows the whole ones. Pies would add up equal ones."""
    labels: dict[str, str] = {}
    for name in dict.fromkeys(names):
        short = shorten_name(name)
        short = short if len(short) <= _NAME_LENGTH else f"{short[: _NAME_LENGTH - 1]}…"
        alike = sum(known == short or known.startswith(f"{short} #") for known in labels.values())
        labels[name] = f"{short} #{alike + 1}" if alike else short
    return labels


def _mean_bars(rows: pd.DataFrame, title: str) -> list[Figure]:
    """The mean time of each name over the ranks; whiskers reach to the shortest and the longest."""
    figures = []
    labels = _labels(rows["name"])
    for name, of_name in rows[rows["name"].ne("others")].groupby("name"):
        above = of_name["max (us)"] - of_name["mean (us)"]
        below = of_name["mean (us)"] - of_name["min (us)"]
        spread = of_name.assign(above=above, below=below)
        figure = _bars(spread, x="rank", y="mean (us)", error_y="above", error_y_minus="below")
        figure.update_layout(title_text=f"{title}{labels[name]}", yaxis_title="Mean Duration (us)")
        figure.update_xaxes(type="category")
        figures.append(figure)
    return figures
