"""Prediction with expert advice: experts are weighed by their losses, and the whole does about as well as the best of them.

Freund, Schapire (1997), *A decision-theoretic generalization of on-line learning and an application to boosting*; Herbster,
Warmuth (1998), *Tracking the best expert*; de Rooij, van Erven, Gruenwald, Koolen (2014), *Follow the leader if you can, hedge if
you must*; Vovk (1990), *Aggregating strategies*.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..algorithm.params import Choice, Optional
from ..algorithm.rounds import EXAMPLES
from ..allocations.allocation import Rounds
from ..allocations.allocator import Allocator, different, row_of, table
from ..inputs.checking import LARGEST, column_names
from ..learners.task import in_runs
from .council import LOSSES, RANGED, Council
from .hedge import ALPHA
from .pooled import THEOREMS
from .weighing import RULES


class Params(NamedTuple):
    """Experts."""

    experts: Any = None
    rule: Annotated[str, Choice(dict.fromkeys(RULES))] = "adahedge"
    eta: Optional = None
    alpha: Annotated[Any, ALPHA, None] = None
    loss: Annotated[Any, Choice(dict.fromkeys((None, *LOSSES)))] = None


class Experts(Allocator):
    """Follow experts by weights that depend on their losses: about as good as the best of them, whichever that will be.

    With L the losses of each expert so far and l those of the round: "adahedge" w ~ exp(-L ln K/Delta), Delta the sum of what was
    paid beyond the mix losses, nothing to set; "hedge" w ~ exp(-eta_t L), eta_t = sqrt(8 ln K/t) or a fixed eta; "fixed_share"
    w *= exp(-eta l), then a share alpha of every weight goes to the others, 1/t unless it is given: for when the best expert
    changes; "bayes" w *= exp(-l), the mixture of probabilities, sharing if alpha is given.

    Without a `loss` a round is the losses of the experts: `learn_one(losses)` returns the weights from before. With one it is their
    advice and the truth: `learn_one(advice, y)` returns the advice of the whole from before, their weighted mean, and
    `predict_one(advice)` that of now. Under "zero_one" advice and truth are numbers of classes, and the whole says that with the
    most weight. `join(name)` lets an expert in late, with what was paid so far as its loss.

    Parameters: `experts`: how many there are, or their names (unless given, the first round tells); `rule`: "adahedge", "hedge",
    "fixed_share", "bayes"; `eta` > 0 of "hedge" and "fixed_share"; `alpha`, the share of "fixed_share" and "bayes"; `loss`: of
    advice, "square", "absolute", "log" (probabilities, the truth is 0 or 1) or "zero_one".

    Read back: `weights_` for the next round, `losses_`, `paid_`, `regret_`, `bound_`, `names_`.

    Bounds: `regret_` = `paid_` - the least of `losses_` is at most `bound_`. `paid_` is the expected loss w.l of drawing an expert;
    of the mean under the square loss and "adahedge"; of the mixture under "bayes". The bounds of "hedge" and "fixed_share" are for
    losses that differ by at most 1 in a round, and `bound_` is infinite where they differ by more; "adahedge" needs no range.

    Pitfalls: losses must be known for every expert, also for those not followed. Near-copies of one expert raise ln K and outvote
    the rest.

    Freund, Schapire (1997), theorem 2; de Rooij, van Erven, Gruenwald, Koolen (2014), section 2; Herbster, Warmuth (1998), theorem
    5.

    >>> import noregret as nr
    >>> e = nr.Experts(3)
    >>> _ = e.learn_many([[0.2, 0.7, 0.1], [0.3, 0.6, 0.2]])
    >>> e.weights_.round(3).tolist(), e.regret_ <= e.bound_
    ([0.288, 0.008, 0.705], True)
    >>> weather = nr.Experts(["radar", "almanac"], rule="bayes", loss="log")
    >>> weather.learn_one([0.9, 0.3], 1)
    0.6
    """

    name = "experts"
    cite = "derooij2014"
    task = "experts"
    axis = "expert"
    unit = "round"
    Params: ClassVar[Any] = Params
    model_class: ClassVar[Any] = Council

    # ---- learning ----------------------------------------------------------------------------------------------------
    def learn_one(self, x: Any, y: Any = None) -> Any:
        """Learn one round; return the weights of before, in the form of x, or with a loss the advice of the whole from before."""
        self._truth_or_none(y)
        if y is None:
            return super().learn_one(x)
        named = isinstance(x, Mapping)
        rows, names = ([list(x.values())], [*x]) if named else (row_of(x), None)
        return float(self.learn_many(rows, [y], names=names)[0])

    def learn_many(self, X: Any, y: Any = None, *, names: Sequence[str] | None = None) -> np.ndarray:
        """Learn rounds, a row each; return the weights held in each, or with a loss the advice of the whole, from before it."""
        names = column_names(X) if names is None else names
        self._truth_or_none(y)
        A, truth = self.checked(X, names, y), self.truth(y, len(table(X, self.unit)))
        found: Rounds = self.model.play(A, truth)
        return found.weights if truth is None else self.model.mixture(found.weights, A)

    def learn_rounds(self, X: Any, names: Sequence[str] | None = None, y: Any = None) -> Rounds:
        """Learn rounds; return the weights from before each, and what was paid."""
        self._truth_or_none(y)
        A, truth = self.checked(X, names, y), self.truth(y, len(table(X, self.unit)))
        found: Rounds = self.model.play(A, truth)
        return found

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn rounds, a row each, in memory that does not grow with their number."""
        self._truth_or_none(y)
        A, truth = self.checked(X, column_names(X), y), self.truth(y, len(table(X, self.unit)))
        for a, b in in_runs(len(A), A.shape[1]):
            self.model.play(A[a:b], None if truth is None else truth[a:b])
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything, then learn rounds."""
        fresh = self.clone().partial_fit(X, y)
        self.reset()
        self.model = fresh.model
        return self

    def predict_one(self, x: Any) -> float:
        """Return the advice of the whole now; nothing changes."""
        named = isinstance(x, Mapping)
        return float(self.predict([list(x.values())] if named else row_of(x), names=[*x] if named else None)[0])

    def predict(self, X: Any, *, names: Sequence[str] | None = None) -> np.ndarray:
        """Return the advice of the whole for each row of advice, with the weights of now; nothing changes."""
        self.model  # noqa: B018  raises before anything is learned
        if self.loss is None:
            raise ValueError("predict mixes advice: make Experts with a loss, such as loss='square', or read weights_")
        A = self.checked(X, column_names(X) if names is None else names, None)
        found: np.ndarray = self.model.mixture(np.broadcast_to(self.weights_, A.shape), A)
        return found

    def join(self, name: str | None = None) -> Self:
        """Let one more expert in, with what was paid so far as its own loss; it stands last.

        Whoever has names needs one here too.
        """
        m = self.model
        if (m.names is None) != (name is None):
            raise ValueError(
                f"the experts have {'no ' if m.names is None else ''}names: call join({'' if m.names is None else '...'})"
            )
        if name is not None:
            different([*m.names, name], self.axis)
        m.join(name)
        return self

    # ---- checks ------------------------------------------------------------------------------------------------------
    def checked(self, X: Any, names: Sequence[str] | None, y: Any = None) -> np.ndarray:
        """Return rounds as a checked array; the number and the names of the experts are those of the parameter, if given."""
        if self.held is None and self.experts is not None:
            own = self._named()
            K, X = len(own) if isinstance(own, list) else own, table(X, self.unit)
            if X.shape[1] != K:
                raise ValueError(f"expected {K} experts, got {X.shape[1]} columns")
            if isinstance(own, list):
                if names is not None and {*names} != {*own}:
                    raise ValueError(f"expected the experts {', '.join(own)}, got {', '.join(map(str, names))}")
                X = X if names is None else X[:, [list(names).index(n) for n in own]]
                names = own
        elif self.held is not None and names is None and self.held.names is not None:
            names = self.held.names if table(X, self.unit).shape[1] == self.held.K else None
        if self.loss is not None or y is not None:
            self.truth(y, len(table(X, self.unit)))  # before anything begins
        return super().checked(X, names)

    def _named(self) -> int | list[str]:
        """Return the number of experts, or their names."""
        given = self.experts
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and given >= 1:
            return int(given)
        if isinstance(given, (list, tuple)) and given:
            return different([*given], self.axis)
        raise ValueError(f"experts must be their number or a list of their names, got {given!r}")

    def refused(self, X: np.ndarray, names: list[str] | None, seen: int) -> np.ndarray:
        """Return rounds; refuse what is not finite or too large to add up, and advice outside the range of the loss."""
        X = super().refused(X, names, seen)
        odd, what = ~(np.abs(X) <= LARGEST), f"numbers of at most {LARGEST:g} in size"
        if self.loss == "zero_one":
            odd, what = np.rint(X) != X, "the number of a class, a whole one (for probabilities take the log loss)"
        if odd.any():
            i, k = (int(v) for v in np.argwhere(odd)[0])
            raise ValueError(f"{self.place(i, k, names, seen)} {'is' if self.loss is None else 'says'} {X[i, k]}; expected {what}")
        ranged = self.loss == "log" or (self.loss in ("square", "absolute") and self.rule in RANGED)
        if ranged and ((X < 0.0) | (X > 1.0)).any():
            i, k = (int(v) for v in np.argwhere((X < 0.0) | (X > 1.0))[0])
            what = "a probability" if self.loss == "log" else f"advice for the {self.loss} loss under {self.rule!r}"
            raise ValueError(f"{self.place(i, k, names, seen)} says {X[i, k]}; expected {what} within [0, 1]")
        return X

    def _truth_or_none(self, y: Any) -> None:
        """Refuse a truth where rounds are losses, and rounds of advice without it."""
        if (y is None) != (self.loss is None):
            raise ValueError(
                "without loss= a round is the losses of the experts, and there is no y: give loss='square' or another for advice"
                if self.loss is None
                else f"with loss={self.loss!r} a round is advice and the truth: give that too (y, --target)"
            )

    def truth(self, y: Any, n: int) -> np.ndarray | None:
        """Return the truth of n rounds, checked."""
        if y is None:
            return None
        found = np.asarray(y, np.float64).reshape(-1)
        seen = 0 if self.held is None else int(self.held.tally[EXAMPLES])
        if len(found) != n:
            raise ValueError(f"expected a truth for each of {n} rounds, got {len(found)}")
        ranged = self.loss in ("square", "absolute") and self.rule in RANGED
        bad = ~(np.abs(found) <= LARGEST)
        bad |= (found != np.rint(found)) if self.loss == "zero_one" else False
        bad |= ((found != 0.0) & (found != 1.0)) if self.loss == "log" else ((found < 0.0) | (found > 1.0)) if ranged else False
        if bad.any():
            i = int(np.argmax(bad))
            what = "a number within [0, 1]" if ranged else f"a number of at most {LARGEST:g} in size"
            what = {"log": "0 or 1", "zero_one": "the number of a class, a whole one"}.get(str(self.loss), what)
            raise ValueError(f"the truth of round {seen + i + 1} is {found[i]}; expected {what}")
        return found

    # ---- reading -----------------------------------------------------------------------------------------------------
    @property
    def weights_(self) -> np.ndarray:
        """The weights for the next round."""
        found: np.ndarray = self.model.weighing.weights
        return found

    @property
    def losses_(self) -> np.ndarray:
        """The loss of each expert so far; before an expert joined, what was paid."""
        return np.array(self.model.weighing.losses)

    @property
    def paid_(self) -> float:
        """The loss of the whole so far."""
        return float(self.model.weighing.paid)

    @property
    def regret_(self) -> float:
        """What was paid beyond the loss of the best expert."""
        return float(self.model.weighing.regret)

    @property
    def bound_(self) -> float:
        """What the theorem allows the regret to be, infinite where it does not apply."""
        return float(self.model.weighing.bound)

    @property
    def bound_name_(self) -> str:
        """The theorem."""
        return THEOREMS[self.model.weighing.rule]


_named = Experts.__init__


def _init(self: Any, *places: Any, **params: Any) -> None:
    """Take the experts in the first place, and the other parameters by name."""
    if len(places) == 1 and "experts" not in params:
        params, places = {"experts": places[0], **params}, ()
    _named(self, *places, **params)


_init.__signature__ = inspect.signature(_named)  # type: ignore[attr-defined]
Experts.__init__ = _init  # type: ignore[method-assign]
