"""Model files: a safetensors container with a JSON header and a checksum, on disk or as bytes. It is never pickle.

Metadata: `noregret`, JSON text with the header and what the owner says of itself; `sha256`, over that text and all tensors. The
header: `format`; `noregret`, the version that wrote it; `kind`, the tag of the owner; `extras`, what others keep beside the model,
such as the position in a stream, by their tag; `levels`, the processor levels at which it learned. The same model gives the same
bytes.

Formats: 1 has no tag, no extras, and every array whole; 2 lists the cells of an array that are not as new, with their places; 3
has the tag, extras, and arrays without spare room.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ..engine import compiling
from ..engine.processor import NAMES, described
from ..owners import owner
from ..text import said, shortened
from ..version import __version__
from .drafts import write
from .json_values import ModelFileError, Tensors, decode, expect, options

__all__ = ["FORMAT", "ModelFileError", "Saved", "from_bytes", "load", "read", "store"]

FORMAT = 3
Meta = dict[str, Any]
KINDS = ("learner", "pipeline", "compact", "recommender", "calibrator", "coverage")
DTYPES = {f"{kind}{bits // 8}": f"{name}{bits}" for kind, name in zip("iuf", "IUF", strict=True) for bits in (8, 16, 32, 64)}
DTYPES["b1"] = "BOOL"


class Saved:
    """What can be saved: files, bytes and digests of a class that says what it is made of."""

    file_tag: ClassVar[str]  # which owner restores it

    def pack(self) -> tuple[Meta, Tensors]:
        """Return what the owner says of itself as JSON values, and its arrays."""
        raise NotImplementedError

    @property
    def extras(self) -> dict[str, Any]:
        """Plain values that others keep beside the model, by their tag; files carry them."""
        found: dict[str, Any] = self.__dict__.setdefault("_extras", {})
        return found

    @property
    def levels(self) -> list[str]:
        """The processor levels at which this learned before it was loaded (see `noregret.engine.processor`)."""
        found: list[str] = self.__dict__.get("_levels", [])
        return found

    def save(self, path: Any) -> None:
        """Write everything to a file: parameters, state, counters, labels, features. It resumes bit for bit.

        A model with numbers that `load` would refuse is refused, and the file stays as it was.
        """
        try:
            found = headed(self)
        except ModelFileError as e:
            raise ModelFileError(f"{path} was not written: {e}") from None
        store(path, *found)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read an object of this class from a file."""
        loaded = load(path)
        if not isinstance(loaded, cls):
            raise TypeError(f"{path} holds a {type(loaded).__name__}, not a {cls.__name__}")
        return loaded

    def to_bytes(self) -> bytes:
        """Return what `save` would write; `nr.from_bytes` reads it. The same model gives the same bytes."""
        return b"".join(pieces(*headed(self)))

    def digest(self) -> str:
        """Return a SHA-256 in hex that is equal for equal models: state, counters, options, labels and features.

        The stream, the calls it came in, the version and the machine are not part of it.
        """
        meta, tensors = self.pack()
        return checksum(text_of({"kind": self.file_tag, **meta}), tensors)


# ---- writing ---------------------------------------------------------------------------------------------------------
def headed(model: Saved) -> tuple[Meta, Tensors]:
    """Return what a model says of itself under the header of a file, and its tensors."""
    meta, tensors = model.pack()
    extras = options(model.__dict__.get("_extras", {}), "extra", {})
    levels = [*model.levels, *({compiling.level()} - {*model.levels})]
    header = {"format": FORMAT, "noregret": __version__, "kind": model.file_tag, "extras": extras, "levels": levels}
    return {**header, **meta}, tensors


def text_of(meta: Meta) -> str:
    """Return metadata as text, the same for equal values."""
    return json.dumps(meta, sort_keys=True, separators=(",", ":"))


def checksum(text: str, tensors: Tensors) -> str:
    """Return the SHA-256 of the metadata and of every tensor: name, dtype, shape and bytes, little-endian, by name."""
    h = hashlib.sha256(text.encode())
    for name, a in sorted(tensors.items()):
        a = a.astype(a.dtype.newbyteorder("<"), copy=False)
        h.update(f"\n{name} {a.dtype.str} {a.shape}\n".encode())
        h.update(np.ascontiguousarray(a).data)
    return h.hexdigest()


