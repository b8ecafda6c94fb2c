"""A pool: the model of a learner that is made of learners. All of them see every row, and their answers are weighed.

It has the methods of a Model, so that whatever a learner can do, a pool can: any input, late classes, studies, files.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..algorithm.params import same_value
from ..algorithm.rounds import EXAMPLES, MISTAKES, SEEN, TIE, UPDATES
from ..engine.compiling import compiled
from ..families.adaptive import NAG
from ..files.json_values import Tensors, expect
from ..files.saved_tables import check_tally, features_meta, features_of, labels_meta, labels_of, names_tensors
from ..inputs.checking import Rows, sparse_row
from ..inputs.features import Columns, Features, Hashed, Numbers
from ..inputs.labels import Labels
from ..learners.learner import Learner, Progress, has_bias
from ..learners.learner_file import restored
from ..learners.model import Model
from ..owners import owner
from ..tasks.classes import answered
from ..tasks.classification import Classifier
from ..transforms.scale import Normalize
from .weighing import Weighing, log_loss, mix_losses, mix_margins, votes

LEAST = 1e-12  # probability of a label, so that one wrong certainty removes no learner for ever


class Member:
    """A learner of a pool, its model, and whether it sees rows brought to length 1."""

    def __init__(self, learner: Classifier, unit: bool) -> None:
        self.learner = learner
        self.unit = unit

    def begin(self, features: Features, labels: Labels, sparse: bool) -> None:
        """Begin with the numbered features of the pool, and its labels."""
        bias = has_bias(self.learner)
        fixed = isinstance(features, (Columns, Hashed))
        self.learner.model = Model(self.learner, Columns(features.size, bias) if fixed else Numbers(bias), labels, sparse)

    @property
    def m(self) -> Model:
        """The model."""
        return self.learner.model

    def learn(self, rows: Rows, codes: np.ndarray, signs: np.ndarray | None, c: np.ndarray | None) -> Progress:
        """Learn from rows in the places of the pool; with `signs` there are two classes."""
        m, labels = self.m, self.m.labels
        assert labels is not None
        if signs is None or m.many:
            m.relabel()
        y = codes if m.many else signs
        assert y is not None
        known = (m.many, int(m.tally[SEEN]), int(m.tally[TIE]), labels.positive)
        f: list[np.ndarray] = []
        a = 0
        for piece in self.learner.in_place(m, rows):
            b = a + piece.n
            f.append(m.learn(piece, y[a:b], None if c is None else c[a:b]))
            a = b
        return Progress(np.concatenate(f), codes, *known)

    def score(self, rows: Rows) -> np.ndarray:
        """Return the scores."""
        return self.m.score(self.learner.place(self.m, rows, grow=False))

    def __repr__(self) -> str:
        return f"pipeline(Normalize(), {self.learner!r})" if self.unit else repr(self.learner)


def members(learners: Iterable[Any]) -> list[Member]:
    """Return fresh members from classifiers, their names, or pipelines of Normalize() and a classifier."""
    found = []
    for given in learners.split("+") if isinstance(learners, str) else learners:
        steps = getattr(given, "steps", [owner("class")(given)() if isinstance(given, str) else given])
        unit = [type(s).__name__ for s in steps[:-1]] == ["Normalize"]
        plain = isinstance(steps[-1], Classifier) and not (hasattr(steps[-1], "standing") or steps[-1].by_domain)
        if not plain or (len(steps) > 1 and not unit):
            raise TypeError(f"expected classifiers, their names, or pipelines of Normalize() and a classifier, got {given!r}")
        found.append(Member(steps[-1].clone(), unit))
    if len(found) < 2:
        raise ValueError(f"expected at least two learners to choose from, got {len(found)}")
    return found


class Pool:
    """The members, their weights, and the tables and tally they share."""

    filled = False
    ready = sys.maxsize  # members make room for features themselves
    dtype = np.dtype(np.float64)

    def __init__(self, learner: Learner, features: Features, labels: Labels | None, sparse: bool = False) -> None:
        assert labels is not None
        self.given = learner.get_params()
        kind: Any = type(learner)
        self.learner = kind
        self.params = ()
        self.features, self.labels = features, labels
        self.members = members(self.learner.pool(self.given))
        self.weighing = Weighing(len(self.members), *self.learner.rule_of(self.given))
        self.calibrators = [calibrator() for _ in self.members] if self.weighing.rule == "bayes" else []
        self.tally = np.zeros(5, np.int64)
        self.many = False
        for member in self.members:
            member.begin(features, labels, sparse)
        self.relabel()

    @property
    def dims(self) -> dict[str, int]:
        """Sizes, as those of a Model."""
        return {"feature": max(self.features.size, 1), "class": max(len(self.labels), 1) if self.many else 1}

    @property
    def by_classes(self) -> bool:
        """Whether a member depends on the number of classes."""
        return any(member.m.by_classes for member in self.members)

    @property
    def pairs_features(self) -> bool:
        """Whether a member has a cell for every pair of features."""
        return any(member.m.pairs_features for member in self.members)

    def expect(self, new: int) -> None:
        """Refuse labels for which a member has no room."""
        for member in self.members:
            member.m.expect(new)

    # ---- changes -----------------------------------------------------------------------------------------------------
    def relabel(self) -> None:
        """Follow new labels: a vote for each, if there are more than two."""
        declared = self.labels.declared
        if not self.many:
            self.tally[TIE] = self.labels.tie
            if declared:
                self.tally[SEEN] = 3
        if len(self.labels) > 2 and not self.many:
            self.many = True
            self.tally[SEEN] = len(self.labels) if declared else 0 if self.tally[EXAMPLES] == 0 else 2
        for member in self.members:
            member.m.relabel()

    def widen(self) -> None:
        """Members make room when they learn."""

    def unharmed(self) -> contextlib.AbstractContextManager[None]:
        """Members learn from rows, in which nothing can fail midway."""
        return contextlib.nullcontext()

    def forget(self) -> None:
        """Let the members start over with the current features, labels and counts; their losses so far stay."""
        for member in self.members:
            member.m.forget()
        self.calibrators = [calibrator() for _ in self.calibrators]

    def restart(self) -> None:
        """Restart the step sizes."""
        for member in self.members:
            member.m.restart()

    def retune(self, given: dict[str, Any]) -> None:
        """Use new parameters from now on."""
        fixed = ("learners", "rule", "classes", "hash_bits")
        if not all(same_value(given.get(k), self.given.get(k)) for k in fixed):
            raise ValueError("these parameters need another pool: call reset() first, or make a new learner")
        _, self.weighing.eta, self.weighing.alpha = self.learner.rule_of(given)
        self.given = given

    # ---- running -----------------------------------------------------------------------------------------------------
    def learn(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Answer, then learn, each row in order; return the votes from before each update. y: signs, or codes of many classes."""
        if c is not None and not c.any():
            return self.score(rows)
        positive = self.labels.positive
        codes, signs = (y, None) if self.many else (np.where(y > 0.0, positive, 1 - positive), y)
        live = slice(None) if c is None or c.all() else np.flatnonzero(c)
        seen_by, learned = self._seen_by(rows), []
        for member in self.members:
            if not member.m.many:
                member.m.tally[TIE] = self.tally[TIE]
            learned.append(member.learn(seen_by[member.unit], codes, signs, c))
        counted = [piece._replace(f=piece.f[live], y=codes[live]) for piece in learned]
        predicted = np.column_stack([answered(piece)[0] for piece in counted])
        weights = np.ones(len(predicted)) if c is None else c[live]
        wrong = predicted != codes[live][:, None]
        losses = self._log_losses(counted, weights) if self.calibrators else wrong.astype(np.float64)
        W = self.weighing.play(losses, weights)
        known = (self.many, int(self.tally[SEEN]), int(self.tally[TIE]), positive)
        self._note(codes[live])
        out = np.zeros((rows.n, self.dims["class"]))
        out[live] = self._mixed(W, losses, codes[live]) if self.calibrators else self._voted(W, predicted)
        self.tally[MISTAKES] += int((answered(Progress(out[live], codes[live], *known))[0] != codes[live]).sum())
        if not isinstance(live, slice):
            rest = np.flatnonzero(c == 0.0)
            out[rest] = self._answer([piece.f[rest] for piece in learned])
        return out

    def _note(self, codes: np.ndarray) -> None:
        """Count rows and the classes seen in them."""
        self.tally[EXAMPLES] += len(codes)
        self.tally[UPDATES] = sum(member.m.tally[UPDATES] for member in self.members)
        if self.many:
            self.tally[SEEN] = max([self.tally[SEEN], *(codes + 1).tolist()])
        else:
            for bit, code in ((1, self.labels.positive), (2, 1 - self.labels.positive)):
                self.tally[SEEN] |= bit * bool((codes == code).any())

    def learn_row(self, idx: np.ndarray, values: np.ndarray, y: float, c: float = 1.0) -> np.ndarray:
        """Do the same with one sparse row."""
        target = np.array([y], np.int64 if self.many else np.float64)
        return self.learn(sparse_row(idx, values), target, None if c == 1.0 else np.array([c]))[0]

    def score(self, rows: Rows) -> np.ndarray:
        """Return the votes; nothing changes."""
        seen_by = self._seen_by(rows)
        return self._answer([member.score(seen_by[member.unit]) for member in self.members])

    def score_row(self, idx: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the votes on one sparse row."""
        return self.score(sparse_row(idx, values))[0]

    def _seen_by(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the rows as they are, and scaled to length 1 if a member wants that."""
        rows = rows._replace(width=self.features.size, names=None)
        return rows, Normalize().rows(rows, False) if any(member.unit for member in self.members) else rows

    # ---- one answer of many ------------------------------------------------------------------------------------------
    def _answer(self, f: list[np.ndarray]) -> np.ndarray:
        """Return the votes of the present weights, given the scores of each member."""
        w = self.weighing.weights
        if self.calibrators:
            margins = np.column_stack([log_odds(m, self._one(s)) for m, s in zip(self.calibrators, f, strict=True)])
            odds = np.empty((len(margins), 1))
            compiled(mix_margins)(margins, w, LEAST, odds)
            return odds
        predicted = np.column_stack([member.learner.task.codes(member.m, s) for member, s in zip(self.members, f, strict=True)])
        return self._voted(np.broadcast_to(w, predicted.shape), predicted)

    def _voted(self, W: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Return the weight behind each class; with two, that behind the positive one less that behind the other."""
        counted = votes(W, predicted, max(len(self.labels), 2))
        if self.many:
            return counted
        positive = self.labels.positive
        return counted[:, [positive]] - counted[:, [1 - positive]]

    def _mixed(self, W: np.ndarray, losses: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the log odds of the positive class in the mixture."""
        odds = np.empty((len(codes), 1))
        compiled(mix_losses)(W, losses, codes == self.labels.positive, LEAST, odds)
        return odds

    def _log_losses(self, learned: list[Progress], c: np.ndarray) -> np.ndarray:
        """Return the log loss of each member's calibrated probability of the label."""
        out = np.empty((len(learned), len(c)))
        for k, piece in enumerate(learned):
            signs = np.where(piece.y == piece.positive, 1, -1)
            margins = signs * self.calibrators[k].learn_many(self._one(piece.f), signs, sample_weight=c)
            compiled(log_loss)(margins, LEAST, out[k])
        return np.ascontiguousarray(out.T)

    def _one(self, f: np.ndarray) -> np.ndarray:
        """Return the one score of two classes, of members that have a score for each."""
        positive = self.labels.positive
        return f if f.shape[1] == 1 else f[:, [positive]] - f[:, [1 - positive]]

    # ---- files -------------------------------------------------------------------------------------------------------
    def within(self) -> list[Learner]:
        """Return the learners inside."""
        return [*(member.learner for member in self.members), *self.calibrators]

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return the pool as metadata and tensors; those of learner k are named `<k>/...`."""
        inner = [learner.pack() for learner in self.within()]
        meta = {"features": features_meta(self.features), "labels": labels_meta(self.labels), "many": self.many}
        tensors = {"tally": self.tally, **names_tensors(self.features)}
        tensors |= {f"state.{at}": a for at, a in self.weighing.arrays().items()}
        tensors |= {f"{k}/{name}": a for k, (_, theirs) in enumerate(inner) for name, a in theirs.items()}
        return {**meta, "within": [own for own, _ in inner]}, tensors

    @classmethod
    def restored(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Pool:
        """Return the packed pool of a learner; check every array."""
        features, labels = features_of(meta["features"], tensors.pop("features", None)), labels_of(meta["labels"])
        expect(labels is not None and type(meta["many"]) is bool, "labels, and whether they are many", meta["labels"])
        m: Any = learner.model_with(None, features, labels)
        m.many = meta["many"]
        for k, a in m.weighing.arrays().items():
            found = tensors.pop(f"state.{k}")
            expect(found.dtype == a.dtype and found.shape == a.shape, f"{k} of shape {a.shape}", found.shape)
            a[:] = found
        tally = tensors.pop("tally")
        check_tally(tally, m.tally, len(m.labels) if m.many else 3)
        m.tally[:] = tally
        parts = []
        for k, own in enumerate(meta["within"]):
            theirs = {name.removeprefix(f"{k}/"): tensors.pop(name) for name in list(tensors) if name.startswith(f"{k}/")}
            parts.append(restored(own, theirs))
        expect(not tensors, "no other tensors", sorted(tensors))
        m.resume(parts)
        return m

    def resume(self, learners: list[Learner]) -> None:
        """Restore learners as they were saved."""
        was, n = self.within(), len(self.members)
        if not same_value(was, learners) or not all(m.started for m in learners[:n]):
            raise ValueError(f"expected a pool of {was}, found {learners}")
        for member, learner in zip(self.members, learners[:n], strict=True):
            theirs, own = learner.model, member.m
            same = theirs.labels is not None and theirs.labels.values == self.labels.values
            if not same or type(theirs.features) is not type(own.features) or theirs.features.size > self.features.size + 1:
                raise ValueError(f"expected the features and labels of the pool, found others in {learner!r}")
            theirs.labels = self.labels
            member.learner = learner  # type: ignore[assignment]
        self.calibrators = learners[n:]  # type: ignore[assignment]

    # ---- reading -----------------------------------------------------------------------------------------------------
    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array that has a meaning between rounds, by its dotted path."""
        return {**self.weighing.arrays(), **{f"{at}.{k}": a for at, m in self._models() for k, a in m.arrays().items()}}

    def used(self) -> dict[str, np.ndarray]:
        """Return them without spare room."""
        return {**self.weighing.arrays(), **{f"{at}.{k}": a for at, m in self._models() for k, a in m.used().items()}}

    def _models(self) -> list[tuple[str, Model]]:
        """Return the models inside, by name."""
        found = [(str(k), member.m) for k, member in enumerate(self.members)]
        return found + [(f"calibrator{k}", m.model) for k, m in enumerate(self.calibrators) if m.started]

    def nonzeros(self) -> int | None:
        """Return the non-zero weights of all members."""
        found = [member.m.nonzeros() for member in self.members]
        return None if None in found else sum(found)  # type: ignore[arg-type]

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__.update(d)
        self.tally = np.array(self.tally)  # a memory map is read-only
        self.weighing.__dict__.update({k: np.array(a) for k, a in self.weighing.arrays().items()})

    def weights(self) -> np.ndarray:
        """Refuse: there is no one weight vector."""
        raise AttributeError(f"coef_: {self.learner.__name__} does not answer with one weight vector")


def calibrator() -> NAG:
    """Return a learner of one number, the factor that makes a score a log odds."""
    return NAG(loss="log", fit_intercept=False, classes=[-1, 1])


def log_odds(calibrator: NAG, f: np.ndarray) -> np.ndarray:
    """Return scores as log odds, 0 as long as the calibrator has learned nothing."""
    return calibrator.decision_function(f) if calibrator.__sklearn_is_fitted__() else np.zeros(len(f))
