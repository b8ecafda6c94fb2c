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
    help="Choose by cross-validation in so many blocks.",
)
@click.option(
    "--validation",
    cls=Option,
    group="Options",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Choose by the last share of the rows, answered without learning.",
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
    noregret sweep --model pa1 --help      shows the options of pa1
    """  # noqa: D301  click reads the mark
    from ..evaluation.study import sweep

    check_files(options)
    base = learners.from_spec(model)
    grid = learners.settings(options)
    for name in ("classes", "class_weight", "cost"):  # values that are lists themselves
        if name in grid:
            base.set_params(**{name: grid.pop(name)})
    if not any(len(values) > 1 for values in grid.values()):
        raise click.UsageError(
            f"a sweep needs several values of an option of {base.name}, such as {example(base)}; see --model {base.name} --help"
        )
    extra = {k: options[k] for k in ("folds", "validation") if options[k] is not None}
    with watching(quiet, base.name) as watch:
        report = sweep(source_of(source), base, **following(watch), **grid, **extra, **watched(options))
    deliver(report, options, watch.stopped)


def example(base: Any) -> str:
    """Return an option of the learner with several values."""
    numbers = [name for name, value in base.defaults.items() if isinstance(value, float)]
    return f"{learners.written(numbers[0])} 0.01,0.1,1" if numbers else "--fit-intercept true,false"
