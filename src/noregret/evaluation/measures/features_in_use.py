"""Which features a learner uses: by name, since when, and whether other orders of the rows choose the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ...inputs.hashing import hash_name
from ...learners.learner import Learner


class Selection:
    """The features whose weights are not 0, looked at where curves have a point."""

    def __init__(self, top: int) -> None:
        self.top = top  # how many are told by name
        self.since = np.full(0, -1)  # the point at which each entered and has stayed since, -1 for those that are out
        self.orders: list[set[int]] = []  # chosen in each of several orders of the rows

    def mark(self, learner: Learner, examples: int) -> None:
        """Look at the weights after `examples` examples."""
        used = (weights_of(learner) != 0.0).any(0)
        since = np.full(len(used), -1)
        since[: len(self.since)] = self.since
        self.since = np.where(used, np.where(since < 0, examples, since), -1)

    @property
    def chosen(self) -> set[int]:
        """The features in use."""
        return set(np.flatnonzero(self.since >= 0).tolist())

    def result(self, learner: Learner, front: Any, unused: int = 0) -> dict[str, Any]:
        """Return how many features are in use, and the largest by name: their weights, since when, in how many orders.

        Where there are several rows of weights the largest of them counts. The first `unused` columns are not features.
        """
        W = weights_of(learner)
        row, size = np.abs(W).argmax(0), np.abs(W).max(0)
        best = [int(j) for j in np.argsort(-size, kind="stable")[: self.top] if size[j] > 0.0]
        name, owners = naming(front, learner.model), rows_of(learner, len(W))
        rows: list[dict[str, Any]] = [
            {"feature": name(j), "weight": float(W[row[j], j]), "size": float(size[j]), "since": int(self.since[j])} for j in best
        ]
        if owners:
            rows = [{**told, "of": str(owners[row[j]])} for told, j in zip(rows, best, strict=True)]
        found: dict[str, Any] = {"count": len(self.chosen), "of": len(size) - unused, "top": rows}
        if self.orders:
            for told, j in zip(rows, best, strict=True):
                told["orders"] = sum(j in order for order in self.orders) / len(self.orders)
            found["stability"] = stability(self.orders)
        return found


def weights_of(learner: Learner) -> np.ndarray:
    """Return the weights, a row for each class, without those of the constant feature."""
    m = learner.model
    w = m.weights()
    return np.delete(w, m.features.constant, axis=1) if m.features.bias else w


def rows_of(learner: Learner, n: int) -> list[Any]:
    """Return the class or the task of each of n rows of weights; nothing where there is one row."""
    if learner.by_domain:
        return list(learner.tasks_)
    labels = learner.model.labels
    return list(labels.values) if labels is not None and n > 1 else []


def stability(orders: Sequence[set[int]]) -> float:
    """Return how alike the choices are: the mean over pairs of |both|/|either|, 1 for two that choose nothing."""
    pairs = [len(a & b) / len(a | b) if a | b else 1.0 for a, b in combinations(orders, 2)]
    return float(np.mean(pairs)) if pairs else 1.0


# ---- names -----------------------------------------------------------------------------------------------------------
def naming(front: Any, m: Any) -> Any:
    """Return a function that names a feature by its place."""
    features = m.features
    if front is not None and front.outputs is not None:
        known = []
    elif front is not None and front.table is not None and features.kind != "hashed":
        known = front.table.feature_names
    elif features.kind != "hashed":
        known = list(features.names or [])
    else:
        return hashed_names(front, features)
    return lambda j: str(known[j]) if j < len(known) else str(j)


def word_naming(front: Any, m: Any) -> Any:
    """Return a function that names a word by its place: without the name of its column, where there is one of text alone."""
    name, table = naming(front, m), None if front is None else front.table
    columns = [] if table is None else [column for column, role in table.column_roles.items() if role == "text"]
    return (lambda j: name(j).removeprefix(f"{columns[0]}:")) if len(columns) == 1 else name


def hashed_names(front: Any, features: Any) -> Any:
    """Return a function that names what was folded into a place, as far as it is remembered."""
    names = front.table.feature_names if front is not None and front.table is not None else list(features.names)
    places: dict[int, list[str]] = {}
    for name in names:
        places.setdefault(hash_name(name) & ((1 << features.bits) - 1), []).append(str(name))
    return lambda j: " or ".join(places.get(j, [f"#{j}"]))
