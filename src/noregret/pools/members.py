"""The learners of a pool, each behind maps of its own: maps that are equal are run once, for all who stand behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..algorithm.params import same_value
from ..files.json_values import Tensors, expect
from ..inputs.checking import Rows
from ..inputs.features import Columns, Features, Hashed, Numbers
from ..inputs.labels import Labels
from ..learners.learner import Learner, has_bias
from ..learners.model import Model
from ..learners.task import Task
from ..owners import owner
from ..transforms.front import Front
from ..transforms.step import Map


class Member:
    """A learner of a pool, its model, and the maps before it."""

    def __init__(self, learner: Learner, maps: list[Map]) -> None:
        self.learner = learner
        self.maps = maps

    def begin(self, front: Front, features: Features, labels: Labels | None, sparse: bool) -> None:
        """Begin with the features that the maps make, or the numbered features of the pool; and its labels."""
        bias = has_bias(self.learner)
        if front.outputs is not None:
            own: Features = Columns(front.outputs, bias)
        else:
            size = min([features.size, *(m.most for m in front.maps if m.most is not None)])
            own = Columns(size, bias) if isinstance(features, (Columns, Hashed)) else Numbers(bias)
        self.learner.model = self.learner.model_class(self.learner, own, labels, sparse)

    @property
    def m(self) -> Model:
        """The model."""
        found: Model = self.learner.model
        return found

    def learn(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Learn from mapped rows; return the scores from before each update."""
        f: list[np.ndarray] = []
        a = 0
        for piece in self.learner.in_place(self.m, rows):
            b = a + piece.n
            f.append(self.m.learn(piece, y[a:b], None if c is None else c[a:b]))
            a = b
        return f[0] if len(f) == 1 else np.concatenate(f)

    def score(self, rows: Rows) -> np.ndarray:
        """Return the scores of mapped rows."""
        return self.m.score(self.learner.place(self.m, rows, grow=False))

    def __repr__(self) -> str:
        return f"pipeline({', '.join(map(repr, [*self.maps, self.learner]))})" if self.maps else repr(self.learner)


def members(learners: Any, task: Task) -> list[Member]:
    """Return fresh members from learners of a task, their names, or pipelines of maps and such a learner."""
    found = []
    for given in learners.split("+") if isinstance(learners, str) else learners:
        steps = getattr(given, "steps", [owner("class")(given)() if isinstance(given, str) else given])
        last, maps = steps[-1], steps[:-1]
        plain = isinstance(last, Learner) and last.task == task and not (hasattr(last, "standing") or last.by_domain)
        if not plain or not all(isinstance(step, Map) for step in maps):
            raise TypeError(f"expected {task.estimator}s, their names, or pipelines of maps and one of them, got {given!r}")
        found.append(Member(last.clone(), [step.fresh() for step in maps]))
    if len(found) < 2:
        raise ValueError(f"expected at least two learners to choose from, got {len(found)}")
    return found


class Team:
    """The members of a pool and what stands before them."""

    def __init__(self, members: list[Member], features: Features, labels: Labels | None, sparse: bool) -> None:
        self.members = members
        self.fronts: list[Front] = []
        self.behind: list[list[int]] = []  # the members that a front serves
        for k, member in enumerate(members):
            at = next((i for i, f in enumerate(self.fronts) if alike(f.maps, member.maps)), len(self.fronts))
            if at == len(self.fronts):
                self.fronts.append(Front(None, [m.fresh() for m in member.maps]))
                self.behind.append([])
            self.behind[at].append(k)
            member.begin(self.fronts[at], features, labels, sparse)

    def learn(self, rows: Rows, awake: np.ndarray, hand: Callable[[Member, Rows, slice], np.ndarray]) -> list[np.ndarray]:
        """Map rows and hand them to each member that is awake, with where they are; return the members' scores.

        Refused rows change nothing. The scores of those asleep are 0.
        """
        return self._run(self._ahead(rows, awake, True), awake, True, hand)

    def score(self, rows: Rows, awake: np.ndarray) -> list[np.ndarray]:
        """Return the scores of each member; nothing changes."""
        return self._run(self._ahead(rows, awake, False), awake, False, lambda member, part, _: member.score(part))

    def _needed(self, awake: np.ndarray) -> list[tuple[Front, list[int]]]:
        """Return the fronts with a member behind them that is awake, and those members."""
        found = [(front, [k for k in behind if awake[k]]) for front, behind in zip(self.fronts, self.behind, strict=True)]
        return [(front, behind) for front, behind in found if behind]

    def _ahead(self, rows: Rows, awake: np.ndarray, learn: bool) -> list[Rows]:
        """Return what each front that is needed makes of rows, as far as it may refuse them."""
        found: list[Rows] = []
        needed = self._needed(awake)
        try:
            for front, _ in needed:
                found.append(front.scaled(rows, learn))
        except BaseException:
            for front, _ in needed[: len(found)] if learn else []:
                front.back()
            raise
        return found

    def _run(
        self, ahead: list[Rows], awake: np.ndarray, learn: bool, do: Callable[[Member, Rows, slice], np.ndarray]
    ) -> list[np.ndarray]:
        found: list[list[np.ndarray]] = [[] for _ in self.members]
        for (front, behind), rows in zip(self._needed(awake), ahead, strict=True):
            for a, b in front.pieces(rows):
                part = front.mapped(rows.cut(a, b), learn)
                for k in behind:
                    found[k].append(do(self.members[k], part, slice(a, b)))
        n = ahead[0].n
        return [np.concatenate(f) if len(f) > 1 else f[0] if f else np.zeros((n, 1)) for f in found]

    def __getitem__(self, k: int) -> Member:
        return self.members[k]

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    # ---- files ---------------------------------------------------------------------------------------------------------
    def meta(self) -> list[Any]:
        """Return the fronts as JSON values."""
        return [front.meta() for front in self.fronts]

    def tensors(self) -> Tensors:
        """Return what the maps have learned."""
        return {f"front{i}.{k}": a for i, front in enumerate(self.fronts) for k, a in front.tensors().items()}

    def restore(self, meta: list[Any], tensors: Tensors) -> None:
        """Restore the fronts; files from before maps could learn have none."""
        expect(isinstance(meta, list) and len(meta) in (0, len(self.fronts)), f"{len(self.fronts)} fronts", meta)
        for i, own in enumerate(meta):
            theirs = {k.removeprefix(f"front{i}."): tensors.pop(k) for k in list(tensors) if k.startswith(f"front{i}.")}
            front = Front.restored(own, theirs)
            expect(alike(front.maps, self.fronts[i].maps), f"the maps {self.fronts[i].maps}", front.maps)
            self.fronts[i] = front


def alike(a: Iterable[Map], b: Iterable[Map]) -> bool:
    """Return whether two chains of maps have the same settings."""
    mine, theirs = ([(type(m), m.get_params()) for m in maps] for maps in (a, b))
    return same_value(mine, theirs)
