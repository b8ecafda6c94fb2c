"""The regret of learners of components against the best subspace in hindsight, exact from the scatter matrix of all rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...text import amount
from .subspace import MOST, BestSubspace, Scatter

SOON = 1e12  # products up to which it is summed without being asked for
ALONG = "the same subspace is used at every point, so early regret can be below 0"
NOT_CONVEX = "the problem is not convex, and nothing tells the best dictionary in hindsight from a good one"


class Subspace(NamedTuple):
    """What a learner is compared with: so many directions, through the mean or through 0."""

    k: int
    centred: bool

    @property
    def words(self) -> str:
        """What it is."""
        return f"the best {'affine ' if self.centred else ''}subspace of dimension {self.k}"


def compared_with(learner: Any) -> Subspace | str:
    """Return the subspaces that a learner that has learned is compared with, or why with none."""
    m = learner.model
    if learner.overcomplete:
        return NOT_CONVEX
    if getattr(learner, "missing", None) is not None:
        return "it fills in unknown entries, and the residual is of known ones alone"
    k = getattr(learner, "k", None) or getattr(learner, "r_max", None)
    if k is None:
        return "its rank has no limit (r_max), and as many components as features leave nothing"
    return Subspace(min(int(k), m.features.size), hasattr(m.state, "mean") and bool(m.params.center))


class Hindsight:
    """The scatter matrix of rows, as long as it can be kept and does not take long."""

    def __init__(self, asked: bool) -> None:
        self.asked = asked
        self.why = ""  # why it is not there
        self.products = 0.0
        self.scatter = Scatter(0)

    def add(self, X: np.ndarray) -> None:
        """Take more rows; later ones may have more columns."""
        if self.why:
            return
        n, d = X.shape
        self.products += float(n) * d * d
        if d > MOST:
            self._stop(f"the best subspace is found among at most {MOST:,} features, and there are {d:,}")
        elif not self.asked and self.products > SOON:
            self._stop("the scatter matrix of this many rows and features takes long. Ask for it (regret=True, --regret)")
        else:
            self.scatter.widen(d)
            self.scatter.add(X)

    def _stop(self, why: str) -> None:
        self.why, self.scatter = why, Scatter(0)

    def best(self, wanted: Iterable[Subspace]) -> dict[Subspace, BestSubspace]:
        """Return the best of each kind of subspace."""
        return {want: self.scatter.best(want.k, want.centred) for want in wanted}


def regret_against(learner: Any, want: Subspace, points: Sequence[dict[str, Any]], ideal: Sequence[float]) -> dict[str, Any]:
    """Return the regret of a learner, given its points and what the best subspace leaves up to each."""
    own, examples = [p["left"] for p in points], [p["examples"] for p in points]
    regrets = [o - s for o, s in zip(own, ideal, strict=True)]
    bounded = hasattr(learner.model, "bound")
    name = "Warmuth, Kuzmin 2006" if bounded else None
    bounds = [learner.bound(s) - s if bounded else None for s in ideal]
    why = None if bounded else "this method has no theorem that holds for every stream"
    value, last, what = regrets[-1], bounds[-1], "in expectation " if bounded else ""
    told = (
        f"{{label}} left {what}{amount(own[-1])} in squares; {want.words}, known only at the end, leaves {amount(ideal[-1])}: "
        f"regret {amount(value)}, {amount(value / examples[-1], 2)} a row"
    )
    told += ", so the learner, which moves, did better than every fixed subspace" if value < 0 else ""
    told += f". The theorem ({name}) allows {amount(last)}." if last is not None else f". No theorem bounds it here: {why}."
    return {
        "loss": "squared_residual", "against": want.words, "told": told,
        "best": f"best {want.k} in hindsight", "title": "squared residual", "along": ALONG,
        "cumulative": own[-1], "comparator": ideal[-1], "value": value, "average": value / examples[-1],
        "bound": last, "bound_name": name, "bound_measures": "regret" if bounded else None, "bound_why": why,
        "vacuous": None, "measured": value,
        "curve": {
            "examples": examples, "cumulative": own, "comparator": list(ideal), "regret": regrets,
            "average": [v / n for v, n in zip(regrets, examples, strict=True)], "bound": bounds, "measured": regrets,
        },
    }  # fmt: skip
