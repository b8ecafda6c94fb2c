"""Nothing to tune: progressive error of Auto on public sets, beside all single learners and the defaults of other libraries.

Every learner meets the same rows in the same order, one pass, and answers each row before it learns it. The best of all is the
least error on the set of any single learner here or of any peer, in hindsight.
"""

from collections.abc import Callable, Iterator
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

import noregret as nr

from .sets import READERS, REAL, shuffled
from .streams import Stream
from .table import Row

ROWS = 10_000
SMALL = 2_000  # with fewer rows than these the difference of two errors is mostly chance
BUDGETS = ("fast", "balanced", "best")


def behind(learner: Any, *maps: Any) -> Any:
    """Return a learner behind maps."""
    return nr.pipeline(*maps, learner)


def table(learner: Any) -> Any:
    """Return a learner behind columns that are centred, scaled and clipped."""
    return behind(learner, nr.Scale(center="common", clip=3.0))


def bins(learner: Any, gamma: float) -> Any:
    """Return a learner behind random bins."""
    maps = nr.First(1000), nr.Scale(center="common", clip=3.0), nr.PerEntry(), nr.RandomBinning(100, nr.Laplacian(gamma), bits=18)
    return behind(learner, *maps)


SINGLE: dict[str, Callable[[], Any]] = {
    "NAG": nr.NAG,
    "NAG log": lambda: nr.NAG(loss="log"),
    "AROW": nr.AROW,
    "AROW, length 1": lambda: behind(nr.AROW(), nr.Normalize()),
    "SCW-I": nr.SCW1,
    "SCW-I, length 1": lambda: behind(nr.SCW1(), nr.Normalize()),
    "PA-I": nr.PA1,
    "coin": nr.Coin,
    "ScInOL": nr.ScInOL,
    "table, NAG": lambda: table(nr.NAG()),
    "table, AROW": lambda: table(nr.AROW()),
    "table, SCW-I": lambda: table(nr.SCW1()),
    "table, PA-I": lambda: table(nr.PA1()),
    "table, ScInOL": lambda: table(nr.ScInOL()),
    "bins 1, NAG": lambda: bins(nr.NAG(), 1.0),
    "bins 2, NAG": lambda: bins(nr.NAG(), 2.0),
    "bins 4, NAG": lambda: bins(nr.NAG(), 4.0),
    "bins 8, NAG": lambda: bins(nr.NAG(), 8.0),
}
SINGLE_REAL: dict[str, Callable[[], Any]] = {
    "NAG": nr.NAGRegressor,
    "table, NAG": lambda: table(nr.NAGRegressor()),
    "table, coin": lambda: table(nr.CoinRegressor()),
    "table, RLS": lambda: table(nr.RLS()),
    "table, kernel RLS": lambda: behind(nr.KernelRLS(kernel=nr.RBF(1.0)), nr.Scale(center="common", clip=3.0), nr.PerEntry("l2")),
    "bins 1, NAG": lambda: bins(nr.NAGRegressor(), 1.0),
    "bins 2, NAG": lambda: bins(nr.NAGRegressor(), 2.0),
    "bins 4, NAG": lambda: bins(nr.NAGRegressor(), 4.0),
}


class Outcome(NamedTuple):
    """How far the answers were from the truth (error in percent, or RMSE), and the CPU time a row took in microseconds."""

    figure: float
    time: float


# ---- ours --------------------------------------------------------------------------------------------------------------
def error(make: Callable[[], Any], stream: Stream) -> Outcome:
    """Return the progressive error of a classifier of ours."""
    make().partial_fit(stream.X[:50], stream.y[:50])  # compiled
    m, start = make(), process_time()
    m.partial_fit(stream.X, stream.y)
    return Outcome(100.0 * m.n_mistakes_ / len(stream.y), 1e6 * (process_time() - start) / len(stream.y))


