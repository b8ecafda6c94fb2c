"""The River adapter: River's own checks, and the learner's own answers."""

import gc
import importlib
import math
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from conftest import SPARSE, on_sparse_rows
from river import base, checks, datasets, ensemble, evaluate, metrics, preprocessing

import noregret as nr
from noregret.registry import load_all
from noregret.river import RiverClassifier, RiverRegressor

ADAPTERS = {"classification": RiverClassifier, "regression": RiverRegressor}
NAMES = sorted(name for name, cls in load_all().items() if cls.task in ADAPTERS)
PHISHING = list(datasets.Phishing().take(300))
APPROVAL = list(datasets.TrumpApproval().take(200))
ETA = {
    "classification": math.pi / 30,  # features are 0, 1/2, 1: with 0.1 a margin is exactly 1, or not quite, by the order of a sum
    "regression": 1e-12,  # one feature is near 736000: a gradient step of more than 2/|x|^2 diverges
}


def learner_of(name):
    cls = load_all()[name]
    stepped = "eta" in cls.defaults and name not in ("cw", "cw_var", "scw1", "scw2")  # whose eta is a probability
    params = {"eta": ETA[cls.task]} if stepped else {}
    return cls(**params, theta=1.0) if cls.defaults.get("theta", 0) is None else cls(**params)


def adapter_of(learner):
    return ADAPTERS[learner.task](learner)


def stream_of(learner):
    return PHISHING if learner.task == "classification" else APPROVAL


@pytest.mark.parametrize("name", ["arow", "eg", "nag", "pa1", "pa1_regressor", "rls", "voted_perceptron"])
def test_river_checks(name):
    """Of learners of several kinds: the adapter is the same for all, and the other tests run for all."""
    checks.check_estimator(adapter_of(learner_of(name)))


@pytest.mark.parametrize("adapter", ADAPTERS.values())
def test_river_checks_of_its_own_test_params(adapter):
    for params in adapter._unit_test_params():
        checks.check_estimator(adapter(**params))


