"""The report as one HTML page that needs nothing else: tables and words are written here, `assets/page.js` draws the charts.

The page opens from a file and makes no request; its policy lets only the two scripts run that are in the package. Whatever
comes from the user is escaped, and the figures stand in the page as JSON in which no tag can begin.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from ...engine.processor import described
from ...text import amount, even, percent, plural, shortened, size
from ...version import __version__
from ..kinds import all_columns
from . import palette, summary
from .part_tables import feature_rows, feature_words, pool_rows, task_rows
from .summary import Learner, words

if TYPE_CHECKING:
    from .report import Report

LARGEST_MATRIX = 40  # classes; a larger confusion matrix becomes the list of its commonest mistakes
DIGITS = 7  # of the numbers behind the charts
SHOWN = 8  # curves that are drawn at first


def page(report: Report) -> str:
    """Return the page."""
    rows = summary.ordered(report.learners, report.sort)
    chosen = summary.winner(report, rows)
    library = f"/*!\n{asset('uplot/LICENSE')}*/\n{asset('uplot/uPlot.iife.min.js')}"
    script = asset("page.js")
    drawn = curves(report, rows)  # of a table of wealth or losses the first thing to look at
    sections = (
        header(report, chosen),
        results(report, rows),
        sweep(rows),
        drawn if report.form.linear else "",
        regret(report, rows, chosen),
        pools(rows),
        tasks(rows),
        features(rows, chosen),
        "" if report.form.linear else drawn,
        reliability(rows, chosen),
        confusion(rows),
        *report.form.sections(report, rows),
        settings(rows),
        remarks(report),
    )
    return Template(asset("page.html")).substitute(
        title=escape(title(report)),
        hashes=" ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in (library, script)),
        style=palette.css(max(len(rows) + len(summary.baselines(report)), SHOWN + 2))
        + asset("uplot/uPlot.min.css")
        + asset("page.css"),
        body="\n".join(s for s in sections if s),
        data=embedded(payload(report, rows)),
        library=library,
        script=script,
    )


def notebook(report: Report) -> str:
    """Return a small table for a notebook."""
    rows = summary.ordered(report.learners, report.sort)
    found = summary.columns(rows)
    head = "".join(f"<th>{escape(c.head)}</th>" for c in found)
    body = "".join(
        f"<tr><td>{escape(row['label'])}</td>{''.join(f'<td>{escape(c.shown(row))}</td>' for c in found)}</tr>"
        for row in [*rows, *summary.bracketed(report)]
    )
    table = f"<table><thead><tr><th>learner</th>{head}</tr></thead><tbody>{body}</tbody></table>"
    note = "".join(f"<p>{escape(line)}</p>" for line in [*summary.verdict(report, rows), *summary.warning_words(report)])
    return f"<div><p>{escape(summary.source(report.data))}</p>{table}{note}</div>"


def asset(name: str) -> str:
    """Return a file of the package's assets."""
    return (files(__package__) / "assets" / name).read_text("utf-8")


def embedded(value: Any) -> str:
    """Return JSON that may stand inside a script element."""
    found = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return found.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def payload(report: Report, rows: Sequence[Learner]) -> dict[str, Any]:
    """Return what the charts are drawn from."""
    learners = [
        {
            "label": row["label"],
            "curve": row["curve"],
            "drifts": row["drifts"],
            "confusion": confusion_view(row["confusion"]),
            "reliability": reliability_view(row.get("reliability")),
            "regret": row["regret"] and regret_view(row["regret"]),
        }
        for row in rows
    ]
    true_drifts = report.data.get("true_drifts") or []
    found = {"winner": report.winner, "shown": SHOWN, "data": {"true_drifts": true_drifts}, "learners": learners}
    found |= {"unit": f"{report.data.get('unit', 'example')}s", "one": summary.each(report)}
    found |= {"linear": report.form.linear, "signed": report.form.signed}
    found["baselines"] = [{"label": row["label"], "curve": row["curve"]} for row in summary.baselines(report)]
    return rounded({**found, "measures": [m._asdict() for m in summary.measures(rows)], "sweep": sweep_view(rows)})


