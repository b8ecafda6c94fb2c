"""An algorithm: a step and what is known about it. It is data, apart from any task, so that any task can run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ..engine.words import strict


class Declaration:
    """What an algorithm says about itself, in the body of a class; a task that is given the algorithm reads the same names."""

    name: ClassVar[str]  # in the registry
    cite: ClassVar[str] = ""  # key in refs.bib
    State: ClassVar[Any] = None
    Params: ClassVar[Any] = None
    step: ClassVar[Any] = None  # (s, x, y, p) -> (score before the update, whether it updated)
    score_row: ClassVar[Callable[..., Any] | None] = None  # (s, x, p) -> score, where it is not the dot product with State[0]
    share: ClassVar[Callable[..., Any] | None] = None  # (s, f, y, p, tau, x) -> updated: a round that moves several classes
    shares: ClassVar[Callable[..., Any]] = lambda p: True  # whether these parameters make it so; tau comes as zeros
    sizes: ClassVar[Callable[..., Any] | None] = None  # (p) -> {"topic": K}: further axes and their initial sizes
    formerly: ClassVar[dict[str, str]] = {}  # which axes these were called in files of formats 1 and 2
    start: ClassVar[Callable[..., Any] | None] = None  # (s, p): a start that is not the fill of the slots
    arrange: ClassVar[Callable[..., Any] | None] = None  # (model, first): features from `first` on have come
    rejoin: ClassVar[Callable[..., Any] | None] = None  # (s, p, K): back to where weights may be, after models were joined
    primal: ClassVar[Callable[..., Any] | None] = None  # (s, p) -> the weights, where State[0] cannot tell them
    policy: ClassVar[Callable[..., Any] | None] = None  # (p, given) -> its own budget, where `budget=` is not free
    by_kernel: ClassVar[bool] = False  # whether it is nothing without a kernel
    by_rows: ClassVar[bool] = False  # a row per class also when there are two
    takes_cost: ClassVar[bool] = False  # whether `cost=` has a meaning: the step asks for `required`, or the share for `price`
    priced: ClassVar[Any] = None  # the kind of cost whose unit is the learner's own, in place of MaxLoss
    nonnegative: ClassVar[bool] = False  # whether features below 0 are refused
    scale_free: ClassVar[bool] = False  # whether columns of any unit are learned from alike, however small their numbers
    oriented: ClassVar[bool] = False  # whether it matters which of two classes is the positive one
    grows: ClassVar[bool] = False  # whether memory grows with the updates, and not with the features alone
    merges: ClassVar[str] = "approximate"  # "exact", "approximate" or "none"
    bound: ClassVar[Any] = None  # the theorem, a Bound; of a learner whose model keeps books, a method
    link: ClassVar[str] = ""  # "probabilities" or "log_odds" where scores are that: then there is nothing to calibrate
    without: ClassVar[tuple[str, ...]] = ()  # options that have no meaning for it


FIELDS = tuple(Declaration.__annotations__)
TEXTS = (
    "step",
    "score_row",
    "share",
    "shares",
    "sizes",
    "start",
    "arrange",
    "rejoin",
    "primal",
    "policy",
)  # plain functions, not methods


class Algorithm(Declaration):
    """The declarations of a class, without the class."""

    def __init__(self, cls: Any) -> None:
        self.__name__ = cls.__name__  # of the class that declares it, for messages
        found = {field: getattr(cls, field, None) for field in FIELDS}
        if callable(found["bound"]):
            found["bound"] = None  # a method: a guarantee that follows from what the model keeps, not a theorem about a comparator
        self.__dict__.update(found)

    def __repr__(self) -> str:
        return f"<algorithm {self.name}>"


def declare(cls: Any, given: Any) -> None:
    """Make `cls.algorithm` of what its body declares, on top of another class or algorithm if one is given."""
    base = getattr(given, "algorithm", given)
    for field in FIELDS:
        if base is not None and field not in cls.__dict__ and field != "name":
            setattr(cls, field, getattr(base, field))
        if field in TEXTS and callable(cls.__dict__.get(field)):
            setattr(cls, field, staticmethod(getattr(cls, field)))
    if cls.share is not None:
        strict(cls.share)  # its sums are over classes
    cls.algorithm = Algorithm(cls)
