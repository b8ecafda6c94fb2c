"""A learner in files: its parameters, what `fit` notes, and its model, which says itself what it is made of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..files.json_values import Tensors, decode, expect, known_parts, options
from ..owners import owner

if TYPE_CHECKING:
    from .base import Base


def packed(learner: Base, m: Any) -> tuple[dict[str, Any], Tensors]:
    """Return the metadata and tensors of a learner and its model, None before anything is learned."""
    cls = type(learner)
    if "name" not in cls.__dict__:
        raise TypeError(f"{cls.__name__} is not in the registry, so no file could name it: give the class a unique `name`")
    parts = known_parts(cls)
    params = options(learner.get_params(), "parameter", parts)
    fitted = {k: v for k, v in learner.__dict__.items() if k.endswith("_") and k not in cls.defaults}
    meta = {"learner": cls.name, "params": params, "model": None, "fitted": options(fitted, "attribute", parts)}
    if m is None:
        return meta, {}
    own, tensors = m.pack()
    given = options(m.given, "parameter", parts)  # those in force: the learner's attributes may have been set since
    own["given"] = {k: v for k, v in given.items() if json.dumps(v) != json.dumps(params.get(k))}
    return {**meta, "model": own}, tensors


def restored(meta: dict[str, Any], tensors: Tensors) -> Base:
    """Return the learner that was packed."""
    cls = owner("class")(meta["learner"])
    parts = known_parts(cls)
    params = {k: decode(v, parts) for k, v in meta["params"].items()}
    learner: Base = cls(**params)
    for k, v in meta["fitted"].items():
        expect(k.endswith("_") and not k.startswith("_") and k not in cls.defaults, "an attribute such as n_epochs_", k)
        learner.__dict__[k] = decode(v, parts)
    own = meta["model"]
    if own is None:
        expect(not tensors, "no tensors, as nothing is learned yet", sorted(tensors))
        return learner
    in_force = cls(**{**params, **{k: decode(v, parts) for k, v in own["given"].items()}})
    learner.model = learner.model_class.restored(in_force, own, tensors)
    return learner


def as_value(learner: Base, what: str, unit: bool = False) -> Any:
    """Return a learner as a value: one inside a pool, which may stand behind Normalize()."""
    params = options(learner.get_params(), what, known_parts(type(learner)))
    return {"learner": learner.name, "params": params, "unit": unit}
