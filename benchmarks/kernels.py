"""Kernels on a budget: speed against NumPy and scikit-learn, compile time, published error rates, and drift.

The error tables are those of G.11 (german, scaled), O.4 (a synthetic stream) and O.4b (spambase) of the specification sheet: means
over random orders, with nothing tuned. A peer called "sheet" is the printed figure.
"""

import csv
import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import noregret as nr

from .table import Row, rate
from .timing import Job, interleave

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
B, D, GAMMA = 500, 54, 0.01
GERMAN_WIDTH, SPAM_WIDTH = 4.559721, 148.465  # medians of the pairwise distances

# maintenance: mistake rate of the Perceptron and of PA-I with a Gaussian kernel on german, B = 50, C = 1
GERMAN: dict[str, tuple[Any, float | None, float]] = {
    "none": (None, 0.330, 0.293),
    "stop": (nr.Stop(50), 0.358, 0.357),
    "random": (nr.RemoveRandom(50), 0.366, 0.356),
    "oldest": (nr.RemoveOldest(50), 0.368, 0.354),
    "smallest": (nr.RemoveSmallest(50), None, 0.367),
    "redundant": (nr.RemoveRedundant(50), 0.469, 0.331),
    "BPA-S": (nr.Replace(50), 0.350, 0.326),
    "BPA-P": (nr.ProjectRemoved(50), 0.329, 0.295),
    "merge": (nr.Merge(50), 0.328, 0.294),
}
# learner on spambase: mistake rate and support vectors
SPAM: dict[str, tuple[Callable[[], Any], float, float]] = {
    "kernel Perceptron": (lambda: nr.Perceptron(kernel=spam_kernel()), 0.340, 1566.8),
    "kernel PA-I": (lambda: nr.PA1(kernel=spam_kernel()), 0.310, 2913.3),
    "Stoptron": (lambda: nr.Stoptron(B=50, kernel=spam_kernel()), 0.384, 50),
    "RBP": (lambda: nr.RBP(B=50, kernel=spam_kernel()), 0.386, 50),
    "Least Recent": (lambda: nr.LeastRecent(B=50, kernel=spam_kernel()), 0.386, 50),
    "Forgetron": (lambda: nr.Forgetron(B=50, kernel=spam_kernel()), 0.386, 50),
    "Projectron": (lambda: nr.Projectron(eta=0.3, kernel=spam_kernel()), 0.353, 56.1),
    "Projectron++": (lambda: nr.ProjectronPP(eta=0.3, kernel=spam_kernel()), 0.328, 56.2),
    "BPA-S": (lambda: nr.BPAS(B=50, kernel=spam_kernel()), 0.333, 50),
}
# learner on the synthetic stream, with one kernel: percent of mistakes while learning, then on as many new rows, with the last
# vectors and with the mean of all
SYNTHETIC: dict[str, tuple[Callable[..., Any], float, float, float | None]] = {
    "PA-I": (lambda **how: nr.PA1(kernel=nr.RBF(1.0), **how), 15.35, 15.18, 10.00),
    "Perceptron": (lambda **how: nr.Perceptron(kernel=nr.RBF(1.0), **how), 21.56, 27.44, 10.11),
    "Projectron": (lambda **how: nr.Projectron(eta=0.1, kernel=nr.RBF(1.0), **how), 21.38, 37.16, 9.96),
    "Projectron++": (lambda **how: nr.ProjectronPP(eta=0.1, kernel=nr.RBF(1.0), **how), 15.90, 15.78, 10.03),
    "RBP": (lambda: nr.RBP(B=106, kernel=nr.RBF(1.0)), 24.09, 29.39, None),
    "Forgetron": (lambda: nr.Forgetron(B=106, kernel=nr.RBF(1.0)), 23.63, 25.34, None),
}


def spam_kernel() -> nr.RBF:
    """Return the kernel of O.4b."""
    return nr.RBF(0.5 / SPAM_WIDTH**2)


