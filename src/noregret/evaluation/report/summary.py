"""What a report says in a table and in words; the text, the page and the plots agree because all of them ask here."""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...engine.processor import USUAL, described
from ...text import amount, duration, encodable, even, filled, first_of, meant, percent, plural, printable, shortened, size, table
from ..kinds import all_columns, along, every, log_curves
from .part_tables import feature_rows, feature_words, pool_rows, task_rows

if TYPE_CHECKING:
    from .report import Report

Learner = dict[str, Any]
Form = Callable[[float | None], str]
FIGURES = (
    "mistakes",
    "error",
    "updates",
    "nonzeros",
    "support_vectors",
    "bytes",
    "seconds",
    "examples_per_second",
    "examples",
    "queries",
)
REST = {"holdout": "hold-out", "validation": "validation", "folds": "folds"}  # on rows that were not learned from
COMMON = (*FIGURES, *REST, "loss", "regret", "bound", "label")  # that learners of every kind may have
LARGE = 0.1  # share of what a learner lost that is a large regret
RUNAWAY = 30.0  # a curve that ends this many times above the middle one does not set the scale
SHOWN_MISTAKES = 8  # classes of the largest confusion matrix that is printed
WORDS = {
    "zero_one": "expected 0/1",
    "log_loss": "log loss of probabilities",
    "brier": "Brier score",
    "ece": "calibration error",
    "unforecast": "rows without forecast",
    "unexplained": "unexplained energy",
    "residual": "mean squared residual",
    "completion": "completion perplexity",
    "angle": "angle to the best, degrees",
    "gap": "gap to ten passes, a row",
}
BLANK: Learner = {
    "model": None,
    "label": None,
    "mistakes": None,
    "error": None,
    "losses": {},
    "metrics": {},
    "regret": None,
    "curve": {},
    "drifts": [],
}  # what a baseline may lack


class Column(NamedTuple):
    """One figure of every learner: its name, its heading, its value, and how much it is missed when there is no room."""

    name: str
    head: str
    value: Callable[[Learner], float | None]
    shown: Callable[[Learner], str]
    weight: int


def main_loss(learners: Sequence[Learner]) -> str | None:
    """Return the loss that all learners have and most of them are measured in."""
    shared = [name for name in learners[0]["losses"] if all(name in learner["losses"] for learner in learners)]
    own = Counter(learner["regret"]["loss"] for learner in learners if learner["regret"])
    order = [*(name for name, _ in own.most_common()), *every("main"), *shared]
    return next((name for name in order if name in shared), None)


def figure(learner: Learner, name: str, loss: str | None) -> float | None:
    """Return a figure by its name: of the learner, its regret, a loss or a metric; the mean where there were permutations."""
    if name in (learner.get("spread") or {}) and isinstance(learner["spread"][name], list) and name in ("error", "loss"):
        return learner["spread"][name][0]
    if name in REST:
        found = learner.get(name) or {}
        known = (found.get("mean"), found.get("error"), (found.get("losses") or {}).get(loss))
        return next((v for v in known if v is not None), None)
    if name in ("regret", "bound"):
        return (learner["regret"] or {}).get("value" if name == "regret" else name)
    if name == "loss":
        return learner["losses"].get(loss)
    if name in FIGURES:
        return learner.get(name)
    return learner["metrics"].get(name, learner["losses"].get(name))


def known_figure(sort: str) -> None:
    """Refuse a figure that no report has."""
    known = (*COMMON, *every("scores"), *every("errors"), *every("losses"))
    if sort not in known:
        raise ValueError(f"cannot sort by {sort!r}. {meant(sort, known)}The figures are {', '.join(known)}")


def ordered(learners: Sequence[Learner], sort: str) -> list[Learner]:
    """Return the learners, best first by the figure `sort`; those without it stand last."""
    loss = main_loss(learners)
    known = list(COMMON)
    known += sorted({name for learner in learners for name in (*learner["metrics"], *learner["losses"])} - set(known))
    if sort not in known:
        raise ValueError(f"cannot sort by {sort!r}: the figures of this report are {', '.join(known)}")
    if sort == "label":
        return sorted(learners, key=lambda learner: learner["label"])
    if sort == "error" and all(figure(learner, sort, loss) is None for learner in learners):
        sort = "loss"
    sign = -1.0 if sort in (*every("scores"), "examples", "examples_per_second") else 1.0

    groups = regret_losses(learners) if sort == "regret" else []  # regrets in one loss stand together

    def key(learner: Learner) -> tuple[int, float]:
        value = figure(learner, sort, loss)
        group = groups.index(learner["regret"]["loss"]) if groups and value is not None else 0
        return (len(groups), math.inf) if value is None else (group, sign * value)

    return sorted(learners, key=key)


