"""Eager, dense NumPy transcriptions of the second-order learners (section E): the oracle of the tests.

Every function takes ``(X, y, **params, weights=None)`` and returns a ``Run`` with mu and Sigma after the last round. Covariances
are always matrices here; a diagonal one is a matrix whose other entries are put to 0. AROW, NHERD, CW and SCW share one text: the
instance is z = y x, or (with ``K``) e_y x - e_q x for the best rival q, over the blocks of a stacked vector, cross blocks dropped.

With ``cost`` (and K, also of two classes) a confusion asks for ``need[y, q]`` times the margin of one that costs 1.
"""

from functools import partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from reference import rival


class Run(NamedTuple):
    """Scores before each update, whether each round updated, and mu and Sigma at the end."""

    scores: np.ndarray
    W: np.ndarray
    Sigma: np.ndarray
    updated: np.ndarray


def rounds(X, y, weights):
    """Yield (x, y, omega) of all rows; a weight of 0 is for the caller to skip."""
    omega = np.ones(len(y)) if weights is None else weights
    yield from zip(np.asarray(X, float), y, omega, strict=True)


def priced_rounds(X, y, weights, prices):
    """The same with a price, and no weight where it is 0."""
    prices = np.ones(len(y)) if prices is None else prices
    for (x, label, omega), price in zip(rounds(X, y, weights), prices, strict=True):
        yield x, label, omega * (price > 0), price


# (alpha, kappa, beta) from margin m, variance v, weight omega and what is asked for; None when there is nothing to do


def arow_step(m, v, omega, need=1.0, r=1.0):
    """E.4."""
    if m < need:
        return (need - m) / (v + r / omega), omega / r, 1 / (v + r / omega)
    return None


def nherd_step(m, v, omega, need=1.0, C=1.0):
    """E.6."""
    C = omega * C
    if m < need:
        return (need - m) / (v + 1 / C), 2 * C + C**2 * v, (C**2 * v + 2 * C) / (1 + C * v) ** 2
    return None


def cw_var_step(m, v, omega, need=1.0, eta=0.7):
    """E.2."""
    phi = NormalDist().inv_cdf(eta)
    m = m - (need - 1) * phi * v
    if need > 0 and m < phi * v:
        b = 1 + 2 * phi * m
        alpha = (-b + np.sqrt(b**2 - 8 * phi * (m - phi * v))) / (4 * phi * v)
        return alpha, 2 * alpha * phi, 2 * alpha * phi / (1 + 2 * alpha * phi * v)
    return None


def confident(alpha, v, phi):
    """E: the covariance step of CW and SCW, from the final alpha."""
    root_u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
    return alpha, alpha * phi / root_u, alpha * phi / (root_u + v * alpha * phi)


def cw_alpha(m, v, phi):
    """E.3."""
    psi, xi = 1 + phi**2 / 2, 1 + phi**2
    return max(0.0, (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi))


def cw_step(m, v, omega, need=1.0, eta=0.7):
    """E.3."""
    phi = NormalDist().inv_cdf(eta)
    m = m - (need - 1) * phi * np.sqrt(v)
    if need > 0 and m < phi * np.sqrt(v):
        return confident(cw_alpha(m, v, phi), v, phi)
    return None


def scw1_step(m, v, omega, need=1.0, eta=0.75, C=1.0):
    """E.8, SCW-I."""
    phi = NormalDist().inv_cdf(eta)
    m = m - (need - 1) * phi * np.sqrt(v)
    if need > 0 and m < phi * np.sqrt(v):
        return confident(min(omega * C, cw_alpha(m, v, phi)), v, phi)
    return None


def scw2_step(m, v, omega, need=1.0, eta=0.9, C=1.0):
    """E.8, SCW-II."""
    phi = NormalDist().inv_cdf(eta)
    m = m - (need - 1) * phi * np.sqrt(v)
    if need > 0 and m < phi * np.sqrt(v):
        n = v + 1 / (2 * omega * C)
        gamma = phi * np.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
        return confident(max(0.0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2))), v, phi)
    return None


