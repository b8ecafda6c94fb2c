"""All that a learner of your own is written in, in one place: needs of a State, ranges of Params, words, functions, bounds.

>>> from noregret.vocabulary import Positive, Weights, add, dot

CONTRIBUTING.md says what each is for. Import names from here: where they are defined may change.
"""

from __future__ import annotations

__all__ = sorted(name for name in globals() if not name.startswith("_") and name != "annotations")
