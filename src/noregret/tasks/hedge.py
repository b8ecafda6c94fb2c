"""Many classifiers as one: all of them see every row, and their answers are weighed by how well they have done so far."""

from __future__ import annotations

import io
import json
import math
import os
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Self

import numpy as np

from ..core import engine, inputs, model_file
from ..core.features import Columns, Features, Hashed, Names, Numbers
from ..core.inputs import Rows
from ..core.labels import Labels
from ..core.learner import is_dicts, not_learned, stacked
from ..core.params import Range
from ..core.words import strict
from .classification import Classifier, answers, discrete, distinct

Array = np.ndarray
RULES = ("adahedge", "hedge", "fixed_share", "bayes")
PAID, ROUNDS, DELTA, RANGE = range(4)  # totals: what was paid, rounds, AdaHedge's mixability gap, largest sample weight
LEAST = 1e-12  # probability of a label, so that one wrong certainty removes no learner for ever
SHARE_ETA = 0.05  # rate of fixed share: sqrt(8 ln K/T) for ten thousand rounds


# ---- rules: weights before each round into W, from losses (a row for each round) -------------------------------------
@strict
def by_losses(L: Array, eta: float, w: Array) -> float:
    """Fill w with weights proportional to exp(-eta L), the best learners alone when eta is infinite."""
    least, total = L[0], 0.0
    for k in range(L.shape[0]):
        least = min(least, L[k])
    for k in range(L.shape[0]):
        gap = L[k] - least
        w[k] = (1.0 if gap == 0.0 else 0.0) if eta == math.inf else math.exp(-eta * gap)
        total += w[k]
    for k in range(L.shape[0]):
        w[k] /= total
    return least


@strict
def pay(losses: Array, c: float, L: Array, totals: Array, w: Array) -> float:
    """Pay the weighted loss of a round and return it; the learners' own losses grow."""
    h = 0.0
    for k in range(L.shape[0]):
        h += w[k] * c * losses[k]
        L[k] += c * losses[k]
    totals[PAID] += h
    totals[ROUNDS] += 1.0
    totals[RANGE] = max(totals[RANGE], c)
    return h


def hedge(losses: Array, c: Array, L: Array, logs: Array, totals: Array, eta: float, alpha: float, mixes: bool, W: Array) -> None:
    """Weigh by exp(-eta_t L), eta_t = sqrt(8 ln K/t) unless eta is given."""
    for i in range(losses.shape[0]):
        by_losses(L, eta if eta > 0.0 else math.sqrt(8.0 * math.log(L.shape[0]) / (totals[ROUNDS] + 1.0)), W[i])
        if c[i] > 0.0:
            pay(losses[i], c[i], L, totals, W[i])


def adahedge(
    losses: Array, c: Array, L: Array, logs: Array, totals: Array, eta: float, alpha: float, mixes: bool, W: Array
) -> None:
    """Weigh by exp(-L ln K/Delta), Delta the sum of what was paid beyond the mix losses."""
    for i in range(losses.shape[0]):
        rate = math.log(L.shape[0]) / totals[DELTA] if totals[DELTA] > 0.0 else math.inf
        before = by_losses(L, rate, W[i])
        if c[i] > 0.0:
            h = pay(losses[i], c[i], L, totals, W[i])
            after, mass = L[0], 0.0
            for k in range(L.shape[0]):
                after = min(after, L[k])
            if rate == math.inf:
                mix = after - before
            else:
                for k in range(L.shape[0]):
                    mass += W[i, k] * math.exp(-rate * c[i] * losses[i, k])
                mix = -math.log(mass) / rate if mass > 0.0 else after - before
            totals[DELTA] += max(0.0, h - mix)


