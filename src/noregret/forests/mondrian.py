"""Aggregated Mondrian forests. Trees whose cuts are drawn without a look at the labels, and all of whose prunings are weighed.

Lakshminarayanan, Roy, Teh (2014), *Mondrian forests: efficient online random forests*; Mourtada, Gaiffas, Scornet (2021), *AMF:
aggregated Mondrian forests for online learning*; Willems, Shtarkov, Tjalkens (1995), *The context-tree weighting method*.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.params import Optional, Positive, Share, Switch, WholeRange
from ..algorithm.rounds import SEEN
from ..inputs import checking
from ..learners.learner import Learner
from ..tasks.classification import COSTS, Classifier
from ..tasks.regression import Regressor
from .forest import Forest
from .guarantee import Guarantee, of_labels, of_targets
from .nodes import limit, node_bytes
from .runner import CLASSES, REALS
from .trees import important, levels

Whole = Annotated[Any, WholeRange(1.0, math.inf, "[)"), None]
Trees = Annotated[float, WholeRange(1.0, 4096.0, "[]")]


class Params(NamedTuple):
    """MondrianForest."""

    trees: Trees = 10
    step: Positive = 1.0
    alpha: Optional = None
    split_pure: Switch = False
    scale: Switch = True
    max_features: Whole = None
    max_nodes: Whole = None
    max_bytes: Whole = 1 << 30
    fading: Share = 1.0


class RealParams(NamedTuple):
    """MondrianForestRegressor."""

    trees: Trees = 10
    step: Positive = 1.0
    noise: Optional = None
    scale: Switch = True
    max_features: Whole = None
    max_nodes: Whole = None
    max_bytes: Whole = 1 << 30
    fading: Share = 1.0


class OfTrees(Learner):
    """What can be read back from a forest."""

    model_class: ClassVar[Any] = Forest
    merges = "none"
    no_merge = "two trees have no common refinement whose weights are exact; average the answers of forests instead"
    grows = True
    draws = True  # by the names of features, or by their numbers
    dtype = "float64"

    @property
    def n_nodes_(self) -> int:
        """Nodes of all trees."""
        return int(self.model.grove.size.sum())

    @property
    def depth_(self) -> int:
        """Cuts from the root to the deepest leaf of all trees."""
        return len(levels(self.state)) - 1

    @property
    def nbytes_(self) -> int:
        """Bytes of the nodes."""
        m = self.model
        return self.n_nodes_ * node_bytes(m.features.size, max(m.statistics, 2))

    @property
    def full_(self) -> bool:
        """Whether a tree has as many nodes as it may: it is cut no more, and learns in the nodes it has."""
        m = self.model
        return bool((m.grove.size + 2 > limit(m.rules, m.grove, max(int(m.tally[SEEN]), 2))).any())

    @property
    def importances_(self) -> np.ndarray:
        """How much of the loss the cuts on each column save, as shares."""
        return important(self.state, self.model.features.size)

    def tree_report(self, top: int = 10) -> dict[str, Any]:
        """Return figures of the trees, and the numbers of the columns whose cuts save most of the loss."""
        found = self.importances_
        best = [int(j) for j in np.argsort(-found, kind="stable")[:top] if found[j] > 0.0]
        sizes = {"nodes": self.n_nodes_, "depth": self.depth_, "bytes": self.nbytes_, "full": self.full_}
        return {"trees": int(self.trees), **sizes, "top": [{"column": j, "importance": float(found[j])} for j in best]}


class MondrianForest(OfTrees, Classifier):
    """Random trees that grow with the rows; every node predicts, and all prunings of a tree are weighed by their losses.

    A node splits its box at an exponential time whose rate is how far a new row is outside of it, at a place in the gap. It
    predicts p(k) = (n_k + alpha)/(n + alpha K) and pays -ln p(y) before each row is counted. With W = e^(-step L) in a leaf and
    W = e^(-step L)/2 + W_left W_right/2 elsewhere, the root's W is the sum over all prunings, and a tree answers by their mixture,
    exactly; the forest answers with the mean of its trees.

    Parameters: `trees`; `step` > 0, the learning rate; `alpha` > 0, 1/K unless given: less for many clean classes; `split_pure`:
    split nodes that know one label alone; `scale`: measure columns in ranges seen so far; `max_features` columns that a tree looks
    at; `max_nodes` of a tree and `max_bytes` of all nodes (None: no limit), from where on trees are cut no more and learn in the
    nodes they have; `fading` of the counts at each visit.

    Read back: `predict_proba`, `importances_`, `n_nodes_`, `depth_`, `full_`, `nbytes_`, `state`, `bound()`.

    Bound: the log loss of a tree is at most that of its best pruning, plus ln 2 for each node of it that could be split, plus the
    price of the cuts, which `bound()` tells.

    Pitfalls: every node keeps a box of all columns, so this is for tables, not for text. Renamed columns, or the columns of an
    array in another order, give another draw of the trees. A row of weight 2 is not two rows.

    Mourtada, Gaiffas, Scornet (2021), algorithms 1 to 4; Lakshminarayanan, Roy, Teh (2014), algorithms 3 and 4.

    >>> import noregret as nr
    >>> X = [[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)] * 20
    >>> m = nr.MondrianForest(seed=1).fit(X, [int(a != b) for a, b in X])
    >>> m.predict([[0.1, 0.9], [0.9, 0.9]]).tolist(), m.predict_proba([[0.1, 0.9]]).round(2).tolist()
    ([1, 0], [[0.04, 0.96]])
    """

    name = "mondrian_forest"
    cite = "mourtada2021"
    Params: ClassVar[Any] = Params
    manner: ClassVar[Any] = CLASSES
    link: ClassVar[str] = "probabilities"
    without: ClassVar[tuple[str, ...]] = ("fit_intercept", "average", "dtype", *COSTS)

    def bound(self) -> Guarantee:
        """Return the losses of the trees and what bounds them, for a stream without weights and with all classes declared."""
        return of_labels(self.model)


class MondrianForestRegressor(OfTrees, Regressor):
    """Random trees that grow with the rows; every node answers with its mean, and all prunings of a tree are weighed.

    As MondrianForest, with the loss (mean - y)^2/2 in a node and the rate step/q, q the mean squared error of the forest so far:
    where that has changed by a factor of two, all weights are computed again. So the unit of the target does not matter.

    Parameters: `trees`; `step` > 0; `noise` > 0 fixes q; `scale`, `max_features`, `max_nodes`, `max_bytes` and `fading` as those
    of MondrianForest.

    Read back: `predict_spread`, `importances_`, `n_nodes_`, `depth_`, `full_`, `nbytes_`, `state`, `bound()`.

    Bound: that of MondrianForest for the square loss, where `noise` is given and the rate times the largest squared error of a node
    is at most 1. With a measured q there is none.

    Pitfalls: every row that differs from all others makes two nodes in each tree, so memory grows until `max_bytes` is reached. An
    answer is within the range of the targets: there is no extrapolation.

    Mourtada, Gaiffas, Scornet (2021), algorithms 1 to 4; the rate by the error so far is this library's.

    >>> import noregret as nr
    >>> X = [[a / 50.0] for a in range(50)] * 4
    >>> m = nr.MondrianForestRegressor().fit(X, [100.0 * abs(a - 0.5) for a, in X])
    >>> m.predict([[0.1], [0.5]]).round().tolist()
    [40.0, 1.0]
    """

    name = "mondrian_forest_regressor"
    cite = "mourtada2021"
    Params: ClassVar[Any] = RealParams
    manner: ClassVar[Any] = REALS
    loss = "square"
    without: ClassVar[tuple[str, ...]] = ("fit_intercept", "average", "dtype")

    def targets(self, y: Any, n: int) -> np.ndarray:
        """Return the targets, checked: sums of their squares must stay finite."""
        return checking.refuse_large(super().targets(y, n))

    def predict_spread(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the standard deviation of the target of each row, as the nodes and trees see it."""
        mean, deviation = self.model.spread(self._placed(X))
        return mean, deviation

    def bound(self) -> Guarantee:
        """Return the losses of the trees and what bounds them, for a stream without weights and with `noise` given."""
        return of_targets(self.model)
