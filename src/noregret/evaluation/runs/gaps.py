"""The gap of learners of topics to ten passes: their problem is not convex, so nobody knows the best model in hindsight."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from ...streams.stream import counting
from .round_study import within
from .splits import Replay
from .unlabelled import UnlabelledRun

PASSES = 10
SOON = 2_000_000  # words up to which the gap is found without being asked for


def add_gaps(rows: Replay, runs: Sequence[UnlabelledRun], results: Sequence[dict[str, Any]], own: Mapping[str, Any]) -> list[str]:
    """Put the gap of every learner to the same model after ten passes into its result; return why where there is none."""
    wanted, words = own.get("gap"), runs[0].figures.words
    if wanted is False or not words:
        return []
    if not rows.held or (wanted is None and words > SOON):
        why = "it takes ten passes: ask with gap=True, --gap" if rows.held else "the documents do not fit in memory"
        return [f"The gap to {PASSES} passes was left out: {why}."]
    batches = [batch for batch in map(counting, within(rows, own.get("limit"))) if batch.n]
    for run, result in zip(runs, results, strict=True):
        start, again = perf_counter(), run.learner.clone()
        for _ in range(PASSES):
            for batch in batches:
                again.learned_rows(batch.data, None if again.started else rows.features(batch.data, False))
            again.finish()
        nats = sum(float(again.answered_rows(batch.data)[1].sum()) for batch in batches)
        result["gap"] = {
            "against": f"the same model after {PASSES} passes",
            "value": run.figures.nats - nats,
            "average": (run.figures.nats - nats) / words,
            "perplexity": math.exp(min(nats / words, 700.0)),
            "seconds": perf_counter() - start,
        }
    return []
