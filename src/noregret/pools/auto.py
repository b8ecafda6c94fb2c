"""The learners without settings: pools that hold what does well on text, clicks, tables and streams that drift.

de Rooij, van Erven, Gruenwald, Koolen (2014), *Follow the leader if you can, hedge if you must*; Herbster, Warmuth (1998),
*Tracking the best expert*; Freund, Schapire, Singer, Warmuth (1997), *Using and combining predictors that specialize*.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

from ..algorithm.params import Choice
from ..calibration.calibration import Calibration
from ..calibration.calibrator import Calibrator
from ..families.adaptive import NAG, NAGRegressor
from ..families.coin import Coin, CoinRegressor
from ..families.confidence_weighted import AROW, SCW1
from ..families.least_squares import RLS
from ..families.passive_aggressive import PA1
from ..families.scale_invariant import ScInOL
from ..forests.mondrian import MondrianForest, MondrianForestRegressor
from ..learners.learner import Learner
from ..parts.kernels import RBF, Laplacian
from ..transforms.first import First
from ..transforms.nystroem import Nystroem
from ..transforms.per_entry import PerEntry
from ..transforms.pipeline import pipeline
from ..transforms.random_features import RandomBinning
from ..transforms.scale import Normalize, Scale
from .hedge import Hedge
from .hedge_regressor import HedgeRegressor
from .mixing import AdvisedPool
from .voting import VotingPool

BUDGETS = ("fast", "balanced", "best")
COLUMNS, FEW = 1000, 100  # that learners of bins and neighbours look at; trees, which cost with each
BYTES = 1 << 28  # of a forest


class Params(NamedTuple):
    """Auto."""

    budget: Annotated[str, Choice(dict.fromkeys(BUDGETS))] = "balanced"


def within(given: dict[str, Any], *pools: list[Any]) -> list[Any]:
    """Return the pool of the budget that is given."""
    budget = given.get("budget", "balanced")
    if budget not in BUDGETS:
        raise ValueError(f"budget must be one of {', '.join(map(repr, BUDGETS))}, got {budget!r}")
    return pools[BUDGETS.index(budget)]


def scaled(learner: Learner) -> Any:
    """Return a learner behind columns less their means over their deviations, at most 3 in size."""
    return pipeline(Scale(center="common", clip=3.0), learner)


def binned(learner: Learner, gamma: float, bits: int = 18) -> Any:
    """Return a learner behind 100 random grids of such columns, whose bins share 2^bits cells: wide grids need fewer."""
    bins = RandomBinning(100, Laplacian(gamma), bits=bits)
    return pipeline(First(COLUMNS), Scale(center="common", clip=3.0), PerEntry(), bins, learner)


def near(learner: Learner, gamma: float, B: int = 100) -> Any:
    """Return a learner behind the similarities of such columns to B rows of the stream."""
    rows = Nystroem(B, RBF(gamma))
    return pipeline(First(COLUMNS), Scale(center="common", clip=3.0), PerEntry("l2"), rows, learner)


def forest(trees: int, scale: bool) -> Any:
    """Return a forest of bounded memory, which takes columns in their units or in the ranges seen so far."""
    return pipeline(First(FEW), MondrianForestRegressor(trees=trees, scale=scale, max_bytes=BYTES))


class CalibratedVotes(VotingPool):
    """Votes, with one calibrator for all of them."""

    def probable(self) -> Calibration:
        """Return what makes probabilities of votes."""
        return Calibrator(self.known)


class Auto(Hedge):
    """The classifier without settings: learners that do well on different data, calibrated and mixed, with probabilities.

    "balanced": NAG and coin betting on rows as they are, AROW and SCW-I on rows of length 1, NAG and PA-I on columns less their
    means over their deviations, and NAG on random bins of those columns at two widths, for what is not linear. "best" adds a third
    width, similarities to rows of the stream, a forest, ScInOL and the log loss. The scores of each are calibrated, and the
    probabilities mixed by fixed share. Two more forecasters are mixed with them: the last label, and the combination of all log
    probabilities by online Newton steps, which is often better than each. `predict` gives the most probable class. "fast": four
    linear learners, weighed by AdaHedge; `predict` gives their vote.

    Parameters: `budget`: "fast", "balanced" or "best". A learner whose weight is below 0.001 and whose part in the combination is
    below 0.05 sleeps until the number of rows has doubled; learners of bins and neighbours see the first 1000 columns, trees the
    first 100.

    Read back: `learners_`, `weights_`, `losses_` (log losses; the last label and the combination come after the learners),
    `paid_`, `regret_`, `bound_`, `report()`, `predict_proba`.

    Bounds: `regret_`, the log loss of the mixture less that of the best forecaster, is at most ln K + ln T over the rounds in which
    that forecaster was awake ("fast": the bound of AdaHedge, in mistakes).

    Herbster, Warmuth (1998), theorem 5; Freund, Schapire, Singer, Warmuth (1997), theorem 1; Hazan, Agarwal, Kale (2007).

    >>> import noregret as nr
    >>> X, y = [[1, 2000, 0], [0.5, -1000, 1], [-1, 500, 2]] * 5, [1, -1, 1] * 5
    >>> nr.Auto().fit(X, y).predict(X[:3]).tolist()
    [1, -1, 1]
    """

    name = "auto"
    cite = "herbster1998"
    Params: ClassVar[Any] = Params
    overrides: ClassVar[dict[str, Any]] = {"probabilities": True}
    sleeps: ClassVar[bool] = True

    @property
    def model_class(self) -> Any:
        """The kind of pool: votes cost less than probabilities."""
        return CalibratedVotes if self.__dict__.get("budget") == "fast" else AdvisedPool

    @property
    def loss(self) -> str:
        """The loss in which answers are measured besides their mistakes."""
        return "hinge" if self.model_class is CalibratedVotes else "log"

    @classmethod
    def pool(cls, given: dict[str, Any]) -> Any:
        """Return the learners, for these parameters."""
        linear = [NAG(), Coin(), *(pipeline(Normalize(), m) for m in (AROW(), SCW1())), scaled(NAG()), scaled(PA1())]
        some, more = [binned(NAG(), 1.5, 16), binned(NAG(), 4.0, 17)], [binned(NAG(), 1.5), binned(NAG(), 4.0)]
        most = [NAG(loss="log"), scaled(ScInOL()), scaled(SCW1()), binned(NAG(), 8.0), near(AROW(), 1.0)]
        most.append(pipeline(First(FEW), MondrianForest(max_bytes=BYTES)))
        fast = [NAG(), pipeline(Normalize(), AROW()), scaled(NAG()), scaled(PA1())]
        return within(given, fast, [*linear, *some], [*linear, *more, *most])

    @classmethod
    def rule_of(cls, given: dict[str, Any]) -> tuple[str, float | None, float | None]:
        """Return the rule."""
        return "adahedge" if given.get("budget") == "fast" else "mixture", None, None


class AutoRegressor(HedgeRegressor):
    """The regressor without settings: learners that do well on different data, weighed by AdaHedge.

    "fast": NAG on rows as they are; NAG and coin betting on columns less their means over their deviations. "balanced" adds NAG on
    random bins of those columns, at two widths, least squares on similarities to 100 rows of the stream and a forest of 10 trees in
    the units of the columns, for what is not linear. "best" adds a third width, 300 rows and 30 trees. Offsets and units of columns
    and target do not matter.

    Parameters: `budget`: "fast", "balanced" or "best". A learner whose weight is below 0.001 and whose part in the combination is
    below 0.05 sleeps until the number of rows has doubled; learners of bins and neighbours see the first 1000 columns, trees the
    first 100.

    de Rooij, van Erven, Gruenwald, Koolen (2014), section 2; Freund, Schapire, Singer, Warmuth (1997), theorem 1.

    >>> import noregret as nr
    >>> X = [[float(i % 7), 1000.0 + i % 3] for i in range(200)]
    >>> y = [450 + 2 * a - 3 * (b - 1000) for a, b in X]
    >>> bool(nr.AutoRegressor().fit(X, y).score(X, y) > 0.9)
    True
    """

    name = "auto_regressor"
    cite = "derooij2014"
    Params: ClassVar[Any] = Params
    sleeps: ClassVar[bool] = True

    @classmethod
    def pool(cls, given: dict[str, Any]) -> Any:
        """Return the learners, for these parameters."""
        linear = [NAGRegressor(), scaled(NAGRegressor()), scaled(CoinRegressor())]
        more = [binned(NAGRegressor(), 1.0), binned(NAGRegressor(), 4.0), near(RLS(), 1.0), forest(10, scale=False)]
        most = [binned(NAGRegressor(), 2.0), near(RLS(), 0.3, 300), forest(30, scale=True)]
        return within(given, linear, [*linear, *more], [*linear, *more, *most])
