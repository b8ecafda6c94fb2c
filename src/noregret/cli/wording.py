"""What the library says about its parameters, in the words of the command line: `hash_bits=18` is `--hash-bits 18` there."""

from __future__ import annotations

import re
from typing import Any

import click

NAMES = "noregret.cli.names"
PREFIX = "learner_"  # of the names by which a command gets the values of its learner's options
VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{[^}]*\}|\.\.\.|[\w+^-]+(?:\.\w+)*(?:\([^)]*\))?"


BOTH = re.compile(r"\([\w.]+(?:=(?:'[^']*'|\w+))?, (?=--[a-z])")  # a parameter beside its option: (ignore, --ignore COLUMN)


def note_names(ctx: click.Context) -> None:
    """Note the options of a command, for what is said about them when it fails."""
    params = [param for param in ctx.command.get_params(ctx) if isinstance(param, click.Option)]
    ctx.meta[NAMES] = {str(param.name).removeprefix(PREFIX): param for param in params}


def spoken(text: str) -> str:
    """Return what the library says with the options of the command in the place of its parameters.

    Those are known by a value (`drift='adwin'`), by an underscore (`on_drift`), or as the first word before a "must".
    """
    text = options_alone(text)
    ctx = click.get_current_context(silent=True)
    names: dict[str, click.Option] = {} if ctx is None else ctx.meta.get(NAMES, {})
    if not names:
        return text
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    text = re.sub(rf"^({known})(?= must )", lambda found: flag(names[found[1]]), text)
    return re.sub(rf"(?<![\w/.'\"-])({known})(?:=({VALUE})?|\b)(?![\w/'\"]|\.\w)", lambda found: said(found, names), text)


def options_alone(text: str) -> str:
    """Return a text in which parameters stand beside their options, `(scale=True, --scale)`, with the options alone."""
    return BOTH.sub("(", text)


def said(found: re.Match[str], names: dict[str, click.Option]) -> str:
    """Return one parameter as an option."""
    whole, name, value = found[0], found[1], found[2]
    if "=" not in whole:
        return flag(names[name]) if "_" in name else whole
    if value is None or value in ("True", "..."):
        return flag(names[name])
    if value == "False":
        return (names[name].secondary_opts or [f"no {flag(names[name])}"])[0]
    return f"{flag(names[name])} {plain(value)}"


def flag(option: click.Option) -> str:
    """Return how an option is given, in its longest form."""
    return max(option.opts, key=len)


def plain(value: str) -> Any:
    """Return a value as it is given on the command line."""
    from ..algorithm.kernel_options import snake

    part = re.fullmatch(r"nr\.(\w+)(.*)", value)
    return snake(part[1]) + part[2] if part else value.strip("'\"")
