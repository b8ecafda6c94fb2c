"""Intervals and sets: the printed traces, plain transcriptions, the bound on any sequence, and the learners that have them."""

import json
import math

import numpy as np
import pytest

import noregret as nr
from noregret.calibration.calibration import Scores
from noregret.calibration.coverage import Intervals, levels_of, members
from noregret.engine.compiling import interpreted

P = np.array([[1, 2, 0], [0.5, -1, 1], [-1, 0.5, 2], [2, 1, -1], [0, 1, 0.5]])
M = np.array([[1, 0], [0, 1], [-1, -0.5], [1, 0.5], [0.5, -1]])
near = pytest.approx


# ---- traces ------------------------------------------------------------------------------------------------------------------
def test_trace_of_intervals():
    m = nr.NAGRegressor(coverage=0.9)
    expected = [
        (math.inf, 1, 1, 1),
        (1.718282, 0.995, 1.683127, 1.99),
        (1.441843, 0.99, 2.5615, 2.9701),
        (1.45857, 1.035, 4.197633, 3.940399),
        (1.933598, 1.03, 4.589102, 4.900995),
    ]
    for x, y, (radius, u, Q, n) in zip(P, [1.0, -0.5, 0.5, 2.0, 1.0], expected, strict=True):
        low, high = m.predict_interval_one(x)
        assert (high - low) / 2 == near(radius, abs=6e-7)
        assert math.isinf(radius) or (high + low) / 2 == near(m.predict_one(x))
        m.learn_one(x, y)
        assert [*m.model.calibration.u, *m.model.calibration.scale] == near([u, Q, n], abs=6e-7)


def test_traces_of_sets():
    m = nr.NAG(loss="log", coverage=0.9, classes=[-1, 1])
    sets = []
    for x, y in zip(P, [1, -1, 1, -1, 1], strict=True):
        sets.append({*m.predict_set_one(x)})
        m.learn_one(x, y)
    assert sets == [{-1, 1}, {1}, {-1, 1}, {1}, {-1, 1}]
    assert m.model.calibration.u == near([1.15])
    m, sets = nr.NAG(loss="log", coverage=0.9, classes=[0, 1, 2]), []
    for x, y in zip(M, [0, 1, 2, 2, 1], strict=True):
        sets.append(m.predict_set_one(x))
        m.partial_fit([x], [y])
    assert sets == [[0], [0], [1], [0], [2, 0]]
    assert m.model.calibration.u == near([1.35])


# ---- any sequence ------------------------------------------------------------------------------------------------------------
def sequences(n=10_000):
    """Residuals of many kinds."""
    rng, t = np.random.default_rng(0), np.arange(n)
    normal = np.abs(rng.standard_normal(n))
    return {
        "normal": normal,
        "Cauchy": np.abs(rng.standard_cauchy(n)),
        "constant": np.ones(n),
        "alternating": t % 2 * 1.0,
        "ten times more": normal * 10.0 ** (t // 2000),
        "ten times less": normal * 10.0 ** -(t // 2000),
        "growing": normal * np.exp(0.01 * t),
        "waves": normal * np.exp(3 * np.sin(t / 300)),
        "spikes": np.where(t % 20 == 0, 1000.0, normal),
    }


def missed(e, alpha):
    """A plain transcription: which rows are missed formally, and the largest u a miss asked for."""
    u, Q, n, out, most = 1.0, 0.0, 0.0, [], 1.0
    for v in e:
        if n:
            miss = u < 0 or v > Q / n * math.expm1(u)
            out.append(miss)
            most = max(most, math.log1p(v / (Q / n)) if miss and Q else 0.0)
            u += 0.05 * (miss - alpha)
        Q, n = 0.99 * Q + v, 0.99 * n + 1
    return np.array(out), most, u


@pytest.mark.parametrize("alpha", [0.1, 0.05])
@pytest.mark.parametrize("name", sequences())
def test_intervals_cover_any_sequence(name, alpha):
    e = sequences()[name]
    m = Intervals([1.0 - alpha])
    m.learn(Scores(np.zeros((len(e), 1)), False, 0), e, None)
    radius = m.taken().reach[1:, 0]
    misses = (e[1:] > radius) | np.signbit(radius)
    expected, most, u = missed(e, alpha)
    np.testing.assert_array_equal(misses, expected)
    assert m.u[0] == near(u)
    assert m.u[0] - 1.0 == near(0.05 * (misses.sum() - alpha * len(misses)), abs=1e-9)
    assert abs(misses.mean() - alpha) <= (most + 0.05) / (0.05 * len(misses))
    assert abs(misses.mean() - alpha) < 0.003


def test_residuals_of_0_show_points():
    m = Intervals([0.9])
    m.learn(Scores(np.zeros((10_000, 1)), False, 0), np.zeros(10_000), None)
    radius = m.taken().reach[1:, 0]
    assert (np.maximum(radius, 0.0) == 0.0).all()
    assert np.signbit(radius).mean() == near(0.1, abs=0.003)


def test_sets_cover_labels_of_an_adversary():
    m = nr.NAG(coverage=[0.9, 0.95], classes=[0, 1, 2])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3))
    hits = np.zeros(2)
    for x in X:
        p = np.array([*m.predict_proba_one(x).values()])
        y = int(p.argmin())  # always the least probable
        hits += -math.log(p[y]) <= m.model.calibration.u if m.started else 0.0
        m.learn_one(x, y)
    assert hits / len(X) == near([0.9, 0.95], abs=0.015)


