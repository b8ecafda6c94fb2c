"""A learner without rows, labels or scores, on the base alone: files, copies, merging, parameters, an axis that grows."""

import copy
import json
import pickle
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import noregret as nr
from noregret.algorithm.params import Positive
from noregret.algorithm.rounds import EXAMPLES
from noregret.algorithm.state import Slot
from noregret.files.model_file import ModelFileError
from noregret.learners.base import APART, REGISTRY, Base
from noregret.learners.held import Held


class Params(NamedTuple):
    width: Positive = 1.0


class State(NamedTuple):
    n: Annotated[Any, Slot(("bin",), dtype=np.int64, merge="sum")]
    top: Annotated[Any, Slot((), dtype=np.float64, merge="keep")]


class Histogram(Base):
    """Counts numbers from 0 on, in bins of a width; bins appear as they are needed."""

    name = "histogram"
    State, Params = State, Params
    sizes = lambda p: {"bin": 4}  # noqa: E731

    def learn_one(self, v):
        m = self.held or self.model_class(self)
        at = int(v / m.params.width)
        if at >= m.dims["bin"]:
            m.resize(bin=max(at + 1, 2 * m.dims["bin"]))
        m.state.n[at] += 1
        m.state.top[0] = max(m.state.top[0], v)
        m.tally[EXAMPLES] += 1
        self.model = m
        return self


@pytest.fixture
def learned():
    m = Histogram(width=0.5)
    for v in (0.1, 0.2, 1.9, 7.3):
        m.learn_one(v)
    return m


def test_it_is_found_by_name_and_not_listed():
    assert APART["histogram"] is Histogram
    assert "histogram" not in REGISTRY
    assert "histogram" not in nr.algorithms()
    assert isinstance(nr.learner("histogram", width=2.0), Histogram)


def test_parameters():
    m = Histogram(width=2.0)
    assert (repr(m), m.get_params()) == ("Histogram(width=2.0)", {"width": 2.0, "dtype": "float64"})
    assert repr(m.clone().set_params(width=3.0)) == "Histogram(width=3.0)"
    with pytest.raises(TypeError, match="Histogram has no parameter 'widht'. Did you mean"):
        Histogram(widht=1.0)
    with pytest.raises(ValueError, match=r"width must be in \(0, inf\), got -1.0"):
        Histogram(width=-1.0).learn_one(1.0)


def test_counts_and_growth(learned):
    assert learned.n_seen_ == 4
    assert learned.model.dims == {"bin": 15}
    assert np.flatnonzero(learned.state.n).tolist() == [0, 3, 14]
    assert isinstance(learned.model, Held)
    assert list(learned.model.arrays()) == ["n", "top"]


def test_before_anything_is_learned(learned):
    fresh = learned.clone()
    assert not fresh.started
    assert fresh.held is None
    with pytest.raises(ValueError, match="has learned nothing yet"):  # scikit-learn's own error, where it is loaded
        _ = fresh.model
    assert not learned.reset().started


def same(a, b):
    return (a.digest(), a.to_bytes(), a.n_seen_) == (b.digest(), b.to_bytes(), b.n_seen_)


def test_files_and_copies(learned, tmp_path):
    learned.save(tmp_path / "m")
    again = nr.load(tmp_path / "m")
    others = [again, nr.from_bytes(learned.to_bytes()), copy.deepcopy(learned), pickle.loads(pickle.dumps(learned))]
    for m in others:
        assert same(m, learned)
        assert same(m.learn_one(100.0), copy.deepcopy(learned).learn_one(100.0))
    assert not nr.from_bytes(Histogram().to_bytes()).started


def test_a_file_with_other_sizes(learned, monkeypatch):
    said, tensors = learned.pack()
    said["model"]["dims"]["bin"] = 16
    monkeypatch.setattr(Histogram, "pack", lambda self: (json.loads(json.dumps(said)), tensors))
    with pytest.raises(ModelFileError, match=r"expected state.n of shape \(16,\)"):
        nr.from_bytes(learned.to_bytes())


def test_merging(learned):
    other = Histogram(width=0.5).learn_one(0.3).learn_one(20.0)
    learned.merge(other)
    assert learned.n_seen_ == 6
    assert {k: int(learned.state.n[k]) for k in np.flatnonzero(learned.state.n)} == {0: 3, 3: 1, 14: 1, 40: 1}
    assert Histogram(width=0.5).merge(other).n_seen_ == 2
    with pytest.raises(ValueError, match="different parameters"):
        learned.merge(Histogram(width=1.0))


def test_new_parameters_and_forgetting(learned):
    learned.set_params(width=1.0).learn_one(14.2)
    assert learned.state.n[14] == 2
    learned.model.forget()
    assert (learned.n_seen_, int(learned.state.n.sum())) == (5, 0)
