"""The base of experts and portfolios: rounds of numbers by name, the chunk law, files, and input that is refused."""

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import noregret as nr
from noregret.algorithm.params import Positive
from noregret.algorithm.state import Number, Slot
from noregret.allocations.allocator import Allocator
from noregret.engine.compiling import interpreted
from noregret.engine.elementary import exp
from noregret.engine.words import strict
from noregret.learners.base import APART

Column = Annotated[Any, Slot(("column",), dtype=np.float64)]


class Book(NamedTuple):
    b: Column
    paid: Number


class State(NamedTuple):
    L: Column


class Params(NamedTuple):
    eta: Positive = 0.5


@strict
def settle(a, x, p, w):
    h = 0.0
    for k in range(x.shape[0]):
        w[k] = a.b[k]
        h += a.b[k] * x[k]
    a.paid[0] += h
    return h, 0.0


@strict
def after(s, x, b, p):
    total = 0.0
    for k in range(x.shape[0]):
        s.L[k] += x[k]
        b[k] = exp(-p.eta * s.L[k])
        total += b[k]
    for k in range(x.shape[0]):
        b[k] /= total


class Weigh(Allocator):
    """Weights proportional to exp(-eta L)."""

    name = "test_weigh"
    Book, State, Params, settle, after = Book, State, Params, settle, after


del APART["test_weigh"]  # other tests count the learners there are


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(APART, "test_weigh", Weigh)


X = np.random.default_rng(0).random((40, 3))


def test_weights_come_from_before_the_round():
    m = Weigh(eta=2.0)
    r = m.learn_rounds(X)
    L = np.vstack([np.zeros(3), X.cumsum(0)])
    W = np.exp(-2.0 * L)
    W /= W.sum(1, keepdims=True)
    np.testing.assert_allclose(r.weights, W[:-1], atol=1e-14)
    np.testing.assert_allclose(m.weights_, W[-1], atol=1e-14)
    np.testing.assert_allclose(r.outcome, (W[:-1] * X).sum(1))
    assert m.n_seen_ == 40
    assert m.names_ is None
    assert not r.turnover.any()


@pytest.mark.parametrize("size", [1, 7])
def test_any_split_into_calls_gives_the_same_bits(size):
    whole, parts = Weigh().partial_fit(X), Weigh()
    W = [parts.learn_many(X[a : a + size]) for a in range(0, len(X), size)]
    assert whole.digest() == parts.digest()
    assert np.array_equal(np.vstack(W), Weigh().learn_many(X))
    with interpreted():
        np.testing.assert_allclose(Weigh().fit(X).weights_, whole.weights_, rtol=1e-12)


def test_files_and_copies(tmp_path):
    m = Weigh(eta=0.7)
    m.learn_rounds(X[:9], ["a", "b", "c"])
    m.save(tmp_path / "m.nr")
    again = nr.load(tmp_path / "m.nr")
    assert again.names_ == ["a", "b", "c"]
    assert again.digest() == m.digest()
    assert again.n_seen_ == 9
    assert nr.from_bytes(m.to_bytes()).partial_fit(X[9:]).digest() == m.partial_fit(X[9:]).digest()
    assert not m.clone().started
    assert not m.reset().started
    with pytest.raises(ValueError, match="has learned nothing yet"):
        _ = m.weights_


def test_names_from_dicts_and_frames():
    pandas = pytest.importorskip("pandas")
    m = Weigh()
    held = m.learn_one({"a": 0.1, "b": 0.2, "c": 0.9})
    assert held == {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}
    m.learn_one({"c": 0.5, "b": 0.2, "a": 0.1})
    m.learn_many(pandas.DataFrame({"b": [0.1], "a": [0.2], "c": [0.3]}))
    same = Weigh().fit([[0.1, 0.2, 0.9], [0.1, 0.2, 0.5], [0.2, 0.1, 0.3]])
    assert np.array_equal(m.weights_, same.weights_)
    assert m.names_ == ["a", "b", "c"]
    table = pytest.importorskip("pyarrow").table({"c": [0.5], "b": [0.2], "a": [0.1]})
    assert np.array_equal(m.learn_many(table)[0], same.weights_)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[1.0, np.nan, 0.0]], "column 'b' of round 3 is nan"),
        ([[0.1, 0.2]], "expected 3 columns in every round, got 2"),
        ([["x", 0.2, 0.1]], "a row of numbers for each round"),
        ([], "table with a row for each round"),
        ({"a": 1.0, "b": 2.0, "d": 1.0}, "column 'c' is missing and column 'd' is new"),
    ],
)
def test_bad_rounds_are_refused_and_nothing_changes(rows, words):
    m = Weigh()
    m.learn_rounds(X[:2], ["a", "b", "c"])
    before = m.digest()
    with pytest.raises((TypeError, ValueError), match=words):
        m.learn_one(rows) if isinstance(rows, dict) else m.learn_many(rows)
    assert m.digest() == before
    fresh = Weigh()
    with pytest.raises((TypeError, ValueError)):
        fresh.learn_many([[np.nan, 1.0]])
    assert not fresh.started
