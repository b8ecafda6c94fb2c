"""The attributes of a learner with a kernel: support vectors, their coefficients, how large it can become."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..algorithm.kernel_options import of_objects
from ..spaces.expansion import Expansion, Unbounded
from ..spaces.support_vectors import Function, Objects


class KernelInterface:
    """Attributes and methods of learners with a kernel."""

    grows: ClassVar[bool]
    merges: ClassVar[str]
    policy: ClassVar[Any]

    if TYPE_CHECKING:
        model: Any

    @property
    def _of_objects(self) -> bool:
        """Whether examples may be any objects: the kernel is a function of two of them."""
        return of_objects(self.__dict__.get("kernel"))

    def _expansion(self) -> Expansion:
        w = self.model.state[0]
        if not isinstance(w, Expansion):
            raise AttributeError("this model has weights and no support vectors: see coef_, or give a kernel=")
        return w

    @property
    def support_vectors_(self) -> Any:
        """The examples kept, oldest first: an array, a CSR matrix where rows were sparse, a list where they are objects."""
        w, features = self._expansion(), self.model.features
        found = w.S.vectors(w.order(), features.size)
        return found[:, np.arange(features.size) != features.constant] if features.bias else found

    @property
    def dual_coef_(self) -> np.ndarray:
        """The coefficients of the support vectors, oldest first, in the form of `coef_`."""
        return self._oriented(self._expansion().coefficients())

    @property
    def n_support_(self) -> int:
        """Support vectors kept."""
        return int(self._expansion().size[0])

    def support_report(self, top: int = 10) -> dict[str, Any]:
        """Return figures of the model: kernel, budget, bytes, vectors per class, and those of the largest coefficients.

        A vector is named by the number of the addition that brought it, from 0. It supports the class of its largest
        coefficient: of two classes, by its sign; real targets have none. Where vectors vote, those of the most votes come first.

        >>> import noregret as nr
        >>> m = nr.Perceptron(kernel=nr.RBF(0.5), budget=nr.RemoveOldest(2)).fit([[0], [1], [3], [4]], ["a", "b", "a", "b"])
        >>> said = m.support_report(top=1)
        >>> said["kernel"], said["budget"], said["vectors"], said["additions"], said["by_class"]
        ('RBF(gamma=0.5)', 'RemoveOldest(B=2)', 2, 4, {'a': 1, 'b': 1})
        >>> said["top"]
        [{'addition': 2, 'class': 'a', 'coefficient': -1.0}]
        """
        w, order = self._expansion(), self._expansion().order()
        A = np.atleast_2d(self.dual_coef_)
        classes: Any = self.classes_.tolist() if hasattr(self, "classes_") else None
        own, coefficients = (A.argmax(0), A.max(0)) if len(A) > 1 else ((A[0] > 0.0).astype(np.int64), A[0])
        if classes is not None:
            own = np.minimum(own, len(classes) - 1)  # the second class may still be to come
        votes = getattr(w.past, "votes", None)
        large = (A**2).sum(0) if votes is None else votes[order]
        rows = []
        for i in np.argsort(-large, kind="stable")[:top]:
            row: dict[str, Any] = {"addition": int(w.born[order[i]])}
            row |= {} if classes is None else {"class": classes[own[i]]}
            row |= {"coefficient": float(coefficients[i])}
            row |= {} if votes is None else {"votes": int(votes[order[i]])}
            rows.append(row | ({"object": w.S.sv[order[i]]} if isinstance(w.S, Objects) else {}))
        return {
            "kernel": in_words(w.kernel),
            "budget": None if isinstance(w.budget, Unbounded) else in_words(w.budget),
            "vectors": len(order),
            "additions": int(w.size[1]),
            "bytes": sum(a.nbytes for a in self.model.arrays().values()),
            "by_class": None if classes is None else {c: int((own == k).sum()) for k, c in enumerate(classes)},
            "top": rows,
        }

    def _oriented(self, w: np.ndarray) -> np.ndarray:
        """Return what has a row per class as a reader sees it."""
        return np.asarray(w[0])

    @property
    def bounded(self) -> bool:
        """Whether memory stays within bounds however many rows are learned from."""
        if self.__dict__.get("kernel") is not None and self.policy is None:
            return self.__dict__.get("budget") is not None
        return not self.grows

    @property
    def merging(self) -> str:
        """How two of these are merged: expansions not at all, as what to keep would have to be chosen again."""
        return "none" if getattr(self, "kernel", None) is not None else self.merges


def in_words(part: Any) -> str:
    """Return a kernel or budget in use as text, without fields that have no value."""
    if isinstance(part, Function):
        return repr(part.k) if isinstance(part.k, tuple) else getattr(part.k, "__name__", repr(part.k))
    unset = {k for k, v in part._asdict().items() if math.isinf(v) or (v == 0.0 and part._field_defaults[k] is None)}
    return f"{type(part).__name__}({', '.join(f'{k}={v:.12g}' for k, v in part._asdict().items() if k not in unset)})"
