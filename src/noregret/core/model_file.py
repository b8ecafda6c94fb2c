"""Model files: safetensors with versioned JSON metadata and a checksum. Nothing in a file is ever run or imported by name.

Tensors: `tally`; `state.<path>`, every array of the state with its axes apart, spare capacity included, or, where that is much
smaller, only the cells that are not as new, with their places in `at.<path>`; `features`, the names as JSON, where there are names;
support vectors that are strings or trees as JSON too; `front.<name>`, what stands before the learner of a pipeline. Metadata:
`noregret`, JSON text with everything else; `sha256`, over that text and all tensors, the same in every format. A value JSON does
not know is an object with a tag: {"tuple": [...]}, {"bytes": ...}, {"part": ...}. The learners inside a pool are written in the
same way, the names of their tensors after `<number>/`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
import pkgutil
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .basis import described
from .expansion import Expansion
from .features import Anything, Columns, Features, Hashed, Names, Numbers
from .labels import Labels
from .model import Dims
from .params import Choice
from .rounds import SEEN, TIE
from .sparse import Spared
from .state import Slot, leaves, tmap
from .votes import Voted

if TYPE_CHECKING:
    from .learner import Learner

FORMAT = 2  # a file without `at` is written as format 1
LEAST = 256  # cells of the smallest array that is worth listing
MOST = 1 << 32  # cells of the largest array that a list may stand for
Parts = dict[str, Any]
Tensors = dict[str, np.ndarray]
HALVES = re.compile("[\ud800-\udfff]")  # of surrogate pairs, which JSON would join
NUMBERS = (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64)
SCALARS: dict[str, Any] = {t.__name__: t for t in (*NUMBERS, np.str_, np.bytes_)}
ARRAYS: dict[str, Any] = {**SCALARS, "object_": np.object_}


class ModelFileError(ValueError):
    """A file is no model this version can read, or is damaged."""


def expect(ok: bool, what: str, found: Any) -> None:
    """Raise unless the file holds what it must."""
    if not ok:
        raise ModelFileError(f"expected {what}, found {repr(found)[:200]}; the file was not written by noregret, or was changed")


# ---- values ----------------------------------------------------------------------------------------------------------
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
    steps = getattr(v, "steps", [v])
    if hasattr(steps[-1], "defaults"):  # a learner of a pool
        inner, given = known_parts(type(steps[-1])), steps[-1].get_params()
        return {"learner": steps[-1].name, "params": {k: encode(x, what, inner) for k, x in given.items()}, "unit": len(steps) > 1}
    message = f"{what} cannot be saved: {v!r} is of type {kind.__name__}. "
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
            cls = learner_class(name)
            learner = cls(**{k: decode(x, known_parts(cls)) for k, x in params.items()})
            return in_front(learner) if unit else learner
    expect(not isinstance(v, dict), "a value this version knows", v)
    return v


def options(given: Mapping[str, Any], what: str, parts: Parts) -> dict[str, Any]:
    """Return settings by name as JSON."""
    return {k: encode(v, f"{what} {k!r}", parts) for k, v in given.items()}


def library_parts() -> Parts:
    """Return the parts of noregret.parts, by name."""
    from .. import parts

    found: Parts = {}
    for info in pkgutil.iter_modules(parts.__path__):
        module = importlib.import_module(f"{parts.__name__}.{info.name}")
        own = (c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__)
        found |= {c.__name__: c for c in own if issubclass(c, tuple)}
    return found


def known_parts(cls: Any) -> Parts:
    """Return the parts a file of this learner may hold, by name: those of noregret.parts and those its Params choose from."""
    found = library_parts()
    for hint in cls.parameters.types.values():
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Choice):
                found |= {c.__name__: c for c in mark.table.values() if c is not None}
    return found


def learner_class(name: str) -> Any:
    """Return the learner that is registered under a name."""
    from .learner import REGISTRY

    if name in REGISTRY:
        return REGISTRY[name]
    from ..registry import by_name

    found = by_name()
    if name not in found:
        raise ModelFileError(f"holds a {name!r}, a learner not known here: import the module that defines it first")
    return found[name]


def in_front(learner: Any) -> Any:
    """Return a learner behind Normalize()."""
    from ..transforms.pipeline import pipeline
    from ..transforms.scale import Normalize

    return pipeline(Normalize(), learner)


# ---- writing ---------------------------------------------------------------------------------------------------------
def save(model: Any, path: Any) -> None:
    """Write a learner, or a pipeline, to a file: whole and new, or not at all."""
    front = getattr(model, "front", None)
    meta, tensors = pack(model if front is None else model.learner)
    if front is not None:
        meta["front"] = front.meta()
        tensors |= {f"front.{name}": np.ascontiguousarray(a) for name, a in front.tensors().items()}
    store(path, meta, tensors)


def table_of(features: Features) -> dict[str, Any]:
    """Return what the metadata say of the table of features."""
    return {k: getattr(features, k, None) for k in ("kind", "width", "bits", "bias", "count")}


def names_of(features: Features) -> Tensors:
    """Return the names of the features, where there are names."""
    if features.names is None:
        return {}
    return {"features": written(features.names, "a feature name")}


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


def said_of(labels: Labels | None) -> dict[str, Any] | None:
    """Return what the metadata say of the labels."""
    if labels is None:
        return None
    values = [encode(v, f"label {v!r}", {}) for v in labels.values]
    return {"values": values, "positive": labels.positive, "declared": labels.declared}


def store(path: Any, meta: dict[str, Any], tensors: Tensors) -> None:
    """Write metadata and tensors."""
    from safetensors.numpy import save as serialize

    text = json.dumps(meta, sort_keys=True, separators=(",", ":"))
    write(os.path.realpath(path), serialize(tensors, {"noregret": text, "sha256": checksum(text, tensors)}))


def pack(learner: Learner) -> tuple[dict[str, Any], Tensors]:
    """Return the metadata and tensors of a learner."""
    from .. import __version__

    cls = type(learner)
    if "name" not in cls.__dict__:
        raise TypeError(f"{cls.__name__} is not in the registry, so no file could name it: give the class a `name` of its own")
    parts = known_parts(cls)
    params = options(learner.get_params(), "parameter", parts)
    fitted = {k: v for k, v in learner.__dict__.items() if k.endswith("_") and k not in cls.defaults}
    meta: dict[str, Any] = {"format": 1, "noregret": __version__, "learner": cls.name, "params": params, "model": None}
    meta["fitted"] = options(fitted, "attribute", parts)
    tensors: Tensors = {}
    m: Any = learner.__dict__.get("_m")
    if m is None:
        return meta, tensors
    learner._sound()
    meta["model"] = {
        "features": table_of(m.features),
        "labels": said_of(m.labels),
        "many": m.many,
        "dims": {k: int(n) for k, n in m.dims.items()},
        "sparse": getattr(m, "sparse", False),
    }
    if cls.by_domain:
        meta["model"]["tasks"] = [encode(v, f"task {v!r}", {}) for v in m.domains]
    given = options(m.given, "parameter", parts)  # those in force: the learner's attributes may have been set since
    meta["model"]["given"] = {k: v for k, v in given.items() if json.dumps(v) != json.dumps(params[k])}
    tensors |= names_of(m.features)
    tensors["tally"] = m.tally
    if hasattr(m, "within"):
        tensors |= {f"state.{at}": a for at, a in m.weighing.arrays().items()}
        inner = [pack(part) for part in m.within()]
        meta["model"]["within"] = [said for said, _ in inner]
        meta["format"] = max([1, *(said["format"] for said, _ in inner)])
        tensors |= {f"{k}/{name}": a for k, (_, theirs) in enumerate(inner) for name, a in theirs.items()}
        return meta, tensors
    for at, slot, a in leaves(m.spec, m.state):
        if slot.dtype is object:
            tensors[f"state.{at}"] = written(a[: learner.n_support_], "a support vector")
        elif not slot.scratch:
            cells, places = packed(slot, slot.view(a, m.dims))
            tensors |= {f"state.{at}": cells} | ({} if places is None else {f"at.{at}": places})
            meta["format"] = 1 if places is None and meta["format"] == 1 else FORMAT
    return meta, tensors


def packed(slot: Slot, a: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return an array as it is, or, if that is less than half, its cells that are not as new and their places."""
    flat = a.reshape(-1)
    if slot.eye or len(flat) < LEAST or len(flat) > MOST:
        return np.ascontiguousarray(a), None
    fill = np.asarray(slot.fill, a.dtype)
    new = flat == fill
    if a.dtype.kind == "f":
        new &= np.signbit(flat) == np.signbit(fill)
    places = np.flatnonzero(~new).astype(np.uint32)
    if 2 * len(places) * (a.itemsize + 4) > a.nbytes:
        return np.ascontiguousarray(a), None
    return flat[places], places


