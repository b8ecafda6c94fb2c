"""What learners of rows know about their columns: names as the first rows had them, and how many there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inputs import checking
from ..inputs.checking import Rows
from ..inputs.features import Columns, Hashed


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
