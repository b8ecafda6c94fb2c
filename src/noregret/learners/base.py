"""What every learner is, whatever it learns from: parameters, a registry, copies, files, merging, counters."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..algorithm.algorithm import Algorithm, Declaration, declare
from ..algorithm.params import Parameters, same_value
from ..algorithm.rounds import EXAMPLES, MISTAKES, UPDATES
from ..files.json_values import Tensors, encode_own
from ..files.model_file import Saved
from ..text import meant
from . import learner_file, merging
from .declarations import check_name, check_named, check_params, check_state, ours
from .held import Held

REGISTRY: dict[str, type[Base]] = {}
APART: dict[str, type[Base]] = {}  # learners that also need a task for each row: found by name, not listed by `algorithms()`


class NotLearnedError(ValueError, AttributeError):
    """A model was used before it had learned anything."""


def not_learned(learner: Any) -> Exception:
    """Return the error, in scikit-learn's own class when it is loaded."""
    kind: type[Exception] = NotLearnedError
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError

        kind = NotFittedError
    return kind(f"This {type(learner).__name__} has learned nothing yet: call 'fit', 'partial_fit' or 'learn_one' first.")


class Base(Declaration, Saved):
    """Parameters, and what was learned. It knows nothing of rows, labels or scores."""

    algorithm: ClassVar[Algorithm]  # what the class declares, apart from its task
    task: ClassVar[Any] = ""  # the kind of problem
    model_class: ClassVar[Any] = Held
    listed: ClassVar[bool] = False  # whether `algorithms()` names it
    types: ClassVar[dict[str, Any]] = {}  # of parameters of an algorithm of another task, where this one has its own
    overrides: ClassVar[dict[str, Any]] = {}  # other defaults for parameters and options; None in a value's place is a default too
    options: ClassVar[dict[str, Any]] = {"dtype": "float64"}
    no_merge: ClassVar[str] = "what it keeps is a history, not a sum"  # why, where there is none
    # Options that `get_params` names only once they are set. scikit-learn holds every estimator that names a class_weight to a test
    # that takes a thousand passes over unscaled rows; learners of one pass cannot promise what it asks for.
    reticent: ClassVar[tuple[str, ...]] = ("class_weight",)

    # ---- filled in by the class machinery ----------------------------------------------------------------------------
    file_tag: ClassVar[str] = "learner"
    parameters: ClassVar[Parameters]
    defaults: ClassVar[dict[str, Any]] = {}
    _m: Any = None

    if TYPE_CHECKING:

        def __init__(self, **params: Any) -> None: ...

        def __getattr__(self, name: str) -> Any: ...  # the parameters

    def __init_subclass__(cls, algorithm: Any = None, **kwargs: Any) -> None:
        """Register a learner, with an __init__ that takes its parameters and the options that apply.

        `algorithm` is another learner's: what its class declares holds here too, unless the body says otherwise.
        """
        super().__init_subclass__(**kwargs)
        declare(cls, algorithm)
        if not ours(cls):
            cls.check_declaration()
        if "name" not in cls.__dict__:
            return
        cls.parameters = Parameters(cls.Params, cls.types if algorithm is not None else {}, cls.overrides)
        own, without = cls.parameters.defaults, cls._unfit()
        options = {**cls.options, **{k: v for k, v in cls.overrides.items() if k not in own}}
        cls.defaults = {**own, **{k: v for k, v in options.items() if k not in without}}
        give_constructor(cls)
        (REGISTRY if cls.listed else APART)[cls.name] = cls

    @classmethod
    def check_declaration(cls) -> None:
        """Refuse mistakes, with what to write instead."""
        check_named(cls)
        if "name" in cls.__dict__:
            check_name(cls)
        if "name" in cls.__dict__ and cls.State is not None:
            check_params(cls)
            check_state(cls)

    @classmethod
    def _unfit(cls) -> set[str]:
        """Return the options that have no meaning for the algorithm."""
        return {*cls.without}

    # ---- the model ---------------------------------------------------------------------------------------------------
    @property
    def held(self) -> Any:
        """The model, None before anything is learned."""
        return self._m

    @property
    def started(self) -> bool:
        """Whether anything has been learned."""
        return self._m is not None

    @property
    def model(self) -> Any:
        """The model; an error before anything is learned."""
        if self._m is None:
            raise not_learned(self)
        return self._m

    @model.setter
    def model(self, m: Any) -> None:
        """Set the model, or None for a learner that has learned nothing."""
        if m is None:
            self.__dict__.pop("_m", None)
        else:
            self._m = m

    def sound(self) -> Any:
        """Return the model, unless its state is one that must neither be saved nor read."""
        return self.model

    @property
    def state(self) -> Any:
        """The named arrays of the algorithm."""
        return self.model.state

    @property
    def n_seen_(self) -> int:
        """Examples learned from (those of weight 0 do not count)."""
        return int(self.model.tally[EXAMPLES])

    @property
    def n_updates_(self) -> int:
        """Rounds that changed the weights because of their loss."""
        return int(self.model.tally[UPDATES])

    @property
    def n_mistakes_(self) -> int:
        """Predictions, each made before its update, that were wrong (None counts as wrong)."""
        return int(self.model.tally[MISTAKES])

    # ---- verbs -------------------------------------------------------------------------------------------------------
    def reset(self) -> Self:
        """Forget everything learned; parameters stay."""
        self.model = None
        self.__dict__.pop("_extras", None)
        for k in [k for k in self.__dict__ if k.endswith("_") and k not in self.defaults]:
            del self.__dict__[k]
        return self

    def clone(self) -> Self:
        """Return a learner with the same parameters that has learned nothing."""
        return type(self)(**copy.deepcopy(self.get_params()))

    @property
    def merging(self) -> str:
        """How two of these are merged: "exact", "approximate" or "none"."""
        return self.merges

    def merge(self, other: Any) -> Self:
        """Take in what another learner of the same kind has learned (see `merges` for what that means here).

        Weights become their mean by examples seen (parameter mixing; McDonald, Hall, Mann 2010), counters are added, features
        and classes are united by name. For learners that continued from a common one use `joined`.
        """
        merging.merge(self, other)
        return self

    def joined(self, parts: Sequence[Any], length: float | str = 1.0) -> Any:
        """Return copies of this learner, each of which has learned more, joined into one; none of them changes.

        `length` says how far to go along the mean of their moves: 1 to the mean, "sum" as far as all moves together.
        """
        return merging.joined(self, parts, length)

    def pack(self) -> tuple[dict[str, Any], Tensors]:
        """Return everything as JSON values and arrays."""
        return learner_file.packed(self, self.sound() if self.started else None)

    # ---- parameters, in scikit-learn's words -------------------------------------------------------------------------
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name (the reticent ones only when they are set)."""
        return {k: getattr(self, k) for k in self.defaults if k not in self.reticent or getattr(self, k) is not None}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a model that has learned continues with them."""
        for k in params:
            if k not in self.defaults:
                raise ValueError(f"Invalid parameter {k!r} for estimator {self!r}. Valid parameters are: {list(self.defaults)}.")
        was = {k: getattr(self, k) for k in self.defaults}
        self.__dict__.update(params)
        if self.started and params:
            try:
                self.model.retune(self.get_params())
            except Exception:
                self.__dict__.update(was)
                raise
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        changed = (f"{k}={v!r}" for k, v in self.get_params().items() if not same_value(v, self.defaults[k]))
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return self.started


