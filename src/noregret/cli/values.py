"""How the values of a learner's options are read from the command line."""

from __future__ import annotations

import math
import re
from typing import Any

import click

from .options import Option, ParamType


class Number(ParamType):
    """A number in the range of a parameter; `none` where that is allowed."""

    name, shown = "number", "NUMBER"

    def __init__(self, parameter: str, range: Any, optional: bool) -> None:  # noqa: A002
        self.parameter, self.range, self.optional = parameter, range, optional

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | None:
        """Return the number."""
        if not isinstance(value, str):
            return value
        if self.optional and value.lower() == "none":
            return None
        try:
            number = power(value)
        except ValueError:
            self.fail(f"expected a number in {self.range}, got {value!r}", param, ctx)
        try:
            found = self.range.check(self.parameter, number)
        except ValueError as e:
            self.fail(str(e), param, ctx)
        return int(found) if self.range.whole and found < math.inf else found


class Named(ParamType):
    """One of several names."""

    name = "choice"

    def __init__(self, table: dict[str, Any]) -> None:
        self.table = table
        self.shown = f"[{'|'.join(table)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what the name stands for."""
        if not isinstance(value, str):
            return value
        if value not in self.table:
            self.fail(f"expected one of {', '.join(self.table)}, got {value!r}", param, ctx)
        return self.table[value]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the names that begin with the text."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in self.table if name.startswith(incomplete)]


class Grouping(ParamType):
    """Groups of features: prefix:SEPARATOR, or a file with a line `name group` for each feature."""

    name, shown = "groups", "prefix:SEP|FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text, or a dict of groups by name or number."""
        if not isinstance(value, str) or value.startswith("prefix:"):
            return value
        try:
            with open(value, encoding="utf-8") as file:
                lines = [line.replace(",", " ").split() for line in file if line.strip()]
        except OSError as e:
            self.fail(f"expected prefix:SEPARATOR or a file, got {value!r} ({e.strerror})", param, ctx)
        for i, line in enumerate(lines):
            if len(line) != 2:
                self.fail(f"{value}, line {i + 1}: expected a feature and its group, got {' '.join(line)!r}", param, ctx)
        return {int(name) if name.isdecimal() else name: group for name, group in lines}


class ListOf(ParamType):
    """Several values with commas between them; of numbers also a range, 2^-4..2^4 or 0.01..10*10."""

    name = "list"

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.shown = "NUMBER,..." if isinstance(kind, Number) else f"{getattr(kind, 'shown', None) or 'TEXT'},..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Any]:
        """Return the values."""
        if not isinstance(value, str):
            return list(value)
        texts: list[Any] = []
        for part in value.split(","):
            try:
                texts += steps(part.strip()) if isinstance(self.kind, Number) and ".." in part else [part.strip()]
            except ValueError as e:
                self.fail(str(e), param, ctx)
        return [self.kind.convert(str(text), param, ctx) for text in texts]


class Values(ParamType):
    """Labels with commas between them."""

    name, shown = "labels", "LABEL,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Any]:
        """Return the labels, numbers as numbers."""
        return [plain(part) for part in value.split(",")] if isinstance(value, str) else list(value)


class Levels(ParamType):
    """A share, or several with commas between them."""

    name, shown = "levels", "LEVEL,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | list[float]:
        """Return the number, or the list of them."""
        if not isinstance(value, str):
            return list(value) if isinstance(value, (list, tuple)) else float(value)
        try:
            found = [float(part) for part in value.split(",")]
        except ValueError:
            self.fail(f"expected numbers such as 0.9 or 0.5,0.9, got {value!r}", param, ctx)
        return found if len(found) > 1 else found[0]


class Pairs(ParamType):
    """Labels with numbers: spam=2,ham=1."""

    name, shown = "weights", "LABEL=NUMBER,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[Any, float]:
        """Return the numbers by label."""
        if not isinstance(value, str):
            return dict(value)
        found = {}
        for part in value.split(","):
            label, _, number = part.rpartition("=")
            try:
                key, amount = self.key(label), float(number)
            except ValueError:
                self.fail(f"expected {self.shown}, got {part!r}", param, ctx)
            if key in found:
                self.fail(f"{label} is given twice", param, ctx)
            found[key] = amount
        return found

    def key(self, text: str) -> Any:
        """Return the label."""
        if not text:
            raise ValueError
        return plain(text)


class Costs(Pairs):
    """Pairs of labels with numbers: spam:ham=5."""

    name, shown = "costs", "TRUE:SAID=NUMBER,..."

    def key(self, text: str) -> Any:
        """Return the pair."""
        true, colon, said = text.partition(":")
        if not (true and colon and said):
            raise ValueError
        return plain(true), plain(said)


LISTS = (ListOf, Values, Levels, Pairs)


class Gathering(Option):
    """An option whose value is a list; given several times, it takes them all."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, multiple=True, **kwargs)

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return one list, or one dict, of those given; None where there is none."""
        found = super().process_value(ctx, value)
        if not found or len(found) == 1:
            return found[0] if found else None
        if not isinstance(found[0], dict):
            return [v for part in found for v in (part if isinstance(part, list) else [part])]
        joined: dict[Any, Any] = {}
        for part in found:
            if twice := joined.keys() & part.keys():
                raise click.BadParameter(f"{twice.pop()!r} is given twice", ctx, self)
            joined |= part
        return joined


def plain(text: str) -> Any:
    """Return a label: a whole number, else the text."""
    text = text.strip()
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else text


def power(text: str) -> float:
    """Return a number, written plainly or as 2^-4."""
    base, hat, exponent = text.partition("^")
    return float(base) ** float(exponent) if hat else float(text)


def steps(text: str) -> list[float]:
    """Return the numbers of a range: from..to in steps of a factor, *2 after it, else the base of powers, else 10."""
    ends, star, by = text.partition("*")
    low, _, high = ends.partition("..")
    try:
        first, last = power(low), power(high)
        base = low.partition("^")[0]
        factor = float(by) if star else float(base) if "^" in low and high.startswith(base + "^") else 10.0
    except ValueError:
        raise ValueError(f"expected numbers, or a range such as 2^-4..2^4 or 0.01..10*10, got {text!r}") from None
    if not (0.0 < first <= last < math.inf and factor > 1.0):
        raise ValueError(f"a range goes from a number above 0 up to a larger one by a factor above 1, got {text!r}")
    count = math.floor(math.log(last / first) / math.log(factor) + 1e-9) + 1
    return [float(f"{first * factor**k:.12g}") for k in range(count)]
