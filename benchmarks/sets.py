"""The public sets of the benchmarks, as rows and labels or targets."""

import csv
import gzip
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from .streams import Stream

DATA = Path(os.environ.get("NOREGRET_DATA", Path(__file__).parents[2] / "shared" / "data"))
WORD = re.compile(r"\w+|[^\w\s]")


def lines(path: str) -> Iterator[str]:
    """Yield the lines of a compressed file."""
    with gzip.open(DATA / path, "rt", encoding="utf-8", errors="replace") as file:
        yield from file


def sparse(rows: Iterable[dict[object, float]]) -> csr_matrix:
    """Number the names in order of appearance."""
    index: dict[object, int] = {}
    indptr, indices, values = [0], [], []
    for row in rows:
        indices += [index.setdefault(name, len(index)) for name in row]
        values += row.values()
        indptr.append(len(indices))
    return csr_matrix((np.array(values, np.float64), indices, indptr), shape=(len(indptr) - 1, len(index)))


def counts(tokens: Iterable[str]) -> dict[object, float]:
    """Count tokens."""
    found: dict[object, float] = {}
    for token in tokens:
        found[token] = found.get(token, 0.0) + 1.0
    return found


def cells(text: str) -> dict[object, float]:
    """Read index:value cells."""
    return {int(j): float(v) for j, v in (cell.split(":") for cell in text.split())}


def numbered(*paths: str, positive: str | None = None) -> Stream:
    """Read labelled lines of cells, with or without VW's bar; labels above 0 are positive unless one is named."""
    found = [line.split(None, 1) for path in paths for line in lines(path)]
    rows = [cells(rest[0].removeprefix("|f ") if rest else "") for _, *rest in found]
    signs = [float(label) > 0 if positive is None else label == positive for label, *_ in found]
    return Stream(sparse(rows), np.where(signs, 1, -1))


def dense(stream: Stream) -> Stream:
    """Return a stream with dense rows."""
    return Stream(csr_matrix(stream.X).toarray(), stream.y)


def splice(path: str) -> Stream:
    """Read lines of a label and numbers, with blanks between."""
    found = np.array([line.split() for line in lines(path)], np.float64)
    return Stream(found[:, 1:], np.where(found[:, 0] > 0, 1, -1))


def texts(positive: str, negative: str) -> Stream:
    """Read two files of tokens."""
    found = [(counts(line.split()), y) for path, y in ((positive, 1), (negative, -1)) for line in lines(path)]
    return Stream(sparse(row for row, _ in found), np.array([y for _, y in found]))


def sms() -> Stream:
    """Read messages: counts of lower-case words and punctuation marks."""
    found = [line.rstrip("\n").split("\t", 1) for line in lines("sms_spam/SMSSpamCollection.gz")]
    return Stream(sparse(counts(WORD.findall(t.lower())) for _, t in found), np.array([1 if y == "spam" else -1 for y, _ in found]))


def table(path: str, positive: str, head: bool = True, delimiter: str = ",", label: int = -1) -> Stream:
    """Read a table of numbers with one column of labels."""
    rows = list(csv.reader(lines(path), delimiter=delimiter))[int(head) :]
    y = np.array([1 if row.pop(label) == positive else -1 for row in rows])
    return Stream(np.array(rows, np.float64), y)


def clicks() -> Stream:
    """Read clicks: signed logarithms of counts, categories one-hot."""
    found = list(csv.DictReader(lines("criteo_sample/criteo_sample.txt.gz")))
    y = np.array([1 if row.pop("label") == "1" else -1 for row in found])

    def features(row: dict[str, str]) -> dict[object, float]:
        numbers = {k: float(v) for k, v in row.items() if v and k[0] == "I"}
        logs = {k: float(np.sign(v) * np.log1p(abs(v))) for k, v in numbers.items()}
        return {**logs, **{(k, v): 1.0 for k, v in row.items() if v and k[0] == "C"}}

    return Stream(sparse(features(row) for row in found), y)


def scaled(stream: Stream) -> Stream:
    """Give every column mean 0 and variance 1."""
    return Stream((stream.X - stream.X.mean(0)) / stream.X.std(0), stream.y)


def spambase() -> Stream:
    """Read spambase."""
    return table("spambase/spambase.csv.gz", "spam")


def classes(*paths: str) -> Stream:
    """Read lines of a class, a tab and words."""
    found = [line.rstrip("\n").split("\t", 1) for path in paths for line in lines(path)]
    return Stream(sparse(counts(text.split()) for _, text in found), coded([y for y, _ in found]))


def coded(labels: Iterable[str]) -> NDArray[np.int64]:
    """Number labels in order of appearance."""
    index: dict[str, int] = {}
    return np.array([index.setdefault(label, len(index)) for label in labels])


def mixed(rows: Iterable[list[str]]) -> csr_matrix:
    """Turn cells into features: numbers as they are, anything else one-hot."""

    def features(row: list[str]) -> dict[object, float]:
        found: dict[object, float] = {}
        for j, cell in enumerate(row):
            try:
                found[j] = float(cell)
            except ValueError:
                found[j, cell] = 1.0
        return found

    return sparse(features(row) for row in rows)


