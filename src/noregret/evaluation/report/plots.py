"""The plots of a report as PNG or SVG, through matplotlib's Figure alone: no window, and no backend of the user's is touched."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...text import amount
from . import summary
from .palette import DASHES, LIGHT_PAPER, lines
from .summary import Learner, words

if TYPE_CHECKING:
    from .report import Report

SIDE_LEGEND = 5  # more names than this stand beside the plot
SETTLED = 10  # examples after which the curves of a longer stream set the scale


def draw(report: Report, what: str | None, form: str, *, learner: str | None = None) -> bytes:
    """Return one plot as the bytes of a PNG or SVG file."""
    rows = summary.ordered(report.learners, report.sort)
    able = {**kinds(rows), **report.form.drawings(rows)}
    if not able:
        raise ValueError("this report has no curves, no regret and no setting that varies: there is nothing to plot")
    if what is None:
        what = next((k for k in report.form.plots if k in able), next(iter(able)))
    if what not in able:
        raise ValueError(f"cannot plot {what!r}: this report has {', '.join(able)}")
    figure = new_figure()
    able[what](figure, report, rows, chosen(report, rows, learner))
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a label in letters that the font lacks is drawn as boxes
        figure.savefig(out, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    return out.getvalue()


def kinds(rows: Sequence[Learner]) -> dict[str, Callable[..., None]]:
    """Return what can be drawn of these learners, by name."""
    found: dict[str, Callable[..., None]] = {m.key: curves(m) for m in summary.measures(rows)}
    having = [row for row in rows if row["regret"] and row["regret"].get("curve")]
    if having:
        found["regret"] = regret
    if len(having) > 1:
        found["regrets"] = regrets
    if any(row.get("reliability") for row in rows):
        found["reliability"] = reliability
    if summary.swept(rows) and summary.sweep_measures(rows):
        found["sweep"] = sweep
    if summary.frontier(rows):
        found["frontier"] = frontier
    return found


def new_figure() -> Any:
    """Return an empty figure, or say how to get matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'noregret[plots]' (the HTML page needs nothing)") from error
    return Figure(figsize=(8.0, 4.6), layout="constrained", facecolor=LIGHT_PAPER["card"])


def chosen(report: Report, rows: Sequence[Learner], label: str | None) -> Learner:
    """Return the learner of that label, or the winner, or the first; for the regret one that has it."""
    if label is not None:
        found = [row for row in rows if row["label"] == label]
        if not found or not found[0]["regret"]:
            having = [row["label"] for row in rows if row["regret"]]
            raise ValueError(f"no regret of {label!r}: this report has that of {', '.join(having) or 'no learner'}")
        return found[0]
    having = [row for row in rows if row["regret"] and row["regret"].get("curve")] or list(rows)
    return next((row for row in having if row["label"] == report.winner), having[0])


def curves(measure: summary.Measure) -> Callable[..., None]:
    """Return the drawing of one column of the learning curves."""

    def drawing(figure: Any, report: Report, rows: Sequence[Learner], _: Learner) -> None:
        axes = new_axes(figure.subplots(), "examples", measure.title, percent=measure.percent)
        log_examples(axes)
        for at in report.data.get("true_drifts") or []:
            axes.axvline(at, color=LIGHT_PAPER["soft"], alpha=0.35, linewidth=5, zorder=1)
        drawn = []
        for i, row in enumerate([*rows, *summary.bracketed(report)]):
            values = row["curve"].get(measure.key)
            if not values:
                continue
            line(axes, row["curve"]["examples"], values, i, row["label"], bold=row["label"] == report.winner)
            drawn.append(settled(row["curve"]["examples"], values))
            for at in row["drifts"]:
                axes.axvline(at, color=lines(i + 1)[i], linewidth=1, linestyle=":", zorder=1)
                axes.plot([at], [1.0], "v", color=lines(i + 1)[i], transform=axes.get_xaxis_transform(), clip_on=False)
        keep_runaways_out(axes, drawn)
        axes.set_title(f"{measure.title.capitalize()} on {plain_text(report.data.get('name') or 'the stream')}", loc="left")
        legend(figure, axes)

    return drawing


