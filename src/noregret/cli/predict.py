"""`noregret predict`: answers of a saved model, a line for each row."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import click

from ..files.drafts import check_apart, drafted
from ..text import amount, plural
from .answers import FORMS, Beside, ByClass, LabelSet
from .options import Command, Option, as_usage, read_files, reading, source_of, source_options
from .own_words import speaker_of
from .plugins import plugin_option
from .progress import watching


@click.command("predict", cls=Command, short_help="Answer the rows of a source with a saved model.")
@click.argument("source", nargs=-1)
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
    "--proba", cls=Option, is_flag=True, help="Write the probability of each class too, of a model trained with --probabilities."
)
@click.option(
    "--interval",
    cls=Option,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="LEVEL",
    help="Write low and high, or a set of labels, that hold the truth this often, of a model trained with --coverage.",
)
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

    Nothing is learned. Where the rows have labels, the error rate is printed on standard error. A portfolio, or experts, need no
    SOURCE: their weights for the next day or round are printed, a line for each; with one, those after its rows. Of components the
    coordinates of each row are printed, with --scores its squared residual too; of topics the largest of each document and its
    proportions, with --scores its perplexity too.

    \b
    noregret predict new.svm --model-file spam.nr
    noregret predict new.csv --model-file spam.nr --id key --scores --as csv
    noregret predict new.svm --model-file spam.nr --proba --as csv
    noregret predict --model-file portfolio.nr
    """  # noqa: D301  click reads the mark
    from ..files.model_file import load
    from ..training.answering import answer, opened_to_answer

    check_apart(output, read_files(*source, model_file))
    model = load(model_file)
    speaker = speaker_of(model)
    if not source and (speaker is None or speaker.ROWS):
        raise click.UsageError(f"Missing argument 'SOURCE...': {model_file} answers rows. Name them.")
    if speaker is not None:
        refused = ("proba", "interval", "reject") if speaker.ROWS else ("scores", "proba", "interval", "reject")
        if unfit := [f"--{k}" for k in refused if options[k] not in (None, False)]:
            raise click.UsageError(
                f"{model_file} is {model.name}, which answers with {speaker.ANSWERS}: leave out {' and '.join(unfit)}"
            )
        with as_usage(), target(output) as out:
            given = identified(model, {k: v for k, v in reading(options).items() if k != "task"})
            how = {"limit": options["limit"], "scores": options["scores"], "quiet": quiet}
            speaker.predicted(model, source_of(source) if source else None, given, out, "json" if as_json else form, **how)
        return
    if options["proba"] and not hasattr(model, "predict_proba"):
        raise click.UsageError(f"{model_file} has learned no probabilities: train it with --probabilities")
    level, known = options["interval"], levels(model)
    if level is not None and level not in known:
        kept = f"the levels {', '.join(map(str, known))}" if known else "no coverage"
        raise click.UsageError(f"{model_file} keeps to {kept}: train it with --coverage {level}")
    with as_usage():
        opened = opened_to_answer(source_of(source), model, identified(model, reading(options)))
    found = Tally(getattr(model, "learner", model))
    with watching(quiet, found.learner.name, leave=False) as shown, target(output) as out:
        lines = FORMS["json" if as_json else form](out, found.beside(*(options[k] for k in ("scores", "proba", "interval"))))
        asked = {k: options[k] for k in ("reject", "proba", "interval")}
        for said in limited(answer(opened, model, **asked), options["limit"]):
            lines.write(said)
            found.add(said)
            shown(found.rows, opened)
        lines.end(found.facts())
    if found.rows == 0:
        raise click.ClickException(f"{opened.name} has no rows")
    if not quiet and not as_json and found.labelled:
        click.echo(found.sentence(), err=True)


def levels(model: Any) -> list[float]:
    """Return the levels of coverage that a model keeps to."""
    found = getattr(getattr(model, "learner", model), "coverage", None)
    return [] if found is None else list(found) if isinstance(found, (list, tuple)) else [found]


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
        rest = {name: None if (v := getattr(said, name)) is None else v[part] for name in ("ids", "scores", "proba", "region")}
        yield said._replace(y=said.y[part], truth=truth, **rest)
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

    def beside(self, scores: bool, proba: bool, interval: float | None) -> list[Beside]:
        """Return what is written beside the answers."""
        classes = self.learner.classes_.tolist() if self.task.classes else []
        found: list[Beside] = []
        if scores:
            found.append(ByClass("scores", "score", classes) if len(classes) > 2 else Beside("scores", ["score"]))
        if proba:
            found.append(ByClass("proba", "probability", classes))
        if interval is not None:
            found.append(LabelSet("region", ["set"]) if self.task.classes else Beside("region", ["low", "high"]))
        return found

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
    with drafted(path) as draft, open(draft, "w", encoding="utf-8", newline="") as out:
        yield out
