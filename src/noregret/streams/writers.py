"""Writing examples: any source to svmlight, VW, CSV, TSV, JSON lines, Parquet, npz or the formats of documents, batch by batch.

Tables stay tables, with their columns as they are. Rows of numbered features get the columns x0, x1, ... beside `target`,
`weight` and `id`. Labels that are texts become numbers where a format has only these: by first appearance, from 0 (VW: from 1).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..files.drafts import check_apart, drafted
from ..inputs.batch import Batch
from ..inputs.checking import Rows
from ..inputs.labels import Coded
from .delimited import CsvReader
from .formats import FORMATS, suffixes
from .marks import files_of
from .plain_text import TEXT
from .row_conversions import aligned, beside, counts_of, distinct, joined, present, recorded, sparse, texts, together
from .source import PACKINGS
from .stream import Stream, stream

MOST = 10_000  # columns of a table made of rows
LIMIT = 1 << 30  # bytes of rows that an .npz may hold in memory
BREAKS = r"[\t\r\n]"
Watch = Callable[[int, Stream, Any], None]


class Converted(NamedTuple):
    """What was written."""

    rows: int
    kind: str  # format
    labels: dict[str, int]  # the numbers that stand for labels, where they are texts and the format has no texts
    stream: Stream
    vocabulary: str | None = None  # the file of the words that numbers stand for, where there are such


def convert(
    source: Any, destination: str | os.PathLike[str], *, limit: int | None = None, watch: Watch | None = None, **options: Any
) -> Converted:
    """Write a source to a file in the format of its name; the options are those of `stream`. The file appears when it is whole."""
    path = os.fspath(destination)
    kind, packing = format_of(path)
    opened = stream(source, **options)
    check_apart(path, files_of(opened.reader))
    writer: Writer
    done = 0
    with drafted(path) as draft:
        table = opened.kind in FORMATS and opened.reader.tabular and kind in TABLES
        if table and isinstance(opened.reader, CsvReader):
            opened.reader.exact = type(opened.reader) is CsvReader  # other formats declare their numbers
            if opened.front is not None and opened.front.table is not None:
                opened.reader.text, opened.reader.numbers = (
                    tuple(opened.front.table.as_written),
                    tuple(opened.front.table.as_numbers),
                )
        width = None if table or kind not in ("csv", "tsv", "parquet") else widest(opened, limit)
        writer = WRITERS[kind](draft, kind, packing, width)
        with contextlib.closing(writer):
            for batch in opened.reader.batches() if table else opened.chunks():
                batch = batch if limit is None else batch.cut(0, min(batch.n, limit - done))
                writer.write(batch)
                done += batch.n
                if watch is not None:
                    watch(done, opened, ())
                if done == limit:
                    break
        if done == 0:
            raise ValueError(f"{opened.name} has no rows")
    words = words_of(opened) if kind in DOCUMENTS else None
    return Converted(done, kind, writer.labels, opened, None if words is None else write_words(words, path))


def words_of(opened: Stream) -> list[str] | None:
    """Return the names of the features of a stream by number; of the words of one text alone, without its column."""
    table = None if opened.front is None else opened.front.table
    if table is None or opened.front is None or opened.front.names is None:
        return opened.reader.words
    roles = table.column_roles
    before = f"{next(iter(roles))}:" if list(roles.values()) == ["text"] else ""
    return [name.removeprefix(before) for name in opened.front.names]


def write_words(words: list[str], path: str) -> str:
    """Write words beside a file of documents, one a line; return where they are."""
    beside = f"{os.path.splitext(path)[0] if format_of(path)[1] else path}.vocab"
    with drafted(beside) as draft, open(draft, "x", encoding="utf-8", errors="surrogatepass", newline="\n") as out:
        out.writelines(f"{' '.join(word.split())}\n" for word in words)
    return beside


def format_of(path: str) -> tuple[str, str | None]:
    """Return the format and packing that the name of a file asks for."""
    stem, packed = os.path.splitext(path)
    packing = PACKINGS.get(packed.lower())
    name = stem if packing else path
    ending = os.path.splitext(name)[1].lower().removeprefix(".")
    kind = suffixes().get(ending)
    if kind is None or kind not in WRITERS:
        raise ValueError(f"cannot tell from the name {path} what to write: expected it to end in {', '.join(sorted(ENDINGS))}")
    if packing and kind in ("parquet", "npz"):
        raise ValueError(f"{path}: a file of {kind} is packed inside already: leave out {packed}")
    return kind, packing


def widest(opened: Stream, limit: int | None) -> int:
    """Return how many features there are: a pass over the source, unless the first rows tell."""
    width, done = 0, 0
    if not opened.reader.replayable:
        raise ValueError("a table needs to know its columns beforehand, and standard input is read once: write svmlight or jsonl")
    for batch in opened.chunks():
        width, done = max(width, batch.data.width), done + batch.data.n
        if width > MOST:
            raise ValueError(
                f"{opened.name} has more than {MOST:,} features, too many for the columns of a table: write svmlight or jsonl"
            )
        if batch.data.layout == "dense" or (limit is not None and done >= limit):
            break
    return width


# ---- the writers -----------------------------------------------------------------------------------------------------
class Writer:
    """Writes batches to a file."""

    first_label = 0  # number of the first label that is a text

    def __init__(self, path: str, kind: str, packing: str | None, width: int | None) -> None:
        self.path, self.kind, self.packing, self.width = path, kind, packing, width
        self.labels: dict[str, int] = {}
        self.numbered = False  # whether labels that are numbers were written
        self.out: Any = None

    def open(self) -> Any:
        """Return the file, packed if its name says so."""
        if self.out is None:
            import pyarrow as pa

            self.out = pa.output_stream(self.path, compression=self.packing)
        return self.out

    def write(self, batch: Batch) -> None:
        """Write rows."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish the file."""
        if self.out is not None:
            self.out.close()

    def numbers(self, y: Any) -> np.ndarray:
        """Return labels as numbers; a text has a number of its own, which must not be that of another label."""
        names = [v for v in y.values if isinstance(v, str)] if isinstance(y, Coded) else []
        self.numbered = self.numbered or not isinstance(y, Coded) or len(names) < len(y.values)
        if self.numbered and (names or self.labels):
            raise ValueError(
                f"some labels are numbers and others text, such as {[*self.labels, *names][0]!r}, and {self.kind} has numbers: "
                "write csv or jsonl"
            )
        if not isinstance(y, Coded):
            return y.astype(np.int64) if y.dtype.kind == "b" else y
        if self.numbered:
            return np.array(y.values, np.float64)[y.codes]
        order = np.unique(y.codes, return_index=True)
        for code in order[0][np.argsort(order[1])].tolist():
            self.labels.setdefault(y.values[code], len(self.labels) + self.first_label)
        return np.array([self.labels.get(v, -1) for v in y.values])[y.codes]