def give_constructor(cls: Any) -> None:
    """Give a class the __init__ that takes its parameters by name, and the signatures that show them."""
    key = inspect.Parameter
    given = [key(k, key.KEYWORD_ONLY, default=v) for k, v in cls.defaults.items()]
    seen = [p for p in given if p.name not in cls.reticent]

    def __init__(self: Any, *places: Any, **params: Any) -> None:  # noqa: N807
        if places:
            first = next(iter(cls.defaults))
            raise TypeError(f"{cls.__name__} takes its parameters by name, as in {cls.__name__}({first}={places[0]!r})")
        for k in params:
            if k in ("kernel", "budget") and "kernel" not in cls.defaults:
                raise TypeError(f"{cls.__name__} has no {k!r}: it learns along the features, and has no kernel form")
            if k not in cls.defaults:
                near = meant(k, cls.defaults)
                raise TypeError(f"{cls.__name__} has no parameter {k!r}. {near}It takes {', '.join(cls.defaults)}")
        self.__dict__.update({**cls.defaults, **params})

    __init__.__signature__ = inspect.Signature([key("self", key.POSITIONAL_OR_KEYWORD), *seen])  # type: ignore[attr-defined]
    cls.__signature__, cls.__init__ = inspect.Signature(given), __init__


encode_own.register(Base, learner_file.as_value)
