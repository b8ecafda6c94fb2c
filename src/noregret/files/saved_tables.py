"""The tables of a model in files: its features, its labels, its tally."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algorithm.rounds import EXAMPLES, SEEN, TIE
from ..inputs.features import Anything, Columns, Features, Hashed, Names, Numbers
from ..inputs.labels import Labels
from .json_values import Tensors, decode, encode, expect, listed, written


def features_meta(features: Features) -> dict[str, Any]:
    """Return the metadata of the table of features."""
    return {k: getattr(features, k, None) for k in ("kind", "width", "bits", "bias", "count")}


def names_tensors(features: Features) -> Tensors:
    """Return the names of the features, where there are names."""
    return {} if features.names is None else {"features": written(features.names, "a feature name")}


def features_of(meta: dict[str, Any], data: np.ndarray | None) -> Features:
    """Return the table of features."""
    names: Any = None if data is None else listed(data, "names")
    kind, width, bias = meta["kind"], meta["width"], meta["bias"]
    expect(type(bias) is bool, "whether there is a constant feature", bias)
    if kind == "columns":
        expect(type(width) is int and width >= 0 and (names is None or len(names) == width), f"{width!r} columns", names)
        return Columns(width, bias, names)
    if kind == "objects":
        expect(names is None, "no names, as examples are objects", names)
        return Anything()
    if kind == "numbers":
        count = meta["count"]
        expect(names is None and type(count) is int and 0 <= count <= Numbers.MOST, "a number of features", count)
        return Numbers(bias, count)
    expect(kind in ("names", "hashed") and names is not None, "columns, numbers, names or hashed names", kind)
    table = Names(bias) if kind == "names" else Hashed(meta["bits"], bias)
    if isinstance(table, Hashed) and width is not None:
        table.width = table.fitting(int(width))
    for name in names:
        if isinstance(table, Hashed):
            table.place(name, True)
        else:
            table.table.setdefault(name, len(table.table) + bias)
    expect(len(table.table) == len(names), "different names", names)
    return table


def labels_meta(labels: Labels | None) -> dict[str, Any] | None:
    """Return the metadata of the labels."""
    if labels is None:
        return None
    values = [encode(v, f"label {v!r}", {}) for v in labels.values]
    return {"values": values, "positive": labels.positive, "declared": labels.declared}


def labels_of(meta: dict[str, Any] | None) -> Labels | None:
    """Return the table of labels."""
    if meta is None:
        return None
    labels, values = Labels(), decode(meta["values"], {})
    labels.extend(values)
    expect(len(labels) == len(values), "different labels", values)
    labels.positive, labels.declared = int(meta["positive"] == 1), bool(meta["declared"])
    labels.refresh()
    return labels


def check_tally(tally: np.ndarray, like: np.ndarray, labels: Labels | None, many: bool) -> None:
    """Refuse a malformed tally, or one that has seen other labels than are known: how many classes, or which of two, as bits."""
    expect(tally.dtype == like.dtype and tally.shape == like.shape, "a tally", tally)
    expect(bool((tally[:TIE] >= 0).all() and abs(tally[TIE]) <= 1), "a tally", tally)
    if labels is None:
        return
    n, seen, examples = len(labels), int(tally[SEEN]), int(tally[EXAMPLES])
    bits = (labels.positive < n) + 2 * (1 - labels.positive < n)
    expect((seen <= n if many else seen & ~bits == 0) and (seen > 0 or examples == 0), f"a tally of {n} labels", tally)
