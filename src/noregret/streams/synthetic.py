"""Synthetic streams with known drift, by name: `synthetic:hyperplane?n=100000&d=10&drift=0.001&noise=0.05&seed=1`.

Rows are made in blocks, each from the seed and its own number, so a stream is the same however it is read and resumes from any
row; `n=inf` never ends. Labels are -1 and +1 (`blobs`: 0 to K-1), each turned into another with probability `noise`, so the least
possible error is `noise` where the concept itself is certain. `at=1000,5000` says before which rows (from 0) the concept changes;
by default the changes cut n (100,000 for a stream without end) into equal parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np

from ..inputs.batch import Batch, Position, Reader
from ..inputs.checking import Rows
from .pieces import places

BLOCK = 4096  # rows made at once, fewer where they are wide
CELLS = 1 << 20
PREFIX = "synthetic:"
ENDLESS = 100_000  # what default positions of change are parts of where there is no end

Options = dict[str, Any]
Block = Callable[[np.random.Generator, np.ndarray], tuple[Rows, np.ndarray]]  # of random numbers and the numbers of the rows


# ---- options ---------------------------------------------------------------------------------------------------------
class Number(NamedTuple):
    """A number within a range."""

    default: Any
    low: float = 0.0
    high: float = math.inf
    whole: bool = False

    def read(self, given: Any) -> Any:
        """Return a value from the text of an address, or a number."""
        try:
            v = float(given)
        except (TypeError, ValueError):
            raise ValueError(f"must be a number, got {given!r}") from None
        if not self.low <= v <= self.high or (math.isinf(v) and not self.whole):
            raise ValueError(f"must be {self.range()}, got {given}")
        if not self.whole or math.isinf(v):
            return v
        if v != int(v):
            raise ValueError(f"must be a whole number, got {given}")
        return int(v)

    def range(self) -> str:
        """Return the range in words."""
        return f"at least {self.low:g}" if math.isinf(self.high) else f"from {self.low:g} to {self.high:g}"


class Changes(NamedTuple):
    """Numbers of rows before which the concept changes, by default those that cut the stream into equal parts."""

    parts: int
    default: Any = None

    def read(self, given: Any) -> list[int]:
        """Return positions from text or numbers."""
        items = [given] if isinstance(given, (int, float)) else given.split(",") if isinstance(given, str) else list(given)
        rows = [Number(None, 1, 2.0**53, whole=True).read(v) for v in items if v != ""]
        if any(b <= a for a, b in pairwise(rows)):
            raise ValueError(f"must be rows in increasing order, got {given}")
        return rows

    def usual(self, n: float) -> list[int]:
        """Return the default positions in a stream of n rows."""
        n = ENDLESS if math.isinf(n) else n
        return [r for r in dict.fromkeys(int(n * k) // self.parts for k in range(1, self.parts)) if r > 0]


class Choice(NamedTuple):
    """One of some names."""

    default: str
    names: tuple[str, ...]

    def read(self, given: Any) -> str:
        """Return the name."""
        if given not in self.names:
            raise ValueError(f"must be one of {', '.join(self.names)}, got {given!r}")
        return str(given)


def whole(default: int | None, low: int = 1, high: float = 100_000) -> Number:
    """Return an option that is a whole number."""
    return Number(default, low, high, whole=True)


def noise(default: float) -> Number:
    """Return the option of the share of wrong labels."""
    return Number(default, 0.0, 0.5)


# ---- sources ---------------------------------------------------------------------------------------------------------
class Source(NamedTuple):
    """A named kind of stream: how it begins, and its options."""

    make: Callable[[Options, np.random.Generator], Block]
    options: dict[str, Any]
    task: str


SOURCES: dict[str, Source] = {}
COMMON = {"n": Number(100_000, 1, math.inf, whole=True), "seed": Number(0, 0, 2.0**53, whole=True)}


def source(task: str = "classification", **options: Any) -> Callable[[Any], Any]:
    """Name a kind of stream: the function takes the options and a generator, and returns what makes a block."""

    def register(make: Any) -> Any:
        SOURCES[make.__name__] = Source(make, COMMON | options, task)
        return make

    return register


def dense(X: np.ndarray, names: list[str] | None = None) -> Rows:
    """Return rows of numbers."""
    return Rows("dense", (settled(X),), len(X), X.shape[1], names)


def settled(a: np.ndarray) -> np.ndarray:
    """Return numbers rounded to multiples of 2^-36: what a C library or BLAS makes of the last bits does not show."""
    return np.rint(a * 68719476736.0) / 68719476736.0


def signs(positive: np.ndarray, rng: np.random.Generator, noise: float) -> np.ndarray:
    """Return labels +1 and -1, each turned round with probability `noise`."""
    return np.where(positive != (rng.random(len(positive)) < noise), 1, -1).astype(np.int64)


def concept(o: Options, t: np.ndarray) -> np.ndarray:
    """Return how many changes came before each row."""
    return np.searchsorted(o["at"], t, side="right")


def direction(rng: np.random.Generator, d: int, relevant: int | None = None) -> np.ndarray:
    """Return a random unit vector that uses the first `relevant` features."""
    w = np.zeros(d)
    k = min(d, relevant or d)
    w[:k] = rng.standard_normal(k)
    return w / np.linalg.norm(w)


@source(d=whole(20, 2), relevant=whole(None), noise=noise(0.05))
def linear(o: Options, rng: np.random.Generator) -> Block:
    """A fixed linear concept on the first `relevant` features (half of them by default); rows of length 1."""
    w = direction(rng, o["d"], o["relevant"] or (o["d"] + 1) // 2)

    def block(rng: np.random.Generator, t: np.ndarray) -> tuple[Rows, np.ndarray]:
        X = rng.standard_normal((len(t), o["d"]))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        return dense(X), signs(X @ w > 0.0, rng, o["noise"])

    return block


@source(d=whole(10, 2), drift=Number(0.001, 0.0, math.pi), noise=noise(0.05))
def hyperplane(o: Options, rng: np.random.Generator) -> Block:
    """A hyperplane through 0 that turns by the angle `drift` a row, in a plane (after Hulten, Spencer, Domingos 2001)."""
    plane = np.linalg.qr(rng.standard_normal((o["d"], 2)))[0]

    def block(rng: np.random.Generator, t: np.ndarray) -> tuple[Rows, np.ndarray]:
        X = rng.standard_normal((len(t), o["d"]))
        u, v = (X @ plane).T
        return dense(X), signs(u * np.cos(o["drift"] * t) + v * np.sin(o["drift"] * t) > 0.0, rng, o["noise"])

    return block


@source(noise=noise(0.1), at=Changes(4))
def sea(o: Options, rng: np.random.Generator) -> Block:
    """SEA (Street, Kim 2001): three features in [0, 10], +1 where the first two sum to at most 8, then 9, 7, 9.5."""
    bounds = np.array([8.0, 9.0, 7.0, 9.5])

    def block(rng: np.random.Generator, t: np.ndarray) -> tuple[Rows, np.ndarray]:
        X = rng.uniform(0.0, 10.0, (len(t), 3))
        return dense(X), signs(X[:, 0] + X[:, 1] <= bounds[concept(o, t) % 4], rng, o["noise"])

    return block


@source(d=whole(10), noise=noise(0.05), at=Changes(2))
def swap(o: Options, rng: np.random.Generator) -> Block:
    """A linear concept whose labels are swapped at each change."""
    w = direction(rng, o["d"])

    def block(rng: np.random.Generator, t: np.ndarray) -> tuple[Rows, np.ndarray]:
        X = rng.standard_normal((len(t), o["d"]))
        return dense(X), signs((X @ w > 0.0) != (concept(o, t) % 2 == 1), rng, o["noise"])

    return block


@source(noise=noise(0.0), at=Changes(4))
def sine(o: Options, rng: np.random.Generator) -> Block:
    """Two features in [0, 1]: below sin(x), swapped, below 1/2 + 0.3 sin(3 pi x), swapped (Gama et al. 2004)."""

    def block(rng: np.random.Generator, t: np.ndarray) -> tuple[Rows, np.ndarray]:
        X = rng.random((len(t), 2))
        k = concept(o, t) % 4
        curve = np.where(k < 2, np.sin(X[:, 0]), 0.5 + 0.3 * np.sin(3.0 * np.pi * X[:, 0]))
        return dense(X), signs((X[:, 1] < curve) != (k % 2 == 1), rng, o["noise"])

    return block


ATTRIBUTES = {"size": ("small", "medium", "large"), "colour": ("red", "green", "blue"), "shape": ("square", "circle", "triangle")}


@source(noise=noise(0.0), at=Changes(3))
def stagger(o: Options, rng: np.random.Generator) -> Block:
    """Three categories, one feature a value: small and red; green or circle; medium or large (Schlimmer, Granger 1986)."""
    names = [f"{name}={v}" for name, values in ATTRIBUTES.items() for v in values]

    def block(rng: np.random.Generator, t: np.ndarray) -> tuple[Rows, np.ndarray]:
        size, colour, shape = rng.integers(0, 3, (3, len(t)))
        X = np.zeros((len(t), 9))
        for first, column in ((0, size), (3, colour), (6, shape)):
            X[np.arange(len(t)), first + column] = 1.0
        rules = np.stack([(size == 0) & (colour == 0), (colour == 1) | (shape == 1), size > 0])
        return dense(X, names), signs(rules[concept(o, t) % 3, np.arange(len(t))], rng, o["noise"])

    return block


@source(K=whole(3, 2, 1000), d=whole(5, 2), apart=Number(3.0), speed=Number(0.0), noise=noise(0.0))
def blobs(o: Options, rng: np.random.Generator) -> Block:
    """K gaussian classes at distance `apart` from 0, each going round it with `speed`, a distance a row."""
    frames = np.stack([np.linalg.qr(rng.standard_normal((o["d"], 2)))[0] for _ in range(o["K"])])
    turn = o["speed"] / o["apart"] if o["apart"] else 0.0

    def block(rng: np.random.Generator, t: np.ndarray) -> tuple[Rows, np.ndarray]:
        y = rng.integers(0, o["K"], len(t))
        round_ = np.stack([np.cos(turn * t), np.sin(turn * t)], axis=1)
        X = rng.standard_normal((len(t), o["d"])) + o["apart"] * np.einsum("ndk,nk->nd", frames[y], round_)
        wrong = rng.random(len(t)) < o["noise"]
        return dense(X), np.where(wrong, (y + rng.integers(1, o["K"], len(t))) % o["K"], y)

    return block


def zipf(rng: np.random.Generator, size: int, words: int) -> np.ndarray:
    """Return numbers of words, word r with a chance that goes as 1 / (r + 2.7), as in English text (Mandelbrot 1953)."""
    r = 2.7 * np.exp(rng.random(size) * math.log1p(words / 2.7)) - 2.7
    return np.minimum(r.astype(np.int64), words - 1)


@source(
    words=whole(20_000, 1000, 10_000_000),
    length=Number(40.0, 1.0, 10_000.0),
    topic=whole(100, 1, 500),
    signal=Number(0.1, 0.0, 1.0),
    positive=Number(0.4, 0.0, 1.0),
    drift=Number(0.0, 0.0, 1000.0),
    noise=noise(0.0),
)
def text(o: Options, rng: np.random.Generator) -> Block:
    """Documents of Zipf words, as counts brought to length 1; a share `signal` of them from the `topic` words of the class.

    +1 (spam) has a share `positive`. `drift` words of each topic are replaced by others a row.
    """
    words, topic = o["words"], o["topic"]
    shuffled = rng.permutation(words)
    rings = np.stack([shuffled[: words // 2], shuffled[words // 2 : words // 2 * 2]])

    def block(rng: np.random.Generator, t: np.ndarray) -> tuple[Rows, np.ndarray]:
        spam = rng.random(len(t)) < o["positive"]
        row = np.repeat(np.arange(len(t)), 1 + rng.poisson(o["length"] - 1.0, len(t)))
        word = zipf(rng, len(row), words)
        about = np.flatnonzero(rng.random(len(row)) < o["signal"])
        place = zipf(rng, len(about), topic)
        gone = np.floor(o["drift"] * t[row[about]]).astype(np.int64)
        word[about] = rings[spam[row[about]].astype(np.int64), (place + gone) % rings.shape[1]]
        small = np.int32 if len(t) * words < 2**31 else np.int64  # half the width sorts twice as fast
        cells, counts = np.unique((row * words + word).astype(small), return_counts=True)
        row, indices = np.divmod(cells, words)
        length = np.sqrt(np.bincount(row, counts.astype(np.float64) ** 2, len(t)))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(t)))])
        rows = Rows("csr", (indptr, indices.astype(np.uint32), counts / length[row]), len(t), words)
        return rows, signs(spam, rng, o["noise"])

    return block


@source(
    "regression",
    d=whole(10, 5),
    noise=Number(1.0),
    drift=Choice("abrupt", ("none", "abrupt", "gradual")),
    width=Number(10_000, 1, 2.0**53, whole=True),
    at=Changes(2),
)
def friedman(o: Options, rng: np.random.Generator) -> Block:
    """Friedman 1991: 10 sin(pi a b) + 20 (c - 1/2)^2 + 10 d + 5 e of features in [0, 1]; a change moves each role to the next one.

    Drift is `none`, `abrupt`, or `gradual`: over the `width` rows from a change on, more and more rows are of the new concept.
    """

    def block(rng: np.random.Generator, t: np.ndarray) -> tuple[Rows, np.ndarray]:
        X, when = rng.random((len(t), o["d"])), rng.random(len(t))
        if o["drift"] == "gradual":
            t = t - np.floor(when * o["width"]).astype(np.int64)
        shift = concept(o, t) % 5 if o["drift"] != "none" else np.zeros(len(t), np.int64)
        a, b, c, d, e = X[np.arange(len(t)), (np.arange(5)[:, None] + shift) % 5]
        y = 10.0 * np.sin(np.pi * a * b) + 20.0 * (c - 0.5) ** 2 + 10.0 * d + 5.0 * e
        return dense(X), settled(y + o["noise"] * rng.standard_normal(len(t)))

    return block


@source("regression", d=whole(20), relevant=whole(None), noise=Number(0.1), at=Changes(1))
def linear_regression(o: Options, rng: np.random.Generator) -> Block:
    """A linear function of the first `relevant` features (all by default) with gaussian noise; another one at each change."""
    weights = np.stack([direction(rng, o["d"], o["relevant"]) for _ in range(len(o["at"]) + 1)])

    def block(rng: np.random.Generator, t: np.ndarray) -> tuple[Rows, np.ndarray]:
        X = rng.standard_normal((len(t), o["d"]))
        y = np.einsum("nd,nd->n", X, weights[concept(o, t)])
        return dense(X), settled(y + o["noise"] * rng.standard_normal(len(t)))

    return block


# ---- the reader ------------------------------------------------------------------------------------------------------
class SyntheticReader(Reader):
    """A stream made on the way. `size` and `read` are in examples; `drifts` are the rows before which the concept changes."""

    kind = "synthetic"
    unit = "examples"

    def __init__(self, source: str, name: str | None = None, **options: Any) -> None:
        super().__init__()
        if source not in SOURCES:
            raise ValueError(f"unknown synthetic stream {source!r}; expected one of {', '.join(SOURCES)}")
        self.source, self.task = source, SOURCES[source].task
        self.options = checked(source, options)
        given = "&".join(f"{k}={written(v)}" for k, v in options.items())
        self.name = name or PREFIX + source + ("?" + given if given else "")
        n = self.options["n"]
        self.endless = math.isinf(n)
        self.size = None if self.endless else n
        still = self.options.get("drift") == "none"
        self.drifts = [r for r in self.options.get("at", []) if r < n and not still]

    def batches(self, position: Position | None = None) -> Iterator[Batch]:
        """Yield the examples, from the row of a position on."""
        start, stop = row_of(position or self.span[0]), self.span[1]
        n, seed = self.options["n"] if stop is None else stop["row"], self.options["seed"]
        size = int(max(16, min(BLOCK, CELLS // max(self.options.get("d", 1), 4 * self.options.get("length", 1)))))
        block = SOURCES[self.source].make(self.options, np.random.default_rng(np.random.SeedSequence(seed)))
        self.read = start
        while self.read < n:
            number = self.read // size
            first = number * size
            own = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
            data, y = block(own, np.arange(first, first + size))
            a, b = self.read - first, int(min(size, n - first))
            self.read = first + b
            yield Batch(data.cut(a, b), y[a:b], {"row": self.read})

    def starts(self, n: int) -> list[Position | None]:
        """Return the positions of n rows, equally far apart."""
        return [{"row": row} for _, row in places([self.options["n"]], n, lambda _, rows: rows)]


def checked(source: str, given: Options) -> Options:
    """Return all options of a source: those given, and the defaults of the others."""
    table = SOURCES[source].options
    for key in given:
        if key not in table:
            raise ValueError(f"{PREFIX}{source} has no option {key!r}; it has {', '.join(table)}")
    options = {key: option.default for key, option in table.items()}
    for key, v in given.items():
        try:
            options[key] = table[key].read(v)
        except ValueError as e:
            raise ValueError(f"{PREFIX}{source}: {key} {e}") from None
    if "at" in table and options["at"] is None:
        options["at"] = table["at"].usual(options["n"])
    if options.get("relevant") is not None and options["relevant"] > options["d"]:
        raise ValueError(f"{PREFIX}{source}: relevant must be at most d = {options['d']}, got {options['relevant']}")
    return options


def written(v: Any) -> str:
    """Return a value as in an address."""
    return ",".join(map(str, v)) if isinstance(v, (list, tuple)) else str(v)


def row_of(position: Position | None) -> int:
    """Return the row to resume from."""
    row = 0 if position is None else position.get("row")
    if not isinstance(row, int) or row < 0:
        raise ValueError(f"a position in a synthetic stream is {{'row': number}}, got {position}")
    return row


def from_url(url: str) -> SyntheticReader:
    """Return the stream of an address: synthetic:NAME?option=value&option=value."""
    name, _, query = url.removeprefix(PREFIX).partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise ValueError(f"{url}: expected {PREFIX}NAME?option=value&option=value, got {query!r} after the ?") from None
    keys = [k for k, _ in pairs]
    twice = next((k for k in keys if keys.count(k) > 1), None)
    if twice is not None:
        raise ValueError(f"{url}: option {twice!r} is given twice")
    return SyntheticReader(name, url, **dict(pairs))
