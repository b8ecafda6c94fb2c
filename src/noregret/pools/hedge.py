"""Many classifiers as one: all of them see every row, and their answers are weighed by how well they have done so far.

Freund, Schapire (1997), *A decision-theoretic generalization of on-line learning and an application to boosting*; Herbster,
Warmuth (1998), *Tracking the best expert*; de Rooij, van Erven, Gruenwald, Koolen (2014), *Follow the leader if you can, hedge if
you must*.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.params import Choice, Optional, Range
from ..families.adaptive import NAG
from ..families.coin import Coin
from ..families.confidence_weighted import AROW, SCW1
from ..inputs.checking import Rows
from ..inputs.features import Features
from ..inputs.labels import Labelled, Labels, some
from ..learners.base import not_learned
from ..tasks.classes import distinct
from ..tasks.classification import COSTS, Classifier
from ..transforms.pipeline import pipeline
from ..transforms.scale import Normalize
from .pool import Pool, members
from .weighing import RULES

ALPHA = Range(0.0, 1.0, "[)")
THEOREMS = {
    "adahedge": "de Rooij et al. 2014, lemma 2",
    "hedge": "Cesa-Bianchi, Lugosi 2006, theorem 2.3",
    "fixed_share": "Herbster, Warmuth 1998, theorem 5",
    "bayes": "Cesa-Bianchi, Lugosi 2006, section 9.2",
}


def recommended() -> list[Any]:
    """Return the pool that is used when none is given."""
    units = [pipeline(Normalize(), AROW()), pipeline(Normalize(), SCW1())]
    return [NAG(), NAG(loss="log"), AROW(), units[0], SCW1(), units[1], Coin()]


class Params(NamedTuple):
    """Hedge."""

    learners: Any = None
    rule: Annotated[str, Choice(dict.fromkeys(RULES))] = "adahedge"
    eta: Optional = None
    alpha: Annotated[Any, ALPHA, None] = None


class NoParams(NamedTuple):
    """Nothing to set."""


class Hedge(Classifier):
    """Learn with many classifiers at once and answer by their weighted vote: about as good as the best, whichever that will be.

    With L the losses of each learner so far, w its weight and l its loss of the round, all from before its update: "adahedge"
    w ~ exp(-L ln K/Delta), nothing to set; "hedge" w ~ exp(-eta_t L), eta_t = sqrt(8 ln K/t) or a fixed eta; "fixed_share"
    w *= exp(-eta l), then a share alpha of every weight goes to the others, 1/t unless it is given: for streams in which the best
    learner changes; "bayes" w *= probability of the label (two classes only), sharing if alpha is given. The loss is 0 or 1, for
    "bayes" the log loss of p = sigma(a f), a learned by a NAG of one feature for each learner.

    Parameters: `learners`: classifiers, their names, or pipelines of Normalize() and a classifier, in a list or as text such as
    nag+coin+pa1 (unless given, those of Auto); `rule`: "adahedge", "hedge", "fixed_share", "bayes"; `eta` > 0 of "hedge" and
    "fixed_share"; `alpha`, the share of "fixed_share" and "bayes". Rows are checked, and names placed or hashed, once for all.

    Read back: `learners_`, `weights_`, `losses_`, `paid_`, `regret_`, `bound_`, `report()`, `predict_proba` ("bayes").

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
    model_class: ClassVar[Any] = Pool
    dtype = "float64"
    without: ClassVar[tuple[str, ...]] = ("fit_intercept", "average", "dtype", *COSTS)

    # ---- what a pool asks for ----------------------------------------------------------------------------------------
    @classmethod
    def pool(cls, given: dict[str, Any]) -> Any:
        """Return the learners."""
        return recommended() if given.get("learners") is None else given["learners"]

    @property
    def has_schedule(self) -> bool:
        """Whether a member has step sizes that change with the rounds."""
        return any(member.learner.has_schedule for member in members(self.pool(self.get_params())))

    @classmethod
    def rule_of(cls, given: dict[str, Any]) -> tuple[str, float | None, float | None]:
        """Return rule, eta and alpha, each checked."""
        rule, eta, alpha = given.get("rule", "adahedge"), given.get("eta"), given.get("alpha")
        if rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
        eta = None if eta is None else Range(0.0, math.inf).check("eta", eta)
        return rule, eta, None if alpha is None else ALPHA.check("alpha", alpha)

    def model_with(self, rows: Rows | None, features: Features | None, labels: Labels | None) -> Any:
        """Return a new pool with these tables."""
        self._two_classes(labels, [])
        m = Pool(self, features or self._features(rows), labels, rows is None or rows.layout == "csr")
        if rows is not None and features is None:
            m.features.check(rows, type(self).__name__)
        return m

    def _codes(self, m: Any, y: Labelled, c: np.ndarray | None = None) -> np.ndarray:
        given = y if c is None else some(y, c > 0.0)
        self._two_classes(m.labels, m.labels.missing(distinct(given)[0]))
        return super()._codes(m, y, c)

    def _two_classes(self, known: Labels | None, new: list[Any]) -> None:
        """Refuse a third class where probabilities are mixed, before anything changes."""
        assert known is not None
        if self.__dict__.get("rule") == "bayes" and len(known) + len(new) > 2:
            raise ValueError(f"rule='bayes' is for two classes, found {[*known.values, *new]}: use 'adahedge'")

    @property
    def nonnegative(self) -> bool:  # type: ignore[override]
        """Whether features below 0 are refused: where one of the learners has no place for them."""
        return any(member.learner.nonnegative for member in members(self.pool(self.get_params())))

    @property
    def loss(self) -> str:
        """The loss in which answers are measured besides their mistakes."""
        return "log" if self.__dict__.get("rule") == "bayes" else "hinge"

    # ---- answering ---------------------------------------------------------------------------------------------------
    def _predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each of the two classes, in the order of `classes_`."""
        p = 1.0 / (1.0 + np.exp(-self.decision_function(X)))
        return np.column_stack([1.0 - p, p])

    def __getattr__(self, name: str) -> Any:
        if name == "predict_proba":  # only where votes are probabilities
            if self.__dict__.get("rule") == "bayes":
                return self._predict_proba
            raise AttributeError("predict_proba: votes are not probabilities; use rule='bayes'")
        if name == "model":  # a property that raises an AttributeError comes here
            raise not_learned(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ---- reading back ------------------------------------------------------------------------------------------------
    @property
    def learners_(self) -> list[Classifier]:
        """The learners of the pool."""
        return [member.learner for member in self.model.members]

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the learners in the round to come."""
        return self._weighing.weights

    @property
    def losses_(self) -> np.ndarray:
        """The loss of each learner so far."""
        return self._weighing.losses

    @property
    def paid_(self) -> float:
        """The loss of the pool: of drawing a learner by the weights, or the log loss of the mixture."""
        return float(self._weighing.paid)

    @property
    def regret_(self) -> float:
        """What was paid beyond the loss of the best learner."""
        return float(self._weighing.regret)

    @property
    def bound_(self) -> float:
        """What the theorem allows the regret to be, infinite where it does not apply."""
        return float(self._weighing.bound)

    @property
    def bound_name_(self) -> str:
        """The theorem."""
        return THEOREMS[self._weighing.rule]

    @property
    def _weighing(self) -> Any:
        return self.model.weighing

    def report(self) -> dict[str, Any]:
        """Return rounds, mistakes of the vote, what was paid, the regret and its bound, and each learner with loss and weight."""
        found = zip(self.model.members, self.losses_, self.weights_, strict=True)
        pool = [{"learner": repr(member), "loss": float(loss), "weight": float(w)} for member, loss, w in found]
        own = {"examples": self.n_seen_, "mistakes": self.n_mistakes_, "error": self.n_mistakes_ / max(self.n_seen_, 1)}
        name = {"bound_name": self.bound_name_} if math.isfinite(self.bound_) else {}
        return {**own, **self.standing(), **name, "learners": pool}

    def standing(self) -> dict[str, float]:
        """Return what was paid, the loss of the best learner, the regret between them and its bound."""
        return {"paid": self.paid_, "best": float(self.losses_.min()), "regret": self.regret_, "bound": self.bound_}


class Auto(Hedge):
    """The learner without settings: seven learners that do well on different data, weighed by AdaHedge.

    NAG with the square and the log loss, AROW and SCW-I on rows as they are and on rows of length 1, coin betting. On the public
    sets of the benchmark `nothing_to_tune` the vote is 0.2 points of error above the best single learner of each set on average.
    Seven times the cost of one; where that is too much, NAG alone.

    de Rooij, van Erven, Gruenwald, Koolen (2014), *Follow the leader if you can, hedge if you must*.

    >>> import noregret as nr
    >>> X, y = [[1, 2000, 0], [0.5, -1000, 1], [-1, 500, 2]] * 5, [1, -1, 1] * 5
    >>> nr.Auto().fit(X, y).predict(X[:3]).tolist()
    [1, -1, 1]
    """

    name = "auto"
    cite = "derooij2014"
    Params: ClassVar[Any] = NoParams
