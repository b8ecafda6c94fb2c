"""scikit-learn: its own checks on every learner, and its meta-estimators around some."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_blobs
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.linear_model import PassiveAggressiveClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

import noregret as nr
from noregret.engine import compiling
from noregret.registry import algorithms, load_all

WEIGHTS = "a sample weight scales a step, which is not the same as seeing the row twice"  # nor is it for SGD and Perceptron
EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": WEIGHTS for kind in ("dense", "sparse")}
PROBABLE = "`predict` goes by scores, and the answer need not be the most probable class"  # nor is it for SVC
SKIPPED = {"check_array_api_input"}  # needs SCIPY_ARRAY_API=1 before SciPy is imported; NumPy is what we promise
KINDS = {"classification": is_classifier, "regression": is_regressor, "one_class": is_outlier_detector}
CANCER, IRIS = load_breast_cancer(return_X_y=True), load_iris(return_X_y=True)


def check(estimator):
    """Run all checks; nothing fails but what is expected to, nothing is skipped but what must be."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".*does not inherit from `sklearn.base.BaseEstimator`", UserWarning)
        if compiling.interpreting():
            warnings.simplefilter("ignore", RuntimeWarning)  # the interpreter warns where C arithmetic does not
        expected = EXPECTED | ({"check_classifiers_train": PROBABLE} if hasattr(estimator, "predict_proba") else {})
        results = check_estimator(estimator, expected_failed_checks=expected, on_skip=None, on_fail=None)
    found = {status: [r for r in results if r["status"] == status] for status in ("passed", "failed", "xfail", "skipped")}
    assert not [(r["check_name"], r["exception"].__cause__ or r["exception"]) for r in found["failed"]]
    assert {r["check_name"] for r in found["xfail"]} <= set(expected)
    assert {r["check_name"] for r in found["skipped"]} <= SKIPPED
    assert len(found["passed"]) >= 50


@pytest.mark.parametrize("estimator", [nr.PA1()], ids=repr)
def test_checks_compiled(estimator):
    check(estimator)


def quick(name):
    """A learner by name; those that take the square of their budget in time, which is long when interpreted, with a small one."""
    return load_all()[name](**{"bpa_p": {"B": 12}, "kernel_rls": {"B": 25, "kernel": "rbf(0.02)"}}.get(name, {}))


# The checks are about the interface: interpreted they are the same, and save the minutes it takes to compile 16 kernels for each.
@pytest.mark.parametrize("name", algorithms())
def test_checks(name):
    with compiling.interpreted():
        check(quick(name))


@pytest.mark.parametrize(
    "estimator",
    [
        nr.PA1(average=True),
        nr.PA1(dtype="float32"),
        nr.PA1(hash_bits=10),
        nr.PA1(cost={(0, 1): 2.0}),
        nr.PA1(fit_intercept=False),
        nr.Perceptron(epochs=3, shuffle=True, seed=7),
        nr.Perceptron(update="uniform"),
        nr.OGD(projection="l2", radius=10.0),
        nr.OGD(loss="log"),
        nr.OGDRegressor(projection="l2", radius=1e3),
        nr.PA1Regressor(average=True, dtype="float32"),
        nr.PAUniclass(hash_bits=8),
    ],
    ids=repr,
)
def test_checks_of_other_configurations(estimator):
    with compiling.interpreted():
        check(estimator)


# What the checks above leave out: scores of learners tagged poor_score, and class weights. `get_params` names class_weight only
# once it is set, so check_class_weight_classifiers does not run; it asks for a convergence that one pass has not, many epochs have.
WEAK = {"winnow", "balanced_winnow", "eg", "eg_pm", "iellip", "shifting_perceptron"}


@pytest.mark.parametrize("name", algorithms("classification"))
def test_one_pass_over_three_blobs(name):
    learner = load_all()[name]()
    X, y = make_blobs(n_samples=300, random_state=0)
    X = (MinMaxScaler() if learner.nonnegative else StandardScaler()).fit_transform(X)
    assert learner.fit(X, y).score(X, y) > (0.3 if name in WEAK else 0.83)


