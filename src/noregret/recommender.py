"""A recommender: users, items and ratings, or yes and no, over a learner of rows with one feature for each user and item."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np

from .engine.elementary import exp
from .files.json_values import Tensors, expect
from .files.model_file import Saved
from .inputs.checking import Rows
from .learners.base import not_learned
from .learners.learner_file import restored
from .registry import learner as made
from .tasks.classification import Classifier
from .tasks.regression import Regressor
from .text import plural

USER, ITEM = "user=", "item="  # how the names of features begin, as those of a table with these columns
ONES = np.ones(2)
GUEST = "\0"  # a user that no file can name
PASSES = 10  # over the ratings of a guest


class Recommender(Saved):
    """Learn from (user, item, rating) as they come, and predict ratings; any user or item may be new.

    A user and an item are one feature each, and the learner is one of rows: with factorisation machines, the default, a rating is
    w_0 + w_user + w_item + <v_user, v_item>. What is unknown counts nothing: a new user is given the mean of an item, and the other
    way round. Predictions are kept within the scale: `low` to `high`, or the ratings seen.

    Parameters: `learner`, a name or a learner: "fm_regressor" or another regressor for ratings; "fm" or another classifier for yes
    and no, whose predictions are probabilities by the logistic function of the score. Other keywords are parameters of the learner
    named. `keep=False` does not remember who rated what: `top` then lists everything, and memory grows with users and items only.

    Users and items are texts or whole numbers; 7 and "7" are one.

    Read back: `users_`, `items_`, `n_seen_`, `learner`.

    Pitfalls: in one pass, offsets of users and items do nearly everything; factors add little before there are some ten ratings
    of each. A pair that is rated again is learned again.

    Rendle (2010), *Factorization machines*; Koren, Bell, Volinsky (2009), *Matrix factorization techniques*.

    >>> import noregret as nr
    >>> r = nr.Recommender()
    >>> for user, item, rating in [("ann", "alien", 5), ("ann", "bambi", 1), ("bob", "alien", 4), ("bob", "brazil", 5)] * 50:
    ...     said = r.learn_one(user, item, rating)
    >>> [item for item, rating in r.top("ann", 1)], round(r.predict_one("bob", "alien"), 1)
    (['brazil'], 4.0)
    """

    file_tag = "recommender"

    def __init__(
        self,
        learner: Any = "fm_regressor",
        *,
        low: float | None = None,
        high: float | None = None,
        keep: bool = True,
        **params: Any,
    ) -> None:
        if isinstance(learner, str):
            learner = made(learner, **params)
        elif params:
            raise TypeError(f"{', '.join(params)}: set the parameters of a learner on the learner itself")
        if not isinstance(learner, (Classifier, Regressor)):
            raise TypeError(f"expected a regressor or a classifier, or the name of one, got {learner!r}")
        if low is not None and high is not None and not low < high:
            raise ValueError(f"low must be below high, got {low!r} and {high!r}")
        self.learner = learner
        self.low, self.high, self.keep = low, high, keep
        self.yes_no = isinstance(learner, Classifier)
        if self.yes_no and learner.classes is None and not learner.started:
            learner.set_params(classes=[False, True])
        self._seen = [np.inf, -np.inf]
        self._rated: dict[int, set[int]] = {}
        self._waiting: list[np.ndarray] = []  # users and items not in there yet
        self._pair = np.zeros(2, np.uint32)
        self._places: dict[Any, dict[Any, int]] = {USER: {}, ITEM: {}}

    # ---- users and items -----------------------------------------------------------------------------------------------
    def _begun(self) -> Any:
        """Return the model, a new one before anything is learned."""
        if not self.learner.started:
            self.learner.model = self.learner.new_model(None)
        return self.learner.model

    def _known(self, kind: str, one: Any) -> int | None:
        """Return the place of a user or an item, None if it is new."""
        found = self._places[kind].get(one)
        if found is None and self.learner.started:
            found = self.learner.model.features.table.get(named(kind, one))
            if found is not None:
                self._places[kind][one] = found
        return found

    def _join(self, kind: str, one: Any) -> int:
        """Return the place of a user or an item; a new one joins."""
        found = self._known(kind, one)
        if found is None:
            m = self._begun()
            found = int(m.features.row({named(kind, one): 1.0}, True)[0][0])
            self._places[kind][one] = found
        return found

    @property
    def users_(self) -> list[str]:
        """The users, in the order in which they came."""
        return [name for name, _ in self._all(USER)]

    @property
    def items_(self) -> list[str]:
        """The items, in the order in which they came."""
        return [name for name, _ in self._all(ITEM)]

    def _all(self, kind: str) -> list[tuple[str, int]]:
        """Return the names of one kind, and their places."""
        if not self.learner.started:
            return []
        table = self.learner.model.features.table
        return [(name.removeprefix(kind), at) for name, at in table.items() if name.startswith(kind) and name != USER + GUEST]

    @property
    def n_seen_(self) -> int:
        """Ratings learned from."""
        return int(self.learner.n_seen_) if self.learner.started else 0

    # ---- learning ------------------------------------------------------------------------------------------------------
    def learn_one(self, user: Any, item: Any, rating: Any) -> float:
        """Learn one rating; return the prediction from before."""
        y = self._target(rating)
        places, pair = self._places, self._pair
        try:
            u, i = places[USER][user], places[ITEM][item]
        except (KeyError, TypeError):
            named(USER, user), named(ITEM, item)
            u, i = self._join(USER, user), self._join(ITEM, item)
            self.learner.model.widen()
        pair[0], pair[1] = u, i
        low, high = self._seen
        said = self._within(float(self.learner.model.learn_row(pair, ONES, y)[0]), low, high)
        if not low <= y <= high:
            self._seen = [min(low, y), max(high, y)]
        if self.keep:
            self._rated.setdefault(u, set()).add(i)
        return said

    def learn_many(self, users: Any, items: Any, ratings: Any) -> np.ndarray:
        """Learn ratings in order; return the predictions, each from before its rating."""
        users, items, ratings = _sized(users), _sized(items), _sized(ratings)
        if not len(users) == len(items) == len(ratings):
            sizes = ", ".join(plural(len(a), what) for a, what in ((users, "user"), (items, "item"), (ratings, "rating")))
            raise ValueError(f"expected as many users as items and ratings, got {sizes}")
        y = self._targets(ratings)
        who, what = coded(users, USER), coded(items, ITEM)
        if not len(y):
            return np.zeros(0)
        m = self._begun()
        come = [(k, USER, one) for one, k in zip(who.names, who.first, strict=True)]
        come += [(k, ITEM, one) for one, k in zip(what.names, what.first, strict=True)]
        for _, kind, one in sorted(come, key=itemgetter(0)):  # of one rating the user comes first, as in `learn_one`
            self._join(kind, one)
        m.widen()
        places = np.empty((len(y), 2), np.uint32)
        places[:, 0] = np.array([self._places[USER][one] for one in who.names], np.uint32)[who.codes]
        places[:, 1] = np.array([self._places[ITEM][one] for one in what.names], np.uint32)[what.codes]
        rows = Rows("csr", (np.arange(0, 2 * len(y) + 1, 2), places.reshape(-1), np.ones(2 * len(y))), len(y), m.features.size)
        f = np.asarray(m.learn(rows, y, None))[:, 0]
        low = np.minimum.accumulate(np.append(self._seen[0], y))
        high = np.maximum.accumulate(np.append(self._seen[1], y))
        self._seen = [float(low[-1]), float(high[-1])]
        if self.keep:
            self._waiting.append(places)
        return self._within(f, low[:-1], high[:-1])

    def _target(self, rating: Any) -> float:
        """Return a rating as the step takes it."""
        if type(rating) in (float, int) and not self.yes_no and rating - rating == 0:
            return float(rating)
        return float(self._targets([rating])[0])

    def _targets(self, ratings: Any) -> np.ndarray:
        """Return ratings as the step takes them; refuse those that are not ratings."""
        try:
            y = np.asarray(ratings, np.float64)
        except (TypeError, ValueError):
            y = np.array([np.nan if not isinstance(r, (int, float, np.number)) else float(r) for r in ratings])
        wrong = ~np.isfinite(y)
        if self.yes_no:
            wrong = ~np.isin(y, (0.0, 1.0))
        if wrong.any():
            at = int(np.argmax(wrong))
            wanted = "yes or no, as True or False, 1 or 0" if self.yes_no else "a finite number"
            raise ValueError(f"rating {at}: expected {wanted}, got {ratings[at]!r}")
        return np.where(y > 0.5, 1.0, -1.0) if self.yes_no else y

    def _rated_by(self, user: int) -> set[int]:
        """Return the places of the items that a user has rated."""
        for places in self._waiting:
            for u, i in places.tolist():
                self._rated.setdefault(u, set()).add(i)
        self._waiting.clear()
        return self._rated.get(user, set())

    # ---- answers -------------------------------------------------------------------------------------------------------
    def _within(self, f: Any, low: Any, high: Any) -> Any:
        """Return predictions for scores: probabilities, or what lies within the scale known so far."""
        if self.yes_no:
            return 1.0 / (1.0 + np.exp(-f)) if isinstance(f, np.ndarray) else float(1.0 / (1.0 + exp(-f)))
        least, most = low if self.low is None else self.low, high if self.high is None else self.high
        if isinstance(f, np.ndarray):
            return np.where(least <= most, np.clip(f, np.minimum(least, most), np.maximum(least, most)), f)
        return min(max(f, least), most) if least <= most else f

    def _scored(self, user: Any, places: np.ndarray) -> np.ndarray:
        """Return what a user would give items at some places."""
        m, at = self.learner.model, self._known(USER, user)
        n = len(places)
        if at is None:
            rows = Rows("csr", (np.arange(n + 1), places.astype(np.uint32), np.ones(n)), n, m.features.size)
        else:
            both = np.column_stack([np.full(n, at, np.uint32), places.astype(np.uint32)]).reshape(-1)
            rows = Rows("csr", (np.arange(0, 2 * n + 1, 2), both, np.ones(2 * n)), n, m.features.size)
        found: np.ndarray = self._within(np.asarray(m.score(rows))[:, 0], *self._seen)
        return found

    def predict_one(self, user: Any, item: Any) -> float:
        """Return the rating that a user would give, or the probability of a yes; either may be new."""
        m = self._learned()
        named(USER, user), named(ITEM, item)
        known = [at for at in (self._known(USER, user), self._known(ITEM, item)) if at is not None]
        f = m.score_row(np.array(known, np.uint32), np.ones(len(known)))
        return float(self._within(float(f[0]), *self._seen))

    def predict(self, users: Any, items: Any) -> np.ndarray:
        """Return the rating for each user and item."""
        return np.array([self.predict_one(u, i) for u, i in zip(_listed(_sized(users)), _listed(_sized(items)), strict=True)])

    def top(self, user: Any, n: int = 10, seen: bool = False) -> list[tuple[str, float]]:
        """Return the n items that a user would rate highest, best first, with ratings; those rated already only if `seen`."""
        self._learned()
        found = self._all(ITEM)
        at = self._known(USER, user)
        if not seen and at is not None:
            rated = self._rated_by(at)
            found = [(name, place) for name, place in found if place not in rated]
        if not found:
            return []
        f = self._scored(user, np.array([place for _, place in found]))
        order = np.argsort(-f, kind="stable")[:n]
        return [(found[k][0], float(f[k])) for k in order.tolist()]

    def similar(self, item: Any, n: int = 10) -> list[tuple[str, float]]:
        """Return the n items whose factors point most nearly the same way, best first, with the cosine."""
        self._learned()
        if not hasattr(self.learner, "factors"):
            raise TypeError(f"{type(self.learner).__name__} has no factors: items are similar by those of fm_regressor or fm")
        at = self._known(ITEM, item)
        if at is None:
            raise ValueError(f"item {item!r} has not been rated yet")
        found = [(name, place) for name, place in self._all(ITEM) if place != at]
        V = self.learner.factors()
        V = V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-300)
        shift = int(self.learner.model.features.bias)  # the constant comes first, and has no factors
        near = V[[place - shift for _, place in found]] @ V[at - shift]
        return [(found[k][0], float(near[k])) for k in np.argsort(-near, kind="stable")[:n].tolist()]

    def fold_in(self, ratings: Mapping[Any, Any], n: int = 10) -> list[tuple[str, float]]:
        """Return the top n for somebody who is not a user and has rated these items; nothing is learned."""
        self._learned()
        other = copy.deepcopy(self)
        for _ in range(PASSES):
            for item, rating in ratings.items():
                other.learn_one(GUEST, item, rating)
        return other.top(GUEST, n)

    def _learned(self) -> Any:
        if not self.n_seen_:
            raise not_learned(self)
        return self.learner.model

    # ---- the rest ------------------------------------------------------------------------------------------------------
    def clone(self) -> Self:
        """Return a recommender with the same parameters that has learned nothing."""
        return type(self)(self.learner.clone(), low=self.low, high=self.high, keep=self.keep)

    def __repr__(self) -> str:
        given = {"low": (self.low, None), "high": (self.high, None), "keep": (self.keep, True)}
        said = [repr(self.learner), *(f"{k}={v!r}" for k, (v, default) in given.items() if v != default)]
        return f"Recommender({', '.join(said)})"

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return the learner as it packs itself, the scale, and who rated what."""
        meta, tensors = self.learner.pack()
        self._rated_by(0)
        pairs = np.array([(u, i) for u, items in sorted(self._rated.items()) for i in sorted(items)], np.uint32).reshape(-1, 2)
        own = {"low": self.low, "high": self.high, "keep": self.keep, "seen": self._seen if self.n_seen_ else None}
        return {**meta, "recommender": own}, {**tensors, "recommender.rated": pairs}

    @classmethod
    def restored(cls, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the recommender that was packed; check who rated what."""
        own, pairs = meta["recommender"], tensors.pop("recommender.rated")
        learner = restored(meta, tensors)
        new = cls(learner, low=own["low"], high=own["high"], keep=own["keep"])
        size = learner.model.features.size if learner.started else 0
        expect(pairs.dtype == np.uint32 and pairs.ndim == 2 and pairs.shape[1] == 2, "pairs of places", pairs.shape)
        expect(not pairs.size or int(pairs.max()) < size, f"places below {size}", pairs)
        if own["seen"] is not None:
            low, high = own["seen"]
            expect(low <= high, "a scale", own["seen"])
            new._seen = [float(low), float(high)]
        for u, i in pairs.tolist():
            new._rated.setdefault(u, set()).add(i)
        return new


class Coded(NamedTuple):
    """Names as codes: that of code n is the n-th of `names`, and came first at the n-th place of `first`."""

    names: list[Any]
    first: list[int]
    codes: np.ndarray


def coded(names: Any, kind: str) -> Coded:
    """Return users or items as codes; refuse what is neither text nor a whole number."""
    if isinstance(names, np.ndarray) and names.dtype.kind in "iu":
        found, first, codes = np.unique(names, return_index=True, return_inverse=True)
        return Coded(found.tolist(), first.tolist(), codes)
    known: dict[Any, int] = {}
    codes = np.array([known.setdefault(one, len(known)) for one in _listed(names)], np.int64)
    for one in known:
        named(kind, one)
    first = np.full(len(known), len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    return Coded([*known], first.tolist(), codes)


def _sized(values: Any) -> Any:
    """Return values of which one can tell the number."""
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    return values if isinstance(values, np.ndarray) else [*values]


def _listed(values: Any) -> list[Any]:
    """Return values as Python's own objects."""
    return values.tolist() if isinstance(values, np.ndarray) else [*values]


def named(kind: str, one: Any) -> str:
    """Return the name of the feature of a user or an item; refuse what is neither text nor a whole number."""
    if isinstance(one, str) or (isinstance(one, (int, np.integer)) and not isinstance(one, bool)):
        return f"{kind}{one}"
    raise TypeError(f"{'a user' if kind == USER else 'an item'} is a text or a whole number, got {one!r}")
