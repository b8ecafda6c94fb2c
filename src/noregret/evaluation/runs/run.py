"""One learner on its way through a stream: it answers, learns, and everything about it is noted."""

from __future__ import annotations

import copy
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from time import thread_time
from typing import Any

import numpy as np

from ...algorithm.rounds import SEEN, TIE
from ...calibration.calibration import together, widened
from ...inputs.batch import Batch
from ...inputs.features import Features
from ...inputs.labels import Coded, Labels
from ...learners.learner import Learner, Progress, has_bias
from ...learners.model import Model
from ...spaces.expansion import Expansion
from ...spaces.votes import Voted
from ...spelling import spelled
from ...streams.stream import Stream
from ...tasks.classes import halves
from ...tasks.sampling import SelectiveSampler
from ...training.by_task import suited
from ...transforms.front import Front
from ..comparator.regret import regret_of_pool
from ..kinds import along, kind_of, loss_of
from ..measures.baselines import Baselines
from ..measures.drift import detector
from ..measures.features_in_use import Selection
from ..measures.ratings import Hits

ACTIONS = ("none", "reset", "reset-rate")
UPWARD = {"adwin": {"side": "up"}}  # that the loss falls is learning, not drift


@dataclass(frozen=True)
class Settings:
    """How a pass is watched."""

    window: int | None = None  # rows of the sliding window
    fading: float | None = None  # factor of the faded averages
    drift: str | None = None  # detector that watches the loss
    on_drift: str = "none"
    delay: float = 0  # how many rows, or units of the time column, labels come later
    ask: str | None = None  # rule of a SelectiveSampler: which labels are asked for
    ask_b: float = 1.0
    ask_kappa: float = 0.5
    features: int = 0  # how many of those in use are told by name; 0: none is looked at
    probabilities: bool = False  # whether those of classes are measured, also where a learner does not learn them itself
    coverage: float | None = None  # level of the intervals or sets that are measured
    top: int | None = None  # items of a list in which those that a user will rate highly are looked up
    task: str | None = None  # that is done, where it is not the learners' own

    def __post_init__(self) -> None:
        whole("window", self.window, 1)
        whole("features", self.features, 0)
        whole("top", self.top, 1)
        if self.top is not None and (self.delay or self.ask or self.on_drift != "none"):
            raise ValueError("top looks up each rating before it is learned: it goes neither with delay, ask nor on_drift")
        if self.on_drift not in ACTIONS:
            raise ValueError(f"on_drift must be one of {', '.join(ACTIONS)}, got {self.on_drift!r}")
        if self.on_drift != "none" and self.drift is None:
            raise ValueError(f"on_drift={self.on_drift!r} needs a detector: give drift='adwin' or another")
        if self.on_drift != "none" and self.delay:
            raise ValueError("on_drift acts on errors as they happen: it does not go with delayed labels")
        if self.ask is not None and (self.delay or self.on_drift != "none"):
            raise ValueError("labels that are asked for come at once and one by one: ask goes neither with delay nor with on_drift")
        if not self.delay >= 0:
            raise ValueError(f"delay must not be negative, got {self.delay!r}")