def regret_view(found: dict[str, Any]) -> dict[str, Any]:
    """Return what the charts of a regret show."""
    kept = {k: found.get(k) for k in ("bound", "bound_measures", "curve")}
    title = found.get("title") or f"cumulative {words(found['loss'])} loss"
    return {**kept, "loss": words(found["loss"]), "best": summary.best_words(found), "title": title}


def rounded(value: Any) -> Any:
    """Return the data with numbers of a few digits, which a chart cannot tell from longer ones."""
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def title(report: Report) -> str:
    """Return the title of the page."""
    name = report.data.get("name") or "data"
    return f"{report.learners[0]['label']} on {name}" if report.form.alone else f"noregret {report.kind}: {name}"


def section(name: str, heading: str, *parts: str) -> str:
    """Return a section, or nothing where it has no parts."""
    inner = "\n".join(part for part in parts if part)
    return f'<section id="{name}"><h2>{escape(heading)}</h2>\n{inner}\n</section>' if inner else ""


def folds(rows: Sequence[Learner], chosen: Learner, key: str, inner: Callable[[Any], str]) -> list[str]:
    """Return what every learner that has something under a key shows of it, that of others than the one chosen folded."""
    return [
        f"<details{' open' if row is chosen else ''}><summary>{escape(row['label'])}</summary>{inner(row[key])}</details>"
        for row in rows
        if row.get(key)
    ]


def legend(names: Iterable[tuple[str, str]]) -> str:
    """Return names with their colours, as a line."""
    keys = "".join(f'<span><i style="background:{shade}"></i>{escape(shortened(name, 30))}</span>' for name, shade in names)
    return f'<p class="keys small">{keys}</p>' if keys else ""


def header(report: Report, chosen: Learner) -> str:
    """Return what was run, and the answer in one sentence."""
    verdict = summary.headline(report, chosen)
    best = "" if report.form.alone else "First: " if report.winner is None else "Best: "
    note = f'<p class="verdict">{best}<strong>{escape(chosen["label"])}</strong>, {escape(verdict)}.</p>' if verdict else ""
    count = "" if report.form.alone else f" {plural(len(report.learners), 'learner')}, {report.form.manner}."
    data = f'<p class="quiet">{escape(summary.source(report.data))}.{count}</p>'
    warned = "".join(f'<p class="warning">{escape(line)}</p>' for line in summary.warning_words(report))
    return f"<header><h1>{escape(title(report))}</h1>\n{data}\n{note}{warned}</header>"


def figures(
    head: Sequence[str], rows: Iterable[tuple[str, Sequence[tuple[Any, str]]]], marks: Mapping[str, str] | None = None
) -> str:
    """Return a table that sorts by a click: a row is a label and, for each column, its value and how it is shown.

    `marks` are classes of rows by their labels.
    """
    body = []
    for label, cells in rows:
        shown = "".join(f'<td data-value="{escape("" if v is None else str(v))}">{escape(text)}</td>' for v, text in cells)
        mark = f' class="{marks[label]}"' if marks and label in marks else ""
        body.append(f'<tr{mark}><td data-value="{escape(label)}" title="{escape(label)}">{escape(label)}</td>{shown}</tr>')
    top = "".join(f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in head)
    table = f'<table class="figures sortable"><thead><tr>{top}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    return f'<div class="scroll">{table}</div>'


