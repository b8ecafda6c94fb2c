"""Studies in one pass: `compare` of ten learners and `sweep` of ten settings against ten passes, wall time, and where it goes."""

import tempfile
from pathlib import Path
from time import perf_counter, process_time, thread_time

import noregret as nr
from noregret.evaluation.runs.run import Run

from .table import Row
from .whole_process import write

TEN = ("perceptron", "averaged_perceptron", "pa", "pa1", "pa2", "alma", "romma", "aromma", "ogd", "mirror_descent")
GRID = [2.0**k for k in range(-5, 5)]


def seconds(work: object) -> float:
    """Return the wall time of a call."""
    start = perf_counter()
    work()  # type: ignore[operator]
    return perf_counter() - start


def run(quick: bool) -> list[Row]:
    """Compare one pass for all with a pass for each."""
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "docs.svm"
        n = write(path, 20_000_000 if quick else 400_000_000, lambda label, cells: f"{label} {' '.join(cells)}\n")
        source = str(path)
        jobs = {
            "compare of 10 learners": (
                lambda: nr.compare(source, TEN, regret=False),
                [lambda m=m: nr.evaluate(source, m, regret=False) for m in TEN],
            ),
            "sweep of 10 settings of PA-I": (
                lambda: nr.sweep(source, "pa1", C=GRID, regret=False),
                [lambda c=c: nr.evaluate(source, nr.PA1(C=c), regret=False) for c in GRID],
            ),
        }
        for name, (together, apart) in jobs.items():
            together()  # compile
            best = min((seconds(together), sum(map(seconds, apart))) for _ in range(1 if quick else 3))
            note = f"{n:,} documents; one pass each: {best[1] / 10:.2f} s"
            rows.append(Row(name, best[0], "s", "10 passes", best[1], note=note))
        rows += profile(source)
    return rows


def profile(source: str) -> list[Row]:
    """Say where the CPU time of `compare` goes."""
    noting, whole = [0.0], Run._note

    def noted(self: Run, *args: object) -> object:
        start = thread_time()
        try:
            return whole(self, *args)
        finally:
            noting[0] += thread_time() - start

    start = process_time()
    alone = sum(batch.data.n for batch in nr.stream(source).chunks()) and process_time() - start
    start, Run._note = process_time(), noted
    try:
        report = nr.compare(source, TEN, regret=False)
    finally:
        Run._note = whole
    total, learning = process_time() - start, sum(m["seconds"] for m in report.learners)
    parts = {"reading": alone, "learning": learning, "figures": noting[0]}
    rows = [Row("compare: CPU time in all", total, "s")]
    rows += [Row(f"compare: {name}", spent, "s", note=f"{spent / total:.0%}") for name, spent in parts.items()]
    rest = total - sum(parts.values())
    rows.append(Row("compare: curves, threads and the rest", rest, "s", note=f"{rest / total:.0%}"))
    return rows + [Row(f"compare: {m['label']} learning", m["seconds"], "s") for m in report.learners]