def unpacked(slot: Slot, cells: np.ndarray, places: np.ndarray, dims: Dims, what: str) -> np.ndarray:
    """Return the array of cells in their places, once every place is known to lie inside."""
    size = math.prod(slot.shape(dims))
    expect(not slot.eye and size <= MOST, f"{what}, an array that may be listed", slot.shape(dims))
    expect(places.dtype == np.uint32 and places.ndim == cells.ndim == 1 and len(places) == len(cells), f"places of {what}", places)
    rising = len(places) == 0 or bool((places[1:] > places[:-1]).all() and places[-1] < size)
    expect(rising, f"different places in order, below {size}, in {what}", places)
    a = slot.new(dims, cells.dtype)
    a.reshape(-1)[places] = cells
    return slot.view(a, dims)


def write(path: str, data: bytes) -> None:
    """Write under a temporary name, then rename; whatever fails, the file that was there stays and nothing else is left."""
    temporary = f"{path}.{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def checksum(text: str, tensors: Tensors) -> str:
    """Return the SHA-256 of the metadata and of every tensor: name, dtype, shape and bytes, little-endian, by name."""
    h = hashlib.sha256(text.encode())
    for name, a in sorted(tensors.items()):
        a = a.astype(a.dtype.newbyteorder("<"), copy=False)
        h.update(f"\n{name} {a.dtype.str} {a.shape}\n".encode())
        h.update(np.ascontiguousarray(a).data)
    return h.hexdigest()


