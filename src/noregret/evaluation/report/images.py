"""Small pictures for the page: components as PNG, without any other library, and the axes of charts that stand still."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence

import numpy as np

from ...text import amount
from .palette import LIGHT

WIDE, HIGH = 560, 330  # of a chart, in its own units
LEFT, BELOW = 56, 30  # room for the numbers of its axes


def pixels(image: str, shape: Sequence[int]) -> np.ndarray:
    """Return an image, bytes in base64, as numbers from -1 to 1."""
    return np.frombuffer(base64.b64decode(image), np.int8).reshape(shape) / 127.0


def rgb(color: str) -> tuple[int, int, int]:
    """Return a colour such as #0072b2 as three numbers."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def png(image: np.ndarray) -> bytes:
    """Return numbers from -1 to 1 as a PNG: positive ones in the first colour, negative ones in the second, 0 transparent."""
    height, width = image.shape
    found = np.zeros((height, width, 4), np.uint8)
    found[..., :3] = np.where(image[..., None] >= 0.0, rgb(LIGHT[0]), rgb(LIGHT[1]))
    found[..., 3] = np.rint(255.0 * np.abs(image))
    lines = b"".join(b"\0" + row.tobytes() for row in found)
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


def chunk(name: bytes, data: bytes) -> bytes:
    """Return a part of a PNG."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def inline(image: str, shape: Sequence[int]) -> str:
    """Return an image as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(png(pixels(image, shape))).decode()}"


# ---- charts that stand still ---------------------------------------------------------------------------------------------
def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two, at most so many."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * m for m in (1.0, 2.0, 5.0, 10.0) if unit * m >= rough)
    first = math.ceil(low / step - 1e-9)
    return [step * k for k in range(first, math.floor(high / step + 1e-9) + 1)]


def compact(v: float) -> str:
    """Return a number in few characters: 950, 12k, 3.4M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(v) >= size:
            return f"{v / (1e3 if letter == 'k' else size):g}{letter}"
    return amount(v)


class Axis:
    """Where numbers lie between two ends of a line."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high = (low, high) if high > low else (low - 1.0, low + 1.0)
        self.start, self.end = start, end

    def at(self, v: float) -> float:
        """Return the place of a number."""
        return self.start + (self.end - self.start) * (v - self.low) / (self.high - self.low)


def frame(across: Axis, up: Axis, marks: Sequence[tuple[float, str]], inner: str, said: str) -> str:
    """Return a chart: what is in it, lines at round numbers with these beside them, and marks below."""
    parts = []
    for v in ticks(up.low, up.high):
        y = up.at(v)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDE}" y1="{y:.1f}" y2="{y:.1f}"/><text x="{LEFT - 6}" y="{y + 4:.1f}">{compact(v)}</text>'
        )
    for v, text in marks:
        parts.append(f'<text class="below" x="{across.at(v):.1f}" y="{HIGH - BELOW + 18}">{text}</text>')
    return (
        f'<svg class="still" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{said}">'
        f'<g class="axes">{"".join(parts)}</g>{inner}</svg>'
    )
