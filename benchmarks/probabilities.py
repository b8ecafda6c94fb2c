"""Probabilities: progressive log loss beside Vowpal Wabbit, River and scikit-learn; calibration error, coverage, cost.

Every row is forecast before it is learned. Dense columns are z-scores over the whole file, as all peers need them.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from time import thread_time
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

import noregret as nr
from noregret.evaluation.measures.reliability import Reliability
from noregret.learners.model import Model
from noregret.tasks.classes import answered

from .intervals import intervals, sets
from .sets import DATA, images, scaled, shuffled
from .streams import Stream
from .table import Row

MOST = 50_000  # rows of a set
LEARNERS: dict[str, Callable[[], nr.Learner]] = {
    "NAG log": lambda: nr.NAG(loss="log", probabilities=True),
    "NAG square": lambda: nr.NAG(probabilities=True),
    "AROW": lambda: nr.AROW(probabilities=True),
    "SCW-I": lambda: nr.SCW1(probabilities=True),
    "PA-I": lambda: nr.PA1(C=0.1, probabilities=True),
    "OGD log": lambda: nr.OGD(loss="log", probabilities=True),
    "Perceptron": lambda: nr.Perceptron(probabilities=True),
    "Auto": nr.Auto,
}
DEMANDS = {  # geometric mean of the ratios to a peer, and the largest: two classes, many
    ("NAG log", "VW"): ((0.82, 1.01), (0.63, 0.85)),
    ("NAG log", "River"): ((0.78, 1.03), (0.46, 1.0)),
    ("NAG log", "scikit-learn"): ((0.20, 1.1), (0.18, 1.0)),
    ("NAG square", "VW"): ((0.74, 1.05), (0.57, 0.85)),
    ("Auto", "VW"): ((0.68, 1.01), (0.43, 0.82)),
    ("Auto", "the best peer"): ((0.76, 1.01), (0.44, 1.0)),
}


# ---- the sets ----------------------------------------------------------------------------------------------------------
TWO = ("a9a", "elec2", "spambase", "higgs", "sms_spam", "polarity", "subjectivity", "kddcup99, normal or not", "svmguide1")
MANY = ("letter", "mnist, 15,000", "shuttle", "reuters_r8", "kddcup99, attacks", "segment")
SLOW = ("mnist, 15,000",)  # for River


def read(name: str, most: int) -> Stream:
    """Return the first rows of a set, dense columns as z-scores, but not those of categories, and of pixels."""
    X, y = attacks(name) if name.startswith("kddcup99") else mixed_up(images()) if name in SLOW else shuffled(name)
    if not issparse(X) and name not in SLOW:
        X = X[:, X.std(0) > 0.0]
        flags = ((X == 0.0) | (X == 1.0)).all(0)
        X = np.where(flags, X, scaled(Stream(X, y)).X)
    return Stream(X[:most], y[:most])


def attacks(name: str) -> Stream:
    """Return kddcup99 in the order of time, with the classes of attacks, or with two."""
    X, y = shuffled("kddcup99")
    return Stream(X.toarray(), y if "attacks" in name else np.where(y == 0, 1, -1))  # the first row is normal


def mixed_up(stream: Stream) -> Stream:
    """Return rows in one random order."""
    order = np.random.default_rng(0).permutation(len(stream.y))
    return Stream(stream.X[order], stream.y[order])


# ---- forecasts -----------------------------------------------------------------------------------------------------------
class Forecasts:
    """The figures of one learner, and the losses of its first rows."""

    def __init__(self, m: Any, stream: Stream) -> None:
        self.figures, self.first, done = Reliability(), np.zeros(0), 0
        for piece in m.learn_rows(m.check_rows(stream.X), stream.y, None):
            seen = answered(piece)[1]
            self.figures.add(piece.y, piece.said.p, seen, None, piece.positive)
            told = (seen > 1) & (piece.y < seen)
            p = piece.said.p[np.arange(len(piece.y)), piece.y]
            early = told & (done + np.arange(len(p)) < 20)
            self.first, done = np.append(self.first, -np.log(p[early])), done + len(p)
        self.loss, self.ece = (self.figures.metrics()[k] for k in ("log_loss", "ece"))


def rows_of(stream: Stream) -> Iterable[tuple[list[int], list[float]]]:
    """Yield the cells of each row that are not 0."""
    X = csr_matrix(stream.X)
    for a, b in zip(X.indptr, X.indptr[1:], strict=False):
        yield X.indices[a:b].tolist(), X.data[a:b].tolist()


def charged(p: list[float], y: np.ndarray) -> float:
    """Return the mean log loss of rows whose label, and another one, came before."""
    known: set[Any] = set()
    told = []
    for label in y.tolist():
        told.append(len(known) > 1 and label in known)
        known.add(label)
    return float(-np.log(np.maximum(np.array(p)[told], 1e-12)).mean())


def vw(stream: Stream) -> float:
    """Return the log loss of Vowpal Wabbit."""
    from vowpalwabbit import Workspace

    K = len(np.unique(stream.y))
    two = K == 2
    options = "--loss_function logistic --link logistic" if two else f"--oaa {K} --loss_function logistic --probabilities"
    model, p = Workspace(f"--quiet -b 22 {options}"), []
    for (at, values), y in zip(rows_of(stream), stream.y.tolist(), strict=True):
        text = "| " + " ".join(f"{j}:{v!r}" for j, v in zip(at, values, strict=True))
        said = model.predict(text)
        p.append((said if y > 0 else 1.0 - said) if two else said[y])
        model.learn(f"{y if two else y + 1} {text}")
    return charged(p, stream.y)


def sklearn(stream: Stream) -> float:
    """Return that of scikit-learn's logistic regression by stochastic gradients, row by row (many classes: ten at a time)."""
    from sklearn.linear_model import SGDClassifier

    classes = np.unique(stream.y)
    model, p, step = SGDClassifier(loss="log_loss", random_state=0), [], 1 if len(classes) == 2 else 10
    X = stream.X.tocsr() if issparse(stream.X) else stream.X
    for a in range(0, len(stream.y), step):
        part, y = X[a : a + step], stream.y[a : a + step]
        said = model.predict_proba(part) if a else np.full((len(y), len(classes)), 1.0 / len(classes))
        p += said[np.arange(len(y)), np.searchsorted(classes, y)].tolist()
        model.partial_fit(part, y, classes=classes)
    return charged(p, stream.y)


