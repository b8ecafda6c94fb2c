"""Weighing learners by their losses: Hedge, AdaHedge, fixed share, the Bayes mixture; what was paid, the regret and its bound."""

from __future__ import annotations

import math

import numpy as np

from ..calibration.platt import shared
from ..engine.compiling import compiled
from ..engine.elementary import exp, log, over
from ..engine.words import strict
from ..files.json_values import Tensors, refill

Array = np.ndarray
PAID, ROUNDS, DELTA, RANGE = range(4)  # totals: what was paid, rounds, AdaHedge's mixability gap, largest sample weight
ROUNDING = 1e-12  # relative difference below which two sums of losses are equal
SHARE_ETA = 0.05  # rate of fixed share: sqrt(8 ln K/T) for ten thousand rounds


# ---- rules: weights before each round into W, from losses (a row for each round) -------------------------------------
@strict
def by_losses(L: Array, eta: float, awake: Array, w: Array) -> float:
    """Fill w with weights proportional to exp(-eta L) of those awake, the best alone when eta is infinite; return the least L."""
    best, total = least(L, awake), 0.0
    for k in range(L.shape[0]):
        gap = L[k] - best
        w[k] = 0.0 if not awake[k] else (1.0 if gap == 0.0 else 0.0) if eta == math.inf else exp(-eta * gap)
        total += w[k]
    for k in range(L.shape[0]):
        w[k] /= total
    return best


@strict
def least(L: Array, awake: Array) -> float:
    """Return the least loss of those awake."""
    found = math.inf
    for k in range(L.shape[0]):
        if awake[k]:
            found = min(found, L[k])
    return found


@strict
def pay(losses: Array, c: float, awake: Array, L: Array, totals: Array, w: Array) -> float:
    """Pay the weighted loss of a round and return it; the learners' own losses grow, of those asleep by what is paid."""
    h = 0.0
    for k in range(L.shape[0]):
        if awake[k]:
            h += w[k] * c * losses[k]
    for k in range(L.shape[0]):
        L[k] += c * losses[k] if awake[k] else h
    totals[PAID] += h
    totals[ROUNDS] += 1.0
    totals[RANGE] = max(totals[RANGE], c)
    return h


@strict
def hedge(
    losses: Array, c: Array, awake: Array, L: Array, logs: Array, totals: Array, eta: float, alpha: float, mixes: bool, W: Array
) -> None:
    """Weigh by exp(-eta_t L), eta_t = sqrt(8 ln K/t) unless eta is given."""
    for i in range(losses.shape[0]):
        by_losses(L, eta if eta > 0.0 else math.sqrt(8.0 * log(L.shape[0]) / (totals[ROUNDS] + 1.0)), awake, W[i])
        if c[i] > 0.0:
            pay(losses[i], c[i], awake, L, totals, W[i])


@strict
def adahedge(
    losses: Array, c: Array, awake: Array, L: Array, logs: Array, totals: Array, eta: float, alpha: float, mixes: bool, W: Array
) -> None:
    """Weigh by exp(-L ln K/Delta), Delta the sum of what was paid beyond the mix losses."""
    for i in range(losses.shape[0]):
        rate = log(L.shape[0]) / totals[DELTA] if totals[DELTA] > 0.0 else math.inf
        before = by_losses(L, rate, awake, W[i])
        if c[i] > 0.0:
            h = pay(losses[i], c[i], awake, L, totals, W[i])
            totals[DELTA] += max(0.0, h - mix_loss(losses[i], c[i], awake, L, before, rate, W[i]))


@strict
def mix_loss(losses: Array, c: float, awake: Array, L: Array, before: float, rate: float, w: Array) -> float:
    """Return -ln(sum_k w_k exp(-rate c loss_k))/rate, given the least sum of losses before the round and the sums after it."""
    after, mass = least(L, awake), 0.0
    if rate == math.inf:
        return after - before
    for k in range(L.shape[0]):
        if awake[k]:
            mass += w[k] * exp(-rate * c * losses[k])
    return -log(mass) / rate if mass > 0.0 else after - before


