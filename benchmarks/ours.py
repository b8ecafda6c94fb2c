"""What each comparison runs on our side: PA-I, prepared fresh for every round."""

from collections.abc import Callable
from typing import Any

import noregret as nr

from .streams import Dicts, Stream
from .timing import Job

C = 0.1


def pa1(**options: Any) -> Any:
    """Make the learner all comparisons use; the classes are declared, as scikit-learn asks for."""
    return nr.PA1(C=C, fit_intercept=False, classes=[-1, 1], **options)


def partial_fit(chunks: list[Stream], **options: Any) -> Callable[[], Job]:
    """Prepare partial_fit of one chunk after another; it predicts each row before it learns it."""

    def prepare() -> Job:
        m = pa1(**options)

        def job() -> Callable[[], int]:
            for x, y in chunks:
                m.partial_fit(x, y)
            return lambda: int(m.n_mistakes_)

        return job

    return prepare


def learn_one(rows: Dicts, labels: list[int], **options: Any) -> Callable[[], Job]:
    """Prepare learn_one alone, which gives the prediction made before learning."""

    def prepare() -> Job:
        m = pa1(**options)

        def job() -> Callable[[], int]:
            said = [m.learn_one(x, y) for x, y in zip(rows, labels, strict=True)]
            return lambda: sum(p != y for p, y in zip(said, labels, strict=True))

        return job

    return prepare


def predict_and_learn(rows: Dicts, labels: list[Any], make: Callable[[], Any]) -> Callable[[], Job]:
    """Prepare predict_one and then learn_one, for either side; both have learned the first example before."""

    def prepare() -> Job:
        m = make()
        m.learn_one(rows[0], labels[0])

        def job() -> Callable[[], int]:
            said = []
            for x, y in zip(rows, labels, strict=True):
                said.append(m.predict_one(x))
                m.learn_one(x, y)
            return lambda: sum(p != y for p, y in zip(said, labels, strict=True))

        return job

    return prepare
