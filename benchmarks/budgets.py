"""What Auto's budgets cost: "balanced" beside River's aggregated Mondrian forest, "fast" beside Vowpal Wabbit's command.

The forest and Auto take turns in one process, CPU time. The command reads the same text as `noregret train`, whole processes, and a
file that is repeated until it has 300,000 rows.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import noregret as nr

from .defaults import ROWS, dicts
from .sets import DATA, shuffled
from .streams import Stream
from .table import Row
from .whole_process import race

TABLES = ("segment", "shuttle", "svmguide1", "german", "elec2", "letter", "mushrooms", "splice", "higgs", "kddcup99", "a9a",
          "spambase", "adult")  # fmt: skip
FILES = ("a9a", "rcv1_small", "kddcup99", "spambase")
LONG = 300_000  # rows of a file
TURNS = 3  # of Auto, before and after the forest


def taken(learn: Callable[[], Any], rows: int) -> float:
    """Return the CPU time of a row in microseconds."""
    start = process_time()
    learn()
    return 1e6 * (process_time() - start) / rows


def forest(stream: Stream) -> Callable[[], None]:
    """Return what answers and learns every row by River's forest."""
    from river.forest import AMFClassifier

    wide = stream.X.shape[1]
    rows = [{j: row.get(j, 0.0) for j in range(wide)} if wide <= 150 else row for row in dicts(stream)]
    m = AMFClassifier(seed=1)

    def learn() -> None:
        for x, y in zip(rows, stream.y.tolist(), strict=True):
            m.predict_one(x)
            m.learn_one(x, y)

    return learn


def beside_forest(name: str, n: int) -> Row:
    """Return the row of a set."""
    X, y = shuffled(name)
    stream = Stream(X[:n], y[:n])
    rows = len(stream.y)

    def auto() -> float:
        return min(taken(lambda: nr.Auto().partial_fit(*stream), rows) for _ in range(TURNS))

    auto()  # compiled
    before, theirs = auto(), taken(forest(stream), rows)
    ours = min(before, auto())
    note = f"{rows:,} rows, {1e6 / ours:,.0f} rows/s"
    return Row(f"{name}: balanced", ours, "us a row", "River AMF", theirs, 20.0 if n == ROWS else None, note=note)


def beside_command(name: str, n: int, into: Path) -> list[Row]:
    """Return the rows of a file: wall time and CPU time of whole processes."""
    stream = shuffled(name)
    labels = {label: k + 1 for k, label in enumerate(dict.fromkeys(stream.y.tolist()))}
    many = len(labels) > 2
    names = labels if many else {label: 2 * k - 3 for label, k in labels.items()}
    cells = (" ".join(f"{j}:{v:.6g}" for j, v in row.items()) for row in dicts(stream))
    block = "".join(f"{names[y]} | {row}\n" for y, row in zip(stream.y.tolist(), cells, strict=True))
    times = max(1, n // len(stream.y))
    path, first = into / f"{name}.vw", into / "first.vw"
    path.write_text(block * times)
    first.write_text(block[: 1 + block.index("\n", len(block) // 2)])
    task = ["--oaa", str(len(labels))] if many else ["--binary"]

    def ours(path: Path) -> list[str]:
        model = ["--model", "auto:budget=fast", "--save", str(into / "a.nr")]
        return [sys.executable, "-m", "noregret.cli", "train", str(path), *model, "--quiet"]

    theirs = [sys.executable, "-m", "vowpalwabbit", "--quiet", "-b", "18", *task, "-d", str(path), "-f", str(into / "b.vw")]
    race({"ours": ours(first)}, 1)  # compile
    best = race({"ours": ours(path), "VW": theirs}, 2)
    rows = times * len(stream.y)
    path.unlink()
    note = f"{rows:,} rows, {rows / best['ours'].wall:,.0f} against {rows / best['VW'].wall:,.0f} rows/s"
    target = 1.0 if n == LONG else None
    return [
        Row(f"{name}: fast, whole process", best["ours"].wall, "s", "VW", best["VW"].wall, target, note=note),
        Row(f"{name}: fast, whole process, CPU", best["ours"].cpu, "s", "VW", best["VW"].cpu, note=note),
    ]


def run(quick: bool) -> list[Row]:
    """Measure both."""
    if not DATA.exists():
        return []
    n, most = (1000, 3000) if quick else (ROWS, LONG)
    rows = [beside_forest(name, n) for name in TABLES[: 3 if quick else None]]
    with tempfile.TemporaryDirectory() as into:
        for name in FILES[: 1 if quick else None]:
            rows += beside_command(name, most, Path(into))
    return rows
