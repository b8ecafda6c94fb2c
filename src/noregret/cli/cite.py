"""`noregret cite`: where an algorithm comes from."""

from __future__ import annotations

import re
from importlib import resources

import click


@click.command("cite", short_help="Print the BibTeX entry of a learner.")
@click.argument("name")
def command(name: str) -> None:
    """Print the BibTeX entry of the paper behind the learner NAME."""
    from ..registry import load_all

    found = load_all()
    if name not in found:
        raise click.UsageError(unknown(name, sorted(found)))
    key = found[name].cite
    if key not in (entries := references()):
        raise click.ClickException(f"{name} has no entry in refs.bib")
    click.echo(entries[key])


def unknown(name: str, known: list[str]) -> str:
    """Return the message about a name that is not in the registry, with those that are close."""
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), known, n=3)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    return f"no learner is called {name!r}.{hint}\nThere are: {', '.join(known)}."


def references() -> dict[str, str]:
    """Return the entries of refs.bib by key."""
    text = resources.files("noregret").joinpath("refs.bib").read_text(encoding="utf-8")
    return {m[1]: m[0].strip() for m in re.finditer(r"^@\w+\{(\w+),.*?^\}", text, re.M | re.S)}