def river(stream: Stream) -> float:
    """Return that of River's logistic regression."""
    from river import linear_model, multiclass

    two = len(np.unique(stream.y)) == 2
    model, p = linear_model.LogisticRegression(), []
    model = model if two else multiclass.OneVsRestClassifier(model)
    for (at, values), label in zip(rows_of(stream), stream.y.tolist(), strict=True):
        x, y = dict(zip(at, values, strict=True)), label > 0 if two else label
        p.append(model.predict_proba_one(x).get(y, 0.0))
        model.learn_one(x, y)
    return charged(p, stream.y)


PEERS: dict[str, Callable[[Stream], float]] = {"VW": vw, "River": river, "scikit-learn": sklearn}


# ---- what is asked for -----------------------------------------------------------------------------------------------------
def losses(names: tuple[str, ...], quick: bool, at: int, all_told: list[Forecasts]) -> list[Row]:
    """Return the log losses of every learner and peer on the sets, and the ratios that are asked for."""
    rows: list[Row] = []
    found: dict[str, dict[str, float]] = {}
    for name in names:
        stream = read(name, 2000 if quick else MOST)
        theirs: dict[str, float] = {}
        for peer, ask in PEERS.items():
            try:
                theirs |= {} if peer == "River" and name in SLOW else {peer: ask(stream)}
            except ModuleNotFoundError:
                continue
        found[name] = {**theirs, "the best peer": min(theirs.values(), default=np.nan)}
        for learner, make in LEARNERS.items():
            told = Forecasts(make(), stream)
            found[name][learner] = told.loss
            all_told.append(told)
            note = ", ".join(f"{peer} {loss:.4f}" for peer, loss in theirs.items())
            most = None if quick else 0.03
            rows.append(Row(f"{name}: {learner}, log loss", told.loss, "nats", "VW", theirs.get("VW"), note=note))
            rows.append(Row(f"{name}: {learner}, calibration error", told.ece, "", at_most=most))
    for (learner, peer), demands in DEMANDS.items():
        ratios = [own[learner] / own[peer] for own in found.values() if peer in own]
        if ratios:
            what = f"{learner} / {peer}, {'many' if at else 'two'} classes"
            mean, most = demands[at]
            rows.append(Row(f"{what}: geometric mean", float(np.exp(np.mean(np.log(ratios)))), "", at_most=None if quick else mean))
            rows.append(Row(f"{what}: largest", max(ratios), "", at_most=None if quick else most))
    return rows


def together(told: list[Forecasts], quick: bool) -> list[Row]:
    """Return the figures of all sets and learners: the mean calibration error, and the first twenty rows."""
    first = np.concatenate([own.first for own in told])
    return [
        Row("calibration error, mean of all", float(np.mean([own.ece for own in told])), "", at_most=None if quick else 0.012),
        Row("first 20 rows: largest loss", float(first.max()), "nats", at_most=5.0),
        Row("first 20 rows: mean loss", float(first.mean()), "nats", at_most=1.0),
    ]


