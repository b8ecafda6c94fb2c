"""The model of ratings by a thin SVD: offsets of users and items, and the decomposition of what they leave (Brand 2003)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ..algorithm.params import check_options, same_value
from ..algorithm.rounds import EXAMPLES, UPDATES
from ..engine.compiling import compiled
from ..files.json_values import Tensors, expect
from ..files.saved_tables import check_tally, features_meta, features_of, names_tensors
from ..inputs.checking import Rows, sparse_row
from ..inputs.features import Features, Numbers
from ..learners.calibrated import packed, restore, unpacked
from ..learners.task import Task
from ..learners.unstepped import Unstepped
from ..text import plural
from .subspaces import expect_some
from .svd import OnlineSVD
from .thin import OFTEN, Thin

START = "svd."  # of the names of the tensors of the decomposition


class Shelf:
    """What a user has rated, in order, a rating for each item."""

    __slots__ = ("items", "n", "ratings", "row")

    def __init__(self, items: np.ndarray, ratings: np.ndarray, row: int = -1) -> None:
        self.items, self.ratings, self.n = items, ratings, len(items)
        self.row = row  # of the matrix, -1 before it has one

    def put(self, item: int, rating: float) -> float | None:
        """Take a rating; return the one that it takes the place of, if any."""
        at = np.flatnonzero(self.items[: self.n] == item)
        if len(at):
            was = float(self.ratings[at[0]])
            self.ratings[at[0]] = rating
            return was
        if self.n == len(self.items):
            more = max(4, self.n)
            self.items, self.ratings = np.pad(self.items, (0, more)), np.pad(self.ratings, (0, more))
        self.items[self.n], self.ratings[self.n] = item, rating
        self.n += 1
        return None


class Rated(Unstepped):
    """Ratings, offsets that follow from them, and a thin SVD with a row for each user and a column for each item.

    Users and items are features; what the model has of them it numbers itself, as they come, so that all sizes follow from the
    ratings learned.
    """

    filled = by_classes = pairs_features = many = False
    labels = None
    dtype = np.dtype(np.float64)

    def __init__(self, learner: Any, features: Features, labels: None = None, sparse: bool = True) -> None:
        self.learner = type(learner)
        self.features = features
        self.tally = np.zeros(5, np.int64)
        self.take(learner.get_params())
        self.begin()
        self.calibration = self.uncalibrated()

    def take(self, given: dict[str, Any]) -> None:
        """Check parameters, and use them."""
        check_options(given)
        self.params = self.learner.parameters.resolve(given, 0)
        self.given = given

    def begin(self) -> None:
        """Know nothing."""
        self.args: list[Any] = []  # another list says that this is another model
        self.users: dict[int, int] = {}  # the place of a feature among users, in order
        self.items: dict[int, int] = {}
        self.shelves: list[Shelf] = []
        self.mean = np.zeros(2)  # the number of ratings and their sum
        self.counts, self.sums = np.zeros(0), np.zeros(0)  # of each item
        self.svd = Thin(self.inner(), Numbers(False))

    def inner(self) -> OnlineSVD:
        """Return the learner of the decomposition."""
        return OnlineSVD(r_max=int(self.params.r_max), nu=float(self.params.nu), missing="impute")

    @property
    def algorithm(self) -> Any:
        """What says whether scores are probabilities."""
        return self.learner

    @property
    def task(self) -> Task:
        """The task of the learner."""
        found: Task = self.learner.task
        return found

    @property
    def columns(self) -> Numbers:
        """Those of the matrix: one for each item that has been in a revision."""
        assert isinstance(self.svd.features, Numbers)
        return self.svd.features

    @property
    def ready(self) -> int:
        """Features there is room for: all."""
        return self.features.size

    @property
    def dims(self) -> dict[str, int]:
        """Sizes, as those of a Model."""
        return {"feature": max(self.features.size, 1), "class": 1}

    def widen(self) -> None:
        """Do nothing: room is made for what is rated."""

    def relabel(self) -> None:
        """Do nothing: there are no labels."""

    def retune(self, given: dict[str, Any]) -> None:
        """Use new parameters from now on."""
        if not same_value(given["r_max"], self.given["r_max"]):
            raise ValueError("r_max is for good once ratings are learned: call reset() first, or make a new learner")
        self.take(given)
        self.svd.params = self.svd.params._replace(nu=self.params.nu)

    # ---- learning ----------------------------------------------------------------------------------------------------
    def learn(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Answer, then learn, each rating in order; return the answers from before."""
        if c is not None:
            raise ValueError(f"{self.learner.name} takes ratings as they come, without weights: leave out weight (--weight)")
        indptr, numbers, _ = rows.arrays
        sizes = np.diff(indptr)
        if sizes.max(initial=0) > 2:
            at = int(sizes.argmax())
            raise ValueError(f"row {at}: expected a user and an item, got {plural(int(sizes[at]), 'feature')}")
        turned, out = item_first(getattr(self.features, "titles", None)), np.empty((rows.n, 1))
        for k, rating in enumerate(y.tolist()):
            row = numbers[indptr[k] : indptr[k + 1]].tolist()
            user, item = row if len(row) == 2 else self.sides(row)
            out[k] = self.learn_pair(item, user, rating) if turned and len(row) == 2 else self.learn_pair(user, item, rating)
        self.calibrate(out, y, None)
        return out

    def learn_row(self, idx: np.ndarray, values: np.ndarray, y: float, c: float = 1.0) -> np.ndarray:
        """Do the same with one sparse row."""
        return self.learn(sparse_row(idx, values), np.array([y]), None if c == 1.0 else np.array([c]))[0]

    def learner_of_pairs(self) -> Callable[[int, int, float], float] | None:
        """Return what learns a user, an item and a rating, without a row."""
        return self.learn_pair if self.calibration is None else None

    def sides(self, row: list[int]) -> tuple[int, int]:
        """Return the user and the item among features, as far as they are known; -1 for none."""
        return next((j for j in row if j in self.users), -1), next((j for j in row if j in self.items), -1)

    def learn_pair(self, user: int, item: int, rating: float) -> float:
        """Learn a rating of two features; return the answer from before. Without a user (-1) it counts for the item's offset."""
        u, i = self.users.get(user, -1), self.items.get(item, -1)
        f = float(self.answer(u, np.array([i]))[0])
        self.tally[EXAMPLES] += 1
        if item >= 0 and i < 0:
            i = self.items[item] = len(self.items)
            if i == len(self.sums):
                self.sums, self.counts = (np.pad(a, (0, max(8, i))) for a in (self.sums, self.counts))
        if user >= 0 and u < 0:
            u = self.users[user] = len(self.users)
            self.shelves.append(Shelf(np.zeros(0, np.int64), np.zeros(0)))
        was = self.shelves[u].put(i, rating) if u >= 0 and i >= 0 else None
        new, change = float(was is None), rating - (was or 0.0)
        self.mean += new, change
        if i >= 0:
            self.counts[i] += new
            self.sums[i] += change
        if u >= 0 and i >= 0 and self.due(self.shelves[u], was is not None):
            self.revise(u)
        return f

    def due(self, shelf: Shelf, again: bool) -> bool:
        """Return whether to revise the row of a user after a rating: one of a pair that was rated before, or one more."""
        return shelf.row >= 0 if again else shelf.n % int(self.params.revise) == 0

    def revise(self, u: int) -> None:
        """Put what a user's ratings are above the offsets, with what is expected of all others, into the matrix."""
        shelf, svd = self.shelves[u], self.svd
        known, x, _ = self.rest(shelf)
        self.columns.count = len(self.items)
        svd.widen()
        row = np.full(svd.dims["feature"], np.nan)
        row[known] = x
        if shelf.row < 0:
            shelf.row = int(svd.state.kept[0])
            svd.append(svd.completed(row[None])[0][0], int(svd.state.rank[0]))
        else:
            svd.revise(shelf.row, row)
            if self.tally[UPDATES] % OFTEN == 0:
                svd.straighten()
        self.tally[UPDATES] += 1

    # ---- answers -----------------------------------------------------------------------------------------------------
    def offsets(self, items: np.ndarray) -> np.ndarray:
        """Return the mean of all ratings and what items, by their places, are above it, drawn to 0; -1 is an unknown one."""
        n, total = self.mean
        mu = total / n if n else 0.0
        if not len(self.sums):
            return np.full(len(items), mu)
        own = (self.sums[items] - self.counts[items] * mu) / (self.params.reg_item + self.counts[items])
        return np.asarray(mu + np.where(items >= 0, own, 0.0))

    def rest(self, shelf: Shelf) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the items of a user, what their ratings are above all offsets, and the user's own."""
        known = shelf.items[: shelf.n]
        x = shelf.ratings[: shelf.n] - self.offsets(known)
        own = float(x.sum()) / (self.params.reg_user + shelf.n)
        return known, x - own, own

    def answer(self, u: int, items: np.ndarray) -> np.ndarray:
        """Return the ratings of items by a user, by their places; -1 is nobody, or no item."""
        return self.offsets(items) if u < 0 else self.expected(self.shelves[u], items)

    def expected(self, shelf: Shelf, items: np.ndarray) -> np.ndarray:
        """Return the ratings expected of somebody who has rated what is on a shelf."""
        known, x, own = self.rest(shelf)
        out, s = np.zeros(len(items)), self.svd.state
        r, wide = int(s.rank[0]), self.columns.count
        if r:  # what has come since the last revision is not in there yet
            there, wanted = known < wide, (items >= 0) & (items < wide)
            some = np.empty(int(wanted.sum()))
            scratch = np.empty((r, r)), np.empty(r)
            how = s.U, s.s, float(s.n[0]), float(self.params.nu)
            compiled(expect_some)(known[there], x[there], items[wanted], *how, *scratch, some)
            out[wanted] = some
        return self.offsets(items) + own + out

    def score(self, rows: Rows) -> np.ndarray:
        """Return the answers; nothing changes, in any number of threads."""
        indptr, numbers, _ = rows.arrays
        out = np.empty((rows.n, 1))
        by_user: dict[int, list[tuple[int, int]]] = {}
        for k in range(rows.n):
            user, item = self.sides(numbers[indptr[k] : indptr[k + 1]].tolist())
            by_user.setdefault(self.users.get(user, -1), []).append((k, self.items.get(item, -1)))
        for u, found in by_user.items():
            at, items = np.array(found).T
            out[at, 0] = self.answer(u, items)
        return out

    def score_row(self, idx: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the answer to one sparse row."""
        return self.score(sparse_row(idx, values))[0]

    def guessed(self, items: np.ndarray, ratings: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the ratings of wanted items by somebody who has rated some, all by their features; nothing is learned."""
        shelf = Shelf(np.zeros(0, np.int64), np.zeros(0))
        for j, rating in zip(items.tolist(), ratings.tolist(), strict=True):
            if j in self.items:
                shelf.put(self.items[j], rating)
        return self.expected(shelf, np.array([self.items.get(j, -1) for j in wanted.tolist()], np.int64))

    # ---- reading -----------------------------------------------------------------------------------------------------
    @property
    def state(self) -> Any:
        """The arrays of the decomposition."""
        return self.svd.state

    def factors(self) -> np.ndarray:
        """Return a row for each feature: what an item has of each component, as far as users differ in it; 0 for users."""
        s, r = self.svd.state, int(self.svd.state.rank[0])
        out = np.zeros((self.features.size, r))
        places = np.array(list(self.items.values()), np.int64)
        there = places < self.columns.count
        out[np.array(list(self.items), np.int64)[there]] = s.U[:r, places[there]].T * s.s[:r]
        return out

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array that has a meaning between rounds."""
        n, m = len(self.items), self.mean
        shelves = self.shelves
        items = np.concatenate([np.zeros(0, np.int64), *(s.items[: s.n] for s in shelves)])
        ratings = np.concatenate([np.zeros(0), *(s.ratings[: s.n] for s in shelves)])
        sizes, rows = (np.array([getattr(s, k) for s in shelves], np.int64) for k in ("n", "row"))
        kept = {"mean": m, "counts": self.counts[:n], "sums": self.sums[:n], "rated": items, "ratings": ratings}
        known = {k: np.array(list(v), np.int64) for k, v in (("users", self.users), ("items", self.items))}
        return {**kept, **known, "sizes": sizes, "rows": rows, **{START + k: a for k, a in self.svd.arrays().items()}}

    def used(self) -> dict[str, np.ndarray]:
        """Return what files hold: arrays without spare room."""
        own = {k: a for k, a in self.arrays().items() if not k.startswith(START)}
        return {**own, **{START + k: a for k, a in self.svd.used().items()}}

    def nonzeros(self) -> None:
        """Return None: there is no weight vector."""

    def weights(self) -> np.ndarray:
        """Refuse: there is no weight vector."""
        raise AttributeError(f"coef_: {self.learner.__name__} does not answer with weights")

    # ---- files -------------------------------------------------------------------------------------------------------
    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return it as JSON values and arrays."""
        meta, inner = self.svd.pack()
        own = {f"state.{k}": a for k, a in self.arrays().items() if not k.startswith(START)}
        tensors = {"tally": self.tally, **names_tensors(self.features), **own, **{START + k: a for k, a in inner.items()}}
        return packed(self.calibration, {"features": features_meta(self.features), "svd": meta}, tensors)

    @classmethod
    def restored(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the packed model; check every array."""
        m = cls(learner, features_of(meta["features"], tensors.pop("features", None)))
        restore(m.calibration, meta, unpacked(tensors), 0)
        tally = tensors.pop("tally")
        check_tally(tally, m.tally, None, False)
        m.tally[:] = tally
        inner = {k.removeprefix(START): tensors.pop(k) for k in list(tensors) if k.startswith(START)}
        m.svd = Thin.restored(m.inner(), meta["svd"], inner)
        expect(isinstance(m.svd.features, Numbers), "numbered columns", m.svd.features.kind)
        m.fill({k.removeprefix("state."): tensors.pop(k) for k in list(tensors) if k.startswith("state.")})
        expect(not tensors, "no other tensors", sorted(tensors))
        return m

    def fill(self, a: Tensors) -> None:
        """Take the arrays of a file; check that they fit together."""
        floats = ("mean", "counts", "sums", "ratings")
        for k, found in a.items():
            expect(found.ndim == 1 and found.dtype == (np.float64 if k in floats else np.int64), f"an array of {k}", found)
            expect(k not in floats or bool(np.isfinite(found).all()), f"finite numbers in {k}", found)
        users, items, sizes, rows = (a[k] for k in ("users", "items", "sizes", "rows"))
        both = np.concatenate([users, items])
        expect(len(np.unique(both)) == len(both) and bool((both >= 0).all()), "each user and item once", both)
        expect(int(both.max(initial=-1)) < self.features.size, f"features below {self.features.size}", both)
        expect(len(a["mean"]) == 2 and len(a["counts"]) == len(a["sums"]) == len(items), f"{len(items)} items", a["sums"])
        expect(len(sizes) == len(rows) == len(users) and bool((sizes >= 0).all()), f"{len(users)} users", sizes)
        expect(int(sizes.sum()) == len(a["rated"]) == len(a["ratings"]), "as many ratings as are counted", len(a["ratings"]))
        expect(bool((a["rated"] >= 0).all()) and int(a["rated"].max(initial=-1)) < len(items), "items that are known", a["rated"])
        expect(np.array_equal(np.sort(rows[rows >= 0]), np.arange(int(self.svd.state.kept[0]))), "a row for each user kept", rows)
        expect(self.columns.size <= len(items), f"at most {len(items)} columns", self.columns.size)
        ends = np.cumsum(sizes)
        self.users, self.items = ({int(j): k for k, j in enumerate(found)} for found in (users, items))
        self.shelves = [
            Shelf(a["rated"][e - n : e].copy(), a["ratings"][e - n : e].copy(), row)
            for e, n, row in zip(ends.tolist(), sizes.tolist(), rows.tolist(), strict=True)
        ]
        self.mean, self.counts, self.sums = (np.array(a[k]) for k in ("mean", "counts", "sums"))

    def fork(self) -> Self:
        """Return an independent copy."""
        return copy.deepcopy(self)

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__.update(d)
        self.args = []


def item_first(table: Any) -> bool:
    """Return whether the rows of a table, whose categories are users and items, have the item before the user."""
    if table is None:
        return False
    user, item = table.categorical
    return [name for name in table.column_roles if name in (user, item)] == [item, user]
