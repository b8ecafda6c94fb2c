"""Pieces of files: where they may begin, and how a position says so."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from typing import Any

from .source import Held, is_plain, open_plain, place, same_place, size_of


def called(position: Any) -> str:
    """Return the file of a position for an error: in a piece, with the byte from which its lines are counted."""
    return position["path"] + (f" (lines from byte {position['origin']})" if position.get("origin") else "")


def begun_at(paths: Sequence[str], file: int, offset: int) -> dict[str, Any]:
    """Return what the position of a piece says of its place: `origin` is the byte from which its lines are counted."""
    return place(paths, file, offset=offset, **({"origin": offset} if offset else {}))


def limits(paths: Sequence[str], stop: Any, key: str) -> list[int | None]:
    """Return where to end in each file that is to be read up to a position; None for the end of the file."""
    if stop is None:
        return [None] * len(paths)
    same_place(paths, stop, key)
    return [*[None] * stop["file"], *([stop[key]] if stop[key] else [])]


def even(sizes: Sequence[int], n: int) -> list[tuple[int, int]]:
    """Return where n equal pieces of files begin, but for the first: the file, and how much of it comes before."""
    found = []
    for target in {sum(sizes) * k // n for k in range(1, n)} - {0}:
        file, before = 0, target
        while before >= sizes[file]:
            before -= sizes[file]
            file += 1
        found.append((file, before))
    return found


def places(sizes: Sequence[int], n: int, starts: Callable[[int, list[int]], list[int]]) -> list[tuple[int, int]]:
    """Return where at most n pieces of files begin; `starts` moves places inside a file on to where something begins."""
    asked = even(sizes, n)
    found = {(0, 0), *(place for place in asked if place[1] == 0)}
    for file in sorted({file for file, _ in asked}):
        for at in starts(file, sorted(before for known, before in asked if known == file and before)):
            found.add((file, at) if at < sizes[file] else (file + 1, 0))
    return sorted(place for place in found if place[0] < len(sizes))


def refuse_packed(name: str, paths: Sequence[str]) -> None:
    """Refuse to cut the one file there is where it is compressed."""
    if len(paths) == 1 and not is_plain(paths[0]):
        raise ValueError(f"{name} is compressed, so it cannot be read in pieces: unpack it, or write several files")


def line_starts(path: str, targets: Sequence[int]) -> list[int]:
    """Return where the lines at or after some bytes begin; for a compressed file, which is not cut, its end."""
    if not is_plain(path):
        return [size_of(path)] * len(targets)
    found = []
    with open_plain(path) as file:
        for target in targets:
            file.seek(target - 1)
            file.readline()
            found.append(file.tell())
    return found


def holds(path: str, word: bytes) -> bool:
    """Return whether a plain file holds some bytes."""
    if isinstance(path, Held):
        return word in path.data
    if size_of(path) == 0:
        return False
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return view.find(word) >= 0
