"""`noregret demo`: every learner, once over one stream."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from . import warm
from ..text import table

if TYPE_CHECKING:
    import numpy as np

    from ..core.learner import Learner

PREFIX = 5000  # examples for learners whose cost grows with the updates
NOISE = 0.05  # share of the labels that are flipped
ZERO_ONE, SHORT = "0/1 features", f"first {PREFIX:,} examples"


class Stream(NamedTuple):
    """Rows of unit length with labels and real targets that depend on a fifth of the features."""

    X: np.ndarray
    labels: np.ndarray
    targets: np.ndarray
    relevant: int


@click.command("demo", short_help="Run every learner over one synthetic stream.")
@click.option("--examples", type=click.IntRange(10), default=20_000, show_default=True, help="Length of the stream.")
@click.option("--features", type=click.IntRange(2), default=50, show_default=True, help="Features, of which a fifth matter.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the stream.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def command(examples: int, features: int, seed: int, as_json: bool) -> None:
    """Run every classifier and regressor once over a synthetic stream, predicting before learning.

    The stream is made here: a noisy linear concept with irrelevant features. Every learner has its default settings, so this shows
    that they work and how fast they are, not which is best for other data.
    """
    from ..registry import load_all

    found = [cls for _, cls in sorted(load_all().items()) if cls.task != "one_class"]
    prepare([cls.name for cls in found])
    stream = make(examples, features, seed)
    with warm.leaving_at_once():
        runs = [measure(cls(), stream) for cls in found]
    classifiers = sorted((r for r in runs if "mistakes" in r), key=lambda r: r["error"])
    regressors = sorted((r for r in runs if "mistakes" not in r), key=lambda r: r["metrics"]["mae"])
    if as_json:
        data = {"examples": examples, "features": features, "relevant": stream.relevant, "noise": NOISE, "seed": seed}
        click.echo(json.dumps({"data": data, "classification": classifiers, "regression": regressors}, indent=2))
    else:
        click.echo(report(stream, classifiers, regressors))


def prepare(names: list[str]) -> None:
    """Compile in several processes what the cache does not hold yet."""
    from ..core import engine

    made = engine.cache_directory() / "__pycache__"
    missing = [name for name in names if not any(made.glob(f"noregret_{name}_dense_*.nbi"))]
    if len(missing) > 1 and not engine.interpreting():
        click.echo(f"Compiling {len(missing)} learners for this machine, once; later runs find them in {made.parent}.", err=True)
        warm.share(missing, min(warm.cores(), len(missing)), quick=True, silent=True)  # what fails there, fails here and says so


def make(n: int, d: int, seed: int) -> Stream:
    """Return the stream."""
    import numpy as np

    rng = np.random.default_rng(seed)
    relevant = max(1, d // 5)
    u = np.zeros(d)
    u[:relevant] = rng.standard_normal(relevant)
    u /= np.linalg.norm(u)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    f = np.sqrt(d) * (X @ u)
    labels = np.where((f > 0.0) != (rng.random(n) < NOISE), 1, -1)
    return Stream(X, labels, f + 0.1 * rng.standard_normal(n), relevant)


def measure(learner: Learner, stream: Stream) -> dict[str, Any]:
    """Return the figures of one pass of a learner, and its speed in the fastest of three more."""
    import numpy as np

    n = min(len(stream.X), PREFIX) if learner.grows else len(stream.X)
    X, y, t = stream.X[:n], stream.labels[:n], stream.targets[:n]
    if learner.nonnegative:  # a 0/1 feature for each sign
        X = np.hstack([X > 0.0, X < 0.0]).astype(float)
    given: tuple[Any, ...] = (X, y, None, [-1, 1]) if learner.task == "classification" else (X, t)
    f = learner.learn_many(*given)
    seconds = min(timed(learner.clone(), given) for _ in range(3))
    found: dict[str, Any] = {"model": learner.name, "examples": n, "updates": learner.n_updates_}
    if learner.task == "classification":
        found |= {"mistakes": learner.n_mistakes_, "error": learner.n_mistakes_ / n}
        margins = not (learner.grows or learner.nonnegative)  # else scores are votes, or sums held against a threshold
        found["losses"] = {"hinge": float(np.maximum(0.0, 1.0 - y * f).mean())} if margins else {}
    else:
        found["losses"] = {"square": float(((t - f) ** 2).mean())}
        found["metrics"] = {"mae": float(np.abs(t - f).mean())}
    notes = [ZERO_ONE] * learner.nonnegative + [SHORT] * (n < len(stream.X))
    return {**found, "seconds": seconds, "examples_per_second": n / seconds, "notes": notes}


def timed(learner: Learner, given: tuple[Any, ...]) -> float:
    """Return the seconds of one pass."""
    start = time.perf_counter()
    learner.learn_many(*given)
    return time.perf_counter() - start


def report(stream: Stream, classifiers: list[dict[str, Any]], regressors: list[dict[str, Any]]) -> str:
    """Return the tables and what they mean."""
    n, d = stream.X.shape
    marks = {ZERO_ONE: "[1]", SHORT: "[2]"}

    def name(r: dict[str, Any]) -> str:
        return " ".join([r["model"], *(marks[note] for note in r["notes"])])

    def hinge(r: dict[str, Any]) -> str:
        return f"{r['losses']['hinge']:.3g}" if r["losses"] else "-"

    def rest(r: dict[str, Any]) -> list[str]:
        return [f"{r['updates']:,}", f"{r['examples_per_second']:,.0f}"]

    first = [[name(r), f"{r['mistakes']:,}", f"{100 * r['error']:.2f}", hinge(r), *rest(r)] for r in classifiers]
    second = [[name(r), f"{r['metrics']['mae']:.4f}", f"{r['losses']['square']:.4f}", *rest(r)] for r in regressors]
    notes = {
        ZERO_ONE: "[1] Needs features that are not negative: run on two 0/1 features for each one, its signs.",
        SHORT: f"[2] Its cost grows with the updates: run on the {SHORT} only.",
    }
    used = {note for r in classifiers for note in r["notes"]}
    return "\n".join(
        [
            f"A stream of {n:,} rows of unit length, {d} features of which {stream.relevant} matter{'s' * (stream.relevant == 1)}.",
            "Every learner sees each row once, answers, then learns from it; default settings.",
            "",
            f"Classification: labels -1 and +1, {100 * NOISE:g} % of them flipped",
            "",
            table(["learner", "mistakes", "error %", "hinge loss", "updates", "examples/s"], first),
            "",
            "Regression: targets of variance about 1, noise of standard deviation 0.1",
            "",
            table(["learner", "mean |error|", "square loss", "updates", "examples/s"], second),
            "",
            "Losses are averages over the answers given before each update. Hinge losses compare learners only where",
            "scores are made for a margin of 1 (PA, OGD, mirror descent): the scale of the others is free.",
            "examples/s: input checks, predicting and learning, in the fastest of three passes after the first, so",
            "compilation is not counted.",
            *(notes[note] for note in (ZERO_ONE, SHORT) if note in used),
        ]
    )
