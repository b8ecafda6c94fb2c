"""`noregret cite`: where an algorithm comes from."""

from __future__ import annotations

import json
import re
from importlib import resources

import click

from .options import Command, Option
from .plugins import plugin_option


def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of learners that begin with the text."""
    from ..registry import by_name

    return [name for name in sorted(by_name()) if name.startswith(incomplete)]


@click.command("cite", cls=Command, short_help="Print the BibTeX entry of a learner.")
@click.argument("name", shell_complete=complete)
@plugin_option
@click.option("--json", "as_json", cls=Option, is_flag=True, help="Print JSON instead of the entry alone.")
def command(name: str, as_json: bool) -> None:
    """Print the BibTeX entry of the paper behind the learner NAME."""
    from ..registry import by_name, unknown

    found = by_name()
    if name not in found:
        raise click.UsageError(unknown(name))
    key = found[name].cite
    if key not in (entries := references()):
        raise click.ClickException(f"{name} cites no paper known here{f' ({key})' if key else ''}")
    said = {"name": name, "cite": key, "bibtex": entries[key]}
    click.echo(json.dumps(said, indent=2) if as_json else entries[key])


def references() -> dict[str, str]:
    """Return the entries of refs.bib by key."""
    text = resources.files("noregret").joinpath("refs.bib").read_text(encoding="utf-8")
    return {m[1]: m[0].strip() for m in re.finditer(r"^@\w+\{(\w+),.*?^\}", text, re.M | re.S)}