def calibrated(f: np.ndarray, codes: np.ndarray) -> float:
    """Return the mean log loss of calibrated scores of two classes."""
    return float(-np.log(nr.Calibrator().learn_many(np.ravel(f), codes)[np.arange(len(f)), codes]).mean())


def growing(quick: bool) -> list[Row]:
    """Return what scores that grow, and labels that are turned round, cost."""
    rows = []
    for name, who, learner in (("a9a", "AROW", nr.AROW()), ("spambase", "SCW-I", nr.SCW1())):
        X, y = read(name, 2000 if quick else MOST)
        n = len(y)
        f, codes, t = learner.learn_many(X, y), (y > 0).astype(np.int64), np.arange(1.0, n + 1.0)
        plain = calibrated(f, codes)
        cases = {
            "times sqrt(t)": (f * np.sqrt(t), codes, 1.015),
            "times t": (f * t, codes, 1.015),
            "times e^(t/1000)": (f * np.exp(t / 1000), codes, 1.06),
            "with labels turned at T/2": (f, np.where(t > n / 2, 1 - codes, codes), 1.08),
        }
        for what, (scores, labels, most) in cases.items():
            ratio = calibrated(scores, labels) / plain
            rows.append(Row(f"{name}, scores of {who} {what}: log loss / plain", ratio, "", at_most=None if quick else most))
    return rows


def beside_logistic(quick: bool) -> list[Row]:
    """Return the log loss over that of the logistic function of the score, for learners of the log loss."""
    rows = []
    for who, learner in (("NAG", nr.NAG(loss="log")), ("OGD", nr.OGD(loss="log")), ("coin", nr.Coin(loss="log"))):
        worst, where = 0.0, ""
        for name in TWO:
            X, y = read(name, 2000 if quick else MOST)
            f, codes = learner.clone().learn_many(X, y), (y > 0).astype(np.int64)
            plain = float(np.logaddexp(0.0, np.where(codes == 1, -f, f)).mean())
            worst, where = max((worst, where), (calibrated(f, codes) / plain, name))
        rows.append(
            Row(f"{who}: log loss / that of sigma(score), largest", worst, "", at_most=None if quick else 1.005, note=where)
        )
    return rows


def cost(quick: bool) -> list[Row]:
    """Return the time a row takes, in compiled code."""
    rows, rng, n = [], np.random.default_rng(0), 5000 if quick else 50_000
    for K in (2, 6, 26, 40):
        f = rng.standard_normal((n, 1 if K == 2 else K))
        y = (f[:, 0] > rng.standard_normal(n)).astype(np.int64) if K == 2 else f.argmax(1)
        taken = []
        for _ in range(4):
            m, start = nr.Calibrator(list(range(K))), thread_time()
            m.learn_many(f, y)
            taken.append(thread_time() - start)
        rows.append(Row(f"{K} classes: calibration", 1e6 * min(taken) / n, "us a row", at_most=3.0 + 0.3 * K if K > 2 else 3.0))
    X, y = rng.standard_normal((n, 20)), rng.integers(0, 2, n)
    taken = dict.fromkeys(("without the feature", "off", "on"), np.inf)
    for _ in range(9):  # in turns
        for name in taken:
            with removed() if name == "without the feature" else contextlib.nullcontext():
                taken[name] = min(taken[name], seconds(nr.PA1(probabilities=name == "on"), X, y))
    none, off, on = taken.values()
    rows.append(Row("PA-I, 20 features, with probabilities", 1e6 * on / n, "us a row", "off", 1e6 * off / n))
    rows.append(Row("PA-I, 20 features: off / without the feature", off / none, "", at_most=None if quick else 1.02))
    return rows


@contextlib.contextmanager
def removed() -> Iterator[None]:
    """Let models know nothing of probabilities inside this block."""
    kept = Model.calibrate
    Model.calibrate = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Model.calibrate = kept  # type: ignore[method-assign]


def seconds(m: nr.Learner, X: np.ndarray, y: np.ndarray) -> float:
    """Return the time it takes to learn rows."""
    m.partial_fit(X[:10], y[:10])
    start = thread_time()
    m.partial_fit(X, y)
    return thread_time() - start


def run(quick: bool) -> list[Row]:
    """Measure all of it."""
    if not DATA.exists():
        return [Row(f"not in {DATA}", np.nan, ""), *cost(quick)]
    told: list[Forecasts] = []
    rows = [*losses(TWO, quick, 0, told), *losses(MANY, quick, 1, told), *together(told, quick)]
    return [*rows, *growing(quick), *beside_logistic(quick), *intervals(quick), *sets(quick), *cost(quick)]