# ---- reading ---------------------------------------------------------------------------------------------------------
def load(path: Any) -> Any:
    """Return the learner, or the pipeline, in a file; a ModelFileError says what is wrong with it."""
    with open(path, "rb"):  # missing, unreadable: the system's own error
        pass
    try:
        meta, tensors = read(path)
        if "compact" in meta:
            return compact(meta, tensors)
        theirs = {k.removeprefix("front."): tensors.pop(k) for k in list(tensors) if k.startswith("front.")}
        learner = build(meta, tensors)
        return learner if meta.get("front") is None else behind(meta["front"], theirs, learner)
    except ModelFileError as e:
        raise ModelFileError(f"{os.fspath(path)}: {e}") from None
    except (ImportError, OSError):
        raise
    except Exception as e:
        raise ModelFileError(f"{os.fspath(path)}: not a model this version can use: {type(e).__name__}: {e}") from e


def read(path: Any) -> tuple[dict[str, Any], Tensors]:
    """Return the metadata and tensors of an undamaged file of a known format."""
    from safetensors import SafetensorError, safe_open

    from .. import __version__

    try:
        with safe_open(path, "numpy") as f:
            said = f.metadata() or {}
            if not {"noregret", "sha256"} <= set(said):
                raise ModelFileError("a safetensors file, but its metadata are not those of a noregret model")
            tensors = {k: np.require(f.get_tensor(k), requirements=["C", "A", "W"]) for k in f.keys()}  # noqa: SIM118
    except SafetensorError as e:
        raise ModelFileError(f"not a whole safetensors file ({e}): damaged, cut short, or of another kind") from None
    text, found = said["noregret"], checksum(said["noregret"], tensors)
    if found != said["sha256"]:
        raise ModelFileError(f"the file is damaged: expected sha256 {said['sha256']}, found {found}; use another copy")
    meta = json.loads(text)
    expect(isinstance(meta, dict), "a JSON object as metadata", text[:80])
    version = meta["format"]
    expect(type(version) is int and version >= 1, "a format version", version)
    if version > FORMAT:
        raise ModelFileError(
            f"written by noregret {meta.get('noregret')} with format {version}; this is {__version__}, which reads up to "
            f"{FORMAT}: upgrade noregret"
        )
    return meta, tensors


