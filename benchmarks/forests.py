"""Forests beside River's: rows a second, answer and learning together, and the error of both over ten seeds, settings made equal.

Equal means: columns scaled to [0, 1] beforehand, alpha = 1/K with the final K, the rate 4/variance for targets; the first row, and
rows whose class is new, do not count. Errors are in per cent, of targets the mean square over the variance.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from river import forest
from scipy.sparse import csr_matrix, issparse

import noregret as nr

from .sets import REAL, coded, shuffled
from .streams import Stream
from .table import Row
from .timing import Job, interleave

SEEDS = 10
TREES = 10
FASTER = 20.0
SPEED = {"syn10": 1500, "spambase": 600, "mnist": 150, "elec2": 1500, "letter": 1500, "cal_housing": 1500, "bike_sharing": 1500}
ERRORS = {"segment": 2310, "svmguide1": 3000, "spambase": 1200, "letter": 2000, "higgs": 1200, "abalone": 2000, "cpu_small": 1500}
LONG = {"syn10": 20_000, "elec2": 45_312, "letter": 20_000, "shuttle": 20_000, "mnist": 3000, "cal_housing": 10_000}


class Told(NamedTuple):
    """What both sides gave for one set."""

    ours: list[float]
    theirs: list[float]


def data(name: str, n: int) -> Stream:
    """Read the first rows of a set, dense; labels are numbered in order of appearance."""
    if name == "syn10":
        rng = np.random.default_rng(0)
        X = rng.random((n, 10))
        return Stream(X, ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5) ^ (rng.random(n) < 0.1)).astype(np.int64))
    X, y = shuffled(name)
    X, y = X[:n], y[:n]
    X = csr_matrix(X).toarray() if issparse(X) else X
    return Stream(X, y if name in REAL else coded(y.tolist()))


def ours(X: np.ndarray, y: np.ndarray, real: bool) -> Callable[[], Job]:
    """Prepare a forest with its defaults."""

    def prepare() -> Job:
        m = nr.MondrianForestRegressor(trees=TREES) if real else nr.MondrianForest(trees=TREES)
        return lambda: (m.learn_many(X, y), lambda: 0)[1]

    return prepare


def rivers(X: np.ndarray, y: np.ndarray, real: bool) -> Callable[[], Job]:
    """Prepare River's forest, which answers and learns in two calls."""
    rows, targets = [dict(enumerate(x)) for x in X.tolist()], y.tolist()

    def prepare() -> Job:
        m = (forest.AMFRegressor if real else forest.AMFClassifier)(n_estimators=TREES, seed=1)
        predict = m.predict_one if real else m.predict_proba_one

        def job() -> Callable[[], int]:
            for x, target in zip(rows, targets, strict=True):
                predict(x)
                m.learn_one(x, target)
            return lambda: 0

        return job

    return prepare


def speed(name: str, n: int) -> Row:
    """Time both on the same rows."""
    X, y = data(name, n)
    best = interleave({"ours": ours(X, y, name in REAL), "river": rivers(X, y, name in REAL)}, rounds=2)
    mine, peer = (len(y) / best[who].seconds for who in ("ours", "river"))
    return Row(f"{name}, {len(y):,} rows of {X.shape[1]}", mine, "ex/s", "River AMF", peer, at_least=FASTER)


def alone(name: str, n: int) -> Row:
    """Time ours on many rows, and tell its size and error."""
    X, y = data(name, n)
    m: Any = nr.MondrianForestRegressor() if name in REAL else nr.MondrianForest()
    best = interleave({"ours": ours(X, y, name in REAL)}, rounds=1)["ours"]
    f = m.learn_many(X, y)
    error = ((f - y)[1:] ** 2).mean() / y.var() if name in REAL else 100.0 * m.n_mistakes_ / len(y)
    note = (
        f"error {error:.3g}, {m.n_nodes_ / m.trees / len(y):.2f} nodes a row and tree, depth {m.depth_}, {m.nbytes_ / 1e6:.0f} MB"
    )
    return Row(f"{name}, {len(y):,} rows of {X.shape[1]}", len(y) / best.seconds, note=note)


def errors(name: str, n: int, seeds: int) -> Told:
    """Return the errors of both for each seed."""
    X, y = data(name, n)
    low, width = X.min(0), np.ptp(X, axis=0)
    X = (X - low) / np.where(width > 0.0, width, 1.0)
    return (of_targets if name in REAL else of_labels)(X, y, seeds)


def of_labels(X: np.ndarray, y: np.ndarray, seeds: int) -> Told:
    """Return the share of wrong labels, in per cent."""
    K = int(y.max()) + 1
    counted = np.arange(len(y)) > [int(np.argmax(y == label)) for label in y]
    told = Told([], [])
    for seed in range(seeds):
        m = nr.MondrianForest(trees=TREES, seed=seed, scale=False, alpha=1.0 / K)
        said = [m.learn_one(x, label) for x, label in zip(X, y.tolist(), strict=True)]
        told.ours.append(100.0 * np.mean((np.array(said, object) != y)[counted]))
        peer, wrong = forest.AMFClassifier(n_estimators=TREES, seed=seed, dirichlet=1.0 / K), []
        for x, label in zip([dict(enumerate(x)) for x in X.tolist()], y.tolist(), strict=True):
            p = peer.predict_proba_one(x)
            wrong.append(not p or max(p, key=p.__getitem__) != label)
            peer.learn_one(x, label)
        told.theirs.append(100.0 * np.mean(np.array(wrong)[counted]))
    return told


def of_targets(X: np.ndarray, y: np.ndarray, seeds: int) -> Told:
    """Return the mean square of the error over the variance."""
    told, rate = Told([], []), 4.0 / y.var()
    for seed in range(seeds):
        m = nr.MondrianForestRegressor(trees=TREES, seed=seed, scale=False, noise=1.0 / rate)
        told.ours.append(((m.learn_many(X, y) - y)[1:] ** 2).mean() / y.var())
        peer, squares = forest.AMFRegressor(n_estimators=TREES, seed=seed, step=rate), []
        for x, target in zip([dict(enumerate(x)) for x in X.tolist()], y.tolist(), strict=True):
            squares.append(((peer.predict_one(x) or 0.0) - target) ** 2)  # none at first
            peer.learn_one(x, target)
        told.theirs.append(np.mean(squares[1:]) / y.var())
    return told


def compared(name: str, n: int, seeds: int) -> Row:
    """Compare the mean errors; they are the same if they differ by no more than chance."""
    told = errors(name, n, seeds)
    means = [float(np.mean(side)) for side in told]
    chance = [float(np.std(side, ddof=1) / np.sqrt(seeds)) for side in told]
    apart = abs(means[0] - means[1]) / float(np.hypot(*chance))
    note = f"+- {chance[0]:.2g} | {chance[1]:.2g} of {seeds} seeds, {apart:.1f} standard errors apart"
    return Row(f"{name}, {n:,} rows, equal settings", means[0], "error", "River AMF", means[1], note=note, valid=apart < 3.0)


def run(quick: bool) -> list[Row]:
    """Compare speed and error with River's forests."""
    names = ("syn10", "letter", "cal_housing") if quick else tuple(SPEED)
    rows = [speed(name, SPEED[name]) for name in names]
    rows += [alone(name, n) for name, n in LONG.items() if not quick]
    sets, seeds = (("segment", "abalone"), 3) if quick else (tuple(ERRORS), SEEDS)
    return rows + [compared(name, ERRORS[name] // (4 if quick else 1), seeds) for name in sets]