class Lines(Writer):
    """svmlight: label number:value ..."""

    def write(self, batch: Batch) -> None:
        """Write rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        start, places, values = self.entries(batch)
        cells = pc.binary_join_element_wise(texts(places), texts(values), ":")
        rows = pc.binary_join(pa.ListArray.from_arrays(pa.array(start.astype(np.int32)), cells), " ")
        lines = pc.binary_join_element_wise(*self.before(batch), rows, " ")
        self.open().write(together(lines))

    def entries(self, batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the features of the rows, as CSR."""
        return sparse(batch.data)

    def before(self, batch: Batch) -> list[Any]:
        """Return what stands before the features of each row."""
        import pyarrow.compute as pc

        if batch.c is not None:
            raise ValueError("svmlight has no place for the weights of rows: write vw, or a table")
        label = [] if batch.y is None else [texts(self.numbers(batch.y))]
        queries = batch.column("bundle")
        if queries is None:
            return label
        if queries.dtype.kind not in "iu":  # texts, which must come back as they are
            strange = next((q for q in queries.tolist() if not re.fullmatch("0|[1-9][0-9]{0,17}", q or "")), None)
            if strange is not None:
                raise ValueError(f"svmlight has whole numbers for queries (qid), got {strange!r}: write a table")
            queries = queries.astype(np.int64)
        return [*label, pc.if_else(queries < 0, "", joined("qid:", texts(queries)))]


