"""Natural coordinates, in which models add up: precisions, and precisions times means."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..spaces.covariance import Full
from .merging import BLOCK, Terms

LEAST = 1e-150  # a variance below this is 0 by underflow


# ---- a mean and a covariance for each class ---------------------------------------------------------------------------
def gaussians(spec: Any, states: list[Any], terms: Terms, params: Any) -> dict[str, Any]:
    """Return the mean and covariance that states come to; if a precision is not positive so far along, those of length 1."""
    way = full if isinstance(spec.Sigma, Full) else diagonal
    found = way(states, terms.move) or way(states, terms.mean)
    if found is None:
        raise ValueError("cannot merge: rounding has made a covariance that no weights can have")
    return {"mu": found[0], "Sigma": found[1]}


def diagonal(states: list[Any], factors: list[float]) -> tuple[Any, Any] | None:
    """Return mean and variances; cells that are equal in all states stay as they are, to the bit."""
    means, variances = [s.mu for s in states], [s.Sigma.s for s in states]
    mu, s = np.empty_like(means[0]), np.empty_like(variances[0])
    for i in range(0, len(mu), BLOCK):
        part = slice(i, i + BLOCK)
        first, m0 = np.maximum(variances[0][part], LEAST, dtype=np.float64), means[0][part]
        precision, move = np.ones(len(first)), np.zeros(len(first))  # both in units of the first precision
        for m, v, c in zip(means, variances, factors, strict=True):
            if c != 0.0:
                ratio = first / np.maximum(v[part], LEAST, dtype=np.float64)
                move += c * ratio * (m[part] - m0)
                precision += c * (ratio - 1.0)
        if not (precision > 0.0).all():
            return None
        mu[part] = m0 + move / precision
        s[part] = first / precision
    return mu, type(states[0].Sigma)(s)


def full(states: list[Any], factors: list[float]) -> tuple[Any, Any] | None:
    """Return mean and covariance matrices."""
    Sigma = states[0].Sigma
    K = len(Sigma.S)
    precision, moment = np.zeros(Sigma.S.shape), np.zeros((K, Sigma.S.shape[1], 1))
    for s, c in zip(states, factors, strict=True):
        if c != 0.0:
            P = np.linalg.inv(s.Sigma.S.astype(np.float64))
            precision += c * P
            moment += c * (P @ s.mu.reshape(-1, K).T[:, :, None])
    try:
        np.linalg.cholesky(precision)
    except np.linalg.LinAlgError:
        return None
    S = np.linalg.inv(precision)
    S = (S + S.transpose(0, 2, 1)) / 2.0
    mu = np.ascontiguousarray((S @ moment)[:, :, 0].T).reshape(-1)
    return mu.astype(states[0].mu.dtype), Full(S.astype(Sigma.S.dtype), np.ones_like(Sigma.g), np.zeros_like(Sigma.u))


# ---- least squares -----------------------------------------------------------------------------------------------------
def sums_of_squares(spec: Any, states: list[Any], terms: Terms, params: Any) -> dict[str, Any]:
    """Return the sums of X'X and X'y as weights, the root of P and the loss: exact, as P^-1 = X'X + ridge."""
    first = states[0]
    known = np.maximum.reduce([s.known for s in states])
    at = np.flatnonzero(known)
    prior = params.ridge * np.eye(len(at))
    A, B, squares = prior, 0.0, 0.0
    for s, c in zip(states, terms.total, strict=True):
        if c != 0.0:
            W, precision = s.W[:, at].T, inverse_of(s, at, params.ridge)
            moment = precision @ W
            A, B = A + c * (precision - prior), B + c * moment
            squares = squares + c * (s.loss + (moment * W).sum(0))  # the sum of y^2
    L = np.linalg.cholesky(A)
    root, W = np.linalg.inv(L), np.linalg.solve(A, B)
    out = {"W": np.zeros_like(first.W), "M": np.eye(len(first.M)), "g": np.ones(1), "known": known, "size": np.array([len(at)])}
    out["W"][:, at], out["M"][np.ix_(at, at)] = W.T, root
    return {**out, "loss": np.maximum(squares - (B * W).sum(0), 0.0), "top": np.array([np.square(root).sum()])}


def inverse_of(s: Any, at: np.ndarray, ridge: float) -> np.ndarray:
    """Return P^-1 over some coordinates; one that the state does not know has the precision of the start."""
    R = s.M[np.ix_(at, at)] * np.sqrt(s.g[0])
    new = np.flatnonzero(s.known[at] == 0)
    R[new, new] = 1.0 / np.sqrt(ridge)
    inverse = np.linalg.inv(R)
    found: np.ndarray = inverse @ inverse.T
    return found
