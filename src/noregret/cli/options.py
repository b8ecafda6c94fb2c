"""What commands share: options in groups, the source, the files a report is written to."""

from __future__ import annotations

import csv
import glob
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ..files.drafts import check_apart, check_folder
from ..streams.formats import files
from .wording import note_names, options_alone, spoken

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # older versions of click have it without a parameter
    ParamType = click.ParamType

TASKS = ("classification", "regression", "one_class", "portfolio", "experts", "components", "topics", "recommendation")
DETECTORS = ("adwin", "ddm", "eddm", "page_hinkley")
ARGS = "noregret.cli.arguments"  # of a command, as they were given
Decorator = Callable[[Any], Any]


class Option(click.Option):
    """An option under a heading of the help."""

    def __init__(self, *args: Any, group: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class Command(click.Command):
    """A command whose help shows its options under headings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and keep the arguments as they were given."""
        ctx.meta[ARGS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it. A processor level that cannot be is refused before the work begins."""
        if os.environ.get("NOREGRET_CPU"):
            from ..engine.processor import chosen

            chosen()
        note_names(ctx)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(param, "group", "Options"), []).append(record)
        for heading, records in sorted(
            groups.items(), key=lambda g: not g[0].startswith("Options")
        ):  # those of a learner come early
            with formatter.section(heading):
                formatter.write_dl(records)


class Columns(ParamType):
    """Names of columns with commas between them; one that has a comma itself is put in double quotes."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """Return the names."""
        found = next(csv.reader([value], skipinitialspace=True), []) if isinstance(value, str) else list(value)
        if not all(found) or not found:
            self.fail(f"expected names of columns with commas between them, got {value!r}", param, ctx)
        return found


class FormatName(ParamType):
    """The name of a format of files; plugins may bring more."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the names, as the help shows them."""
        return f"[{'|'.join(files())}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of a known format."""
        if value not in files():
            self.fail(f"{value!r} is not one of {', '.join(files())}", param, ctx)
        return str(value)


def group(heading: str, *options: tuple[tuple[str, ...], dict[str, Any]]) -> tuple[Decorator, tuple[str, ...]]:
    """Return a decorator that adds options under a heading, and the names by which a command gets their values."""
    added = [click.option(*names, cls=Option, group=heading, **how) for names, how in options]
    names = tuple(str(Option(list(names), **how).name) for names, how in options)

    def decorate(command: Any) -> Any:
        for option in reversed(added):
            command = option(command)
        return command

    return decorate, names


def one(*names: str, **how: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return an option for `group`."""
    return names, how


def many_columns(name: str, what: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return an option that takes columns, once or several times."""
    return one(name, type=Columns(), multiple=True, metavar="A,B", help=what)


# ---- where examples come from ----------------------------------------------------------------------------------------
source_options, SOURCE = group(
    "Source",
    one("--format", type=FormatName(), help="Format, where neither the name nor the first bytes tell it."),
    one(
        "--task",
        type=click.Choice(TASKS),
        help="The kind of problem, where neither the learner nor the rows tell it. Rows are days of relatives or prices for "
        "portfolio, losses or advice for experts; short names of learners do there. Components are not learned from "
        "labels, but judged by them. Topics are made of words: those of the columns of text, in tables. Recommendation takes "
        "--user, --item and --target, the rating.",
    ),
    one("--target", metavar="COLUMN", help="Column of the label or target, in tables; of experts, that of the truth."),
    one("--user", metavar="COLUMN", help="Of recommendation: column of the users."),
    one(
        "--item",
        metavar="COLUMN",
        help="Of recommendation: column of the items; all columns but these and the target are left out.",
    ),
    one("--weight", metavar="COLUMN", help="Column of weights of the rows."),
    one("--id", metavar="COLUMN", help="Column that names the rows, for predictions."),
    one("--time", metavar="COLUMN", help="Column of times, for --delay; of days or rounds, their dates, found out unless said."),
    one("--prices", is_flag=True, help="Of portfolios: rows are prices, not price relatives; the first makes no day."),
    one("--missing", type=click.Choice(["hold"]), help="Of portfolios: an empty cell means that the price did not change."),
    many_columns("--numeric", "Columns of numbers."),
    many_columns("--categorical", "Columns of categories."),
    many_columns("--text", "Columns of text, read as words."),
    many_columns("--date", "Columns of dates; those of a CSV are found out."),
    one(
        "--date-order",
        type=click.Choice(["dmy", "mdy"]),
        help="Whether the day or the month comes first in dates such as 5/1/2011.",
    ),
    many_columns("--ignore", "Columns to leave out."),
    one(
        "--cross",
        multiple=True,
        metavar="A,B",
        help="Add the products of the features of these columns, or namespaces of VW text; may be repeated.",
    ),
    one(
        "--ngrams", metavar="N", type=click.IntRange(0, 10), help="Longest run of words of a text that is a feature.  [default: 1]"
    ),
    one("--stop-words", metavar="WORDS", help="Words of texts to leave out: english, or a file with a word a line."),
    one(
        "--min-count",
        metavar="N",
        type=click.IntRange(1),
        help="Leave out words of texts until they have been met N times.  [default: 1]",
    ),
    one("--vocabulary", metavar="FILE", help="The words that the numbers of ldac and docword stand for, one a line."),
    one("--hash-bits", metavar="N", type=click.IntRange(1, 31), help="Fold features into 2^N places."),
    one("--scale", is_flag=True, help="Standardise features as they come."),
    one("--normalize", type=click.Choice(["l2", "l1", "max"]), help="Bring each row to length 1 in a norm."),
    one("--on-bad", type=click.Choice(["stop", "skip"]), help="What to do with a row that cannot be read.  [default: stop]"),
    one(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a CSV names the columns (else c0, c1, ...); found out unless said.",
    ),
    one("--delimiter", metavar="CHARACTER", help="Between the cells of a CSV, if not a comma."),
    one("--decimal", type=click.Choice([".", ","]), help="Decimal mark of the numbers of a CSV.  [default: .]"),
    one("--threads", metavar="N", type=click.IntRange(1), help="Threads that read text.  [default: 2]"),
    one("--limit", metavar="N", type=click.IntRange(1), help="Stop after N rows."),
)


def source_argument(command: Any) -> Any:
    """Add the argument SOURCE."""
    return click.argument("source", nargs=-1, required=True)(command)


def source_of(given: tuple[str, ...]) -> Any:
    """Return what the library calls a source: one name, or a list."""
    for name in given:
        if is_model(name):
            raise click.UsageError(f"{name} is a model of noregret, not a source of rows: noregret inspect shows it")
    return given[0] if len(given) == 1 else list(given)


def read_files(*names: str | None) -> list[str]:
    """Return the files that a command reads, globs expanded; standard input is none."""
    return [path for name in names if name not in (None, "-") for path in glob.glob(name) or [name]]


def is_model(name: str) -> bool:
    """Return whether a file is one that `train` saved; of a pipe nothing is read."""
    try:
        if not os.path.isfile(name):
            return False
        with open(name, "rb") as file:
            head = file.read(256)
    except (OSError, ValueError):
        return False
    return head[8:9] == b"{" and b'"noregret":' in head


def given(options: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the options among these that the user gave, as the library takes them."""
    found = {name: options[name] for name in names if options.get(name) not in (None, ()) and options[name] is not False}
    if "header" in names and options.get("header") is False:
        found["header"] = False
    for name in ("numeric", "categorical", "text", "date", "ignore"):
        if name in found:
            found[name] = [column for columns in found[name] for column in columns]
    return found | ({"cross": list(found["cross"])} if "cross" in found else {})


def reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the source, without the limit, which is not one of the stream."""
    return {k: v for k, v in given(options, SOURCE).items() if k != "limit"}


@contextmanager
def as_usage() -> Iterator[None]:
    """Let options that contradict a model be wrong usage inside this block."""
    from ..training.opening import OtherOptions

    try:
        yield
    except OtherOptions as e:
        raise click.UsageError(spoken(str(e))) from None


# ---- how a study is watched ------------------------------------------------------------------------------------------
def figure(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the name of a figure, refused if no report has it."""
    if value is not None:
        from ..evaluation.report.summary import known_figure

        try:
            known_figure(value)
        except ValueError as e:
            raise click.BadParameter(str(e), ctx, param) from None
    return value


watching_options, WATCHING = group(
    "Watching",
    one("--window", type=click.IntRange(1), metavar="ROWS", help="Also measure over a sliding window."),
    one(
        "--fading",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        metavar="FACTOR",
        help="Also measure with old rows fading.",
    ),
    one(
        "--delay",
        metavar="N",
        type=click.FloatRange(0),
        help="Labels come N rows later, or N units of --time: seconds where it has dates.",
    ),
    one("--drift", type=click.Choice(DETECTORS), help="Detector that watches the loss."),
    one(
        "--on-drift",
        type=click.Choice(["none", "reset", "reset-rate"]),
        help="What a detection does to the learner.  [default: none]",
    ),
    one(
        "--ask",
        type=click.Choice(["margin", "second_order", "confidence"]),
        help="Ask for the labels of unsure rows alone, by this rule; the others are answered and not learned from.",
    ),
    one(
        "--ask-b",
        metavar="NUMBER",
        type=click.FloatRange(0, min_open=True),
        help="Of --ask margin and second_order: larger asks for more.  [default: 1]",
    ),
    one(
        "--ask-kappa",
        metavar="NUMBER",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help="Of --ask confidence: larger asks for more.  [default: 0.5]",
    ),
    one(
        "--features",
        metavar="N",
        type=click.IntRange(1),
        help="Tell the N largest features in use, since when, and with --permutations in how many of the orders.",
    ),
    one(
        "--proba",
        "probabilities",
        is_flag=True,
        help="Measure probabilities of classes too: log loss, Brier score, calibration error, reliability.",
    ),
    one(
        "--interval",
        "coverage",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        metavar="LEVEL",
        help="Measure intervals, or sets of labels, that hold the truth this often, such as 0.9.",
    ),
    one(
        "--top",
        type=click.IntRange(1),
        metavar="N",
        help="Of recommendation: how often an item rated in the upper fifth of the scale was among the N best for its user before.",
    ),
    one("--days", type=click.IntRange(1), metavar="N", help="Of portfolios: days of a year, for yearly figures.  [default: 252]"),
    one(
        "--shape",
        metavar="HxW",
        help="Of components: rows are images of this height and width, as in 28x28; the page shows them so.",
    ),
    one(
        "--completion/--no-completion",
        default=None,
        help="Of topics: how well half the words of a document tell the other half, of all documents, or of none.  [default: of "
        "one in ten]",
    ),
    one(
        "--gap/--no-gap",
        default=None,
        help="Of topics: what ten passes over the documents would gain; unless said, where that is quick.",
    ),
    one("--holdout", metavar="SOURCE", help="Another source, answered at the end without learning."),
    one(
        "--regret/--no-regret",
        default=None,
        help="Regret against the best fixed comparator; unless said, where the rows fit in memory.",
    ),
    one(
        "--regret-norm",
        type=click.Choice(["l2", "l1"]),
        help="Norm in which the comparator may not be long.  [default: l2]",
    ),
    one(
        "--regret-radius",
        metavar="NUMBER",
        type=click.FloatRange(0, min_open=True),
        help="Longest the comparator may be.",
    ),
    one(
        "--regret-tolerance",
        metavar="NUMBER",
        type=click.FloatRange(0, min_open=True),
        help="How well the comparator is found.  [default: 0.001]",
    ),
    one(
        "--sort",
        metavar="FIGURE",
        callback=figure,
        help="Figure that orders the learners: error, loss, regret, auc, examples_per_second, ...",
    ),
)


def watched(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a study: those of its source, and how it is watched."""
    found = given(options, SOURCE) | given(options, WATCHING)
    found |= {name: False for name in ("regret", "completion", "gap") if options.get(name) is False}
    if "delay" in found and found["delay"] == int(found["delay"]):
        found["delay"] = int(found["delay"])
    return found


# ---- where a report goes ---------------------------------------------------------------------------------------------
report_options, REPORT = group(
    "Output",
    one("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
    one("--html", type=click.Path(dir_okay=False), help="Write the report as one HTML page."),
    one("--csv", "figures", type=click.Path(dir_okay=False), help="Write the figures, a line for each learner and baseline."),
    one("--curves", type=click.Path(dir_okay=False), help="Write the points of the curves as CSV."),
    one("--plot", type=click.Path(dir_okay=False), help="Draw the learning curves into a .png or .svg file."),
    one("--report-json", type=click.Path(dir_okay=False), help="Write the report as JSON."),
    one("--quiet", is_flag=True, help="Show no progress."),
)


FILES = ("html", "figures", "curves", "plot", "report_json")


def check_files(options: Mapping[str, Any], source: tuple[str, ...]) -> None:
    """Refuse files that could not be written, or would replace each other or what is read, before the work begins."""
    paths = [options[name] for name in FILES if options.get(name)]
    for i, path in enumerate(paths):
        check_folder(path)
        check_apart(path, read_files(*source, options["holdout"]))
        check_apart(path, paths[:i], "is written already")
    if options.get("plot") and not options["plot"].lower().endswith((".png", ".svg")):
        raise click.UsageError(f"--plot writes a file that ends in .png or .svg, got {options['plot']!r}")


def command_line(ctx: click.Context) -> str:
    """Return the command as it was given."""
    return f"{ctx.command_path} {shlex.join(ctx.meta[ARGS])}"


def deliver(report: Any, options: Mapping[str, Any], stopped: bool = False) -> None:
    """Print a report, and write the files asked for; one that cannot be written does not cost the report."""
    report.data["command"] = command_line(click.get_current_context())
    report.notes = [options_alone(note) for note in report.notes]
    report.data["warnings"] = [options_alone(line) for line in report.data.get("warnings") or []]
    ways = (report.to_html, report.to_csv, report.curves_to_csv, report.plot, report.to_json)
    written, failed = [], []
    for name, write in zip(FILES, ways, strict=True):
        if options[name]:
            try:
                write(options[name])
                written.append(options[name])
            except (OSError, ValueError, ImportError) as e:
                failed.append(f"cannot write {options[name]}: {getattr(e, 'strerror', None) or e}")
    click.echo(report.to_json() if options["as_json"] else f"{report}\n", nl=False)
    if written and not options["as_json"]:
        click.echo(f"\nWrote {', '.join(written)}.")
    if failed:
        raise click.ClickException("; ".join(failed))
    if stopped:
        click.get_current_context().exit(130)