# ---- speed -----------------------------------------------------------------------------------------------------------
def rows_and_labels(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a stream on which every round has a loss."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, D)), rng.choice([-1, 1], n)


def ours(X: np.ndarray, y: np.ndarray) -> Callable[[], Job]:
    """Prepare PA-I with a full budget."""

    def prepare() -> Job:
        m = nr.PA1(kernel=nr.RBF(GAMMA), budget=nr.RemoveOldest(B), classes=[-1, 1], fit_intercept=False).partial_fit(X, y)
        before = m.n_mistakes_
        return lambda: (m.partial_fit(X, y), lambda: m.n_mistakes_ - before)[1]

    return prepare


def by_numpy(X: np.ndarray, y: np.ndarray, careful: bool) -> Callable[[], Job]:
    """Prepare the loop one would write: a row of differences, or (careful) one product and kept norms."""

    def prepare() -> Job:
        S, a, at, norms = X[-B:].copy(), np.full(B, 1e-3), 0, (X[-B:] ** 2).sum(1)

        def job() -> Callable[[], int]:
            nonlocal at
            wrong = 0
            for x, label in zip(X, y, strict=True):
                d2 = norms - 2.0 * (S @ x) + x @ x if careful else ((S - x) ** 2).sum(1)
                f = a @ np.exp(-GAMMA * d2)
                wrong += label * f <= 0.0
                loss = 1.0 - label * f
                if loss > 0.0:
                    S[at], a[at], norms[at] = x, label * min(1.0, loss), x @ x
                    at = (at + 1) % B
            return lambda: wrong

        return job

    return prepare


def by_features(X: np.ndarray, y: np.ndarray) -> Callable[[], Job]:
    """Prepare random Fourier features and partial_fit, a row at a time."""
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import SGDClassifier

    def prepare() -> Job:
        features = RBFSampler(gamma=GAMMA, n_components=B, random_state=0).fit(X[:1])
        model = SGDClassifier().partial_fit(features.transform(X[:1]), y[:1], classes=[-1, 1])

        def job() -> Callable[[], int]:
            wrong = 0
            for i in range(len(y)):
                z = features.transform(X[i : i + 1])
                wrong += model.predict(z)[0] != y[i]
                model.partial_fit(z, y[i : i + 1])
            return lambda: int(wrong)

        return job

    return prepare


def peak() -> float:
    """Return the multiply-adds a second that a product of two matrices reaches on one thread."""
    A, best = np.random.default_rng(0).standard_normal((400, 400)), np.inf
    for _ in range(20):
        start = process_time()
        for _ in range(5):
            A @ A
        best = min(best, (process_time() - start) / 5)
    return A.shape[0] ** 3 / best


def compile_seconds() -> float:
    """Return how long the first call of a new process takes with an empty cache, over that of a linear learner in the cache."""
    code = (
        "import numpy as np, noregret as nr\nfrom time import process_time\n"
        "X, y = np.eye(4), [1, -1, 1, -1]\nnr.PA1(classes=[-1, 1]).partial_fit(X, y)\nstart = process_time()\n"
        "nr.PA1(kernel=nr.RBF(), budget=nr.RemoveOldest(2), classes=[-1, 1]).partial_fit(X, y)\nprint(process_time() - start)"
    )
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "NOREGRET_CACHE": folder}
        return float(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout)


