"""What reports on components show besides: spectrum, loadings by name, components as images, rows by their first coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...text import amount, percent, plural, printable, shortened
from . import plots, summary
from .forms import Form
from .images import BELOW, HIGH, LEFT, WIDE, Axis, compact, frame, inline, pixels, ticks
from .page import folds, legend, listed, section
from .palette import LIGHT_PAPER, lines
from .summary import Learner

if TYPE_CHECKING:
    from .report import Report

TOLD = 3  # components in the text
BARS = 60  # of a spectrum
COLOURS = 10  # labels that have one of their own
PER_LINE = 8  # images of a plot in a line


def told(report: Report, rows: Sequence[Learner]) -> list[str]:
    """Return the largest components of the winner, with the features that they are mostly made of."""
    chosen = summary.winner(report, rows)
    found = chosen.get("components")
    if not found:
        return []
    parts = []
    for row in found["top"][:TOLD]:
        made = ", ".join(f"{shortened(printable(f['feature']), 24)} {signed(f['loading'])}" for f in row["features"][:TOLD])
        parts.append(f"{row['component']} ({found['of']} {amount(row['size'])}): {made}")
    return [f"Components of {chosen['label']}, largest first: {'; '.join(parts)}."] if parts else []


def signed(v: float) -> str:
    """Return a loading with its sign."""
    return f"{v:+.3f}"


def groups(found: dict[str, Any]) -> list[tuple[str | None, list[int]]]:
    """Return the rows of each label in order of the labels, those of all further labels together; all rows where there are none."""
    labels = found["labels"]
    if labels is None or len(known := sorted(set(labels), key=lambda v: (isinstance(v, str), v))) > 5 * COLOURS:
        return [(None, list(range(len(found["x"]))))]
    named = known if len(known) <= COLOURS else known[: COLOURS - 1]
    rest = [i for i, label in enumerate(labels) if label not in named]
    own = ((str(v), [i for i, label in enumerate(labels) if label == v]) for v in named)
    return [*own, *([("others", rest)] if rest else [])]


# ---- the page ----------------------------------------------------------------------------------------------------------
def sections(report: Report, rows: Sequence[Learner]) -> list[str]:
    """Return the components of every learner, those of others than the winner behind folds."""
    parts = folds(rows, summary.winner(report, rows), "components", pictures)
    return [section("components", "Components", *parts)] if parts else []


def pictures(found: dict[str, Any]) -> str:
    """Return what is shown of one learner."""
    return f'{tiles(found)}<div class="charts">{scattered(found)}{spectrum(found)}</div>{loadings(found)}'


def tiles(found: dict[str, Any]) -> str:
    """Return the components as images, after the mean."""
    images = found.get("images")
    if not images:
        return ""
    named = [("mean", images["mean"])] if images["mean"] else []
    named += [(str(row["component"]), image) for row, image in zip(found["top"], images["components"], strict=False)]
    inner = "".join(
        f'<figure><img src="{inline(image, images["shape"])}" alt="component {name}"><figcaption>{name}</figcaption></figure>'
        for name, image in named
    )
    rest = found["count"] - len(images["components"])
    more = f" {plural(rest, 'more')} are not drawn." if rest > 0 else ""
    note = f'<p class="quiet small">Largest first, each to its own scale: one colour above 0, the other below.{more}</p>'
    return f'<div class="tiles">{inner}</div>{note}'


def scattered(found: dict[str, Any]) -> str:
    """Return rows by their first two coordinates, coloured by label."""
    x, y = found["coordinates"]["x"], found["coordinates"]["y"]
    if not x or not y:
        return ""
    across = Axis(min(x), max(x), LEFT + 8, WIDE - 8)
    up = Axis(min(y), max(y), HIGH - BELOW - 8, 8)
    dots, named = [], []
    for k, (label, members) in enumerate(groups(found["coordinates"])):
        shade = "var(--soft)" if label == "others" else f"var(--c{k})"
        points = "".join(f'<circle cx="{across.at(x[i]):.1f}" cy="{up.at(y[i]):.1f}" r="2.6"/>' for i in members)
        dots.append(f'<g class="dots" style="fill:{shade}">{points}</g>')
        if label is not None:
            named.append((label, shade))
    first, second = found["coordinates"]["components"]
    drawn = frame(across, up, [(v, compact(v)) for v in ticks(across.low, across.high)], "".join(dots), "rows by two coordinates")
    note = f"{plural(len(x), 'row')} of the stream: component {first} across, {second} up."
    return f'<div class="chart"><h3>Rows</h3><p class="quiet small">{note}</p>{drawn}{legend(named)}</div>'


def spectrum(found: dict[str, Any]) -> str:
    """Return how large components are, as bars."""
    sizes = found["spectrum"][:BARS]
    if not sizes:
        return ""
    across, up = Axis(-0.5, len(sizes) - 0.5, LEFT, WIDE), Axis(0.0, max(max(sizes), 1e-300), HIGH - BELOW, 8)
    width = 0.8 * (WIDE - LEFT) / len(sizes)
    bars = "".join(
        f'<rect x="{across.at(i) - width / 2:.1f}" y="{up.at(v):.1f}" width="{width:.1f}" '
        f'height="{max(HIGH - BELOW - up.at(v), 0.0):.1f}"><title>{amount(v)}</title></rect>'
        for i, v in enumerate(sizes)
    )
    numbers = [row["component"] for row in found["top"]]  # of the largest, which stand here as they do above
    every = max(1, len(sizes) // 12)
    marks = [(i, str(numbers[i]) if i < len(numbers) else "") for i in range(0, len(sizes), every)]
    drawn = frame(across, up, marks, f'<g style="fill:var(--c0)">{bars}</g>', "spectrum")
    return f'<div class="chart"><h3>Spectrum</h3><p class="quiet small">The {found["of"]} along each component.</p>{drawn}</div>'


def loadings(found: dict[str, Any]) -> str:
    """Return the features that components are mostly made of."""
    total = sum(found["spectrum"])
    rows = [
        [
            str(row["component"]),
            amount(row["size"]),
            percent(row["size"] / total) if total else "-",
            ", ".join(f"{shortened(f['feature'], 30)} {signed(f['loading'])}" for f in row["features"]),
        ]
        for row in found["top"]
    ]
    return (
        f"<details><summary>Largest loadings</summary>{listed(['component', found['of'], 'share %', 'features'], rows)}</details>"
    )


# ---- plots -------------------------------------------------------------------------------------------------------------
def draw_spectrum(figure: Any, report: Report, rows: Sequence[Learner], _: Learner) -> None:
    """Draw the spectra of all learners."""
    having = [(i, row) for i, row in enumerate(rows) if row.get("components")]
    what = {row["components"]["of"] for _, row in having}
    axes = plots.new_axes(figure.subplots(), "component", what.pop() if len(what) == 1 else "size")
    for i, row in having:
        sizes = row["components"]["spectrum"]
        bold = row["label"] == report.winner
        plots.line(axes, range(1, len(sizes) + 1), sizes, i, row["label"], bold=bold, marker="o")
    axes.set_title(f"Spectrum on {plots.plain_text(report.data.get('name') or 'the stream')}", loc="left")
    plots.legend(figure, axes)


def draw_coordinates(figure: Any, report: Report, rows: Sequence[Learner], who: Learner) -> None:
    """Draw rows by their first two coordinates, coloured by label."""
    found = who["components"]["coordinates"]
    first, second = found["components"]
    axes = plots.new_axes(figure.subplots(), f"component {first}", f"component {second}")
    for k, (label, members) in enumerate(groups(found)):
        shade = LIGHT_PAPER["soft"] if label == "others" else lines(k + 1)[k]
        said = {} if label is None else {"label": plots.plain_text(label)}
        axes.plot([found["x"][i] for i in members], [found["y"][i] for i in members], ".", color=shade, markersize=4, **said)
    axes.set_title(f"Coordinates by {plots.plain_text(who['label'])}", loc="left")
    plots.legend(figure, axes)


def draw_components(figure: Any, report: Report, rows: Sequence[Learner], who: Learner) -> None:
    """Draw components as images."""
    images = who["components"]["images"]
    drawn = images["components"]
    high = -(-len(drawn) // PER_LINE)
    figure.set_size_inches(9.0, 1.3 * high + 0.5)
    for i, (axes, row) in enumerate(
        zip(figure.subplots(high, PER_LINE).flat, [*who["components"]["top"], *[None] * PER_LINE], strict=False)
    ):
        axes.axis("off")
        if row is not None and i < len(drawn):
            axes.imshow(pixels(drawn[i], images["shape"]), cmap="RdBu", vmin=-1.0, vmax=1.0)
            axes.set_title(str(row["component"]), fontsize=8)
    figure.suptitle(f"Components of {plots.plain_text(who['label'])}", x=0.01, ha="left")


def drawings(rows: Sequence[Learner]) -> dict[str, Callable[..., None]]:
    """Return the plots, by name."""
    having = [row["components"] for row in rows if row.get("components")]
    found: dict[str, Callable[..., None]] = {"spectrum": draw_spectrum} if having else {}
    found |= {"coordinates": draw_coordinates} if any(c["coordinates"]["y"] for c in having) else {}
    return found | ({"components": draw_components} if any(c.get("images") for c in having) else {})


def left_words(chosen: Learner) -> str:
    """Return what was left of rows, and the regret."""
    found = [
        f"{percent(chosen['metrics']['unexplained'])} % unexplained",
        f"mean squared residual {amount(chosen['metrics']['residual'])}",
    ]
    if chosen["metrics"].get("auc") is not None:
        found.append(f"AUC of outliers {amount(chosen['metrics']['auc'])}")
    found += [f"regret {amount(chosen['regret']['average'], 2)} a row"] if chosen["regret"] else []
    found += [f"gap to {chosen['gap']['passes']} passes {amount(chosen['gap']['average'], 2)} a row"] if chosen.get("gap") else []
    return ", ".join(found)


COMPONENTS = Form(
    plots=("residual",),
    lines=told,
    sections=sections,
    drawings=drawings,
    headline=left_words,
    trivial="the mean of the rows so far, without components",
    manner="each measured on a row before it learns it",
    curves="What was left of rows",
)
