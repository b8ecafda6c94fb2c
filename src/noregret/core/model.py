"""A model: what learning makes. The state, its sizes, the tables of features and labels, the tally; made at the first example."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import engine, packing
from .basis import described
from .drivers import Drivers, Job, drivers, flatten
from .expansion import Expansion
from .features import Features
from .inputs import FLOATS, Rows
from .json_values import Tensors, expect
from .labels import Labels
from .params import check_options, depends_on_width, resolve, same_value
from .rounds import EXAMPLES, SEEN, TIE, UnitCost
from .saved_tables import check_tally, features_of, features_said, labels_of, labels_said, names_said
from .sparse import Spared
from .state import COUNT, Slot, leaves, settle, slots, tmap
from .stores import Capped, Objects, Packed, Ragged
from .votes import Voted

if TYPE_CHECKING:
    from .learner import Learner

Dims = dict[str, int]


def first_sizes(w: Any) -> Dims:
    """Return the sizes of a new expansion: of a budget in bytes all, so that there are never two sets of arrays."""
    if capped(w):
        return {"slot": 0}  # all is divided when the first row is seen
    return {"slot": int(min(w.budget.B + 1.0, math.inf if w.budget.bytes else 64))}


def capped(w: Any) -> bool:
    """Return whether these are non-zeros on a budget in bytes."""
    return isinstance(w, Expansion) and isinstance(w.S, Ragged) and isinstance(w.S.cap, Capped)


class Model:
    """The one code path: all learning ends in `learn` or `learn_row`, all predicting in `score` or `score_row`."""

    def __init__(self, learner: Learner, features: Features, labels: Labels | None, sparse: bool = False) -> None:
        self.learner = type(learner)
        self.given = learner.get_params()
        self.features = features
        self.labels = labels
        self.dtype = np.dtype(self.given["dtype"])
        if self.dtype not in FLOATS:
            raise ValueError(f"dtype must be 'float64' or 'float32', got {self.given['dtype']!r}")
        check_options(self.given)
        self.params = resolve(self.learner.Params, self.given, features.size)
        self.sparse = sparse  # whether the first rows were: what is kept of rows then is kept as non-zeros
        self.spec = self.described(self.given, self.params)
        self.filled = depends_on_width(self.params)
        self.cost: Any = UnitCost()
        self.many = False
        self.tally = np.zeros(5, np.int64)
        self.dims: Dims = {"feature": max(features.size, 1), "class": 1, "slot": 0, "cell": 0, "two": 2}
        if isinstance(self.spec[0], Expansion):
            self.dims |= first_sizes(self.spec[0])
            if self.spec[0].budget.bytes and isinstance(self.spec[0].S, Packed) and features.grows:
                name = type(self.spec[0].budget).__name__
                raise ValueError(f"{name} keeps dense rows: in bytes it needs a fixed number of features; give {name}(B=...)")
        self.state = tmap(lambda slot: slot.new(self.dims, self.dtype), self.spec)
        self.relabel()
        if self.learner.start is not None:
            self.learner.start(self.state, self.params)
        self.ready = 0
        self.join()
        self.refresh()

    def described(self, given: dict[str, Any], params: Any, more: int = 0) -> Any:
        """Return the description of the state under these parameters, with so many labels more."""
        labels = 0 if self.labels is None else len(self.labels)
        return described(self.learner, given, params, self.sparse, self.features.size, labels + more)

    # ---- sizes -------------------------------------------------------------------------------------------------------
    def refresh(self) -> None:
        """Arrays were replaced: new flat arguments, one-row buffers and drivers follow."""
        found: list[tuple[str, Any]] = []
        slots: list[tuple[str, Any]] = []
        flatten(self.state, "s", found, {})
        flatten(self.spec, "s", slots, {})
        self.scratch = [i for i, (_, s) in enumerate(slots) if isinstance(s, Slot) and s.scratch]
        flatten(self.params, "p", found, {})
        flatten(self.cost, "r", found, {})
        self.args = [v for _, v in found]
        if self.features.bias:
            self.args.append(np.uintp(self.features.constant))
        self.loops: dict[tuple[str, bool], Drivers] = {}
        K = self.dims["class"]
        self.keeps_rows = isinstance(self.state[0], (Voted, Expansion))
        self.work = np.zeros((2, K))
        self.one = (np.zeros(2, np.int64), np.zeros(1, np.int64 if self.many else np.float64), np.zeros((1, K)))

    def resize(self, **sizes: int) -> None:
        """Grow features, classes or kept rows."""
        dims = {**self.dims, **sizes}
        if dims != self.dims:
            self.state = tmap(lambda slot, a: slot.grow(a, self.dims, dims), self.spec, self.state)
            self.dims = dims
            self.refresh()

    def widen(self) -> None:
        """Make room for new names, with as much to spare."""
        size = self.features.size
        if size > self.dims["feature"]:
            self.resize(feature=max(size, 2 * self.dims["feature"]))
        self.join()
        if self.filled:
            self.params = resolve(self.learner.Params, self.given, size)
            self.refresh()

    def join(self) -> None:
        """Let the learner arrange features that have come; without such a wish there is room for as many as fit."""
        if self.learner.arrange is None:
            self.ready = self.dims["feature"]
        elif self.features.size > self.ready:
            self.learner.arrange(self, self.ready)
            self.ready = self.features.size

    def forget(self) -> None:
        """Begin anew with the features, labels and counts there are."""
        self.state = tmap(lambda slot: slot.new(self.dims, self.dtype), self.spec)
        if self.learner.start is not None:
            self.learner.start(self.state, self.params)
        self.ready = 0
        self.join()
        self.refresh()

    def restart(self) -> None:
        """Let step sizes begin anew: the rounds that schedules count are set back."""
        for _, slot, a in leaves(self.spec, self.state):
            if slot == COUNT:
                a[:] = slot.fill

    def retune(self, given: dict[str, Any]) -> None:
        """Take new parameters for what is still to come."""
        check_options(given)
        params = resolve(self.learner.Params, given, self.features.size)
        spec = self.described(given, params)
        fixed = ("classes", "dtype", "fit_intercept", "groups", "hash_bits", "kernel", "budget")
        same = same_value(spec, self.spec)
        fits = same if self.given.get("kernel") is not None else slots(spec) == slots(self.spec)  # an expansion is its numbers too
        if not fits or not all(same_value(given.get(k), self.given.get(k)) for k in fixed):
            raise ValueError("these parameters need another kind of state: call reset() first, or make a new learner")
        if not same:  # numbers that weights are made with: what is held back acts with the old ones
            settle(self.state)
            self.spec, self.state = spec, tmap(lambda _, a: a, spec, self.state)
            settle(self.state)
        self.given, self.params = given, params
        if self.many and self.labels is not None:
            self.cost = self.learner.costs(given, self.labels)
        self.refresh()

    # ---- classes -----------------------------------------------------------------------------------------------------
    def relabel(self) -> None:
        """The labels changed, or are there for the first time: a row of weights for each, if there are many."""
        labels = self.labels
        if labels is None or (self.many and self.dims["class"] == len(labels)):
            return
        if not self.many:
            self.tally[TIE] = labels.tie
            if labels.declared:
                self.tally[SEEN] = 3
        if self.many or len(labels) > 2 or self.learner.by_rows or self.given.get("cost") is not None:
            self.spread()

    def spread(self) -> None:
        """Go from one score to a row per class (what was learned is kept), or add rows."""
        labels = self.labels
        assert labels is not None
        cost = self.learner.costs(self.given, labels)
        first = not self.many
        fresh = self.tally[EXAMPLES] == 0
        self.many = True
        grown = {**self.dims, "class": max(len(labels), 1), **self.retrench()}
        self.state = tmap(lambda slot, a: slot.grow(a, self.dims, grown), self.spec, self.state)
        self.dims = grown
        if first:
            if not fresh:
                settle(self.state)
                tmap(lambda slot, a: slot.split(a, grown, labels.positive), self.spec, self.state)
                settle(self.state)
            self.tally[SEEN] = len(labels) if labels.declared else 0 if fresh else 2
        self.cost = cost
        self.refresh()

    def retrench(self) -> Dims:
        """With more classes a vector takes more of a budget in bytes: let some go until all fit; return the new sizes."""
        if not self.by_classes:
            return {}
        self.spec = self.described(self.given, self.params)
        self.state = tmap(lambda _, a: a, self.spec, self.state)
        w = self.state[0]
        w.trim()
        if isinstance(w.S, Packed):
            return first_sizes(w)
        w.S.close_gaps(int(w.size[0]))
        slots, cells = w.S.cap.divided(int(w.size[0]), 0)
        return {"slot": slots, "cell": cells}

    def expect(self, new: int) -> None:
        """Refuse labels for which a budget in bytes has no room."""
        if self.by_classes:
            self.described(self.given, self.params, new)

    @property
    def of_objects(self) -> bool:
        """Whether what is kept are Python objects, compared by a Python function."""
        return isinstance(self.state[0], Expansion) and isinstance(self.state[0].S, Objects)

    @property
    def by_classes(self) -> bool:
        """Whether it matters to what is kept how many classes are known."""
        return isinstance(self.spec[0], Expansion) and bool(self.spec[0].budget.bytes)

    # ---- running -----------------------------------------------------------------------------------------------------
    def loop(self, layout: str, weighted: bool) -> Drivers:
        """Return the drivers for a layout; numba is imported here, at first use."""
        found = self.loops.get((layout, weighted))
        if found is None:
            cls = self.learner
            share = cls.share if self.many and cls.share is not None and cls.shares(self.params) else None
            job = Job(
                cls.name,
                cls.step,
                cls.score_row,
                share,
                self.state,
                self.params,
                self.cost,
                self.labels is not None,
                self.many,
                self.features.bias,
                self.of_objects,
            )
            found = self.loops[layout, weighted] = drivers(job, layout, weighted)
        return found

    @contextlib.contextmanager
    def unharmed(self) -> Iterator[None]:
        """Put everything back if a kernel of the user's own fails inside this block: no check can foresee it."""
        if not self.of_objects:
            yield
            return
        before = copy.copy(self)
        before.labels = copy.deepcopy(self.labels)
        try:
            yield
        except BaseException:
            self.__dict__.update(before.__dict__)
            raise

    def learn(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Predict, then learn, on each row in order; return the scores from before each update."""
        out = np.empty((rows.n, self.dims["class"]))
        a = 0
        while a < rows.n:
            b = self.room(rows, a)
            weights = () if c is None else (c[a:b],)
            chunk = rows.cut(a, b).arrays
            try:
                self.loop(rows.layout, c is not None).learn(*self.args, *chunk, *weights, y[a:b], self.tally, self.work, out[a:b])
            except Exception as e:
                raise engine.plainly(e, self.learner.step) from None
            a = b
        return out

    def learn_row(self, idx: np.ndarray, values: np.ndarray, y: float, c: float = 1.0) -> np.ndarray:
        """Do the same with one sparse row, without allocating."""
        indptr, target, out = self.one
        indptr[1] = len(idx)
        target[0] = y
        if c != 1.0 or self.keeps_rows:
            with self.unharmed():
                rows = Rows("csr", (indptr, idx, values), 1, 0)
                return self.learn(rows, target, None if c == 1.0 else np.array([c]))[0]
        loop = self.loops.get(("csr", False)) or self.loop("csr", False)
        try:
            loop.learn(*self.args, indptr, idx, values, target, self.tally, self.work, out)
        except Exception as e:
            raise engine.plainly(e, self.learner.step) from None
        return out[0]

    def score(self, rows: Rows) -> np.ndarray:
        """Return the scores; nothing changes, in any number of threads."""
        args = self.args
        if self.scratch:
            args = list(args)
            for i in self.scratch:
                args[i] = np.zeros(args[i].shape, args[i].dtype)  # pages of zeros from the system: nothing is written
        out = np.empty((rows.n, self.dims["class"]))
        self.predict(rows.layout, *args, *rows.arrays, out)
        return out

    def score_row(self, idx: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the scores of one sparse row."""
        indptr = np.array((0, len(idx)))
        if self.scratch:
            return self.score(Rows("csr", (indptr, idx, values), 1, 0))[0]
        out = np.empty((1, self.dims["class"]))
        self.predict("csr", *self.args, indptr, idx, values, out)
        return out[0]

    def predict(self, layout: str, *given: Any) -> None:
        """Run the loop that predicts."""
        loop = self.loops.get((layout, False)) or self.loop(layout, False)
        try:
            loop.predict(*given)
        except Exception as e:
            raise engine.plainly(e, self.learner.score_row or self.learner.step) from None

    def room(self, rows: Rows, a: int) -> int:
        """Return up to which row to run before a state that keeps rows must grow."""
        w = self.state[0]
        if not self.keeps_rows:
            return rows.n
        free, room = w.left()
        if free >= rows.n - a and room == math.inf:
            return rows.n
        stored = rows.stored()
        cells = stored[a:] - stored[a] + np.arange(rows.n - a + 1) * int(self.features.bias)
        if isinstance(w, Expansion) and capped(w):  # a row with more is not stored
            cells = np.concatenate([[0], np.cumsum(np.minimum(np.diff(cells), w.S.cap.spare // w.S.cap.cell))])
        fit = int(np.searchsorted(cells, room, side="right")) - 1
        b = a + int(min(float(fit), free, float(rows.n - a)))
        if b > a:
            return b
        self.enlarge(w, free, room, int(cells[1]))
        return self.room(rows, a)

    def enlarge(self, w: Any, free: float, room: float, cells: int) -> None:
        """Make room for another row of so many cells: where vectors have gone, or in larger arrays."""
        sizes = {}
        if capped(w):
            self.resize(**self.divided(w, cells))
            return
        if isinstance(w, Voted) or free <= 0:
            sizes["slot"] = max(64, 2 * self.dims["slot"])
        if isinstance(w, Voted) or room < cells:
            used = self.dims["cell"] - int(room)
            if isinstance(w, Expansion) and isinstance(w.S, Ragged):
                w.S.close_gaps(int(w.size[0]))
                used = int(w.S.used[0])
            if 2 * (used + cells) > self.dims["cell"]:
                sizes["cell"] = max(1024, 2 * self.dims["cell"], used + cells)
        if isinstance(w, Expansion) and "slot" in sizes:
            sizes["slot"] = int(min(sizes["slot"], w.budget.B + 1))
        self.resize(**sizes)

    def divided(self, w: Expansion, cells: int) -> Dims:
        """Return the sizes under a budget in bytes: those there are while they have half the room that others would."""
        n, cap = int(w.size[0]), w.S.cap
        w.S.close_gaps(n)
        slots, most = cap.divided(n, cells)
        live = int(cap.live[0])
        enough = 2 * (self.dims["slot"] - n) >= slots - n and 2 * (self.dims["cell"] - live) >= most - live
        return {} if enough and self.dims["cell"] - live >= cells else {"slot": slots, "cell": most}

    # ---- reading -----------------------------------------------------------------------------------------------------
    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array of the state that has a meaning between rounds, by its dotted path."""
        return {path: a for path, slot, a in leaves(self.spec, self.state) if not slot.scratch}

    def used(self) -> dict[str, np.ndarray]:
        """Return them without spare room, their axes apart."""
        dims = {**self.dims, "feature": max(self.features.size, 1)}
        found = ((path, slot, slot.grow(a, self.dims, dims)) for path, slot, a in leaves(self.spec, self.state) if not slot.scratch)
        return {path: slot.view(a, dims) for path, slot, a in found}

    def weights(self) -> np.ndarray:
        """Return the primal weights, one row per class (or one row), over the coordinates in use."""
        flat = self.learner.primal(self.state, self.params)
        w = flat.reshape(-1, self.dims["class"])[: self.features.size].T.astype(np.float64)
        if self.features.bias and isinstance(self.state[0], Spared):
            w[:, self.features.constant] = self.state[0].constant()
        return w

    def nonzeros(self) -> int | None:
        """Return how many weights are not 0, None where there is no one weight vector."""
        return None if self.keeps_rows else int(np.count_nonzero(self.weights()))

    # ---- files -------------------------------------------------------------------------------------------------------
    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return what the model is: JSON values, and its arrays without spare room."""
        dims = {k: int(n) for k, n in {**self.dims, "feature": max(self.features.size, 1)}.items()}
        said = {"features": features_said(self.features), "labels": labels_said(self.labels)}
        tensors = {"tally": self.tally, **names_said(self.features), **packing.packed(self.spec, self.state, self.dims, dims)}
        return {**said, "many": self.many, "dims": dims, "sparse": self.sparse}, tensors

    @classmethod
    def restored(cls, learner: Learner, said: dict[str, Any], tensors: Tensors) -> Self:
        """Return the model of a learner that was packed, every size checked before anything is allocated."""
        features, labels = features_of(said["features"], tensors.pop("features", None)), labels_of(said["labels"])
        tally, dims, many, sparse = tensors.pop("tally"), said["dims"], said["many"], said.get("sparse", False)
        expect(all(type(n) is int and n >= 0 for n in dims.values()), "sizes", dims)
        expect(dims["feature"] >= max(features.size, 1), f"room for {features.size} features", dims["feature"])
        expect((labels is not None) == (learner.task == "classification"), f"labels as {learner.task} has them", said["labels"])
        rows = cls.rows_in(said, labels)
        expect(type(many) is bool and dims["class"] == rows, f"{rows} rows of weights", dims["class"])
        expect(type(sparse) is bool, "whether the first rows were sparse", sparse)
        given, known = learner.get_params(), 0 if labels is None else len(labels)
        params = resolve(learner.Params, given, features.size)
        spec = described(type(learner), given, params, sparse, features.size, known)
        state = packing.unpacked(spec, tensors, dims, given["dtype"], features.size)
        m = cls(learner, features, None, sparse)
        expect(dims.keys() == m.dims.keys() and dims["two"] == 2, f"the sizes {sorted(m.dims)}", dims)
        check_tally(tally, m.tally, rows if many else 3)
        m.labels, m.many, m.dims, m.tally, m.spec, m.state = labels, many, dims, tally, spec, state
        for w in state:
            inside = w.w if isinstance(w, Spared) else w
            what = f"{getattr(inside, 'holds', 'places')} within their arrays"
            expect(not hasattr(inside, "sound") or inside.sound(dims), what, "others")
        m.ready = features.size if learner.arrange is not None else dims["feature"]
        m.retune(given)  # sizes in the parameters, costs, drivers
        return m

    @classmethod
    def rows_in(cls, said: dict[str, Any], labels: Labels | None) -> int:
        """Return how many rows of weights a file must have."""
        return max(len(labels), 1) if labels is not None and said["many"] else 1

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("args", "keeps_rows", "loops", "one", "scratch", "work")}

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__.update(d)
        self.tally = np.array(self.tally)
        self.state = tmap(lambda _, a: np.array(a), self.spec, self.state)  # a memory map is read-only
        self.refresh()
