"""Every registered classifier with its default settings: cost of one example, predict + learn."""

from time import perf_counter

import numpy as np

import noregret as nr

from .streams import Stream, dense, text
from .table import Row

TRIAL = 200


def cost(name: str, stream: Stream, budget: float) -> tuple[float, str]:
    """Give the best ns/example of three passes of fresh learners, over as many examples as the budget in seconds allows."""
    first = Stream(stream.X[:TRIAL], stream.y[:TRIAL])
    nr.learner(name).partial_fit(*first)
    n, best, wrong = TRIAL, np.inf, 0
    for turn in range(4):
        m = nr.learner(name)
        start = perf_counter()
        m.partial_fit(stream.X[:n], stream.y[:n])
        seconds = perf_counter() - start
        if turn:
            best, wrong = min(best, seconds / n), m.n_mistakes_
        else:
            n = int(np.clip(budget / seconds * TRIAL, TRIAL, len(stream.y)))
    return best * 1e9, f"{wrong / n:.1%} mistakes of {n}"


def run(quick: bool) -> list[Row]:
    """Measure each classifier on the sparse and the dense stream."""
    n, budget = (2000, 0.1) if quick else (50_000, 1.0)
    streams = {"CSR 75 nnz": text(n), "dense 54 float32": dense(n)}
    rows = []
    for name in nr.algorithms("classification"):
        for layout, stream in streams.items():
            try:
                ns, note = cost(name, stream, budget)
            except (ValueError, TypeError, NotImplementedError, MemoryError) as error:
                ns, note = np.nan, f"{type(error).__name__}: {error}"[:100]
            rows.append(Row(f"{name}, {layout}", ns, "ns/ex", note=note))
    return rows
