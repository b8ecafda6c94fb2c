"""The gap of a learner without a best model in hindsight: what it left of rows, beyond what it leaves after ten passes."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ...streams.stream import Stream, counting
from ...text import amount
from .round_study import within

PASSES = 10
SOON = 1e10  # products of rows, features and atoms up to which it is found without being asked for: some ten seconds


def gap(learner: Any, rows: Stream, left: float, limit: int | None, asked: bool) -> dict[str, Any] | str:
    """Return the gap of a learner that has learned the rows once, having left so much of them; or why there is none."""
    m, k = learner.model, int(learner.k)
    products = float(PASSES) * learner.n_seen_ * m.features.size * k
    if products > SOON and not asked:
        return "nine more passes over these rows take long. Ask with regret=True, --regret"
    ideal, n = after_passes(learner, rows, limit), learner.n_seen_
    value = left - ideal
    told = (
        f"Gap: {{label}} left {amount(left)} in squares; the same model after {PASSES} passes leaves {amount(ideal)} of them: "
        f"gap {amount(value)}, {amount(value / n, 2)} a row. It is no regret: the problem is not convex, and no best is known."
    )
    return {"passes": PASSES, "comparator": ideal, "value": value, "average": value / n, "told": told}


def after_passes(learner: Any, rows: Stream, limit: int | None) -> float:
    """Return what all rows cost a learner that has learned them once, after ten passes; the learner itself stays as it is."""
    other, found = copy.deepcopy(learner), 0.0
    for _ in range(PASSES - 1):
        for batch in map(counting, within(rows, limit)):
            if batch.n:
                other.learned_rows(batch.data)
        other.finish()
    for batch in map(counting, within(rows, limit)):
        if batch.n:
            found += float(np.sum(other.answered_rows(batch.data)[1]))
    return found
