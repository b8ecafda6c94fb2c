"""Learners of rows without targets: the base of learners of components and of topics."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ..algorithm.params import check_options, same_value
from ..inputs import checking
from ..inputs.checking import Rows
from ..inputs.features import Columns, Features, Hashed, Named, Names, Numbers, is_dicts, read_all, stacked
from ..learners.base import Base
from ..learners.columned import Columned, named_pieces, numbered_pieces
from ..learners.learner import Progress


class Unlabelled(Columned, Base):
    """The methods of every learner of rows without targets. Rows are learned in order; the split into calls does not matter.

    Rows are arrays, sparse matrices, frames or dicts. Arrays fix the number of features at the first call; dicts may bring new
    names at any time. A row goes in, and a few coordinates come out; each row has a cost, which a subclass names.
    """

    options: ClassVar[dict[str, Any]] = {"hash_bits": None}
    merges = "none"
    fixed: ClassVar[tuple[str, ...]] = ("hash_bits",)  # parameters that the arrays depend on
    made_of: ClassVar[str]  # what coordinates are along
    told_by: ClassVar[str] = "transform"  # what says something of rows

    # ---- input -------------------------------------------------------------------------------------------------------
    def check_settings(self) -> None:
        """Refuse settings that do not go together; ranges are checked by the Params."""
        given = self.get_params()
        check_options(given)
        self.parameters.resolve(given, 0)

    def new_model(self, features: Features) -> Any:
        """Return a new model over these features."""
        self.check_settings()
        return self.model_class(self, features)

    @property
    def outputs(self) -> int:
        """Coordinates of a row, 0 where their number is not known before."""
        raise NotImplementedError

    def given(self, X: Any) -> Any:
        """Return X as arrays, a frame or dicts."""
        return X

    def learnable(self, read: Rows | Named, m: Any) -> None:
        """Refuse rows of finite numbers that cannot be learned; nothing changes."""
        raise NotImplementedError

    def _features(self, rows: Rows | None) -> Features:
        """Return the table of features of a model that begins with these rows, or with a dict."""
        if self.hash_bits is not None:
            return Hashed(self.hash_bits, False)
        return Names(False) if rows is None else Columns(rows.width, False, rows.names)

    def check_rows(self, X: Any, m: Any) -> Rows:
        """Return X, which has no names, as checked rows that fit a model, None for a new one; nothing changes."""
        rows = checking.rows(X, "float64")
        if m is not None:
            self._check_names(m, rows)
            m.features.check(rows, type(self).__name__)
        return rows

    def begun(self, X: Any, m: Any = None) -> tuple[Any, Rows | Named]:
        """Return a model, a new one if none is given, and checked rows to learn; if they cannot be learned nothing changes."""
        X = self.given(X)
        if is_dicts(X):
            features = self._features(None) if m is None else m.features
            read = read_all(features, X)
            self.learnable(read, m)
            return m or self.new_model(features), read
        rows = self.check_rows(X, m)
        self.learnable(rows, m)
        if m is None:
            m = self.new_model(self._features(rows))
            m.features.check(rows, type(self).__name__)
        return m, rows

    def pieces(self, m: Any, rows: Rows | Named) -> Iterator[Rows]:
        """Yield checked rows in the places of a model. A new feature joins it with its row: sums depend on how many there are."""
        if isinstance(rows, Named):
            yield from named_pieces(m, rows, None, True)
            return
        for a, b, width in numbered_pieces(m, rows, True):
            placed = m.features.rows(rows.cut(a, b)._replace(width=width), True)
            m.widen()
            yield placed

    def taught(self, m: Any, rows: Rows | Named, told: bool = True) -> tuple[list[np.ndarray], np.ndarray]:
        """Let a model learn checked rows; return their coordinates, in pieces, and costs from before."""
        done = [m.learn_rows(piece, told) for piece in self.pieces(m, rows)]
        return [z for z, _ in done], np.concatenate([e for _, e in done])

    def placed(self, X: Any) -> Rows:
        """Return rows in the places of the model, to be answered; nothing changes."""
        m, X = self.model, self.given(X)
        return stacked(m.features, X, grow=False) if is_dicts(X) else m.features.rows(self.check_rows(X, m), False)

    # ---- learning ----------------------------------------------------------------------------------------------------
    def learn_many(self, X: Any) -> np.ndarray:
        """Learn rows in order; return the cost of each, from before it was learned."""
        return self._learned(X, True)[1]

    def learn_one(self, x: Any) -> np.ndarray:
        """Learn one row, a dict of numbers or a sequence of them; return its coordinates from before."""
        X = [x] if isinstance(x, Mapping) else checking.one_row(x).arrays[0]
        return self._learned(X, True)[0][0][0]

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn rows in order."""
        self._learned(X, False)
        return self

    def fit(self, X: Any, y: Any = None, *, epochs: int = 1) -> Self:
        """Forget everything, then learn all rows, `epochs` times; rows that wait for a batch are learned at the end of each."""
        if not (isinstance(epochs, (int, np.integer)) and epochs >= 1):
            raise ValueError(f"epochs must be a whole number of at least 1, got {epochs!r}")
        m, rows = self.begun(X)
        for _ in range(int(epochs)):
            self.taught(m, rows, False)
            m.finish()
        self.reset()
        self.model = m
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, then return the coordinates of the rows."""
        return self.fit(X).transform(X)

    def finish(self) -> Self:
        """Learn the rows that wait for a batch, as a short one."""
        self.model.finish()
        return self

    def _learned(self, X: Any, told: bool) -> tuple[list[np.ndarray], np.ndarray]:
        """Learn rows; return coordinates, in pieces, and costs from before."""
        m, rows = self.begun(X, self.held)
        found = self.taught(m, rows, told)
        self.model = m
        return found

    def learn_mapped(self, rows: Rows, learn: bool) -> np.ndarray:
        """Return the coordinates of checked rows, each from before it is learned, if it is; of a learner of nothing they are 0."""
        features = Columns(rows.width, False) if rows.layout == "dense" else Numbers(False)
        return np.concatenate(self.learned_rows(rows, features)[0]) if learn else self.answered_rows(rows, features)[0]

    def learn_rows(
        self, rows: Rows, y: Any = None, c: np.ndarray | None = None, features: Features | None = None, keep: bool = True
    ) -> list[Progress]:
        """Learn checked rows of a source, as other learners do; return their costs from before. y is not looked at."""
        if c is not None:
            raise ValueError(f"{self.name} takes rows as they come, without weights: leave out weight (--weight)")
        return [Progress(self.learned_rows(rows, features)[1][:, None], self.targets(y, rows.n))]

    def targets(self, y: Any, n: int) -> np.ndarray:
        """Return zeros: there are no targets."""
        return np.zeros(n)

    def learned_rows(self, rows: Rows, features: Features | None = None) -> tuple[list[np.ndarray], np.ndarray]:
        """Learn checked rows of a source; return coordinates, in pieces, and costs from before.

        `features` is the table of features of a model that begins here.
        """
        m = self._fitting(rows, features)
        self.learnable(rows, m)
        found = self.taught(m, rows)
        self.model = m
        return found

    def answered_rows(self, rows: Rows, features: Features | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates and costs of checked rows of a source; nothing is learned."""
        m = self._fitting(rows, features)
        found: tuple[np.ndarray, np.ndarray] = m.answer(m.features.rows(rows, False))
        return found

    def _fitting(self, rows: Rows, features: Features | None) -> Any:
        """Return the model, or a new one over these features, that checked rows fit."""
        if isinstance(features, Numbers) and features.titles is not None and not self.model_class.grows:
            features = Columns(rows.width, False)  # the columns of the table so far
        m = self.model if features is None or self.started else self.new_model(features)
        m.features.check(rows, type(self).__name__)
        return m

    # ---- answers -----------------------------------------------------------------------------------------------------
    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of rows, a column for each; nothing is learned."""
        found: np.ndarray = self.model.answer(self.placed(X))[0]
        return found

    @property
    def n_pending_(self) -> int:
        """Rows that wait for a batch; `finish()` learns them."""
        return int(self.model.n_pending)

    # ---- merging -----------------------------------------------------------------------------------------------------
    def merge(self, other: Any) -> Self:
        """Take in what another learner of the same kind and parameters has learned from other rows."""
        if type(self) is not type(other):
            raise TypeError(f"cannot merge a {type(other).__name__} into a {type(self).__name__}")
        if not same_value(self.get_params(), other.get_params()):
            raise ValueError(f"cannot merge learners with different parameters: {self!r} and {other!r}")
        if self.merging == "none":
            raise TypeError(f"{type(self).__name__} has no merge: {self.no_merge}")
        if not self.started or not other.started:
            self.model = self.held or copy.deepcopy(other.held)
            return self
        mine, theirs = self.model.fork(), other.model.fork()
        mine.take_in(theirs)
        self.model = mine
        return self

    def joined(self, parts: Any, length: float | str = 1.0) -> Any:
        """Refuse: bases that continued from a common one cannot be told apart from it."""
        raise TypeError(f"{type(self).__name__} cannot be joined after a common start: let each learn rows of its own, then merge")

    # ---- scikit-learn, without importing it --------------------------------------------------------------------------
    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            classifier_tags=None,
            regressor_tags=None,
            input_tags=InputTags(sparse=True),
        )
