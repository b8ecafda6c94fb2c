"""What surrounds the kernels: one-row calls, input checks, memory per feature, cost as the number of features grows."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.inputs import checking

from .ours import pa1
from .streams import HASH_BITS, NNZ, Stream, dense, text, text_dicts, zipf
from .table import Row
from .timing import Job, interleave, per_call

ONE_ROW = {"partial_fit, dense 54": 20.0, "partial_fit, CSR 75": 20.0, "learn_one, 75 names": 10.0}
CHECKS = {"dense 54 float32": 15.0, "CSR 75 nnz": 30.0}


def one_row(calls: int) -> list[Row]:
    """Time calls with a single example, on learners that know all names already."""
    dicts, y = text_dicts(calls)
    labels, names, hashed = y.tolist(), pa1(), pa1(hash_bits=HASH_BITS)
    jobs: dict[str, Callable[[int], object]] = {
        "learn_one, 75 names": lambda i: names.learn_one(dicts[i], labels[i]),
        "predict_one, 75 names": lambda i: names.predict_one(dicts[i]),
        "learn_one, 75 names hashed": lambda i: hashed.learn_one(dicts[i], labels[i]),
    }
    for layout, stream in (("dense 54", dense(calls)), ("CSR 75", text(calls))):
        m, rows = pa1(), [Stream(stream.X[i : i + 1], stream.y[i : i + 1]) for i in range(calls)]
        m.partial_fit(*stream)
        jobs[f"partial_fit, {layout}"] = lambda i, m=m, rows=rows: m.partial_fit(*rows[i])
        jobs[f"predict, {layout}"] = lambda i, m=m, rows=rows: m.predict(rows[i].X)
    return [Row(f"one row: {name}", t * 1e6, "us", at_most=ONE_ROW.get(name)) for name, t in per_call(jobs, calls).items()]


def checks(n: int) -> list[Row]:
    """Time the check of a batch on its own: finite values, and columns in range and in order."""
    streams = {"dense 54 float32": dense(n), "dense 54 float64": dense(n, "float64"), "CSR 75 nnz": text(n)}
    jobs = {layout: lambda _, x=stream.X: checking.rows(x, "float64") for layout, stream in streams.items()}
    rows = []
    for layout, t in per_call(jobs, 20).items():  # batches of this size stay in the cache
        sees = refuses_nan(streams[layout].X)
        note = "" if sees else "lets NaN through"
        rows.append(Row(f"input checks: {layout}", t / n * 1e9, "ns/row", at_most=CHECKS.get(layout), note=note, valid=sees))
    return rows


def refuses_nan(x: Any) -> bool:
    """Tell whether the check does its work: a time without it means nothing."""
    spoilt = x.copy()
    (spoilt if isinstance(x, np.ndarray) else spoilt.data)[-1] = np.nan
    try:
        checking.rows(spoilt, "float64")
    except ValueError:
        return True
    return False


def memory() -> list[Row]:
    """Weigh learners that know a million columns, and one that knows some thousands of names."""
    d, rows = 1_000_000, []
    x, y = csr_matrix(([1.0], ([0], [d - 1])), shape=(1, d)), np.array([1])
    for name, dtype in (("pa1", "float64"), ("pa1", "float32"), ("averaged_perceptron", "float64")):
        _, size = weigh(lambda name=name, dtype=dtype: nr.learner(name, dtype=dtype).partial_fit(x, y))
        rows.append(Row(f"memory: {name} {dtype}, {d:,} columns", size / d, "bytes/feature"))
    dicts, labels = text_dicts(2000)
    known = len({name for row in dicts for name in row})

    def learn() -> Any:
        m = pa1()
        for row, label in zip(dicts, labels.tolist(), strict=True):
            m.learn_one(row, label)
        return m

    return [*rows, Row(f"memory: pa1 float64, {known:,} names", weigh(learn)[1] / known, "bytes/feature")]


def weigh(make: Callable[[], Any]) -> tuple[Any, int]:
    """Make something twice and count the bytes the second keeps: the first time loads code too."""
    make()
    gc.collect()
    tracemalloc.start()
    try:
        thing = make()
        gc.collect()
        return thing, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def flat(n: int) -> list[Row]:
    """Time the same sparse examples on ten thousand columns, kept together or scattered, as the space around them grows."""
    rng = np.random.default_rng(5)
    small, sizes = 10_000, (10**4, 10**5, 10**6, 10**7)
    cols, values, y = np.sort(zipf(rng, (n, NNZ), small, 20.0)), rng.random(n * NNZ), rng.choice([-1, 1], n)
    start = np.arange(0, n * NNZ + 1, NNZ)
    race, one = {}, {}
    for d in sizes:
        places = {"together": np.arange(d - small, d), "scattered": np.sort(rng.choice(d, small, replace=False))}
        for way, place in places.items():
            x = csr_matrix((values, place[cols].ravel(), start), shape=(n, d))
            x.sum_duplicates()
            race[way, d] = again(pa1().partial_fit(x, y), Stream(x, y))
        m, first = pa1().partial_fit(x, y), Stream(x[:1], y[:1])
        one[d] = lambda i, m=m, first=first: m.partial_fit(*first)
    cost = {key: t.seconds / n * 1e9 for key, t in interleave(race, 5).items()}
    rows = [
        Row(f"d = {d:.0e}, columns {way}", cost[way, d], "ns/ex", "d = 1e+04", cost[way, small], at_least)
        for way, at_least in (("together", 0.85), ("scattered", None))
        for d in sizes[1:]
    ]
    call = {d: t * 1e6 for d, t in per_call(one, 500).items()}
    return rows + [Row(f"d = {d:.0e}, one-row calls", call[d], "us", "d = 1e+04", call[small], 0.85) for d in sizes[1:]]


def again(m: Any, stream: Stream) -> Callable[[], Job]:
    """Prepare one more pass of a learner that has its weights already."""

    def job() -> Callable[[], int]:
        m.partial_fit(*stream)
        return lambda: 0

    return lambda: job


def run(quick: bool) -> list[Row]:
    """Measure all four."""
    return one_row(500 if quick else 2000) + checks(2000 if quick else 10_000) + memory() + flat(2000 if quick else 20_000)