def shrink(S, x, kappa, beta, covariance, update, C):
    """E: a covariance after the round."""
    if covariance == "full":
        return S - beta * np.outer(S @ x, S @ x)
    s = np.diag(S)
    if update == "drop":
        return np.diag(s - beta * s**2 * x**2)
    if update == "exact":
        return np.diag(s / (1 + C * x**2 * s) ** 2)
    return np.diag(1 / (1 / s + kappa * x**2))


def needs(cost, margin, K):
    """C.4: how many margins of a confusion that costs 1 each confusion asks for; 1 for all without costs."""
    rho = 1 - np.eye(K) if cost is None else np.asarray(cost, float)
    return {"sqrt_cost": np.sqrt(rho), "cost": rho, "unit": (rho > 0) * 1.0}[margin]


def rival_by_cost(step, f, variances, label, need, mode, eta=None, **_):
    """C.4: the class predicted; or that of the largest loss, where the margins of CW and SCW are in deviations (variances)."""
    if mode == "prediction":
        return np.argmax(f)
    if step in (arow_step, nherd_step):
        return np.argmax(f + need[label])
    priced = np.flatnonzero(need[label])
    if len(priced) == 0:
        return label
    top = priced[np.argmax(f[priced])]
    v = variances[label] + variances[top]
    eta = {cw_step: 0.7, cw_var_step: 0.7, scw1_step: 0.75, scw2_step: 0.9}[step] if eta is None else eta
    unit = NormalDist().inv_cdf(eta) * (v if step is cw_var_step else np.sqrt(v))
    return priced[np.argmax((f + unit * need[label])[priced])]


def gaussian(
    step,
    X,
    y,
    *,
    K=None,
    a=1.0,
    covariance="diag",
    update="inv",
    weights=None,
    cost=None,
    mode="max_loss",
    margin="sqrt_cost",
    **params,
):
    """The common update, E and E.9."""
    d = np.shape(X)[1]
    need = needs(cost, margin, K or 1)
    mu, S = np.zeros((K or 1, d)), np.array([a * np.eye(d) for _ in range(K or 1)])
    scores, updated = [], []
    for x, label, omega in rounds(X, y, weights):
        f = mu @ x
        scores.append(f if K else f[0])
        asks = 1.0
        if cost is not None:
            q = rival_by_cost(step, f, np.array([x @ P @ x for P in S]), label, need, mode, **params)
            signs, asks = ({label: 1.0, q: -1.0}, need[label, q]) if q != label else ({}, 0.0)
        elif K:
            signs = {label: 1.0, rival(f, label): -1.0}
        else:
            signs = {0: float(label)}
        m, v = sum(e * f[k] for k, e in signs.items()), sum(x @ S[k] @ x for k in signs)
        found = step(m, v, omega, asks, **params) if omega > 0 and x.any() and signs else None
        updated.append(found is not None)
        if found is not None:
            alpha, kappa, beta = found
            for k, e in signs.items():
                mu[k] = mu[k] + alpha * e * (S[k] @ x)
                S[k] = shrink(S[k], x, kappa, beta, covariance, update, omega * params.get("C", 1.0))
    return Run(np.array(scores), mu, S, np.array(updated))


# SOP, NAROW and IELLIP, binary; with K each class against the rest. `prices`: of a mistake in each round (0: leave it out)


def diagonal(A):
    """The matrix without what is off its diagonal."""
    return np.diag(np.diag(A))


def sop(X, y, *, a=1.0, covariance="diag", weights=None, prices=None):
    """E.1: v and A themselves, inverted in every round."""
    d = np.shape(X)[1]
    keep = diagonal if covariance == "diag" else np.array
    v, A, scores, updated = np.zeros(d), a * np.eye(d), [], []
    for x, label, omega, rho in priced_rounds(X, y, weights, prices):
        scores.append(v @ np.linalg.inv(keep(A + np.outer(x, x))) @ x)
        updated.append(omega > 0 and x.any() and label * scores[-1] <= 0)
        if updated[-1]:
            v, A = v + rho * omega * label * x, keep(A + rho * omega * np.outer(x, x))
    P = np.linalg.inv(A)
    return Run(np.array(scores), P @ v, P, np.array(updated))


