"""The laws of noregret.checks, for every learner and the configurations that change its kinds."""

import copy
import subprocess
import sys
import warnings

import numpy as np
import pytest
from conftest import SPARSE, learners, on_sparse_rows

import noregret as nr

LEARNERS = learners()
ALIKE = ("bpa_nn", "bpa_s", "duol", "fixed_budget", "kernel_rls", "least_recent", "projectron", "projectron_pp", "rbp", "stoptron")


@pytest.mark.parametrize("name", sorted({*LEARNERS} - {*ALIKE}))
def test_laws(name):
    learner, laws = LEARNERS[name], nr.checks.LAWS
    assert "layout" in laws
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the interpreter warns where C arithmetic does not
        for law in laws.values():
            if law is not nr.checks.layout:
                law(learner)
        with on_sparse_rows(name):
            nr.checks.layout(learner, *nr.checks.stream(learner, n=300 if name in SPARSE else 120, K=3))


def test_all_laws_at_once():
    nr.checks.run(nr.PA1())
    assert set(LEARNERS) >= SPARSE


def test_learners_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="for learners of rows and targets"):
        nr.checks.run(nr.OnlinePCA())


@pytest.mark.parametrize("name", ALIKE)
def test_laws_of_expansions(name):
    """Rows of the other layout interpreted: a dozen kernels each take long to compile, and other expansions compile them all."""
    m = LEARNERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for law in ("chunk", "interpreted", "resume", "order", "noise"):
            nr.checks.LAWS[law](m)
        with nr.engine.compiling.interpreted():
            X, y = nr.checks.stream(m, n=60, d=4, K=3)
            for law in ("layout", "purity", "merge", "bad_input"):
                nr.checks.LAWS[law](m, X, y)


def test_laws_catch_what_breaks_them():
    """A law that cannot fail is no law: hand each a learner (or data) that breaks it."""
    m = nr.PA1()

    class Forgetful(nr.PA1):
        def partial_fit(self, X, y=None, classes=None, sample_weight=None):
            return super().partial_fit(X[: len(X) // 2 + 1], y[: len(y) // 2 + 1], classes, sample_weight)

    with pytest.raises(AssertionError, match="chunk law"):
        nr.checks.chunk(Forgetful())

    class Careless(nr.PA1):
        name = "careless"

        def save(self, path):
            m = copy.deepcopy(self)
            m.model.state.w[0] += 1.0
            super(Careless, m).save(path)

    with pytest.raises(AssertionError, match="resume law: as loaded: w differs"):
        nr.checks.resume(Careless())
    del nr.learners.base.REGISTRY["careless"]

    class Impure(nr.PA1):
        def predict(self, X):
            self.model.state.w[0] += 1.0
            return super().predict(X)

    with pytest.raises(AssertionError, match="purity law"):
        nr.checks.purity(Impure())

    class Trusting(nr.PA1):
        def partial_fit(self, X, y=None, classes=None, sample_weight=None):
            X = X if hasattr(X, "tocsr") or isinstance(X, list) else np.nan_to_num(X, posinf=1.0, neginf=1.0)
            return super().partial_fit(X, y, classes, sample_weight)

    with pytest.raises(AssertionError, match="bad input law: nan in X: no error"):
        nr.checks.bad_input(Trusting())

    class Unmergeable(nr.PA1):
        merges = "none"

    class Overclaiming(nr.PA1):
        merges = "exact"

    nr.checks.merge(Unmergeable())
    with pytest.raises(AssertionError, match="against one pass"):
        nr.checks.merge(Overclaiming())

    class Optimist(nr.PA1):
        bound = nr.PA1.bound._replace(value=lambda t, p: 1.0)

    with pytest.raises(AssertionError, match="bound law"):
        nr.checks.bound(Optimist())
    nr.checks.bound(m)


def test_bounds_are_not_vacuous():
    """Each theorem applies to its learner somewhere: a bound that is always infinite would never be tested."""
    settings = {
        "alma": {"B": 8.0**0.5 / 0.9},
        "ogd": {"projection": "l2"},
        "ogd_regressor": {"projection": "l2", "loss": "absolute"},
        "arow": {"covariance": "full"},
        "mirror_descent_regressor": {"loss": "absolute"},
        "eg_regressor": {"loss": "absolute"},
        "eg_pm_regressor": {"loss": "absolute"},
        "pa_uniclass": {"variant": "pa"},
        "fobos": {"rate": "constant"},
        "fobos_regressor": {"rate": "constant", "loss": "absolute"},
        "truncated_gradient_regressor": {"loss": "absolute"},
        "rda_regressor": {"loss": "absolute"},
    }
    for name in nr.algorithms():
        m = nr.learner(name, **settings.get(name, {}))
        if m.algorithm.bound is None:
            continue
        found = [nr.checks.measure(m, *nr.checks._comparable(m, seed, noisy)) for seed in range(4) for noisy in (False, True)]
        assert any(np.isfinite(promised) for _, promised in found), name
        assert all(measured <= promised + 1e-9 for measured, promised in found), name


def test_resume_in_a_new_process(tmp_path):
    """Law 4 across processes, for all learners at once."""
    whole = {}
    for name in nr.algorithms():
        m = nr.learner(name)
        X, y = nr.checks.stream(m, n=90, K=3)
        whole[name] = nr.learner(name).partial_fit(X, y)
        m.partial_fit(X[:40], y[:40]).save(tmp_path / f"{name}.nr")
    code = (
        "import sys, pathlib, noregret as nr\n"
        "for path in pathlib.Path(sys.argv[1]).glob('*.nr'):\n"
        "    m = nr.load(path)\n"
        "    X, y = nr.checks.stream(m, n=90, K=3)\n"
        "    m.partial_fit(X[40:], y[40:]).save(path)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code, str(tmp_path)], check=True)
    for name, m in whole.items():
        again = nr.load(tmp_path / f"{name}.nr")
        assert all(np.array_equal(a, again.model.arrays()[k]) for k, a in m.model.arrays().items()), name
        assert np.array_equal(m.model.tally, again.model.tally), name


def test_user_learner_obeys_the_laws():
    from noregret.spaces.examples import importance
    from noregret.spaces.weights import add, dot

    class State(__import__("typing").NamedTuple):
        w: nr.algorithm.state.Weights

    class Params(__import__("typing").NamedTuple):
        eta: nr.algorithm.params.Positive = 0.5

    def step(s, x, y, p):
        f = dot(s.w, x)
        if y * f < 1.0:
            add(s.w, p.eta * importance(x) * y, x)
            return f, True
        return f, False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cls = type("Mine", (nr.Classifier,), {"name": "mine", "State": State, "Params": Params, "step": step})
    for law in ("chunk", "purity", "order", "merge", "noise"):
        nr.checks.LAWS[law](cls())
    del nr.learners.base.REGISTRY["mine"]