def test_sets_hold_every_label_more_probable_than_one_they_hold():
    p = np.random.default_rng(0).dirichlet(np.ones(5), 300)
    last = np.zeros(p.shape, bool)
    for u in (-0.5, 0.1, 1.0, 2.0, 10.0):
        held = members(p, u)
        assert held.any(axis=1).all()
        assert (held >= last).all()
        assert (np.where(held, p, 2.0).min(1) >= np.where(held, -1.0, p).max(1)).all()
        last = held


# ---- learners ----------------------------------------------------------------------------------------------------------------
def targets(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, X @ [1, 2, -1, 0.5] + rng.standard_normal(n)


@pytest.mark.parametrize("name", ["nag_regressor", "pa1_regressor", "rls", "kernel_rls", "hedge_regressor"])
def test_regressors_answer_the_same_and_have_intervals(name):
    X, y = targets()
    plain, sure = nr.learner(name), nr.learner(name, coverage=[0.5, 0.9])
    np.testing.assert_array_equal(plain.learn_many(X, y), sure.learn_many(X, y))
    found = sure.predict_interval(X)
    assert found.shape == (400, 2, 2)
    assert found.mean(axis=2) == near(np.column_stack([sure.predict(X)] * 2))
    assert (found[:, 0, 1] < found[:, 1, 1]).all()
    assert nr.learner(name, coverage=0.9).partial_fit(X, y).predict_interval(X) == near(found[:, 1])


def test_rls_has_intervals_of_its_own_too():
    X, y = targets()
    m = nr.RLS(coverage=0.9).partial_fit(X, y)
    assert abs(m.predict_interval(X) - m.predict_interval(X, 0.9)).max() > 1e-3
    np.testing.assert_array_equal(nr.RLS().partial_fit(X, y).predict_interval(X), m.predict_interval(X, 0.95))
    with pytest.raises(ValueError, match=r"coverage=0.9 is for one target a row, got 2"):
        nr.RLS(coverage=0.9).fit(X, np.column_stack([y, y]))


def test_scaled_targets_have_scaled_intervals():
    X, y = targets()
    a, b = (nr.RLS(coverage=0.9).partial_fit(X, c * y).predict_interval(X) for c in (1.0, 1000.0))
    assert 1000.0 * a == near(b, rel=1e-9)


def test_off_by_default_and_the_error_names_the_option():
    X, y = targets()
    for m, name in ((nr.NAGRegressor().fit(X, y), "predict_interval"), (nr.PA1().fit(X, y > 0), "predict_set")):
        assert not hasattr(m, name)
        with pytest.raises(AttributeError, match=r"keeps to a coverage where it is asked to: give it coverage=0.9"):
            getattr(m, name)
    for wrong in (0.0, 1.0, [0.5, 2.0], []):
        with pytest.raises(ValueError, match="coverage must be"):
            nr.RLS(coverage=wrong).fit(X, y)
    assert levels_of([0.5, 0.9]) == [0.5, 0.9]


@pytest.mark.parametrize(
    "make", [lambda: nr.AROW(coverage=[0.5, 0.9]), lambda: nr.RLS(coverage=0.9), lambda: nr.Auto(coverage=0.9)]
)
def test_saved_resumed_and_merged(make, tmp_path):
    m = make()
    X, y = nr.checks.stream(m, K=4) if m.task == "classification" else targets(300)
    m.partial_fit(X[:100], y[:100]).save(tmp_path / "m.nr")
    again = nr.load(tmp_path / "m.nr")
    for model in (m, again):
        model.partial_fit(X[100:], y[100:])
    assert again.digest() == m.digest()
    if m.merging != "none":
        merged = make().partial_fit(X[::2], y[::2]).merge(make().partial_fit(X[1::2], y[1::2]))
        ask = merged.predict_set if m.task == "classification" else merged.predict_interval
        assert len(ask(X)) == len(X)


@pytest.mark.parametrize("make", [lambda: nr.PA1(coverage=0.9), lambda: nr.NAGRegressor(coverage=[0.5, 0.9])])
def test_the_laws_hold(make):
    nr.checks.run(make())


def test_interpreted_as_compiled():
    X, y = targets(60)
    compiled = nr.RLS(coverage=0.9).partial_fit(X, y).model.calibration
    with interpreted():
        plain = nr.RLS(coverage=0.9).partial_fit(X, y).model.calibration
    assert compiled.u == near(plain.u)
    assert compiled.scale == near(plain.scale)


def test_sets_of_known_labels():
    m = nr.PA1(coverage=0.9)
    assert m.predict_set_one({"a": 1}) == []
    m.learn_one({"a": 1}, "x")
    assert m.predict_set_one({"a": 1}) == ["x"]
    m.learn_one({"b": 1}, "y")
    assert {*m.predict_set_one({"a": 1})} <= {"x", "y"}
    pipe = nr.pipeline(nr.Scale(), nr.PA1(coverage=0.9))
    assert pipe.predict_set_one([1.0, 2.0]) == []
    X, y = nr.checks.stream(nr.PA1(), K=3)
    pipe.partial_fit(X, y)
    p = pipe.predict_proba(X)
    assert [found[0] for found in pipe.predict_set(X)] == pipe.classes_[p.argmax(1)].tolist()


def test_probabilities_survive_a_change_of_coverage():
    X, y = nr.checks.stream(nr.PA1(), K=3)
    m = nr.Auto().partial_fit(X, y)
    p = m.predict_proba(X)
    m.set_params(coverage=0.9)
    np.testing.assert_array_equal(m.predict_proba(X), p)
    m.set_params(coverage=None)
    np.testing.assert_array_equal(m.predict_proba(X), p)


def test_only_the_first_epoch_teaches_intervals():
    X, y = targets()
    once, more = (nr.NAGRegressor(coverage=0.9).fit(X, y, epochs=k).model.calibration for k in (1, 5))
    np.testing.assert_array_equal(once.u, more.u)
    m = nr.NAGRegressor(coverage=0.9).fit(X, y, epochs=5)
    before = m.predict(X)
    assert m.calibrate(X, y).predict_interval(X).shape == (400, 2)
    np.testing.assert_array_equal(m.predict(X), before)


# ---- figures and the command line ------------------------------------------------------------------------------------------------
def test_coverage_is_measured():
    X, y = targets(3000)
    learner = nr.NAGRegressor()
    found = nr.evaluate((X, y), learner, coverage=0.9, regret=False).learners[0]["metrics"]
    assert found["coverage"] == near(0.9, abs=0.01)
    assert found["coverage_formal"] == near(0.9, abs=0.01)
    low_high = []
    m = nr.NAGRegressor(coverage=0.9)
    for x, t in zip(X, y, strict=True):
        low_high.append(m.predict_interval_one(x))
        m.learn_one(x, t)
    low, high = np.array(low_high[1:]).T
    assert found["width"] == near((high - low).mean())
    assert found["coverage"] == near(((low <= y[1:]) & (y[1:] <= high)).mean())
    assert learner.coverage is None
    assert learner.model.calibration is None
    X, y = nr.checks.stream(nr.PA1(), n=3000, K=4)
    found = nr.evaluate((X, y), nr.AROW(), coverage=0.9, regret=False, delay=5).learners[0]["metrics"]
    assert found["coverage_formal"] == near(0.9, abs=0.02)
    assert 1.0 <= found["set_size"] <= 4.0


def test_predict_writes_intervals_and_sets(tmp_path):
    from click.testing import CliRunner

    from noregret.cli import main

    def run(*args):
        return CliRunner().invoke(main, [str(a) for a in args])

    X, y = targets(200)
    rows, model, labels = tmp_path / "rows.csv", tmp_path / "r.nr", tmp_path / "l.nr"
    names = np.array(["red", "blue"])[(y > 0).astype(int)]
    rows.write_text("y,c,a,b\n" + "".join(f"{t},{n},{x[0]},{x[1]}\n" for t, n, x in zip(y, names, X, strict=True)))
    source = (rows, "--target", "y", "--ignore", "c", "--model", "rls", "--coverage", "0.9", "--save", model, "--quiet")
    assert run("train", *source).exit_code == 0
    lines = run("predict", rows, "--model-file", model, "--interval", "0.9", "--as", "csv", "--quiet").stdout.splitlines()
    assert lines[0] == "prediction,low,high"
    f, low, high = map(float, lines[1].split(","))
    assert (low + high) / 2 == near(f)
    done = run("predict", rows, "--model-file", model, "--interval", "0.8")
    assert done.exit_code == 2
    assert f"{model} keeps to the levels 0.9: train it with --coverage 0.8" in done.output
    source = (rows, "--target", "c", "--ignore", "y", "--model", "pa1", "--coverage", "0.5,0.9", "--save", labels, "--quiet")
    assert run("train", *source).exit_code == 0
    done = run("predict", rows, "--model-file", labels, "--interval", "0.9", "--as", "jsonl", "--quiet", "--limit", 1)
    assert {*json.loads(done.stdout)["set"]} <= {"red", "blue"}
    lines = run("predict", rows, "--model-file", labels, "--interval", "0.9", "--as", "csv", "--quiet").stdout.splitlines()
    assert lines[0] == "prediction,set"
    done = run("evaluate", rows, "--target", "y", "--ignore", "c", "--model", "rls", "--interval", "0.9", "--json", "--quiet")
    assert json.loads(done.stdout)["metrics"]["coverage"] > 0.8
    done = run("train", rows, "--target", "y", "--model", "rls", "--coverage", "2", "--save", model, "--overwrite")
    assert "--coverage must be" in done.output
