"""A training, seen from outside: what the learner and the baselines cost on the rows that it learns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs.checking import Rows
from ...learners.learner import Progress
from ...text import plural
from ...training.opening import Trainable
from ...transforms.pipeline import Pipeline
from ..kinds import kind_of, loss_of
from ..measures.baselines import Baselines
from ..measures.figures import Figures
from .cautions import cost_words, identifiers, warnings


class OnTheWay:
    """Called with what a training learns: a model, rows, labels, weights, and answers where there are no classes."""

    def __init__(self) -> None:
        self.baselines: Baselines | None = None
        self.figures: Figures | None = None

    def __call__(self, model: Trainable, rows: Rows, y: Any, c: np.ndarray | None, done: list[Progress]) -> None:
        """Take more rows."""
        learner = model.learner if isinstance(model, Pipeline) else model
        kind = kind_of(learner, model.task)
        if kind.judged:  # labels, where there are any, are not learned
            return
        if self.baselines is None:
            loss, epsilon = loss_of(learner)
            self.baselines = kind.baselines(kind.loss, epsilon, None, None, 0)
            self.figures = kind.figures(loss, epsilon, None, None) if done else None
        self.baselines.add(y, c, None, rows)
        a = 0
        for piece in done:
            b = a + len(piece.f)
            assert self.figures is not None
            self.figures.take(piece, None if c is None else c[a:b])
            a = b

    def result(self, label: str, examples: int, mistakes: int | None, scaled: bool, table: Any) -> dict[str, Any]:
        """Return the figures of the learner, those of the baselines, and warnings.

        `mistakes` are those the learner made on these examples, None where answers are not labels.
        """
        if self.baselines is None or not examples:
            return {"baselines": [], "warnings": []}
        trivial = self.baselines.result()
        for row in trivial:
            row.pop("curve")
            if mistakes is not None:  # as the learner counts: rows, whatever their weights
                row["error"] = row["mistakes"] / row["examples"]
        error = None if mistakes is None else mistakes / examples
        own = {"label": label, "examples": examples, "mistakes": mistakes, "error": error, "metrics": {}}
        own |= {} if self.figures is None else self.figures.to_dict()
        said = warnings([own], trivial, self.baselines.order(), label, scaled) + identifiers(table, examples)
        return {"learned": own, "baselines": trivial, "warnings": said}


def compared_words(found: dict[str, Any], all_rows: bool) -> str:
    """Return the figures of the baselines, and those of the learner on the same rows where it learned others before."""
    if not found["baselines"]:
        return ""
    costs = ", ".join(f"{row['label']} {cost_words(row)}" for row in found["baselines"])
    own = found["learned"]
    rows = "" if all_rows else f"On the {plural(own['examples'], 'row')} learned now: {own['label']} {cost_words(own)}. "
    return f"{rows}Baselines: {costs}."
