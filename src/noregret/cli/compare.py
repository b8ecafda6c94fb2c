"""`noregret compare`: several learners, once over a source."""

from __future__ import annotations

from typing import Any

import click

from . import learners
from .options import (
    Command,
    Option,
    check_files,
    deliver,
    report_options,
    source_argument,
    source_of,
    source_options,
    watched,
    watching_options,
)
from .plugins import plugin_option
from .progress import following, watching


@click.command("compare", cls=Command, short_help="Measure several learners in one pass.")
@source_argument
@click.option(
    "-m",
    "--models",
    cls=Option,
    group="Options",
    multiple=True,
    type=learners.LearnerName(),
    metavar="NAMES",
    help="Learners with commas between them, settings after a colon: perceptron,pa1:C=0.1; maps of rows before: "
    "nystroem(100,rbf(0.1))>pa1. May be repeated.  [default: a dozen]",
)
@plugin_option
@click.option(
    "--permutations",
    cls=Option,
    group="Options",
    type=click.IntRange(2),
    metavar="N",
    help="Take the rows in N random orders: mean and spread.",
)
@click.option(
    "--cost",
    cls=Option,
    group="Options",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="RATE",
    help="Of portfolios: proportional costs, for buying and selling together, that all pay.  [default: 0]",
)
@click.option(
    "-k",
    "k",
    cls=Option,
    group="Options",
    type=click.IntRange(1),
    metavar="N",
    help="Of components: how many all learners have.  [default: 5 where no learner is named]",
)
@click.option(
    "-K",
    "--K",
    "K",
    cls=Option,
    group="Options",
    type=click.IntRange(1),
    metavar="N",
    help="Of topics: how many all learners have that do not find their number.  [default: 20]",
)
@click.option("--seed", cls=Option, group="Options", type=click.IntRange(0), metavar="N", help="Seed of the orders.  [default: 0]")
@source_options
@watching_options
@report_options
def command(source: tuple[str, ...], models: tuple[str, ...], quiet: bool, **options: Any) -> None:
    """Let several learners answer, then learn, each row of SOURCE, read once; print them best first.

    SOURCE is one or several files, a glob, - for standard input, or synthetic:NAME?option=value.

    \b
    noregret compare mail.svm
    noregret compare mail.svm -m perceptron,pa1:C=0.1 -m ogd --html report.html
    noregret compare mail.svm -m 'pa1,pa1:kernel=rbf(0.1),random_fourier(200,rbf(0.1))>pa1'
    noregret compare mail.svm -m pa1,pa2 --permutations 20
    noregret compare prices.csv --task portfolio --prices --cost 0.001
    noregret compare images.csv --task components -k 10 --shape 28x28 --html report.html
    noregret compare docs.txt --task topics -K 50 --stop-words english --html report.html
    """  # noqa: D301  click reads the mark
    from ..evaluation.runs.study import compare
    from ..spec import parse_list

    check_files(options, source)
    chosen = [learners.from_spec(spec, task=options["task"]) for spec in parse_list(models)] or None
    extra = {k: options[k] for k in ("permutations", "seed", "cost", "k", "K") if options[k] is not None}
    with watching(quiet, f"{len(chosen) if chosen else 'the'} learners") as watch:
        report = compare(source_of(source), chosen, **following(watch), **extra, **watched(options))
    deliver(report, options, watch.stopped)
