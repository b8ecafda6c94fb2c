"""Labels: any hashable values, numbered by first appearance so that the split of a stream into calls does not show.

A number with a fraction is a regression target, not a label. Booleans and numbers are not labels of one model: True is equal
to 1, and arrays make numbers of both. A label written in a table is the number it says, or text where a number would not give
back what is written.

`classes_` sorts them for the reader; labels that cannot be ordered stay in order of appearance. With two classes there is one
score: `positive` is the code whose score it is. A first label that is a number not above 0 (0, -1, False) is the negative one.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np


class Coded(NamedTuple):
    """Labels by table: which of the values each row has."""

    values: list[Any]
    codes: np.ndarray

    def take(self, rows: Any) -> Coded:
        """Return the labels of some of the rows, in the order asked for."""
        return self._replace(codes=self.codes[rows])

    def array(self) -> np.ndarray:
        """Return one label per row."""
        return label_array(self.values)[self.codes]

    def numbers(self) -> np.ndarray | None:
        """Return one number per row, None where a label is a name."""
        if not all(isinstance(v, (int, float)) or NUMERIC.fullmatch(str(v)) for v in self.values):
            return None
        return np.array([float(v) for v in self.values])[self.codes]


Labelled = np.ndarray | Coded
NUMERIC = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
EXACT = 2**53  # from here on floats leave out whole numbers


def some(y: Labelled, rows: Any) -> Labelled:
    """Return the labels of some of the rows."""
    return y.take(rows) if isinstance(y, Coded) else y[rows]


class Labels:
    """The table of labels."""

    def __init__(self, declared: Iterable[Any] | None = None) -> None:
        self.values: list[Any] = []
        self.index: dict[Any, int] = {}
        self.positive = 0
        self.declared = declared is not None
        if declared is not None:
            given = [plain(v) for v in declared]
            refuse_mixed(given)
            for v in ordered(given):
                self.add(v)
            if len(self.values) < 2:
                raise ValueError(f"classes must name at least two classes, got {self.values}")
            self.positive = 1
        self.refresh()

    def add(self, label: Any) -> None:
        """Register a label at its first appearance."""
        if label not in self.index:
            if not self.values and isinstance(label, (bool, int, float)) and label <= 0:
                self.positive = 1
            self.index[label] = len(self.values)
            self.values.append(label)

    def refresh(self) -> None:
        """Sort the classes for the reader, and find out where a score of 0 falls: to classes_[1]."""
        self.sorted = ordered(self.values)
        self.order = [self.index[v] for v in self.sorted]
        self.tie = 1 if len(self.order) != 2 or self.order[1] == self.positive else -1

    def missing(self, labels: Iterable[Any]) -> list[Any]:
        """Return the labels not yet known, each once, in order; an error if there may be no such label beside those known."""
        labels = list(labels)
        refuse_mixed([*self.values, *labels])
        new = [v for v in dict.fromkeys(labels) if v not in self.index]
        if new and self.declared:
            raise ValueError(f"y contains the label {new[0]!r}, not in the declared classes {self.sorted}")
        return new

    def extend(self, labels: Iterable[Any]) -> None:
        """Register new labels."""
        for v in labels:
            self.add(v)
        self.refresh()

    def read(self, y: Labelled) -> Labelled:
        """Return the labels of a source, the first of each meaning in its own type: after 1, "1" is 1.

        A label that is a class stays itself. It is decided row by row, so that the borders of batches do not matter.
        """
        textual = {isinstance(v, str) for v in self.values}
        other = {"U": False, **dict.fromkeys("biuf", True)}  # what arrays of these kinds have none of
        if isinstance(y, np.ndarray) and y.dtype.kind in other and other[y.dtype.kind] not in textual:
            return y
        values, codes = distinct(y)
        if len(textual | {isinstance(v, str) for v in values}) == 1:
            return y
        known, meant = {(isinstance(v, str), meaning(v)): v for v in self.values}, []
        for v in values:
            text, what = isinstance(v, str), meaning(v)
            meant.append(v if v in self.index else known.get((not text, what), v))
            known.setdefault((text, what), meant[-1])
        return recoded(meant, codes)

    def early(self) -> Labels:
        """Return the table as it was when only the first two labels were known."""
        table = Labels()
        table.extend(self.values[:2])
        return table

    def __len__(self) -> int:
        return len(self.values)

    def array(self) -> np.ndarray:
        """Return the labels in order of their codes."""
        return label_array(self.values)


def plain(label: Any, row: int | None = None) -> Any:
    """Return a label as a plain Python value that can be a key; NaN, None and pandas' NA are not labels."""
    if type(label) in (str, int, bool):
        return label
    if isinstance(label, np.generic):
        label = label.item()
    if not isinstance(label, Hashable):
        raise TypeError(f"a label must be hashable, got {label!r} of type {type(label).__name__}")
    if is_missing(label):
        where = "" if row is None else f" in row {row}"
        raise ValueError(f"a label must be a value, got {label!r}{where} (NaN and None are not labels)")
    if isinstance(label, float) and label % 1.0 != 0.0:
        refuse_fraction(f"the label is {label!r}")
    return label


