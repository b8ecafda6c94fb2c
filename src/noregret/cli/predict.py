"""`noregret predict`: answers of a saved model, a line for each row."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import click

from ..text import amount, plural
from .answers import FORMS
from .options import Command, Option, as_usage, reading, source_argument, source_of, source_options
from .plugins import plugin_option
from .progress import watching


@click.command("predict", cls=Command, short_help="Answer the rows of a source with a saved model.")
@source_argument
@click.option("--model-file", cls=Option, required=True, type=click.Path(dir_okay=False), help="The model, as train saved it.")
@plugin_option
@click.option(
    "--output",
    cls=Option,
    type=click.Path(dir_okay=False, allow_dash=True),
    default="-",
    help="File to write; unless given, standard output.",
)
@click.option("--scores", cls=Option, is_flag=True, help="Write the scores too.")
@click.option(
    "--reject",
    cls=Option,
    type=click.FloatRange(0.5, 1, max_open=True),
    metavar="P",
    help="Answer nothing where the learner believes itself right with less than this probability (second-order learners).",
)
@click.option(
    "--as",
    "form",
    cls=Option,
    type=click.Choice(["text", "csv", "jsonl"]),
    default="text",
    show_default=True,
    help="Form of the lines.",
)
@click.option(
    "--json", "as_json", cls=Option, is_flag=True, help="Print one JSON document: the answers, and the error if there are labels."
)
@click.option("--quiet", cls=Option, is_flag=True, help="Show neither progress nor the error.")
@source_options
def command(source: tuple[str, ...], model_file: str, output: str, form: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Answer the rows of SOURCE with a saved model: a line for each, after the row's id or tag if it has one.

    Nothing is learned. Where the rows have labels, the error rate is printed on standard error.

    \b
    noregret predict new.svm --model-file spam.nr
    noregret predict new.csv --model-file spam.nr --id key --scores --as csv
    """  # noqa: D301  click reads the mark
    from ..files.model_file import load
    from ..streams.stream import stream
    from ..training.answering import answer
    from ..training.opening import options_for

    model = load(model_file)
    with as_usage():
        opened = stream(source_of(source), **options_for(model, identified(model, reading(options))))
    found = Tally(getattr(model, "learner", model))
    with watching(quiet, found.learner.name, leave=False) as shown, target(output) as out:
        lines = FORMS["json" if as_json else form](out, found.names() if options["scores"] else None)
        for said in limited(answer(opened, model, reject=options["reject"]), options["limit"]):
            lines.write(said)
            found.add(said)
            shown(found.rows, opened)
        lines.end(found.facts())
    if found.rows == 0:
        raise click.ClickException(f"{opened.name} has no rows")
    if not quiet and not as_json and found.labelled:
        click.echo(found.sentence(), err=True)


def identified(model: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the source without the column of ids, which a table takes from any column."""
    table = getattr(getattr(model, "front", None), "table", None)
    if table is not None and "id" in options:
        table.identify(options.pop("id"))
    return options


def limited(answers: Iterator[Any], limit: int | None) -> Iterator[Any]:
    """Yield the answers up to a number of rows."""
    left = limit
    for said in answers:
        n = len(said.y)
        if left is None or n < left:
            left = None if left is None else left - n
            yield said
            continue
        part = slice(0, left)
        truth = said.truth if said.truth is None else some(said.truth, part)
        yield said._replace(y=said.y[part], scores=said.scores[part], truth=truth, ids=None if said.ids is None else said.ids[part])
        return


def some(y: Any, part: slice) -> Any:
    """Return some of the labels."""
    return y.take(part) if hasattr(y, "codes") else y[part]


class Tally:
    """How many answers there are, and how many of them are wrong."""

    def __init__(self, learner: Any) -> None:
        from ..training.by_task import by_task

        self.learner = learner
        self.task = by_task(learner)
        self.rows = self.labelled = self.rejected = 0
        self.wrong = 0.0  # mistakes, or the sum of sizes of errors

    def names(self) -> list[Any]:
        """Return the classes whose scores there are, or nothing where there is one score."""
        found = self.learner.classes_.tolist() if self.task.classes else []
        return found if len(found) > 2 else []

    def add(self, said: Any) -> None:
        """Count some answers."""
        self.rows += len(said.y)
        rejected = sum(v is None for v in said.y.tolist())
        self.rejected += rejected
        if said.truth is None or self.task.missed is None:
            return
        self.labelled += len(said.y) - rejected
        self.wrong += self.task.missed(self.task.suited(said.truth, self.learner.name), said.y)

    def facts(self) -> dict[str, Any]:
        """Return the counts."""
        rate = self.wrong / self.labelled if self.labelled else None
        rejected = {"rejected": self.rejected} if self.rejected else {}
        return {"rows": self.rows, **rejected, "error" if self.task.classes else "mae": rate}

    def sentence(self) -> str:
        """Return the error as a line."""
        rate = self.wrong / self.labelled
        what = f"error {100 * rate:.2f} %" if self.task.classes else f"mean absolute error {amount(rate)}"
        rejected = f" on those answered, {self.rejected:,} were not" if self.rejected else ""
        return f"{plural(self.rows, 'row')}, {what}{rejected}."


# ---- where they go ---------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def target(path: str) -> Iterator[TextIO]:
    """Yield where to write: standard output, or a file that appears when it is whole."""
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    from ..files.drafts import drafted

    with drafted(path) as draft, open(draft, "w", encoding="utf-8", newline="") as out:
        yield out
