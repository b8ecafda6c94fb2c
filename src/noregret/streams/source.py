"""From what a user names to bytes: paths, globs, standard input, bytes in memory; gzip, zstd and bz2 unpacked on the way."""

from __future__ import annotations

import contextlib
import glob
import io
import os
import select
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Self

from ..text import brief, shortened

STDIN = "-"
PACKINGS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2"}
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
LONGEST_LINE = 1 << 26  # bytes; without a bound a file that has no line ends would have to fit in memory
HEAD = max(map(len, MAGIC))
COUNTS = ("file", "offset", "line", "origin", "row", "examples", "skipped")  # what a position counts, where it does

Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Held(str):
    """Bytes in memory that are read as a file: the text is its name, for errors and positions."""

    data: bytes

    def __new__(cls, data: bytes, name: str = "<bytes>") -> Self:
        """Return a name with bytes behind it."""
        held = super().__new__(cls, name)
        held.data = data
        return held


def expand(source: Source, inside: str | None = None) -> list[str]:
    """Return the files a user named, in order: globs sorted, a directory as its files that match `inside` (such as *.parquet)."""
    named = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    paths = [path for name in named for path in _expand(os.fspath(name), inside)]
    if not paths:
        raise ValueError("no file was named; expected a path, a glob or - for standard input")
    if paths.count(STDIN) > 1:
        raise ValueError("standard input (-) was named twice; it can be read only once")
    return paths


def _expand(name: str, inside: str | None) -> Iterator[str]:
    if name == STDIN or isinstance(name, Held):
        yield name
    elif os.path.isdir(name):
        if inside is None:
            raise IsADirectoryError(f"{name} is a directory; expected a file. Name its files, such as {os.path.join(name, '*')}")
        yield from _matches(os.path.join(glob.escape(name), "**", inside), f"no file {inside} in directory {name}")
    elif os.path.exists(name):
        yield name
    elif glob.has_magic(name):
        yield from _matches(name, f"no file matches {name}")
    else:
        raise FileNotFoundError(f"no such file: {name}. Check the spelling and the directory ({os.getcwd()})")


def _matches(pattern: str, otherwise: str) -> list[str]:
    found = sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))
    if not found:
        raise FileNotFoundError(otherwise)
    return found


def compression(path: str) -> str | None:
    """Return gzip, zstd, bz2 or None: by the first bytes, whatever the name; of a pipe, which is read once, by the name."""
    if not is_regular(path):
        return PACKINGS.get(os.path.splitext(path)[1].lower())
    with open_plain(path) as file:
        return _by_magic(file.read(HEAD))


def is_regular(path: str) -> bool:
    """Return whether this is a file on disk or in memory, not standard input, a pipe or a device."""
    return isinstance(path, Held) or (path != STDIN and stat.S_ISREG(os.stat(path).st_mode))


def is_plain(path: str) -> bool:
    """Return whether this is a file that is not compressed: its bytes can be read from anywhere on."""
    return is_regular(path) and compression(path) is None


def open_plain(path: str) -> Any:
    """Return the bytes of a file as they are."""
    return io.BytesIO(path.data) if isinstance(path, Held) else open(path, "rb")


def size_of(path: str) -> int:
    """Return the bytes of a file."""
    return len(path.data) if isinstance(path, Held) else os.path.getsize(path)


def total_size(paths: Sequence[str]) -> int | None:
    """Return the bytes on disk of all files, None where one of them has no size."""
    return sum(map(size_of, paths)) if all(map(is_regular, paths)) else None


def named(source: Source, paths: Sequence[str]) -> str:
    """Return what the user called a source."""
    return str(source) if isinstance(source, (str, os.PathLike)) else ", ".join(paths)


def place(paths: Sequence[str], file: int, **within: int) -> dict[str, Any]:
    """Return the part of a position that says where it is in files."""
    return {"file": file, "path": str(paths[file]), **within}


