"""Documents as counts of words: LDA-C text, a line `n word:count ...` each, and the bags of words of UCI, `document word count`.

Words are numbers, from 0 in LDA-C and from 1 in UCI files; rows have them from 0. A vocabulary names them. A document without words
is a document.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..inputs.batch import BadRow, Position
from ..inputs.checking import Rows
from ..text import brief
from .pieces import line_starts
from .source import Source, is_plain, no_position, open_bytes, open_plain, size_of
from .svmlight import COUNT, EXPECTED, NO_COLON, NO_FEATURE, NO_LABEL, NUMBER_RANGE, PAIRS, TOP, SvmlightReader
from .table_reader import BLOCK, BOM, Block, BlockReader, Parsed, filled
from .text_reader import Bad
from .text_reader import Block as Lines
from .text_reader import Parsed as Counted

EMPTY = 1_000_000  # documents without words, one after the other, that a file may have
LONG = 200  # bytes; pieces begin next to shorter lines
HEADER = ("the number of documents", "the number of words", "the number of lines that follow")


def named_words(vocabulary: Any, hash_bits: int | None = None) -> list[str] | None:
    """Return the words of a vocabulary: those of a file that has one a line, or of a list; None where there is none."""
    if vocabulary is None:
        return None
    if hash_bits is not None:
        raise ValueError("vocabulary names the numbers of words, and hash_bits folds them: leave one of them out")
    if isinstance(vocabulary, (str, os.PathLike)):
        where = os.fspath(vocabulary)
        with open_bytes(where) as file:
            data = filled(file, 1 << 31)
        try:
            words = data.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            raise ValueError(f"{where}: expected a vocabulary in UTF-8, a word a line, found bytes of another encoding") from None
    else:
        where, words = "vocabulary", list(vocabulary)
    first: dict[str, int] = {}
    for k, word in enumerate(words):
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"{where}:{k + 1}: expected a word, found {brief(word)}")
        if first.setdefault(word, k) != k:
            raise ValueError(f"{where}:{k + 1}: expected each word once, found {brief(word)} again, as on line {first[word] + 1}")
    if not words:
        raise ValueError("vocabulary has no words: give a file with a word a line, or a list")
    return words


class LdacReader(SvmlightReader):
    """Reads LDA-C text: how many different words a document has, then each as number:count."""

    kind = "ldac"
    counted = True

    def __init__(self, source: Source, *, vocabulary: Any = None, **options: Any) -> None:
        super().__init__(source, **options)
        self.words = named_words(vocabulary, self.hash_bits)
        self.most = TOP if self.words is None else len(self.words) - 1
        last = f"{self.most}" if self.words is None else f"{self.most}, as the vocabulary has {len(self.words):,} words"
        self.expected = EXPECTED | {
            NO_LABEL: "how many words the document has at the beginning of the line (a number, then a space)",
            NO_FEATURE: "a word as number:count",
            NO_COLON: "a colon after the number of a word (number:count)",
            NUMBER_RANGE: f"the number of a word, from 0 to {last}",
            PAIRS: "as many words as the line says",
            COUNT: "a whole count of at least 0",
        }

    def allow_unlabelled(self) -> None:
        """Documents have no labels."""

    def note(self, rows: Rows) -> None:
        """Words are numbered from 0, whether or not the first occurs."""

    def parse(self, block: Lines, room: Any, labelled: int) -> Counted:
        """Parse a block."""
        parsed = super().parse(block, room, labelled)
        rows = parsed.data if self.words is None else parsed.data._replace(names=self.words, width=len(self.words))
        return parsed._replace(data=rows, y=None)

    def bad_lines(self, block: Lines, bad: Bad, faults: int) -> list[tuple[int, int, str, str]]:
        """Return the first bad lines in words, with how many pairs there are where it is another number."""
        found = super().bad_lines(block, bad, faults)
        for k, (line, column, expected, token) in enumerate(found):
            if expected == self.expected[PAIRS]:
                text = block.text[bad.first[k, 1] : block.end].tobytes().partition(b"\n")[0].partition(b"#")[0]
                found[k] = line, column, expected, f"{token} and {text.count(b':')} of them"
        return found


# ---- UCI bag of words ----------------------------------------------------------------------------------------------------
class Entries(NamedTuple):
    """Lines `document word count`, in order."""

    documents: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    starts: np.ndarray  # where each line begins
    lines: int  # that hold something
    bad: list[tuple[int, BadRow]]  # with where the line begins


class DocwordReader(BlockReader):
    """Reads the bag of words of UCI: numbers of documents, words and lines, then `document word count` lines in order of documents.

    There are as many documents as the first line says: those without a line have no words.
    """

    kind = "docword"
    tabular = False

    def __init__(
        self, source: Source, on_bad: str = "stop", vocabulary: Any = None, hash_bits: int | None = None, block: int = BLOCK
    ) -> None:
        super().__init__(source, on_bad, block)
        if hash_bits is not None and not 1 <= hash_bits <= 31:
            raise ValueError(f"hash_bits must be from 1 to 31, got {hash_bits!r}")
        self.hash_bits = hash_bits
        self.words = named_words(vocabulary, hash_bits)
        self._cut = False  # whether what is read ends before the file does
        self._forget()

    def _forget(self) -> None:
        """Begin a file."""
        self.head: list[int] | None = None  # what the first three lines say
        self.given = 0  # documents
        self.entries: int | None = 0  # lines read since the header; None where a piece does not know

    # ---- what stands before the documents ------------------------------------------------------------------------------
    def begin(self, block: Block) -> int | None:
        """Read the three numbers; the line end after the last is left, so that there is something to parse."""
        lines = block.data.removeprefix(BOM).split(b"\n", 3)
        if len(lines) < 4 and not block.final:
            return None
        self._forget()
        numbers = []
        for k, what in enumerate(HEADER):
            line = lines[k].strip() if k < len(lines) else b""
            if not (line.isdigit() and len(line) < 19):
                raise BadRow(block.path, block.line + k, 1, f"{what} alone on the line", brief(line.decode("utf-8", "replace")))
            numbers.append(int(line))
        if len(lines) < 4:
            raise BadRow(block.path, block.line + 2, None, "the end of the line after its number", "the end of the file")
        most = TOP if self.words is None else len(self.words)
        if numbers[1] > most:
            what = f"at most {most} words" + ("" if self.words is None else ", as the vocabulary has")
            raise BadRow(block.path, block.line + 1, 1, what, str(numbers[1]))
        self.head = numbers
        return len(block.data) - len(lines[3]) - 1

    def known(self) -> Position:
        """Return what the file says of itself, and how much of it has been read."""
        return {} if self.head is None else {"head": self.head, "documents": self.given, "entries": self.entries}

    def remember(self, position: Position) -> None:
        """Take it back."""
        self._forget()
        if "head" not in position:
            if position.get("offset"):
                raise no_position(position)
            return
        head, given, entries = position["head"], position.get("documents", -1), position.get("entries")
        whole = [*(head if isinstance(head, list) and len(head) == 3 else [None]), given, 0 if entries is None else entries]
        if not all(type(n) is int and 0 <= n < 1 << 62 for n in whole) or given > head[0] or head[1] > TOP:
            raise no_position(position)
        self.head, self.given, self.entries = head, given, entries

    @property
    def settled(self) -> bool:  # type: ignore[override]
        """Whether the header has been read."""
        return self.head is not None

    # ---- documents -----------------------------------------------------------------------------------------------------
    def _file(self, path: str, begin: Position, end: int | None, parse: Any) -> Iterator[tuple[Any, int, int, int]]:
        self._cut = end is not None
        yield from super()._file(path, begin, end, parse)

    def parse(self, block: Block) -> Parsed:
        """Make rows of the whole documents of a block: unless the file ends here, the last may go on."""
        end = len(block.data) if block.final else block.data.rfind(b"\n") + 1
        found = self._fast(block, end) or self._slowly(block, end)
        n, used = len(found.documents), end
        if n and not block.final:
            n = int(np.searchsorted(found.documents, found.documents[-1]))
            used = int(found.starts[n])
            if n == 0 and self._within(found, used) == 0:
                return Parsed(None, 0)
        for start, bad in found.bad:
            if start < used:
                self.bad(bad)
        if self.entries is not None:
            self.entries += self._within(found, used)
        last = int(found.documents[n - 1]) if n else self.given
        if block.final and not self._cut:
            last = self._ended(block, last)
        return Parsed(self._rows(found, n, last), used)

    def _within(self, found: Entries, used: int) -> int:
        """Return how many lines before some byte hold something."""
        later = int(np.count_nonzero(found.starts >= used)) + sum(start >= used for start, _ in found.bad)
        return found.lines - later

    def _ended(self, block: Block, last: int) -> int:
        """Return the number of the last document of the file; check its lines."""
        assert self.head is not None
        line = block.line + block.data.count(b"\n")
        if self.entries is not None and self.entries != self.head[2]:
            what = f"{self.head[2]} lines `document word count`, as line 3 says"
            self.bad(BadRow(block.path, line, None, what, f"{self.entries}. Is the file cut short?"))
        if self.head[0] - last > EMPTY:
            raise BadRow(block.path, line, None, few(), f"none after document {last} of {self.head[0]}")
        return self.head[0]

    def _rows(self, found: Entries, n: int, last: int) -> Rows | None:
        """Return the documents up to the last, those without words among them."""
        assert self.head is not None
        if last == self.given:
            return None
        row, word, count = found.documents[:n] - self.given - 1, found.words[:n] - 1, found.counts[:n].astype(np.float64)
        width = self.head[1] if self.words is None else len(self.words)
        if self.hash_bits is not None:
            word, width = word & ((1 << self.hash_bits) - 1), 1 << self.hash_bits
        key = row << 32 | word
        if (np.diff(key) <= 0).any():
            order = np.argsort(key, kind="stable")
            key, first = np.unique(key[order], return_index=True)
            count = np.add.reduceat(count[order], first)
            row, word = key >> 32, key & 0xFFFFFFFF
        indptr = np.zeros(last - self.given + 1, np.int64)
        np.cumsum(np.bincount(row, minlength=last - self.given), out=indptr[1:])
        self.given = last
        return Rows("csr", (indptr, word.astype(np.uint32), count), len(indptr) - 1, width, self.words)

    def _fast(self, block: Block, end: int) -> Entries | None:
        """Return all lines at once; None where one needs a closer look."""
        import pyarrow as pa
        import pyarrow.csv

        skip = 1 if block.data[:1] == b"\n" else 0
        data = block.data[skip:end]
        if not data:
            return None
        names = ["document", "word", "count"]
        try:
            table = pyarrow.csv.read_csv(
                pa.BufferReader(data),
                read_options=pyarrow.csv.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1),
                parse_options=pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False),
                convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.int64()), null_values=[]),
            )
        except pa.ArrowInvalid:
            return None
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10) + skip + 1
        starts = np.concatenate([[skip], ends])[: table.num_rows]
        if table.num_rows != len(ends) + (data[-1:] != b"\n"):
            return None
        documents, words, counts = (column.to_numpy() for column in table.columns)
        assert self.head is not None
        steps = np.diff(documents, prepend=self.given)
        fine = steps.min() >= 0 and documents[0] > self.given and documents[-1] <= self.head[0] and steps.max() <= EMPTY
        if not fine or words.min() < 1 or words.max() > self.head[1] or counts.min() < 0:
            return None
        return Entries(documents, words, counts, starts, len(documents), [])

    def _slowly(self, block: Block, end: int) -> Entries:
        """Return the lines one by one, and say which are bad."""
        found: list[tuple[int, int, int, int]] = []
        bad: list[tuple[int, BadRow]] = []
        start, lines, last = 0, 0, self.given
        for k, line in enumerate(block.data[:end].split(b"\n")):
            if line.strip():
                lines += 1
                wrong = self._wrong(line.split(), last, bool(found))
                if wrong is None:
                    document, word, count = map(int, line.split())
                    last = document
                    found.append((document, word, count, start))
                else:
                    bad.append((start, BadRow(block.path, block.line + k, None, *wrong)))
            start += len(line) + 1
        columns = np.array(found, np.int64).reshape(-1, 4).T
        return Entries(columns[0], columns[1], columns[2], columns[3], lines, bad)

    def _wrong(self, cells: list[bytes], last: int, begun: bool) -> tuple[str, str] | None:
        """Return what was expected of a line and what came, where it is bad; `last` is the document of the line before."""
        assert self.head is not None
        shown = brief(b" ".join(cells).decode("utf-8", "replace"))
        if len(cells) != 3 or not all(cell.removeprefix(b"-").isdigit() and len(cell) < 19 for cell in cells):
            return "three whole numbers (document word count)", shown
        document, word, count = map(int, cells)
        if not 1 <= document <= self.head[0]:
            return f"a document from 1 to {self.head[0]}, as line 1 says", shown
        if document < last or (document == last and not begun):
            return f"documents in order, after document {last}", shown
        if document - last > EMPTY:
            return few(), shown
        if not 1 <= word <= self.head[1]:
            return f"a word from 1 to {self.head[1]}, as line 2 says", shown
        return ("a count of at least 0", shown) if count < 0 else None

    # ---- pieces --------------------------------------------------------------------------------------------------------
    def starts(self, n: int) -> list[Position | None]:
        """Return the positions of at most n documents, about equally far apart in bytes."""
        found = super().starts(n)
        for position in found:
            if position is not None and position["offset"]:
                with open_plain(self.paths[position["file"]]) as file:
                    file.seek(max(position["offset"] - LONG, 0))
                    line = file.read(min(position["offset"], LONG)).split(b"\n")[-2]
                position |= {"documents": int(line.split()[0]), "entries": None}
        return found

    def _starts_in(self, file: int, targets: list[int]) -> list[int]:
        """Return where documents begin, after some bytes of a file."""
        path = self.paths[file]
        return [document_after(path, at) for at in targets] if is_plain(path) else line_starts(path, targets)


def document_after(path: str, at: int) -> int:
    """Return where a document begins after some byte, right after a line of the one before; the end of the file if none does."""
    with open_plain(path) as file:
        header = sum(len(file.readline()) for _ in HEADER)
        file.seek(max(at, header) - 1)
        file.readline()
        before = None
        while line := file.readline():
            cells = line.split() if len(line) < LONG else []
            document = int(cells[0]) if len(cells) == 3 and all(map(bytes.isdigit, cells)) else None
            if before is not None and document is not None and document > before:
                return int(file.tell()) - len(line)
            before = document
    return size_of(path)


def few() -> str:
    """Return how many empty documents are allowed, for an error."""
    return f"at most {EMPTY:,} documents without words one after the other"
