"""Learners of rows without targets as maps: a row goes out as its coordinates, from before it is learned."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..inputs.checking import Rows
from ..learners.learner_file import restored
from ..unsupervised import dictionary, hdp, lda, pca, svd
from .step import Map

SAID = "learner"  # in the state of a map: what a learner says of itself besides its arrays, as JSON


class Learned(Map):
    """A map over a learner of rows without targets, whose settings are those of the learner."""

    learner_class: ClassVar[Any]

    def __init__(self, **params: Any) -> None:
        self.learner = self.learner_class(**params)
        self.learner.check_settings()
        if not self.outputs:
            raise ValueError(f"before a learner {self.learner!r} needs r_max, the number of features that go out")

    @classmethod
    def settings(cls) -> dict[str, Any]:
        """Return the settings and their defaults."""
        return dict(cls.learner_class.defaults)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name."""
        found: dict[str, Any] = self.learner.get_params()
        return found

    @property
    def outputs(self) -> int:
        """Features that go out: the coordinates."""
        return int(self.learner.outputs)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept between rows."""
        return sum(a.nbytes for a in self.learner.model.arrays().values()) if self.learner.started else 0

    def rows(self, rows: Rows, learn: bool, measured: np.ndarray | None = None) -> Rows:
        """Return the coordinates of rows; when learning, each row is learned after it is mapped."""
        return Rows("dense", (self.learner.learn_mapped(rows, learn),), rows.n, self.outputs)

    def mark(self, rows: Rows) -> Any:
        """Return the model as it is."""
        return self.learner.model.fork() if self.learner.started else None

    def back(self, mark: Any) -> None:
        """Go back to it."""
        self.learner.model = mark

    def merge(self, other: Any, numbers: np.ndarray | None = None) -> None:
        """Refuse other components or topics: coordinates along them are other features."""
        super().merge(other, numbers)
        if not self.learner.started and other.learner.started and numbers is None:
            self.learner.model = copy.deepcopy(other.learner.model)
        elif self.learner.digest() != other.learner.digest():
            raise ValueError(
                f"cannot merge: the other pipeline has learned other {self.learner.made_of} with {self!r}, so its features are "
                f"others. Learn the {self.learner.made_of} first, and give each pipeline the rows they make"
            )

    def state(self) -> dict[str, np.ndarray]:
        """Return what was learned, as arrays."""
        if not self.learner.started:
            return {}
        meta, tensors = self.learner.pack()
        return {SAID: np.frombuffer(json.dumps(meta, sort_keys=True).encode(), np.uint8), **tensors}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what was learned."""
        if SAID in state:
            meta = json.loads(state[SAID].tobytes())
            found: Any = restored(meta, {k: a for k, a in state.items() if k != SAID})
            if type(found) is not self.learner_class or found.get_params().keys() != self.get_params().keys():
                raise ValueError(f"expected what a {self.learner_class.__name__} has learned, found {found!r}")
            self.learner = found

    def __repr__(self) -> str:
        return repr(self.learner)


class OnlinePCA(Learned):
    """Principal components before a learner."""

    learner_class = pca.OnlinePCA


class OnlineSVD(Learned):
    """Singular vectors before a learner."""

    learner_class = svd.OnlineSVD


class Dictionary(Learned):
    """Sparse codes before a learner."""

    learner_class = dictionary.DictionaryLearner


class OnlineLDA(Learned):
    """Proportions of topics before a learner."""

    learner_class = lda.OnlineLDA


class OnlineHDP(Learned):
    """Proportions of topics before a learner."""

    learner_class = hdp.OnlineHDP


LEARNED: tuple[type[Learned], ...] = (OnlinePCA, OnlineSVD, Dictionary, OnlineLDA, OnlineHDP)
