"""Algorithms apart from tasks: one algorithm under a task of another kind, tasks as objects, no task told by its name."""

import copy
import pathlib
import pickle
import re

import numpy as np
import pytest

import noregret as nr
from noregret.learners.learner import Learner
from noregret.learners.task import TASKS, Task
from noregret.registry import algorithm
from noregret.tasks.loops import ONE_SCORE

ROOT = pathlib.Path(nr.__file__).parent


# ---- a task made here, of algorithms that know nothing of it -----------------------------------------------------------
class Preference(Task):
    """The better of two rows has the higher score."""

    estimator = "regressor"
    text = ONE_SCORE
    __slots__ = ()


class Ranker(Learner):
    """Learns from pairs of rows of one query: their difference is an example with label +1."""

    task = Preference("preference among rows")
    options = {**Learner.options, "fit_intercept": False, "average": False}

    def learn_query(self, X, relevance):
        better, worse = np.nonzero(np.greater.outer(relevance, relevance))
        return self.partial_fit(X[better] - X[worse], np.ones(len(better)))

    def rank(self, X):
        return np.argsort(-self._scores(X)[:, 0], kind="stable")


@pytest.fixture
def ranker():
    """Return rankers by the name of their algorithm; the registry forgets them."""
    made = []

    def make(name, **params):
        cls = type(f"{name}Ranker", (Ranker,), {"name": f"{name}_ranker"}, algorithm=algorithm(name))
        made.append(cls.name)
        return cls(**params)

    yield make
    for name in made:
        del nr.learners.base.REGISTRY[name]


def queries(n, d=5, seed=0):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(d)
    for _ in range(n):
        X = rng.standard_normal((6, d))
        yield X, np.argsort(np.argsort(X @ u)) // 2


@pytest.mark.parametrize(("name", "params"), [("pa1", {"C": 0.1}), ("arow", {"r": 0.5}), ("ogd", {"loss": "log", "eta": 0.3})])
def test_a_ranker_of_an_algorithm_by_name(ranker, name, params):
    m = ranker(name, **params)
    plain = nr.learner(name, fit_intercept=False, classes=[-1, 1], **params)
    for X, relevance in queries(30):
        m.learn_query(X, relevance)
        better, worse = np.nonzero(np.greater.outer(relevance, relevance))
        plain.partial_fit(X[better] - X[worse], np.ones(len(better), int))
    assert m.algorithm.step is plain.algorithm.step
    assert m.Params is plain.Params
    assert {k: v.tobytes() for k, v in m.model.arrays().items()} == {k: v.tobytes() for k, v in plain.model.arrays().items()}
    wrong = pairs = 0
    for X, relevance in queries(30, seed=0):
        place = np.argsort(m.rank(X))
        better, worse = np.nonzero(np.greater.outer(relevance, relevance))
        wrong, pairs = wrong + (place[better] > place[worse]).sum(), pairs + len(better)
    assert wrong < 0.1 * pairs


def test_a_class_that_takes_an_algorithm_declares_only_what_differs(ranker):
    assert ranker("pa1").algorithm.cite == nr.PA1.cite
    assert ranker("arow").State is nr.AROW.State
    assert "name" in nr.PA1Regressor.__dict__
    assert nr.PA1Regressor.step is nr.PA1.step
    assert nr.PA1Regressor.Params is nr.PA1.Params
    with pytest.raises(ValueError, match="no learner is called 'pa9'"):
        algorithm("pa9")


def test_parameters_of_a_part_are_those_of_the_learner():
    """The loss has an epsilon, so a regressor has one: in its range, and in the loss that the step sees."""
    assert nr.OGDRegressor().get_params()["epsilon"] == 0.1
    assert "epsilon" not in nr.OGD().get_params()
    m = nr.OGDRegressor(loss="epsilon_insensitive", epsilon=0.3).partial_fit([[1.0]], [2.0])
    assert m.model.params.loss.epsilon == 0.3
    with pytest.raises(ValueError, match=r"epsilon must be in \[0, inf\), got -1"):
        nr.PA1Regressor(epsilon=-1).partial_fit([[1.0]], [2.0])
    with pytest.raises(ValueError, match="loss must be one of 'square', 'absolute'"):
        nr.OGDRegressor(loss="hinge").partial_fit([[1.0]], [2.0])


# ---- tasks -------------------------------------------------------------------------------------------------------------
def test_a_task_is_a_text_and_an_object():
    assert set(nr.algorithms()) == {n for task in ("classification", "regression", "one_class") for n in nr.algorithms(task)}
    for name, kind in (("pa1", "classifier"), ("rls", "regressor"), ("pa_uniclass", "outlier_detector")):
        task = nr.learner(name).task
        assert task == str(task)
        assert TASKS[str(task)] is task
        assert task.estimator == kind
        assert pickle.loads(pickle.dumps(task)) is task is copy.deepcopy(task)
    with pytest.raises(ValueError, match="task must be one of"):
        nr.algorithms("clustering")


def test_answers_from_scores():
    f = np.array([[0.5], [-0.5], [0.0]])
    m = nr.PA1(classes=["no", "yes"]).partial_fit([[1.0], [-1.0]], ["yes", "no"]).model
    assert m.task.answers(m, f).tolist() == [m.task.answer(m, row) for row in f] == ["yes", "no", "yes"]
    m = nr.PA1Regressor().partial_fit([[1.0]], [1.0]).model
    assert m.task.answers(m, f).tolist() == [m.task.answer(m, row) for row in f] == [0.5, -0.5, 0.0]
    m = nr.PAUniclass().partial_fit([[1.0]]).model
    assert m.task.answers(m, f).tolist() == [m.task.answer(m, row) for row in f] == [1, -1, 1]


@pytest.mark.parametrize("room", sorted(p.name for p in ROOT.iterdir() if p.name not in ("evaluation", "training", "cli")))
def test_no_code_asks_for_a_task_by_name(room):
    for path in (ROOT / room).rglob("*.py") if (ROOT / room).is_dir() else [ROOT / room]:
        assert not re.search(r"\btask\s*(==|!=|(not )?in \(?)\s*[\"']", path.read_text()), path
