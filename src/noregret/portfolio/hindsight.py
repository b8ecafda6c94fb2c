"""The best in hindsight: the best stock, and the best constant weights with a certificate that none are better."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..allocations.allocator import table
from ..inputs.checking import column_names
from .newton import minimised
from .prices import as_relatives

TOLERANCE = 1e-6  # of the certificate, in log wealth
MOST = 200  # Newton steps: a dozen suffice
RIDGE = 1e-10  # of the trace: keeps the programme definite where assets move alike


class Hindsight:
    """A comparator: it sees all days before it chooses. What it learns is `weights_` and `log_wealth_`."""

    weights_: np.ndarray
    log_wealth_: float
    names_: list[str] | None

    def fit(self, X: Any) -> Self:
        """Choose for these days."""
        self.names_ = column_names(X)
        X = table(X, "day")
        return self._choose(as_relatives(X, None, lambda i, k: f"asset {self.names_[k] if self.names_ else k} of day {i + 1}"))

    def _choose(self, X: np.ndarray) -> Self:
        raise NotImplementedError

    @property
    def wealth_(self) -> float:
        """What a wealth of 1 would have become."""
        return float(np.exp(self.log_wealth_))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class BestStock(Hindsight):
    """The asset that grew most: max_k prod_t x_tk, bought at the start and held.

    Read back: `index_`, the column; `name_`, its name if there are names; `weights_`, `wealth_`, `log_wealth_`.

    >>> import noregret as nr
    >>> best = nr.portfolio.BestStock().fit([[1.1, 0.9], [0.9, 1.3]])
    >>> best.index_, round(best.wealth_, 4)
    (1, 1.17)
    """

    index_: int

    def _choose(self, X: np.ndarray) -> Self:
        logs = np.log(X).sum(0)
        self.index_ = int(logs.argmax())
        self.weights_, self.log_wealth_ = np.eye(X.shape[1])[self.index_], float(logs[self.index_])
        return self

    @property
    def name_(self) -> str | None:
        """The name of the asset, None if there are no names."""
        return self.names_[self.index_] if self.names_ else None


class BCRP(Hindsight):
    """The best constant rebalanced portfolio: max_b sum_t ln b.x_t, by Newton steps on the simplex.

    Certificate: with g_k = sum_t x_tk/(b.x_t), no constant weights earn more than max_k g_k - T beyond the log wealth of b, since
    the logarithm is concave. `gap_` is that number; steps end where it is at most 1e-6.

    Read back: `weights_`, `wealth_`, `log_wealth_`, `gap_`. `CRP(weights=...)` plays the weights day by day, with costs.

    Pitfalls: it knows the future. A strategy is measured against it, and cannot be expected to reach it.

    Reference: Cover (1984), *An algorithm for maximizing expected log investment return*, whose own iteration is far slower.

    >>> import noregret as nr
    >>> best = nr.portfolio.BCRP().fit([[2.0, 1.0], [0.5, 1.0], [2.0, 1.0], [0.5, 1.0]])
    >>> best.weights_.round(4), round(best.wealth_, 4), best.gap_ <= 1e-6
    (array([0.5, 0.5]), 1.2656, True)
    """

    gap_: float

    def _choose(self, X: np.ndarray) -> Self:
        T, m = X.shape
        b = np.full(m, 1.0 / m)
        for _ in range(MOST):
            G = X / (X @ b)[:, None]
            g = G.sum(0)
            self.gap_ = max(float(g.max()) - T, 0.0)
            if self.gap_ <= TOLERANCE:
                break
            value = float(np.log(X @ b).sum())
            H = G.T @ G  # minus the matrix of second derivatives; H b = g
            ridge = RIDGE * float(np.trace(H))
            q = minimised(H / ridge + np.eye(m), 2.0 * g / ridge + b, b)
            b = searched(X, b, q, value, float(g @ (q - b)))
        self.weights_ = b
        self.log_wealth_ = float(np.log(X @ b).sum())
        return self


def searched(X: np.ndarray, b: np.ndarray, q: np.ndarray, value: float, slope: float) -> np.ndarray:
    """Return a point on the way from b to q where log wealth is larger by a tenth of what its slope promises, or b."""
    length = 1.0
    while length > 1e-12:
        found: np.ndarray = b + length * (q - b)
        if np.log(X @ found).sum() >= value + 0.1 * length * slope:
            return found
        length *= 0.5
    return b
