"""`noregret evaluate`: one learner, once over a source."""

from __future__ import annotations

from typing import Any

import click

from . import learners
from .options import check_files, deliver, report_options, source_argument, source_of, source_options, watched, watching_options
from .plugins import plugin_option
from .progress import following, watching


@click.command("evaluate", cls=learners.LearnerCommand, short_help="Measure one learner over a source.")
@source_argument
@learners.model_option(required=False)
@plugin_option
@source_options
@watching_options
@report_options
def command(source: tuple[str, ...], model: str | None, quiet: bool, **options: Any) -> None:
    """Let one learner answer, then learn, each row of SOURCE; print what was measured.

    SOURCE is one or several files, a glob, - for standard input, or synthetic:NAME?option=value. Formats: svmlight, VW, CSV, TSV,
    JSON lines, Parquet, ARFF, npz, LDA-C, docword, plain text; also packed with gzip, zstd or bz2.

    \b
    noregret evaluate mail.svm
    noregret evaluate mail.svm --model pa1 -C 0.1
    noregret evaluate mail.csv --target spam --text body --model pa1
    noregret evaluate ap.ldac --vocabulary vocab.txt -K 50
    noregret evaluate --model pa1 --help      shows the options of pa1
    """  # noqa: D301  click reads the mark
    from ..evaluation.runs.study import evaluate

    check_files(options, source)
    chosen = learners.from_spec(model, learners.settings(options), options["task"])
    with watching(quiet, "a learner" if chosen is None else chosen.name) as watch:
        report = evaluate(source_of(source), chosen, **following(watch), **watched(options))
    deliver(report, options, watch.stopped)