def baselines(report: Report) -> list[Learner]:
    """Return the answers from labels alone, as learners that have only the figures of answers."""
    return [{**BLANK, **found} for found in report.data.get("baselines") or []]


def bracketed(report: Report) -> list[Learner]:
    """Return them under names in brackets, which tell them from learners in one table."""
    return [{**found, "label": f"({found['label']})"} for found in baselines(report)]


def columns(learners: Sequence[Learner]) -> list[Column]:
    """Return the columns for which some learner has a figure."""
    loss = main_loss(learners)

    def value(name: str) -> Callable[[Learner], float | None]:
        return lambda learner: figure(learner, name, loss)

    shares = any(learner["error"] is not None for learner in learners)
    kept = len(learners) > 1 and any(learner["support_vectors"] is not None or learner.get("maps") for learner in learners)

    def rest(name: str, head: str) -> Column:
        form = percent if shares else even(map(value(name), learners))
        return Column(name, f"{head} {'%' if shares else 'loss'}", value(name), lambda learner: form(value(name)(learner)), 8)

    def differs(name: str, unless: str) -> bool:
        return not unless or any(value(name)(row) != value(unless)(row) for row in learners)

    def plain(name: str, head: str, weight: int, form: Form | None = None) -> Column:
        form = form or even(map(value(name), learners))
        return Column(name, head, value(name), lambda learner: form(value(name)(learner)), weight)

    losses = even(map(value("loss"), learners))

    found = [
        plain("mistakes", "mistakes", 4),
        Column("error", "error %", value("error"), lambda learner: with_spread(learner, "error", percent), 9),
        *(rest(name, head) for name, head in REST.items()),
        Column("loss", f"{loss} loss", value("loss"), lambda learner: with_spread(learner, "loss", losses, value("loss")), 7),
        Column("p_value", "p", p_value, lambda learner: amount(p_value(learner), 2), 8),
        *(plain(*shown[:4]) for shown in all_columns() if differs(shown.name, shown.unless)),
        plain("queries", "labels asked", 8),
        plain("updates", "updates", 2),
        plain("nonzeros", "nonzeros", 8 if frontier(learners) else 1),
        plain("support_vectors", "vectors", 7),
        *(
            [Column("bytes", "size", value("bytes"), lambda learner: size(learner["bytes"]) if "bytes" in learner else "-", 6)]
            if kept
            else []
        ),
        *regret_columns(learners),
        Column("bound", "bound", value("bound"), shown_bound, 3),
        plain("examples_per_second", "examples/s", 5),
    ]
    return [c for c in found if any(c.value(learner) is not None for learner in learners)]


def regret_losses(learners: Sequence[Learner]) -> list[str]:
    """Return the losses in which regrets are measured, that of most learners first: regrets in different ones do not compare."""
    return [name for name, _ in Counter(row["regret"]["loss"] for row in learners if row["regret"]).most_common()]


def regret_columns(learners: Sequence[Learner]) -> list[Column]:
    """Return a column of regrets for each loss in which they are measured."""
    names = regret_losses(learners)
    return [
        regret_column(learners, name, f"regret ({words(name)})" if len(names) > 1 else "regret", 8 - i)
        for i, name in enumerate(names)
    ]


def regret_column(learners: Sequence[Learner], loss: str, head: str, weight: int) -> Column:
    """Return the column of the regrets in one loss."""

    def value(learner: Learner) -> float | None:
        found = learner["regret"]
        return found["value"] if found and found["loss"] == loss else None

    form = even(map(value, learners))
    return Column("regret", head, value, lambda learner: form(value(learner)), weight)


def p_value(learner: Learner) -> float | None:
    """Return the p-value of the paired test against the winner."""
    return (learner.get("spread") or {}).get("p_value")


def with_spread(
    learner: Learner, name: str, form: Callable[[float | None], str], value: Callable[[Learner], float | None] | None = None
) -> str:
    """Return a figure as text, 'mean ± sd' where there were permutations."""
    spread = (learner.get("spread") or {}).get(name)
    if spread:
        return f"{form(spread[0])} ± {form(spread[1])}"
    return form(value(learner) if value else learner[name])


