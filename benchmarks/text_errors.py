"""Sparse text: progressive error of second-order learners beside River, scikit-learn and Vowpal Wabbit, on the same rows."""

import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

import noregret as nr

from .nothing_to_tune import vw_error
from .sets import DATA, shuffled
from .streams import Stream
from .table import Row

SETS = ("polarity", "subjectivity", "sms_spam", "rcv1_small")
OURS: dict[str, Callable[[], Any]] = {
    "AROW": lambda: nr.AROW(classes=[-1, 1]),
    "AROW, rows of length 1": lambda: nr.pipeline(nr.Normalize(), nr.AROW(r=0.1, classes=[-1, 1])),
    "SCW-I": lambda: nr.SCW1(classes=[-1, 1]),
    "SCW-I, rows of length 1": lambda: nr.pipeline(nr.Normalize(), nr.SCW1(classes=[-1, 1])),
    "NAG": lambda: nr.NAG(classes=[-1, 1]),
    "Auto": lambda: nr.Auto(),
}


def ours(make: Callable[[], Any], stream: Stream) -> float:
    """Return the progressive error in percent."""
    m = make().partial_fit(stream.X, stream.y)
    return 100.0 * getattr(m, "learner", m).n_mistakes_ / len(stream.y)


def river_peers() -> dict[str, Callable[[], Any]]:
    """Return River's linear classifiers, with their defaults."""
    from river import linear_model as lm

    return {
        "LogisticRegression": lm.LogisticRegression,
        "PAClassifier": lm.PAClassifier,
        "ALMAClassifier": lm.ALMAClassifier,
        "Perceptron": lm.Perceptron,
    }


def river_error(make: Callable[[], Any], stream: Stream) -> float:
    """Return the progressive error of a River model in percent."""
    model, wrong = make(), 0
    for x, y in zip(dicts(stream), (stream.y > 0).tolist(), strict=True):
        wrong += bool(model.predict_one(x)) != y
        model.learn_one(x, y)
    return 100.0 * wrong / len(stream.y)


def dicts(stream: Stream) -> Iterator[dict[str, float]]:
    """Yield the rows as River takes them."""
    X = stream.X
    for i in range(X.shape[0]):
        a, b = X.indptr[i], X.indptr[i + 1]
        yield {f"w{j}": v for j, v in zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)}


def sklearn_peers() -> dict[str, Callable[[], Any]]:
    """Return scikit-learn's linear classifiers that learn row by row."""
    from sklearn.linear_model import Perceptron, SGDClassifier

    return {
        "SGD log": lambda: SGDClassifier(loss="log_loss"),
        "SGD hinge": lambda: SGDClassifier(),
        "SGD hinge, average": lambda: SGDClassifier(average=True),
        "PA-I": lambda: SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0),
        "Perceptron": Perceptron,
    }


def sklearn_error(make: Callable[[], Any], stream: Stream) -> float:
    """Return the progressive error of a scikit-learn model in percent, one row at a time."""
    model, wrong = make(), 0
    for i in range(len(stream.y)):
        x, y = stream.X[i], stream.y[i : i + 1]
        wrong += int(model.predict(x)[0] != y[0]) if i else int(y[0] < 0)
        model.partial_fit(x, y, classes=[-1, 1])
    return 100.0 * wrong / len(stream.y)


def best(peers: dict[str, Callable[[], Any]], error: Callable[..., float], stream: Stream) -> tuple[float, str]:
    """Return the least error of several peers, and which one it is of."""
    found = {}
    for name, make in peers.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[name] = error(make, stream)
            except (TypeError, ValueError):  # an option of another version
                continue
    name = min(found, key=lambda k: found[k])
    return found[name], name


def run(quick: bool) -> list[Row]:
    """Run every learner over every set; the peer is the best of its package."""
    rows = []
    for name in SETS:
        try:
            stream = shuffled(name)
        except FileNotFoundError:
            rows.append(Row(f"{name}: not in {DATA}", np.nan, "%"))
            continue
        if quick:
            stream = Stream(stream.X[:1000], stream.y[:1000])
        start = perf_counter()
        theirs = {
            "River": best(river_peers(), river_error, stream),
            "scikit-learn": best(sklearn_peers(), sklearn_error, stream),
            "VW": (vw_error("", stream), "default"),
        }
        for learner, make in OURS.items():
            rows.append(Row(f"{name}: {learner}", ours(make, stream), "%"))
        for package, (found, which) in theirs.items():
            rows.append(Row(f"{name}: best of {package}", found, "%", note=which))
        rows.append(Row(f"{name}: all peers took", perf_counter() - start, "s"))
    return rows