def speed(quick: bool) -> list[Row]:
    """Compare one pass, B vectors kept throughout."""
    n = 500 if quick else 2000
    X, y = rows_and_labels(n)
    small = slice(0, n // 5)
    race = {"ours": ours(X, y), "NumPy": by_numpy(X, y, False), "NumPy, careful": by_numpy(X, y, True)}
    best = interleave(race, rounds=3)
    work = f"PA-I, RBF, B = {B}, d = {D}"
    rows = [rate(work, n, best["ours"], peer, best[peer], 5.0 if peer == "NumPy" else None) for peer in list(race)[1:]]
    theirs = interleave({"features": by_features(X[small], y[small])}, rounds=2)["features"]
    per_row = theirs.seconds / (n // 5)
    rows.append(Row(work, n / best["ours"].seconds, peer="RBFSampler + SGD", theirs=1.0 / per_row, at_least=3.0))
    done = n * B * D / best["ours"].seconds
    limit = peak()
    each = 1e9 * best["ours"].seconds / n / B
    note = f"{100 * done / limit:.0f}% of the {limit / 1e9:.1f} G/s of a matrix product; {each:.1f} ns a vector, exp included"
    rows.append(Row("multiply-adds of the inner products", done / 1e9, "G/s", note=note))
    rows.append(Row("compile an expansion", compile_seconds(), "s", at_most=5.0))
    return rows


# ---- errors ----------------------------------------------------------------------------------------------------------
def orders(make: Callable[[], Any], X: np.ndarray, y: np.ndarray, times: int) -> tuple[float, float]:
    """Return the mean mistake rate and number of support vectors over random orders."""
    wrong, kept = [], []
    for seed in range(times):
        order = np.random.default_rng(seed).permutation(len(y))
        f = make().set_params(classes=[-1, 1])
        scores = f.learn_many(X[order], y[order])
        wrong.append(np.mean(np.where(scores >= 0, 1, -1) != y[order]))
        kept.append(f.n_support_)
    return float(np.mean(wrong)), float(np.mean(kept))


def table(work: str, make: Callable[[], Any], X: np.ndarray, y: np.ndarray, times: int, printed: float | None) -> Row:
    """Return a row of errors beside the printed one."""
    found, kept = orders(make, X, y, times)
    return Row(work, found, "error", "sheet", printed, note=f"{kept:.0f} support vectors, {times} orders")


def german(times: int) -> list[Row]:
    """Rerun the table of G.11."""
    path = DATA / "libol" / "german.gz"
    if not path.exists():
        return [Row("german is not here: skipped", 0.0)]
    X, y = np.zeros((1000, 24)), np.zeros(1000, int)
    with gzip.open(path, "rt") as f:
        for i, line in enumerate(f):
            label, *cells = line.split()
            y[i] = int(label)
            for cell in cells:
                j, v = cell.split(":")
                X[i, int(j) - 1] = float(v)
    kernel = nr.RBF(0.5 / GERMAN_WIDTH**2)
    rows = []
    for name, (budget, perceptron, pa) in GERMAN.items():
        for learner, printed in ((nr.Perceptron, perceptron), (nr.PA1, pa)):
            make = lambda cls=learner, b=budget: cls(kernel=kernel, budget=b, fit_intercept=False)  # noqa: E731
            rows.append(table(f"german, {learner.__name__}, {name}", make, X, y, times, printed))
    return rows


def spambase(times: int, n: int) -> list[Row]:
    """Rerun the right half of O.4b."""
    path = DATA / "spambase" / "spambase.csv.gz"
    if not path.exists():
        return [Row("spambase is not here: skipped", 0.0)]
    with gzip.open(path, "rt") as f:
        lines = list(csv.reader(f))[1:]
    X = np.array([line[:-1] for line in lines], float)
    y = np.where([line[-1] in ("1", "spam") for line in lines], 1, -1)
    some = np.random.default_rng(99).permutation(len(y))[:n]
    return [table(f"spambase, {name}", make, X[some], y[some], times, printed) for name, (make, printed, _) in SPAM.items()]


def synthetic(n: int) -> list[Row]:
    """Rerun O.4 on one stream: errors while learning its first half, and on its second half."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((2 * n, 2)), rng.standard_normal(2)
    y = np.where(X @ w > 0, 1, -1) * np.where(rng.random(2 * n) < 0.1, -1, 1)
    rows = []
    for name, (make, online, last, mean) in SYNTHETIC.items():
        m = make(classes=[-1, 1]) if mean is not None else make()
        m.partial_fit(X[:n], y[:n])
        note = f"{m.n_support_} support vectors"
        rows.append(Row(f"10% flipped, {name}", 100 * m.n_mistakes_ / n, "% error", "sheet", online, note=note))
        rows.append(Row(f"10% flipped, {name}, new rows", 100 * (1 - m.score(X[n:], y[n:])), "% error", "sheet", last))
        if mean is not None and "average" in m.defaults:
            averaged = make(average=True).partial_fit(X[:n], y[:n]).score(X[n:], y[n:])
            rows.append(Row(f"10% flipped, {name}, new rows, averaged", 100 * (1 - averaged), "% error", "sheet", mean))
    return rows


def drift(n: int) -> list[Row]:
    """Show what a budget is worth when the classes change places every 250 rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1) * np.where(np.arange(n) // 250 % 2, -1, 1)
    rows = []
    for name, budget in {"free": None, "oldest of 100 removed": nr.RemoveOldest(100)}.items():
        m = nr.PA1(kernel=nr.RBF(2.0), budget=budget, classes=[-1, 1])
        wrong = float(np.mean(np.where(m.learn_many(X, y) >= 0, 1, -1) != y))
        rows.append(Row(f"shifting stream, PA-I, {name}", wrong, "error", note=f"{m.n_support_} support vectors"))
    free = rows[0].ours
    return [rows[0], Row(rows[1].work, rows[1].ours, "error", "free", free, at_least=1.0, note=rows[1].note)]


def run(quick: bool) -> list[Row]:
    """Compare."""
    times = 2 if quick else 20
    rows = speed(quick) + drift(2000 if quick else 8000)
    return rows + german(times) + spambase(times if quick else 20, 1000 if quick else 4601) + synthetic(2000 if quick else 10_000)