@pytest.mark.parametrize("cls", [nr.PA1, nr.PA2])
def test_class_weights_after_many_epochs(cls):
    for k in (2, 3):
        X, y = make_blobs(centers=k, random_state=0, cluster_std=20)
        m = cls(class_weight={0: 1000, 1: 1e-4, 2: 1e-4}, epochs=200).fit(X[:50], y[:50])
        assert (m.predict(X[50:]) == 0).mean() > 0.87


def test_class_weight_is_a_parameter_like_any_other():
    weights = {0: 2.0, 1: 0.5}
    learner = clone(nr.PA1(class_weight=weights))
    assert learner.class_weight == weights
    assert clone(learner.set_params(class_weight=None)).class_weight is None
    model = make_pipeline(StandardScaler(), nr.PA1()).set_params(pa1__class_weight=weights)
    assert clone(model)[-1].class_weight == weights
    assert GridSearchCV(nr.PA1(), {"class_weight": [None, "balanced", weights]}, cv=2).fit(*CANCER).best_index_ in range(3)


# ---- what an estimator is --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", algorithms())
def test_tags_and_kinds(name):
    learner = load_all()[name]()
    assert [kind(learner) for kind in KINDS.values()] == [task == learner.task for task in KINDS]
    tags = learner.__sklearn_tags__()
    assert tags.input_tags.sparse
    assert tags.input_tags.positive_only == learner.nonnegative
    assert tags.target_tags.required == (learner.task != "one_class")


@pytest.mark.parametrize("name", algorithms())
def test_clone_keeps_parameters_and_nothing_else(name):
    learner = load_all()[name](seed=3, epochs=2)
    learner.partial_fit(np.eye(4), [0, 1, 0, 1])
    copy = clone(learner)
    assert copy.get_params() == learner.get_params()
    assert all(copy.get_params()[k] is v for k, v in learner.get_params().items())
    assert type(copy) is type(learner)
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    check_is_fitted(learner)


def test_clone_keeps_parameters_that_are_objects():
    cost = {("a", "b"): 2.0}
    learner = clone(nr.PA1(cost=cost, classes=np.array(["a", "b"])))
    assert learner.cost == cost
    assert learner.classes.tolist() == ["a", "b"]


def test_set_params_in_the_middle_of_a_stream():
    X, y = StandardScaler().fit_transform(CANCER[0]), CANCER[1]
    switched = nr.PA1(C=1.0).partial_fit(X[:50], y[:50]).set_params(C=0.01).partial_fit(X[50:], y[50:])
    assert (switched.coef_ != nr.PA1(C=1.0).partial_fit(X, y).coef_).any()
    with pytest.raises(ValueError, match="Invalid parameter 'gamma'"):
        switched.set_params(gamma=1)
    with pytest.raises(ValueError, match="C must be in"):
        switched.set_params(C=-1.0)
    assert switched.C == 0.01


def test_parameters_are_checked_by_fit_not_by_init():
    learner = nr.PA1(C=-1.0)
    with pytest.raises(ValueError, match="C must be in"):
        learner.fit(*CANCER)
    with pytest.raises(TypeError, match="no parameter 'gamma'"):
        nr.PA1(gamma=1.0)


def test_a_pickle_is_no_larger_than_what_was_learned():
    """The features of RandomBinning have 2^20 cells, and a column falls into a few hundred of them."""
    X = np.random.default_rng(0).normal(size=(200, 1))
    learner = nr.HedgeRegressor().partial_fit(X, X[:, 0])
    pickled = pickle.dumps(learner)
    assert len(pickled) < 200_000
    assert len(learner.to_bytes()) < 100_000
    again = pickle.loads(pickled)
    for one in (again, copy.deepcopy(learner), copy.copy(learner)):
        assert one.digest() == learner.digest()
    ahead = learner.partial_fit(X[:100], X[:100, 0]).digest()
    assert again.partial_fit(X[:100], X[:100, 0]).digest() == ahead


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    X, y = IRIS
    learner = nr.PA1().partial_fit(X[:75], y[:75])
    copy = pickle.loads(pickle.dumps(learner, protocol))
    assert (copy.partial_fit(X[75:], y[75:]).coef_ == learner.partial_fit(X[75:], y[75:]).coef_).all()


