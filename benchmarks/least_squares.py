"""Least squares: drift of RLS from batch ridge over 10^7 rounds, speed of RLS, segments against the `ruptures` package."""

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from scipy.linalg.blas import dsymv, dsyr

import noregret as nr

from .table import Row
from .timing import Job, interleave

D = 5
CHUNK = 100_000


def solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve A w = b by elimination in the precision of A, which LAPACK does not have."""
    A, b = A.copy(), b.copy()
    for k in range(len(b)):
        for i in range(k + 1, len(b)):
            t = A[i, k] / A[k, k]
            A[i, k:] -= t * A[k, k:]
            b[i] -= t * b[k]
    w = np.zeros_like(b)
    for k in reversed(range(len(b))):
        w[k] = (b[k] - A[k, k + 1 :] @ w[k + 1 :]) / A[k, k]
    return w


def drift(work: str, rounds: int, mix: np.ndarray, at_most: float, seed: int = 0, **params: float) -> Row:
    """Learn `rounds` rows, normal ones times `mix`; compare with ridge on the same rows in extended precision.

    The error is that of the worst weight. Sums are taken in blocks, so that the reference has 19 digits but for its condition.
    """
    rng = np.random.default_rng(seed)
    m = nr.RLS(fit_intercept=False, **params)
    g, window = np.longdouble(params.get("forgetting", 1.0)), int(params.get("window", 0))
    u = rng.standard_normal(D)
    A, b = np.eye(D, dtype=np.longdouble), np.zeros(D, np.longdouble)
    for done in range(0, rounds, CHUNK):
        X = rng.standard_normal((CHUNK, D)) @ mix
        y = X @ u + 0.1 * rng.standard_normal(CHUNK)
        m.partial_fit(X, y)
        if window and done + CHUNK < rounds:
            continue
        Z, t = (X[-window:], y[-window:]) if window else (X, y)
        ld, td = Z.astype(np.longdouble), t.astype(np.longdouble)
        c = g ** np.arange(len(t) - 1, -1, -1)[:, None]
        blocks = range(0, len(t), 1000)
        A = A * g ** len(t) + sum((c[k : k + 1000] * ld[k : k + 1000]).T @ ld[k : k + 1000] for k in blocks)
        b = b * g ** len(t) + sum((c[k : k + 1000] * ld[k : k + 1000]).T @ td[k : k + 1000] for k in blocks)
    w = solved(A, b)
    error = float(np.max(np.abs((m.coef_ - w) / w)))
    condition = np.linalg.cond(A.astype(np.float64))
    note = f"condition of X'X + ridge {condition:.1e}"
    return Row(f"drift, {work}, {rounds:.0e} rounds", error, "relative error", at_most=at_most, note=note)


def recursion(n: int, d: int) -> list[Row]:
    """Time RLS beside the textbook form: by BLAS, in NumPy, and River's."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)

    def ours() -> Job:
        m = nr.RLS(fit_intercept=False)
        return lambda: (m.partial_fit(X, y), lambda: 0)[1]

    def blas() -> Job:
        P, w = np.asfortranarray(np.eye(d)), np.zeros(d)

        def job() -> Callable[[], int]:
            for x, t in zip(X, y, strict=True):
                u = dsymv(1.0, P, x)
                q = 1.0 + x @ u
                w[:] += (t - w @ x) / q * u
                dsyr(-1.0 / q, u, a=P, overwrite_a=1)
            return lambda: 0

        return job

    def numpy() -> Job:
        P, w = np.eye(d), np.zeros(d)

        def job() -> Callable[[], int]:
            for x, t in zip(X, y, strict=True):
                u = P @ x
                q = 1.0 + x @ u
                w[:] += (t - w @ x) / q * u
                P[:] -= np.outer(u, u) / q
            return lambda: 0

        return job

    race = {"ours": ours, "BLAS": blas, "NumPy": numpy}
    if find_spec("river") is not None and d <= 100:
        from river.linear_model import BayesianLinearRegression

        rows = [dict(enumerate(x)) for x in X.tolist()]

        def river() -> Job:
            m = BayesianLinearRegression()

            def job() -> Callable[[], int]:
                for x, t in zip(rows, y.tolist(), strict=True):
                    m.learn_one(x, t)
                return lambda: 0

            return job

        race["river"] = river
    best = interleave(race, rounds=2)
    return [Row(f"RLS, d = {d}", n / best["ours"].seconds, "ex/s", p, n / best[p].seconds) for p in race if p != "ours"]


def segments(n: int, period: int) -> list[Row]:
    """Time the dynamic programme on a noisy sawtooth (on one line where the period is 0); ruptures' PELT finds the same."""
    rng = np.random.default_rng(0)
    x = np.arange(n, dtype=np.float64)
    y = (x % period if period else 0.1 * x) + 0.3 * rng.standard_normal(n)
    penalty = 4.0 * 0.09 * np.log(n)
    found = nr.SegmentedLeastSquares(penalty).fit(x, y)
    work = f"segments, {n} points, {len(found.segments_)} pieces"
    note = f"{found.n_evaluated_:,} of {n * (n + 1) // 2:,} pairs"

    def ours() -> Job:
        m = nr.SegmentedLeastSquares(penalty)
        return lambda: (m.fit(x, y), lambda: len(m.segments_))[1]

    race = {"ours": ours}
    if find_spec("ruptures") is None:
        note += "; ruptures is not installed: skipped"
    elif n <= 1000:
        import ruptures

        signal = np.column_stack([y, x, np.ones(n)])
        peer = ruptures.Pelt(model="linear", min_size=2, jump=1).fit(signal)

        def theirs() -> Job:
            return lambda: (peer.predict(pen=penalty), lambda: 0)[1]

        race["ruptures"] = theirs
        cuts = peer.predict(pen=penalty)
        cost = peer.cost.sum_of_costs(cuts) + penalty * len(cuts)
        note += f"; cost {found.cost_:.9g} | {cost:.9g}"
    best = interleave(race, rounds=1)
    theirs_rate = n / best["ruptures"].seconds if "ruptures" in best else None
    return [Row(work, n / best["ours"].seconds, "ex/s", "ruptures", theirs_rate, note=note)]


def run(quick: bool) -> list[Row]:
    """Measure drift, then speed."""
    rounds = 1_000_000 if quick else 10_000_000
    even = np.eye(D)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((D, D)))[0]
    uneven = np.logspace(0, -3, D)[:, None] * turn  # columns that are nearly dependent: scales alone would cost nothing
    rows = [
        drift("well conditioned", rounds, even, 1e-10),
        drift("ill conditioned", rounds, uneven, 1e-8),
        drift("window 50", rounds, even, 1e-10, window=50),
        drift("forgetting 0.999", rounds, even, 1e-10, forgetting=0.999),
    ]
    for n, d in ((20_000, 10), (2_000, 100), (200, 1000)):
        rows += recursion(n, d)
    for n, period in ((500, 25), (4000, 20), (4000, 0)):
        rows += segments(n, period)
    return rows
