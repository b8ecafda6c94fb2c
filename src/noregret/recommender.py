"""A recommender: users, items and ratings, or yes and no, over a learner of rows with one feature for each user and item."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from .engine.elementary import exp
from .files.json_values import Tensors, expect
from .inputs.checking import Rows
from .inputs.events import clipped, coded, named, running, sized
from .learners.base import not_learned
from .learners.learner import Learner, Progress, has_bias
from .learners.learner_file import restored
from .spelling import made
from .tasks.classes import sign
from .tasks.classification import Classifier
from .tasks.regression import Regressor
from .text import plural
from .transforms.front import Front
from .transforms.pipeline import Pipeline
from .transforms.table import Table
from .unsupervised.rated import item_first
from .unsupervised.rating_svd import RatingSVD
from .unsupervised.svd import OnlineSVD

ROOM = "recommendation."  # what the names of learners of ratings begin with
LARGE = 1e6  # of a rating that needs no second look
GUEST = "\0"  # a user that no file can name
PASSES = 10  # over the ratings of a guest


class Recommender(Pipeline):
    """Learn from (user, item, rating) as they come, and predict ratings; any user or item may be new.

    A user and an item are one feature each, and the learner is one of rows: with factorisation machines, the default, a rating is
    w_0 + w_user + w_item + <v_user, v_item>. What is unknown counts nothing: a new user is given the mean of an item, and the other
    way round. Predictions are kept within the scale: `low` to `high`, or the ratings seen.

    Parameters: `learner`, a name or a learner: "fm_regressor" or another regressor for ratings; "online_svd" (RatingSVD), or an
    OnlineSVD, to decompose the matrix of users and items; "fm" or another classifier for yes and no, whose predictions are
    probabilities by the logistic function of the score. Other keywords are parameters of the learner named. `keep=False` does not
    remember who rated what: `top` then lists everything, and memory grows with users and items only ("online_svd" keeps
    ratings). `user` and `item` are the columns of a table from which it learns: `nr.train(..., task="recommendation")` makes one.

    Users and items are texts or whole numbers; 7 and "7" are one.

    Read back: `users_`, `items_`, `n_seen_`, `scale_`, `learner`.

    Pitfalls: in one pass, offsets of users and items do nearly everything; factors add little before there are some ten ratings
    of each. A pair that is rated again is learned again; of "online_svd" it is revised.

    Rendle (2010), *Factorization machines*; Koren, Bell, Volinsky (2009), *Matrix factorization techniques*.

    >>> import noregret as nr
    >>> r = nr.Recommender()
    >>> for user, item, rating in [("ann", "alien", 5), ("ann", "bambi", 1), ("bob", "alien", 4), ("bob", "brazil", 5)] * 50:
    ...     said = r.learn_one(user, item, rating)
    >>> [item for item, rating in r.top("ann", 1)], round(r.predict_one("bob", "alien"), 1)
    (['brazil'], 4.0)
    """

    file_tag = "recommender"
    task: ClassVar[str] = "recommendation"

    def __init__(
        self,
        learner: Any = "fm_regressor",
        *,
        low: float | None = None,
        high: float | None = None,
        keep: bool = True,
        user: str = "user",
        item: str = "item",
        **params: Any,
    ) -> None:
        if isinstance(learner, str):
            learner = made(learner, params, ROOM)
        elif params:
            raise TypeError(f"{', '.join(params)}: set the parameters of a learner on the learner itself")
        if isinstance(learner, OnlineSVD):
            learner = RatingSVD.like(learner)
        if not isinstance(learner, (Classifier, Regressor)):
            raise TypeError(f"expected a regressor or a classifier, or the name of one, got {learner!r}")
        if low is not None and high is not None and not low < high:
            raise ValueError(f"low must be below high, got {low!r} and {high!r}")
        super().__init__([Table(categorical=[user, item]), learner])
        self.low, self.high, self.keep = low, high, keep
        self.columns = (user, item)
        self.yes_no = isinstance(learner, Classifier)
        self._scale = [np.inf, -np.inf]
        self._rated: dict[int, set[int]] = {}
        self._waiting: list[np.ndarray] = []  # places of users and items not in there yet
        self._by_pairs: tuple[Any, Any] = None, None  # the arrays of a model, and what learns pairs with them
        self._places: tuple[dict[Any, int], dict[Any, int]] = ({}, {})  # of the users and items asked for
        self._named = Listed([], ([], []), ([], []))

    @classmethod
    def of(cls, front: Front, learner: Learner) -> Self:
        """Return a recommender of a table that has two columns of categories, that of users first, and a learner, as they are."""
        assert front.table is not None
        user, item = front.table.categorical
        made = cls(learner, user=user, item=item)
        made.adopt(Pipeline.of(front, learner).front)
        return made

    def adopt(self, front: Front) -> None:
        """Take over the table of a source."""
        super().adopt(front)
        assert front.table is not None
        self.columns = tuple(front.table.categorical)
        self._named = Listed([], ([], []), ([], []))

    @property
    def _own(self) -> Table:
        """The table of users and items."""
        assert self.front.table is not None
        return self.front.table

    # ---- users and items -----------------------------------------------------------------------------------------------
    def _begun(self) -> Any:
        """Return the model, a new one before anything is learned."""
        learner: Any = self.learner
        if not learner.started:
            if self.yes_no and learner.classes is None:
                learner.set_params(classes=[False, True])
            learner.model = learner.new_model(None, self.front.features(has_bias(learner)))
        return learner.model

    def _known(self, kind: int, one: Any) -> int | None:
        """Return the place of a user (0) or an item (1), None if it is new."""
        found = self._places[kind].get(one)
        if found is None and self.learner.started:
            numbers = self._own.row({self.columns[kind]: named(kind, one)})[0]
            found = int(numbers[0]) + has_bias(self.learner) if len(numbers) else None
        if found is not None:
            self._places[kind][one] = found
        return found

    def _join(self, come: Sequence[tuple[int, Any]]) -> None:
        """Let users and items join, in order, where they are new."""
        columns, texts = [self.columns[kind] for kind, _ in come], [named(kind, one) for kind, one in come]
        places = self._own.join(columns, texts) + has_bias(self.learner)
        for (kind, one), at in zip(come, places.tolist(), strict=True):
            self._places[kind][one] = at

    def _widen(self) -> Any:
        """Let the model have room for all who joined; return it."""
        m = self.learner.model
        m.features.count = max(m.features.count, self._own.width)
        m.widen()
        return m

    def _listed(self) -> Listed:
        """Return all users and items, with their places."""
        if self._own.width != len(self._named.all):
            names, bias = self._own.feature_names, int(has_bias(self.learner))
            starts = [f"{column}=" for column in self.columns]
            for at in range(len(self._named.all), len(names)):
                for kind, start in enumerate(starts):
                    if names[at].startswith(start):
                        self._named.names[kind].append(names[at].removeprefix(start))
                        self._named.places[kind].append(at + bias)
            self._named = self._named._replace(all=names)
        return self._named

    @property
    def users_(self) -> list[str]:
        """The users, in the order in which they came."""
        return list(self._listed().names[0])

    @property
    def items_(self) -> list[str]:
        """The items, in the order in which they came."""
        return list(self._listed().names[1])

    @property
    def n_seen_(self) -> int:
        """Ratings learned from."""
        return int(self.learner.n_seen_) if self.learner.started else 0

    @property
    def scale_(self) -> tuple[float, float] | None:
        """The least and the greatest rating: as given, else as seen; None before any, and for yes and no."""
        low, high = self._bounds(*self._scale)
        return (low, high) if low <= high else None

    # ---- learning ------------------------------------------------------------------------------------------------------
    def learn_one(self, user: Any, item: Any, rating: Any) -> float:  # type: ignore[override]  # of events, not of rows
        """Learn one rating; return the prediction from before."""
        if type(rating) is not float or self.yes_no or not -LARGE < rating < LARGE:
            rating = float(self._targets([rating])[0])
        users, items = self._places
        try:
            u, i = users[user], items[item]
        except (KeyError, TypeError):
            u, i = self._joined(user, item)
        m, (known, learn) = self.steps[-1].model, self._by_pairs
        if known is not m.args:
            learn = m.learner_of_pairs() or self._learn_pair
            self._by_pairs = m.args, learn
        f: float = learn(u, i, rating)
        low, high = self._scale
        if not low <= rating <= high:
            self._scale = [min(low, rating), max(high, rating)]
        if self.keep:
            try:
                self._rated[u].add(i)
            except KeyError:
                self._rated[u] = {i}
        if self.yes_no:
            return float(1.0 / (1.0 + exp(-self._yes * f)))
        low, high = low if self.low is None else self.low, high if self.high is None else self.high
        return f if low <= f <= high or not low <= high else low if f < low else high

    def _learn_pair(self, u: int, i: int, y: float) -> float:
        """Learn a rating of two places as a row; return the score from before."""
        return float(self.learner.model.learn(self._pairs(np.array([[u, i]])), np.array([y]), None)[0, 0])

    def _joined(self, user: Any, item: Any) -> tuple[int, int]:
        """Return the places of a user and an item that may be new."""
        named(0, user), named(1, item)
        self._begun()
        self._join([(kind, one) for kind, one in enumerate((user, item)) if one not in self._places[kind]])
        self._widen()
        return self._places[0][user], self._places[1][item]

    def learn_many(self, users: Any, items: Any, ratings: Any) -> np.ndarray:  # type: ignore[override]
        """Learn ratings in order; return the predictions, each from before its rating."""
        users, items, ratings = sized(users), sized(items), sized(ratings)
        if not len(users) == len(items) == len(ratings):
            sizes = ", ".join(plural(len(a), what) for a, what in ((users, "user"), (items, "item"), (ratings, "rating")))
            raise ValueError(f"expected as many users as items and ratings, got {sizes}")
        y = self._targets(ratings)
        both = coded(users, 0), coded(items, 1)
        if not len(y):
            return np.zeros(0)
        self._begun()
        come = [(k, kind, one) for kind in (0, 1) for one, k in zip(both[kind].names, both[kind].first, strict=True)]
        come.sort(key=itemgetter(0))  # of one rating the user comes first, as in `learn_one`
        self._join([(kind, one) for _, kind, one in come if one not in self._places[kind]])
        m = self._widen()
        places = np.empty((len(y), 2), np.uint32)
        for kind, found in enumerate(both):
            places[:, kind] = np.array([self._places[kind][one] for one in found.names], np.uint32)[found.codes]
        f = np.asarray(m.learn(self._pairs(places), y, None))[:, 0]
        low, high = running(y, *self._scale)
        self._note(places, y)
        return self._within(f, low, high)

    def _hand(self, rows: Rows, y: Any, c: np.ndarray | None, classes: Any = None, keep: bool = False) -> list[Progress]:
        done = super()._hand(rows, y, c, classes, keep)
        self.noted(rows, y)
        return done

    def noted(self, rows: Rows, y: Any) -> None:
        """Note ratings that the learner has learned as rows of the table: their scale, and who rated what."""
        pairs = pairs_of(rows, self._own)
        pairs = pairs[(pairs >= 0).all(1)] + has_bias(self.learner)
        self._note(pairs, None if self.yes_no else np.asarray(y, np.float64))

    def _note(self, places: np.ndarray, y: np.ndarray | None) -> None:
        if y is not None and len(y):
            low, high = self._scale
            self._scale = [min(low, float(y.min())), max(high, float(y.max()))]
        if self.keep:
            self._waiting.append(places)

    def _targets(self, ratings: Any) -> np.ndarray:
        """Return ratings as the step takes them; refuse those that are not ratings."""
        if self.yes_no:
            return self._signs(ratings)
        try:
            y = np.asarray(ratings, np.float64)
        except (TypeError, ValueError):
            y = np.array([np.nan if not isinstance(r, (int, float, np.number)) else float(r) for r in ratings])
        if not np.isfinite(y).all():
            at = int(np.argmin(np.isfinite(y)))
            raise ValueError(f"rating {at}: expected a finite number, got {ratings[at]!r}")
        return self.learner.targets(y, len(y))

    def _signs(self, ratings: Any) -> np.ndarray:
        """Return the sides of yes and no; they are True and False, or as the table has them from which this has learned."""
        labels = None if self.learner.held is None else self.learner.held.labels
        classes, positive = ([False, True], 1) if labels is None else (labels.values, labels.positive)
        side = {v: 1.0 if k == positive else -1.0 for k, v in enumerate(classes)}
        found = [side.get(r) if isinstance(r, Hashable) else None for r in (getattr(r, "item", lambda r=r: r)() for r in ratings)]
        if None in found or len(classes) > 2:
            at = found.index(None) if None in found else 0
            wanted = "True or False, 1 or 0" if classes == [False, True] else f"one of {', '.join(map(repr, sorted(classes)))}"
            raise ValueError(f"rating {at}: expected yes or no, {wanted}, got {ratings[at]!r}")
        return np.array(found)

    def _rated_by(self, user: int | None) -> set[int]:
        """Return the places of the items that a user has rated."""
        for places in self._waiting:
            for u, i in places.tolist():
                self._rated.setdefault(u, set()).add(i)
        self._waiting.clear()
        return set() if user is None else self._rated.get(user, set())

    # ---- answers -------------------------------------------------------------------------------------------------------
    def _bounds(self, low: Any, high: Any) -> tuple[Any, Any]:
        return low if self.low is None else self.low, high if self.high is None else self.high

    @property
    def _yes(self) -> float:
        """The sign of the scores that speak for a yes, the second of two classes."""
        labels = self.learner.model.labels
        if len(labels) > 2:
            raise TypeError(f"a recommender answers by yes and no, or by ratings, and this has learned {len(labels)} classes")
        return float(sign(labels))

    def _within(self, f: np.ndarray, low: Any, high: Any) -> np.ndarray:
        """Return predictions for scores: probabilities, or what lies within the scale known so far."""
        if self.yes_no:
            return np.asarray(1.0 / (1.0 + np.array([exp(-v) for v in (self._yes * f).tolist()])))
        return clipped(f, *self._bounds(low, high))

    def answers(self, f: np.ndarray) -> np.ndarray:
        """Return the answers for scores: ratings within the scale, or labels."""
        found = super().answers(f)
        return found if self.yes_no else clipped(found, *self._bounds(*self._scale))

    def _pairs(self, places: np.ndarray) -> Rows:
        """Return users and items at these places as rows; a place below 0 is that of nobody."""
        places = places[:, ::-1] if item_first(self._own) else places  # as rows of the table are
        there = places >= 0 if places.dtype.kind == "i" else np.ones(places.shape, bool)
        indptr = np.concatenate([[0], np.cumsum(there.sum(1))])
        flat = places[there].astype(np.uint32)
        return Rows("csr", (indptr, flat, np.ones(len(flat))), len(places), self.learner.model.features.size)

    def _scored(self, places: np.ndarray) -> np.ndarray:
        """Return the predictions for pairs of places."""
        f = np.asarray(self.learner.model.score(self._pairs(places)))[:, 0]
        return self._within(f, *self._scale)

    def predict_one(self, user: Any, item: Any) -> float:  # type: ignore[override]
        """Return the rating that a user would give, or the probability of a yes; either may be new."""
        return float(self.predict([user], [item])[0])

    def predict(self, users: Any, items: Any) -> np.ndarray:  # type: ignore[override]
        """Return the rating for each user and item."""
        self._learned()
        both = coded(sized(users), 0), coded(sized(items), 1)
        if len(both[0].codes) != len(both[1].codes):
            raise ValueError(
                f"expected as many users as items, got {plural(len(both[0].codes), 'user')}, {plural(len(both[1].codes), 'item')}"
            )
        found = [[at if (at := self._known(kind, one)) is not None else -1 for one in both[kind].names] for kind in (0, 1)]
        return self._scored(np.column_stack([np.array(found[k], np.int64)[both[k].codes] for k in (0, 1)]))

    def top(self, user: Any, n: int = 10, seen: bool = False) -> list[tuple[str, float]]:
        """Return the n items that a user would rate highest, best first, with ratings; those rated already only if `seen`."""
        self._learned()
        at = self._known(0, user)
        rated = set() if seen else self._rated_by(at)
        return self._best(
            rated, n, lambda items: self._scored(np.column_stack([np.full(len(items), -1 if at is None else at), items]))
        )

    def _best(self, rated: Collection[int], n: int, rate: Callable[[np.ndarray], np.ndarray]) -> list[tuple[str, float]]:
        """Return the n best of the items that are not among those rated, best first; `rate` has the ratings of places."""
        listed = self._listed()
        places = np.array(listed.places[1], np.int64)
        here = np.flatnonzero(~np.isin(places, list(rated)))
        f = rate(places[here])
        return [(listed.names[1][here[k]], float(f[k])) for k in np.argsort(-f, kind="stable")[:n].tolist()]

    def similar(self, item: Any, n: int = 10) -> list[tuple[str, float]]:
        """Return the n items whose factors point most nearly the same way, best first, with the cosine."""
        self._learned()
        learner: Any = self.learner
        if not hasattr(learner, "factors"):
            raise TypeError(f"{type(learner).__name__} has no factors: items are similar by those of fm_regressor or fm")
        at = self._known(1, item)
        if at is None:
            raise ValueError(f"item {item!r} has not been rated yet")
        listed = self._listed()
        places = np.array(listed.places[1])
        V = learner.factors()[places - int(has_bias(learner))]  # the constant comes first, and has no factors
        V = V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-300)
        own = int(np.flatnonzero(places == at)[0])
        near = V @ V[own]
        order = [k for k in np.argsort(-near, kind="stable").tolist() if k != own]
        return [(listed.names[1][k], float(near[k])) for k in order[:n]]

    def fold_in(self, ratings: Mapping[Any, Any], n: int = 10) -> list[tuple[str, float]]:
        """Return the top n for somebody who is not a user and has rated these items; nothing is learned."""
        self._learned()
        m: Any = self.learner.model
        if hasattr(m, "guessed"):
            known = {at: rating for item, rating in ratings.items() if (at := self._known(1, item)) is not None}
            given = np.array(list(known), np.int64), self._targets(list(known.values()))
            return self._best(known, n, lambda items: self._within(m.guessed(*given, items), *self._scale))
        other = copy.deepcopy(self)
        for _ in range(PASSES):
            for item, rating in ratings.items():
                other.learn_one(GUEST, item, rating)
        return other.top(GUEST, n)

    def _learned(self) -> None:
        if not self.n_seen_:
            raise not_learned(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_by_pairs": (None, None)}

    # ---- the rest ------------------------------------------------------------------------------------------------------
    def _settings(self) -> dict[str, Any]:
        user, item = self.columns
        return {"low": self.low, "high": self.high, "keep": self.keep, "user": user, "item": item}

    def clone(self) -> Self:
        """Return a recommender with the same parameters that has learned nothing."""
        return type(self)(self.learner.clone(), **self._settings())

    def reset(self) -> Self:
        """Forget everything learned; parameters stay."""
        learner = super().reset().learner
        self.__init__(learner, **self._settings())  # type: ignore[misc]
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        default = {"low": None, "high": None, "keep": True, "user": "user", "item": "item"}
        given = (f"{k}={v!r}" for k, v in self._settings().items() if v != default[k])
        return f"Recommender({', '.join([repr(self.learner), *given])})"

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return the table and the learner as they pack themselves, the scale, and who rated what."""
        meta, tensors = super().pack()
        self._rated_by(None)
        pairs = np.array([(u, i) for u, items in sorted(self._rated.items()) for i in sorted(items)], np.uint32).reshape(-1, 2)
        scale = self._scale if self._scale[0] <= self._scale[1] else None
        own = {"low": self.low, "high": self.high, "keep": self.keep, "scale": scale}
        return {**meta, "recommender": own}, {**tensors, "recommender.rated": pairs}

    @classmethod
    def restored(cls, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the recommender that was packed; check who rated what."""
        own, pairs = meta["recommender"], tensors.pop("recommender.rated")
        theirs = {k.removeprefix("front."): tensors.pop(k) for k in list(tensors) if k.startswith("front.")}
        front = Front.restored(meta["front"], theirs)
        expect(front.table is not None and len(front.table.categorical or ()) == 2, "columns of users and items", meta["front"])
        learner: Any = restored(meta, tensors)
        new = cls.of(front, learner)
        new.low, new.high, new.keep = own["low"], own["high"], bool(own["keep"])
        size = new.learner.model.features.size if new.learner.started else 0
        expect(pairs.dtype == np.uint32 and pairs.ndim == 2 and pairs.shape[1] == 2, "pairs of places", pairs.shape)
        expect(not pairs.size or int(pairs.max()) < size, f"places below {size}", pairs)
        if own["scale"] is not None:
            low, high = own["scale"]
            expect(low <= high, "a scale", own["scale"])
            new._scale = [float(low), float(high)]
        new._waiting = [pairs] if len(pairs) else []
        return new


def pairs_of(rows: Rows, table: Table) -> np.ndarray:
    """Return the numbers of the user and the item of each row; -1 for both unless both are there."""
    indptr, numbers, _ = rows.arrays
    out = np.full((rows.n, 2), -1, np.int64)
    whole = np.flatnonzero(np.diff(indptr) == 2)
    out[whole] = numbers[indptr[whole][:, None] + np.arange(2)]
    return out[:, ::-1] if item_first(table) else out


class Listed(NamedTuple):
    """All features by number, and of users and of items their names and places."""

    all: list[str]
    names: tuple[list[str], list[str]]
    places: tuple[list[int], list[int]]
