"""Learners with a cell for every pair of features say what they cost before it is paid."""

import warnings

import numpy as np
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.algorithm.state import squares
from noregret.cli import main
from noregret.learners import affording

TOLD = r"{} keeps a number for every pair of features: 1,201 features take 11.5 MB and roughly 2.9 ms a row"


def batch(d):
    return np.eye(2, d), [1, -1]


@pytest.mark.parametrize(("name", "instead"), [("arow", "covariance='diag'"), ("rls", "nag_regressor"), ("iellip", "such as nag")])
def test_many_columns_are_warned_of_once(name, instead):
    m = nr.learner(name, **({"covariance": "full"} if name == "arow" else {}))
    with pytest.warns(UserWarning, match=TOLD.format(name)) as said:
        m.partial_fit(*batch(1200))
    assert instead in str(said[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.partial_fit(*batch(1200))
        nr.learner(name).partial_fit(*batch(900))


def test_what_is_linear_is_not_warned_of():
    for name in ("arow", "pa1", "nag", "adagrad", "ogd"):
        m = nr.learner(name).partial_fit(*batch(3000))
        assert squares(m.model.spec, m.model.dims) == 0.0


def test_names_that_come_one_by_one():
    m = nr.learner("arow", covariance="full")
    m.learn_one({str(i): 1.0 for i in range(600)}, 1)
    with pytest.warns(UserWarning, match="for every pair of features"):
        m.learn_one({str(i): 1.0 for i in range(1100)}, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.learn_one({str(i): 1.0 for i in range(3000)}, -1)


def test_more_than_the_machine_has_is_refused_and_nothing_changes(monkeypatch):
    monkeypatch.setattr(affording, "memory", lambda: 2e7)
    with pytest.raises(ValueError, match=r"this machine has 20 MB. Use covariance='diag', or fold the features into fewer"):
        nr.learner("arow", covariance="full").partial_fit(*batch(1200))
    m = nr.learner("arow", covariance="full").partial_fit(*batch(800))
    before = m.digest()
    with pytest.raises(ValueError, match=r"this machine has 20 MB"):
        m.partial_fit(*batch(800)[:1], [2, 3])  # a covariance for each class
    assert m.digest() == before


def test_on_the_command_line(tmp_path):
    path = tmp_path / "wide.svm"
    path.write_text("1 1500:1\n-1 7:1\n")
    args = ["evaluate", str(path), "-m", "arow", "--covariance", "full", "--no-regret", "--quiet"]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        told = CliRunner().invoke(main, args)
    assert told.exit_code == 0
    assert "Warning: arow keeps a number for every pair of features: 1,502 features take 18 MB" in told.stderr
    assert "Use --covariance diag, or fold the features into fewer (--hash-bits 9)" in told.stderr
