"""Every registered classifier with its default settings: cost of one example, predict + learn."""

from time import process_time

import numpy as np

import noregret as nr

from .streams import Stream, dense, text
from .table import Row

TRIAL = 200


def cost(name: str, stream: Stream, budget: float) -> tuple[float, str]:
    """Give the best ns/example of fresh learners, over as many examples as fit in a few times the budget in seconds."""
    n, best, turns = TRIAL, np.inf, 0
    nr.learner(name).partial_fit(stream.X[:n], stream.y[:n])
    while turns < 3:
        m = nr.learner(name)
        part = stream.X[:n], stream.y[:n]
        start = process_time()
        m.partial_fit(*part)
        seconds = process_time() - start
        if seconds < budget / 4 and n < len(stream.y):
            n, best = min(4 * n, len(stream.y)), np.inf
        else:
            best, turns = min(best, seconds / n), turns + 1
    return best * 1e9, f"{m.n_mistakes_ / n:.1%} mistakes of {n}"


def run(quick: bool) -> list[Row]:
    """Measure each classifier on the sparse and the dense stream, without signs where it takes no negative values."""
    n, budget = (2000, 0.05) if quick else (50_000, 0.5)
    streams = {"CSR 75 nnz": text(n), "dense 54 float32": dense(n)}
    rows = []
    for name in nr.algorithms("classification"):
        for layout, stream in streams.items():
            try:
                ns, note = cost(name, stream, budget)
            except ValueError as error:
                if " GB" in str(error):  # a matrix of all features, where there are many
                    continue
                if "egative" not in str(error):
                    raise
                ns, note = cost(name, Stream(abs(stream.X), stream.y), budget)
                note += " |x|"
            rows.append(Row(f"{name}, {layout}", ns, "ns/ex", note=note))
    return rows
