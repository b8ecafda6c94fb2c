"""`noregret sweep`: a grid of settings of one learner, once over a source."""

from __future__ import annotations

from typing import Any

import click

from . import learners
from .options import (
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

EACH, WHOLE = (-6.0, 0.0), (-2.0, 4.0)  # powers of 10 of a penalty of every round, and of one for the whole run


@click.command("sweep", cls=learners.SweepCommand, short_help="Measure a grid of settings of one learner.")
@source_argument
@learners.model_option(required=True)
@plugin_option
@click.option(
    "--folds",
    cls=Option,
    group="Options",
    type=click.IntRange(2),
    metavar="N",
    help="Choose by cross-validation in N blocks.",
)
@click.option(
    "--validation",
    cls=Option,
    group="Options",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Choose by the last share of the rows, answered without learning.",
)
@click.option(
    "--lambda-grid",
    cls=Option,
    group="Options",
    type=click.IntRange(2),
    is_flag=False,
    flag_value=13,
    metavar="[N]",
    help="N penalties (13 unless said) for a learner that has one, from next to none to all weights 0: error against size.",
)
@source_options
@watching_options
@report_options
def command(source: tuple[str, ...], model: str, quiet: bool, **options: Any) -> None:
    """Let a grid of settings of one learner take SOURCE in one pass; print them best first.

    Options of the learner take several values with commas between them, or a range of powers: 2^-4..2^4, 0.01..10*10.

    \b
    noregret sweep mail.svm --model pa1 -C 0.01,0.1,1
    noregret sweep mail.svm --model pa1 -C 2^-4..2^4 --average true,false
    noregret sweep mail.svm --model rda --lambda-grid --plot frontier.png
    noregret sweep docs.txt --model online_lda -K 10,20,50 --stop-words english
    noregret sweep --model pa1 --help      shows the options of pa1
    """  # noqa: D301  click reads the mark
    from ..evaluation.runs.study import sweep

    check_files(options, source)
    base = learners.from_spec(model, task=options["task"])
    grid = learners.settings(options)
    if options["lambda_grid"] is not None:
        name = penalty_of(base)
        grid[name] = penalties(options["lambda_grid"], WHOLE if name == "lambda1" else EACH)
    for name in ("classes", "class_weight", "cost", "groups"):  # these take no lists, or are lists themselves
        if name in grid and not isinstance(grid[name], list):
            base.set_params(**{name: grid.pop(name)})
    if not any(len(values) > 1 for values in grid.values()):
        raise click.UsageError(
            f"a sweep needs several values of an option of {base.name}, such as {example(base)}; see --model {base.name} --help"
        )
    extra = {k: options[k] for k in ("folds", "validation") if options[k] is not None}
    with watching(quiet, base.name) as watch:
        report = sweep(source_of(source), base, **following(watch), **grid, **extra, **watched(options))
    deliver(report, options, watch.stopped)


def penalty_of(base: Any) -> str:
    """Return the parameter that makes weights 0."""
    found = next((name for name in ("lambda_", "lambda1", "g") if name in base.defaults), None)
    if found is None or not hasattr(base, "compact"):
        raise click.UsageError(f"--lambda-grid is for learners with a penalty, such as rda, ftrl and fobos; {base.name} has none")
    return found


def penalties(n: int, powers: tuple[float, float]) -> list[float]:
    """Return n penalties between two powers of 10, evenly spaced on a logarithmic axis, with the digits that tell them apart."""
    low, high = powers
    return [float(f"{10.0 ** (low + (high - low) * i / (n - 1)):.3g}") for i in range(n)]


def example(base: Any) -> str:
    """Return an option of the learner with several values."""
    numbers = [name for name, value in base.defaults.items() if isinstance(value, float)]
    return f"{learners.written(numbers[0])} 0.01,0.1,1" if numbers else "--fit-intercept true,false"