def whole(name: str, value: Any, least: int) -> None:
    """Refuse anything but a whole number of at least `least`, or None."""
    if value is not None and not (isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


class Run:
    """A learner with what is measured of it."""

    def __init__(self, learner: Learner, label: str, settings: Settings, front: Front | None = None) -> None:
        self.learner = learner
        self.front = front  # maps of rows that are this learner's own
        self.width = 0  # of the rows that go in there
        self.label = label
        self.settings = settings
        self.loss, self.epsilon = loss_of(learner)
        self.kind = kind_of(learner, settings.task)
        self.figures = self.kind.figures(self.loss, self.epsilon, settings.window, settings.fading)
        self.detector = detector(settings.drift, **UPWARD.get(settings.drift, {})) if settings.drift else None
        self.drifts: list[int] = []
        self.examples = 0
        self.seconds = 0.0
        self.cumulative = np.zeros(2)  # of the loss and of its square
        self.points: list[dict[str, Any]] = []
        self.failed: Exception | None = None
        self.by_task: dict[Any, np.ndarray] = {}  # rows of each task, and their mistakes or loss
        self.pending: deque[tuple[float, Batch]] = deque()
        self.answered: list[tuple[Progress, Any, Any]] = []  # rows not noted yet, with their weights and tasks
        self.sampler: SelectiveSampler | None = None
        if settings.ask is not None:
            chooses: Any = learner
            self.sampler = SelectiveSampler(chooses, rule=settings.ask, b=settings.ask_b, kappa=settings.ask_kappa)
        self.selection = Selection(settings.features) if settings.features else None
        self.labels: Labels | None = None  # those of the learner and of the rows answered, for delayed labels
        self.noted: Callable[[Any, Any], None] | None = None  # who else is told what was learned
        self.hits: Hits | None = None
        if settings.top is not None:
            if "hit_rate" not in self.kind.scores:
                raise ValueError(f"top looks up ratings: it is for the task recommendation, and {label} does another")
            self.hits = Hits(settings.top)

    def again(self) -> Run:
        """Return a fresh run of the same learner."""
        new = Run(self.learner.clone(), self.label, self.settings, None if self.front is None else self.front.fresh())
        new.figures.drawn = self.figures.drawn
        return new

    def baselines(self) -> Baselines:
        """Return new baselines, measured as this learner is."""
        s = self.settings
        return self.kind.baselines(self.figures.drawn, self.epsilon, s.window, s.fading, s.delay)

    @property
    def apart(self) -> bool:
        """Whether the learner makes its own features instead of those of the stream."""
        return self.front is not None and self.front.outputs is not None

    # ---- taking rows -------------------------------------------------------------------------------------------------
    def take(self, batch: Batch, stream: Stream) -> None:
        """Answer and learn rows, in order."""
        for piece in self._mapped(batch):
            self._take(piece, stream)

    def learn(self, batch: Batch, stream: Stream) -> None:
        """Learn rows, and note nothing."""
        for piece in self._mapped(batch):
            self._learn(piece, stream)

    def _mapped(self, batch: Batch) -> Iterator[Batch]:
        """Yield rows as the learner takes them. Maps learn from rows as they are read, before labels come and whatever drifts."""
        with batch.named_in_errors():
            batch = batch._replace(y=suited(batch.y, self.learner))
        if self.front is None:
            yield from self._in_room(batch)
            return
        self.width = max(self.width, batch.data.width)
        start = thread_time()
        for a, b, rows in self.front.in_pieces(batch.data, True):
            self.seconds += thread_time() - start
            yield from self._in_room(batch.cut(a, b)._replace(data=rows))
            start = thread_time()

    def _in_room(self, batch: Batch) -> Iterator[Batch]:
        """Yield rows in runs whose scores take bounded memory."""
        for a, b in self.learner.in_room(self.learner.held, batch.y, batch.data.n):
            yield batch.cut(a, b)

    def _take(self, batch: Batch, stream: Stream) -> None:
        """Answer and learn rows as the learner takes them."""
        if self.settings.delay or self.sampler is not None:
            take = self._take_late if self.sampler is None else self._take_asking
            for i in range(batch.data.n):
                take(batch.cut(i, i + 1), stream)
            self._note_answered()
            return
        if self.hits is not None:
            self._take_looking(batch, stream)
            return
        while batch.data.n:
            batch = self._take_until_drift(batch, stream)

    def _take_looking(self, batch: Batch, stream: Stream) -> None:
        """Take rows, and look up some of them before they are learned."""
        assert self.hits is not None
        assert stream.front is not None
        assert stream.front.table is not None
        y: Any = batch.y
        for a, b, weight, (user, item) in self.hits.stops(batch.data, y, stream.front.table):
            if a < b:
                self._take_until_drift(batch.cut(a, b), stream)
            if weight:
                self.hits.ask(self.learner, int(user), int(item), weight)

    def _take_until_drift(self, batch: Batch, stream: Stream) -> Batch:
        """Take rows up to where the learner is changed because of drift; return the rest."""
        n, acts = batch.data.n, self.settings.on_drift != "none"
        model = self.learner.model if self.learner.started else None
        before = copy.deepcopy((model, self.detector, self.figures, self.cumulative)) if acts else None
        done = self._learn(batch, stream)
        wrong = self._note(done, batch.c)
        hits = self.detector.add(wrong) if self.detector is not None else np.empty(0, np.int64)
        if len(hits) == 0 or before is None:
            self._count(batch.column("domain"), wrong, batch.c)
            self.drifts += [self.examples + int(k) for k in hits]
            self.examples += n
            return batch.cut(n, n)
        k = int(hits[0]) + 1  # the rest has yet to meet the changed learner
        model, self.detector, self.figures, self.cumulative = before
        self.learner.model = model
        first = batch.cut(0, k)
        assert self.detector is not None
        wrong = self._note(self._learn(first, stream), first.c)
        self._count(first.column("domain"), wrong, first.c)
        self.detector.add(wrong)
        self.drifts.append(self.examples + k - 1)
        self.examples += k
        m = self.learner.model
        m.forget() if self.settings.on_drift == "reset" else m.restart()
        return batch.cut(k, n)

    def _learn(self, batch: Batch, stream: Stream) -> list[Progress]:
        learner, rows, began = self.learner, batch.data, self.learner.started
        features = None if began else self._features(stream, batch)
        start = thread_time()
        with batch.named_in_errors():
            done = learner.learn_rows(rows, batch.y, batch.c, features)
        self.seconds += thread_time() - start
        if self.noted is not None:
            self.noted(rows, batch.y)
        if not began:
            done[0] = done[0]._replace(blind=1)
        return judged(done, batch.y) if self.kind.judged else done

    def _features(self, stream: Stream, batch: Batch) -> Features:
        bias = has_bias(self.learner)
        return self.front.features(bias) if self.front is not None and self.apart else stream.features(batch.data, bias)

    def _model(self, row: Batch, stream: Stream) -> Model:
        """Return the model that answers a row, a new one before anything is learned."""
        return self.learner.held or self.learner.new_model(row.data, None if self.learner.started else self._features(stream, row))

    @np.errstate(over="ignore")  # squares that are infinite are told in the report
    def _note(self, done: list[Progress], c: np.ndarray | None) -> np.ndarray:
        """Add what was answered to the figures; return what the detector watches."""
        watched, a = [], 0
        for piece in done:
            b = a + len(piece.f)
            weights = None if c is None else c[a:b]
            costs = self.figures.take(piece, weights)
            watched.append(costs.cost)
            paid = costs.loss if weights is None else weights * costs.loss
            self.cumulative += paid.sum(), (paid * costs.loss).sum()
            a = b
        return np.concatenate(watched)

    def _count(self, tasks: np.ndarray | None, cost: np.ndarray, c: np.ndarray | None) -> None:
        """Add rows, weights and mistakes (or losses) to those of each task."""
        if tasks is None or not self.learner.by_domain:
            return
        weights = np.ones(len(cost)) if c is None else c
        for task in dict.fromkeys(tasks.tolist()):
            own = tasks == task
            sums = np.array([own.sum(), weights[own].sum(), (weights * cost)[own].sum()])
            self.by_task[task] = self.by_task.get(task, 0.0) + sums

    def _tasks(self) -> list[dict[str, Any]]:
        """Return what a report says of each task, in order of first appearance."""
        cost, used = self.kind.cost, self.learner.nonzeros_
        return [
            {"task": task, "examples": int(n), cost: float(paid / weight) if weight else None, "nonzeros": used.get(task, 0)}
            for task, (n, weight, paid) in self.by_task.items()
        ]

    # ---- labels that come later --------------------------------------------------------------------------------------
    def _take_late(self, row: Batch, stream: Stream) -> None:
        """Learn the rows whose labels have come by now, then answer this one."""
        times = row.column("time")
        now = float(self.examples if times is None else times[0])
        while self.pending and self.pending[0][0] <= now:
            self._learn(self.pending.popleft()[1], stream)
        self._answer_and_keep(row, stream)
        due = now + self.settings.delay + (1.0 if times is None else 0.0)
        self.pending.append((due, row))
        self.examples += 1

    def _answer_and_keep(self, row: Batch, stream: Stream) -> None:
        """Answer a row; answers are noted many at a time, until one differs in what was known."""
        piece = self._answer(row, stream)
        if self.answered and self.labels is not None and not alike(self.answered[-1][0], piece):
            self._note_answered()
        self.answered.append((piece, row.c, row.column("domain")))

    def _take_asking(self, row: Batch, stream: Stream) -> None:
        """Answer a row, and learn it if its label is asked for."""
        assert self.sampler is not None
        before, start = self.seconds, thread_time()
        self._answer_and_keep(row, stream)
        if self.sampler.asks(self._model(row, stream), row.data):
            self._learn(row, stream)
        self.seconds = before + thread_time() - start  # deciding is part of the work
        self.examples += 1

    def _note_answered(self) -> None:
        """Note the rows answered since the last time, all at once."""
        if not self.answered:
            return
        pieces, weights, tasks = zip(*self.answered, strict=True)
        first = self.examples - len(pieces)
        y = None if pieces[0].y is None else np.concatenate([piece.y for piece in pieces])
        said = None if pieces[0].said is None else together([piece.said for piece in pieces])
        f, blind = np.concatenate([piece.f for piece in pieces]), sum(piece.blind for piece in pieces)
        whole = pieces[0]._replace(f=f, y=y, said=said, blind=blind)
        c = None if weights[0] is None else np.concatenate(weights)
        wrong = self._note([whole], c)
        self._count(None if tasks[0] is None else np.concatenate(tasks), wrong, c)
        self.answered.clear()
        if self.detector is not None:
            self.drifts += [first + int(k) for k in self.detector.add(wrong)]

    def _answer(self, row: Batch, stream: Stream) -> Progress:
        """Answer one row without learning, in codes of the learner's labels; those it has not met yet come after them."""
        learner, given = self.learner, row.y
        m = self._model(row, stream)
        f = learner.scores_by(m, row.data)
        said = learner.said_by(m, row.data)
        if m.labels is None:
            return Progress(f, given, said=said, blind=int(not learner.started))  # type: ignore[arg-type]
        if self.labels is None:
            self.labels = copy.deepcopy(m.labels)
        assert given is not None
        label = given.values[given.codes[0]] if isinstance(given, Coded) else given[0].item()
        self.labels.extend(self.labels.missing([label]))
        y, seen = np.array([self.labels.index[label]]), int(m.tally[SEEN])
        if len(self.labels) < 3 and not m.many:
            return Progress(f, y, False, seen, int(m.tally[TIE]), self.labels.positive, said=said)
        wide = np.zeros((1, len(self.labels)))  # labels arrive in the order of the rows, so the codes of the model are the first
        known = f if m.many else halves(f, self.labels.positive)
        wide[:, : known.shape[1]] = known[:, : wide.shape[1]]
        if said is not None and said.p is not None:
            said = said._replace(p=widened(said.p, len(self.labels)))
        return Progress(wide, y, True, seen if m.many else (seen + 1) // 2, said=said)

    def finish(self, stream: Stream) -> None:
        """Learn what was still to come."""
        while self.pending:
            self._learn(self.pending.popleft()[1], stream)

    # ---- what is noted -----------------------------------------------------------------------------------------------
    def mark(self) -> None:
        """Note a point of the curves."""
        nonzeros, vectors, _ = sizes(self.learner)
        if self.selection is not None and self.learner.started:
            self.selection.mark(self.learner, self.examples)
        now = self.figures.now()
        self.points.append(
            {
                "examples": self.examples,
                **now,
                "nonzeros": nonzeros,
                "support_vectors": vectors,
                "mistakes": self.figures.mistakes,
                "updates": self.learner.n_updates_ if self.learner.started else 0,
                "cumulative": float(self.cumulative[0]),
                "squared": float(self.cumulative[1]),
                "standing": self.learner.standing() if self.is_pool else None,
            }
        )

    @property
    def comparable(self) -> bool:
        """Whether there is one fixed model to compare with: for a pool and for several tasks there is none."""
        return not (self.is_pool or self.learner.by_domain)

    @property
    def is_pool(self) -> bool:
        """Whether the learner is made of learners."""
        return hasattr(self.learner, "standing") and self.learner.started

    def result(self) -> dict[str, Any]:
        """Return the object of this learner in a report."""
        nonzeros, vectors, size = sizes(self.learner)
        table = self.labels or (self.learner.model.labels if self.learner.started else None)
        values = None if table is None else table.values
        found = self.figures.to_dict(values)
        curve = {k: [p[k] for p in self.points] for k in self.points[0]} if self.points else {}
        kept = {"examples", *along(self.kind.curves), "nonzeros", "support_vectors"}
        return {
            "model": self.learner.name,
            "label": self.label,
            "params": self.learner.get_params(),
            **({} if self.front is None else {"maps": [spelled(m) for m in self.front.maps]}),
            "mistakes": None,
            "error": None,
            **found,
            **({} if self.hits is None else {"hits": self.hits.to_dict(), "metrics": {**found["metrics"], **self.hits.metrics()}}),
            "updates": self.learner.n_updates_ if self.learner.started else 0,
            "nonzeros": nonzeros,
            "support_vectors": vectors,
            "bytes": size + (0 if self.front is None else self.front.nbytes),
            "seconds": self.seconds,
            "examples_per_second": self.examples / self.seconds if self.seconds else None,
            "curve_loss": self.figures.drawn,
            "curve": {k: v for k, v in curve.items() if k in kept and any(x is not None for x in v)},
            "drifts": self.drifts,
            "regret": regret_of_pool(self.learner, self.points) if self.is_pool else None,
            **({"tasks": self._tasks()} if self.learner.by_domain and self.learner.started else {}),
            **({} if self.sampler is None else {"queries": self.sampler.n_queries_}),
            **({"pool": self.learner.report()["learners"]} if self.is_pool else {}),
        }


def alike(a: Progress, b: Progress) -> bool:
    """Return whether two rows can be noted as one piece: their answers ask the same, and no class is news to the learner."""
    settled = a.seen >= a.f.shape[1] if a.many else a.seen & 3 == 3
    return settled and a[2:6] == b[2:6] and a.f.shape == b.f.shape


def judged(done: list[Progress], y: Any) -> list[Progress]:
    """Return what a one-class learner did, with the labels it does not learn from."""
    edges = np.cumsum([0, *(len(piece.f) for piece in done)]).tolist()
    labels = [None if y is None else y[a:b] for a, b in pairwise(edges)]
    return [piece._replace(y=part) for piece, part in zip(done, labels, strict=True)]  # type: ignore[arg-type]


@contextmanager
def assured(runs: Sequence[Run], probabilities: bool, coverage: float | None) -> Iterator[None]:
    """Let the learners of runs learn how sure they are inside this block, as far as asked; afterwards each is as it was."""
    lent: list[tuple[Run, dict[str, Any]]] = []
    for run in runs:
        own: dict[str, Any] = {}
        if probabilities and not (run.learner.link or getattr(run.learner, "probabilities", False)):
            if "probabilities" not in run.learner.defaults:
                raise ValueError(f"probabilities=True is for classifiers: {run.label} has none")
            own["probabilities"] = True
        if coverage is not None:
            if "coverage" not in run.learner.defaults:
                raise ValueError(f"coverage={coverage} is for classifiers and regressors of one task: {run.label} keeps to none")
            own["coverage"] = coverage
        lent.append((run, own))
    before = [{k: getattr(run.learner, k) for k in own} for run, own in lent]
    try:
        for run, own in lent:
            run.learner.set_params(**own)
        yield
    finally:
        for (run, _), was in zip(lent, before, strict=True):
            run.learner.set_params(**was)


def draw_alike(runs: Sequence[Run]) -> None:
    """Let the curves of learners that minimise different losses follow one that all have: that of most of them, where it is."""
    own = Counter(run.loss for run in runs)
    shared = runs[0].figures.LOSSES
    if len(own) < 2 or not shared:
        return
    drawn = next((name for name, _ in own.most_common() if name in shared), shared[0])
    for run in runs:
        run.figures.drawn = drawn


def sizes(learner: Learner) -> tuple[int | None, int | None, int]:
    """Return the non-zero weights, the rows kept, and the bytes of the state."""
    if not learner.started:
        return 0, None, 0
    m = learner.model
    kept = int(m.state[0].size[0]) if isinstance(getattr(m, "state", [None])[0], (Voted, Expansion)) else None
    return None if kept is not None else m.nonzeros(), kept, sum(a.nbytes for a in m.arrays().values())