class VwLines(Lines):
    """VW text: label weight 'tag | number:value ..."""

    first_label = 1

    def before(self, batch: Batch) -> list[Any]:
        """Return what stands before the features of each row."""
        import pyarrow as pa

        found = [] if batch.y is None else [texts(self.numbers(batch.y))]
        if batch.c is not None:
            found.append(texts(batch.c))
        if batch.ids is not None:
            tags = [("" if v is None else v.decode() if isinstance(v, bytes) else str(v)) for v in list(batch.ids)]
            for tag in tags:
                if any(c.isspace() or c == "|" for c in tag):
                    raise ValueError(f"the id {tag!r} cannot be a tag of VW, which has no spaces and no |: leave out id=")
            found.append(pa.array([f"'{tag}" for tag in tags]))
        bar = pa.array(["|"] * batch.data.n)
        return [*found, bar]


class Ldac(Lines):
    """LDA-C: how many words, then number:count ..."""

    def entries(self, batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the words of the rows with their counts, as CSR."""
        return counts_of(batch.data, self.kind)

    def before(self, batch: Batch) -> list[Any]:
        """Return how many words each row has."""
        return [texts(np.diff(sparse(batch.data)[0]))]


class Docword(Writer):
    """The bag of words of UCI: three numbers that are known at the end, so the lines wait in a file of their own."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.documents = self.words = self.lines = 0
        self.waiting = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)

    def write(self, batch: Batch) -> None:
        """Write a line for each word of a row."""
        import pyarrow.compute as pc

        start, places, counts = counts_of(batch.data, self.kind)
        row = np.repeat(np.arange(batch.n), np.diff(start)) + self.documents + 1
        if len(row):
            self.waiting.write(together(pc.binary_join_element_wise(texts(row), texts(places + 1), texts(counts), " ")))
        self.documents, self.words, self.lines = (
            self.documents + batch.n,
            max(self.words, batch.data.width),
            self.lines + len(row),
        )

    def close(self) -> None:
        """Write the numbers, then the lines."""
        self.open().write(f"{self.documents}\n{self.words}\n{self.lines}\n".encode())
        self.waiting.seek(0)
        while block := self.waiting.read(1 << 20):
            self.open().write(block)
        self.waiting.close()
        super().close()


class Texts(Writer):
    """A document a line; line breaks inside become spaces."""

    def write(self, batch: Batch) -> None:
        """Write rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names = [] if isinstance(batch.data, Rows) else batch.data.schema.names
        if len(names) != 1 and TEXT not in names:
            raise ValueError(f"plain text is one column, and of these rows none is alone or called {TEXT!r}: write jsonl or csv")
        column = batch.data.column(TEXT if TEXT in names else names[0])
        lines = pc.fill_null(column.cast(pa.string()), "")
        self.open().write(together(pc.replace_substring_regex(lines, r"\s*[\r\n]\s*", " ")))


class Csv(Writer):
    """CSV, texts in quotes."""

    head: list[str] | None = None

    def write(self, batch: Batch) -> None:
        """Write rows, the names of the columns before the first."""
        record = recorded(batch, self.width)
        distinct(record, self.kind)
        first = self.head is None
        self.head = record.schema.names if self.head is None else self.head
        self.put(aligned(record, self.head), first)

    def put(self, record: Any, first: bool) -> None:
        """Write a record batch."""
        from pyarrow import csv

        csv.write_csv(record, self.open(), csv.WriteOptions(include_header=first))


class Tsv(Csv):
    """TSV, where quotes are characters, so that a cell has neither tabs nor line breaks."""

    def put(self, record: Any, first: bool) -> None:
        """Write a record batch."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names = record.schema.names
        columns = [pc.fill_null(column.cast(pa.string()), "") for column in record.columns]
        for name, column in zip(names, columns, strict=True):
            if re.search(BREAKS, name) or pc.any(pc.match_substring_regex(column, BREAKS)).as_py():
                raise ValueError(f"column {name!r} has a tab or a line break in it, which TSV cannot hold: write csv")
        lines = pc.binary_join_element_wise(*columns, "\t")
        self.open().write((("\t".join(names) + "\n") if first else "").encode() + together(lines))


