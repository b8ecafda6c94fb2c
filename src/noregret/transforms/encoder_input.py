"""Input of the encoder: columns with room for the rows they become, and a shortcut for a single example."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import accumulate
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from ..inputs.text_words import characters
from .encode import DATE, NUMBER, ONCE, SUM, TEXT, Job

MOST = 1.7976931348623157e308
LONG = 256  # bytes; a value longer than this in a column nobody declared categorical is not a category


class Words(NamedTuple):
    """How words are made of texts, as in Table."""

    ngrams: int
    chars: tuple[int, int] | None
    lower: bool
    binary: bool
    least: int = 1


class Steady(NamedTuple):
    """What stays the same between single examples while no column joins."""

    roles: dict[str, int]
    at: dict[str, int]
    each: list[int]  # the role of each column
    long: list[bool]  # whether texts may be long
    names: bytes
    columns: np.ndarray
    crosses: np.ndarray

    @classmethod
    def of(cls, roles: dict[str, int], declared: set[str], job: Job) -> Steady:
        """Return it for the columns known."""
        at = {name: -1 if role == DATE else j for j, (name, role) in enumerate(roles.items())}
        long = [role == TEXT or name in declared for name, role in roles.items()]
        return cls(roles, at, list(roles.values()), long, job.text.tobytes(), job.columns, job.crosses)

    def job(self, x: Mapping[Any, Any], leave: Collection[str], words: Words) -> Job | None:
        """Return what is to be done for one plain example; None for what needs a closer look."""
        at, role, long = self.at, self.each, self.long
        numbers: list[float] = []
        texts = [self.names]
        where: dict[int, list[int]] = {}
        for name, v in x.items():
            j, kind = at.get(name), type(v)
            if name in leave or (j is None and v is None):
                continue
            if j is None or j < 0:
                return None
            if v is None:
                v, kind = np.nan, NoneType
            if kind is str and role[j] != NUMBER and (long[j] or len(v) < LONG // 4):
                where[j] = [-1, len(texts) - 1]
                texts.append(v.encode("utf-8", "surrogatepass"))
            elif kind is NoneType or ((kind is float or kind is int) and -MOST < v < MOST and role[j] == NUMBER):
                where[j] = [len(numbers), -1]
                numbers.append(v)
            else:
                return None
        ends = list(accumulate(map(len, texts)))
        starts = np.array([ends[:-1], ends[1:]], np.int64).T.copy()
        here = sorted(where) if not len(self.crosses) else range(len(at))  # those that are not here give nothing
        columns = self.columns[list(here)]
        columns[:, :2] = np.array([where.get(j, (-1, -1)) for j in here], np.int64).reshape(-1, 2)
        data = np.frombuffer(bytearray(b"".join(texts)), np.uint8)
        return with_room(words, np.array(numbers, np.float64).reshape(-1, 1), data, starts, columns, self.crosses)


def with_room(
    words: Words, numbers: np.ndarray, text: np.ndarray, starts: np.ndarray, columns: np.ndarray, crosses: np.ndarray
) -> Job:
    """Return a job with room to begin with."""
    n = numbers.shape[1]
    wide = len(text) > 0 and bool(text.max() >= 128)
    guess, pieces = n * (len(columns) + len(crosses)) + 64, 64 + len(columns)
    return Job(
        numbers=numbers,
        text=text,
        starts=starts,
        columns=columns,
        crosses=crosses,
        characters=characters(wide, words.lower),
        ngrams=words.ngrams,
        shortest=int(words.chars[0]) if words.chars else 0,
        longest=int(words.chars[1]) if words.chars else 0,
        least=words.least,
        tag=ONCE if words.binary else SUM,
        at=np.zeros(6, np.int64),
        bytes=np.empty(4096, np.uint8),
        pieces=np.empty((pieces, 6), np.int64),
        values=np.empty(pieces),
        meet=np.full(128, -1),
        indptr=np.zeros(n + 1, np.int64),
        indices=np.empty(guess, np.uint32),
        data=np.empty(guess),
        measured=np.empty(guess, bool),
    )