def listed(head: Sequence[str], rows: Iterable[Sequence[str]], more: str = "") -> str:
    """Return a plain table, whose rows begin with a name."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(c)}</td>' for c in rest)}</tr>" for name, *rest in rows)
    return f'<div class="scroll"><table class="figures{more}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def results(report: Report, rows: Sequence[Learner]) -> str:
    """Return the table of results, and every loss and metric behind a fold."""
    found, trivial = summary.columns(rows), summary.baselines(report)
    main = figures(
        ["learner", *(c.head for c in found)],
        [(row["label"], [(c.value(row), c.shown(row)) for c in found]) for row in [*rows, *trivial]],
        {row["label"]: "baseline" for row in trivial} | ({} if report.winner is None else {report.winner: "winner"}),
    )
    names = [("losses", name) for name in dict.fromkeys(name for row in rows for name in row["losses"])]
    names += [("metrics", name) for name in dict.fromkeys(name for row in rows for name in row["metrics"])]
    names = [found for found in names if found != ("metrics", "log_loss") or ("losses", "log") not in names]  # the same figure
    known = {("metrics", shown.name): shown.form for shown in all_columns() if shown.form is not None}
    called = {shown.name: shown.head for shown in all_columns() if shown.form is not None}
    heads = [f"{words(name)} loss" if group == "losses" else called.get(name, words(name)) for group, name in names]
    forms = {(group, name): known.get((group, name)) or even(row[group].get(name) for row in rows) for group, name in names}
    lines = [(row["label"], [(v := row[group].get(name), forms[group, name](v)) for group, name in names]) for row in rows]
    if len(rows) == 1:  # there is nothing to compare: a list has room on every screen
        told = "".join(f"<div><dt>{escape(h)}</dt><dd>{text}</dd></div>" for h, (_, text) in zip(heads, lines[0][1], strict=True))
        inner = f'<dl class="every">{told}</dl>'
    else:
        inner = figures(["learner", *heads], lines)
    opened = " open" if len(rows) == 1 else ""
    every = f"<details{opened}><summary>Every loss and metric</summary>{inner}</details>" if names else ""
    hints = ['<span class="click">A click on a heading sorts.</span>'] if len(rows) > 1 else []
    hints += [f"Rows in italics are baselines: {report.form.trivial}."] if trivial else []
    hint = f'<p class="quiet small">{" ".join(hints)}</p>' if hints else ""
    return section("results", "Results", main, hint, every)


def picker(name: str, rows: Sequence[Learner]) -> str:
    """Return the control that chooses a learner; with one learner there is nothing to choose."""
    hidden = " hidden" if len(rows) == 1 else ""
    return f'<label{hidden}>Learner <select id="{name}"></select></label>'


def switch(name: str, label: str) -> str:
    """Return the place of a row of buttons."""
    return f'<span class="switch" id="{name}" role="group" aria-label="{label}"></span>'


def chart(name: str, heading: str = "", note: str = "", kind: str = "chart") -> str:
    """Return the place of a chart."""
    top = f"<h3>{escape(heading)}</h3>" if heading else ""
    below = f'<p class="quiet small">{escape(note)}</p>' if note else ""
    return f'<div class="{kind}">{top}{below}<div id="{name}"></div></div>'


def regret(report: Report, rows: Sequence[Learner], chosen: Learner) -> str:
    """Return the regret: words and facts for each learner, and the places of the charts."""
    having = [row for row in rows if row["regret"] and row["regret"].get("curve")]
    if not having:
        return ""
    first = chosen if chosen in having else having[0]
    stories, facts = [f'<p class="story">{escape(line)}</p>' for line in summary.large_regret_words(report, chosen)], []
    for i, row in enumerate(rows):
        if row in having:
            hide = "" if row is first else " hidden"
            stories.append(f'<p class="story" data-regret="{i}"{hide}>{escape(summary.regret_words(row))}</p>')
            facts.append(f'<dl data-regret="{i}"{hide}>{regret_facts(row["regret"])}</dl>')
    own = ", each in its own loss" if len({row["regret"]["loss"] for row in having}) > 1 else ""
    few = f" {SHOWN} curves are drawn at first; a click on a name shows another." if len(having) > SHOWN else ""
    measured = any((row["regret"].get("bound_measures") or "regret") != "regret" for row in having)
    falls = f"Lost beyond the best in hindsight; {'its mean ' if report.form.signed else ''}should fall to 0."
    every = f"Regret {summary.each(report)}{own}; on log axes only what is above 0.{few}"
    so_far = (first["regret"].get("title") or "loss").split(" before")[0].capitalize()
    charts = [
        chart("regret-loss", f"{so_far} so far", "The shaded gap is the regret."),
        chart("regret-bound", "Regret", falls),
        chart("regret-measured", "What the theorem bounds", "Measured on this stream, and never to exceed the bound.")
        if measured
        else "",
        chart(
            "regret-all",
            "Every learner",
            every,
            "chart wide",
        )
        if len(having) > 1
        else "",
    ]
    controls = picker("regret-who", having) + switch("regret-each", "Regret") + switch("regret-log", "Axes")
    return section(
        "regret",
        "Regret: how much was lost by not knowing the future",
        f'<div class="controls">{controls}</div>',
        *stories,
        f'<div class="charts">{"".join(charts)}</div>',
        *facts,
    )


def regret_facts(found: dict[str, Any]) -> str:
    """Return what the comparator and the theorem are, as a list of terms."""
    lower, upper = summary.best_loss(found)
    fixed = f"one fixed model u{summary.ball(found, '≤')}, the best for the whole stream chosen after seeing all of it"
    along = "the same u is used at every point, so early regret can be below 0"
    if found.get("against"):
        fixed = f"{found['against'].rstrip(',')}, chosen after seeing all of the stream"
        along = found.get("along") or "the best learner up to each point is used"
    certified = (
        f"between {amount(lower, 6)} and {amount(upper, 6)}, proved by a dual bound" if lower is not None else amount(upper, 6)
    )
    about = found.get("bound_measures") or "regret"
    value = found["value"] if about == "regret" else found.get("measured")
    bound = found.get("bound")
    stopped = ", stopped before the tolerance was reached" if found.get("converged") is False else ""
    share = f", of which {percent(value / bound)} % was used" if bound and value is not None and value >= 0 else ""
    share += f"; vacuous, as {summary.vacuous_words(found)}" if found.get("vacuous") else ""
    terms = [
        ("Compared with", fixed),
        (f"Its {found.get('title') or 'loss'}", f"{certified} ({words(found['loss'])}, summed over the stream)"),
        ("Found in", plural(found["passes"], "pass") + f" over the data{stopped}" if found.get("passes") else None),
        ("Theorem", found.get("bound_name") if bound is not None else summary.bound_words(found)),
        ("Bound", f"{amount(bound, 6)} for the {words(about)}{share}" if bound is not None else None),
        ("Along the curve", along),
    ]
    return "".join(f"<dt>{term}</dt><dd>{escape(str(note))}</dd>" for term, note in terms if note)


def tasks(rows: Sequence[Learner]) -> str:
    """Return the largest tasks of each learner of several."""
    tables = []
    for row in rows:
        if row.get("tasks"):
            names, lines = task_rows(row)
            tables.append(f"<h3>{escape(row['label'])}</h3>{listed(names, lines)}")
    return section("tasks", "Tasks: their rows, how they were answered, and the weights they use", *tables) if tables else ""


def pools(rows: Sequence[Learner]) -> str:
    """Return the learners of each pool with their weights."""
    tables = []
    for row in rows:
        if row.get("pool"):
            tables.append(f"<h3>{escape(row['label'])}</h3>{listed(['learner', 'weight', 'loss'], pool_rows(row))}")
    return section("pool", "Who is believed: the learners of the pool, and their weights at the end", *tables) if tables else ""


def features(rows: Sequence[Learner], chosen: Learner) -> str:
    """Return the features that are in use, those of other learners than the chosen one behind folds."""
    tables = []
    for row in rows:
        if row.get("features"):
            note = escape(feature_words(row))
            opened = " open" if row is chosen else ""
            tables.append(f"<details{opened}><summary>{note}</summary>{listed(*feature_rows(row), ' narrow')}</details>")
    return section("features", "Features in use", *tables) if tables else ""


def curves(report: Report, rows: Sequence[Learner]) -> str:
    """Return the place of the learning curves, and what the marks of drift mean."""
    if not summary.measures(rows):
        return ""
    controls = switch("curve-what", "Figure") + switch("curve-x", "Horizontal axis") + switch("curve-y", "Vertical axis")
    drifts = [escape(line) for line in summary.drift_words(report, rows)]
    marks = "Broad vertical lines: true drift. Dotted lines with a tip, in a learner's colour: drift detected."
    note = f'<p class="quiet small">{marks}<br>{"<br>".join(drifts)}</p>' if drifts else ""
    many = (
        f" The curves of {SHOWN} of {len(rows)} learners are drawn at first; the names of the others are faint."
        if len(rows) > SHOWN
        else ""
    )
    far = "" if report.form.linear else " The first rows, and curves that end far above the others, may leave the picture."
    hint = (
        '<p class="quiet small"><span class="click">A click on a name hides or shows its curve; drag to zoom, double click to '
        f"return.</span>{many}{far}</p>"
    )
    return section("curves", report.form.curves, f'<div class="controls">{controls}</div>', chart("curve-chart"), hint, note)


def sweep_view(rows: Sequence[Learner]) -> dict[str, Any] | None:
    """Return the figures against the setting that varies."""
    found, able = summary.swept(rows), summary.sweep_measures(rows)
    if found is None or not able:
        return None
    loss = summary.main_loss(rows)
    lines = []
    for label, points in found.lines:
        columns = {m.key: [summary.figure(row, m.key, loss) for _, row in points] for m in able}
        lines.append({"label": label, "x": [x for x, _ in points], **columns})
    shown = summary.frontier(rows)
    best = summary.best_of_frontier(shown)
    edge = {"x": [n for n, _, _ in best], "y": [e for _, e, _ in best], "labels": [row["label"] for _, _, row in best]}
    least = {n: e for n, e, _ in reversed(shown)}  # of several with the same number of weights
    size = {"all": {"x": sorted(least), "y": [least[n] for n in sorted(least)]}, "best": edge} if shown else None
    return {"name": found.name, "log": found.log, "measures": [m._asdict() for m in able], "lines": lines, "frontier": size}


def sweep(rows: Sequence[Learner]) -> str:
    """Return the place of the chart of a figure against a setting."""
    view = sweep_view(rows)
    if view is None:
        return ""
    note = "Each setting is a point; the line joins those of which no other has both fewer weights and less error."
    return section(
        "sweep",
        f"By {view['name']}",
        f'<div class="controls">{switch("sweep-what", "Figure")}</div>',
        chart("sweep-chart"),
        chart("frontier-chart", "Error and size", note) if view["frontier"] else "",
    )


def reliability_view(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the points of a reliability diagram."""
    return found and {"x": [b["probability"] for b in found["bins"]], "y": [b["share"] for b in found["bins"]]}


