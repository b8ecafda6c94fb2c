"""A model: what learning makes. The state, its sizes, the tables of features and labels, the tally; made at the first example."""

from __future__ import annotations

import contextlib
import copy
import math
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..algorithm.kernel_options import described
from ..algorithm.params import depends_on_width
from ..algorithm.rounds import EXAMPLES, SEEN, TIE, UnitCost
from ..algorithm.state import Dims, Slot, leaves, settle, squares, tmap
from ..calibration.coverage import continued
from ..engine import compiling
from ..files import packing
from ..files.json_values import Tensors, expect
from ..files.saved_tables import check_tally, features_meta, features_of, labels_meta, labels_of, names_tensors
from ..inputs.checking import Rows, sparse_row
from ..inputs.features import Features
from ..inputs.labels import Labels
from .calibrated import Calibrated, packed, restore, unpacked, wish
from .drivers import Drivers, Job, Text, drivers, flatten
from .held import Held
from .merging import unite_features, unite_labels
from .overflow import HARMLESS, unharmed
from .task import Task

if TYPE_CHECKING:
    from .learner import Learner

EVENT = struct.Struct("=IId")


class Model(Calibrated, Held):
    """The one code path: all learning ends in `learn` or `learn_row`, all predicting in `score` or `score_row`."""

    column = "class"  # the axis of which the weights of a feature have a cell each
    fixed = ("classes", "dtype", "fit_intercept", "groups", "hash_bits", "kernel", "budget")
    derived = ("args", "harmless", "keeps_rows", "loops", "one", "scratch", "work")

    def __init__(self, learner: Learner, features: Features, labels: Labels | None, sparse: bool = False) -> None:
        self.features = features
        self.labels = labels
        self.sparse = sparse  # whether the first rows were: what is kept of rows then is kept as non-zeros
        self.cost: Any = UnitCost()
        self.many = False
        super().__init__(learner)
        self.filled = depends_on_width(self.params)
        self.calibration = self.uncalibrated()

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return self.features.size

    def sizes(self) -> Dims:
        """Return the initial sizes of the axes."""
        sizes: Dims = {"feature": max(self.features.size, 1), "class": 1, "slot": 0, "cell": 0, "two": 2, **super().sizes()}
        w = self.spec[0]
        return sizes | (w.first_sizes(self.features.grows) if hasattr(w, "first_sizes") else {})

    def prepare(self) -> None:
        """Shape new arrays: a row for each class, if there are many."""
        w = self.spec[0]
        self.of_objects = bool(getattr(w, "of_objects", False))  # whether what is kept are Python objects
        self.by_classes = bool(getattr(w, "by_classes", False))  # whether it matters to what is kept how many classes are known
        self.relabel()

    def begin(self) -> None:
        """Set new arrays to their starting values."""
        super().begin()
        self.ready = 0
        self.join()

    def described(self, given: dict[str, Any], params: Any, more: int = 0) -> Any:
        """Return the description of the state under these parameters, with `more` additional labels."""
        labels = 0 if self.labels is None else len(self.labels)
        return described(self.algorithm, given, params, self.sparse, self.features.size, labels + more)

    # ---- sizes -------------------------------------------------------------------------------------------------------
    def refresh(self) -> None:
        """Derive flat arguments, one-row buffers and drivers from new arrays."""
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
        self.harmless = HARMLESS[self.dtype.itemsize]
        K = self.dims["class"]
        self.keeps_rows = hasattr(self.state[0], "left")
        self.work = np.zeros((2, K))
        self.one = (np.zeros(2, np.int64), np.zeros(1, np.int64 if self.many else np.float64), np.zeros((1, K)))

    def widen(self) -> None:
        """Make room for new names, and for as many again."""
        size = self.features.size
        if size > self.dims["feature"]:
            self.resize(feature=max(size, 2 * self.dims["feature"]))
        self.join()
        if self.filled:
            self.params = self.learner.parameters.resolve(self.given, size)
            self.refresh()

    def join(self) -> None:
        """Call the learner's `arrange` for new features; without one every allocated column is ready."""
        if self.algorithm.arrange is None:
            self.ready = self.dims["feature"]
        elif self.features.size > self.ready:
            self.algorithm.arrange(self, self.ready)
            self.ready = self.features.size

    def forget(self) -> None:
        """Start over with the current sizes and counts."""
        super().forget()
        self.calibration = self.uncalibrated()

    def retune(self, given: dict[str, Any]) -> None:
        """Use new parameters from now on; probabilities that are asked for now begin now."""
        asked = wish(self.given)
        super().retune(given)
        if wish(given) != asked:
            self.calibration = continued(self.calibration, self.uncalibrated())
        if self.many and self.labels is not None:
            self.cost = self.task.costs(self.algorithm, given, self.labels)
            self.refresh()

    # ---- classes -----------------------------------------------------------------------------------------------------
    def relabel(self) -> None:
        """Follow new labels: a row of weights for each, if there are many."""
        labels = self.labels
        if labels is None or (self.many and self.dims["class"] == len(labels)):
            return
        if not self.many:
            self.tally[TIE] = labels.tie
            if labels.declared:
                self.tally[SEEN] = 3
        if self.many or len(labels) > 2 or self.algorithm.by_rows or self.given.get("cost") is not None:
            self.spread()

    def spread(self) -> None:
        """Go from one score to a row per class (what was learned is kept), or add rows."""
        labels = self.labels
        assert labels is not None
        cost = self.task.costs(self.algorithm, self.given, labels)
        first = not self.many
        fresh = self.tally[EXAMPLES] == 0
        self.many = True
        grown = {**self.dims, "class": max(len(labels), 1), **self.retrench()}
        self.afford(grown)
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
        """Drop support vectors until a budget in bytes holds, as a new class enlarges each of them; return the new sizes."""
        if not self.by_classes:
            return {}
        self.spec = self.described(self.given, self.params)
        self.state = tmap(lambda _, a: a, self.spec, self.state)
        found: Dims = self.state[0].fewer()
        return found

    def expect(self, new: int) -> None:
        """Refuse labels for which a budget in bytes, or the machine, has no room."""
        if self.by_classes:
            self.described(self.given, self.params, new)
        if self.labels is not None and len(self.labels) + new > 2:
            self.afford({**self.dims, "class": len(self.labels) + new})

    @property
    def pairs_features(self) -> bool:
        """Whether there is a cell for every pair of features."""
        return squares(self.spec, self.dims) > 0.0

    @property
    def task(self) -> Task:
        """The kind of problem."""
        found: Task = self.learner.task
        return found

    @property
    def text(self) -> Text:
        """The loops over rows."""
        return self.task.loops(self.many)

    def fork(self) -> Self:
        """Return an independent copy."""
        m = super().fork()
        m.features, m.labels = copy.deepcopy(m.features), copy.deepcopy(m.labels)
        return m

    def unite(self, models: list[Self]) -> tuple[list[Self], list[dict[str, Any]]]:
        """Make room for the features and labels of models; return them, all with one score or all with a row per class."""
        if any(m.dims[axis] != n for m in models for axis, n in self.dims.items() if axis not in ("feature", "class", self.column)):
            raise ValueError("cannot merge models that keep different numbers of targets or rows")
        features = [None, *(unite_features(self, m) for m in models[1:])]
        models, codes = unite_labels(self, models)
        if self.many:
            self.tally[SEEN] = max(int(self.tally[SEEN]), *(c + 1 for found in codes for c in found or ()))
        else:
            self.tally[SEEN] = np.bitwise_or.reduce([m.tally[SEEN] for m in models])
        rows = [None if not self.many or found == list(range(len(found or ()))) else found for found in codes]
        return models, [{"feature": f, "class": r} for f, r in zip(features, rows, strict=True)]

    # ---- running -----------------------------------------------------------------------------------------------------
    def loop(self, layout: str, weighted: bool) -> Drivers:
        """Return the drivers for a layout; numba is imported here, at first use."""
        found = self.loops.get((layout, weighted))
        if found is None:
            found = self.loops[layout, weighted] = drivers(self.job(), layout, weighted)
        return found

    def job(self, **other: Any) -> Job:
        """Return what decides the text of the drivers; `other` takes the place of the step, the score, ..."""
        a, bias = self.algorithm, self.features.bias
        share = a.share if self.many and a.share is not None and a.shares(self.params) else None
        trees = (self.state, self.params, self.cost)
        flags = (self.labels is not None, self.many, bias, self.of_objects)
        return Job(self.text, a.name, a.step, a.score_row, share, *trees, *flags)._replace(**other)

    def unharmed(self, rows: Rows) -> contextlib.AbstractContextManager[None]:
        """Restore everything if learning from these rows fails inside this block, as no check can foresee."""
        return self._kernel_may_fail() if self.of_objects else unharmed(self, rows)

    @contextlib.contextmanager
    def _kernel_may_fail(self) -> Iterator[None]:
        before = copy.copy(self)
        before.labels = copy.deepcopy(self.labels)
        try:
            yield
        except BaseException:
            self.__dict__.update(before.__dict__)
            raise

    def overflowed(self) -> bool:
        """Return whether the state has a number that is not finite, or a variance that is not one."""
        for _, slot, a in leaves(self.spec, self.state):
            if a.dtype.kind == "f" and not slot.scratch and not (np.isfinite(a) | (slot.squares & (a == np.inf))).all():
                return True
        return any(not (w.variances() >= 0.0).all() for w in self.state if hasattr(w, "variances"))

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
                raise compiling.plainly(e, self.algorithm.step) from None
            a = b
        self.calibrate(out, y, c)
        return out

    def learn_row(self, idx: np.ndarray, values: np.ndarray, y: float, c: float = 1.0) -> np.ndarray:
        """Do the same with one sparse row, usually without allocating."""
        indptr, target, out = self.one
        indptr[1] = len(idx)
        target[0] = y
        loop = self.loops.get(("csr", False)) or self.loop("csr", False)
        if c != 1.0 or self.keeps_rows or not loop.sum_of_sizes(values) <= self.harmless:
            row = sparse_row(idx, values)
            with self.unharmed(row):
                return self.learn(row, target, None if c == 1.0 else np.array([c]))[0]
        try:
            loop.learn(*self.args, indptr, idx, values, target, self.tally, self.work, out)
        except Exception as e:
            raise compiling.plainly(e, self.algorithm.step) from None
        self.calibrate(out, target, None)
        return out[0]

    def learner_of_pairs(self) -> Callable[[int, int, float], float] | None:
        """Return a function that learns the row with ones at two places, given its target, and returns its one score from before.

        It does what `learn_row` does in half the time, until `args` is another list; None where a row is not learned so simply.
        """
        if self.keeps_rows or self.calibration is not None or self.dims["class"] > 1:
            return None
        event = bytearray(16)  # two places and the target, written at once
        idx, target, out = np.frombuffer(event, np.uint32, 2), np.frombuffer(event, np.float64, 1, 8), self.one[2]
        args = (*self.args, np.array([0, 2]), idx, np.ones(2), target, self.tally, self.work, out)
        learn, write, read, step = (
            compiling.entry(self.loop("csr", False).learn, args),
            EVENT.pack_into,
            out.item,
            self.algorithm.step,
        )

        def learn_pair(i: int, j: int, y: float) -> float:
            write(event, 0, i, j, y)
            try:
                learn(*args)
            except Exception as e:
                raise compiling.plainly(e, step) from None
            found: float = read()
            return found

        return learn_pair

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
            return self.score(sparse_row(idx, values))[0]
        out = np.empty((1, self.dims["class"]))
        self.predict("csr", *self.args, indptr, idx, values, out)
        return out[0]

    def predict(self, layout: str, *given: Any) -> None:
        """Run the loop that predicts."""
        loop = self.loops.get((layout, False)) or self.loop(layout, False)
        try:
            loop.predict(*given)
        except Exception as e:
            raise compiling.plainly(e, self.learner.score_row or self.learner.step) from None

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
        cells = w.stored_cells(cells)
        fit = int(np.searchsorted(cells, room, side="right")) - 1
        b = a + int(min(float(fit), free, float(rows.n - a)))
        if b > a:
            return b
        self.resize(**w.enlarged(self.dims, free, room, int(cells[1])))
        return self.room(rows, a)

    # ---- reading -----------------------------------------------------------------------------------------------------
    def weights(self) -> np.ndarray:
        """Return the primal weights, one row per class (or one row), over the coordinates in use."""
        flat = (self.algorithm.primal or primal)(self.state, self.params)
        w = flat.reshape(-1, self.dims[self.column])[: self.features.size].T.astype(np.float64)
        if self.features.bias and hasattr(self.state[0], "constant"):
            w[:, self.features.constant] = self.state[0].constant()
        return w

    def nonzeros(self) -> int | None:
        """Return how many weights are not 0, None where there is no one weight vector."""
        return None if self.keeps_rows else int(np.count_nonzero(self.weights()))

    # ---- files -------------------------------------------------------------------------------------------------------
    def used_sizes(self) -> Dims:
        """Return the sizes of the axes without spare room for features."""
        return {**self.dims, "feature": max(self.features.size, 1)}

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return the model as JSON values and arrays without spare room."""
        meta, tensors = super().pack()
        tables = {"features": features_meta(self.features), "labels": labels_meta(self.labels)}
        own = {**meta, **tables, "many": self.many, "sparse": self.sparse}
        return packed(self.calibration, own, {**tensors, **names_tensors(self.features)})

    @classmethod
    def restored(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the packed model of a learner; check every size before allocating anything."""
        features, labels = features_of(meta["features"], tensors.pop("features", None)), labels_of(meta["labels"])
        tally, many, sparse = tensors.pop("tally"), meta["many"], meta.get("sparse", False)
        calibrated = unpacked(tensors)
        dims: Dims = dict(meta["dims"])
        for axis, before in learner.algorithm.formerly.items():
            if axis not in dims:
                dims[axis], dims[before] = dims[before], int(before == "class")  # of an axis that is not used
        expect(all(type(n) is int and n >= 0 for n in dims.values()), "sizes", dims)
        expect(dims["feature"] >= max(features.size, 1), f"room for {features.size} features", dims["feature"])
        expect((labels is not None) == learner.task.labelled, f"labels as {learner.task} has them", meta["labels"])
        rows = cls.rows_in(meta, labels)
        expect(type(many) is bool and dims[cls.column] == rows, f"{rows} rows of weights", dims[cls.column])
        expect(cls.column == "class" or dims["class"] == 1, "one score", dims["class"])
        expect(type(sparse) is bool, "whether the first rows were sparse", sparse)
        given, known = learner.get_params(), 0 if labels is None else len(labels)
        params = learner.parameters.resolve(given, features.size)
        spec = described(learner.algorithm, given, params, sparse, features.size, known)
        state = packing.unpacked(spec, tensors, dims, given["dtype"], features.size)
        m = cls(learner, features, None, sparse)
        expect(dims.keys() == m.dims.keys() and dims["two"] == 2, f"the sizes {sorted(m.dims)}", dims)
        check_tally(tally, m.tally, labels, many)
        m.labels, m.many, m.dims, m.tally, m.spec, m.state = labels, many, dims, tally, spec, state
        for w in state:
            inside = getattr(w, "inside", w)
            what = f"{getattr(inside, 'holds', 'places')} within their arrays"
            expect(not hasattr(inside, "sound") or inside.sound(dims), what, "others")
        m.ready = features.size if learner.arrange is not None else dims["feature"]
        m.retune(given)  # sizes in the parameters, costs, drivers
        m.calibration = m.uncalibrated()
        restore(m.calibration, meta, calibrated, known)
        return m

    @classmethod
    def rows_in(cls, meta: dict[str, Any], labels: Labels | None) -> int:
        """Return how many rows of weights a file must have."""
        return max(len(labels), 1) if labels is not None and meta["many"] else 1


def primal(s: Any, p: Any) -> np.ndarray:
    """Return the weights of a state as one flat vector, feature by feature."""
    w = s[0]
    if isinstance(w, np.ndarray):
        return w
    if hasattr(w, "kernel"):
        raise AttributeError("coef_: the weights are in the space of the kernel; see support_vectors_ and dual_coef_")
    if not hasattr(w, "primal"):
        raise AttributeError("coef_: this learner does not answer with one weight vector")
    found: np.ndarray = w.primal()
    return found
