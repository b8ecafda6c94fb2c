"""The registry of formats: how sources of each are called, how they begin, and where their reader is.

It is light: a reader is imported when a source needs it, so that the command line may list formats without loading any.
"""

from __future__ import annotations

import csv
import importlib
import os
import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from .source import PACKINGS, STDIN, expand, is_regular, open_bytes

if TYPE_CHECKING:
    from ..inputs.batch import Reader

HEAD = 1 << 16  # bytes that tell a format
ANYTHING = "txt"  # how names of files of any format may end


class Head:
    """How a file begins: bytes, and lines that hold something; `named` is how its name ends."""

    def __init__(self, data: bytes, named: str = "") -> None:
        self.data, self.named = data, named
        self.lines = [line for line in data.decode("utf-8", "replace").lstrip("\ufeff").splitlines() if line.strip()]
        self.first = self.lines[0].strip() if self.lines else ""


class Format(NamedTuple):
    """A kind of source. `reader(source, **options)` returns its Reader and gets those options of `stream` that it `takes`."""

    name: str
    help: str  # what its examples are, in a few words
    reader: str | Callable[..., Reader]  # or where to import it from, as module:name
    suffixes: tuple[str, ...] = ()  # how names of files end, without the dot
    schemes: tuple[str, ...] = ()  # how addresses begin, without the colon
    begins: Callable[[Head], bool] | None = None  # whether a file that begins so may be of this format
    takes: tuple[str, ...] = ("on_bad",)
    task: str = ""  # the kind of problem that its examples are of, where they are of one

    def open(self, source: Any, **options: Any) -> Reader:
        """Return the reader of a source."""
        make = self.reader
        if isinstance(make, str):
            module, _, name = make.partition(":")
            make = getattr(importlib.import_module(module), name)
        given = {"kind": self.name, **options}
        found: Reader = make(source, **{k: given[k] for k in self.takes if k in given})
        return found


FORMATS: dict[str, Format] = {}


def register(new: Format) -> Format:
    """Let `stream` and the command line know a format. Of several that a file may begin like, the last registered is taken."""
    for what, names, known in (
        ("name", (new.name,), {name: name for name in FORMATS}),
        ("suffix", new.suffixes, suffixes()),
        ("scheme", new.schemes, schemes()),
    ):
        for name in names:
            if name in known:
                raise ValueError(f"the {what} {name!r} is that of the format {known[name]} already: choose another")
    FORMATS[new.name] = new
    return new


def suffixes() -> dict[str, str]:
    """Return the format of each ending of a name."""
    return {suffix: f.name for f in FORMATS.values() for suffix in f.suffixes}


def schemes() -> dict[str, str]:
    """Return the format of each beginning of an address."""
    return {scheme: f.name for f in FORMATS.values() for scheme in f.schemes}


def files() -> list[str]:
    """Return the formats of files, by name."""
    return sorted(set(suffixes().values()))


# ---- which one a source is of ----------------------------------------------------------------------------------------
def of_address(source: Any) -> Format | None:
    """Return the format of an address such as synthetic:sea, None for anything else."""
    scheme, colon, _ = source.partition(":") if isinstance(source, str) else ("", "", "")
    found = schemes().get(scheme) if colon else None
    return None if found is None else FORMATS[found]


def of_files(source: Any, name: str | None = None) -> Format:
    """Return the format of files: the one that is named, or by the name of the first file, or by how it begins."""
    if name is not None and name not in files():
        raise ValueError(f"format must be one of {', '.join(files())}, got {name!r}")
    return FORMATS[name or _found(source)]


def _found(source: Any) -> str:
    known = suffixes()
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        inside = [known.get(ending(path), "") for path in expand(source, "*")]
        return "parquet" if "parquet" in inside else next(filter(None, inside), "parquet")
    path = expand(source)[0]
    named = ending(path)
    if named in known and named != ANYTHING:
        return known[named]
    if not is_regular(path):  # what is read to tell its format would be lost
        what = "standard input" if path == STDIN else f"the pipe {path}"
        raise ValueError(f"{what} has no name to tell its format: give it (format, --format), one of {', '.join(files())}")
    with open_bytes(path) as file:
        head = Head(file.read(HEAD), named)
    for f in reversed(FORMATS.values()):
        if f.begins is not None and f.begins(head):
            return f.name
    raise ValueError(f"{path}: cannot tell its format from its name or its beginning: give one of {', '.join(files())}")


def ending(path: str) -> str:
    """Return how the name of a file ends, packing apart."""
    name = os.path.basename(path).lower()
    for suffix in PACKINGS:
        name = name.removesuffix(suffix)
    return name.rpartition(".")[2] if "." in name else ""


# ---- how files begin -------------------------------------------------------------------------------------------------
def _text(head: Head) -> bool:
    return head.named == ANYTHING and b"\0" not in head.data


