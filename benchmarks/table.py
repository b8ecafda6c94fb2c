"""Rows of results, printed as a table and kept as JSON."""

import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from math import isfinite

from .timing import Timed

RATES = ("ex/s", "days/s")  # units of which more is better
HEAD = ("work", "ours", "peer", "ratio", "target", "ok", "note")


@dataclass
class Row:
    """One measurement; a ratio above 1 is in our favour, whether the unit is a rate or a cost."""

    work: str
    ours: float
    unit: str = "ex/s"
    peer: str = ""
    theirs: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""
    valid: bool = True  # False when the work was not done right: then no speed is good enough

    @property
    def ratio(self) -> float | None:
        """How many times better than the peer."""
        if self.theirs is None:
            return None
        return self.ours / self.theirs if self.unit in RATES else self.theirs / self.ours

    @property
    def ok(self) -> bool | None:
        """Whether the work was right and the target met; None without a target."""
        if not self.valid:
            return False
        if self.at_least is not None:
            return self.ratio is not None and self.ratio >= self.at_least
        return None if self.at_most is None else self.ours <= self.at_most

    def to_dict(self) -> dict[str, object]:
        """Give the fields, the ratio and the verdict."""
        fields = asdict(self) | {"ratio": self.ratio, "ok": self.ok}
        return {key: None if isinstance(value, float) and not isfinite(value) else value for key, value in fields.items()}

    def cells(self) -> tuple[str, ...]:
        """Give the printed cells in the order of the head."""
        theirs = "" if self.theirs is None else f"{self.peer} {number(self.theirs)}"
        ratio = "" if self.ratio is None or not isfinite(self.ratio) else f"{self.ratio:.2f}x"
        target = f">= {self.at_least:g}x" if self.at_least is not None else ""
        target = f"<= {number(self.at_most)} {self.unit}" if self.at_most is not None else target
        ok = "" if self.ok is None else "yes" if self.ok else "no"
        return self.work, f"{number(self.ours)} {self.unit}", theirs, ratio, target, ok, self.note


def rate(work: str, n: int, ours: Timed, peer: str, theirs: Timed, at_least: float | None = None) -> Row:
    """Compare two passes over the same n examples, with the mistakes of both beside the speed."""
    note = f"mistakes {ours.mistakes} | {theirs.mistakes}"
    return Row(work, n / ours.seconds, "ex/s", peer, n / theirs.seconds, at_least=at_least, note=note)


def number(value: float) -> str:
    """Print three significant figures, thousands with a separator; a dash for what could not be measured."""
    if not isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def render(title: str, rows: list[Row]) -> str:
    """Lay the rows out in columns."""
    table = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    return "\n".join([f"== {title}", lines[0], "-" * len(lines[0]), *lines[1:]])


def machine() -> dict[str, str | int | None]:
    """Say where and with what versions the numbers were measured."""
    info: dict[str, str | int | None] = {"python": platform.python_version(), "system": platform.platform(terse=True)}
    info |= {"cpu": cpu(), "cores": os.cpu_count(), "load": f"{os.getloadavg()[0]:.1f}"}
    for package in ("noregret", "numba", "numpy", "scipy", "scikit-learn", "river", "vowpalwabbit"):
        try:
            info[package] = version(package)
        except PackageNotFoundError:
            info[package] = None
    return info


def cpu() -> str:
    """Name the processor where the system tells."""
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    except OSError:
        return platform.processor() or platform.machine()
