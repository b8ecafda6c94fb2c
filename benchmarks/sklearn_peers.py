"""scikit-learn: predict + partial_fit by chunks, against partial_fit, which predicts each row before it learns it.

In chunks larger than one scikit-learn predicts a whole chunk before learning it, so it errs a little more.
"""

from collections.abc import Callable

import numpy as np
from sklearn.linear_model import SGDClassifier

from .ours import C, partial_fit
from .streams import Stream, clicks, dense, text
from .table import Row, rate
from .timing import Job, interleave

TARGETS = {("CSR 75 nnz", 1000): 10.0, ("CSR 75 nnz", 10_000): 5.0}
TARGETS |= {("dense 54 float32", 1000): 40.0, ("dense 54 float32", 10_000): 12.0}


def chunked(stream: Stream, size: int) -> list[Stream]:
    """Cut a stream before the clock starts: slicing a CSR matrix costs more than learning it."""
    return [Stream(stream.X[i : i + size], stream.y[i : i + size]) for i in range(0, len(stream.y), size)]


def theirs(chunks: list[Stream], rate_name: str) -> Callable[[], Job]:
    """Prepare scikit-learn's PA-I or its hinge SGD; a row of zeros tells it width and classes, and moves nothing."""

    def prepare() -> Job:
        m = SGDClassifier("hinge", penalty=None, learning_rate=rate_name, eta0=C, fit_intercept=False, shuffle=False)
        m.partial_fit(chunks[0].X[:1] * 0, chunks[0].y[:1], classes=[-1, 1])

        def job() -> Callable[[], int]:
            said = []
            for x, y in chunks:
                said.append(m.predict(x))
                m.partial_fit(x, y)
            return lambda: int(sum(np.count_nonzero(p != y) for p, (_, y) in zip(said, chunks, strict=True)))

        return job

    return prepare


def run(quick: bool) -> list[Row]:
    """Compare on each stream and chunk size."""
    cut = 10 if quick else 1
    streams = {
        "CSR 75 nnz": text(200_000 // cut),
        "dense 54 float32": dense(1_000_000 // cut),
        "CSR 30 nnz clicks": clicks(200_000 // cut),
    }
    rows = []
    for name, stream in streams.items():
        for size in (1, 1000, 10_000):
            n = 2000 // cut if size == 1 else len(stream.y)
            chunks = chunked(Stream(stream.X[:n], stream.y[:n]), size)
            race = {"ours": partial_fit(chunks), "PA-I": theirs(chunks, "pa1"), "SGD": theirs(chunks, "constant")}
            best = interleave(race, rounds=3)
            work = f"{name}, chunks of {size}"
            rows.append(rate(work, n, best["ours"], "sklearn PA-I", best["PA-I"], TARGETS.get((name, size))))
            rows.append(rate(work, n, best["ours"], "sklearn SGD", best["SGD"]))
    return rows