def build(meta: dict[str, Any], tensors: Tensors) -> Learner:
    """Return the learner described, every size checked against the tensors before anything is allocated."""
    cls = learner_class(meta["learner"])
    parts = known_parts(cls)
    params = {k: decode(v, parts) for k, v in meta["params"].items()}
    learner = cls(**params)
    for k, v in meta["fitted"].items():
        expect(k.endswith("_") and not k.startswith("_") and k not in cls.defaults, "an attribute such as n_epochs_", k)
        learner.__dict__[k] = decode(v, parts)
    said = meta["model"]
    if said is None:
        expect(not tensors, "no tensors, as nothing is learned yet", sorted(tensors))
        return learner
    features, labels = features_of(said["features"], tensors.pop("features", None)), labels_of(said["labels"])
    tally, dims, many = tensors.pop("tally"), said["dims"], said["many"]
    expect(all(type(n) is int and n >= 0 for n in dims.values()), "sizes", dims)
    expect(dims["feature"] >= max(features.size, 1), f"room for {features.size} features", dims["feature"])
    expect((labels is not None) == cls.task.labelled, f"labels as {cls.task} has them", said["labels"])
    tasks = tasks_of(said["tasks"]) if cls.by_domain else {}
    expect(not (cls.by_domain and many), "one score for each row", many)
    rows = max(len(tasks), 1) if cls.by_domain else max(len(labels), 1) if labels is not None and many else 1
    expect(type(many) is bool and dims["class"] == rows, f"{rows} rows of weights", dims["class"])

    in_force = cls(**{**params, **{k: decode(v, parts) for k, v in said["given"].items()}})
    if hasattr(cls, "pool"):
        learner._m = restored(in_force._begin(None, features, labels), said, tally, tensors)
        return learner
    given = in_force.get_params()
    sparse = said.get("sparse", False)
    expect(type(sparse) is bool, "whether the first rows were sparse", sparse)
    known = 0 if labels is None else len(labels)
    spec = described(cls.algorithm, given, cls.parameters.resolve(given, features.size), sparse, features.size, known)
    slots = {f"state.{at}": slot for at, slot, _ in leaves(spec, spec) if not slot.scratch}
    places = {f"state.{k[3:]}": tensors.pop(k) for k in list(tensors) if k.startswith("at.")}
    expect(slots.keys() == tensors.keys() >= places.keys(), f"the tensors {sorted(slots)}", sorted(tensors))
    expect(not places or dims["feature"] <= 2 * max(features.size, 1), f"room for {features.size} features", dims["feature"])
    for at, slot in slots.items():
        if slot.dtype is object:
            found = listed(tensors[at], "support vectors")
            n = int(tensors[f"{at.removesuffix('S.sv')}size"][0])
            expect(len(found) == n <= dims["slot"], f"{n} support vectors in arrays of {dims['slot']}", len(found))
            tensors[at] = slot.new(dims, None)
            for i, v in enumerate(found):  # one by one: a tuple is an object, not a row
                tensors[at][i] = v
        elif at in places:
            tensors[at] = unpacked(slot, tensors[at], places[at], dims, at)
        dtype = np.dtype(given["dtype"] if slot.dtype is float else slot.dtype)
        expect(tensors[at].dtype == dtype, f"{at} of {dtype}", tensors[at].dtype)
        expect(tensors[at].shape == slot.shape(dims), f"{at} of shape {slot.shape(dims)}", tensors[at].shape)

    m = cls.model_class(in_force, features, None, sparse)
    if cls.by_domain:
        m.domains = tasks
    expect(dims.keys() == m.dims.keys() and dims["two"] == 2, f"the sizes {sorted(m.dims)}", dims)
    expect(tally.dtype == m.tally.dtype and tally.shape == m.tally.shape, "a tally", tally)
    most = rows if many else 3
    expect(bool((tally[:TIE] >= 0).all() and tally[SEEN] <= most and abs(tally[TIE]) <= 1), "a tally", tally)
    kept = iter(slots)
    m.labels, m.many, m.dims, m.tally, m.spec = labels, many, dims, tally, spec
    m.state = tmap(lambda slot: slot.new(dims, m.dtype) if slot.scratch else slot._flat(tensors[next(kept)]), spec)
    for w in m.state:
        expect(not isinstance(w, Voted) or sound(w, dims), "kept rows within their arrays", "others")
        inside = w.w if isinstance(w, Spared) else w
        if isinstance(inside, Expansion):
            expect(inside.sound(), "support vectors within their arrays", "others")
        else:
            expect(not hasattr(inside, "sound") or inside.sound(dims), "places within their arrays", "others")
    m.ready = features.size if cls.arrange is not None else dims["feature"]
    m.retune(given)  # sizes in the parameters, costs, drivers
    learner._m = m
    return learner