def fixed_share(
    losses: Array, c: Array, L: Array, logs: Array, totals: Array, eta: float, alpha: float, mixes: bool, W: Array
) -> None:
    """Multiply weights by exp(-eta loss), then share: alpha of each goes to the others (1/t if alpha is below 0).

    What is paid is the loss of the mixture, -ln sum_k w_k exp(-loss_k), if it mixes.
    """
    K = L.shape[0]
    for i in range(losses.shape[0]):
        for k in range(K):
            W[i, k] = math.exp(logs[k])
        if c[i] > 0.0:
            h = pay(losses[i], c[i], L, totals, W[i])
            top, total = -math.inf, 0.0
            for k in range(K):
                logs[k] -= eta * c[i] * losses[i, k]
                top = max(top, logs[k])
            for k in range(K):
                total += math.exp(logs[k] - top)
            if mixes:
                totals[PAID] += -(top + math.log(total)) / eta - h
            a = alpha if alpha >= 0.0 else 1.0 / (totals[ROUNDS] + 1.0)
            for k in range(K):
                logs[k] -= top + math.log(total)
                if a > 0.0 and K > 1:
                    w = math.exp(logs[k])
                    logs[k] = math.log((1.0 - a) * w + a * (1.0 - w) / (K - 1.0))


@cache
def kernel(rule: str, interpreted: bool) -> Any:
    """Return a rule, compiled."""
    fn = {"hedge": hedge, "adahedge": adahedge}.get(rule, fixed_share)
    return engine.compiled(fn)