def reliability(rows: Sequence[Learner], chosen: Learner) -> str:
    """Return the place of the reliability diagram, and the numbers behind it, those of other learners behind folds."""
    having = [row for row in rows if row.get("reliability")]
    if not having:
        return ""
    of = having[0]["reliability"]["of"]
    whose = "of the most probable class" if of is None else f"of {of}"
    note = (
        f"Rows by the probability {whose}, in fifteen bins, and the share of them in which it came: on the diagonal, what was said "
        "is what came. The limits are those of chance (95 %)."
    )
    head = "".join(f"<th>{name}</th>" for name in ("probability %", "came %", "limits %", "rows"))
    tables = []
    for row in having:
        cells = "".join(
            f"<tr><td>{percent(b['probability'])}</td><td>{percent(b['share'])}</td><td>{percent(b['low'])} to {percent(b['high'])}"
            f"</td><td>{amount(b['examples'])}</td></tr>"
            for b in row["reliability"]["bins"]
        )
        table = f'<table class="figures narrow"><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table>'
        error = f"{escape(row['label'])}: calibration error {amount(row['metrics']['ece'])}"
        tables.append(f"<details{' open' if row is chosen else ''}><summary>{error}</summary>{table}</details>")
    said = f'<p class="quiet small">{escape(note)}</p>'
    return section("reliability", "Reliability: what came of the probabilities", said, chart("reliability-chart"), *tables)