@pytest.mark.parametrize("name", algorithms())
@pytest.mark.parametrize("mmap", [None, "r"])
def test_joblib(name, mmap, tmp_path):
    learner = load_all()[name]()
    X, y = MinMaxScaler().fit_transform(CANCER[0]), CANCER[1]
    learner.partial_fit(X[:300], y[:300])
    joblib.dump(learner, tmp_path / "m.joblib")
    copy = joblib.load(tmp_path / "m.joblib", mmap_mode=mmap)
    assert copy.get_params() == learner.get_params()
    learner.partial_fit(X[300:], y[300:])
    copy.partial_fit(X[300:], y[300:])
    assert (copy.predict(X) == learner.predict(X)).all()
    assert copy.n_updates_ == learner.n_updates_


def test_repr_shows_what_differs():
    assert repr(nr.PA1(C=0.5)) == "PA1(C=0.5)"
    assert repr(make_pipeline(StandardScaler(), nr.PA1(average=True))).endswith("PA1(average=True))])")


# ---- inside scikit-learn -----------------------------------------------------------------------------------------------------
def test_pipeline():
    model = make_pipeline(StandardScaler(), nr.PA1(C=0.01)).fit(*CANCER)
    assert model.score(*CANCER) > 0.95
    assert model.decision_function(CANCER[0]).shape == (569,)
    assert model.classes_.tolist() == [0, 1]
    assert make_pipeline(StandardScaler(), nr.PA1Regressor(C=10.0)).fit(*load_diabetes(return_X_y=True)).n_features_in_ == 10