class JsonLines(Writer):
    """One JSON object a line; cells that are missing are left out, and in rows of numbered features those that are 0."""

    def write(self, batch: Batch) -> None:
        """Write rows."""
        out = self.open()
        if isinstance(batch.data, Rows):
            lines = self._rows(batch)
        else:
            names = batch.data.schema.names
            columns = [column.to_pylist() for column in batch.data.columns]
            lines = ({k: v for k, v in zip(names, row, strict=True) if present(v)} for row in zip(*columns, strict=True))
        out.write(
            "".join(json.dumps(line, default=str, ensure_ascii=False) + "\n" for line in lines).encode("utf-8", "surrogatepass")
        )

    def _rows(self, batch: Batch) -> Iterator[dict[str, Any]]:
        start, places, values = sparse(batch.data)
        names = batch.data.names
        extra = {k: v.to_pylist() for k, v in beside(batch).items()}
        cells = [(names[j] if names else f"x{j}", v) for j, v in zip(places.tolist(), values.tolist(), strict=True)]
        for i in range(batch.data.n):
            yield {k: v[i] for k, v in extra.items()} | dict(cells[start[i] : start[i + 1]])


class Parquet(Writer):
    """Parquet, with the columns of the first rows."""

    schema: Any = None

    def write(self, batch: Batch) -> None:
        """Write rows."""
        import pyarrow as pa
        from pyarrow import parquet

        record = recorded(batch, self.width)
        distinct(record, self.kind)
        if self.schema is None:
            self.schema = pa.schema([f if not pa.types.is_null(f.type) else pa.field(f.name, pa.string()) for f in record.schema])
            self.out = parquet.ParquetWriter(self.path, self.schema)
        record = aligned(record, self.schema.names)
        try:
            self.out.write_batch(record.cast(self.schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as e:
            raise ValueError(
                f"a column is of another type than in the first rows, which Parquet does not allow ({e}): write jsonl"
            ) from None


class Arrays(Writer):
    """An .npz of X (or the parts of a sparse matrix, as SciPy has them), y and sample_weight."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.batches: list[Batch] = []
        self.bytes = 0

    def write(self, batch: Batch) -> None:
        """Keep rows."""
        self.bytes += sum(a.nbytes for a in batch.data.arrays)
        if self.bytes > LIMIT:
            raise ValueError(f"an .npz is made in memory, and this is more than {LIMIT >> 20} MB: write svmlight or parquet")
        self.batches.append(batch)

    def close(self) -> None:
        """Write what was kept."""
        if not self.batches:
            return
        rows = [b.data for b in self.batches]
        width = max(r.width for r in rows)
        found: dict[str, Any] = {}
        if all(r.layout == "dense" for r in rows):
            found["X"] = np.concatenate([r.arrays[0] for r in rows])
        else:
            parts = [sparse(r) for r in rows]
            sizes = np.concatenate([[0], *(np.diff(start) for start, _, _ in parts)])
            found |= {"format": np.array(b"csr"), "shape": np.array([len(sizes) - 1, width]), "indptr": np.cumsum(sizes)}
            found |= {name: np.concatenate([part[k] for part in parts]) for k, name in ((1, "indices"), (2, "data"))}
            found["indices"] = found["indices"].astype(np.int64)
        if self.batches[0].y is not None:
            found["y"] = np.concatenate([b.y.array() if isinstance(b.y, Coded) else b.y for b in self.batches])
            if found["y"].dtype.kind == "O":
                found["y"] = found["y"].astype(str)
        if any(b.c is not None for b in self.batches):
            found["sample_weight"] = np.concatenate([np.ones(b.data.n) if b.c is None else b.c for b in self.batches])
        with open(self.path, "xb") as out:
            np.savez_compressed(out, **found)


DOCUMENTS = ("ldac", "docword")
TABLES = ("csv", "tsv", "jsonl", "parquet", "text")
WRITERS: dict[str, Any] = {
    "svmlight": Lines, "vw": VwLines, "csv": Csv, "tsv": Tsv, "jsonl": JsonLines, "parquet": Parquet, "npz": Arrays,
    "ldac": Ldac, "docword": Docword, "text": Texts,
}  # fmt: skip
ENDINGS = [".svm", ".vw", ".csv", ".tsv", ".jsonl", ".parquet", ".npz", ".ldac", ".docword", ".txt"]
