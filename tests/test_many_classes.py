"""Thousands of classes: memory is bounded by what the model needs, and cutting rows into runs changes no bit."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.learners import task
from noregret.training.answering import answer

N = 3000  # rows and classes: all scores at once would take 72 MB
MODELS = ["pa1", "perceptron", "eg_pm", "arow", "averaged_perceptron", "hedge:learners=pa1+ogd"]


def data(n=N, classes=N, seed=0):
    rng = np.random.default_rng(seed)
    return np.eye(3)[rng.integers(0, 3, n)] + 0.5, rng.permutation(n) % classes


def peak(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(task, "ROOM", 1 << 15)


def test_memory_does_not_grow_with_rows_times_classes(small):
    X, y = data()
    m = nr.PA1().partial_fit(X, y)
    whole = 8 * N * N
    assert peak(lambda: m.predict(X)) < whole / 10
    assert peak(lambda: nr.PA1().partial_fit(X, y)) < whole / 10
    assert peak(lambda: nr.PA1().fit(X, y)) < whole / 10
    assert peak(lambda: nr.train(X, "pa1", y)) < whole / 10
    assert peak(lambda: [None for _ in answer((X, y), m)]) < whole / 10
    assert peak(lambda: nr.pipeline(nr.Normalize(), nr.PA1()).partial_fit(X, y).predict(X)) < whole / 10
    assert peak(lambda: nr.evaluate(X, "pa1", y, regret=False)) < whole / 4  # and the confusions of all classes
    assert m.decision_function(X[:7]).shape == (7, N)


@pytest.mark.parametrize("layout", ["dense", "csr", "dicts"])
def test_memory_of_a_compact_does_not_grow_with_rows_times_classes(small, layout):
    X, y = data()
    named = [{str(j): v for j, v in enumerate(x)} for x in X]
    rows = {"dense": X, "csr": csr_array(X), "dicts": named}[layout]
    m = nr.PA1()
    (m.learn_many if layout == "dicts" else m.partial_fit)(rows, y)
    compact = m.compact()
    assert (compact.predict(rows) == m.predict(rows)).all()
    assert peak(lambda: compact.predict(rows)) < 8 * N * N / 10
    assert compact.decision_function(rows[:7]).shape == (7, N)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("classes", [3, 40])
def test_the_same_bits_in_any_runs(monkeypatch, model, classes):
    X, y = data(200, classes)
    late = np.where(np.arange(200) < 90, y % 2, y)  # the third class comes late

    def all_of_it(labels):
        made = nr.learner("hedge", learners=["pa1", "ogd"]) if model.startswith("hedge") else nr.learner(model)
        m = made.clone().partial_fit(X, labels)
        p = nr.pipeline(nr.Scale(), made.clone()).partial_fit(X, labels)
        fitted = made.clone().fit(X, labels, epochs=2)
        report = nr.evaluate(X, made.clone(), labels, holdout=(X, labels), regret=False).learners[0]
        said = np.concatenate([a.y for a in answer(X, m)])
        figures = [{k: part[k] for k in ("mistakes", "confusion", "losses")} for part in (report, report["holdout"])]
        trained = nr.train(X, made.clone(), labels).model
        return [m.digest(), p.digest(), fitted.digest(), trained.digest()], [m.predict(X), p.predict(X), said], figures

    for labels in (y, late):
        digests, answers, figures = all_of_it(labels)
        monkeypatch.setattr(task, "ROOM", 100)
        again = all_of_it(labels)
        monkeypatch.undo()
        assert digests == again[0]
        assert all(np.array_equal(a, b) for a, b in zip(answers, again[1], strict=True))
        for a, b in zip(figures, again[2], strict=True):
            assert a.pop("losses") == pytest.approx(b.pop("losses"), rel=1e-13)  # sums of sums
            assert a == b


def test_what_is_refused_changes_nothing(small):
    X, y = data(500, 500)
    m = nr.PA1(classes=list(range(500))).partial_fit(X, y)
    before = m.digest()
    with pytest.raises(ValueError, match="not in the declared classes"):
        m.partial_fit(X, np.append(y[:-1], 500))
    assert m.digest() == before
