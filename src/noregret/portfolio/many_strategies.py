"""A mixture of strategies: each gets the same share of the wealth at the start, and keeps what it makes of it."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.state import Dims, Slot
from ..allocations.allocation import Allocation, Rounds
from ..engine.words import strict
from ..files.json_values import Tensors, expect
from ..learners.base import Base
from ..owners import owner
from .strategy import Strategy, held, normalised

RUN = 64  # days that the strategies play at a time
ALL = ("market", "crp", "eg", "universal", "ons", "anticor", "pamr", "cwmr", "olmar")


class State(NamedTuple):
    """Mixture."""

    q: Annotated[Any, Slot(("strategy",), dtype=np.float64)]  # the share of each strategy in the wealth
    B: Annotated[Any, Slot(("strategy", "span", "asset"), dtype=np.float64, scratch=True)]  # their weights on the days of a run
    at: Annotated[Any, Slot((), dtype=np.int64, scratch=True)]  # the day of the run


def start(s, p):
    """Begin with equal shares."""
    s.q[:] = 1.0 / len(s.q)


@strict
def after_mixture(s, x, b, p):
    """Let every share grow as its strategy did; hold the strategies' weights of tomorrow, by share."""
    i = int(s.at[0])
    for k in range(s.q.shape[0]):
        s.q[k] *= held(s.B[k, i], x)
    normalised(s.q)
    s.at[0] = i + 1
    blended(s.q, s.B, i + 1, b)


@strict
def blended(q, B, i, b):
    """Write the weights of a day, by share."""
    for j in range(b.shape[0]):
        b[j] = 0.0
        for k in range(q.shape[0]):
            b[j] += q[k] * B[k, i, j]
    normalised(b)


class Blend(Allocation):
    """The model of a mixture: its strategies learn beside it."""

    def __init__(self, learner: Any, K: int, names: list[str] | None = None) -> None:
        self.members = strategies_of(learner.strategies)
        for member in self.members:
            member.model = member.model_class(member, K, names)
        super().__init__(learner, K, names)

    def sizes(self) -> Dims:
        """Return the numbers of assets, strategies and days of a run, tomorrow included."""
        return {"asset": self.K, "strategy": len(self.members), "span": RUN + 1}

    def play(self, X: np.ndarray) -> Rounds:
        """Play checked rounds, some at a time."""
        found = [self._play(X[a : a + RUN]) for a in range(0, len(X), RUN)]
        return Rounds(*map(np.concatenate, zip(*found, strict=True))) if len(found) > 1 else found[0]

    def _play(self, X: np.ndarray) -> Rounds:
        s = self.state.own
        for k, member in enumerate(self.members):
            s.B[k, : len(X)] = member.model.play(X).weights
            s.B[k, len(X)] = member.weights_
        s.at[0] = 0
        return super().play(X)

    # ---- files and copies --------------------------------------------------------------------------------------------
    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return it as JSON values and arrays, those of each strategy under its number."""
        meta, tensors = super().pack()
        packed = [member.pack() for member in self.members]
        own = {f"{k}.{name}": a for k, (_, arrays) in enumerate(packed) for name, a in arrays.items()}
        return {**meta, "members": [found for found, _ in packed]}, {**tensors, **own}

    @classmethod
    def blank(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Blend:
        """Return a new model with the strategies as they were packed."""
        m = super().blank(learner, meta, tensors)
        expect(len(meta["members"]) == len(m.members), f"{len(m.members)} strategies", len(meta["members"]))
        for k, own in enumerate(meta["members"]):
            arrays = {name: tensors.pop(name) for name in list(tensors) if name.startswith(f"{k}.")}
            found = owner("learner")(own, {name.split(".", 1)[1]: a for name, a in arrays.items()})
            same = type(found) is type(m.members[k]) and found.started and found.model.K == m.K
            expect(same, f"a {m.members[k].name} of {m.K} assets", own["learner"])
            m.members[k] = found
        return m

    def __setstate__(self, d: dict[str, Any]) -> None:
        super().__setstate__(d)
        self.members = [copied(member) for member in self.members]


def mean_of_members(m: Blend) -> np.ndarray:
    """Return the mean of the strategies' first weights."""
    b = np.mean([member.weights_ for member in m.members], axis=0)
    return b / math.fsum(b)


def copied(member: Strategy) -> Strategy:
    """Return a strategy that learns on by itself."""
    new = member.clone()
    new.model = member.model.fork()
    return new


def strategies_of(given: Any) -> list[Strategy]:
    """Return fresh strategies from names, with or without the room before them, or strategies; None for all. They pay nothing."""
    names = ALL if given is None else given.split("+") if isinstance(given, str) else given
    found = []
    for name in names:
        one = owner("class")(name if "." in name else f"portfolio.{name}")() if isinstance(name, str) else name
        if not isinstance(one, Strategy) or isinstance(one, Mixture):
            raise TypeError(f"expected strategies of noregret.portfolio or their names, such as {', '.join(ALL)}; got {name!r}")
        found.append(one.clone().set_params(cost=0.0, missing=None))
    if not found:
        raise ValueError("expected at least one strategy")
    return found


class Mixture(Strategy):
    """Buy and hold of strategies: b = sum_k q_k b_k, q_k <- q_k (b_k.x), normalised. It bets that one of them will do well.

    This is the Bayes mixture under the loss -ln b.x. The wealth before costs is the mean of the strategies' wealths.

    Parameters: `strategies`, names or strategies, all with their defaults unless given (their own costs are left out: the mixture
    nets their trades, and pays for what is left); `cost`, `entry` and `missing` as `Market` has them.

    Bound: log wealth before costs is at least that of the best of its K strategies less ln K, on any market.

    Pitfalls: by that bound it follows the strategy that was best so far, and back-tests choose the boldest. Strategies that are
    nearly alike get their shares twice.

    Reference: Blum, Kalai (1999), *Universal portfolios with and without transaction costs*; Cesa-Bianchi, Lugosi (2006),
    *Prediction, learning, and games*, chapters 9 and 10.

    >>> import noregret as nr
    >>> m = nr.portfolio.Mixture(strategies=["eg", "pamr"]).fit([[1.1, 0.9], [0.9, 1.1], [1.05, 1.0]])
    >>> m.shares_.round(4), round(m.wealth_, 6)
    (array([0.4701, 0.5299]), 1.089744)
    """

    name = "portfolio.mixture"
    cite = "blum1999"
    model_class: ClassVar[Any] = Blend
    options: ClassVar[dict[str, Any]] = {"strategies": None, **Strategy.options}
    settled = (*Strategy.settled, "strategies")
    State = State
    start = start
    first = staticmethod(mean_of_members)
    after = after_mixture
    theorem = "ln K against the best of K strategies: the Bayes mixture under the log loss"

    @property
    def shares_(self) -> np.ndarray:
        """The share of each strategy in the wealth."""
        return np.array(self.model.state.own.q)

    @property
    def strategies_(self) -> list[Base]:
        """The strategies, as far as they have learned."""
        return list(self.model.members)

    @property
    def bound_(self) -> float:
        """What the theorem allows the regret to the best strategy, in log wealth before costs, to be."""
        return math.log(len(self.model.members))
