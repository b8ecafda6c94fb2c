"""What learners with intervals and sets share: the option `coverage`, and answers for one level or several."""

from __future__ import annotations

from typing import Any


def covered(learner: Any, method: Any) -> Any:
    """Return a method, if the learner keeps to a coverage; scikit-learn asks by `hasattr`."""
    if getattr(learner, "coverage", None) is not None:
        return method
    if "coverage" in learner.defaults:
        raise AttributeError(f"{type(learner).__name__} keeps to a coverage where it is asked to: give it coverage=0.9")
    raise AttributeError(f"{type(learner).__name__} keeps to no coverage")


def by_level(coverage: Any, found: list[Any]) -> list[Any]:
    """Return what was found for each level, of each row: as it is for one number, in lists for a list of levels."""
    return [list(row) for row in zip(*found, strict=True)] if isinstance(coverage, (list, tuple)) else found[0]
