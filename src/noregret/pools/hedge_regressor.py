"""Many regressors as one: all of them see every row, and the answer is the mean of theirs, weighed by how well they have done.

de Rooij, van Erven, Gruenwald, Koolen (2014), *Follow the leader if you can, hedge if you must*; Kivinen, Warmuth (1999),
*Averaging expert predictions*.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..families.adaptive import NAGRegressor
from ..families.coin import CoinRegressor
from ..inputs import checking
from ..tasks.regression import Regressor
from ..transforms.pipeline import pipeline
from ..transforms.random_features import RandomBinning
from ..transforms.scale import Scale
from .averaging import AveragingPool
from .pooled import Pooled


class Params(NamedTuple):
    """HedgeRegressor."""

    learners: Any = None


class NoParams(NamedTuple):
    """Nothing to set."""


class HedgeRegressor(Pooled, Regressor):
    """Learn with many regressors at once and answer with their weighted mean: about as good as the best, whichever that will be.

    The regressors learn the target less its mean so far, over its deviation so far; their answers are brought back to its units,
    and to within half a range of the targets so far. The mean so far and the last target are weighed with them. With L the square
    losses of each so far, w ~ exp(-L ln K/Delta) (AdaHedge), Delta the sum of what the mean paid beyond the mix loss.

    Parameters: `learners`: regressors, their names, or pipelines of maps and a regressor, in a list or as text such as
    rls+nag_regressor (unless given, those of AutoRegressor). Rows are checked, and names placed or hashed, once for all.

    Read back: `learners_`, `weights_`, `losses_` (the mean so far and the last target come after the learners), `paid_`, `regret_`,
    `bound_`, `report()`.

    Bounds: `regret_` = `paid_` - the least of `losses_` is at most `bound_` = 2 Delta. The square loss is exp-concave, so Delta
    stops growing once it is about 2 B^2 ln K, with B the largest error: the regret is bounded by a constant.

    Pitfall: sample weights multiply losses, and do not change the mean and deviation of the target.

    de Rooij, van Erven, Gruenwald, Koolen (2014), section 2; Kivinen, Warmuth (1999), section 3.

    >>> import noregret as nr
    >>> m = nr.HedgeRegressor(learners=[nr.RLS(), nr.NAGRegressor()])
    >>> X = [[float(i), 1000.0] for i in range(50)]
    >>> m.fit(X, [3 * i + 400 for i in range(50)]).predict([[20.0, 1000.0]]).round().tolist(), m.regret_ <= m.bound_
    ([460.0], True)
    """

    name = "hedge_regressor"
    cite = "derooij2014"
    Params: ClassVar[Any] = Params
    merges = "none"
    model_class: ClassVar[Any] = AveragingPool
    loss = "square"
    dtype = "float64"
    advice: ClassVar[tuple[str, ...]] = ("mean so far", "last target")
    without: ClassVar[tuple[str, ...]] = ("fit_intercept", "average", "dtype")

    def targets(self, y: Any, n: int) -> np.ndarray:
        """Return the targets, checked: sums of their squares must stay finite."""
        return checking.refuse_large(super().targets(y, n))

    # ---- what a pool asks for ----------------------------------------------------------------------------------------
    @classmethod
    def recommended(cls) -> list[Any]:
        """Return the pool that is used when none is given."""
        scale = Scale(center="common")
        behind = [NAGRegressor(), CoinRegressor()]
        return [NAGRegressor(), *(pipeline(scale, m) for m in behind), pipeline(scale, RandomBinning(100), NAGRegressor())]

    @classmethod
    def rule_of(cls, given: dict[str, Any]) -> tuple[str, float | None, float | None]:
        """Return the rule; there is nothing to set."""
        return "adahedge", None, None


class AutoRegressor(HedgeRegressor):
    """The regressor without settings: four learners that do well on different data, and two trivial ones, weighed by AdaHedge.

    NAG on rows as they are; NAG and coin betting on columns less their means over their deviations; NAG on random bins of those,
    for what is not linear. Offsets and units of columns and target do not matter. Where the cost of four is too much,
    HedgeRegressor with two of them.

    de Rooij, van Erven, Gruenwald, Koolen (2014), *Follow the leader if you can, hedge if you must*.

    >>> import noregret as nr
    >>> X = [[float(i % 7), 1000.0 + i % 3] for i in range(200)]
    >>> y = [450 + 2 * a - 3 * (b - 1000) for a, b in X]
    >>> bool(nr.AutoRegressor().fit(X, y).score(X, y) > 0.9)
    True
    """

    name = "auto_regressor"
    cite = "derooij2014"
    Params: ClassVar[Any] = NoParams