def regret(figure: Any, report: Report, rows: Sequence[Learner], who: Learner) -> None:
    """Draw the loss of one learner and of the best fixed model, the regret between them, and what the theorem allows."""
    found = who["regret"]
    c = found["curve"]
    about = found.get("bound_measures") or "regret"
    bounded = found.get("bound") is not None and bool(c.get("bound"))
    panels = 3 if bounded and about != "regret" else 2
    figure.set_size_inches(4.6 * panels, 4.2)
    left, right, *third = (new_axes(a, f"{report.data.get('unit', 'example')}s", "") for a in figure.subplots(1, panels))
    title = found.get("title")
    left.set_title(f"{(title or 'loss').split(' before')[0].capitalize()} so far", loc="left")
    left.set_ylabel(title or f"cumulative {words(found['loss'])} loss")
    line(left, c["examples"], c["cumulative"], 0, who["label"], bold=True)
    line(left, c["examples"], c["comparator"], 2, summary.best_words(found), dash=1, bold=True)
    left.fill_between(c["examples"], numbers(c["cumulative"]), numbers(c["comparator"]), color=lines(1)[0], alpha=0.18, linewidth=0)
    thousands(left.xaxis)
    thousands(left.yaxis)
    each = [None if v is None else v / n for v, n in zip(c["regret"], c["examples"], strict=True)]
    right.set_title(f"Regret {summary.each(report)}", loc="left")
    line(right, c["examples"], each, 0, "regret", bold=True)
    if bounded and about == "regret":
        line(
            right,
            c["examples"],
            [None if v is None else v / n for v, n in zip(c["bound"], c["examples"], strict=True)],
            1,
            "bound",
            dash=1,
        )
    logarithmic(right, each)
    for axes in third:
        axes.set_title(f"{words(about).capitalize()} and their bound", loc="left")
        line(axes, c["examples"], c.get("measured") or [], 0, words(about), bold=True)
        line(axes, c["examples"], c["bound"], 1, "bound", dash=1)
        logarithmic(axes, c.get("measured") or [])
    for axes in (left, right, *third):
        axes.legend(frameon=False)


def regrets(figure: Any, report: Report, rows: Sequence[Learner], _: Learner) -> None:
    """Draw the regret an example of every learner."""
    axes = new_axes(figure.subplots(), f"{report.data.get('unit', 'example')}s", f"regret {summary.each(report)}")
    drawn = []
    for i, row in enumerate(rows):
        if row["regret"] and row["regret"].get("curve"):
            c = row["regret"]["curve"]
            each = [None if v is None else v / n for v, n in zip(c["regret"], c["examples"], strict=True)]
            line(axes, c["examples"], each, i, row["label"], bold=row["label"] == report.winner)
            drawn.append(each)
    logarithmic(axes, [v for values in drawn for v in values])
    keep_runaways_out(axes, drawn)
    axes.set_title(f"Regret {summary.each(report)}", loc="left")
    legend(figure, axes)


def reliability(figure: Any, report: Report, rows: Sequence[Learner], _: Learner) -> None:
    """Draw the share of rows in which a class came against the probability that was said, with the limits of chance."""
    having = [(i, row) for i, row in enumerate(rows) if row.get("reliability")]
    of = having[0][1]["reliability"]["of"]
    whose = "of the most probable class" if of is None else f"of {plain_text(str(of))}"
    figure.set_size_inches(6.4, 5.4)
    axes = new_axes(figure.subplots(), f"probability {whose}", "share of rows in which it came", percent=True)
    axes.plot([0, 1], [0, 1], color=LIGHT_PAPER["soft"], linewidth=1, linestyle=":", label="as said")
    for i, row in having:
        bins = row["reliability"]["bins"]
        x, y = [b["probability"] for b in bins], [b["share"] for b in bins]
        line(axes, x, y, i, row["label"], bold=row["label"] == report.winner, marker="o")
        if len(having) == 1:
            axes.fill_between(
                x, [b["low"] for b in bins], [b["high"] for b in bins], color=lines(i + 1)[i], alpha=0.18, linewidth=0
            )
    axes.set_title(f"Reliability on {plain_text(report.data.get('name') or 'the stream')}", loc="left")
    legend(figure, axes)


def sweep(figure: Any, report: Report, rows: Sequence[Learner], _: Learner) -> None:
    """Draw the error, or the loss where there is none, against the setting that varies."""
    found, measure = summary.swept(rows), summary.sweep_measures(rows)[0]
    assert found is not None  # kinds() has seen it
    loss = summary.main_loss(rows)
    axes = new_axes(figure.subplots(), plain_text(found.name), measure.title, percent=measure.percent)
    if found.log:
        axes.set_xscale("log")
    for i, (label, points) in enumerate(found.lines):
        values = [summary.figure(row, measure.key, loss) for _, row in points]
        line(axes, [x for x, _ in points], values, i, label or measure.title, marker="o")
    best = [(x, row) for _, points in found.lines for x, row in points if row["label"] == report.winner]
    for x, row in best:
        value = summary.figure(row, measure.key, loss)
        axes.plot([x], [value], "o", markersize=13, markerfacecolor="none", color=LIGHT_PAPER["ink"], label="best")
    axes.set_title(f"{measure.title.capitalize()} of {plain_text(str(rows[0]['model']))} by {plain_text(found.name)}", loc="left")
    legend(figure, axes)


