"""How texts are split into words: runs of letters, digits, marks and _, in lower case."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np

PLANES = 0x20000  # code points with an entry in the table of characters; those above are letters up to LETTERS
LETTERS = 0xE0000


def character(code: int) -> tuple[int, bool]:
    """Return the lower case of a code point, itself where that is more than one, and whether it belongs to words."""
    c = chr(code)
    if code >= PLANES:
        return code, code < LETTERS
    small = c.lower()
    word = c.isalnum() or c == "_" or (code > 127 and unicodedata.category(c)[0] == "M")
    return ord(small) if len(small) == 1 else code, word


@cache
def characters(wide: bool, lower: bool) -> np.ndarray:
    """Return for each code point twice its lower case (or itself), plus 1 if it belongs to words."""
    found = np.empty(PLANES if wide else 128, np.uint32)
    for k in range(len(found)):
        small, word = character(k)
        found[k] = 2 * (small if lower else k) + word
    return found


class Letters(dict[int, int]):
    """What becomes of characters where a text is split: a blank, or their lower case; made as they come."""

    def __missing__(self, code: int) -> int:
        small, word = character(code)
        self[code] = small if word else 32
        return self[code]


LOWER = Letters()


def split(text: str) -> list[str]:
    """Return the words of a text, as a table makes them of a column of text.

    >>> split("Free money, FREE!")
    ['free', 'money', 'free']
    """
    return [word for word in text.translate(LOWER).split(" ") if word]
