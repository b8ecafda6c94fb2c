"""What learners of rows know about their columns: names as the first rows had them, and how many there are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress, pairwise
from typing import Any

import numpy as np

from ..inputs import checking
from ..inputs.checking import Rows
from ..inputs.features import Columns, Hashed, Named, Names, arrivals, moved


class Columned:
    """A learner whose model has a table of features."""

    model: Any

    def _check_names(self, m: Any, rows: Rows) -> None:
        """Check that a frame has the names of the first one."""
        known = m.features.names if isinstance(m.features, Columns) else None
        if known and rows.names is None:
            what = f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names"
            checking.warn("UserWarning", what)
        elif rows.names is not None and isinstance(m.features, Columns):
            if known is None:
                checking.warn("UserWarning", f"X has feature names, but {type(self).__name__} was fitted without feature names")
            elif known != rows.names:
                refuse_names(known, rows.names)

    @property
    def n_features_in_(self) -> int:
        """Columns of the arrays learned from, or names known."""
        features = self.model.features
        return features.size - features.bias if features.width is None else features.width

    @property
    def feature_names_(self) -> list[Any]:
        """Names of the features, where names were given; hashed ones as far as remembered."""
        names = self.model.features.names
        if names is None:
            raise AttributeError("feature_names_: the features have no names")
        return list(names)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns of the frame learned from."""
        features = self.model.features
        if not isinstance(features, Columns) or features.names is None:
            raise AttributeError("feature_names_in_")
        return np.array(features.names, object)

    @property
    def hash_collisions_(self) -> int:
        """Names that share a place with an earlier one (of those remembered)."""
        features = self.model.features
        if not isinstance(features, Hashed):
            raise AttributeError("hash_collisions_: the features are not hashed")
        return features.collisions


def named_pieces(m: Any, batch: Named, c: np.ndarray | None, apart: bool) -> Iterator[Rows]:
    """Yield named examples in the places of a model, which new names join: all at once, or each with its row, apart from others."""
    f, rows = m.features, batch.rows
    if isinstance(f, Hashed):
        f.remember(batch.examples if c is None else compress(batch.examples, c > 0.0))  # what has weight 0 brings no names
    if not isinstance(f, Names) or batch.ahead is None:
        yield rows
        return
    places, a = f.places(batch.ahead), 0
    for i, new in arrivals(rows, places, c, apart):
        if apart and a < i:
            yield moved(rows.cut(a, i), places)
            a = i
        places[new] = f.enter(batch.ahead, new)
        m.widen()
    yield moved(rows.cut(a, rows.n), places)


def numbered_pieces(m: Any, rows: Rows, apart: bool) -> list[tuple[int, int, int]]:
    """Return runs of rows with their widths: all, or as new features come, where they join a model apart from others."""
    if not (apart and m.features.grows and rows.layout == "csr" and rows.names is None):
        return [(0, rows.n, rows.width)]
    indptr, indices, _ = rows.arrays
    tops = np.maximum.accumulate([int(indices[a:b].max()) + 1 if a < b else 0 for a, b in pairwise(indptr)])
    starts = [0, *(np.flatnonzero(np.diff(tops)) + 1).tolist()]
    return [(a, b, int(tops[a])) for a, b in zip(starts, [*starts[1:], rows.n], strict=True)]


def refuse_names(known: list[str], given: list[str]) -> None:
    """Raise the error of a frame whose columns are not those of the first one, as scikit-learn words it."""
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(given) - set(known)), sorted(set(known) - set(given))
    if unseen:
        message += "Feature names unseen at fit time:\n" + "".join(f"- {n}\n" for n in unseen[:5])
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {n}\n" for n in missing[:5])
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)
