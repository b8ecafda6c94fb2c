"""Many regressors as one: a plain transcription, offsets that do not matter, the bound on any sequence, files, refusals."""

import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.cli import main
from noregret.pools.averaging import AveragingPool
from noregret.transforms.maps import register
from noregret.transforms.step import Map


@register
class Half(Map):
    """Shows one column only."""

    def __init__(self, keep=0):
        self.keep = keep

    def rows(self, rows, learn, measured=None):
        X = rows.arrays[0].copy()
        X[:, 1 - self.keep] = 0.0
        return rows._replace(arrays=(X,))


def stream(n=300, d=4, seed=0, offset=0.0, unit=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * unit + offset
    return X, 450.0 + 17.0 * np.tanh((X - offset) / unit @ rng.normal(size=d)) + rng.normal(size=n)


def transcription(f, y, c, reach):
    """The answers of the pool, its losses, what it paid, and Delta, given the learners' scores of the standardised target."""
    K = f.shape[1] + 3
    L, delta, paid, said = np.zeros(K), 0.0, 0.0, []
    gram, moments, z = 10.0 * np.eye(K - 1), np.zeros(K - 1), standardized(y, c)
    for i in range(len(y)):
        past = y[:i][c[:i] > 0]
        mean, sd = (past.mean(), past.std()) if len(past) else (0.0, 0.0)
        low, high, last = (past.min(), past.max(), past[-1]) if len(past) else (0.0, 0.0, 0.0)
        room = reach * (high - low)
        p = np.array([*np.clip(mean + sd * f[i], low - room, high + room), mean, last])
        told = (p - mean) / sd if sd > 0 else np.zeros(K - 1)
        p = np.append(p, np.clip(mean + sd * (told @ np.linalg.solve(gram, moments)), low - room, high + room))
        gram, moments = gram + c[i] * np.outer(told, told), moments + c[i] * told * z[i]
        weights = np.linalg.solve(gram - c[i] * np.outer(told, told), moments - c[i] * told * z[i])
        kept = np.ones(K, bool)
        if c[i] == 0:  # only answered: without the last target
            kept[-2:] = False, abs(weights[-1]) < 0.05 and i > 0
            p[-1] = np.clip(mean + sd * (np.append(told[:-1], 0.0) @ weights), low - room, high + room)
        eta = math.log(K) / delta if delta > 0 else math.inf
        best = L[kept].min()
        w = kept * ((best == L).astype(float) if eta == math.inf else np.exp(-eta * (L - best)))
        w /= w.sum()
        said.append(w @ p)
        if c[i] == 0:
            continue
        loss, h = c[i] * (p - y[i]) ** 2, c[i] * (w @ p - y[i]) ** 2
        mix = (L + loss).min() - L.min() if eta == math.inf else -math.log(w @ np.exp(-eta * loss)) / eta
        L, paid, delta = L + loss, paid + h, delta + max(0.0, h - mix)
    return np.array(said), L, paid, delta


def standardized(y, c):
    """Each target less the mean over the deviation of the targets so far, itself among them."""
    found = []
    for i in range(len(y)):
        past = y[: i + 1][c[: i + 1] > 0]
        sd = past.std() if len(past) > 1 else 0.0
        found.append((y[i] - past.mean()) / sd if sd > 0 else 0.0)
    return np.array(found)


def alone(m, X, z, c):
    """The scores of one learner, row by row; a row of weight 0 is only answered."""
    rows = zip(X, z, c, strict=True)
    return [m.learn_many([x], [t], sample_weight=[w])[0] if w else m.predict([x])[0] for x, t, w in rows]


@pytest.mark.parametrize("weighted", [False, True])
def test_transcription(weighted):
    X, y = stream(200)
    c = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], 200) if weighted else np.ones(200)
    c[0] = 1.0
    learners = [nr.RLS(), nr.pipeline(nr.Scale(), nr.NAGRegressor()), nr.PA1Regressor()]
    z = standardized(y, c)
    f = np.column_stack([alone(m.clone(), X, z, c) for m in learners])
    said, losses, paid, delta = transcription(f, y, c, AveragingPool.REACH)
    m = nr.HedgeRegressor(learners=learners)
    np.testing.assert_allclose(m.learn_many(X, y, sample_weight=c if weighted else None), said, rtol=1e-7)
    np.testing.assert_allclose(m.losses_, losses, rtol=1e-7)
    np.testing.assert_allclose((m.paid_, m.bound_), (paid, 2 * delta), rtol=1e-7)
    assert m.n_seen_ == (c > 0).sum()


