"""Probabilities: progressive log loss beside Vowpal Wabbit, River and scikit-learn; calibration error, coverage, cost.

Every row is forecast before it is learned. Dense columns are z-scores over the whole file, as all peers need them.
"""

from collections.abc import Callable, Iterable
from time import thread_time
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

import noregret as nr
from noregret.calibration.calibration import Scores
from noregret.calibration.calibrator import Calibrator
from noregret.evaluation.measures.reliability import Reliability
from noregret.tasks.classes import answered

from .sets import DATA, scaled, shuffled
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
}


# ---- the sets ----------------------------------------------------------------------------------------------------------
TWO = ("a9a", "elec2", "spambase", "higgs", "sms_spam", "polarity", "subjectivity", "svmguide1")
MANY = ("letter", "shuttle", "segment", "reuters_r8")


def read(name: str, most: int) -> Stream:
    """Return the first rows of a set, dense columns as z-scores."""
    X, y = shuffled(name)
    X, y = (X, y) if issparse(X) else scaled(Stream(X[:, X.std(0) > 0.0], y))
    return Stream(X[:most], y[:most])


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
def losses(sets: tuple[str, ...], quick: bool, at: int, all_told: list[Forecasts]) -> list[Row]:
    """Return the log losses of every learner and peer on the sets, and the ratios that are asked for."""
    rows: list[Row] = []
    found: dict[str, dict[str, float]] = {}
    for name in sets:
        stream = read(name, 2000 if quick else MOST)
        theirs = {}
        for peer, ask in PEERS.items():
            try:
                theirs[peer] = ask(stream)
            except ModuleNotFoundError:
                continue
        found[name] = dict(theirs)
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


def growing(quick: bool) -> list[Row]:
    """Return what scores that grow, and labels that are turned round, cost: AROW on a9a."""
    X, y = shuffled("a9a")
    n = 2000 if quick else len(y)
    f, codes, t = nr.AROW().learn_many(X[:n], y[:n]), (y[:n] > 0).astype(np.int64), np.arange(1.0, n + 1.0)
    turned = np.where(t > n / 2, 1 - codes, codes)

    def loss(scores: np.ndarray, labels: np.ndarray) -> float:
        p = Calibrator(2).follow(Scores(scores[:, None], False, 1), labels, None)
        return float(-np.log(p[np.arange(n), labels]).mean())

    plain = loss(f, codes)
    cases = {
        "sqrt(t)": (f * np.sqrt(t), codes, 1.015),
        "t": (f * t, codes, 1.015),
        "e^(t/1000)": (f * np.exp(t / 1000), codes, 1.06),
    }
    rows = [
        Row(f"a9a, AROW times {k}: log loss / plain", loss(s, c) / plain, "", at_most=most) for k, (s, c, most) in cases.items()
    ]
    return [*rows, Row("a9a, AROW, labels turned at T/2: log loss / plain", loss(f, turned) / plain, "", at_most=1.08)]


def covered(quick: bool) -> list[Row]:
    """Return how far the formal coverage is from the one asked for after 10,000 rows."""
    houses = "cal_housing/cal_housing.arff.gz", "medianHouseValue", ""
    bikes = "bike_sharing/hour.csv.gz", "cnt", "casual,registered,instant,dteday"
    limit = 1000 if quick else 10_000
    rows = []
    for level in (0.9, 0.95):
        how: dict[str, Any] = {"coverage": level, "regret": False, "limit": limit}
        for path, target, ignore in (houses, bikes):
            given = {"ignore": ignore.split(",")} if ignore else {}
            for name in ("nag_regressor", "pa1_regressor"):
                found = nr.evaluate(str(DATA / path), name, target=target, scale=True, **given, **how).learners[0]["metrics"]
                rows.append(gap(f"{path.split('/')[0]}, {name}, {level:g}", found, level, "width", quick))
        for name in ("elec2", "a9a", "letter"):
            found = nr.evaluate(tuple(read(name, limit)), "arow", **how).learners[0]["metrics"]
            rows.append(gap(f"{name}, sets of AROW, {level:g}", found, level, "set_size", quick))
    return rows


def gap(what: str, found: dict[str, float], level: float, size: str, quick: bool) -> Row:
    """Return the row of a coverage."""
    note = f"shown {found['coverage']:.4f}, {size} {found[size]:.4g}"
    return Row(f"coverage, {what}", abs(found["coverage_formal"] - level), "", at_most=0.05 if quick else 0.01, note=note)


def cost(quick: bool) -> list[Row]:
    """Return the time a row takes, in compiled code."""
    rows, rng, n = [], np.random.default_rng(0), 5000 if quick else 50_000
    for K in (2, 6, 26, 40):
        f = rng.standard_normal((n, 1 if K == 2 else K))
        y = (f[:, 0] > rng.standard_normal(n)).astype(np.int64) if K == 2 else f.argmax(1)
        taken = []
        for _ in range(4):
            m, start = Calibrator(K), thread_time()
            m.follow(Scores(f, K > 2, 1), y, None)
            taken.append(thread_time() - start)
        rows.append(Row(f"{K} classes: calibration", 1e6 * min(taken) / n, "us a row", at_most=3.0 + 0.3 * K if K > 2 else 3.0))
    X, y = rng.standard_normal((n, 20)), rng.integers(0, 2, n)
    off, on = (min(seconds(nr.PA1(probabilities=p), X, y) for _ in range(5)) for p in (False, True))
    rows.append(Row("PA-I, 20 features, with probabilities", 1e6 * on / n, "us a row", "without", 1e6 * off / n))
    return rows


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
    return [*rows, *growing(quick), *covered(quick), *cost(quick)]