@strict
def adahedge_of_mean(P: Array, y: Array, losses: Array, c: Array, awake: Array, L: Array, totals: Array, W: Array) -> None:
    """Weigh answers P by AdaHedge under the square loss; what is paid is the loss of their weighted mean.

    Delta grows only where that exceeds the mix loss. The square loss is exp-concave at rates of at most 1/(2 B^2), with B the
    largest error, so it stops growing there: the regret is at most 2 Delta, which does not grow with the rounds.
    """
    for i in range(P.shape[0]):
        rate = log(L.shape[0]) / totals[DELTA] if totals[DELTA] > 0.0 else math.inf
        before = by_losses(L, rate, awake, W[i])
        if c[i] > 0.0:
            mean = 0.0
            for k in range(P.shape[1]):
                mean += W[i, k] * P[i, k]
            drawn = pay(losses[i], c[i], awake, L, totals, W[i])
            h = c[i] * (mean - y[i]) ** 2
            totals[PAID] += h - drawn
            totals[DELTA] += max(0.0, h - mix_loss(losses[i], c[i], awake, L, before, rate, W[i]))


@strict
def fixed_share(
    losses: Array, c: Array, awake: Array, L: Array, logs: Array, totals: Array, eta: float, alpha: float, mixes: bool, W: Array
) -> None:
    """Multiply weights by exp(-eta loss), then share: alpha of each goes to the others (1/t if alpha is below 0).

    What is paid is the loss of the mixture, -ln sum_k w_k exp(-loss_k), if it mixes. Those asleep are charged what is paid.
    """
    K = L.shape[0]
    for i in range(losses.shape[0]):
        there = 0.0
        for k in range(K):
            W[i, k] = exp(logs[k]) if awake[k] else 0.0
            there += W[i, k]
        there = 1.0 if awake.all() else there  # it is 1 but for rounding
        for k in range(K):
            W[i, k] /= there
        if c[i] > 0.0:
            h = pay(losses[i], c[i], awake, L, totals, W[i])
            top, total = -math.inf, 0.0
            for k in range(K):
                if awake[k]:
                    logs[k] -= eta * c[i] * losses[i, k]
                    top = max(top, logs[k])
            for k in range(K):
                total += exp(logs[k] - top) if awake[k] else 0.0
            kept = top + log(total) - log(there)  # ln of the factor by which the weights of those awake shrank together
            if mixes:
                totals[PAID] += -kept / eta - h
                for k in range(K):
                    L[k] += 0.0 if awake[k] else -kept / eta - h
            a = alpha if alpha >= 0.0 else 1.0 / (totals[ROUNDS] + 1.0)
            for k in range(K):
                logs[k] -= kept if awake[k] else 0.0
                if a > 0.0 and K > 1:
                    logs[k] = log(shared(exp(logs[k]), a, K))


@strict
def tell(W: Array, predicted: Array, votes: Array) -> None:
    """Add the weights of those who say so to the vote for a code; -1 is not a vote."""
    for i in range(predicted.shape[0]):
        for k in range(predicted.shape[1]):
            if predicted[i, k] >= 0:
                votes[i, predicted[i, k]] += W[i, k]


RULES = {"adahedge": adahedge, "hedge": hedge, "fixed_share": fixed_share, "bayes": fixed_share}
MIXTURES = {"bayes": 0.0, "mixture": -1.0}  # what is mixed are probabilities; how much is shared


def votes(W: np.ndarray, predicted: np.ndarray, K: int) -> np.ndarray:
    """Return the summed weight of those who say each of K codes."""
    out = np.zeros((len(predicted), K))
    compiled(tell)(np.ascontiguousarray(W), np.ascontiguousarray(predicted), out)
    return out