class Hedge:
    """Learn with many classifiers at once and answer by their weighted vote: about as good as the best, whichever that will be.

    `rule`, with L the losses of each learner so far, w its weight and l its loss of the round, all from before its update:
    "adahedge" w ~ exp(-L ln K/Delta), nothing to set; "hedge" w ~ exp(-eta_t L), eta_t = sqrt(8 ln K/t) or a fixed `eta`;
    "fixed_share" w *= exp(-eta l), then a share alpha of every weight goes to the others, 1/t unless `alpha` is given: for streams
    in which the best learner changes; "bayes" w *= probability of the label (two classes only), sharing if `alpha` is given.
    The loss is 0 or 1, for "bayes" the log loss of p = sigma(a f), a learned by a NAG of one feature for each learner.

    Parameters: `learners`: classifiers, or pipelines of Normalize() and a classifier, copied as if fresh; `rule`, `eta`, `alpha`;
    `hash_bits` folds the names of dicts. Rows are checked, and names placed or hashed, once for all learners.

    Bounds: `regret_` = `paid_` - the least of `losses_` is at most `bound_`. `paid_` is the expected loss of drawing a learner by
    the weights ("bayes": the log loss of the mixture). The vote, which `predict` gives, has twice that bound and is better in
    practice. Sample weights multiply losses (probabilities become p^c); the bounds of "hedge" and "fixed_share" are for weights of
    at most 1.

    Pitfall: near-copies of one learner outvote the rest.

    Freund, Schapire (1997), theorem 2; de Rooij, van Erven, Gruenwald, Koolen (2014), section 2; Herbster, Warmuth (1998).

    >>> import noregret as nr
    >>> m = nr.Hedge([nr.PA1(), nr.NAG(), nr.Coin()])
    >>> for _ in range(20):
    ...     _ = m.learn_one({"free": 1}, "spam"), m.learn_one({"agenda": 1}, "ham")
    >>> m.predict_one({"free": 1}), m.regret_ <= m.bound_
    ('spam', True)
    """

    def __init__(
        self,
        learners: Iterable[Any],
        *,
        rule: str = "adahedge",
        eta: float | None = None,
        alpha: float | None = None,
        hash_bits: int | None = None,
    ) -> None:
        if rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
        self.rule, self.hash_bits = rule, hash_bits
        self.eta = None if eta is None else Range(0.0, math.inf).check("eta", eta)
        self.alpha = None if alpha is None else Range(0.0, 1.0, "[)").check("alpha", alpha)
        self.learners: list[Classifier] = []
        self.units: list[bool] = []
        for given in learners:
            steps = getattr(given, "steps", [given])
            unit = [type(s).__name__ for s in steps[:-1]] == ["Normalize"]
            if not isinstance(steps[-1], Classifier) or (len(steps) > 1 and not unit):
                raise TypeError(f"expected classifiers, or pipelines of Normalize() and a classifier, got {given!r}")
            self.learners.append(steps[-1].clone())
            self.units.append(unit)
        if len(self.learners) < 2:
            raise ValueError(f"expected at least two learners to choose from, got {len(self.learners)}")
        self.reset()

    def reset(self) -> Self:
        """Forget everything learned."""
        for learner in self.learners:
            learner.reset()
        K = len(self.learners)
        self.losses_, self._logs, self._totals = np.zeros(K), np.full(K, -math.log(K)), np.zeros(4)
        self.n_seen_ = self.n_mistakes_ = 0
        self._names: Features | None = None
        self._calibrators: list[Any] = []
        return self

    # ---- rows --------------------------------------------------------------------------------------------------------
    def _rows(self, X: Any, grow: bool) -> Rows:
        """Return X as checked rows; names get their numbers here, once for all learners."""
        began = "_m" in self.learners[0].__dict__
        if not is_dicts(X):
            if self._names is not None:
                raise TypeError("this pool has learned from dicts: expected dicts")
            rows = inputs.rows(X, "float64")
        else:
            if self._names is None:
                if began:
                    raise TypeError("this pool has learned from arrays: expected an array or sparse matrix")
                self._names = Names(False) if self.hash_bits is None else Hashed(self.hash_bits, False)
            for x in X:
                self._names.row(x, False)  # all checks pass before anything changes
            rows = stacked(self._names, X, grow)
            rows = rows._replace(width=self._names.size)
        for learner in self.learners:
            if learner.nonnegative:
                inputs.refuse_negative(rows, type(learner).__name__)
        return rows

    def _seen_by(self, rows: Rows) -> list[Rows]:
        """Return the rows as each learner sees them."""
        from ..transforms.scale import Normalize

        unit = Normalize().rows(rows, False) if any(self.units) else rows
        return [unit if u else rows for u in self.units]

    def _features(self, learner: Classifier) -> Features | None:
        """Return the table of a learner that begins with numbered names; None for the columns of an array."""
        bias = bool(getattr(learner, "fit_intercept", False))
        if self._names is None:
            return None
        return Numbers(bias) if self.hash_bits is None else Columns(self._names.size, bias)

    # ---- learning ----------------------------------------------------------------------------------------------------
    def learn_many(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Answer, then learn, each row in order; return the labels voted for before each update (None before there is one)."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        labels = discrete(inputs.targets(y, n, numeric=False))
        c = inputs.sample_weights(sample_weight, n)
        self._check_labels(labels if c is None else labels[c > 0.0])
        rows = self._rows(X, grow=True)
        told = [
            learner._learn_rows(seen, labels, c, self._features(learner))
            for learner, seen in zip(self.learners, self._seen_by(rows), strict=True)
        ]
        if "_m" not in self.learners[0].__dict__:  # all weights were 0
            return np.full(n, None, object)
        said, seen, codes = self._told(told)
        weights = np.ones(n) if c is None else c
        losses = self._log_losses(told, codes, c) if self.rule == "bayes" else (said != codes[:, None]).astype(np.float64)
        W = self._weigh(losses, weights)
        voted = self._vote(said, W)
        if self.rule == "bayes":
            voted = np.where(seen < 2, voted, self._more_probable(W, losses, codes))
        self.n_seen_ += int((weights > 0.0).sum())
        self.n_mistakes_ += int(((voted != codes) & (weights > 0.0)).sum())
        return self._labels_of(voted)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows in order."""
        self.learn_many(X, y, sample_weight)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget, then learn from all rows in one pass."""
        return self.reset().partial_fit(X, y, sample_weight)

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> Any:
        """Learn one example with weight w; return the label voted for before."""
        X = [x] if isinstance(x, Mapping) else np.reshape(np.asarray(x, np.float64), (1, -1))
        return self.learn_many(X, [y], [w]).tolist()[0]

    def _check_labels(self, y: np.ndarray) -> None:
        """Refuse labels that cannot be learned, before anything changes."""
        learner = self.learners[0]
        known = learner._m.labels if "_m" in learner.__dict__ else Labels(learner.classes)
        assert known is not None
        new = known.missing(distinct(y)[0])
        if self.rule == "bayes" and len(known) + len(new) > 2:
            raise ValueError(f"rule='bayes' is for two classes, found {[*known.values, *new]}: use 'adahedge'")

    def _told(self, told: list[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the codes each learner answered, a column each; how many classes were known; and the true codes."""
        said = np.column_stack([np.concatenate([answers(piece)[0] for piece in pieces]) for pieces in told])
        seen = np.concatenate([answers(piece)[1] for piece in told[0]])
        return said, seen, np.concatenate([piece.y for piece in told[0]])

    def _weigh(self, losses: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Play the rounds by the rule; return the weights before each."""
        W = np.zeros(losses.shape)
        eta = self.eta or {"bayes": 1.0, "fixed_share": SHARE_ETA}.get(self.rule, 0.0)
        alpha = self.alpha if self.alpha is not None else 0.0 if self.rule == "bayes" else -1.0
        play = kernel(self.rule, engine.interpreting())
        given = (np.ascontiguousarray(losses), np.asarray(c, np.float64), self.losses_, self._logs, self._totals)
        play(*given, eta, alpha, self.rule == "bayes", W)
        return W

    def _log_losses(self, told: list[Any], codes: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Return the log loss of each learner's calibrated probability of the label."""
        from ..families.adaptive import NAG

        if not self._calibrators:
            self._calibrators = [NAG(loss="log", fit_intercept=False, classes=[-1, 1]) for _ in self.learners]
        out = np.empty((len(codes), len(told)))
        for k, pieces in enumerate(told):
            f = np.concatenate([piece.f[:, 0] for piece in pieces])
            signs = np.where(codes == pieces[0].positive, 1, -1)
            margins = signs * self._calibrators[k].learn_many(f[:, None], signs, sample_weight=c)
            out[:, k] = np.minimum(np.logaddexp(0.0, -margins), -math.log(LEAST))
        return out

    def _more_probable(self, W: np.ndarray, losses: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the code to which the mixture gives more than one half, the second class on a tie."""
        labels = self.learners[0]._m.labels
        assert labels is not None
        second = labels.order[-1]
        right = (W * np.exp(-losses)).sum(1)
        return np.where(np.where(codes == second, right, 1.0 - right) >= 0.5, second, 1 - second)

    # ---- answering ---------------------------------------------------------------------------------------------------
    def _vote(self, said: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Return the code with the largest summed weight; ties as a score of 0, or to the lowest of many classes."""
        labels = self.learners[0]._m.labels
        assert labels is not None
        order = labels.order if len(labels) != 2 else labels.order[::-1]
        votes = np.column_stack([(W * (said == code)).sum(1) for code in order])
        return np.where(said.max(1) < 0, -1, np.array(order)[np.argmax(votes, axis=1)])

    def _labels_of(self, codes: np.ndarray) -> np.ndarray:
        """Return codes as labels, None for -1."""
        labels = self.learners[0]._m.labels
        assert labels is not None
        table = labels.array()
        return table[codes] if (codes >= 0).all() else np.array([None if k < 0 else labels.values[k] for k in codes], object)

    def _answers(self, X: Any) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the scores of each learner, and the codes they answer."""
        if "_m" not in self.learners[0].__dict__:
            raise not_learned(self.learners[0])
        seen = self._seen_by(self._rows(X, grow=False))
        f = [learner._score_rows(rows) for learner, rows in zip(self.learners, seen, strict=True)]
        return f, np.column_stack([m._picked(m._m, s) for m, s in zip(self.learners, f, strict=True)])

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row: by the weighted vote, for "bayes" the more probable one."""
        if self.rule == "bayes":
            return self.classes_[(self.predict_proba(X)[:, 1] >= 0.5).astype(int)]
        _, said = self._answers(X)
        return self._labels_of(self._vote(said, np.broadcast_to(self.weights_, said.shape)))

    def predict_one(self, x: Any) -> Any:
        """Return the label of one example, None before there is one."""
        if "_m" not in self.learners[0].__dict__:
            return None
        return self.predict([x] if isinstance(x, Mapping) else np.reshape(np.asarray(x, np.float64), (1, -1))).tolist()[0]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each of the two classes, in the order of `classes_` (rule "bayes")."""
        if self.rule != "bayes":
            raise AttributeError(f"predict_proba: votes of rule={self.rule!r} are no probabilities; use rule='bayes'")
        f, _ = self._answers(X)
        margins = np.column_stack([m.decision_function(s) for m, s in zip(self._calibrators, f, strict=True)])
        p = (1.0 / (1.0 + np.exp(-margins))) @ self.weights_
        labels = self.learners[0]._m.labels
        assert labels is not None
        return np.column_stack([1.0 - p, p] if labels.order[-1] == labels.positive else [p, 1.0 - p])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    # ---- reading back ------------------------------------------------------------------------------------------------
    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self.learners[0].classes_

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the learners in the round to come."""
        if self.rule in ("fixed_share", "bayes"):
            return np.exp(self._logs)
        K, w = len(self.learners), np.zeros(len(self.learners))
        if self.rule == "hedge":
            eta = self.eta or math.sqrt(8.0 * math.log(K) / (self._totals[ROUNDS] + 1.0))
        else:
            eta = math.log(K) / self._totals[DELTA] if self._totals[DELTA] > 0.0 else math.inf
        by_losses(self.losses_, eta, w)
        return w

    @property
    def paid_(self) -> float:
        """The loss of the pool: of drawing a learner by the weights, or the log loss of the mixture."""
        return float(self._totals[PAID])

    @property
    def regret_(self) -> float:
        """What was paid beyond the loss of the best learner."""
        return float(self._totals[PAID] - self.losses_.min())

    @property
    def bound_(self) -> float:
        """What the theorem allows the regret to be, infinite where it does not apply."""
        K, (_, T, delta, reach) = len(self.learners), self._totals
        if self.rule == "adahedge":
            return 2.0 * float(delta)
        if reach > 1.0 and self.rule != "bayes":
            return math.inf
        if self.rule == "hedge":
            if self.eta is None:
                return 2.0 * math.sqrt(T * math.log(K) / 2.0) + math.sqrt(math.log(K) / 8.0)
            return math.log(K) / self.eta + self.eta * T / 8.0
        if self.alpha is None:
            shared = math.log(max(T, 1.0)) if self.rule == "fixed_share" else 0.0
        else:
            shared = max(T - 1.0, 0.0) * math.log(1.0 / (1.0 - self.alpha))
        if self.rule == "bayes":
            return math.log(K) + shared if self.eta in (None, 1.0) else math.inf
        eta = self.eta or SHARE_ETA
        return (math.log(K) + shared) / eta + eta * T / 8.0

    def report(self) -> dict[str, Any]:
        """Return rounds, mistakes of the vote, what was paid, the regret and its bound, and each learner with loss and weight."""
        pool = [
            {"learner": f"{'Normalize(), ' * unit}{m!r}", "loss": float(loss), "weight": float(w)}
            for m, unit, loss, w in zip(self.learners, self.units, self.losses_, self.weights_, strict=True)
        ]
        error = self.n_mistakes_ / self.n_seen_ if self.n_seen_ else 0.0
        own = {"examples": self.n_seen_, "mistakes": self.n_mistakes_, "error": error}
        return {**own, "paid": self.paid_, "regret": self.regret_, "bound": self.bound_, "learners": pool}

    def __repr__(self) -> str:
        pool = ", ".join(f"pipeline(Normalize(), {m!r})" if u else repr(m) for m, u in zip(self.learners, self.units, strict=True))
        return f"{type(self).__name__}([{pool}], rule={self.rule!r})"

    # ---- files -------------------------------------------------------------------------------------------------------
    def save(self, path: Any) -> None:
        """Write everything to one file, an archive of model files; it resumes bit for bit. Names must be text."""
        if "_m" not in self.learners[0].__dict__:
            raise not_learned(self.learners[0])
        names = None if self._names is None or self._names.names is None else list(self._names.names)
        if names is not None and not all(isinstance(name, str) for name in names):
            raise TypeError("names that are not text cannot be saved")
        own = {k: getattr(self, k) for k in ("rule", "eta", "alpha", "hash_bits", "units", "n_seen_", "n_mistakes_")}
        arrays = {k: getattr(self, k).tolist() for k in ("losses_", "_logs", "_totals")}
        said = {"own": own, "arrays": arrays, "dicts": self._names is not None, "names": names}
        models = [*self.learners, *(m for m in self._calibrators if "_m" in m.__dict__)]
        whole = io.BytesIO()
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(whole, "w") as archive:
            archive.writestr("pool.json", json.dumps({**said, "pool": len(self.learners), "models": len(models)}))
            for i, m in enumerate(models):
                part = os.path.join(folder, str(i))
                m.save(part)
                archive.write(part, f"{i}.nr")
        model_file.write(os.path.realpath(path), whole.getvalue())

    @classmethod
    def load(cls, path: Any) -> Hedge:
        """Read a pool from a file; it goes on as if it had never stopped."""
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as archive:
            said = json.loads(archive.read("pool.json"))
            models = [model_file.load(archive.extract(f"{i}.nr", folder)) for i in range(said["models"])]
        own = said["own"]
        pool = Hedge(models[: said["pool"]], **{k: own[k] for k in ("rule", "eta", "alpha", "hash_bits")})
        pool.learners, pool._calibrators = models[: said["pool"]], models[said["pool"] :]
        pool.units, pool.n_seen_, pool.n_mistakes_ = own["units"], own["n_seen_"], own["n_mistakes_"]
        for k, v in said["arrays"].items():
            setattr(pool, k, np.array(v))
        if said["dicts"]:
            pool._names = Names(False) if pool.hash_bits is None else Hashed(pool.hash_bits, False)
            if said["names"]:
                pool._names.row(dict.fromkeys(said["names"], 0.0), True)
        return pool


class Auto(Hedge):
    """What to use when nothing is to be set: seven learners that do well on different data, weighed by AdaHedge.

    NAG with the square and the log loss, AROW and SCW-I on rows as they are and on rows of length 1, coin betting. On the public
    sets of the benchmark `nothing_to_tune` the vote is 0.2 points of error above the best single learner of each set on average.
    Seven times the cost of one; where that is too much, NAG alone.

    de Rooij, van Erven, Gruenwald, Koolen (2014), *Follow the leader if you can, hedge if you must*.

    >>> import noregret as nr
    >>> X, y = [[1, 2000, 0], [0.5, -1000, 1], [-1, 500, 2]] * 5, [1, -1, 1] * 5
    >>> nr.Auto().fit(X, y).predict(X[:3]).tolist()
    [1, -1, 1]
    """

    def __init__(self, *, hash_bits: int | None = None) -> None:
        from ..families.adaptive import NAG
        from ..families.coin import Coin
        from ..families.confidence import AROW, SCW1

        pool = [NAG(), NAG(loss="log"), AROW(), AROW(), SCW1(), SCW1(), Coin()]
        super().__init__(pool, hash_bits=hash_bits)
        self.units = [False, False, False, True, False, True, False]