def shown_bound(learner: Learner) -> str:
    """Return a bound with what it is about, unless that is the regret."""
    found = learner["regret"] or {}
    about = found.get("bound_measures") or "regret"
    vacuous = " (vacuous)" if found.get("vacuous") else ""
    return amount(found.get("bound")) + ("" if about == "regret" or found.get("bound") is None else f" {words(about)}") + vacuous


def words(name: str) -> str:
    """Return a name as words."""
    return WORDS.get(name, name.replace("_", " "))


def source(data: dict[str, Any]) -> str:
    """Return what the data is, in one line."""
    counted = (("examples", data.get("unit", "example")), ("features", data.get("noun", "feature")))
    parts = [plural(data[key], noun) for key, noun in counted if data.get(key) is not None]
    parts += [f"{data['from']} to {data['to']}"] if data.get("from") else []
    classes = data.get("classes")
    if classes is not None:
        parts.append(plural(len(classes) if isinstance(classes, list) else classes, "class"))
    if data.get("bytes"):
        parts.append(size(data["bytes"]))
    if data.get("seconds_reading"):
        parts.append(f"{duration(data['seconds_reading'])} reading")
    kind = f" ({data['kind']})" if data.get("kind") else ""
    return f"{data.get('name') or 'data'}{kind}: {', '.join(parts)}".rstrip(": ")


