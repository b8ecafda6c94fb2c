"""Components beside scikit-learn's: rows a second on images, and what is left of the rows in the end.

MNIST, 4,000 rows of 784 pixels from 0 to 1, one thread. PCA: k = 20; the figure in the note is the mean squared residual of all
rows.
Dictionaries: k = 100, lambda = 1, batches of 256; the figure is the mean of |x - D'a|^2/2 + lambda |a|_1 with the last dictionary.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, IncrementalPCA, MiniBatchDictionaryLearning
from threadpoolctl import threadpool_limits

import noregret as nr

from .sets import shuffled
from .table import Row
from .timing import Job, interleave

ROWS, K, BATCH = 4000, 20, 100
ATOMS, LAMBDA, SIGNALS = 100, 1.0, 256
FASTER = 4.0
ALONE = {"merge": 5_000.0, "ccipca": 20_000.0, "oja": 0.0}  # rows a second, one by one
LEAST = 18.5  # what the objective of a dictionary must be at most


def images(n: int) -> np.ndarray:
    """Return pixels from 0 to 1."""
    return np.ascontiguousarray(np.asarray(shuffled("mnist")[0][:n], np.float64) / 255.0)


def learning(make: Callable[[], Any], X: np.ndarray, size: int, kept: dict[str, Any], name: str) -> Callable[[], Job]:
    """Prepare a learner that takes batches; what it has become is kept."""

    def prepare() -> Job:
        m = kept[name] = make()

        def job() -> Callable[[], int]:
            for i in range(0, len(X), size):
                m.partial_fit(X[i : i + size])
            return lambda: 0

        return job

    return prepare


def residual(m: Any, X: np.ndarray) -> float:
    """Return the mean squared residual."""
    return float(((X - m.inverse_transform(m.transform(X))) ** 2).sum(1).mean())


def in_batches(X: np.ndarray) -> Row:
    """Compare batches of PCA; the components must be equal."""
    kept: dict[str, Any] = {}
    makers = {"ours": lambda: nr.OnlinePCA(k=K, S=BATCH), "theirs": lambda: IncrementalPCA(K)}
    best = interleave({name: learning(make, X, BATCH, kept, name) for name, make in makers.items()}, rounds=3)
    mine, peer = (len(X) / best[name].seconds for name in makers)
    apart = np.abs(np.abs((kept["ours"].components_ * kept["theirs"].components_).sum(1)) - 1.0).max()
    note = (
        f"residual {residual(kept['ours'], X):.4g} | {residual(kept['theirs'], X):.4g}, batch PCA {residual(PCA(K).fit(X), X):.4g}"
    )
    work = f"PCA, batches of {BATCH}"
    return Row(work, mine, "ex/s", "IncrementalPCA", peer, at_least=FASTER, note=note, valid=bool(apart < 1e-8))


def one_by_one(X: np.ndarray, method: str) -> Row:
    """Time a method that takes single rows."""
    kept: dict[str, Any] = {}
    given = {"l": 2} if method == "ccipca" else {}
    work = learning(lambda: nr.OnlinePCA(k=K, method=method, **given), X, len(X), kept, "ours")
    rate = len(X) / interleave({"ours": work}, rounds=3)["ours"].seconds
    target = f", to reach {ALONE[method]:,.0f}" if ALONE[method] else ""
    return Row(
        f"PCA row by row, {method}", rate, note=f"residual {residual(kept['ours'], X):.4g}{target}", valid=rate >= ALONE[method]
    )


def dictionaries(X: np.ndarray, coding: str) -> Row:
    """Compare dictionaries; ours must not be worse."""
    kept: dict[str, Any] = {}
    theirs = {"fit_algorithm": coding, "transform_algorithm": f"lasso_{coding}", "transform_alpha": LAMBDA}
    makers = {
        "ours": lambda: nr.DictionaryLearner(k=ATOMS, lambda_=LAMBDA, S=SIGNALS, coding=coding),
        "theirs": lambda: MiniBatchDictionaryLearning(ATOMS, alpha=LAMBDA, batch_size=SIGNALS, random_state=0, **theirs),
    }
    best = interleave({name: learning(make, X, SIGNALS, kept, name) for name, make in makers.items()}, rounds=2)
    mine, peer = (len(X) / best[name].seconds for name in makers)
    Z = kept["theirs"].transform(X)
    other = float((0.5 * ((X - Z @ kept["theirs"].components_) ** 2).sum(1) + LAMBDA * np.abs(Z).sum(1)).mean())
    found = kept["ours"].finish().objective(X)
    note, good = f"objective {found:.4g} | {other:.4g}", found <= (LEAST if len(X) == ROWS else np.inf)
    return Row(f"dictionary, {coding}", mine, "ex/s", "MiniBatchDictionaryLearning", peer, at_least=FASTER, note=note, valid=good)


def run(quick: bool) -> list[Row]:
    """Compare PCA and dictionaries with scikit-learn's."""
    X = images(ROWS // 4 if quick else ROWS)
    with threadpool_limits(1):
        rows = [in_batches(X), *(one_by_one(X, method) for method in ALONE)]
        return rows + [dictionaries(X, coding) for coding in (("cd",) if quick else ("cd", "lars"))]