def test_same_steps_as_scikit_learns():
    X = StandardScaler().fit_transform(CANCER[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and does not converge in one epoch
        theirs = PassiveAggressiveClassifier(C=0.1, fit_intercept=False, shuffle=False, max_iter=1, tol=None).fit(X, CANCER[1])
    ours = nr.PA1(C=0.1, fit_intercept=False).fit(X, CANCER[1])
    assert np.allclose(ours.coef_, theirs.coef_, rtol=1e-9)


def test_grid_search():
    model = Pipeline([("scale", StandardScaler()), ("learn", nr.PA1())])
    grid = GridSearchCV(model, {"learn__C": [1e-4, 1e-2, 1.0], "learn__average": [False, True]}, cv=3).fit(*CANCER)
    assert grid.best_score_ > 0.95
    assert set(grid.best_params_) == {"learn__C", "learn__average"}
    learners = {"learn": [nr.Perceptron(), nr.PA2(C=0.01)]}
    assert GridSearchCV(model, learners, cv=3).fit(*CANCER).best_score_ > 0.9


def test_search_in_processes():
    grid = GridSearchCV(nr.PA1(), {"C": [0.1, 1.0]}, cv=2, n_jobs=2).fit(*IRIS)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()


def test_cross_validation():
    model = make_pipeline(StandardScaler(), nr.AveragedPerceptron(epochs=3, shuffle=True))
    assert cross_val_score(model, *CANCER, cv=4).mean() > 0.94
    assert cross_val_score(model, *CANCER, cv=4, scoring="roc_auc").mean() > 0.97
    assert cross_val_score(model, *IRIS, cv=4, scoring="f1_macro").mean() > 0.75
    assert cross_val_predict(model, *IRIS, cv=4, method="decision_function").shape == (150, 3)
    regressor = make_pipeline(StandardScaler(), nr.PA1Regressor(C=1.0, epochs=20, average=True))
    assert cross_val_score(regressor, *load_diabetes(return_X_y=True), cv=4, scoring="r2").mean() > 0.3


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(method):
    model = CalibratedClassifierCV(make_pipeline(StandardScaler(), nr.PA1(C=0.01)), method=method, cv=3).fit(*CANCER)
    p = model.predict_proba(CANCER[0])
    assert np.allclose(p.sum(axis=1), 1.0)
    assert np.mean((p[:, 1] - CANCER[1]) ** 2) < 0.05
    many = CalibratedClassifierCV(make_pipeline(StandardScaler(), nr.PA1(C=0.01)), method=method, cv=3).fit(*IRIS)
    assert many.predict_proba(IRIS[0]).shape == (150, 3)


@pytest.mark.parametrize("meta", [OneVsRestClassifier, OneVsOneClassifier])
def test_one_against_others(meta):
    model = make_pipeline(StandardScaler(), meta(nr.PA1(C=0.1, epochs=5, shuffle=True))).fit(*IRIS)
    assert model.score(*IRIS) > 0.85


def test_one_against_the_rest_in_a_stream():
    X, y = StandardScaler().fit_transform(IRIS[0]), IRIS[1]
    order = np.random.default_rng(0).permutation(len(y))
    model = OneVsRestClassifier(nr.PA1(C=0.1))
    for part in np.array_split(order, 5):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert model.score(X, y) > 0.8


def test_ensembles():
    vote = VotingClassifier([("pa", nr.PA1()), ("perceptron", nr.Perceptron())])
    bag = BaggingClassifier(nr.PA1(), 3, random_state=0)
    for model in (vote, bag):
        assert make_pipeline(StandardScaler(), model).fit(*CANCER).score(*CANCER) > 0.9
    X, y = load_diabetes(return_X_y=True)
    assert MultiOutputRegressor(nr.PA1Regressor()).fit(X, np.column_stack([y, -y])).predict(X).shape == (442, 2)


def test_vectorizers():
    X = [{"colour=red": 1, "size": 2.0}, {"colour=blue": 1, "size": 1.0}] * 5
    y = ["hot", "cold"] * 5
    for vectorizer in (DictVectorizer(), FeatureHasher(16), DictVectorizer(sparse=False)):
        assert make_pipeline(vectorizer, nr.PA1()).fit(X, y).score(X, y) == 1.0
    assert nr.PA1().partial_fit(X, y).score(X, y) == 1.0


# ---- sample weights --------------------------------------------------------------------------------------------------------
def test_sample_weight_through_a_pipeline():
    X, y = CANCER
    c = np.random.default_rng(0).uniform(size=len(y))
    model = make_pipeline(StandardScaler(), nr.PA1()).fit(X, y, pa1__sample_weight=c)
    scaled = StandardScaler().fit_transform(X)
    assert (model[-1].coef_ == nr.PA1().fit(scaled, y, sample_weight=c).coef_).all()
    assert (model[-1].coef_ != nr.PA1().fit(scaled, y).coef_).any()
    assert model.score(X, y, sample_weight=c) > 0.9


def test_rows_of_weight_zero_are_not_there():
    X, y = CANCER[0][:150], CANCER[1][:150]
    keep = np.arange(len(y)) % 3 > 0
    for name in algorithms():
        learner = quick(name)
        given = MinMaxScaler().fit_transform(X[:, :4] if learner.by_kernel else X)
        with compiling.interpreted():  # kernels with weights for all of them would take a minute to compile
            some = clone(learner).fit(given, y, sample_weight=keep.astype(float))
            without = clone(learner).fit(given[keep], y[keep])
            assert (some.predict(given) == without.predict(given)).all(), name


# ---- frames ----------------------------------------------------------------------------------------------------------------
def test_scaler_with_pandas_output():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), nr.PA1(C=0.01)).fit(X, y)
    assert model[-1].feature_names_in_.tolist() == X.columns.tolist()
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    plain = make_pipeline(StandardScaler(), nr.PA1(C=0.01)).fit(X.to_numpy(), y)
    assert (model[-1].coef_ == plain[-1].coef_).all()
    assert (model.predict(X) == plain.predict(X.to_numpy())).all()


def test_feature_names():
    X, y = pd.DataFrame(IRIS[0], columns=list("abcd")), IRIS[1]
    named, plain = nr.PA1().fit(X, y), nr.PA1().fit(IRIS[0], y)
    assert named.feature_names_in_.dtype == object
    assert not hasattr(plain, "feature_names_in_")
    with pytest.warns(UserWarning, match="X does not have valid feature names, but PA1 was fitted with feature names"):
        named.predict(IRIS[0])
    with pytest.warns(UserWarning, match="X has feature names, but PA1 was fitted without feature names"):
        plain.predict(X)
    with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
        named.predict(X[list("dcba")])
    with pytest.raises(ValueError, match="unseen at fit time:\n- z"):
        named.partial_fit(X.rename(columns={"a": "z"}), y)
    assert named.fit(IRIS[0], y).n_features_in_ == 4
    assert not hasattr(named, "feature_names_in_")


def test_before_fit():
    for name in algorithms():
        learner = load_all()[name]()
        for attribute in ("coef_", "n_features_in_", "feature_names_in_", "n_seen_"):
            assert not hasattr(learner, attribute), (name, attribute)
        with pytest.raises(NotFittedError):
            learner.predict(IRIS[0])