def standardised(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return targets less their mean so far over their deviation so far, with both from before each row."""
    n = np.arange(1, len(y) + 1)
    mean = np.cumsum(y) / n
    deviation = np.sqrt(np.maximum(np.cumsum(y * y) / n - mean * mean, 0.0))
    deviation = np.where(deviation > 1e-12 * np.abs(mean), deviation, 1.0)
    return (y - mean) / deviation, np.concatenate([[0.0], mean[:-1]]), np.concatenate([[1.0], deviation[:-1]])


def rmse(answers: np.ndarray, y: np.ndarray) -> float:
    """Return the root of the mean squared error, the first row left out, which nobody can know."""
    return float(np.sqrt(np.mean((answers[1:] - y[1:]) ** 2)))


def real_error(make: Callable[[], Any], stream: Stream, scale: bool) -> Outcome:
    """Return the progressive RMSE of a regressor of ours; single ones learn standardised targets, if `scale`."""
    y = np.asarray(stream.y, np.float64)
    z, mean, deviation = standardised(y)
    make().partial_fit(stream.X[:50], z[:50])
    m, start = make(), process_time()
    f = np.ravel(m.learn_many(stream.X, z if scale else y))
    time = 1e6 * (process_time() - start) / len(y)
    room = 0.5 * (np.maximum.accumulate(y) - np.minimum.accumulate(y))
    answers = np.clip(mean + deviation * f, np.minimum.accumulate(y) - room, np.maximum.accumulate(y) + room) if scale else f
    return Outcome(rmse(answers, y), time)


# ---- peers -------------------------------------------------------------------------------------------------------------
def one_by_one(stream: Stream, predict: Callable[[Any], Any], learn: Callable[[Any, Any], Any], rows: list[Any]) -> Outcome:
    """Return the outcome of a peer that takes one row at a time."""
    y, said, start = stream.y.tolist(), [], process_time()
    for x, truth in zip(rows, y, strict=True):
        said.append(predict(x))
        learn(x, truth)
    time = 1e6 * (process_time() - start) / len(y)
    if stream.y.dtype.kind == "f":
        return Outcome(rmse(np.array([0.0 if s is None else s for s in said], np.float64), stream.y), time)
    return Outcome(100.0 * float(np.mean([s != t for s, t in zip(said, y, strict=True)])), time)


def dicts(stream: Stream) -> list[dict[int, float]]:
    """Return rows as dicts."""
    X = csr_matrix(stream.X)
    cells = zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
    return [dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)) for a, b in cells]


def of_river(stream: Stream) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcomes of River: linear learners on raw and on standardised columns, and the aggregated Mondrian forest."""
    from river import forest, linear_model, multiclass, preprocessing

    rows, y = dicts(stream), stream.y
    real = y.dtype.kind == "f"
    many = not real and len(np.unique(y)) > 2
    one = multiclass.OneVsRestClassifier if many else lambda m: m
    if real:
        linear = {"River linear": lambda: linear_model.LinearRegression(), "River PA": lambda: linear_model.PARegressor()}
    else:
        linear = {"River logistic": lambda: linear_model.LogisticRegression(), "River PA": lambda: linear_model.PAClassifier()}
    for name, make in linear.items():
        for kind, model in ((name, one(make())), (f"{name}, scaled", preprocessing.StandardScaler() | one(make()))):
            yield kind, one_by_one(stream, model.predict_one, model.learn_one, rows)
    if max(map(len, rows)) <= 100:  # its boxes cost with every column
        m = forest.AMFRegressor(seed=1) if real else forest.AMFClassifier(seed=1)
        full = [{j: row.get(j, 0.0) for j in range(stream.X.shape[1])} for row in rows] if stream.X.shape[1] <= 150 else rows
        yield "River AMF", one_by_one(stream, m.predict_one, m.learn_one, full)


def of_vw(stream: Stream) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcomes of Vowpal Wabbit: its default and coin betting."""
    from vowpalwabbit import Workspace

    real = stream.y.dtype.kind == "f"
    labels = {} if real else {label: k + 1 for k, label in enumerate(dict.fromkeys(stream.y.tolist()))}
    many = len(labels) > 2
    task = f"--oaa {len(labels)}" if many else "" if real else "--binary"
    texts = [" | " + " ".join(f"{j}:{v!r}" for j, v in row.items()) for row in dicts(stream)]
    sign = {label: 2 * k - 3 for label, k in labels.items()}
    key = (lambda t: t) if real else labels.__getitem__ if many else sign.__getitem__
    back = (lambda p: p) if real else {v: k for k, v in (labels if many else sign).items()}.get
    for name, more in (("VW", ""), ("VW coin", "--coin" + ("" if real else " --loss_function logistic"))):
        vw = Workspace(f"--quiet -b 24 {task} {more}")
        yield name, one_by_one(stream, lambda x, vw=vw: back(vw.predict(x)), lambda x, t, vw=vw: vw.learn(f"{key(t)}{x}"), texts)


def of_sklearn(stream: Stream) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcomes of scikit-learn's gradient descent, row by row."""
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    real = stream.y.dtype.kind == "f"
    rows = [stream.X[[i]] for i in range(len(stream.y))]
    m = SGDRegressor() if real else SGDClassifier(random_state=0)
    classes = {} if real else {"classes": np.unique(stream.y)}
    state = {"met": False}

    def learn(x: Any, t: Any) -> None:
        m.partial_fit(x, [t], **classes)
        state["met"] = True

    with np.errstate(all="ignore"):
        yield "sklearn SGD", one_by_one(stream, lambda x: m.predict(x)[0] if state["met"] else None, learn, rows)


PEERS = (of_vw, of_river, of_sklearn)


def peers(stream: Stream) -> dict[str, Outcome]:
    """Return the outcomes of all peers that are installed."""
    found: dict[str, Outcome] = {}
    for peer in PEERS:
        try:
            found |= dict(peer(stream))
        except ModuleNotFoundError:
            continue
    return found


# ---- the table ---------------------------------------------------------------------------------------------------------
def rows_of(name: str, n: int) -> Iterator[tuple[Row, float, int]]:
    """Yield a row for each budget, with how far Auto is behind the best of all, and the number of rows."""
    stream = shuffled(name)
    stream = Stream(stream.X[:n], stream.y[:n])
    real = name in REAL
    single = (
        {k: real_error(make, stream, True) for k, make in SINGLE_REAL.items()}
        if real
        else {k: error(m, stream) for k, m in SINGLE.items()}
    )
    others = peers(stream)
    everyone = {**single, **others}
    best, theirs = (min(found.items(), key=lambda kv: kv[1].figure) for found in (single, others or single))
    top = min(everyone.values(), key=lambda o: o.figure).figure
    amf, vw = others.get("River AMF"), others.get("VW")
    told = f"best single {best[0]} {best[1].figure:.4g}; best peer {theirs[0]} {theirs[1].figure:.4g}"
    told += "".join(f"; {k} {others[k].figure:.4g}" for k in ("VW", "VW coin", "River AMF", "sklearn SGD") if k in others)
    for budget in BUDGETS:
        make = (lambda b=budget: nr.AutoRegressor(budget=b)) if real else (lambda b=budget: nr.Auto(budget=b))
        found = real_error(make, stream, False) if real else error(make, stream)
        gap = 100.0 * (found.figure / top - 1.0) if real else found.figure - top
        speed = (
            f"{found.time:.1f} us a row"
            + (f", {amf.time / found.time:.0f}x AMF" if amf else "")
            + (f", {vw.time / found.time:.1f}x VW" if vw else "")
        )
        unit = "RMSE" if real else "%"
        note = f"{'+' if gap > 0 else ''}{gap:.2f} {'% RMSE' if real else 'points'} to the best of all; {speed}; {told}"
        yield (
            Row(f"{name}, {len(stream.y):,} rows: {budget}", found.figure, unit, theirs[0], theirs[1].figure, note=note),
            gap,
            len(stream.y),
        )


def run(quick: bool) -> list[Row]:
    """Run Auto, all single learners and all peers over all sets."""
    n, out = 1000 if quick else ROWS, []
    for sets, unit, mean_target, worst_target in ((READERS, "points", 0.3, 1.0), (REAL, "% RMSE", 3.0, 3.0)):
        gaps: dict[str, list[float]] = {b: [] for b in BUDGETS}
        for name in sets:
            try:
                for (row, gap, rows), budget in zip(rows_of(name, n), BUDGETS, strict=True):
                    out.append(row)
                    if rows >= SMALL or quick:
                        gaps[budget].append(gap)
            except FileNotFoundError:
                out.append(Row(f"{name}: its file is not here", np.nan, "%"))
        for budget, found in gaps.items():
            if found:
                wanted = {"balanced": (mean_target, worst_target)}.get(budget, (None, None))
                out.append(
                    Row(f"{budget}: mean gap to the best of all, {len(found)} sets", float(np.mean(found)), unit, at_most=wanted[0])
                )
                out.append(Row(f"{budget}: largest gap", max(found), unit, at_most=wanted[1]))
    return out
