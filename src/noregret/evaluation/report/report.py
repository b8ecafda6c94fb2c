"""A report: what was measured, as plain data that prints, and writes JSON, CSV, one HTML page and plots.

It imports no learner and no reader, so a report can be read back where neither the data nor the models are.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...files.drafts import write
from . import summary
from .forms import Form, form_of

# The keys of a learner, in the order they are written, with what stands there when the evaluation did not fill them.
KEYS: dict[str, Any] = {
    "model": None,
    "label": None,
    "params": {},
    "examples": None,
    "skipped": 0,
    "mistakes": None,
    "error": None,
    "updates": None,
    "losses": {},
    "metrics": {},
    "confusion": None,
    "nonzeros": None,
    "support_vectors": None,
    "bytes": None,
    "seconds": None,
    "examples_per_second": None,
    "curve": {},
    "drifts": [],
    "regret": None,
}


@dataclass
class Report:
    """What one evaluation, comparison or sweep found: numbers, text, lists and dicts, nothing else.

    `sort` names the figure that orders the learners when the report is shown; the first of them is the winner unless one is named.
    """

    kind: str
    data: dict[str, Any]
    learners: list[dict[str, Any]]
    winner: str | None = None
    notes: list[str] = field(default_factory=list)
    sort: str = "error"

    def __post_init__(self) -> None:
        alone = self.form.alone
        if not self.learners or (alone and len(self.learners) != 1):
            expected = "one learner" if alone else "at least one learner"
            raise ValueError(f"a report of kind {self.kind!r} has {expected}, got {len(self.learners)}")
        self.data = plain(self.data)
        self.learners = [_filled(plain(learner)) for learner in self.learners]
        self.notes = [str(note) for note in self.notes]
        self._name_learners()
        if self.winner is not None and self.winner not in self.labels:
            raise ValueError(f"winner {self.winner!r} is not the label of a learner: {', '.join(self.labels)}")
        best = summary.ordered(self.learners, self.sort)[0]  # an unknown figure is an error here, not when the report is printed
        if self.winner is None and not alone:
            self.winner = best["label"]

    def _name_learners(self) -> None:
        taken: set[str] = set()
        for learner in self.learners:
            name = label = str(learner["label"] or learner["model"] or "learner")
            again = 1
            while label in taken:
                again += 1
                label = f"{name} ({again})"
            learner["label"] = label
            taken.add(label)

    @property
    def form(self) -> Form:
        """How this kind of report is shown."""
        return form_of(self.kind, self.data.get("task"))

    @property
    def labels(self) -> list[str]:
        """The names of the learners, in the order they were given."""
        return [learner["label"] for learner in self.learners]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON data: one learner's object with `data`, or `data`, `learners` and `winner`."""
        if self.form.alone:
            return {"kind": self.kind, **plain(self.learners[0]), "data": plain(self.data), "notes": list(self.notes)}
        found = {"kind": self.kind, "data": self.data, "learners": self.learners, "winner": self.winner}
        return plain({**found, "sort": self.sort, "notes": self.notes})

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Report:
        """Return the report that `to_dict` wrote."""
        if "data" not in given or not ("learners" in given or "model" in given):
            raise ValueError(f"not a report: expected the keys 'data' and 'learners' or 'model', got {', '.join(map(repr, given))}")
        notes = list(given.get("notes", []))
        if "learners" in given:
            rest = (given.get("winner"), notes, given.get("sort", "error"))
            return cls(given.get("kind", "compare"), given["data"], list(given["learners"]), *rest)
        learner = {k: v for k, v in given.items() if k not in ("kind", "data", "notes")}
        return cls(given.get("kind", "evaluate"), given["data"], [learner], None, notes)

    def text(self, *, sort: str | None = None, width: int | None = None, encoding: str | None = None) -> str:
        """Return the report as text for a terminal so wide, in characters of `encoding`; by default those of standard output."""
        return summary.text(self, sort or self.sort, width, encoding)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from . import page

        return page.notebook(self)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as JSON, and write it to a file when one is named."""
        found = json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"
        if path is not None:
            write(path, [found.encode()])
        return found

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return one line of figures for each learner and baseline as CSV, and write it to a file when one is named.

        Baselines come last, with names in brackets and no model.
        """
        rows = [*summary.ordered(self.learners, self.sort), *summary.bracketed(self)]
        return _csv([_flat(row) for row in rows], path)

    def curves_to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return one line for each learner or baseline and point of its curves as CSV, and write it to a file when one is named."""
        return _csv([line for row in (*self.learners, *summary.bracketed(self)) for line in _points(row)], path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as one self-contained HTML page, and write it to a file when one is named."""
        from . import page

        found = page.page(self)
        if path is not None:
            write(path, [found.encode()])
        return found

    def plot(self, path: str | os.PathLike[str], what: str | None = None, *, learner: str | None = None) -> None:
        """Draw one plot into a PNG or SVG file: "error", "loss", "regret", "sweep" or any column of the curves.

        `learner` is the label of the one whose regret is drawn, by default the winner's.
        """
        from . import plots

        suffix = Path(path).suffix.lower()
        if suffix not in (".png", ".svg"):
            raise ValueError(f"a plot is written to a file that ends in .png or .svg, not {os.fspath(path)!r}")
        write(path, [plots.draw(self, what, suffix[1:], learner=learner)])


def plain(value: Any) -> Any:
    """Return a copy made of what JSON has; numbers that are not finite become None."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [plain(v) for v in value]
    return str(value)


def _filled(learner: dict[str, Any]) -> dict[str, Any]:
    """Return a learner with every key, an empty dict or list where None stands for one."""
    return {**plain(KEYS), **{k: v for k, v in learner.items() if v is not None or KEYS.get(k) is None}}


def _flat(learner: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a learner on one level: losses.hinge, regret.value, ..."""
    found: dict[str, Any] = {}
    for key, value in learner.items():
        if key in ("curve", "confusion", "folds", "reliability", "weights", "components", "topics"):
            continue
        if key == "params":
            found[key] = json.dumps(value)
        elif isinstance(value, dict):
            found |= {f"{key}.{name}": _cell(inner) for name, inner in value.items() if name != "curve"}
        elif value is not None or key in KEYS:
            found[key] = _cell(value)
    return found


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def _points(learner: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the points of a learner's curves; those of the regret join where they fall on the same example."""
    regret = (learner["regret"] or {}).get("curve") or {}
    columns = [("", learner["curve"]), ("regret.", {k if k != "regret" else "value": v for k, v in regret.items()})]
    lines: dict[int, dict[str, Any]] = {}
    for prefix, curve in columns:
        for i, at in enumerate(curve.get("examples", [])):
            line = lines.setdefault(at, {"label": learner["label"], "model": learner["model"], "examples": at})
            line |= {prefix + k: v[i] for k, v in curve.items() if k != "examples" and isinstance(v, list) and i < len(v)}
    return [lines[at] for at in sorted(lines)]


def _csv(lines: list[dict[str, Any]], path: str | os.PathLike[str] | None) -> str:
    head = list(dict.fromkeys(key for line in lines for key in line))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, head, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    if path is not None:
        write(path, [out.getvalue().encode()])
    return out.getvalue()