def _csv(head: Head) -> bool:
    return _cells(head, ",") or _cells(head, ";")


def _tsv(head: Head) -> bool:
    return _cells(head, "\t")


def _cells(head: Head, delimiter: str) -> bool:
    """Return whether lines have cells; where they may be sentences, as many in each of the first lines."""
    if delimiter not in head.first or head.named != ANYTHING:
        return delimiter in head.first
    try:
        sizes = {len(row) for row in islice(csv.reader(head.lines, delimiter=delimiter), 1 + min(len(head.lines) // 2, 20))}
    except csv.Error:
        return False
    return len(head.lines) > 1 and len(sizes) == 1


def _svmlight(head: Head) -> bool:
    label, *features = head.first.partition("#")[0].split() or [""]
    return bool(features) and _numbers([label, *(f.partition(":")[2] for f in features)])


def _ldac(head: Head) -> bool:
    """Return whether every line has as many words as it says; of labels that would be chance, so there must be several numbers."""
    lines = [line.split() for line in head.lines[: max(len(head.lines) - 1, 1)]]
    pairs = all(re.fullmatch(r"\d+:\d+", pair) for _, *pairs in lines for pair in pairs)
    return pairs and all(n == str(len(words)) for n, *words in lines) and len({n for n, *_ in lines}) > 2


def _docword(head: Head) -> bool:
    counts, entries = [line.split() for line in head.lines[:3]], [line.split() for line in head.lines[3:100]]
    if [len(c) for c in counts] != [1, 1, 1] or not all(c[0].isdecimal() for c in counts):
        return False
    return bool(entries[:-1]) and all(len(e) == 3 and all(map(str.isdecimal, e)) for e in entries[:-1])


def _vw(head: Head) -> bool:
    before, _, after = head.first.partition("|")
    return bool(after) and "," not in before


def _arff(head: Head) -> bool:
    return any(line.lower().startswith(("@relation", "@attribute")) for line in head.lines[:100])


def _jsonl(head: Head) -> bool:
    return head.first.startswith("{") or head.first == "[" or head.first[:1] + head.first[1:].lstrip()[:1] == "[{"


def _npz(head: Head) -> bool:
    return head.data.startswith((b"PK\x03\x04", b"\x93NUMPY"))


def _parquet(head: Head) -> bool:
    return head.data.startswith(b"PAR1")


def _numbers(texts: Iterable[str]) -> bool:
    try:
        return all(float(text) is not None for text in texts)
    except ValueError:
        return False


# ---- those of the library, the loosest first -------------------------------------------------------------------------
CELLS = ("kind", "on_bad", "header", "delimiter", "decimal")
PARSED = ("on_bad", "hash_bits", "threads")

for known in (
    Format(
        "text",
        "a document a line; of a directory, a document a file",
        "noregret.streams.plain_text:reader",
        (ANYTHING,),
        begins=_text,
        task="topics",
    ),
    Format("csv", "a table", "noregret.streams.delimited:CsvReader", ("csv",), begins=_csv, takes=CELLS),
    Format(
        "tsv", "a table, quotes are characters", "noregret.streams.delimited:CsvReader", ("tsv", "tab"), begins=_tsv, takes=CELLS
    ),
    Format(
        "svmlight",
        "numbered features",
        "noregret.streams.svmlight:SvmlightReader",
        ("svm", "svmlight", "libsvm"),
        begins=_svmlight,
        takes=PARSED,
    ),
    Format(
        "ldac",
        "counts of words by number",
        "noregret.streams.documents:LdacReader",
        ("ldac",),
        begins=_ldac,
        takes=(*PARSED, "vocabulary"),
        task="topics",
    ),
    Format(
        "docword",
        "counts of words by number",
        "noregret.streams.documents:DocwordReader",
        ("docword",),
        begins=_docword,
        takes=("on_bad", "hash_bits", "vocabulary"),
        task="topics",
    ),
    Format("vw", "named features, hashed", "noregret.streams.vw:VwReader", ("vw",), begins=_vw, takes=(*PARSED, "cross")),
    Format("arff", "a table, dense or sparse", "noregret.streams.arff:ArffReader", ("arff",), begins=_arff),
    Format(
        "jsonl",
        "a table: one object a line, or one array of objects",
        "noregret.streams.tables:JsonReader",
        ("jsonl", "ndjson", "json"),
        begins=_jsonl,
    ),
    Format(
        "npz",
        "arrays `X`, `y`, `sample_weight`, or a matrix as `scipy.sparse.save_npz` writes it",
        "noregret.streams.arrays:ArraysReader",
        ("npz", "npy"),
        begins=_npz,
        takes=(),
    ),
    Format("parquet", "a table", "noregret.streams.tables:ParquetReader", ("parquet", "pq"), begins=_parquet),
    Format("synthetic", "made as they are read", "noregret.streams.synthetic:from_url", schemes=("synthetic",), takes=()),
):
    register(known)