def confusion_view(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the matrix, or the commonest mistakes where it is too large for a page."""
    if not found:
        return None
    labels, counts = [str(label) for label in found["labels"]], found["counts"]
    if len(labels) <= LARGEST_MATRIX:
        return {"labels": labels, "counts": counts}
    pairs = [(labels[t], labels[a], n) for t, row in enumerate(counts) for a, n in enumerate(row) if n and t != a]
    return {"pairs": [list(pair) for pair in sorted(pairs, key=lambda pair: -pair[2])[:LARGEST_MATRIX]]}


def confusion(rows: Sequence[Learner]) -> str:
    """Return the place of the confusion matrix."""
    having = [row for row in rows if row["confusion"]]
    if not having:
        return ""
    note = '<p class="quiet small">Rows are the truth, columns the answers; blue is right, orange wrong, as a share of the row.</p>'
    controls = (
        f'<div class="controls">{picker("confusion-who", having)}</div>' if len(having) > 1 else picker("confusion-who", having)
    )
    return section("confusion", "Confusion", controls, '<div class="scroll" id="confusion-table"></div>', note)


def settings(rows: Sequence[Learner]) -> str:
    """Return the settings and the size of each learner."""
    lines = []
    for row in rows:
        params = ", ".join(f"{name}={value}" for name, value in row["params"].items()) or "none"
        memory = size(row["bytes"]) if row["bytes"] is not None else "-"
        cells = "".join(f'<td class="text">{escape(str(cell))}</td>' for cell in (row["label"], row["model"] or "-"))
        lines.append(f'<tr>{cells}<td class="text long">{escape(params)}</td><td>{memory}</td></tr>')
    head = '<tr><th>learner</th><th class="text">model</th><th class="text">settings</th><th>size</th></tr>'
    table = f'<div class="scroll"><table class="figures"><thead>{head}</thead><tbody>{"".join(lines)}</tbody></table></div>'
    inner = table if len(rows) <= 3 else f"<details><summary>Settings of {len(rows)} learners</summary>{table}</details>"
    return section("settings", "Settings", inner)


def remarks(report: Report) -> str:
    """Return notes, skipped rows and how to run it again."""
    lines = "".join(f"<li>{escape(note)}</li>" for note in report.notes)
    skipped = summary.skipped_words(report.data)
    if skipped:
        bad = "".join(f"<li>{escape(message.strip())}</li>" for message in skipped[1:])
        lines += f"<li>{escape(skipped[0])}<ul>{bad}</ul></li>" if bad else f"<li>{escape(skipped[0].rstrip(':'))}.</li>"
    notes = section("notes", "Notes", f"<ul>{lines}</ul>" if lines else "")
    command = report.data.get("command")
    again = section("again", "Run it again", f"<pre>{escape(str(command))}</pre>") if command else ""
    return "\n".join([notes, again, f'<p class="quiet small">Made by {escape(made_by(report))}.</p>'])


def made_by(report: Report) -> str:
    """Return by what, when and with which seeds the report was made."""
    data = report.data
    seeds = dict.fromkeys(
        str(v) for v in (data.get("seed"), *(row["params"].get("seed") for row in report.learners)) if v is not None
    )
    parts = [f"noregret {data.get('version') or __version__}", described(data["level"]) if data.get("level") else ""]
    parts += [data.get("date") or "", f"seed {', '.join(seeds)}" if seeds else ""]
    return ", ".join(part for part in parts if part)