def pieces(meta: Meta, tensors: Tensors) -> list[Any]:
    """Return a file as bytes in pieces: the header of safetensors, then the arrays, those of the widest numbers first.

    The library safetensors writes metadata in any order, so the header is written here.
    """
    text = text_of(meta)
    header: dict[str, Any] = {"__metadata__": {"noregret": text, "sha256": checksum(text, tensors)}}
    found, at = [], 0
    for name, a in sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])):
        a = np.ascontiguousarray(a, a.dtype.newbyteorder("<"))
        header[name] = {"dtype": DTYPES[a.dtype.str[1:]], "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        found.append(a.data.cast("B") if a.nbytes else b"")
        at += a.nbytes
    data = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    data += b" " * (-len(data) % 8)  # arrays begin at a multiple of 8
    return [len(data).to_bytes(8, "little"), data, *found]


def store(path: Any, meta: Meta, tensors: Tensors) -> None:
    """Write metadata and tensors to a file."""
    write(path, pieces(meta, tensors), durable=True)


# ---- reading ---------------------------------------------------------------------------------------------------------
def load(path: Any) -> Any:
    """Return the learner, pipeline or predictor in a file; a ModelFileError says what is wrong with it."""
    with open(path, "rb"):  # missing, unreadable: the system's own error
        pass
    return restored(path, os.fspath(path))


def from_bytes(data: bytes) -> Any:
    """Return the learner, pipeline or predictor that `to_bytes` wrote; a ModelFileError says what is wrong with it.

    >>> import noregret as nr
    >>> m = nr.PA1(C=0.1)
    >>> m.learn_one({"free": 1}, "spam")
    >>> again = nr.from_bytes(m.to_bytes())
    >>> again.predict_one({"free": 1}), again.digest() == m.digest()
    ('spam', True)
    """
    return restored(bytes(data), "bytes")


def restored(source: Any, name: str) -> Any:
    """Return the model in a file, or in bytes."""
    try:
        meta, tensors = read(source)
        model = owner(meta["kind"])(meta, tensors)
        model.extras.update({k: decode(v, {}) for k, v in meta["extras"].items()})
        model.__dict__["_levels"] = levels_in(meta)
    except ModelFileError as e:
        raise ModelFileError(f"{name}: {said(e, 400)}") from None
    except (ImportError, OSError):
        raise
    except Exception as e:
        raise ModelFileError(f"{name}: not a model this version can use: {type(e).__name__}: {said(e)}") from e
    warn_of_another_level(name, model)
    return model


def levels_in(meta: Meta) -> list[str]:
    """Return the processor levels that a file names; those of formats 1 and 2 name none."""
    found = meta.get("levels", [])
    sound = isinstance(found, list) and len(found) <= 10 and all(isinstance(v, str) and v.isalnum() and len(v) <= 20 for v in found)
    expect(sound, "names of processor levels", found)
    return list(found)


def warn_of_another_level(name: str, model: Saved) -> None:
    """Warn if other code than that of this process made a model."""
    here = compiling.level()
    others = [level for level in model.levels if level != here]
    if others:
        made = " and ".join(map(described, others))
        again = f" Set NOREGRET_CPU={others[0]} to run the same code." if others[0] in NAMES and here != "interpreted" else ""
        warnings.warn(
            f"{name} was learned by {made}, and this process runs {described(here)}: scores, and what it learns from here on, may "
            f"differ in their last bits.{again}",
            stacklevel=4,
        )


def read(source: Any) -> tuple[Meta, Tensors]:
    """Return the metadata and tensors of an undamaged file, or bytes, of a known format."""
    from safetensors import SafetensorError

    try:
        texts, tensors = unwrapped(source)
    except SafetensorError as e:
        raise ModelFileError(f"not a whole safetensors file ({said(e)}): damaged, cut short, or of another kind") from None
    text, found = texts["noregret"], checksum(texts["noregret"], tensors)
    if found != texts["sha256"]:
        raise ModelFileError(
            f"the file is damaged: expected sha256 {shortened(texts['sha256'], 64)}, found {found}; use another copy"
        )
    meta = json.loads(text)
    expect(isinstance(meta, dict), "a JSON object as metadata", text)
    version = meta["format"]
    expect(type(version) is int and version >= 1, "a format version", version)
    if version > FORMAT:
        by, format_ = (shortened(str(v), 20) for v in (meta.get("noregret"), version))
        raise ModelFileError(
            f"written by noregret {by} with format {format_}; this is {__version__}, which reads up to {FORMAT}: upgrade noregret"
        )
    meta = meta if version >= 3 else renewed(meta)
    expect(meta["kind"] in KINDS, f"one of {', '.join(KINDS)}", meta["kind"])
    return meta, tensors


def unwrapped(source: Any) -> tuple[Mapping[str, str], Tensors]:
    """Return the two texts and the tensors of a safetensors file, or of its bytes."""
    if isinstance(source, bytes):
        from safetensors.numpy import load as parsed

        tensors = parsed(source)
        header = json.loads(source[8 : 8 + int.from_bytes(source[:8], "little")])
        texts = header.get("__metadata__") or {}
    else:
        from safetensors import safe_open

        with safe_open(source, "numpy") as f:
            texts = f.metadata() or {}
            tensors = {k: f.get_tensor(k) for k in f.keys()}  # noqa: SIM118
    if not {"noregret", "sha256"} <= set(texts):
        raise ModelFileError("a safetensors file, but its metadata are not those of a noregret model")
    return texts, {k: np.require(a, requirements=["C", "A", "W"]) for k, a in tensors.items()}


def renewed(meta: Meta) -> Meta:
    """Return the metadata of an older format as this one has them: extras were among the attributes that `fit` notes."""
    kind = "compact" if "compact" in meta else "pipeline" if meta.get("front") is not None else "learner"
    fitted = meta.get("fitted", {})
    extras = {tag: fitted.pop(f"{tag}_") for tag in ("stream", "sampler") if f"{tag}_" in fitted}
    return {**meta, "kind": kind, "extras": extras}