def best_loss(regret: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the interval in which the loss of the best fixed model lies."""
    upper, lower = regret.get("comparator"), regret.get("lower")
    if upper is not None and lower is None and (regret.get("gap") is not None or regret.get("tolerance") is not None):
        gap = regret.get("gap")
        lower = upper - (gap if gap is not None else regret["tolerance"] * max(1.0, upper))
    return lower, upper


def ball(regret: dict[str, Any], at_most: str = "<=") -> str:
    """Return how long the best fixed model may be, with a space before it; nothing where there is no limit."""
    length = "|u|_1" if regret.get("norm") == "l1" else "|u|"
    return f" with {length} {at_most} {amount(regret['radius'])}" if regret.get("radius") is not None else ""


def regret_words(learner: Learner) -> str:
    """Return the regret of a learner as sentences."""
    found = learner["regret"]
    if found.get("told"):
        return str(found["told"])
    lower, upper = best_loss(found)
    against = found.get("against") or f"the {found.get('best') or 'best fixed model'}{ball(found)}"
    within = f" (to within {amount(upper - lower, 2)})" if lower is not None and upper is not None and upper > lower else ""
    first = (
        f"{learner['label']} lost {amount(found['cumulative'])} in {words(found['loss'])} loss; {against} lost "
        f"{amount(upper)}{within}: regret {amount(found['value'])}, {amount(found['average'], 2)} an example"
    )
    if found["value"] is not None and found["value"] < 0.0 and not found.get("against"):
        first += (
            f", so the learner, which moves, did better than every {'such' if found.get('best') else 'fixed'} model{ball(found)}"
        )
    return f"{first}. {bound_words(found)}"


def bound_words(regret: dict[str, Any]) -> str:
    """Return what the theorem promises, and what was measured, as a sentence."""
    name = f" ({regret['bound_name']})" if regret.get("bound_name") else ""
    if regret.get("bound") is None:
        return (
            f"No theorem bounds it here: {regret['bound_why'].rstrip('.')}."
            if regret.get("bound_why")
            else "No theorem bounds it here."
        )
    about = regret.get("bound_measures") or "regret"
    vacuous = f" This is vacuous: {vacuous_words(regret)}." if regret.get("vacuous") else ""
    if about == "regret":
        return f"The theorem{name} allows a regret of {amount(regret['bound'])}.{vacuous}"
    measured = f"; {amount(regret['measured'])} measured" if regret.get("measured") is not None else ""
    return f"The theorem{name} allows {amount(regret['bound'])} {words(about)}{measured}.{vacuous}"


def vacuous_words(regret: dict[str, Any]) -> str:
    """Return why a bound says nothing."""
    if regret.get("against"):
        return "no larger regret is possible here"
    if regret["bound_measures"] in ("mistakes", "updates"):
        return "there are no more rounds than that"
    return "weights that stay 0 do as well"


class Measure(NamedTuple):
    """A figure that can be drawn: its key, what an axis calls it, whether it is a share shown in percent."""

    key: str
    title: str
    percent: bool
    log: bool = False  # whether its axis is logarithmic


def measures(learners: Sequence[Learner]) -> list[Measure]:
    """Return the columns of the learning curves that can be drawn, the error first."""
    found = {k: None for row in learners for k, v in row["curve"].items() if k != "examples" and any(x is not None for x in v)}
    order = along(every("curves"))
    named = {
        f"{how}_{what}": f"{what} {said}"
        for what in every("curves")
        for how, said in (("window", "in a window"), ("faded", "fading"))
    }
    named["nonzeros"] = "non-zero weights"
    followed = {str(row["curve_loss"]) for row in learners if row.get("curve_loss")}
    if len(followed) == 1:
        named["loss"] = f"{words(followed.pop())} loss"
    keys = [*(k for k in order if k in found), *(k for k in found if k not in order)]
    shares = ("accuracy", "drawdown")
    return [
        Measure(k, named.get(k, words(k)), k.endswith(("error", "unexplained")) or k in shares, k in log_curves()) for k in keys
    ]


def sweep_measures(learners: Sequence[Learner]) -> list[Measure]:
    """Return the figures that can be drawn against a setting, those of rows that were not learned from first."""
    loss = main_loss(learners)
    shares = any(learner["error"] is not None for learner in learners)
    named = {name: f"{'error' if shares else 'loss'} in {head}" for name, head in REST.items()}
    named |= {"error": "error", "loss": f"{words(loss or '')} loss", "regret": "regret", "nonzeros": "non-zero weights"}
    if not learners[0]["losses"]:  # measured otherwise than by losses of answers
        own = ("residual", "perplexity", "completion", *every("scores"), "paid")
        named = {name: words(name) for name in own if name in learners[0]["metrics"]} | named
    having = {k: t for k, t in named.items() if any(figure(row, k, loss) is not None for row in learners)}
    return [Measure(k, t, shares and k in (*REST, "error")) for k, t in having.items()]


def headline(report: Report, chosen: Learner) -> str:
    """Return the figures of a learner by which it is judged, in a few words."""
    if report.form.headline is not None:
        return report.form.headline(chosen)
    loss = main_loss(report.learners)
    shares = chosen["error"] is not None
    if shares:
        found = [f"{percent(chosen['error'])} % error"]
    elif (rmse := chosen["metrics"].get("rmse")) is not None:
        found = [f"RMSE {amount(rmse)}"]
    else:
        found = [f"{words(loss)} loss {amount(chosen['losses'][loss])}"] if loss else []
    for name, head in REST.items():
        value = figure(chosen, name, loss)
        if value is not None:
            found.append(f"{percent(value)} % in {head}" if shares else f"loss {amount(value)} in {head}")
    found += [f"regret {amount(chosen['regret']['average'], 2)} an example"] if chosen["regret"] else []
    return ", ".join(found)


def each(report: Report) -> str:
    """Return "an example", or what is counted instead."""
    unit = report.data.get("unit", "example")
    return f"{'an' if unit[0] in 'aeiou' else 'a'} {unit}"


def best_words(regret: dict[str, Any]) -> str:
    """Return what a learner is compared with, in a legend."""
    return str(regret.get("best") or ("best learner of the pool" if regret.get("against") else "best fixed model"))


def together(curves: Sequence[Sequence[float | None]]) -> list[Sequence[float | None]]:
    """Return the curves that do not end far away from the middle one; the others would press them flat (as page.js does)."""
    ends = [next((abs(v) for v in reversed(values) if v is not None), 0.0) for values in curves]
    middle = sorted(ends)[len(ends) // 2] if ends else 0.0
    return [values for values, end in zip(curves, ends, strict=True) if not middle or end <= RUNAWAY * middle]


class Sweep(NamedTuple):
    """One numeric setting along an axis, and a line of learners for each combination of the other settings."""

    name: str
    log: bool
    lines: list[tuple[str, list[tuple[float, Learner]]]]


def swept(learners: Sequence[Learner]) -> Sweep | None:
    """Return the numeric setting with most values and the lines along it, or None where no such setting varies."""
    names = list(dict.fromkeys(name for learner in learners for name in learner["params"]))
    values = {name: [learner["params"].get(name) for learner in learners] for name in names}
    varying = {name: found for name, found in values.items() if len({repr(v) for v in found}) > 1}
    numeric = [
        name for name, found in varying.items() if all(isinstance(v, int | float) and not isinstance(v, bool) for v in found)
    ]
    if not numeric or len({(learner["model"], *(learner.get("maps") or [])) for learner in learners}) > 1:
        return None
    axis = max(numeric, key=lambda name: len(set(varying[name])))
    lines: dict[str, list[tuple[float, Learner]]] = {}
    for learner in learners:
        others = ", ".join(f"{name}={learner['params'].get(name)}" for name in varying if name != axis)
        lines.setdefault(others, []).append((learner["params"][axis], learner))
    low, high = min(varying[axis]), max(varying[axis])
    return Sweep(axis, low > 0 and high >= 10 * low, [(k, sorted(v, key=lambda p: p[0])) for k, v in lines.items()])


def frontier(learners: Sequence[Learner]) -> list[tuple[int, float, Learner]]:
    """Return (non-zero weights, error or loss, learner) of a sweep in which the number of weights varies twofold, fewest first."""
    found, loss = swept(learners), main_loss(learners)
    if found is None:
        return []
    key = "error" if any(row["error"] is not None for row in learners) else "loss"
    points: list[tuple[int, float, Learner]] = []
    for _, row in (point for _, line in found.lines for point in line):
        error = figure(row, key, loss)
        if error is not None and row["nonzeros"] is not None:
            points.append((row["nonzeros"], error, row))
    found_sizes = sorted({n for n, _, _ in points})
    varied = len(found_sizes) > 2 and found_sizes[-1] >= 2 * found_sizes[0]
    return sorted(points, key=lambda p: p[:2]) if varied else []


def best_of_frontier(points: Sequence[tuple[int, float, Learner]]) -> list[tuple[int, float, Learner]]:
    """Return those of which no other has both fewer weights and less error."""
    kept: list[tuple[int, float, Learner]] = []
    for point in points:
        if not kept or point[1] < kept[-1][1]:
            kept.append(point)
    return kept


def text(report: Report, sort: str, width: int | None, encoding: str | None) -> str:
    """Return the whole report as text."""
    width = max(40, width or shutil.get_terminal_size((100, 24)).columns)
    encoding = encoding or getattr(sys.stdout, "encoding", None) or "utf-8"
    rows = ordered(report.learners, sort)
    body = [one(rows[0], baselines(report), width)] if report.form.alone else [many(rows, bracketed(report), width)]
    if not report.form.alone and (chosen := winner(report, rows)).get("features"):
        body += ["", table(*feature_rows(chosen))] if chosen["features"]["top"] else []
    used = [feature_words(row) for row in rows if row.get("features")]
    used += report.form.lines(report, rows)
    told = [
        *verdict(report, rows),
        *warning_words(report),
        *drift_words(report, rows),
        *used,
        *skipped_words(report.data),
        *level_words(report.data),
    ]
    told += report.notes
    wrapped = [filled(printable(line), width) for line in told]
    head = filled(printable(source(report.data)), width)
    return encodable("\n".join([head, "", *body, "", *wrapped]).rstrip(), encoding)


def warning_words(report: Report) -> list[str]:
    """Return the warnings as lines."""
    return [f"Warning: {line}" for line in report.data.get("warnings") or []]


def level_words(data: dict[str, Any]) -> list[str]:
    """Return a line about the processor level, if it is not the usual one."""
    level = data.get("level")
    return [] if level in (None, *USUAL) else [f"Learned by {described(level)}: last bits may differ from other machines'."]


def many(learners: Sequence[Learner], trivial: Sequence[Learner], width: int) -> str:
    """Return the table of several learners and of baselines; the columns missed least are left out until it fits."""
    kept, left_out = columns(learners), []
    rows = [*learners, *trivial]
    longest = max(len(printable(row["label"])) for row in rows)
    while True:
        cells = [[c.shown(row) for c in kept] for row in rows]
        room = width - sum(2 + max(len(c.head), *(len(row[i]) for row in cells)) for i, c in enumerate(kept))
        if room >= min(longest, 24) or len(kept) <= 1:
            break
        least = min(kept, key=lambda c: c.weight)
        kept.remove(least)
        left_out.append(least.head)
    names = [shortened(printable(row["label"]), max(room, 8)) for row in rows]
    found = table(["learner", *(c.head for c in kept)], [[name, *row] for name, row in zip(names, cells, strict=True)])
    return found + (f"\n({textwrap.shorten('left out for width: ' + ', '.join(left_out), width - 2)})" if left_out else "")


def one(learner: Learner, trivial: Sequence[Learner], width: int) -> str:
    """Return the figures of one learner, one a line, those of baselines, and its confusion matrix when it is small."""
    found = [("learner", shortened(printable(learner["label"]), max(8, width - 20)))]
    told_below = ("loss", *(shown.name for shown in all_columns()))
    found += [(c.head, c.shown(learner)) for c in columns([learner]) if c.name not in told_below]
    found += [(f"{words(name)} loss", amount(value)) for name, value in learner["losses"].items()]
    told: dict[str, tuple[str, Form]] = {s.name: (s.head, s.form) for s in all_columns() if s.form is not None}
    for name, value in learner["metrics"].items():
        head, form = told.get(name, (words(name), amount))
        found.append((head, form(value)))
    if learner["bytes"] is not None:
        found.append(("memory", size(learner["bytes"])))
    widest = max(len(name) for name, _ in found)
    lines = [f"{name.ljust(widest)}  {value}" for name, value in found]
    pool = ["", table(["learner", "weight", "loss"], pool_rows(learner))] if learner.get("pool") else []
    used = ["", table(*feature_rows(learner))] if learner.get("features") else []
    used += ["", table(*task_rows(learner))] if learner.get("tasks") else []
    return "\n".join(lines + baseline_table(learner, trivial) + pool + used + mistakes_table(learner, width))


def baseline_table(learner: Learner, trivial: Sequence[Learner]) -> list[str]:
    """Return the figures that baselines have too as lines, nothing where there are no baselines."""
    kept = [c for c in columns([learner]) if any(c.value(row) is not None for row in trivial)]
    return (
        ["", table(["baseline", *(c.head for c in kept)], [[row["label"], *(c.shown(row) for c in kept)] for row in trivial])]
        if kept
        else []
    )


def mistakes_table(learner: Learner, width: int) -> list[str]:
    """Return the confusion matrix as lines, nothing where it is too wide."""
    confusion = learner["confusion"]
    if not confusion or len(confusion["labels"]) > SHOWN_MISTAKES:
        return []
    labels = [shortened(printable(str(label)), 12) for label in confusion["labels"]]
    rows = [[label, *map(amount, counts)] for label, counts in zip(labels, confusion["counts"], strict=True)]
    found = table(["truth \\ answer", *labels], rows)
    return ["", found] if len(found.splitlines()[1]) <= width else []


def winner(report: Report, rows: Sequence[Learner]) -> Learner:
    """Return the learner that won, the first where none did."""
    return next((row for row in rows if row["label"] == report.winner), rows[0])


def verdict(report: Report, rows: Sequence[Learner]) -> list[str]:
    """Return who won and the regret of that learner."""
    lines = [f"Best: {report.winner}."] if report.winner is not None else []
    chosen = winner(report, rows)
    lines += [f"Regret: {regret_words(chosen)}"] if chosen["regret"] else []
    return lines + large_regret_words(report, chosen)


def large_regret_words(report: Report, chosen: Learner) -> list[str]:
    """Return why the best learner may have a large regret: most of what it lost, or twice that of another in the same loss."""
    found = chosen["regret"]
    if not found or found.get("against") or report.winner is None or report.sort in ("regret", "loss") or not found["value"]:
        return []
    alike = [row for row in report.learners if row["regret"] and row["regret"]["loss"] == found["loss"]]
    other = min(alike, key=lambda row: math.inf if row["regret"]["value"] is None else row["regret"]["value"])
    if other is chosen or found["value"] < max(LARGE * found["cumulative"], 2.0 * other["regret"]["value"]):
        return []
    line = (
        f"{chosen['label']} is the best by {words(report.sort)}, and not by regret: that of {other['label']} is "
        f"{amount(other['regret']['value'])}. Regret is in {words(found['loss'])} loss"
    )
    return [line + (", which counts how far scores are off, also of right answers." if chosen["error"] is not None else ".")]


def drift_words(report: Report, rows: Sequence[Learner]) -> list[str]:
    """Return where drift was and where it was detected."""

    def places(found: Sequence[float]) -> str:
        return first_of([amount(at, 9) for at in found], 8)

    true = report.data.get("true_drifts") or []
    lines = [f"True drift at {places(true)}."] if true else []
    return lines + [f"Drift detected for {row['label']} at {places(row['drifts'])}." for row in rows if row["drifts"]]


def skipped_words(data: dict[str, Any]) -> list[str]:
    """Return how many rows were skipped, and what was wrong with the first ones."""
    skipped = data.get("skipped") or {}
    if not skipped.get("count"):
        return []
    return [f"Skipped {plural(skipped['count'], 'bad row')}:", *(f"  {message}" for message in skipped.get("first") or [])]