def is_missing(label: Any) -> bool:
    """Return whether a value is missing."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA: whether it differs from itself it does not know
        return True


def label_in(text: str) -> int | float | str:
    """Return a label written in a table, where its column holds numbers: 1, +1 and 1.0 are the number 1.

    Text stays text where a number would lose something: zeros in front (007), whole numbers that neither 64 bits nor a float hold.
    """
    digits = text.lstrip("+-")
    if digits.startswith("0") and digits[1:2].isdigit():
        return text
    if digits.isdigit():
        whole = int(text)
        return whole if -(2**63) <= whole < 2**63 else text
    value = float(text)
    if value % 1.0 != 0.0:
        return value
    return int(value) if abs(value) < EXACT else text


def whole(y: np.ndarray) -> np.ndarray:
    """Return labels that are whole numbers written as floats as whole numbers, others as they are."""
    if y.dtype.kind != "f" or (y != np.floor(y)).any():
        return y
    if len(y) and (large := abs(y).max()) >= EXACT:
        raise ValueError(
            f"expected labels below 2^53 = {EXACT}, from where on numbers that differ are read as one; found {large:g}. Number the "
            "classes from 0, or give a CSV, where such labels are text"
        )
    return y.astype(np.int64)


def coded_labels(texts: list[str], codes: np.ndarray) -> Coded:
    """Return labels as written in a column of numbers, each once: `codes` says which of the texts each row has."""
    return recoded([label_in(text) for text in texts], codes)


def distinct(y: Labelled) -> tuple[list[Any], np.ndarray]:
    """Return the different labels in order of first appearance, and which one each row has."""
    if isinstance(y, Coded):
        used, codes = distinct(y.codes)
        return [plain(y.values[k]) for k in used], codes
    if y.dtype.kind == "O":
        labels = [plain(v, row) for row, v in enumerate(y.tolist())]
        refuse_mixed([next(v for v in labels if type(v) is kind) for kind in set(map(type, labels))])
        index: dict[Any, int] = {}
        numbers = [index.setdefault(v, len(index)) for v in labels]
        return list(index), np.array(numbers, np.int64)
    found, first, inverse = np.unique(y, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [plain(v) for v in found[order].tolist()], np.argsort(order)[inverse]


def recoded(labels: list[Any], codes: np.ndarray) -> Coded:
    """Return labels by table, each once: `codes` says which of those given each row has."""
    index: dict[Any, int] = {}
    numbers = [index.setdefault(label, len(index)) for label in labels]
    return Coded(list(index), np.array(numbers, np.int64)[codes])


def meaning(label: Any) -> Any:
    """Return what a label says, whatever its type: "1", 1 and 1.0 a number, "true" and True a truth value."""
    if isinstance(label, str):
        if NUMERIC.fullmatch(label):
            return label_in(label)
        return label.lower() if label.lower() in ("true", "false") else label
    return str(label).lower() if isinstance(label, bool) else label


def refuse_fraction(what: str) -> None:
    """Raise the error of a label that is a real number."""
    raise ValueError(
        f"Unknown label type: continuous. Expected text, whole numbers or booleans, but {what}. Use a regressor for it."
    )


def refuse_mixed(labels: list[Any]) -> None:
    """Refuse booleans beside numbers."""
    truth, number = (next((v for v in labels if type(v) in kinds), None) for kinds in ((bool,), (int, float)))
    if truth is not None and number is not None:
        raise ValueError(
            f"labels are booleans or numbers, not both: found {truth!r} and {number!r}. True is equal to 1 and False to 0, so they "
            "would be one class; write all labels as numbers, or all as booleans"
        )


def ordered(labels: list[Any]) -> list[Any]:
    """Return the labels sorted, or as they are when they cannot be ordered."""
    try:
        return sorted(labels)
    except TypeError:
        return list(labels)


def label_array(labels: list[Any]) -> np.ndarray:
    """Return labels as an array of their own type."""
    kinds = {type(v) for v in labels}
    if kinds and (kinds <= {int, float, bool} or kinds == {str}):
        return np.array(labels)
    a = np.empty(len(labels), object)
    for i, v in enumerate(labels):  # one by one: a tuple is a label, not a row
        a[i] = v
    return a


def codes_of(y: Any, labels: Labels) -> np.ndarray:
    """Return labels as the codes of a table that has them all."""
    if isinstance(y, Coded):
        return np.array([labels.index.get(v, -1) for v in y.values], np.int64)[y.codes]
    if len(labels) == 2:  # the common case, without sorting
        second = y == labels.values[1]
        if np.ndim(second) and (second | (y == labels.values[0])).all():
            return second.astype(np.int64)
    values, inverse = np.unique(y, return_inverse=True)
    return np.array([labels.index.get(v, -1) for v in values.tolist()], np.int64)[inverse]
