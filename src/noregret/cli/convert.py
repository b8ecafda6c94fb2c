"""`noregret convert`: the same examples in another format."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from ..text import plural, printable, size
from .options import Command, Option, reading, source_argument, source_of, source_options
from .progress import watching
from .wording import options_alone


@click.command("convert", cls=Command, short_help="Write a source in another format.")
@source_argument
@click.argument("destination", type=click.Path(dir_okay=False))
@click.option("--json", "as_json", cls=Option, is_flag=True, help="Print JSON instead of a line.")
@click.option("--quiet", cls=Option, is_flag=True, help="Show no progress.")
@source_options
def command(source: tuple[str, ...], destination: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Write SOURCE to DESTINATION in the format of its name.

    These are .svm, .vw, .csv, .tsv, .jsonl, .parquet, .npz, .ldac, .docword and .txt; .gz, .zst or .bz2 after it packs text. From
    table to table the columns stay as they are, and columns with codes such as 01234 are text. To the others a table is written as
    the features that a learner would see, so it needs --target, which is guessed as train does unless given; labels that are texts
    become numbers there, by first appearance, and are listed. Beside .ldac and .docword, which have no labels, their words are
    written to another file, as .vocab; plain text is the column `text`, or the only one.

    \b
    noregret convert mail.svm.gz mail.parquet
    noregret convert mail.csv mail.svm --target spam --text body
    """  # noqa: D301  click reads the mark
    from ..streams.stream import stream
    from ..streams.writers import DOCUMENTS, TABLES, convert, format_of
    from ..training.guessing import with_guess_or_note

    kind, _ = format_of(destination)
    opened, notes = stream(source_of(source), **reading(options)), list[str]()
    if kind not in TABLES:
        opened, notes = with_guess_or_note(opened)
        notes = [] if kind in DOCUMENTS and opened.reader.usual_text is not None else notes
    with watching(quiet, "the reader", leave=False) as shown:
        done = convert(opened, destination, limit=options["limit"], watch=shown)
    found: dict[str, Any] = {
        "source": done.stream.name,
        "file": destination,
        "format": done.kind,
        "rows": done.rows,
        "skipped": done.stream.skipped.count,
        "bytes": os.path.getsize(destination),
        "labels": done.labels,
        "vocabulary": done.vocabulary,
        "notes": [options_alone(note) for note in notes],
    }
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for note in found["notes"]:
        click.echo(f"Note: {note}", err=True)
    skipped = f", {plural(done.stream.skipped.count, 'bad row')} left out" if done.stream.skipped.count else ""
    click.echo(f"Wrote {plural(done.rows, 'row')} to {printable(destination)} ({done.kind}, {size(found['bytes'])}){skipped}.")
    if done.vocabulary is not None:
        click.echo(f"Its words are in {printable(done.vocabulary)}, one a line.")
    if done.labels:
        click.echo("Labels: " + ", ".join(f"{printable(k)} is {v}" for k, v in done.labels.items()) + ".")