def same_place(paths: Sequence[str], position: Any, *needed: str) -> None:
    """Refuse what is not a position, or lies in other files than these: it may come from a model file, or from another process."""
    held = position if isinstance(position, dict) else {}
    numbers = [held[k] for k in (*COUNTS, *needed) if k in held]
    if not {"file", "path", *needed} <= held.keys() or not all(type(n) is int and 0 <= n < 1 << 63 for n in numbers):
        raise no_position(position)
    file = position["file"]
    if file >= len(paths) or paths[file] != position["path"]:
        now = paths[file] if file < len(paths) else "no such file"
        raise ValueError(
            f"the position is in file {file + 1}, {shortened(str(position['path']), 200)}; here that is {now}. Name the same files."
        )


def shrunk(path: str, expected: int, found: int, unit: str = "bytes") -> ValueError:
    """Return the error of a file that is shorter than it was."""
    return ValueError(f"{path}: expected at least {expected} {unit}, found {found}: the file is not the one that was read before")


def check_line(path: str, size: int) -> None:
    """Refuse a line of that number of bytes, or more."""
    if size > LONGEST_LINE:
        raise ValueError(f"{path}: expected lines of at most {LONGEST_LINE >> 20} MiB, found a longer one: is this a text file?")


def no_position(found: Any) -> ValueError:
    """Return the error of something that is not the position of a batch."""
    return ValueError(f"expected a position as a batch of this source has it, found {brief(found, 200)}. Begin without one.")


def _by_magic(head: bytes) -> str | None:
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


class ByteStream(io.RawIOBase):
    """Bytes read forward, unpacked; `consumed` counts those taken from the file or pipe."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._head = b""
        self._taken = 0
        self._raw: Any = _raw(path)
        regular = is_regular(path)
        kind = compression(path)
        if kind is None and not regular:
            while len(self._head) < HEAD and (more := self._raw.read(HEAD - len(self._head))):
                self._head += more
            kind = _by_magic(self._head)
        self.plain = kind is None
        self._unpacked = None if kind is None else _unpacker(self._raw if regular else _Again(self._head, self._raw), path, kind)

    def readable(self) -> bool:
        """Return True."""
        return True

    @property
    def consumed(self) -> int:
        """Bytes taken from the file or pipe so far."""
        if self._unpacked is None:
            return self._taken
        return int(self._raw.tell()) if is_regular(self.path) else 0

    def fileno(self) -> int:
        """Return the descriptor of the file or pipe."""
        return int(self._raw.fileno())

    def waiting(self, seconds: float = 0.0) -> bool:
        """Return whether more data come within `seconds`; only plain pipes make one wait."""
        if not self.plain or is_regular(self.path):
            return True
        try:
            return bool(self._head) or bool(select.select([self], [], [], seconds)[0])
        except (OSError, ValueError):
            return True

    def readinto(self, buffer: Any) -> int:
        """Fill as much of the buffer as comes, 0 at the end."""
        if self._unpacked is not None:
            try:
                return int(self._unpacked.readinto(buffer))
            except (OSError, EOFError, ValueError) as e:
                raise ValueError(f"{self.path}: the compressed file is damaged or cut short ({e}). Fetch it again.") from None
        if self._head:
            n = min(len(self._head), len(buffer))
            buffer[:n], self._head = self._head[:n], self._head[n:]
        else:
            n = self._raw.readinto(buffer)
        self._taken += n
        return n

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if not self.closed:
            self._unpacked = None
            with contextlib.suppress(OSError):
                if self.path != STDIN:
                    self._raw.close()
        super().close()


class _Again(io.RawIOBase):
    """A pipe whose first bytes were read already."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._head:
            head, self._head = self._head, b""
            return head
        return self._rest.read(size) or b""


def _raw(path: str) -> Any:
    if isinstance(path, Held):
        return io.BytesIO(path.data)
    return _standard_input() if path == STDIN else open(path, "rb", buffering=0)


def _standard_input() -> Any:
    """Return standard input without Python's buffer (a thread that waits in it holds a lock), or what stands in for it."""
    try:
        return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    except (OSError, AttributeError, ValueError):
        return sys.stdin.buffer


def _unpacker(raw: Any, path: str, kind: str) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError(f"{path} is compressed with {kind}: reading it needs pyarrow (pip install pyarrow)") from None
    return pa.CompressedInputStream(pa.PythonFile(raw, "r"), kind)


def open_bytes(path: str) -> ByteStream:
    """Return the unpacked bytes of a file, or of standard input for -."""
    return ByteStream(path)
