"""A forest: the model of a learner of trees. It has the methods of a Model, so that whatever a learner can do, a forest can."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from ..algorithm.params import check_options, same_value
from ..algorithm.rounds import SEEN
from ..calibration.coverage import continued
from ..engine.compiling import compiled
from ..files.json_values import Tensors, expect
from ..files.saved_tables import check_tally, features_meta, features_of, labels_meta, labels_of, names_tensors
from ..inputs.checking import Rows, sparse_row
from ..inputs.features import Columns, Features, Names, forget
from ..inputs.hashing import hash_name
from ..inputs.labels import Labels
from ..learners.calibrated import packed, restore, unpacked
from ..learners.task import Task
from ..learners.unstepped import Unstepped
from ..text import size as in_bytes
from .chances import first_chances
from .nodes import HEAD, LINKS, Grove, Rules, limit, node_bytes
from .runner import SPREADS, Manner, loops
from .trees import Trees, fill, read, trees_of

FIRST = 64  # nodes of a tree there is room for at first
FEW, LARGE = 1_000, 1 << 14  # a forest of nodes as large as this must have room for as many, or it is no use
FREE = ("class_weight", "coverage", "epochs", "max_bytes", "max_nodes", "shuffle")  # parameters that may change later
KEPT = {"span": np.float64, "clock": np.int64, "sums": np.float64, "ledger": np.float64}


class Forest(Unstepped):
    """The trees, and the tables and tally beside them."""

    filled = True  # the bytes of a node depend on the number of columns: new ones come row by row
    by_classes = False
    pairs_features = False
    dtype = np.dtype(np.float64)

    def __init__(self, learner: Any, features: Features, labels: Labels | None, sparse: bool = False) -> None:
        self.learner = type(learner)
        self.features, self.labels = features, labels
        self.many = labels is not None
        self.tally = np.zeros(5, np.int64)
        self.take(learner.get_params())
        self.wide, self.room = features.size, self.statistics
        self.check_room()
        self.begin()
        self.calibration = self.uncalibrated()

    @property
    def algorithm(self) -> Any:
        """What says whether scores are probabilities."""
        return self.learner

    def take(self, given: dict[str, Any]) -> None:
        """Check parameters, and use them."""
        check_options(given)
        if given["seed"] is None:
            raise ValueError("seed must be a whole number of at least 0: a forest draws by it, and a file must tell the draws")
        self.params = self.learner.parameters.resolve(given, self.features.size)
        self.given = given

    def begin(self) -> None:
        """Make new arrays, without nodes."""
        M, wide = int(self.params.trees), self.wide
        R, links = np.zeros((M, FIRST, self.width)), np.full((M, FIRST, LINKS), -1, np.int32)
        span, inv, mask, keys = np.zeros((2, wide)), np.zeros((M, wide)), np.zeros((M, wide)), np.zeros(wide, np.int64)
        clock, sums, ledger = np.zeros(2, np.int64), np.zeros(4), np.zeros((M, 3))
        self.grove = Grove(R, links, np.zeros(M, np.int64), span, inv, mask, keys, clock, sums, ledger, np.zeros(M, np.int64))
        self.look()
        self.relabel()

    # ---- sizes -------------------------------------------------------------------------------------------------------
    @property
    def task(self) -> Task:
        """The task of the learner."""
        found: Task = self.learner.task
        return found

    @property
    def manner(self) -> Manner:
        """How nodes learn and answer."""
        found: Manner = self.learner.manner
        return found

    @property
    def statistics(self) -> int:
        """Numbers that a node keeps of its rows."""
        return 2 if self.labels is None else max(len(self.labels), 1)

    @property
    def width(self) -> int:
        """Floats of a record."""
        return HEAD + self.room + 2 * self.wide

    @property
    def ready(self) -> int:
        """Columns that the trees know."""
        return int(self.met)

    @property
    def dims(self) -> dict[str, int]:
        """Sizes, as those of a Model."""
        return {"feature": max(self.features.size, 1), "class": 1 if self.labels is None else max(len(self.labels), 1)}

    def refresh(self) -> None:
        """Write the settings, and what there is room for, as the numbers that compiled code takes."""
        p = self.params
        alpha, noise, pure = (getattr(p, k, 0) for k in ("alpha", "noise", "split_pure"))
        most = (p.max_nodes or np.inf, p.max_bytes or np.inf)
        seed = np.uint64(int(self.given["seed"]) % (1 << 64)).astype(np.int64).item()  # its bits
        how = (p.step, float(alpha), float(noise), p.fading, bool(pure), p.scale, *most, seed)
        self.rules = Rules(*how, self.features.size, self.room, self.wide)

    def resize(self, nodes: int, room: int, wide: int) -> None:
        """Make room; nodes keep their places, and a new column is 0 in all of them."""
        g, old = self.grove, HEAD + self.room
        R = np.zeros((len(g.R), nodes, HEAD + room + 2 * wide))
        top = int(g.size.max())
        R[:, :top, :old] = g.R[:, :top, :old]
        for side in range(2):
            R[:, :top, HEAD + room + side * wide :][:, :, : self.wide] = g.R[:, :top, old + side * self.wide :][:, :, : self.wide]
        links = np.full((len(g.L), nodes, LINKS), -1, np.int32)
        links[:, :top] = g.L[:, :top]
        more = ((0, 0), (0, wide - self.wide))
        span, inv, mask = (np.pad(a, more) for a in (g.span, g.inv, g.mask))
        self.grove = g._replace(R=R, L=links, span=span, inv=inv, mask=mask, keys=np.pad(g.keys, more[1]))
        self.room, self.wide = room, wide
        self.refresh()

    def grow(self) -> None:
        """Make room for twice the nodes, as far as a tree may grow."""
        have = self.grove.R.shape[1]
        most = limit(self.rules, self.grove, max(int(self.tally[SEEN]), 2))
        self.resize(int(min(2 * have, max(most, have))), self.room, self.wide)

    def widen(self) -> None:
        """Follow new names: with room for a quarter more of them, and draws that go by their hashes."""
        d = self.features.size
        if d <= self.met:
            return
        try:
            self.check_room()
        except ValueError:
            forget(self.features, self.met - self.features.bias)
            raise
        if d > self.wide:
            self.resize(self.grove.R.shape[1], self.room, d + d // 4 if self.features.grows else d)
        self.look()

    def check_room(self) -> None:
        """Refuse columns for which trees of any use have no room."""
        d, M, most = self.features.size, int(self.params.trees), self.params.max_bytes or np.inf
        each = node_bytes(d, max(self.statistics, 2))
        room = most // (M * each)
        if each > LARGE and room < min(FEW, self.params.max_nodes or FEW):
            raise ValueError(
                f"{self.learner.__name__} keeps a box in every node: {d:,} columns take {in_bytes(each)} a node, so max_bytes="
                f"{int(most):,} has room for {int(room):,} nodes in each of {M} trees, and {FEW:,} are the least that is of use. "
                "Fold the columns into fewer (hash_bits=9), or choose some of them"
            )

    def look(self) -> None:
        """Let each tree choose the columns it looks at, among those known now; draws go by names, or by numbers."""
        self.refresh()
        g, d = self.grove, self.features.size
        names = self.features.names if isinstance(self.features, (Columns, Names)) else None
        g.keys[:d] = np.arange(d) if names is None else [hash_name(name) for name in names]
        few = self.params.max_features
        if 0 < few < d:
            u = np.empty((len(g.mask), d))
            compiled(first_chances)(self.rules.seed, g.keys, u)
            order = np.lexsort((np.broadcast_to(g.keys[:d], u.shape), u))
            g.mask[:, :d] = 0.0
            np.put_along_axis(g.mask, order[:, : int(few)], 1.0, axis=1)
        else:
            g.mask[:, :d] = 1.0
        ranges = g.span[1] - g.span[0] if self.params.scale else np.ones(self.wide)
        g.inv[:] = np.divide(g.mask, ranges, out=np.zeros_like(g.mask), where=ranges >= np.finfo(np.float64).tiny)
        self.met = d

    # ---- changes -----------------------------------------------------------------------------------------------------
    def relabel(self) -> None:
        """Follow new labels."""
        if self.labels is not None and self.labels.declared:
            self.tally[SEEN] = len(self.labels)
        if self.statistics > self.room:
            self.resize(self.grove.R.shape[1], self.statistics, self.wide)

    def expect(self, new: int) -> None:
        """Take any label: it makes nodes larger, and trees stop growing earlier."""

    def retune(self, given: dict[str, Any]) -> None:
        """Use new parameters from now on."""
        if not all(same_value(v, self.given.get(k)) for k, v in given.items() if k not in FREE):
            free = ", ".join(k for k in FREE if k in self.learner.defaults)
            raise ValueError(f"only {free} can change once trees have grown: call reset() first, or make a new learner")
        self.take(given)
        self.refresh()
        self.calibration = continued(self.calibration, self.uncalibrated())

    # ---- running -----------------------------------------------------------------------------------------------------
    def learn(self, rows: Rows, y: np.ndarray, c: np.ndarray | None) -> np.ndarray:
        """Answer, then learn, each row in order; return the answers from before each update."""
        n, columns = rows.n, self.dims["class"]
        out, c = np.empty((n, columns)), np.ones(n) if c is None else c
        scratch = (np.empty(self.features.size), np.empty((len(self.grove.size), columns)), out)
        run, at = loops(self.manner, rows.layout).learn, 0
        while (at := run(*self.grove, *self.rules, *rows.arrays, c, y, at, self.tally, *scratch)) < n:
            self.grow()
        self.calibrate(out, y, c)
        return out

    def learn_row(self, idx: np.ndarray, values: np.ndarray, y: float, c: float = 1.0) -> np.ndarray:
        """Do the same with one sparse row."""
        target = np.array([y], np.int64 if self.many else np.float64)
        return self.learn(sparse_row(idx, values), target, None if c == 1.0 else np.array([c]))[0]

    def score(self, rows: Rows) -> np.ndarray:
        """Return the answers; nothing changes, in any number of threads."""
        return self.answered(rows, self.manner, self.dims["class"])

    def spread(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return means and standard deviations."""
        mean, square = self.answered(rows, SPREADS, 2).T
        return mean, np.sqrt(np.maximum(square - mean * mean, 0.0))

    def answered(self, rows: Rows, manner: Manner, columns: int) -> np.ndarray:
        """Return what the experts of a kind answer."""
        out = np.empty((rows.n, columns))
        scratch = (np.empty(self.features.size), np.empty((len(self.grove.size), columns)), out)
        loops(manner, rows.layout).predict(*self.grove, *self.rules, *rows.arrays, self.tally, *scratch)
        return out

    def score_row(self, idx: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the answer to one sparse row."""
        return self.score(sparse_row(idx, values))[0]

    # ---- reading -----------------------------------------------------------------------------------------------------
    @property
    def state(self) -> Trees:
        """The nodes of all trees, field by field."""
        return trees_of(self.grove, self.features.size, self.statistics, self.room, self.wide)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array that has a meaning between rounds."""
        g = self.grove
        top = int(g.size.max())
        return {"numbers": g.R[:, :top], "links": g.L[:, :top], "size": g.size, **{k: getattr(g, k) for k in KEPT}}

    def used(self) -> dict[str, np.ndarray]:
        """Return what files hold: arrays without spare room."""
        g = self.grove
        kept = {k: getattr(g, k) for k in KEPT}
        return {**self.state._asdict(), **kept, "span": g.span[:, : self.features.size]}

    def nonzeros(self) -> None:
        """Return None: there is no weight vector."""

    def weights(self) -> np.ndarray:
        """Refuse: there is no weight vector."""
        raise AttributeError(f"coef_: {self.learner.__name__} does not answer with weights; see importances_")

    # ---- files -------------------------------------------------------------------------------------------------------
    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return the forest as metadata and tensors."""
        meta = {"features": features_meta(self.features), "labels": labels_meta(self.labels)}
        tensors = {f"state.{k}": np.ascontiguousarray(a) for k, a in self.used().items()}
        return packed(self.calibration, meta, {"tally": self.tally, **names_tensors(self.features), **tensors})

    @classmethod
    def restored(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the packed forest of a learner; check every array."""
        features, labels = features_of(meta["features"], tensors.pop("features", None)), labels_of(meta["labels"])
        expect((labels is not None) == learner.task.labelled, "labels where the task has them", meta["labels"])
        expect(not features.bias, "no constant feature", features.bias)
        m = cls(learner, features, labels)
        restore(m.calibration, meta, unpacked(tensors), m.known)
        tally = tensors.pop("tally")
        check_tally(tally, m.tally, labels, m.many)
        m.tally[:] = tally
        trees = read(tensors, len(m.grove.size), features.size, m.statistics, m.many)
        top = int(np.bincount(trees.tree).max())
        m.resize(max(top, FIRST), m.room, m.wide)
        fill(m.grove, trees, m.room, m.wide)
        for k, kind in KEPT.items():
            a, found = getattr(m.grove, k), tensors.pop(f"state.{k}")
            expect(found.dtype == kind and found.shape == a.shape, f"{k} of shape {a.shape}", found.shape)
            expect(bool(np.isfinite(found).all()) and (k == "span" or bool((found >= 0).all())), f"finite numbers in {k}", found)
            a[:] = found
        expect(not tensors, "no other tensors", sorted(tensors))
        m.look()
        return m

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__.update(d)
        self.tally = np.array(self.tally)
        self.grove = Grove(*map(np.array, self.grove))  # a memory map is read-only
        self.calibration = copy.deepcopy(self.calibration)