def frontier(figure: Any, report: Report, rows: Sequence[Learner], _: Learner) -> None:
    """Draw the error against the number of weights that are not 0, and the settings that no other beats in both."""
    points, swept = summary.frontier(rows), summary.swept(rows)
    assert swept is not None  # kinds() has seen it
    shares = rows[0]["error"] is not None
    axes = new_axes(figure.subplots(), "non-zero weights", "error" if shares else "loss", percent=shares)
    axes.set_xscale("symlog")
    best = summary.best_of_frontier(points)
    line(axes, [n for n, _, _ in best], [e for _, e, _ in best], 0, "no other has fewer weights and less error", bold=True)
    axes.plot([n for n, _, _ in points], [e for _, e, _ in points], "o", color=LIGHT_PAPER["soft"], markersize=4, label="settings")
    reach, last = max(e for _, e, _ in best) - best[-1][1], math.inf
    for n, e, row in best:
        if last - e < 0.04 * reach:  # the names would lie on each other
            continue
        last = e
        said = f"{swept.name.rstrip('_')} {amount(row['params'][swept.name])}"
        axes.annotate(plain_text(said), (n, e), textcoords="offset points", xytext=(4, 5), fontsize=7, color=LIGHT_PAPER["soft"])
    axes.set_title(f"Error and size of {plain_text(str(rows[0]['model']))}", loc="left")
    legend(figure, axes)


def new_axes(axes: Any, x: str, y: str, percent: bool = False) -> Any:
    """Return axes in the style of the page."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(True, color=LIGHT_PAPER["line"], linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(color=LIGHT_PAPER["line"], labelcolor=LIGHT_PAPER["soft"], labelsize=9)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(LIGHT_PAPER["line"])
    if percent:
        from matplotlib.ticker import PercentFormatter

        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None, symbol=" %"))
    return axes


def line(
    axes: Any,
    x: Sequence[float],
    y: Sequence[float | None],
    i: int,
    label: str,
    *,
    dash: int | None = None,
    bold: bool = False,
    marker: str = "",
) -> None:
    """Draw one line in the i-th colour and dash."""
    pattern = DASHES[(i if dash is None else dash) % len(DASHES)]
    width = 2.4 if bold else 1.6
    style: Any = (0, [n / width for n in pattern]) if pattern else "-"
    values = numbers(y)
    axes.plot(
        x[: len(values)],
        values,
        color=lines(i + 1)[i],
        linewidth=width,
        linestyle=style,
        marker=marker,
        label=plain_text(label),
    )


def numbers(values: Sequence[float | None]) -> list[float]:
    """Return the values with NaN where there is none, which matplotlib leaves out."""
    return [float("nan") if v is None else v for v in values]


def plain_text(text: str) -> str:
    """Return text that matplotlib takes as it is: no formula begins in it, and no name is private."""
    return text.replace("$", r"\$") if not text.startswith("_") else " " + text.replace("$", r"\$")


def logarithmic(axes: Any, values: Sequence[float | None]) -> None:
    """Make both axes logarithmic; the vertical one only where most values are above 0."""
    log_examples(axes)
    known = [v for v in values if v is not None]
    if sum(v > 0.0 for v in known) > 0.6 * len(known):
        axes.set_yscale("log", nonpositive="mask")


def log_examples(axes: Any) -> None:
    """Make the horizontal axis logarithmic, with ticks as on the page: 10, 1k, 100k."""
    axes.set_xscale("log")
    thousands(axes.xaxis)


def thousands(axis: Any) -> None:
    """Write the ticks of an axis as 10k, 2M."""
    from matplotlib.ticker import EngFormatter

    axis.set_major_formatter(EngFormatter(sep=""))


def settled(examples: Sequence[int], values: Sequence[float | None]) -> list[float | None]:
    """Return the values after the first examples of a long stream, which would press the others flat (as page.js does)."""
    begin = SETTLED if examples[-1] >= SETTLED**2 else 0
    return [v for n, v in zip(examples, values, strict=True) if n >= begin]


def keep_runaways_out(axes: Any, curves: Sequence[Sequence[float | None]]) -> None:
    """Fit the vertical axis to the curves that did not run far away from the others."""
    log = axes.get_yscale() == "log"
    kept = [v for values in summary.together(curves) for v in values if v is not None and (v > 0.0 or not log)]
    if len(kept) > 1 and min(kept) < max(kept):
        low, high = min(kept), max(kept)
        pad = 0.04 * (high - low)
        axes.set_ylim((low / 1.15, high * 1.15) if log else (low - pad, high + pad))


def legend(figure: Any, axes: Any) -> None:
    """Name the lines: in the plot where they are few, beside it where they are many."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > SIDE_LEGEND:
        figure.set_size_inches(9.6, 4.8)
        figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=9, ncols=1 + len(labels) // 25)
    elif len(labels) > 1:
        axes.legend(frameon=False)
