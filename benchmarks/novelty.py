"""Novelty: pairs of a normal row and an outlier that progressive scores put in the wrong order, 100 (1 - AUC), beside peers.

A row is scored before it is learned; all rows are learned, and labels are never seen. Where a share is named, outliers are mixed
into one class; elsewhere rows are as in the set. Every learner gets the same first 4,000 rows, and so do the peers: River's
half-space trees and one-class SVM behind its scalers, one row at a time, and scikit-learn's SGDOneClassSVM on z-scores.
River's trees answer 0 during their first window of 250 rows. The settings of the default were chosen on the sets in CHOSEN_ON and
other classes of letter and mnist, among about a hundred; those in OTHERS are apart, but for classes of letter and mnist that
occur in both as outliers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from river import anomaly, preprocessing
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score

import noregret as nr
from noregret.spelling import made
from noregret.training.by_task import NOVELTY

from .sets import DATA, READERS, lines, mixed
from .streams import Stream
from .table import Row

ROWS = 4000
SHARE = 0.05  # of outliers, where they are mixed in
OURS: dict[str, Callable[[], Any]] = {
    "default": lambda: made(NOVELTY),
    "scaled PAUniclass": lambda: made("scale(clip=5)>per_entry(l2)>pa_uniclass:C=0.01,epsilon=0"),
    "scaled NORMA, RBF(1)": lambda: nr.pipeline(
        nr.Scale(clip=3.0), nr.PerEntry("l2"), nr.NORMANovelty(kernel=nr.RBF(1.0), budget=nr.RemoveOldest(500))
    ),
    "NORMANovelty": nr.NORMANovelty,
    "PAUniclass": nr.PAUniclass,
}


# ---- the sets --------------------------------------------------------------------------------------------------------
def among(X: Any, normal: np.ndarray, odd: np.ndarray) -> Stream:
    """Mix outliers into the normal rows, in a fixed random order."""
    rng = np.random.default_rng(0)
    few = rng.permutation(np.flatnonzero(odd))[: int(SHARE * normal.sum() / (1.0 - SHARE))]
    order = rng.permutation(np.concatenate([np.flatnonzero(normal), few]))
    return Stream(X[order], np.where(normal[order], 1, -1))


def one_against_rest(name: str, of: int) -> Stream:
    """Take one class of a set for normal."""
    X, y = READERS[name]()
    return among(X, y == of, y != of)


def shuttle() -> Stream:
    """Read shuttle: Rad.Flow is normal."""
    X, _ = READERS["shuttle"]()
    normal = np.array([line.rstrip().endswith("Rad.Flow") for line in lines("shuttle/shuttle.csv.gz")][1:])
    order = np.random.default_rng(0).permutation(len(normal))
    return Stream(X[order], np.where(normal[order], 1, -1))


def intrusions(which: str) -> Stream:
    """Read every ninth row of kddcup99, attacks as outliers: "all" and "http" in the order of time, "few" mixed in."""
    rows = [line.strip().split(",") for i, line in enumerate(lines("kddcup99/kddcup.data_10_percent.gz")) if i % 9 == 0]
    rows = [row for row in rows if which != "http" or row[2] == "http"]
    normal = np.array([row.pop() == "normal." for row in rows])
    X = mixed(rows)
    return among(X, normal, ~normal) if which == "few" else Stream(X, np.where(normal, 1, -1))


def spam() -> Stream:
    """Read spambase: ham is normal."""
    X, y = READERS["spambase"]()
    order = np.random.default_rng(0).permutation(len(y))
    return Stream(X[order], -y[order])


CHOSEN_ON: dict[str, Callable[[], Stream]] = {
    "shuttle": shuttle,
    "kddcup99, 5 % attacks": lambda: intrusions("few"),
    "kddcup99, http": lambda: intrusions("http"),
    "spambase": spam,
    "svmguide1 +1": lambda: one_against_rest("svmguide1", 1),
    "svmguide1 -1": lambda: one_against_rest("svmguide1", -1),
    "mnist, class 0": lambda: one_against_rest("mnist", 0),
    "mnist, class 4": lambda: one_against_rest("mnist", 4),
}
OTHERS: dict[str, Callable[[], Stream]] = {
    "kddcup99, 80 % attacks": lambda: intrusions("all"),
    **{f"letter, class {c}": lambda c=c: one_against_rest("letter", c) for c in (2, 8, 17, 23)},
    **{f"mnist, class {c}": lambda c=c: one_against_rest("mnist", c) for c in (2, 3, 7, 8)},
    **{f"segment, class {c}": lambda c=c: one_against_rest("segment", c) for c in (0, 3, 5)},
    "mushrooms +1": lambda: one_against_rest("mushrooms", 1),
    "mushrooms -1": lambda: one_against_rest("mushrooms", -1),
    "german": lambda: one_against_rest("german", 1),
}


# ---- scores ----------------------------------------------------------------------------------------------------------
def river_scores(model: Any, X: np.ndarray) -> np.ndarray:
    """Return how normal River finds each row before it learns it."""
    found = []
    for row in X.tolist():
        x = dict(enumerate(row))
        found.append(-model.score_one(x))
        model.learn_one(x)
    return np.array(found)


def sklearn_scores(X: np.ndarray) -> np.ndarray:
    """Return how normal scikit-learn finds each row before it learns it, on z-scores of the rows so far."""
    m, Z = SGDOneClassSVM(random_state=0), nr.Scale(clip=5.0).rows(nr.inputs.checking.rows(X, "float64"), True).arrays[-1]
    found = [0.0]
    for i in range(1, len(Z)):
        m.partial_fit(Z[i - 1 : i])
        found.append(float(m.decision_function(Z[i : i + 1])[0]))
    return np.array(found)


PEERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "half-space trees": lambda X: river_scores(preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(seed=0), X),
    "River SVM": lambda X: river_scores(preprocessing.StandardScaler() | anomaly.OneClassSVM(), X),
    "SGDOneClassSVM": sklearn_scores,
}


def wrong(y: np.ndarray, f: np.ndarray) -> float:
    """Return 100 (1 - AUC)."""
    return 100.0 * (1.0 - float(roc_auc_score(y > 0, f)))


def mean(rows: dict[str, list[float]], title: str) -> list[Row]:
    """Return the mean of every learner of ours beside that of the best peer."""
    peer = min((p for p in PEERS if rows[p]), key=lambda p: np.mean(rows[p]), default="")
    best = float(np.mean(rows[peer])) if peer else None
    return [Row(f"mean, {title}: {name}", float(np.mean(rows[name])), "%", peer, best) for name in OURS if rows[name]]


def run(quick: bool) -> list[Row]:
    """Score every set with every learner; the note has all figures."""
    rows = []
    for title, sets in (("sets of the choice", CHOSEN_ON), ("other sets", OTHERS)):
        found: dict[str, list[float]] = {name: [] for name in (*OURS, *PEERS)}
        for name, read in sets.items():
            try:
                X, y = read()
            except FileNotFoundError:
                rows.append(Row(f"{name}: not in {DATA}", np.nan, "%"))
                continue
            X, y = X[: 400 if quick else ROWS], y[: 400 if quick else ROWS]
            if len(set(y.tolist())) < 2:
                continue
            D = csr_matrix(X).toarray()
            here = {learner: wrong(y, np.ravel(make().learn_many(D))) for learner, make in OURS.items()}
            here |= {peer: wrong(y, scores(D)) for peer, scores in PEERS.items()}
            for learner, figure in here.items():
                found[learner].append(figure)
            peer = min(PEERS, key=here.__getitem__)
            note = ", ".join(f"{k} {v:.1f}" for k, v in here.items() if k not in ("default", peer))
            rows.append(Row(f"{name}: default", here["default"], "%", peer, here[peer], note=note))
        rows += mean(found, title)
    return rows