def census() -> Stream:
    """Read adult: six numbers, eight categories one-hot."""
    rows = [line.strip().split(", ") for line in lines("adult/adult.data.gz") if line.strip()]
    y = np.array([1 if row.pop() == ">50K" else -1 for row in rows])
    return Stream(mixed(rows), y)


def intrusions() -> Stream:
    """Read every ninth row of kddcup99: the classes are the attacks."""
    rows = [line.strip().split(",") for i, line in enumerate(lines("kddcup99/kddcup.data_10_percent.gz")) if i % 9 == 0]
    y = coded([row.pop() for row in rows])
    return Stream(mixed(rows), y)


def images() -> Stream:
    """Read mnist: 5,000 rows of a table, then the 10,000 test images; pixels from 0 to 1."""
    X, y = named("mnist/mnist_5k.csv.gz", head=False)
    names = [row.split(",")[-1].strip() for row in lines("mnist/mnist_5k.csv.gz")]
    index = {int(name): int(code) for name, code in zip(names, y.tolist(), strict=True)}
    with gzip.open(DATA / "mnist/t10k-images-idx3-ubyte.gz") as file:
        more = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, X.shape[1])
    with gzip.open(DATA / "mnist/t10k-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return Stream(np.vstack([X, more]) / 255.0, np.concatenate([y, [index[int(k)] for k in labels]]))


def named(path: str, label: int = -1, head: bool = True) -> Stream:
    """Read a table of numbers with one column of classes."""
    rows = list(csv.reader(lines(path)))[int(head) :]
    y = coded([row.pop(label) for row in rows])
    return Stream(np.array(rows, np.float64), y)


def values(rows: Iterable[list[str]], label: int = -1, without: tuple[int, ...] = ()) -> Stream:
    """Make a regression of cells: the target, and numbers as they are with anything else one-hot."""
    found = [list(row) for row in rows]
    y = np.array([float(row.pop(label)) for row in found])
    X = mixed([cell for j, cell in enumerate(row) if j not in without] for row in found)
    return Stream(X.toarray(), y)


def arff(path: str) -> Iterator[list[str]]:
    """Yield the rows of an ARFF file of numbers."""
    data = False
    for line in lines(path):
        if data and line.strip() and line[0] != "%":
            yield line.strip().split(",")
        data = data or line.strip().lower() == "@data"


READERS: dict[str, Callable[[], Stream]] = {
    "a9a": lambda: numbered("a9a/a9a.gz"),
    "polarity": lambda: texts("sentence_polarity/rt-polarity.pos.gz", "sentence_polarity/rt-polarity.neg.gz"),
    "subjectivity": lambda: texts("subjectivity/quote.tok.gt9.5000.gz", "subjectivity/plot.tok.gt9.5000.gz"),
    "sms_spam": sms,
    "rcv1_small": lambda: numbered("rcv1_small/rcv1_small.dat.gz", "rcv1_small/rcv1_small_test.data.gz"),
    "spambase": spambase,
    "spambase, z-scores": lambda: scaled(spambase()),
    "elec2": lambda: table("elec2/electricity.csv.gz", "UP"),
    "higgs": lambda: table("higgs_small/binary.train.gz", "1", head=False, delimiter="\t", label=0),
    "criteo": clicks,
    "mushrooms": lambda: numbered("mushrooms/mushrooms.gz", positive="1"),
    "svmguide1": lambda: dense(numbered("svmguide1/svmguide1.gz", "svmguide1/svmguide1.t.gz")),
    "splice": lambda: splice("splice/splice.txt.gz"),
    "german": lambda: dense(numbered("libol/german.gz")),
    "adult": census,
    "segment": lambda: named("libol/segment.csv.gz", label=0, head=False),
    "letter": lambda: named("letter/letter.csv.gz", label=0),
    "mnist": lambda: named("mnist/mnist_5k.csv.gz", head=False),
    "shuttle": lambda: named("shuttle/shuttle.csv.gz"),
    "reuters_r8": lambda: classes("reuters_r8/r8-train.txt.gz", "reuters_r8/r8-test.txt.gz"),
    "kddcup99": intrusions,
}
IN_TIME = ("elec2", "kddcup99", "bike_sharing")  # in the order of time; all others are shuffled
REAL: dict[str, Callable[[], Stream]] = {
    "abalone": lambda: values(csv.reader(lines("abalone/abalone.csv.gz"))),
    "cpu_small": lambda: values(arff("cpu_small/cpu_small.arff.gz")),
    "cal_housing": lambda: values(arff("cal_housing/cal_housing.arff.gz")),
    "bike_sharing": lambda: values(list(csv.reader(lines("bike_sharing/hour.csv.gz")))[1:], without=(0, 1, 14, 15)),
}


def shuffled(name: str) -> Stream:
    """Read a set in one fixed order, that of time where there is one."""
    X, y = {**READERS, **REAL}[name]()
    order = np.arange(len(y)) if name in IN_TIME else np.random.default_rng(0).permutation(len(y))
    return Stream(X[order], y[order])
