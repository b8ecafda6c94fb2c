"""What a report shows of components: spectrum, features with the largest loadings, pictures, rows by their first coordinates."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...inputs.checking import Rows
from .features_in_use import naming

NAMED = 5  # features that are named of a component
LISTED = 24  # components that are told one by one, and drawn
DIGITS = 4  # of coordinates
Shape = tuple[int, int]


def shape_of(given: Any) -> Shape | None:
    """Return the height and width of images from "28x28", or two numbers."""
    if given is None:
        return None
    found = re.fullmatch(r"\s*(\d+)\s*[x,]\s*(\d+)\s*", given) if isinstance(given, str) else None
    pair = found.groups() if found else given
    try:
        height, width = (int(v) for v in pair)
    except (TypeError, ValueError):
        height = width = 0
    if height < 1 or width < 1:
        raise ValueError(f"shape must be the height and width of images, as in 28x28, got {given!r}")
    return height, width


def check_shape(shape: Shape | None, features: int) -> None:
    """Refuse a shape that features do not fill; those of sparse rows that never came are 0."""
    if shape is not None and features > shape[0] * shape[1]:
        raise ValueError(
            f"shape={shape[0]}x{shape[1]} means {shape[0] * shape[1]:,} features, and rows have {features:,}: leave the column of "
            "labels out of them (target, --target), or give another shape"
        )


def variances(learner: Any, Z: np.ndarray) -> tuple[str, list[float]]:
    """Return how large each component is, and in which words: what the learner knows of it, or the squares of coordinates."""
    r = learner.n_components_
    if hasattr(learner.model, "variances"):
        return "variance", [float(v) for v in learner.explained_variance_[:r]]
    if hasattr(learner, "singular_values_"):
        return "mean square", [float(v * v) / max(learner.n_seen_, 1) for v in learner.singular_values_[:r]]
    return "mean square", np.square(Z).mean(axis=0)[:r].tolist()


def loadings(V: np.ndarray, name: Any, top: int) -> list[list[dict[str, Any]]]:
    """Return the features with the largest loadings of each component, by name."""
    found = []
    for v in V:
        best = [int(j) for j in np.argsort(-np.abs(v), kind="stable")[:top] if v[j] != 0.0]
        found.append([{"feature": name(j), "loading": float(v[j])} for j in best])
    return found


def tile(v: np.ndarray, shape: Shape, skip: int) -> str:
    """Return a component as bytes in base64, from -127 to 127 times its largest entry; the first features are not pixels."""
    whole = np.zeros(shape[0] * shape[1])
    whole[: len(v) - skip] = v[skip:]
    top = float(np.abs(whole).max())
    scaled = np.rint(whole * (127.0 / top if top > 0.0 else 0.0)).astype(np.int8)
    return base64.b64encode(scaled.tobytes()).decode()


def portrait(learner: Any, front: Any, rows: Rows, labels: Sequence[Any] | None, shape: Shape | None, skip: int) -> dict[str, Any]:
    """Return everything that is shown of the components of a learner; `rows` are those whose coordinates are shown."""
    V = learner.components_
    Z = learner.answered_rows(rows)[0]
    what, sizes = variances(learner, Z)
    order = np.argsort(-np.asarray(sizes), kind="stable").tolist()
    first = order[:2]
    tops = loadings(V[order[:LISTED]], naming(front, learner.model), NAMED)
    found: dict[str, Any] = {
        "count": len(V),
        "of": what,
        "spectrum": [sizes[j] for j in order],
        "top": [{"component": j, "size": sizes[j], "features": top} for j, top in zip(order, tops, strict=False)],
        "coordinates": {
            "components": first,
            "x": [short(v) for v in Z[:, first[0]]] if first else [],
            "y": [short(v) for v in Z[:, first[1]]] if len(first) > 1 else [],
            "labels": labels,
        },
    }
    if shape is not None:
        mean = learner.mean_
        found["images"] = {
            "shape": list(shape),
            "mean": tile(mean, shape, skip) if mean.any() else None,
            "components": [tile(V[j], shape, skip) for j in order[:LISTED]],
        }
    return found


def short(v: float) -> float:
    """Return a number of a few digits."""
    return float(f"{v:.{DIGITS}g}") if math.isfinite(v) else 0.0
