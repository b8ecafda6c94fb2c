"""The model of `Experts`: their weights under a rule, what following them has cost, and their names."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np

from ..algorithm.params import Range, same_value
from ..algorithm.rounds import EXAMPLES
from ..allocations.allocation import Rounds
from ..engine.elementary import exp, log, over
from ..files.json_values import Tensors, expect
from .hedge import ALPHA
from .weighing import MIXTURES, RANGE, RULES, Weighing

LEAST = 1e-12  # a probability is kept as far from 0 and 1: one wrong certainty would remove an expert for ever
LOSSES = ("square", "absolute", "log", "zero_one")
RANGED = ("hedge", "fixed_share")  # rules whose theorem is for losses within a range of 1
FREE = ("eta", "alpha")  # parameters that may change later


class Council:
    """Weights over K experts. A round is a row of losses, or with a loss a row of advice and the truth."""

    def __init__(self, learner: Any, K: int, names: list[str] | None = None) -> None:
        self.learner = type(learner)
        self.K, self.names = K, names
        self.tally = np.zeros(5, np.int64)
        self.take(learner.get_params())
        self.weighing = Weighing(K, *self.rule)

    def take(self, given: dict[str, Any]) -> None:
        """Check parameters, and use them."""
        rule, eta, alpha, loss = (given[k] for k in ("rule", "eta", "alpha", "loss"))
        if rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
        if loss is not None and loss not in LOSSES:
            raise ValueError(f"loss must be None or one of {', '.join(map(repr, LOSSES))}, got {loss!r}")
        if rule in MIXTURES and loss not in (None, "log"):
            raise ValueError(f"rule={rule!r} mixes probabilities: give loss='log', or another rule, got loss={loss!r}")
        eta = None if eta is None else Range(0.0, math.inf).check("eta", eta)
        alpha = None if alpha is None else ALPHA.check("alpha", alpha)
        self.rule, self.loss, self.given = (rule, eta, alpha), loss, given

    # ---- rounds ------------------------------------------------------------------------------------------------------
    def play(self, X: np.ndarray, y: np.ndarray | None = None) -> Rounds:
        """Play checked rounds; return the weights before each, and what was paid in each."""
        n, w = len(X), self.weighing
        losses = X if y is None else self.losses_of(X, y)
        if len(losses):
            spread = float((losses.max(axis=1) - losses.min(axis=1)).max())
            w.totals[RANGE] = max(w.totals[RANGE], spread if self.rule[0] in RANGED else 0.0)
        averages = self.loss == "square" and self.rule[0] == "adahedge" and y is not None
        W = w.average(np.ascontiguousarray(X), y, np.ones(n)) if averages and y is not None else w.play(losses, np.ones(n))
        self.tally[EXAMPLES] += n
        paid = (W * losses).sum(axis=1)
        if averages and y is not None:
            paid = ((W * X).sum(axis=1) - y) ** 2
        elif self.rule[0] in MIXTURES:
            eta = self.rule[1] or 1.0
            least = losses.min(axis=1)
            paid = least - over(log, (W * over(exp, -eta * (losses - least[:, None]))).sum(axis=1)) / eta
        return Rounds(W, paid, np.zeros(n))

    def losses_of(self, A: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the loss of each piece of advice, given the truth."""
        truth = y[:, None]
        if self.loss == "log":
            return -over(log, np.clip(np.where(truth == 1.0, A, 1.0 - A), LEAST, 1.0))
        if self.loss == "zero_one":
            return (truth != A).astype(np.float64)
        return np.abs(A - truth) if self.loss == "absolute" else (A - truth) ** 2

    def mixture(self, W: np.ndarray, A: np.ndarray) -> np.ndarray:
        """Return the advice of the whole: the weighted mean, of 0/1 loss the advice with the most weight."""
        if self.loss != "zero_one":
            return (W * A).sum(axis=1)
        found = np.empty(len(A))
        for i, (w, a) in enumerate(zip(W, A, strict=True)):
            values, at = np.unique(a, return_inverse=True)
            found[i] = values[np.argmax(np.bincount(at.reshape(-1), w))]
        return found

    def join(self, name: str | None) -> None:
        """Let one more expert in."""
        self.weighing.join()
        self.K += 1
        self.names = None if self.names is None or name is None else [*self.names, name]

    # ---- parameters, copies, files -----------------------------------------------------------------------------------
    def retune(self, given: dict[str, Any]) -> None:
        """Use new parameters from now on."""
        if not all(same_value(given[k], self.given[k]) for k in given if k not in FREE):
            raise ValueError("these parameters need another kind of state: call reset() first, or make a new learner")
        self.take(given)
        self.weighing.eta, self.weighing.alpha = self.rule[1:]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return every array that has a meaning between rounds."""
        return self.weighing.arrays()

    used = arrays

    def fork(self) -> Self:
        """Return an independent copy."""
        return copy.deepcopy(self)

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__.update(d)
        self.tally = np.array(self.tally)  # a memory map is read-only
        self.weighing = copy.copy(self.weighing)
        self.weighing.writable()

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return it as JSON values and arrays."""
        tensors = {f"state.{k}": a for k, a in self.arrays().items()}
        return {"names": self.names}, {"tally": self.tally, **tensors}

    @classmethod
    def restored(cls, learner: Any, meta: dict[str, Any], tensors: Tensors) -> Self:
        """Return the packed object; check every array."""
        names, K = meta["names"], len(tensors["state.losses"])
        listed = names is None or (isinstance(names, list) and all(isinstance(v, str) for v in names))
        expect(K > 0 and listed and (names is None or len({*names}) == K), f"{K} different names", names)
        m = cls(learner, K, names)
        for k, a in m.arrays().items():
            found = tensors.pop(f"state.{k}")
            expect(found.dtype == a.dtype and found.shape == a.shape, f"{k} of shape {a.shape}", found.shape)
            expect(bool(np.isfinite(found).all()) or k == "logs", f"finite numbers in {k}", found)
            a[:] = found
        tally = tensors.pop("tally")
        expect(tally.dtype == m.tally.dtype and tally.shape == m.tally.shape and bool((tally >= 0).all()), "a tally", tally)
        expect(not tensors, "no other tensors", sorted(tensors))
        m.tally = np.array(tally)
        return m