@pytest.fixture(autouse=True)
def _little_to_collect():
    """Set what other tests have compiled apart: River collects garbage to weigh a model, through all there is."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _compiled_or_not(request):
    """Compile what is compiled for sparse rows anyway."""
    names = getattr(getattr(request.node, "callspec", None), "params", {})
    with on_sparse_rows(names.get("name", "pa1")):
        yield


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_of_the_learner(name):
    learner, model = learner_of(name), adapter_of(learner_of(name))
    stream = stream_of(learner)[: None if name in SPARSE else 80]
    for i, (x, y) in enumerate(stream):
        before = model.predict_one(x)
        answer = learner.learn_one(x, y)
        shared = name in (
            "coin_regressor",
            "auto",
            "auto_regressor",
            "hedge_regressor",
        )  # the row itself counts
        assert before == answer or i == 0 or shared, (i, before, answer)
        model.learn_one(x, y)
    assert all(model.predict_one(x) == learner.predict_one(x) for x, _ in stream)
    assert model.learner.n_updates_ == learner.n_updates_ > 0


@pytest.mark.parametrize("name", NAMES)
def test_batches_of_a_frame_are_its_rows(name):
    one, many = adapter_of(learner_of(name)), adapter_of(learner_of(name))
    rows = stream_of(one.learner)[: None if name in SPARSE else 80]
    X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows])
    for x, target in rows:
        one.learn_one(x, target)
    for a, b in pairwise([0, 1, 40, 41, len(rows) // 2 + 5, len(rows)]):
        many.learn_many(X[a:b], y[a:b])
    assert many.learner.n_seen_ == len(rows)
    assert many.learner.n_updates_ == one.learner.n_updates_
    answers = many.predict_many(X)
    assert answers.index.equals(X.index)
    close = np.allclose if many.task == "regression" else np.array_equal
    assert close(answers.to_numpy(), [one.predict_one(x) for x, _ in rows])


def test_nothing_is_known_before_the_first_example():
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9])
    model = RiverClassifier(nr.PA1())
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_many(X).tolist() == [None, None]
    assert model.predict_proba_many(X).shape == (2, 0)
    assert RiverRegressor(nr.PA1Regressor()).predict_one({"a": 1.0}) == 0.0
    assert RiverRegressor(nr.PA1Regressor()).predict_many(X).to_dict() == {7: 0.0, 9: 0.0}


def test_probabilities_of_one_two_and_three_classes():
    model = RiverClassifier(nr.PA1(fit_intercept=False))
    model.learn_one({"a": 1.0}, "x")
    assert model.predict_proba_one({"a": 1.0}) == {"x": 1.0}
    model.learn_one({"b": 1.0}, "y")
    assert model.predict_proba_one({"b": 1.0}) == model.learner.predict_proba_one({"b": 1.0})
    model.learn_one({"c": 1.0}, "z")
    found = model.predict_proba_one({"c": 1.0})
    assert list(found) == ["x", "y", "z"]
    assert sum(found.values()) == pytest.approx(1)
    assert max(found, key=found.get) == model.predict_one({"c": 1.0}) == "z"
    many = model.predict_proba_many(pd.DataFrame([{"c": 1.0, "a": 0.0}, {"c": 0.0, "a": 2.0}]))
    assert many.loc[0].to_dict() == found


def test_huge_scores_have_probabilities():
    model = RiverClassifier(nr.Perceptron())
    for x, y in [({"a": 1e200}, True), ({"a": -1e200}, False)]:
        model.learn_one(x, y)
    found = model.predict_proba_one({"a": 1e100})
    assert sum(found.values()) == pytest.approx(1)
    assert 0.0 < found[False] < 1.0


def test_pipeline_with_a_scaler():
    model = preprocessing.StandardScaler() | RiverClassifier(nr.PA1(C=0.1))
    metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy() + metrics.ROCAUC())
    accuracy, auc = (m.get() for m in metric)
    assert accuracy > 0.85
    assert auc > 0.92
    model = preprocessing.StandardScaler() | RiverRegressor(nr.PA1Regressor(C=10.0))
    assert evaluate.progressive_val_score(APPROVAL, model, metrics.MAE()).get() < 3.5


def test_pipeline_with_categories():
    model = preprocessing.OneHotEncoder() | RiverClassifier(nr.PA1())
    for colour, y in [("red", 1), ("blue", 0)] * 3:
        model.learn_one({"colour": colour}, y)
    assert [model.predict_one({"colour": c}) for c in ("red", "blue")] == [1, 0]


def test_ensemble():
    model = ensemble.BaggingClassifier(RiverClassifier(nr.PA1()), n_models=3, seed=1)
    assert evaluate.progressive_val_score(PHISHING, model, metrics.Accuracy()).get() > 0.75
    assert len({m.learner.n_seen_ for m in model}) > 1


def test_a_weight_is_the_learners_sample_weight():
    model, learner = RiverClassifier(nr.Perceptron()), nr.Perceptron()
    for x, y in PHISHING[:20]:
        model.learn_one(x, y, w=0.5)
        learner.learn_one(x, y, 0.5)
    assert (model.learner.coef_ == learner.coef_).all()


def test_clone_has_learned_nothing_unless_asked():
    model = RiverClassifier(nr.PA1(C=0.5))
    model.learn_one({"a": 1.0}, True)
    fresh, full = model.clone(), model.clone(include_attributes=True)
    assert fresh.predict_one({"a": 1.0}) is None
    assert fresh.learner.C == 0.5
    assert full.predict_one({"a": 1.0}) is True
    full.learn_one({"a": 1.0}, False)
    assert model.learner.n_seen_ == 1
    assert model.clone({"learner": nr.PA1(C=2)}).learner.C == 2


def test_a_learner_that_has_learned_goes_on():
    learner = nr.PA1().partial_fit([[1.0, 0.0], [0.0, 1.0]], ["x", "y"])
    assert RiverClassifier(learner).predict_one({0: 3.0}) == "x"


def test_positive_input_is_tagged():
    for name in NAMES:
        learner = learner_of(name)
        positive = learner.__sklearn_tags__().input_tags.positive_only
        assert (base.tags.POSITIVE_INPUT in adapter_of(learner)._tags) == positive


@pytest.mark.parametrize(
    ("adapter", "learner"),
    [(RiverRegressor, nr.PA1()), (RiverClassifier, nr.PA1Regressor()), (RiverClassifier, nr.PA1), (RiverRegressor, None)],
)
def test_other_learners_are_refused(adapter, learner):
    with pytest.raises(TypeError, match=f"takes a learner of {adapter.task}"):
        adapter(learner)


def test_text_is_refused_by_name():
    model = RiverClassifier(nr.PA1())
    with pytest.raises(TypeError, match="colour=red"):
        model.learn_one({"colour": "red"}, True)
    assert model.predict_one({"colour": 1.0}) is None


def test_without_river_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "noregret.river")
    with pytest.raises(ImportError, match=r"pip install noregret\[river\]"):
        importlib.import_module("noregret.river")
