"""Synthetic streams with fixed seeds: text-like sparse rows, dense rows, and click-like categorical rows."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

WORDS, NNZ, DENSE, FIELDS, HASH_BITS = 47_236, 75, 54, 30, 18
CSR = csr_array | csr_matrix
Dicts = list[dict[str, float]]


class Stream(NamedTuple):
    """Examples and their labels, +1 or -1."""

    X: NDArray[np.floating] | CSR
    y: NDArray[np.int64]


def zipf(rng: np.random.Generator, size: tuple[int, int], d: int, shift: float, power: float = 1.0) -> NDArray[np.int64]:
    """Draw ranks 0..d-1 with probability proportional to 1 / (rank + shift) ** power."""
    mass = np.cumsum((np.arange(d) + shift) ** -power)
    return np.minimum(np.searchsorted(mass, rng.random(size) * mass[-1], side="right"), d - 1)


def distinct(draws: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Keep the first k different entries of each row, sorted."""
    order = np.argsort(draws, axis=1, kind="stable")
    ranked = np.take_along_axis(draws, order, axis=1)
    fresh = np.ones(draws.shape, dtype=bool)
    fresh[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    keep = np.empty_like(fresh)
    np.put_along_axis(keep, order, fresh, axis=1)
    keep &= np.cumsum(keep, axis=1) <= k
    if (keep.sum(axis=1) < k).any():
        raise ValueError(f"too few different columns: expected {k} in each row; draw more than {draws.shape[1]}")
    return np.sort(draws[keep].reshape(-1, k), axis=1)


def signs(score: NDArray[np.floating], noise: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Label by the side of the median after Gaussian noise of `noise` standard deviations of the score."""
    noisy = score + noise * score.std() * rng.standard_normal(len(score))
    return np.where(noisy > np.median(noisy), 1, -1).astype(np.int64)


@lru_cache(maxsize=2)
def text(n: int, dtype: str = "float64", seed: int = 1) -> Stream:
    """Make n documents of 75 of 47k words: Zipf-distributed columns, unit tf-idf-like rows, a noisy linear concept.

    Words come in pairs of neighbouring ranks, one for each class; a word of the wrong class becomes its partner one time in
    four, and one label in fifty is wrong.
    """
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], n)
    ranks = zipf(rng, (n, 2 * NNZ), WORDS, shift=20.0)
    ranks ^= (ranks % 2 == (y[:, None] > 0)) & (rng.random(ranks.shape) < 0.25)
    column = rng.permutation(WORDS)
    cols = distinct(column[ranks], NNZ)
    values = (1.0 + np.log(rng.geometric(0.7, cols.shape))) * np.log1p(np.argsort(column)[cols])
    values /= np.sqrt((values**2).sum(axis=1, keepdims=True))
    y[rng.random(n) < 0.02] *= -1
    start = np.arange(0, n * NNZ + 1, NNZ, dtype=np.int32)
    x = csr_matrix((values.ravel().astype(dtype), cols.ravel().astype(np.int32), start), shape=(n, WORDS))
    x.has_sorted_indices = x.has_canonical_format = True
    return Stream(x, y)


@lru_cache(maxsize=2)
def dense(n: int, dtype: str = "float32", seed: int = 2) -> Stream:
    """Make n rows of 54 columns: ten real ones, and one-hot codes of 4 and of 40 values."""
    rng = np.random.default_rng(seed)
    x = np.zeros((n, DENSE), dtype=dtype)
    x[:, :10] = rng.standard_normal((n, 10), dtype=np.float32)
    x[np.arange(n), 10 + rng.integers(4, size=n)] = 1
    x[np.arange(n), 14 + rng.integers(40, size=n)] = 1
    score = x @ rng.standard_normal(DENSE).astype(dtype)
    return Stream(x, signs(score, 0.5, rng))


@lru_cache(maxsize=1)
def _clicks(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the value of each of the 30 fields and the label."""
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(4, 200_000, FIELDS).astype(int)
    values = np.stack([zipf(rng, (n, 1), size, shift=2.0)[:, 0] for size in sizes], axis=1)
    score = sum((rng.standard_normal(size) * 0.5)[values[:, j]] for j, size in enumerate(sizes))
    noisy = score + rng.logistic(size=n)
    return values, np.where(noisy > np.quantile(noisy, 0.8), 1, -1).astype(np.int64)


@lru_cache(maxsize=1)
def clicks(n: int, seed: int = 3) -> Stream:
    """Make n rows of 30 categorical fields, one click in five, hashed into 2^18 columns."""
    values, y = _clicks(n, seed)
    code = (values.astype(np.uint64) * np.uint64(FIELDS) + np.arange(FIELDS, dtype=np.uint64)) + np.uint64(1)
    code *= np.uint64(0x9E3779B97F4A7C15)
    code ^= code >> np.uint64(29)
    cols = ((code * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(64 - HASH_BITS)).astype(np.int32)
    start = np.arange(0, n * FIELDS + 1, FIELDS, dtype=np.int32)
    x = csr_matrix((np.ones(cols.size), cols.ravel(), start), shape=(n, 1 << HASH_BITS))
    x.sum_duplicates()
    return Stream(x, y)


def click_dicts(n: int, seed: int = 3) -> tuple[Dicts, NDArray[np.int64]]:
    """Give the same clicks as dicts of `field=value` names."""
    values, y = _clicks(n, seed)
    return [{f"f{j}={v}": 1.0 for j, v in enumerate(row)} for row in values.tolist()], y


def text_dicts(n: int) -> tuple[Dicts, NDArray[np.int64]]:
    """Give documents of the text stream as dicts of 75 names, each a string of its own, as a tokenizer makes them."""
    x, y = text(n)
    rows = zip(x.indices.reshape(n, NNZ).tolist(), x.data.reshape(n, NNZ).tolist(), strict=True)
    return [{f"w{c}": v for c, v in zip(*row, strict=True)} for row in rows], y


def record_dicts(n: int, seed: int = 4) -> tuple[Dicts, NDArray[np.int64]]:
    """Give records of ten named numbers, the same ten names in every record."""
    rng = np.random.default_rng(seed)
    names = [f"column_{j}" for j in range(10)]
    x = rng.standard_normal((n, 10))
    y = signs(x @ rng.standard_normal(10), 0.3, rng)
    return [dict(zip(names, row, strict=True)) for row in x.tolist()], y


def vw_lines(rows: Dicts, y: NDArray[np.int64]) -> list[str]:
    """Write dicts as lines of Vowpal Wabbit text."""
    return [f"{t} | " + " ".join(f"{name}:{v:.6g}" for name, v in row.items()) for row, t in zip(rows, y.tolist(), strict=True)]
