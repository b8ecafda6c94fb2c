"""A pool: the model of a learner that is made of learners. All of them see every row, and their answers are weighed.

It has the methods of a Model, so that whatever a learner can do, a pool can: any input, late classes, studies, files.
"""

from __future__ import annotations

import contextlib
import copy
import sys
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from ..algorithm.params import same_value
from ..algorithm.rounds import EXAMPLES, UPDATES
from ..calibration.calibration import Calibration, Said, Scores, together
from ..calibration.coverage import continued
from ..files.json_values import Tensors, expect, refill
from ..files.saved_tables import check_tally, features_meta, features_of, labels_meta, labels_of, names_tensors
from ..inputs.checking import Rows, sparse_row
from ..inputs.features import Features
from ..inputs.labels import Labels
from ..learners.calibrated import packed, restore, unpacked, wish
from ..learners.learner import Learner
from ..learners.learner_file import restored
from ..learners.model import Model
from ..learners.overflow import unharmed
from ..learners.task import Task
from .members import Team, members
from .weighing import Weighing

BLOCK = 1024  # rows after which it is decided who sleeps
FAINT = 1e-3  # a weight that does not count
SLIGHT = 0.05  # a share in a combination that does not count


class Pool:
    """The members, their weights, and the tables and tally they share. A kind of pool makes one answer of many."""

    filled = False
    many = False
    ready = sys.maxsize  # members make room for features themselves
    dtype = np.dtype(np.float64)
    advice: ClassVar[tuple[str, ...]] = ()  # what is weighed with the members and is not a learner
    calibration: Calibration | None = None  # what makes probabilities of the members' scores

    def __init__(self, learner: Learner, features: Features, labels: Labels | None, sparse: bool = False) -> None:
        self.given = learner.get_params()
        kind: Any = type(learner)
        self.learner = kind
        self.params = ()
        self.features, self.labels = features, labels
        self.members = Team(members(kind.pool(self.given), kind.task), features, labels, sparse)
        self.weighing = Weighing(len(self.members) + len(self.advice), *kind.rule_of(self.given))
        self.tally = np.zeros(5, np.int64)
        self.begin()

    def begin(self) -> None:
        """Make what this kind of pool keeps beside the members."""

    @property
    def task(self) -> Task:
        """The task of the learner."""
        found: Task = self.learner.task
        return found

    @property
    def dims(self) -> dict[str, int]:
        """Sizes, as those of a Model."""
        return {"feature": max(self.features.size, 1), "class": 1}

    # ---- changes -----------------------------------------------------------------------------------------------------
    def widen(self) -> None:
        """Members make room when they learn."""

    def unharmed(self, rows: Rows) -> contextlib.AbstractContextManager[None]:
        """Restore everything if a member overflows on these rows."""
        return unharmed(self, rows)

    def overflowed(self) -> bool:
        """Return whether a member has."""
        return any(member.m.overflowed() for member in self.members)

    def forget(self) -> None:
        """Let the members start over with the current features, labels and counts; their losses so far stay."""
        for member in self.members:
            member.m.forget()
        self.calibration = self.uncalibrated()

    def restart(self) -> None:
        """Restart the step sizes."""
        for member in self.members:
            member.m.restart()

    def retune(self, given: dict[str, Any]) -> None:
        """Use new parameters from now on."""
        fixed = ("learners", "rule", "budget", "classes", "hash_bits")
        if not all(same_value(given.get(k), self.given.get(k)) for k in fixed):
            raise ValueError("these parameters need another pool: call reset() first, or make a new learner")
        _, self.weighing.eta, self.weighing.alpha = self.learner.rule_of(given)
        asked, self.given = wish(self.given), given
        if wish(given) != asked:
            self.calibration = continued(self.calibration, self.uncalibrated())

    def uncalibrated(self) -> Calibration | None:
        """Return what makes probabilities of the members' scores, before it has learned anything."""
        return None

    # ---- running -----------------------------------------------------------------------------------------------------
    def learn(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Answer, then learn, each row in order; return the answers from before each update."""
        live = np.ones(rows.n, np.bool_) if c is None else c > 0.0
        edges = self._edges(live)
        found, said = [], []
        for a, b in pairwise(edges):
            part, lives = rows.cut(a, b), bool(live[a:b].any())
            found.append(self.play(part, y[a:b], None if c is None else c[a:b]) if lives else self.score(part))
            said += [] if self.calibration is None else [self.said(part, lives)]
            if lives and self.learner.sleeps and self.tally[EXAMPLES] % BLOCK == 0:
                self.rest()
        if self.calibration is not None and None not in said:
            self.calibration.said = together(said)  # type: ignore[arg-type]
        return np.concatenate(found)

    def _edges(self, live: np.ndarray) -> list[int]:
        """Return where rows are cut: where they begin or cease to count, and after every BLOCK that count."""
        n, edges = len(live), {0, len(live)}
        edges |= {*(np.flatnonzero(np.diff(live)) + 1).tolist()}  # rows of weight 0 are no examples: they are only answered
        if self.learner.sleeps:
            counted = self.tally[EXAMPLES] + np.cumsum(live)
            edges |= {*(np.flatnonzero(live & (counted % BLOCK == 0)) + 1).tolist()}
        return sorted(edges) if n else [0, 0]

    # ---- sleep -------------------------------------------------------------------------------------------------------
    def rest(self) -> None:
        """Put members that hardly count to sleep until the number of rows has doubled.

        One asleep is charged what the pool pays, so that the bound on the regret holds for the rounds in which it was awake
        (Freund, Schapire, Singer, Warmuth 1997).
        """
        blocks = int(self.tally[EXAMPLES]) // BLOCK
        awake = self.weighing.awake[: len(self.members)]
        if blocks & (blocks - 1):
            awake[:] = ~self.idle()
            awake[int(np.argmin(self.weighing.losses[: len(self.members)]))] = True
        else:  # a power of 2
            awake[:] = True

    def idle(self) -> np.ndarray:
        """Return which members hardly count; one asleep has no weight."""
        return self.weighing.weights[: len(self.members)] < FAINT

    def said(self, rows: Rows, lives: bool) -> Said | None:
        """Return what was said of rows that were played, or is said of those of weight 0."""
        assert self.calibration is not None
        return self.calibration.taken() if lives else self.calibration.told(self.evidence(rows), self.known)

    @property
    def known(self) -> int:
        """The number of labels."""
        return 0 if self.labels is None else len(self.labels)

    def evidence(self, rows: Rows) -> Any:
        """Return of rows what the calibration learns from."""
        return Scores(self.score(rows), self.many, 0 if self.labels is None else self.labels.positive)

    def play(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Do so with rows that not all have weight 0."""
        raise NotImplementedError

    def answer(self, f: list[np.ndarray]) -> np.ndarray:
        """Return the answers of the present weights, given the scores of each member."""
        raise NotImplementedError

    def note(self, n: int) -> None:
        """Count rows."""
        self.tally[EXAMPLES] += n
        self.tally[UPDATES] = sum(member.m.tally[UPDATES] for member in self.members)

    def learn_row(self, idx: np.ndarray, values: np.ndarray, y: float, c: float = 1.0) -> np.ndarray:
        """Do the same with one sparse row."""
        target = np.array([y], np.int64 if self.many else np.float64)
        row = sparse_row(idx, values)
        with self.unharmed(row):
            return self.learn(row, target, None if c == 1.0 else np.array([c]))[0]

    def score(self, rows: Rows) -> np.ndarray:
        """Return the answers; nothing changes."""
        return self.answer(self.members.score(self.numbered(rows), self.weighing.awake))

    def score_row(self, idx: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the answer to one sparse row."""
        return self.score(sparse_row(idx, values))[0]

    def numbered(self, rows: Rows) -> Rows:
        """Return rows as the members take them: by number, without names."""
        return rows._replace(width=self.features.size, names=None)

    # ---- files -------------------------------------------------------------------------------------------------------
    def within(self) -> list[Learner]:
        """Return the learners inside."""
        return [member.learner for member in self.members]

    def kept(self) -> dict[str, np.ndarray]:
        """Return what changes from round to round beside the members: the weights, and what a kind of pool adds."""
        return self.weighing.arrays()

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return the pool as metadata and tensors; those of learner k are named `<k>/...`."""
        inner = [learner.pack() for learner in self.within()]
        meta = {"features": features_meta(self.features), "labels": labels_meta(self.labels), "many": self.many}
        tensors = {"tally": self.tally, **names_tensors(self.features), **self.members.tensors()}
        tensors |= {f"state.{at}": a for at, a in self.kept().items()}
        tensors |= {f"{k}/{name}": a for k, (_, theirs) in enumerate(inner) for name, a in theirs.items()}
        return packed(self.calibration, {**meta, "fronts": self.members.meta(), "within": [own for own, _ in inner]}, tensors)

    @classmethod
    def restored(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the packed pool of a learner; check every array."""
        features, labels = features_of(meta["features"], tensors.pop("features", None)), labels_of(meta["labels"])
        expect((labels is not None) == learner.task.labelled, "labels where the task has them", meta["labels"])
        expect(type(meta["many"]) is bool, "whether there are many classes", meta["many"])
        m: Any = learner.model_with(None, features, labels)
        m.many = meta["many"]
        tensors.setdefault("state.awake", m.weighing.awake)  # nobody slept in older files
        refill({f"state.{k}": a for k, a in m.kept().items()}, tensors)
        tally = tensors.pop("tally")
        check_tally(tally, m.tally, labels, m.many)
        m.tally[:] = tally
        m.members.restore(meta.get("fronts", []), tensors)
        restore(m.calibration, meta, unpacked(tensors), m.known)
        m.unpack(tensors)
        parts = []
        for k, own in enumerate(meta["within"]):
            theirs = {name.removeprefix(f"{k}/"): tensors.pop(name) for name in list(tensors) if name.startswith(f"{k}/")}
            parts.append(restored(own, theirs))
        expect(not tensors, "no other tensors", sorted(tensors))
        m.resume(parts)
        return m

    def unpack(self, tensors: Tensors) -> None:
        """Take what a kind of pool adds from the tensors of a file."""

    def resume(self, learners: list[Any]) -> None:
        """Restore learners as they were saved."""
        was, n = self.within(), len(self.members)
        if not same_value(was, learners) or not all(m.started for m in learners[:n]):
            raise ValueError(f"expected a pool of {was}, found {learners}")
        for member, learner in zip(self.members, learners[:n], strict=True):
            theirs, own = learner.model, member.m
            same = self.labels is None or (theirs.labels is not None and theirs.labels.values == self.labels.values)
            fits = theirs.features.size <= max(own.features.size, self.features.size + 1)  # of the maps, or of the pool
            if not same or type(theirs.features) is not type(own.features) or not fits:
                raise ValueError(f"expected the features and labels of the pool, found others in {learner!r}")
            theirs.labels = self.labels
            member.learner = learner

    # ---- reading -----------------------------------------------------------------------------------------------------
    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array that has a meaning between rounds, by its dotted path."""
        own = {**self.kept(), **self.members.tensors()}
        return own | {f"{at}.{k}": a for at, m in self.models() for k, a in m.arrays().items()}

    def used(self) -> dict[str, np.ndarray]:
        """Return them without spare room."""
        own = {**self.kept(), **self.members.tensors()}
        return own | {f"{at}.{k}": a for at, m in self.models() for k, a in m.used().items()}

    def models(self) -> list[tuple[str, Model]]:
        """Return the models inside, by name."""
        return [(str(k), member.m) for k, member in enumerate(self.members)]

    def nonzeros(self) -> int | None:
        """Return the non-zero weights of all members."""
        found = [member.m.nonzeros() for member in self.members]
        return None if None in found else sum(found)  # type: ignore[arg-type]

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__.update(d)
        self.tally = np.array(self.tally)  # a memory map is read-only
        self.calibration = copy.deepcopy(self.calibration)
        self.weighing.writable()

    def weights(self) -> np.ndarray:
        """Refuse: there is no one weight vector."""
        raise AttributeError(f"coef_: {self.learner.__name__} does not answer with one weight vector")
