"""Universal portfolios: the mean of all constant rebalanced portfolios, weighted by their wealths."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..algorithm.params import Choice, WholeRange
from ..algorithm.state import Slot
from ..engine.compiling import compiled
from ..engine.elementary import log, sine_cosine
from ..engine.philox import MASK, philox, units
from .strategy import Cost, Entry, Strategy, held, normalised

Times = Annotated[float, WholeRange(1.0, 1e7, "[]")]
Points = Annotated[Any, WholeRange(1.0, 1e4, "[]"), None]
Seed = Annotated[float, WholeRange(0.0, 9007199254740991.0, "[]")]


class Uniform(NamedTuple):
    """All portfolios alike: Dirichlet(1, ..., 1)."""


class Edges(NamedTuple):
    """More weight near the edges: Dirichlet(1/2, ..., 1/2)."""


class Params(NamedTuple):
    """UniversalPortfolio."""

    samples: Times = 10_000
    prior: Annotated[Any, Choice({"uniform": Uniform, "dirichlet": Edges})] = "uniform"
    grid: Points = None
    seed: Seed = 0
    cost: Cost = 0.0
    entry: Entry = "charged"

    def check(self) -> None:
        """Refuse a grid with a density that is infinite at the edges."""
        if self.grid > 0.0 and isinstance(self.prior, Edges):
            raise ValueError("prior must be 'uniform' with a grid: the density of the other is infinite at the edges")


class State(NamedTuple):
    """UniversalPortfolio."""

    q: Annotated[Any, Slot(("sample",), dtype=np.float64)]  # the share of each portfolio in the wealth
    C: Annotated[Any, Slot(("asset", "sample"), dtype=np.float64, scratch=True)]  # the portfolios: drawn by counter, so not kept
    f: Annotated[Any, Slot(("sample",), dtype=np.float64, scratch=True)]


# ---- portfolios --------------------------------------------------------------------------------------------------------
def pairs(seed, i, k):
    """Return two numbers in (0, 1) for two assets of sample i."""
    a, b, c, d = philox(k, 0, i & MASK, i >> 32, seed & MASK, (seed >> 32) & MASK)
    return units(a, b, c, d)


def dealt(seed, halves, C):
    """Draw portfolios: exponential variables, or squares of normal ones, divided by their sum."""
    for i in range(C.shape[1]):
        for k in range(0, C.shape[0], 2):
            u, v = pairs(seed, i, k >> 1)
            one, two = -log(u), -log(v)
            if halves:
                s, c = sine_cosine(2.0 * math.pi * v)
                one, two = 2.0 * one * c * c, 2.0 * one * s * s
            C[k, i] = one
            if k + 1 < C.shape[0]:
                C[k + 1, i] = two
        normalised(C[:, i])


def lattice(n: int, K: int) -> np.ndarray:
    """Return the portfolios of two or three assets whose weights are multiples of 1/n, a column each."""
    if K == 2:
        i = np.arange(n + 1)
        return np.array([i, n - i]) / n
    a, b = np.divmod(np.arange((n + 1) ** 2), n + 1)
    keep = a + b <= n
    return np.array([a[keep], b[keep], n - a[keep] - b[keep]]) / n


def sizes(p, K):
    """Return the number of portfolios."""
    n = int(p.grid)
    if n > 0 and K not in (2, 3):
        raise ValueError(f"a grid is for two or three assets, and there are {K}: leave out grid, and portfolios are drawn")
    return {"sample": p.samples if n == 0 else n + 1 if K == 2 else (n + 1) * (n + 2) // 2}


def start(s, p):
    """Begin with equal shares."""
    s.q[:] = 1.0 / len(s.q)


def derive(s, p):
    """Make the portfolios."""
    if p.grid > 0.0:
        s.C[:] = lattice(int(p.grid), len(s.C))
    elif not s.C.any():
        compiled(dealt)(int(p.seed), isinstance(p.prior, Edges), s.C)


def mean_of_all(m):
    """Return the mean of the portfolios: then their wealths have the mean that the whole has, to the end."""
    derive(m.state.own, m.params)
    b = np.empty(m.K)
    compiled(weighted)(m.state.own.C, m.state.own.q, 1.0, b)
    return b


# ---- a day -------------------------------------------------------------------------------------------------------------
def growths(C, x, f):
    """Write the growth of each portfolio."""
    for i in range(f.shape[0]):
        f[i] = C[0, i] * x[0]
    for k in range(1, x.shape[0]):
        for i in range(f.shape[0]):
            f[i] += C[k, i] * x[k]


def multiplied(q, f, growth):
    """Multiply shares by growths; return their sum."""
    total = 0.0
    for i in range(q.shape[0]):
        q[i] *= f[i] / growth
        total += q[i]
    return total


def weighted(C, q, total, b):
    """Divide shares by their sum; write the mean of the portfolios."""
    for i in range(q.shape[0]):
        q[i] /= total
    for k in range(b.shape[0]):
        b[k] = shared(C[k], q)
    normalised(b)


def shared(c, q):
    """Return the weight of an asset in all portfolios together."""
    total = 0.0
    for i in range(q.shape[0]):
        total += c[i] * q[i]
    return total


def after_universal(s, x, b, p):
    """Let every portfolio grow, and hold their mean by wealth."""
    growths(s.C, x, s.f)
    weighted(s.C, s.q, multiplied(s.q, s.f, held(b, x)), b)


class UniversalPortfolio(Strategy):
    """Buy and hold of all constant rebalanced portfolios: b = int c S(c) dc/int S(c) dc, S(c) the wealth of c so far.

    It bets that some constant weights will have been good. Portfolios are drawn from the prior by counter, and the wealth before
    costs is the mean of their wealths exactly, whatever was drawn. With two or three assets they may be the points of a grid.

    Parameters: `samples`, how many portfolios; `prior`, "uniform" or "dirichlet" (1/2, ..., 1/2); `grid`, n for the points that
    are multiples of 1/n; `seed`; `cost`, `entry` and `missing` as `Market` has them.

    Bound: for the integral, log wealth before costs is at least that of the best constant weights less (m-1) ln(T+1), or
    (m-1)/2 ln(T+1) + ln 2 with the Dirichlet prior. `bound_` tells it. For n draws the regret to the best of them is at most ln n.

    Pitfalls: with many assets no sample of any size comes near the best portfolio, and the result is close to equal weights.

    Reference: Cover (1991), *Universal portfolios*; Cover, Ordentlich (1996), *Universal portfolios with side information*,
    Theorems 1 and 2.

    >>> import noregret as nr
    >>> m = nr.portfolio.UniversalPortfolio(grid=10).fit([[1.1, 0.9], [0.9, 1.1], [1.05, 1.0]])
    >>> m.weights_.round(6), round(m.wealth_, 4)
    (array([0.504863, 0.495137]), 1.0209)
    """

    name = "portfolio.universal"
    cite = "cover1991"
    State = State
    Params = Params
    settled = (*Strategy.settled, "grid", "prior", "seed")
    sizes = sizes
    start = start
    derive = derive
    first = staticmethod(mean_of_all)
    after = after_universal
    theorem = "(m-1) ln(T+1), Cover and Ordentlich 1996; (m-1)/2 ln(T+1) + ln 2 with the Dirichlet prior"

    @property
    def bound_(self) -> float:
        """What the theorem allows the regret in log wealth before costs to be, for the days seen and the exact integral."""
        free = (self.model.K - 1) * math.log(self.n_seen_ + 1.0)
        return 0.5 * free + math.log(2.0) if isinstance(self.model.params.prior, Edges) else free
