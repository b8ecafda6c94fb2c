"""Values in files: any plain value as JSON that comes back with the same type. Nothing in a file is run or imported by name.

A value JSON does not know is an object with a tag: {"tuple": [...]}, {"bytes": ...}, {"part": ...}.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from ..algorithm.params import Choice
from ..owners import owner
from ..text import HALVES, brief

Parts = dict[str, Any]
Tensors = dict[str, np.ndarray]
NUMBERS = (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64)
SCALARS: dict[str, Any] = {t.__name__: t for t in (*NUMBERS, np.str_, np.bytes_)}
ARRAYS: dict[str, Any] = {**SCALARS, "object_": np.object_}


class ModelFileError(ValueError):
    """A file is not a model this version can read, or is damaged."""


def expect(ok: bool, what: str, found: Any) -> None:
    """Raise unless the file holds what it must."""
    if not ok:
        raise ModelFileError(f"expected {what}, found {brief(found, 200)}; the file was not written by noregret, or was changed")


def refill(arrays: dict[str, np.ndarray], tensors: Tensors) -> None:
    """Fill arrays with those of their names in a file, which must be like them and finite."""
    for k, a in arrays.items():
        found = tensors.pop(k)
        expect(found.dtype == a.dtype and found.shape == a.shape, f"{k} of shape {a.shape}", found.shape)
        expect(bool(np.isfinite(found).all()), f"finite numbers in {k}", found)
        a[:] = found


def encode(v: Any, what: str, parts: Parts) -> Any:
    """Return a value as JSON that comes back with the same type, or an error that says what cannot be saved."""
    kind = type(v)
    if v is None or kind in (bool, int):
        return v
    if kind is float:
        return v if math.isfinite(v) else {"float": repr(v)}
    if kind is str:
        return {"text": v.encode("utf-8", "surrogatepass").hex()} if HALVES.search(v) else v
    if kind is bytes:
        return {"bytes": v.hex()}
    if kind in (list, range):
        return [encode(x, what, parts) for x in v]
    if kind is tuple:
        return {"tuple": [encode(x, what, parts) for x in v]}
    if isinstance(v, Mapping):
        return {"map": [[encode(k, what, parts), encode(x, what, parts)] for k, x in v.items()]}
    if isinstance(v, np.ndarray) and v.dtype.type.__name__ in ARRAYS:
        cells = [encode(x, what, parts) for x in v.ravel().tolist()]
        return {"array": cells, "dtype": v.dtype.type.__name__, "shape": list(v.shape)}
    if kind.__name__ in SCALARS and kind is SCALARS[kind.__name__]:
        return {"scalar": encode(v.item(), what, parts), "dtype": kind.__name__}
    if isinstance(v, np.dtype) or (kind is type and issubclass(v, (float, np.floating))):
        return np.dtype(v).name
    if kind.__name__ in parts and kind is parts[kind.__name__]:
        return {"part": kind.__name__, "fields": {f: encode(getattr(v, f), what, parts) for f in kind._fields}}
    return encode_own(v, what)


@singledispatch
def encode_own(v: Any, what: str) -> Any:
    """Return a value as the owner of its class writes it, who registers here; an error for a class without an owner."""
    message = f"{what} cannot be saved: {brief(v, 200)} is of type {type(v).__name__}. "
    if callable(v):
        raise TypeError(message + "A file holds no functions: use a named schedule, or a part declared in a Choice.")
    raise TypeError(
        message + "Expected None, bool, int, float, str, bytes, NumPy numbers, or tuples of these; for a parameter also "
        "lists, dicts, arrays, and the parts of noregret.parts or of the learner's Params."
    )


def decode(v: Any, parts: Parts) -> Any:
    """Return the value that was encoded."""
    match v:
        case list():
            return [decode(x, parts) for x in v]
        case {"float": ("inf" | "-inf" | "nan") as text}:
            return float(text)
        case {"text": digits}:
            return bytes.fromhex(digits).decode("utf-8", "surrogatepass")
        case {"bytes": digits}:
            return bytes.fromhex(digits)
        case {"tuple": items}:
            return tuple(decode(items, parts))
        case {"map": pairs}:
            return {decode(k, parts): decode(x, parts) for k, x in pairs}
        case {"array": cells, "dtype": name, "shape": shape}:
            return np.fromiter(decode(cells, parts), np.object_, len(cells)).astype(ARRAYS[name]).reshape(shape)
        case {"scalar": x, "dtype": name}:
            return SCALARS[name](decode(x, parts))
        case {"part": name, "fields": fields} if name in parts:
            return parts[name](**{f: decode(x, parts) for f, x in fields.items()})
        case {"learner": name, "params": params, "unit": unit}:
            cls = owner("class")(name)
            learner = cls(**{k: decode(x, known_parts(cls)) for k, x in params.items()})
            return owner("unit")(learner) if unit else learner
        case {"maps": list() as maps, "behind": learner}:
            return owner("behind")(maps, decode(learner, parts))
    expect(not isinstance(v, dict), "a value this version knows", v)
    return v


def options(given: Mapping[str, Any], what: str, parts: Parts) -> dict[str, Any]:
    """Return settings by name as JSON."""
    return {k: encode(v, f"{what} {k!r}", parts) for k, v in given.items()}


def known_parts(cls: Any) -> Parts:
    """Return the parts a file of this learner may hold, by name: those of noregret.parts and those its Params choose from."""
    found: Parts = dict(owner("parts")())
    for hint in cls.parameters.types.values():
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Choice):
                found |= {c.__name__: c for c in mark.table.values() if c is not None}
    return found


# ---- lists of values as arrays ---------------------------------------------------------------------------------------
def written(values: Iterable[Any], what: str) -> np.ndarray:
    """Return values as the bytes of their JSON."""
    try:
        text = json.dumps([encode(v, what, {}) for v in values], separators=(",", ":"))
    except RecursionError:
        raise TypeError(f"{what} cannot be saved: it is nested too deeply; give it as text, such as a tree in brackets") from None
    return np.frombuffer(text.encode(), np.uint8)


def listed(data: np.ndarray, what: str) -> list[Any]:
    """Return the values that were written."""
    expect(data.dtype == np.uint8 and data.ndim == 1, f"{what} as JSON", data.dtype)
    values = decode(json.loads(data.tobytes()), {})
    expect(isinstance(values, list), f"a list of {what}", values)
    return values
