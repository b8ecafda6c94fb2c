"""Many classifiers as one: all of them see every row, and their answers are weighed by how well they have done so far.

Freund, Schapire (1997), *A decision-theoretic generalization of on-line learning and an application to boosting*; Herbster,
Warmuth (1998), *Tracking the best expert*; de Rooij, van Erven, Gruenwald, Koolen (2014), *Follow the leader if you can, hedge if
you must*.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

from ..algorithm.params import Choice, Optional, Range
from ..families.adaptive import NAG
from ..families.coin import Coin
from ..families.confidence_weighted import AROW, SCW1
from ..tasks.classification import COSTS, Classifier
from ..transforms.pipeline import pipeline
from ..transforms.scale import Normalize
from .mixing import MixingPool
from .pooled import Pooled
from .voting import VotingPool
from .weighing import RULES

ALPHA = Range(0.0, 1.0, "[)")


class Params(NamedTuple):
    """Hedge."""

    learners: Any = None
    rule: Annotated[str, Choice(dict.fromkeys(RULES))] = "adahedge"
    eta: Optional = None
    alpha: Annotated[Any, ALPHA, None] = None


class Hedge(Pooled, Classifier):
    """Learn with many classifiers at once and answer by their weighted vote: about as good as the best, whichever that will be.

    With L the losses of each learner so far, w its weight and l its loss of the round, all from before its update: "adahedge"
    w ~ exp(-L ln K/Delta), nothing to set; "hedge" w ~ exp(-eta_t L), eta_t = sqrt(8 ln K/t) or a fixed eta; "fixed_share"
    w *= exp(-eta l), then a share alpha of every weight goes to the others, 1/t unless it is given: for streams in which the best
    learner changes; "bayes" w *= probability of the label, sharing if alpha is given. The loss is 0 or 1, for "bayes" the log loss
    of the learner's calibrated probabilities, and the answer the class that is most probable in their mixture.

    Parameters: `learners`: classifiers, their names, or pipelines of maps and a classifier, in a list or as text such as
    nag+coin+pa1 (unless given, those of Auto); `rule`: "adahedge", "hedge", "fixed_share", "bayes"; `eta` > 0 of "hedge" and
    "fixed_share"; `alpha`, the share of "fixed_share" and "bayes". Rows are checked, and names placed or hashed, once for all.

    Read back: `learners_`, `weights_`, `losses_`, `paid_`, `regret_`, `bound_`, `report()`.

    With `probabilities=True` every learner of the pool is calibrated, and their probabilities are mixed by fixed share with
    weights of their own; the rule "bayes" has those of its mixture without it.

    Bounds: `regret_` = `paid_` - the least of `losses_` is at most `bound_`. `paid_` is the expected loss of drawing a learner by
    the weights ("bayes": the log loss of the mixture). The vote, which `predict` gives, has twice that bound and is better in
    practice. Sample weights multiply losses (probabilities become p^c); the bounds of "hedge" and "fixed_share" are for weights of
    at most 1.

    Pitfall: near-copies of one learner outvote the rest.

    Freund, Schapire (1997), theorem 2; de Rooij, van Erven, Gruenwald, Koolen (2014), section 2; Herbster, Warmuth (1998).

    >>> import noregret as nr
    >>> m = nr.Hedge(learners=[nr.PA1(), nr.NAG(), nr.Coin()])
    >>> for _ in range(20):
    ...     _ = m.learn_one({"free": 1}, "spam"), m.learn_one({"agenda": 1}, "ham")
    >>> m.predict_one({"free": 1}), m.regret_ <= m.bound_
    ('spam', True)
    """

    name = "hedge"
    cite = "freund1997"
    Params: ClassVar[Any] = Params
    merges = "none"
    dtype = "float64"
    without: ClassVar[tuple[str, ...]] = ("fit_intercept", "average", "dtype", *COSTS)

    # ---- what a pool asks for ----------------------------------------------------------------------------------------
    @classmethod
    def recommended(cls) -> list[Any]:
        """Return the pool that is used when none is given."""
        units = [pipeline(Normalize(), AROW()), pipeline(Normalize(), SCW1())]
        return [NAG(), NAG(loss="log"), AROW(), units[0], SCW1(), units[1], Coin()]

    @classmethod
    def rule_of(cls, given: dict[str, Any]) -> tuple[str, float | None, float | None]:
        """Return rule, eta and alpha, each checked."""
        rule, eta, alpha = given.get("rule", "adahedge"), given.get("eta"), given.get("alpha")
        if rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
        eta = None if eta is None else Range(0.0, math.inf).check("eta", eta)
        return rule, eta, None if alpha is None else ALPHA.check("alpha", alpha)

    @property
    def model_class(self) -> Any:
        """The kind of pool: votes, or probabilities that are mixed."""
        return MixingPool if self.__dict__.get("rule") == "bayes" else VotingPool

    @property
    def loss(self) -> str:
        """The loss in which answers are measured besides their mistakes."""
        return "log" if self.__dict__.get("rule") == "bayes" else "hinge"

    def _with_probabilities(self, method: Any) -> Any:
        return method if self.__dict__.get("rule") == "bayes" else super()._with_probabilities(method)