def test_offsets_and_units_do_not_matter():
    X, y = stream(2000)
    plain = nr.AutoRegressor().learn_many(X, y)
    far, _ = stream(2000, offset=1000.0, unit=50.0)
    moved = nr.AutoRegressor().learn_many(far, 3.0 * y - 1e4)
    error = [np.sqrt(np.mean((f - t)[100:] ** 2)) / t.std() for f, t in ((plain, y), (moved, 3.0 * y - 1e4))]
    assert error[0] < 0.35
    assert error[1] == pytest.approx(error[0], rel=0.1)


def test_no_worse_than_the_mean_where_there_is_nothing_to_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 5)), 450.0 + 17.0 * rng.normal(size=2000)
    m = nr.AutoRegressor()
    said = m.learn_many(X, y)
    mean = np.concatenate([[0.0], np.cumsum(y)[:-1] / np.arange(1, 2000)])
    assert ((said - y) ** 2).sum() < 1.02 * ((mean - y) ** 2).sum()
    assert m.report()["learners"][-3]["learner"] == "mean so far"


def test_a_combination_may_be_better_than_all_it_combines():
    """Two learners that see half of the truth each: their sum is the truth."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 2))
    y = np.where(X[:, 0] > 0, 3.0, -3.0) + np.where(X[:, 1] > 0, 3.0, -3.0)
    halves = [nr.pipeline(Half(k), nr.RandomBinning(30, nr.Laplacian(3.0)), nr.NAGRegressor()) for k in (0, 1)]
    m = nr.HedgeRegressor(learners=halves).fit(X, y)
    assert m.losses_[-1] < 0.5 * m.losses_[:-1].min()
    assert m.weights_.argmax() == len(m.weights_) - 1


@pytest.mark.parametrize("seed", range(8))
def test_the_regret_is_below_the_bound_on_any_sequence(seed):
    rng = np.random.default_rng(seed)
    for kind in ("noise", "steps", "outliers", "growing"):
        X = rng.normal(size=(120, 2))
        y = {
            "noise": rng.normal(size=120),
            "steps": np.repeat(rng.normal(size=12), 10) * 100,
            "outliers": np.where(rng.random(120) < 0.05, 1e6, rng.normal(size=120)),
            "growing": np.cumsum(rng.exponential(size=120)) ** 2,
        }[kind]
        m = nr.HedgeRegressor(learners=[nr.RLS(), nr.NAGRegressor()]).partial_fit(X, y)
        assert -1e-9 * abs(m.paid_) <= m.bound_ - m.regret_


def test_any_split_and_any_layout_give_the_same():
    X, y = stream(120)
    whole = nr.AutoRegressor()
    f = whole.learn_many(X, y)
    parts = nr.AutoRegressor()
    g = np.concatenate([parts.learn_many(X[a:b], y[a:b]) for a, b in ((0, 1), (1, 50), (50, 120))])
    assert np.array_equal(f, g)
    assert whole.to_bytes() == parts.to_bytes()
    rows = [{"a": x[0], "b": x[1], "c": x[2], "d": x[3]} for x in X]
    named, sparse = nr.AutoRegressor(), nr.AutoRegressor()
    np.testing.assert_allclose(named.learn_many(rows, y), sparse.learn_many(csr_matrix(X), y), rtol=1e-9)
    one = nr.AutoRegressor()
    assert np.array_equal([one.learn_one(x, t) for x, t in zip(rows, y, strict=True)], nr.AutoRegressor().learn_many(rows, y))


def test_files(tmp_path):
    X, y = stream(150)
    m = nr.AutoRegressor().partial_fit(X[:100], y[:100])
    m.save(tmp_path / "m.nr")
    again = nr.load(tmp_path / "m.nr")
    assert again.digest() == m.digest()
    assert np.array_equal(again.predict(X), m.predict(X))
    assert np.array_equal(again.learn_many(X[100:], y[100:]), m.learn_many(X[100:], y[100:]))
    own = nr.HedgeRegressor(learners=[nr.RLS(), nr.pipeline(nr.Scale(center=True), nr.RandomFourier(20), nr.NAGRegressor())])
    own.partial_fit(X, y)
    assert np.array_equal(nr.from_bytes(own.to_bytes()).predict(X), own.predict(X))


def test_a_row_that_a_map_refuses_changes_nothing():
    X, y = stream(50)
    m = nr.AutoRegressor().partial_fit(X, y)
    before = m.to_bytes()
    with pytest.raises(ValueError, match="overflows"):
        m.partial_fit([[1.0, 2.0, 3.0, 4.0], [1e200, 2.0, 3.0, 4.0]], [1.0, 2.0])
    assert m.to_bytes() == before


def test_a_target_whose_square_overflows_changes_nothing():
    X, y = stream(50)
    m = nr.AutoRegressor().partial_fit(X, y)
    before = m.to_bytes()
    for size in (1e141, -1e200, 1e308):
        with pytest.raises(ValueError, match="y in row 1 is .* at most 1e\\+140"):
            m.partial_fit(X[:2], [1.0, size])
        with pytest.raises(ValueError, match="y in row 0 is"):
            m.learn_one(X[0], size)
    assert m.to_bytes() == before


@pytest.mark.parametrize("learners", ["pa1+rls", [nr.RLS(), nr.PA1()], [nr.RLS(), nr.AutoRegressor()]])
def test_refused(learners):
    with pytest.raises(TypeError, match="expected regressors"):
        nr.HedgeRegressor(learners=learners).partial_fit([[1.0]], [1.0])
    with pytest.raises(ValueError, match="at least two"):
        nr.HedgeRegressor(learners=["rls"]).partial_fit([[1.0]], [1.0])


def test_classifiers_behind_maps_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = (np.abs(X).max(1) < 1.0).astype(int)
    linear, wide = nr.PA1(), nr.pipeline(nr.Scale(), nr.RandomFourier(200, kernel=nr.RBF(1.0)), nr.NAG())
    m = nr.Hedge(learners=[linear, wide]).partial_fit(X, y)
    assert m.weights_[1] > 0.99
    assert np.array_equal(nr.from_bytes(m.to_bytes()).predict(X), m.predict(X))


def test_the_default_for_numbers():
    X, y = stream(3000, offset=1000.0)
    report = nr.evaluate((X, y))
    assert report.learners[0]["model"] == "auto_regressor"
    assert report.learners[0]["metrics"]["r2"] > 0.5
    regret = report.learners[0]["regret"]
    assert regret["loss"] == "square"
    assert regret["value"] <= regret["bound"]


@pytest.mark.parametrize("labels", [False, True])
def test_defaults_on_the_command_line(labels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = stream(200)
    rows = [
        ",".join(map(str, [*x.round(3), ("low", "high")[int(t > 450)] if labels else round(t, 2)]))
        for x, t in zip(X, y, strict=True)
    ]
    Path("day.csv").write_text("\n".join(["a,b,c,d,y", *rows]))
    for given in (["train", "day.csv", "--target", "y", "--save", "m.nr"], ["predict", "day.csv", "--model-file", "m.nr"]):
        said = CliRunner().invoke(main, given)
        assert said.exit_code == 0, said.output
    assert len(said.stdout.splitlines()) == 200