def narow(X, y, *, a=1.0, b=1.0, covariance="diag", weights=None, prices=None):
    """E.7: theta and the inverse of Sigma."""
    d = np.shape(X)[1]
    keep = diagonal if covariance == "diag" else np.array
    theta, P, scores, updated = np.zeros(d), np.eye(d) / a, [], []
    for x, label, omega, need in priced_rounds(X, y, weights, prices):
        S = np.linalg.inv(P)
        chi, s = x @ S @ x, (S @ theta) @ x
        r = chi / (b * chi - 1) if chi > 1 / b else np.inf
        scores.append(s * r / (r + chi) if np.isfinite(r) else s)
        updated.append(omega > 0 and x.any() and label * scores[-1] < need)
        if updated[-1]:
            theta, P = theta + omega * label * x, keep(P + omega / r * np.outer(x, x))
    S = np.linalg.inv(P)
    return Run(np.array(scores), S @ theta, S, np.array(updated))


def iellip(X, y, *, a=1.0, b=0.3, c=0.1, covariance="full", weights=None, prices=None):
    """E.5: t counts all rounds of a weight above 0."""
    d = np.shape(X)[1]
    mu, S, scores, updated, t = np.zeros(d), a * np.eye(d), [], [], 0
    for x, label, omega, need in priced_rounds(X, y, weights, prices):
        scores.append(mu @ x)
        t += omega > 0
        m, v = label * scores[-1], x @ S @ x
        updated.append(omega > 0 and x.any() and m <= 0)
        if updated[-1]:
            c_t, g = c * b ** (t - 1), label * x / np.sqrt(v)
            mu = mu + (need - m) / np.sqrt(v) * S @ g
            S = (S - c_t * np.outer(S @ g, S @ g)) / (1 - c_t)
    return Run(np.array(scores), mu, S, np.array(updated))


def by_class(learner, X, y, *, K=None, **params):
    """A binary learner, or K of them."""
    if K is None:
        found = learner(X, y, **params)
        return found._replace(W=found.W[None], Sigma=found.Sigma[None])
    runs = [learner(X, np.where(np.asarray(y) == k, 1, -1), **params) for k in range(K)]
    return together(runs)


def by_class_and_cost(learner, X, y, *, K, cost, mode="max_loss", margin="sqrt_cost", **params):
    """K of them, and what a mistake costs each: round t is priced by the scores after t - 1 rounds, all of them run again."""
    y, need = np.asarray(y), needs(cost, "cost" if learner is sop else margin, K)
    prices = np.zeros((len(y), K))

    def run(k, t):
        cut = {**params, "weights": params["weights"][:t]} if params.get("weights") is not None else params
        return learner(X[:t], np.where(y[:t] == k, 1, -1), prices=prices[:t, k], **cut)

    for t, label in enumerate(y):
        f = np.array([run(k, t + 1).scores[-1] for k in range(K)])
        if mode == "prediction":
            said = np.argmax(f)
            prices[t, [label, said]] = need[label, said]
        else:
            prices[t] = need[label]
            priced = np.flatnonzero(need[label])
            prices[t, label] = need[label, priced[np.argmax(f[priced])]] if len(priced) else 0.0
    return together([run(k, len(y)) for k in range(K)])


def together(runs):
    """The runs of all classes as one."""
    scores, W, Sigma, updated = (np.array(column) for column in zip(*runs, strict=True))
    return Run(scores.T, W, Sigma, updated.any(axis=0))


STEPS = {"arow": arow_step, "nherd": nherd_step, "cw": cw_step, "cw_var": cw_var_step, "scw1": scw1_step, "scw2": scw2_step}
REGISTRY = {
    **{name: partial(gaussian, step) for name, step in STEPS.items()},
    **{fn.__name__: partial(by_class, fn) for fn in (sop, narow, iellip)},
}
WITH_COSTS = {**REGISTRY, **{fn.__name__: partial(by_class_and_cost, fn) for fn in (sop, narow, iellip)}}


def learn(name, X, y, **params):
    """Run the learner of that registry name."""
    return (WITH_COSTS if params.get("cost") is not None else REGISTRY)[name](X, y, **params)