def restored(m: Any, said: dict[str, Any], tally: np.ndarray, tensors: Tensors) -> Any:
    """Return a pool with what was saved of it."""
    arrays = m.weighing.arrays()
    own = {k: tensors.pop(f"state.{k}") for k in arrays}
    for k, a in arrays.items():
        expect(own[k].dtype == a.dtype and own[k].shape == a.shape, f"{k} of shape {a.shape}", own[k].shape)
        a[:] = own[k]
    expect(tally.dtype == m.tally.dtype and tally.shape == m.tally.shape, "a tally", tally)
    most = len(m.labels) if said["many"] else 3
    expect(bool((tally[:TIE] >= 0).all() and tally[SEEN] <= most and abs(tally[TIE]) <= 1), "a tally", tally)
    m.tally[:], m.many = tally, said["many"]
    parts = []
    for k, meta in enumerate(said["within"]):
        theirs = {name.removeprefix(f"{k}/"): tensors.pop(name) for name in list(tensors) if name.startswith(f"{k}/")}
        parts.append(build(meta, theirs))
    expect(not tensors, "no other tensors", sorted(tensors))
    m.restore(parts)
    return m


def compact(meta: dict[str, Any], tensors: Tensors) -> Any:
    """Return a predictor that was saved without its learner."""
    from ..tasks.compact import Compact

    return Compact.restored(meta, tensors)


def behind(said: dict[str, Any], tensors: Tensors, learner: Learner) -> Any:
    """Return the pipeline of a front that was saved and a learner."""
    from ..transforms.front import Front
    from ..transforms.pipeline import Pipeline

    return Pipeline.of(Front.restored(said, tensors), learner)


def features_of(said: dict[str, Any], data: np.ndarray | None) -> Features:
    """Return the table of features."""
    names: Any = None if data is None else listed(data, "names")
    kind, width, bias = said["kind"], said["width"], said["bias"]
    expect(type(bias) is bool, "whether there is a constant feature", bias)
    if kind == "columns":
        expect(type(width) is int and width >= 0 and (names is None or len(names) == width), f"{width!r} columns", names)
        return Columns(width, bias, names)
    if kind == "objects":
        expect(names is None, "no names, as examples are objects", names)
        return Anything()
    if kind == "numbers":
        count = said["count"]
        expect(names is None and type(count) is int and 0 <= count <= Numbers.MOST, "a number of features", count)
        return Numbers(bias, count)
    expect(kind in ("names", "hashed") and names is not None, "columns, numbers, names or hashed names", kind)
    table = Names(bias) if kind == "names" else Hashed(said["bits"], bias)
    if isinstance(table, Hashed) and width is not None:
        table.width = table.fitting(int(width))
    for name in names:
        if isinstance(table, Hashed):
            table.place(name, True)
        else:
            table.table.setdefault(name, len(table.table) + bias)
    expect(len(table.table) == len(names), "different names", names)
    return table


def labels_of(said: dict[str, Any] | None) -> Labels | None:
    """Return the table of labels."""
    if said is None:
        return None
    labels, values = Labels(), decode(said["values"], {})
    labels.extend(values)
    expect(len(labels) == len(values), "different labels", values)
    labels.positive, labels.declared = int(said["positive"] == 1), bool(said["declared"])
    labels.refresh()
    return labels


def tasks_of(said: Any) -> dict[Any, int]:
    """Return the table of tasks."""
    expect(isinstance(said, list), "a list of tasks", said)
    values = decode(said, {})
    found = {v: k for k, v in enumerate(values)}
    expect(len(found) == len(values), "different tasks", values)
    return found


def sound(w: Voted, dims: Dims) -> bool:
    """Return whether compiled code that trusts these rows stays inside the arrays."""
    n, used = w.size.tolist()
    if not (0 <= n <= dims["slot"] and 0 <= used <= dims["cell"]):
        return False
    ends = np.concatenate([[0], w.end[:n], [used]])
    return bool((np.diff(ends) >= 0).all() and (w.idx[:used] < dims["feature"]).all())