class Weighing:
    """The weights of K learners under a rule, and what following them has cost so far."""

    def __init__(self, K: int, rule: str, eta: float | None, alpha: float | None) -> None:
        self.rule, self.eta, self.alpha = rule, eta, alpha
        self.losses, self.logs, self.totals = np.zeros(K), np.full(K, -log(K)), np.zeros(4)
        self.awake = np.ones(K, np.bool_)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what changes from round to round."""
        return {"awake": self.awake, "losses": self.losses, "logs": self.logs, "totals": self.totals}

    def writable(self) -> None:
        """Take copies of arrays that may be read-only."""
        self.__dict__.update({k: np.array(a) for k, a in self.arrays().items()})

    def restore(self, tensors: Tensors) -> None:
        """Take these from a file, every number of them checked."""
        refill(self.arrays(), tensors)

    def play(self, losses: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Play rounds, a row of losses and a sample weight each; return the weights before each."""
        W = np.zeros(losses.shape)
        mixes = self.rule in MIXTURES
        eta = self.eta or (1.0 if mixes else {"fixed_share": SHARE_ETA}.get(self.rule, 0.0))
        alpha = self.alpha if self.alpha is not None else MIXTURES.get(self.rule, -1.0)
        given = (np.ascontiguousarray(losses), np.asarray(c, np.float64), *self.arrays().values())
        compiled(RULES.get(self.rule, fixed_share))(*given, eta, alpha, mixes, W)
        return W

    def join(self) -> None:
        """Let one more in, with what was paid so far as its loss.

        The rate of AdaHedge stays as it is, so that 2 Delta bounds the regret against those who joined too. The rate of Hedge
        without an eta would grow, for which there is no theorem.
        """
        K = len(self.losses)
        self.losses = np.append(self.losses, self.paid)
        self.logs = np.append(self.logs + log(K) - log(K + 1), -log(K + 1))
        self.awake = np.append(self.awake, True)
        self.totals[DELTA] *= log(K + 1) / log(K) if K > 1 else 1.0
        if self.rule == "hedge" and self.eta is None:
            self.totals[RANGE] = 2.0  # out of the theorem's range

    def average(self, P: np.ndarray, y: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Play rounds of the square loss, a row of answers and a target each; return the weights before each."""
        losses = (P - y[:, None]) ** 2
        if self.rule != "adahedge":
            return self.play(losses, c)
        W = np.zeros(P.shape)
        compiled(adahedge_of_mean)(P, np.asarray(y, np.float64), losses, c, self.awake, self.losses, self.totals, W)
        return W

    @property
    def weights(self) -> np.ndarray:
        """The weights in the round to come."""
        return self.among(self.awake)

    def among(self, awake: np.ndarray) -> np.ndarray:
        """Return the weights if these alone were awake."""
        if self.rule == "fixed_share" or self.rule in MIXTURES:
            w = np.where(awake, over(exp, self.logs), 0.0)
            return w if awake.all() else w / w.sum()
        K, w = len(self.losses), np.zeros(len(self.losses))
        if self.rule == "hedge":
            eta = self.eta or math.sqrt(8.0 * log(K) / (self.totals[ROUNDS] + 1.0))
        else:
            eta = log(K) / self.totals[DELTA] if self.totals[DELTA] > 0.0 else math.inf
        by_losses(self.losses, eta, awake, w)
        return w

    @property
    def paid(self) -> float:
        """The loss of drawing a learner by the weights, or the log loss of the mixture."""
        return float(self.totals[PAID])

    @property
    def regret(self) -> float:
        """What was paid beyond the loss of the best learner; 0 where only rounding tells them apart."""
        paid, best = self.paid, float(self.losses.min())
        return 0.0 if math.isclose(paid, best, rel_tol=ROUNDING) else paid - best

    @property
    def bound(self) -> float:
        """What the theorem allows the regret to be, infinite where it does not apply."""
        K, (_, T, delta, reach) = len(self.losses), self.totals
        if self.rule == "adahedge":
            return 2.0 * float(delta)
        if self.rule == "mixture":
            return log(K) + log(max(T, 1.0))
        if reach > 1.0 and self.rule != "bayes":
            return math.inf
        if self.rule == "hedge":
            if self.eta is None:
                return 2.0 * math.sqrt(T * log(K) / 2.0) + math.sqrt(log(K) / 8.0)
            return log(K) / self.eta + self.eta * T / 8.0
        if self.alpha is None:
            shared = log(max(T, 1.0)) if self.rule == "fixed_share" else 0.0
        else:
            shared = max(T - 1.0, 0.0) * log(1.0 / (1.0 - self.alpha))
        if self.rule == "bayes":
            return log(K) + shared if self.eta in (None, 1.0) else math.inf
        eta = self.eta or SHARE_ETA
        return (log(K) + shared) / eta + eta * T / 8.0
