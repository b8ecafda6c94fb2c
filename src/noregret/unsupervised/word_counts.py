"""Documents as learners of topics take them: dicts of counts, lists of words, texts, or rows of arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..inputs.checking import Rows, row_of
from ..inputs.features import Named
from ..inputs.text_words import split

LARGEST = 1e15  # of a count


def is_document(x: Any) -> bool:
    """Return whether this is one document by its words: a dict, a text, or a list that does not begin with a number."""
    if is_named(x):
        return True
    return isinstance(x, (list, tuple)) and (len(x) == 0 or isinstance(x[0], str))


def is_named(x: Any) -> bool:
    """Return whether this is a dict or a text; a sparse matrix by keys is a dict to Python, but not here."""
    return isinstance(x, (Mapping, str)) and not hasattr(x, "tocsr")


def counts(x: Any) -> Mapping[Any, Any]:
    """Return one document as counts of its words, none of them 0.

    >>> dict(counts("to be or not to be"))
    {'to': 2, 'be': 2, 'or': 1, 'not': 1}
    """
    if isinstance(x, Mapping):
        return x if 0 not in x.values() else {word: c for word, c in x.items() if c != 0}
    words = split(x) if isinstance(x, str) else x
    if not isinstance(words, (list, tuple)):
        raise TypeError(f"a document must be a dict of counts, a list of words, a text or a row of numbers; got {x!r:.60}")
    return dict(Counter(words))


def as_counts(X: Any) -> Any:
    """Return documents as dicts of counts; arrays, sparse matrices and frames as they are."""
    if is_named(X):
        raise TypeError("expected documents, got one: put it into a list, or give it to learn_one")
    if not (isinstance(X, Sequence) and len(X) > 0 and any(is_document(x) and len(x) > 0 for x in X)):
        return [{} for _ in X] if isinstance(X, Sequence) and len(X) > 0 and all(map(is_document, X)) else X
    return [counts(x) for x in X]


def in_lists(source: Any) -> Any:
    """Return documents in a list as dicts of counts, or as an array where they are rows of numbers; any other source as it is."""
    if not isinstance(source, list):
        return source
    rows = len(source) > 0 and all(isinstance(x, (list, tuple)) and len(x) > 0 and isinstance(x[0], (int, float)) for x in source)
    return np.asarray(source, np.float64) if rows else as_counts(source)


def sparse(rows: Rows) -> Rows:
    """Return rows as CSR rows of what is not 0."""
    if rows.layout == "dense":
        X = rows.arrays[0]
        at, words = np.nonzero(X)
        starts = np.zeros(rows.n + 1, np.int64)
        np.cumsum(np.bincount(at, minlength=rows.n), out=starts[1:])
        return rows._replace(layout="csr", arrays=(starts, words, np.asarray(X[at, words], np.float64)))
    rows = rows.packed()
    starts, words, data = rows.arrays
    if data.size and data.min() == 0.0:
        kept = data != 0.0
        starts, words, data = np.concatenate([[0], np.cumsum(kept)])[starts], words[kept], data[kept]
    return rows._replace(arrays=(np.asarray(starts, np.int64), words, np.asarray(data, np.float64)))


def check_counts(read: Rows | Named) -> None:
    """Refuse counts below 0, or too large to be counts; documents and words are named."""
    rows = (read.rows if isinstance(read, Named) else read).packed()
    data = rows.arrays[-1].ravel()
    if data.size == 0 or (data.min() >= 0.0 and data.max() <= LARGEST):
        return
    at = int(np.argmax((data < 0.0) | (data > LARGEST)))
    row, found = row_of(rows, at), data[at]
    if isinstance(read, Named):
        word = next(word for word, c in read.examples[row].items() if c == found)
    else:
        word = at % rows.width if rows.layout == "dense" else int(rows.arrays[1][at])
        word = word if rows.names is None else rows.names[word]
    what = "Negative values in data" if found < 0.0 else "Too large values in data"  # the first in the words of scikit-learn
    raise ValueError(f"{what}: word {word!r} has the count {found:g} in row {row}; expected counts from 0 to {LARGEST:g}")
