"""River: any learner as a River model, for its pipelines, metrics and evaluation. Needs `pip install noregret[river]`.

The adapter learns nothing itself: what it is given goes to the learner, and the learner is there to be read
(`model.learner.coef_`). Features are numbers; a category is a separate feature, as River's OneHotEncoder makes it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

from .learners.learner import Learner
from .tasks.classification import Classifier
from .tasks.regression import Regressor

try:
    from river import base
except ImportError as e:
    raise ImportError("noregret.river needs River: pip install noregret[river]") from e


def pandas() -> Any:
    """Return pandas; only mini-batches need it, and a caller who has one has pandas."""
    import pandas

    return pandas


class Adapter(base.Estimator):
    """What both adapters do."""

    face: type[Learner] = Learner

    def __init__(self, learner: Learner) -> None:
        """Wrap a learner; it learns in place."""
        if not isinstance(learner, self.face):
            raise TypeError(f"{type(self).__name__} takes a learner of {self.face.task}, got {learner!r}")
        self.learner: Any = learner

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return an adapter with the same parameters that has learned nothing, or with all it has learned."""
        params = {"learner": self.learner, **(new_params or {})}
        params["learner"] = copy.deepcopy(params["learner"]) if include_attributes else params["learner"].clone()
        return type(self)(**params)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one example, with weight w."""
        self.learner.learn_one(x, y, w)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a pandas frame in order: the same as `learn_one` on each, and new columns may come."""
        self.learner.partial_fit(self._batch(X), y)

    @property
    def _learned(self) -> bool:
        return bool(self.learner.__sklearn_is_fitted__())

    def _batch(self, X: Any) -> Any:
        """Return a frame as it is once the learner knows its features by name; before, row by row as named examples."""
        named = all(isinstance(name, str) for name in X.columns)
        return X if self._learned and named else X.to_dict("records")

    def _more_tags(self) -> set[str]:
        return {base.tags.POSITIVE_INPUT} if self.learner.tags.get("input", {}).get("positive_only") else set()


class RiverClassifier(Adapter, base.MiniBatchClassifier):
    """A learner of labels as a River classifier, for any number of classes.

    Before the first example the answer is None, and there are no probabilities.

    The adapter turns on the learner's `probabilities`: `predict_proba_one` is calibrated, whatever the loss.

    >>> from river import preprocessing
    >>> import noregret as nr
    >>> model = preprocessing.StandardScaler() | RiverClassifier(nr.PA1(C=0.1))
    >>> model.learn_one({"length": 3.0, "links": 7.0}, "spam")
    >>> model.predict_one({"length": 3.0, "links": 7.0})
    'spam'
    """

    face, task = Classifier, Classifier.task

    def __init__(self, learner: Learner) -> None:
        """Wrap a learner; it learns in place, probabilities too."""
        super().__init__(learner)
        if "probabilities" in learner.defaults:
            learner.set_params(probabilities=True)

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the label, None before any is known."""
        return self.learner.predict_one(x) if self._learned else None

    def predict_many(self, X: Any) -> Any:
        """Return the label of each row of a pandas frame."""
        if not self._learned:
            return pandas().Series([None] * len(X), X.index, object)
        return pandas().Series(self.learner.predict(self._batch(X)), X.index)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label; nothing before any is known."""
        found: dict[Any, float] = self.learner.predict_proba_one(x) if self._learned else {}
        return found

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities as a frame with a column per label."""
        if not self._learned:
            return pandas().DataFrame(index=X.index)
        return pandas().DataFrame(self.learner.predict_proba(self._batch(X)), X.index, self.learner.classes_.tolist())

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from .families.passive_aggressive import PA1

        yield {"learner": PA1()}


class RiverRegressor(Adapter, base.MiniBatchRegressor):
    """A learner of real numbers as a River regressor. Before the first example the answer is 0.

    >>> import noregret as nr
    >>> model = RiverRegressor(nr.PA1Regressor(epsilon=0))
    >>> model.learn_one({"x": 1.0}, 2.0)
    >>> model.predict_one({"x": 1.0})
    2.0
    """

    face, task = Regressor, Regressor.task

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Return the prediction."""
        return float(self.learner.predict_one(x)) if self._learned else 0.0

    def predict_many(self, X: Any) -> Any:
        """Return the prediction for each row of a pandas frame."""
        return pandas().Series(self.learner.predict(self._batch(X)) if self._learned else 0.0, X.index, float)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from .families.passive_aggressive import PA1Regressor

        yield {"learner": PA1Regressor()}
