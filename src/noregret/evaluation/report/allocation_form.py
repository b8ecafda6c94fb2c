"""What reports on portfolios and experts show besides: weights over time and for the next round, wealth and drawdown as plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ...text import amount, percent, plural, printable, shortened
from ..measures.wealth import wealth_text
from . import plots, summary
from .forms import Form
from .page import folds, legend, section
from .palette import LIGHT_PAPER, lines
from .summary import Learner

if TYPE_CHECKING:
    from .report import Report

TOLD = 5  # weights for the next round in the text
LISTED = 12  # and in the page
HIGH, WIDE = 160, 640  # of a picture of weights, in its own units


def next_weights(report: Report, rows: Sequence[Learner]) -> list[str]:
    """Return the weights for the next round of the winner."""
    chosen = summary.winner(report, rows)
    found = chosen.get("weights")
    if not found:
        return []
    told = held_next(found, TOLD, lambda name: shortened(printable(name), 24))
    return [f"Weights of {chosen['label']} for the next {report.data.get('unit', 'round')}: {told}."]


def held_next(weights: Mapping[str, Any], most: int, written: Callable[[str], str]) -> str:
    """Return the weights for the next round, so many of them by name."""
    held = [(name, w) for name, w in weights["next"].items() if w >= 5e-5]
    told = ", ".join(f"{written(name)} {percent(w)} %" for name, w in held[:most])
    rest = held[most:]
    return told + (f", {plural(len(rest), 'other')} {percent(sum(w for _, w in rest))} %" if rest else "")


# ---- the page ----------------------------------------------------------------------------------------------------------
def sections(report: Report, rows: Sequence[Learner]) -> list[str]:
    """Return the weights of every learner over time, those of others than the winner behind folds."""
    parts = folds(rows, summary.winner(report, rows), "weights", lambda found: f"{stacked(found, report)}{listed(found, report)}")
    noun = report.data.get("noun", "column")
    note = (
        f'<p class="quiet small">Shares of the whole, as means over stretches of {report.data.get("unit", "round")}s. The {noun}s '
        "with the largest mean are named.</p>"
    )
    return [section("weights", "Weights over time", note, *parts)] if parts else []


def stacked(weights: Mapping[str, Any], report: Report, said: str = "weights over time") -> str:
    """Return a picture of shares that lie on each other, with a legend."""
    examples, series = weights["examples"], weights["series"]
    edges = [0, *examples]
    x = [WIDE * at / edges[-1] for at in edges]
    below = [0.0] * len(examples)
    areas, keys = [], []
    for k, (name, shares) in enumerate(series.items()):
        above = [b + s for b, s in zip(below, shares, strict=True)]
        top = [f"{x[i + j]:.1f},{HIGH * (1 - above[i]):.1f}" for i in range(len(above)) for j in (0, 1)]
        base = [f"{x[i + j]:.1f},{HIGH * (1 - below[i]):.1f}" for i in reversed(range(len(below))) for j in (1, 0)]
        shade = "var(--soft)" if name == "others" else f"var(--c{k})"
        areas.append(f'<polygon points="{" ".join([*top, *base])}" style="fill:{shade}"><title>{escape(name)}</title></polygon>')
        keys.append((name, shade))
        below = above
    ends = (report.data.get("from") or "1", report.data.get("to") or f"{examples[-1]:,}")
    return (
        f'<div class="stacked"><div class="shares"><span>100 %</span><span>0</span></div>'
        f'<svg viewBox="0 0 {WIDE} {HIGH}" preserveAspectRatio="none" role="img" aria-label="{said}">'
        f"{''.join(areas)}</svg>"
        f'<div class="ends"><span>{escape(ends[0])}</span><span>{escape(ends[1])}</span></div></div>'
        f"{legend(keys)}"
    )


def listed(weights: Mapping[str, Any], report: Report) -> str:
    """Return the weights for the next round as a line."""
    told = held_next(weights, LISTED, lambda name: escape(shortened(name, 30)))
    return f'<p class="small">For the next {report.data.get("unit", "round")}: {told}.</p>'


# ---- plots -------------------------------------------------------------------------------------------------------------
def over_days(key: str, log: bool) -> Callable[..., None]:
    """Return the drawing of a curve over equal steps, beside the baselines."""

    def drawing(figure: Any, report: Report, rows: Sequence[Learner], _: Learner) -> None:
        unit = report.data.get("unit", "round")
        axes = plots.new_axes(figure.subplots(), f"{unit}s", key, percent=key == "drawdown")
        plots.thousands(axes.xaxis)
        if log:
            axes.set_yscale("log")
        for i, row in enumerate([*rows, *summary.bracketed(report)]):
            if row["curve"].get(key):
                plots.line(axes, row["curve"]["examples"], row["curve"][key], i, row["label"], bold=row["label"] == report.winner)
        axes.set_title(f"{key.capitalize()} on {plots.plain_text(report.data.get('name') or 'the stream')}", loc="left")
        plots.legend(figure, axes)

    return drawing


def weights(figure: Any, report: Report, rows: Sequence[Learner], who: Learner) -> None:
    """Draw the weights of one learner over time."""
    draw_shares(figure, report, who["weights"], f"Weights of {plots.plain_text(who['label'])}")


def draw_shares(figure: Any, report: Report, found: Mapping[str, Any], title: str) -> None:
    """Draw shares of a whole over time, on each other."""
    axes = plots.new_axes(figure.subplots(), f"{report.data.get('unit', 'round')}s", "share", percent=True)
    at = [0, *found["examples"]]
    colors = [LIGHT_PAPER["soft"] if name == "others" else lines(k + 1)[k] for k, name in enumerate(found["series"])]
    values = [[*shares, shares[-1]] for shares in found["series"].values()]
    labels = [plots.plain_text(name) for name in found["series"]]
    axes.stackplot(at, values, labels=labels, colors=colors, step="post")
    axes.set_ylim(0.0, 1.0)
    axes.set_title(title, loc="left")
    plots.legend(figure, axes)


def drawings(rows: Sequence[Learner]) -> dict[str, Callable[..., None]]:
    """Return the plots, by name."""
    found = {k: over_days(k, k == "wealth") for k in ("wealth", "drawdown") if any(row["curve"].get(k) for row in rows)}
    return found | ({"weights": weights} if any(row.get("weights") for row in rows) else {})


def wealth_words(chosen: Learner) -> str:
    """Return the wealth of a portfolio, and its regret."""
    year = chosen["metrics"]["annual_return"]
    found = [f"wealth {wealth_text(chosen['metrics']['wealth'])}", *([] if year is None else [f"{percent(year)} % a year"])]
    found += [f"regret {amount(chosen['regret']['value'])} in log wealth"] if chosen["regret"] else []
    return ", ".join(found)


def paid_words(chosen: Learner) -> str:
    """Return what experts paid, and their regret."""
    found = [f"paid {amount(chosen['metrics']['paid'])}"]
    found += [f"regret {amount(chosen['regret']['value'])}"] if chosen["regret"] else []
    return ", ".join(found)


PORTFOLIO = Form(
    plots=("wealth",),
    lines=next_weights,
    sections=sections,
    drawings=drawings,
    headline=wealth_words,
    trivial="the market of equal shares, and two that only hindsight knows",
    manner="each choosing its weights before the day",
    curves="Wealth and drawdown",
    signed=True,
    linear=True,
)
EXPERTS = Form(
    plots=("regret",),
    lines=next_weights,
    sections=sections,
    drawings=drawings,
    headline=paid_words,
    trivial="the best expert, which only hindsight knows, and the mean of all",
    manner="each choosing its weights before the round",
    curves="What was paid a round",
    linear=True,
)
