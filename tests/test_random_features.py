"""Maps to the features of kernels: printed vectors and traces, transcriptions, laws of the draws, and every way to use them."""

import contextlib
import copy
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

import noregret as nr
from noregret.engine import compiling
from noregret.engine.elementary import FAR, sine_cosine
from noregret.engine.philox import philox
from noregret.evaluation.measures.features_in_use import naming
from noregret.inputs import checking
from noregret.transforms import draws, front
from noregret.transforms.feature_map import diameter, entries, hoeffding
from noregret.transforms.front import Front
from noregret.transforms.random_features import uniform_bound, waves

K = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [0.5, 0.5], [0, 2], [0.1, 0.1]], float)  # stream K
K_LABELS = np.array([1, -1, 1, -1, 1, -1, 1, 1])
OMEGA = np.array([[1, 0], [0, 1], [1, -1]], float)  # of the test vector, a row each


@pytest.fixture(autouse=True)
def _plainly(request):
    """Interpret, unless a test is about compiled code."""
    with contextlib.nullcontext() if hasattr(request.function, "compiled") else compiling.interpreted():
        yield


def compiled(test):
    """Mark a test that is about compiled code."""
    test.compiled = True
    return test


def maps():
    return {
        "fourier": nr.RandomFourier(D=7, kernel=nr.RBF(0.3), seed=1),
        "fourier, laplacian": nr.RandomFourier(D=7, kernel=nr.Laplacian(0.3), seed=1),
        "fourier, cauchy, phase": nr.RandomFourier(D=7, kernel=nr.Cauchy(0.3), form="phase", seed=1),
        "binning": nr.RandomBinning(P=5, kernel=nr.Laplacian(0.3), bits=12, seed=1),
        "nystroem": nr.Nystroem(B=6, kernel=nr.RBF(0.3), tol=0.2),
        "nystroem, polynomial": nr.Nystroem(B=6, kernel=nr.Polynomial(2, 0.5)),
        "nystroem, eigenvectors": nr.Nystroem(B=6, kernel=nr.Cauchy(0.3), rank=3),
    }


def sample(n=40, d=4, seed=0, share=0.6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < share)
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1, -1)


def given(omega, gamma=0.5):
    """A map with these weights, a row each."""
    m = nr.RandomFourier(D=len(omega), kernel=nr.RBF(gamma))
    m.restore({"omega": np.ascontiguousarray(omega.T) / math.sqrt(2.0 * gamma)})
    return m


# ---- draws -----------------------------------------------------------------------------------------------------------
def test_philox_gives_its_published_numbers():
    """The known answers of Random123 for philox4x32-10."""
    for counter, key, said in (
        ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0], "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ):
        for kind in (int, np.int64):
            with np.errstate(over="ignore"):
                assert " ".join(f"{int(v):08x}" for v in philox(*map(kind, [*counter, *key]))) == said


def uniforms(seed, what, j, k):
    a, b, c, d = philox(k, what, j, 0, seed, 0)
    return [(((p << 20) | (q >> 12)) + 0.5) / 2**52 for p, q in ((a, b), (c, d))]


def weights(kernel, seed, j, D):
    """What coordinate j is drawn, said again in plain Python."""
    found = []
    for k in range((D + 1) // 2):
        u, v = uniforms(seed, 0, j, k)
        if isinstance(kernel, nr.RBF):
            r = math.sqrt(-2 * math.log(u))
            found += [r * math.cos(2 * math.pi * v), r * math.sin(2 * math.pi * v)]
        elif isinstance(kernel, nr.Laplacian):
            found += [math.tan(math.pi * (p - 0.5)) for p in (u, v)]
        else:
            found += [math.log(2 * p) if p < 0.5 else -math.log(2 - 2 * p) for p in (u, v)]
    return found[:D]


SCALES = {nr.RBF: lambda g: math.sqrt(2 * g), nr.Laplacian: lambda g: g, nr.Cauchy: math.sqrt}


@pytest.mark.parametrize("form", ["paired", "phase"])
@pytest.mark.parametrize("kernel", [nr.RBF(0.7), nr.Laplacian(0.7), nr.Cauchy(0.7)], ids=lambda k: type(k).__name__)
def test_fourier_features_are_what_the_transcription_says(kernel, form):
    X, _ = sample(15, 6)
    D, seed = 9, 12345
    omega = SCALES[type(kernel)](kernel.gamma) * np.array([weights(kernel, seed, j, D) for j in range(6)])
    if form == "paired":
        want = np.hstack([np.cos(X @ omega), np.sin(X @ omega)]) / math.sqrt(D)
    else:
        b = 2 * math.pi * np.array([uniforms(seed, 1, 0, i)[0] for i in range(D)])
        want = math.sqrt(2 / D) * np.cos(X @ omega + b)
    z = nr.RandomFourier(D, kernel, form, seed=seed).transform(X)
    assert z.shape == want.shape
    assert z == pytest.approx(want, abs=1e-13)


def binned(X, sigma, P, seed):
    """The bins of every row in every grid."""
    delta = np.array(
        [[-math.log(u * v) * sigma for u, v in (uniforms(seed, 2, j, p) for j in range(X.shape[1]))] for p in range(P)]
    )
    shift = np.array([[uniforms(seed, 3, j, p)[0] for j in range(X.shape[1])] for p in range(P)]) * delta
    return np.ceil((X[:, None, :] - shift) / delta).astype(int)


def test_binning_features_are_what_the_transcription_says():
    X, _ = sample(40, 3)
    P = 8
    bins = binned(X, 1 / 0.4, P, 3)
    z = nr.RandomBinning(P, nr.Laplacian(0.4), bits=28, seed=3).transform(X)
    assert np.diff(z.indptr).tolist() == [P] * 40
    assert z.data == pytest.approx(np.full(40 * P, 1 / math.sqrt(P)))
    at = z.indices.reshape(40, P)
    assert (at // (z.shape[1] // P) == np.arange(P)).all(), "each grid has columns of its own"
    together = (bins[:, None] == bins[None]).all(-1)
    assert ((at[:, None] == at[None]) == together).all(), "one column, one bin"
    assert 0.05 < together.mean() < 0.95


def test_the_printed_example_of_binning():
    m = nr.RandomBinning(P=1)
    m._draws.place, m._draws.kept, m._draws.count = np.arange(2, dtype=np.int32), np.array([[1.5, 0.4 / 1.5], [0.8, 0.3 / 0.8]]), 2
    z = m.transform([[1, -0.5], [1.2, -0.4], [1.3, -0.5], [1.2, 0.2]])  # bins (1, -1), (1, 0), (1, -1), (1, 0)
    assert (z @ z.T).toarray().tolist() == [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]]


EXACT = {
    nr.RBF: lambda g, a, b: math.exp(-g * np.sum((a - b) ** 2)),
    nr.Laplacian: lambda g, a, b: math.exp(-g * np.sum(np.abs(a - b))),
    nr.Cauchy: lambda g, a, b: np.prod(1 / (1 + g * (a - b) ** 2)),
}


@pytest.mark.parametrize(
    "make",
    [
        *(lambda k=k, f=f: nr.RandomFourier(4000, k(0.4), f, seed=7) for k in EXACT for f in ("paired", "phase")),
        lambda: nr.RandomFourier(4000, nr.RBF(0.4), orthogonal=True, seed=7),
        lambda: nr.RandomBinning(4000, nr.Laplacian(0.4), bits=27, seed=7),
    ],
)
def test_products_are_the_kernel_up_to_chance(make):
    """Within 4.5 standard errors, which a right map fails once in 10^5 pairs; binning adds 1/columns of a grid at most."""
    m, X = make(), np.array([[0.0, 0.0], [0.4, -0.3], [1.5, 0.2], [-0.5, 2.5]])
    z = m.transform(X)
    for i in range(4):
        for k in range(i):
            want = EXACT[type(m.kernel)](0.4, X[i], X[k])
            if isinstance(m, nr.RandomBinning):
                found, sd = (z[i] @ z[k].T).toarray()[0, 0], math.sqrt(want * (1 - want))
            elif m.form == "paired":
                terms = m.D * (z[i] * z[k])
                terms = terms[: m.D] + terms[m.D :]
                found, sd = terms.mean(), terms.std()
            else:
                terms = m.D * z[i] * z[k]
                found, sd = terms.mean(), terms.std()
            assert abs(found - want) < 4.5 * sd / math.sqrt(4000) + 1e-4


def test_the_error_falls_with_the_root_of_the_number_of_features():
    X = np.random.default_rng(2).normal(size=(30, 3))
    means = {
        D: np.mean([nr.RandomFourier(D, nr.RBF(0.3), seed=s).approximation_error(X, 300).mean for s in range(8)]) for D in (20, 320)
    }
    assert means[20] / means[320] == pytest.approx(4.0, rel=0.2)


def test_orthogonal_weights_are_orthogonal_and_as_long_as_normal_vectors():
    m = nr.RandomFourier(D=10, kernel=nr.RBF(0.5), orthogonal=True, seed=4)
    X = np.random.default_rng(0).normal(size=(5, 4))
    m.rows(checking.rows(X, "float64"), True)
    w = m.state()["omega"]
    assert w.shape == (4, 10)
    for a in (0, 4, 8):
        block = w[:, a : a + 4]
        gram = block.T @ block
        assert gram == pytest.approx(np.diag(np.diag(gram)), abs=1e-12)
    normal = np.array([weights(m.kernel, 4, j, 10) for j in range(4, 8)])
    assert np.linalg.norm(w, axis=0) == pytest.approx(np.linalg.norm(normal, axis=0))
    assert m.transform(X) == pytest.approx(np.hstack([np.cos(X @ w), np.sin(X @ w)]) / math.sqrt(10), abs=1e-14)


def test_orthogonal_weights_point_everywhere():
    signs = set()
    for seed in range(20):
        m = nr.RandomFourier(D=2, orthogonal=True, seed=seed)
        m.rows(checking.rows(np.eye(2), "float64"), True)
        signs.add(tuple(np.sign(m.state()["omega"][0])))
    assert len(signs) == 4


def test_orthogonal_weights_err_less():
    """In d = 8 with D = 16 the variance of close pairs is several times smaller; means over 40 seeds differ clearly."""
    X = 0.5 * np.random.default_rng(2).normal(size=(12, 8))
    mean = {
        o: np.mean([nr.RandomFourier(16, nr.RBF(0.3), orthogonal=o, seed=s).approximation_error(X, 60).mean for s in range(40)])
        for o in (True, False)
    }
    assert mean[True] < 0.8 * mean[False]


def test_pairs_of_features_have_length_one():
    X, _ = sample(30, 5, share=1.0)
    assert (nr.RandomFourier(11).transform(1e3 * X) ** 2).sum(1) == pytest.approx(np.ones(30), abs=1e-14)


def test_sine_and_cosine():
    rng = np.random.default_rng(0)
    t = np.concatenate([rng.normal(size=500) * s for s in (1e-3, 1.0, 30.0, 1e4, 4e5)])
    t = np.concatenate([t[np.abs(t) < FAR], np.arange(-40, 40) * math.pi / 4, [FAR - 1, -FAR + 1, 0.0]])
    found = np.array([sine_cosine(v) for v in t])
    exact = t.astype(np.longdouble)
    assert np.abs(found[:, 0] - np.sin(exact)).max() < 3e-16
    assert np.abs(found[:, 1] - np.cos(exact)).max() < 3e-16
    far, c, s = np.array([1e7, -3e9, 2.0, 9e14]), np.empty(4), np.empty(4)
    assert compiling.compiled(waves)(far, c, s, 2.0)
    assert c == pytest.approx(2 * np.cos(far), abs=1e-15)
    assert s == pytest.approx(2 * np.sin(far), abs=1e-15)


# ---- printed vectors and traces ------------------------------------------------------------------------------------------
def test_the_printed_vector_of_fourier_features():
    z = given(OMEGA).transform([[0.5, -0.2], [-0.3, 0.1]])
    assert z[0] == pytest.approx([0.506673, 0.565842, 0.441582, 0.276796, -0.114702, 0.371939], abs=2e-6)
    assert z[0] @ z[1] == pytest.approx(0.701880, abs=2e-6)


FOURIER_TRACE = [
    (0, (0.288675, 0.288675, 0.288675, 0, 0, 0)),
    (0.346767, (0.132703, 0, 0.132703, -0.242912, 0, -0.242912)),
    (0.236024, (0.421378, 0.155972, 0.288675, -0.242912, 0.242912, -0.485823)),
    (0.346767, (0.265407, 0, 0, -0.485823, 0, -0.485823)),
    (-0.573866, (0.145275, 0.288675, -0.120131, -0.223332, 0, -0.223332)),
    (0.088695, (-0.108061, 0.035339, -0.408806, -0.36173, -0.138398, -0.223332)),
    (0.07193, (0.180614, -0.084792, -0.528938, -0.36173, 0.124093, -0.485823)),
    (-0.264033, (0.467847, 0.202441, -0.240262, -0.332911, 0.152913, -0.485823)),
]
NYSTROEM_TRACE = [
    (1, 0, (0.9, 0, 0)),
    (2, 0.545878, (0.354122, -0.715554, 0)),
    (3, 0.214786, (0.830379, -0.715554, 0.624292)),
    (3, 0.26147, (0.499287, -1.14956, 0.190287)),
    (3, -0.690713, (0.621089, -0.555892, 0.190287)),
    (3, 0.342792, (-0.079832, -0.902773, -0.156594)),
    (3, -0.114098, (0.04197, -0.902773, 0.437073)),
    (3, 0.00456, (0.933015, -0.831282, 0.508564)),
]


def test_the_printed_trace_of_fourier_gradient_descent():
    learner = nr.OGD(eta=0.5, rate="constant", fit_intercept=False, classes=[-1, 1])
    p = nr.pipeline(nr.RandomFourier(D=3, kernel=nr.RBF(0.5)), learner)
    p.front.maps[0].restore(given(OMEGA).state())
    for x, y, (score, w) in zip(K, K_LABELS, FOURIER_TRACE):
        assert p.learn_many([x], [y]) == pytest.approx([score], abs=2e-6)
        assert p.coef_[0] == pytest.approx(np.array(w), abs=2e-6)


def test_the_printed_trace_of_nystroem_features():
    p = nr.pipeline(nr.Nystroem(B=3, kernel=nr.RBF(0.5), tol=0.5), nr.PA1(C=0.9, fit_intercept=False, classes=[-1, 1]))
    for x, y, (landmarks, score, w) in zip(K, K_LABELS, NYSTROEM_TRACE):
        assert p.learn_many([x], [y]) == pytest.approx([score], abs=2e-6)
        assert p.front.maps[0].landmarks == landmarks
        assert p.coef_[0] == pytest.approx(np.array(w), abs=2e-6)


def test_the_printed_numbers_of_nystroem_features():
    full = nr.Nystroem(B=3, kernel=nr.RBF(0.5)).partial_fit(K[:3]).transform(K[[3, 5]])
    assert full == pytest.approx(np.array([[0.367879, 0.482228, 0.482228], [0.778801, 0.385423, 0.385423]]), abs=2e-6)
    for rank, products in ((3, (0.600424, 0.658228, 0.903632)), (2, (0.391535, 0.586696, 0.879137))):
        m = nr.Nystroem(B=3, kernel=nr.RBF(0.5), rank=rank).partial_fit(K[:3])
        z = m.transform(K[[3, 5]])
        assert (z @ z.T)[[0, 0, 1], [0, 1, 1]] == pytest.approx(products, abs=2e-6)
        values = 1 / (m.state()["turn"] ** 2).sum(0)
        assert values == pytest.approx([2.061204, 0.632121, 0.306675][:rank], abs=2e-6)


@pytest.mark.parametrize(("d", "share"), [(3, 1.0), (80, 0.1)])
def test_nystroem_features_are_what_the_transcription_says(d, share):
    """Landmarks picked one by one, each time with the Cholesky factor of their whole kernel matrix."""
    X, _ = sample(30, d, 1, share)
    kernels = [
        (nr.RBF(0.4), lambda a, b: EXACT[nr.RBF](0.4, a, b)),
        (nr.Laplacian(0.4), lambda a, b: EXACT[nr.Laplacian](0.4, a, b)),
        (nr.Cauchy(0.4), lambda a, b: EXACT[nr.Cauchy](0.4, a, b)),
        (nr.Linear(), lambda a, b: a @ b),
        (nr.Polynomial(2, 0.5, 1.5), lambda a, b: (0.5 * a @ b + 1.5) ** 2),
    ]
    for kernel, k in kernels:
        m = nr.Nystroem(B=8, kernel=kernel, tol=0.1)
        z = m.rows(checking.rows(X if share == 1.0 else csr_matrix(X), "float64"), True).arrays[0]
        chosen = []
        for x, found in zip(X, z):
            for more in (False, True):
                L = np.linalg.cholesky([[k(a, b) for b in chosen] for a in chosen]) if chosen else np.empty((0, 0))
                want = np.linalg.solve(L, [k(a, x) for a in chosen])
                if more or len(chosen) == 8 or k(x, x) - want @ want <= 0.1 * k(x, x):
                    break
                chosen.append(x)
            assert found == pytest.approx(np.pad(want, (0, 8 - len(want))), abs=1e-10)
        assert m.landmarks == len(chosen) > 2


# ---- laws ------------------------------------------------------------------------------------------------------------
def learned(m, X, y, learner=None):
    return nr.pipeline(m.fresh(), learner or nr.PA1(classes=[-1, 1])).partial_fit(X, y)


def state_of(p):
    return {**{k: a.copy() for k, a in p.front.tensors().items()}, **{k: a.copy() for k, a in p.learner.model.arrays().items()}}


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


@pytest.mark.parametrize("name", maps())
def test_any_split_and_layout_gives_the_same_bits(name):
    X, y = sample()
    m = maps()[name]
    whole = learned(m, X, y)
    for size in (1, 7, 13):
        p = nr.pipeline(m.fresh(), nr.PA1(classes=[-1, 1]))
        for a in range(0, 40, size):
            p.partial_fit(X[a : a + size], y[a : a + size])
        assert same(state_of(whole), state_of(p))
    sparse = learned(m, csr_matrix(X), y)
    assert same(state_of(whole), state_of(sparse)), "zeros are not stored, and count for nothing"
    assert np.array_equal(whole.decision_function(X), sparse.decision_function(csr_matrix(X)))
    f32 = X.astype(np.float32)
    assert np.array_equal(learned(m, f32, y).decision_function(f32), learned(m, f32.astype(float), y).decision_function(f32))


@pytest.mark.parametrize("name", maps())
def test_names_may_come_at_any_time(name):
    """Dicts give what arrays give, when names come in the order of the columns; and later names change nothing before."""
    X, y = sample()
    X[:20, 2:] = 0.0
    X[0] = X[20] = 1.0, 1.0, 0.0, 0.0
    X[20, 2:] = 1.0
    m = maps()[name]
    dicts = [{f"x{j}": v for j, v in enumerate(x) if v} for x in X]
    p = nr.pipeline(nr.Table(), m.fresh(), nr.PA1(classes=[-1, 1]))
    said = [p.learn_one(x, t) for x, t in zip(dicts, y.tolist())]
    q = learned(m, X, y)
    assert np.array_equal(p.decision_function(dicts), q.decision_function(X))
    assert len(said) == 40
    assert p.predict_one({"x0": 1.0, "never": 3.0}) == p.predict_one({"x0": 1.0})


@pytest.mark.parametrize("name", maps())
def test_a_saved_pipeline_goes_on_bit_for_bit(name, tmp_path):
    X, y = sample()
    m = maps()[name]
    p = learned(m, X[:25], y[:25], nr.AROW(classes=[-1, 1]))
    p.save(tmp_path / "m.nr")
    q = nr.load(tmp_path / "m.nr")
    assert repr(q) == repr(p)
    assert same(state_of(p), state_of(q))
    for r in (p, q):
        r.partial_fit(X[25:], y[25:])
    assert same(state_of(p), state_of(q))
    assert same(state_of(p), state_of(learned(m, X, y, nr.AROW(classes=[-1, 1])))), "as if never stopped"


SCRIPT = """
import sys, numpy as np, noregret as nr
X, y = np.load(sys.argv[1] + "/X.npy"), np.load(sys.argv[1] + "/y.npy")
for k in range(int(sys.argv[2])):
    p = nr.load(f"{sys.argv[1]}/{k}.nr").partial_fit(X[25:], y[25:])
    np.save(f"{sys.argv[1]}/{k}.npy", p.decision_function(X))
"""


def elsewhere(folder, found, jit):
    """Save models after 25 rows, let another process learn the rest, and return its scores."""
    X, y = sample()
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    for k, m in enumerate(found):
        learned(m, X[:25], y[:25]).save(folder / f"{k}.nr")
    env = {**os.environ, "NOREGRET_JIT": jit}
    subprocess.run([sys.executable, "-c", SCRIPT, str(folder), str(len(found))], check=True, env=env)
    for k, m in enumerate(found):
        assert np.array_equal(np.load(folder / f"{k}.npy"), learned(m, X, y).decision_function(X)), m


def test_another_process_goes_on_bit_for_bit(tmp_path):
    elsewhere(tmp_path, [*maps().values(), nr.RandomFourier(D=6, orthogonal=True)], "0")


COMPILED = ["fourier", "binning", "nystroem"]


@compiled
def test_compiled_is_interpreted(tmp_path):
    """The same bits where only sums and products are taken, as here: the libraries of both have the same logarithm and sine."""
    X, y = sample(60, 5)
    for name in COMPILED:
        p = learned(maps()[name], X, y)
        with compiling.interpreted():
            q = learned(maps()[name], X, y)
            scores = q.decision_function(X)
        assert p.decision_function(X) == pytest.approx(scores, rel=1e-12, abs=1e-12)
        for size in (1, 7):
            r = nr.pipeline(maps()[name], nr.PA1(classes=[-1, 1]))
            for a in range(0, 60, size):
                r.partial_fit(X[a : a + size], y[a : a + size])
            assert same(state_of(p), state_of(r)), "any split"
        assert same(state_of(p), state_of(learned(maps()[name], csr_matrix(X), y))), "any layout"
    elsewhere(tmp_path, [maps()[name] for name in COMPILED], "1")


@compiled
def test_predicting_in_threads():
    rng = np.random.default_rng(0)
    batches = [csr_matrix(rng.normal(size=(30, 400)) * (rng.random((30, 400)) < 0.05)) for _ in range(12)]
    for name in COMPILED:
        p = learned(maps()[name], batches[0], np.tile([-1, 1], 15))
        want = [copy.deepcopy(p).decision_function(b) for b in batches]
        with ThreadPoolExecutor(4) as pool:
            assert all(np.array_equal(a, b) for a, b in zip(pool.map(p.decision_function, batches), want))


# ---- bounded memory --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["fourier", "fourier, laplacian", "binning"])
def test_draws_that_have_no_room_are_made_again(name, monkeypatch):
    X, _ = sample(25, 30, share=0.2)
    want = maps()[name].transform(csr_matrix(X))
    monkeypatch.setattr(draws, "MOST", 5 * maps()[name]._draws.size)
    m = maps()[name]
    found = [m.transform(csr_matrix(X)) for _ in range(2)]
    assert m._draws.count == 5
    for z in found:
        assert np.array_equal(z.toarray(), want.toarray()) if hasattr(z, "toarray") else np.array_equal(z, want)


@pytest.mark.parametrize("name", maps())
def test_large_batches_are_mapped_in_pieces(name, monkeypatch):
    X, y = sample()
    m = maps()[name]
    learner = nr.PA1(classes=[-1, 1], epochs=2, shuffle=True)
    want, epochs = learned(m, X, y), nr.pipeline(m.fresh(), learner.clone()).fit(X, y)
    scores = nr.pipeline(m.fresh(), nr.PA1(classes=[-1, 1])).learn_many(X, y)
    monkeypatch.setattr(front, "ROOM", 6 * m.stored)
    assert len(want.front.pieces(checking.rows(X, "float64"))) == 7
    p = learned(m, X, y)
    assert same(state_of(want), state_of(p))
    assert np.array_equal(p.decision_function(X), want.decision_function(X))
    assert np.array_equal(scores, nr.pipeline(m.fresh(), nr.PA1(classes=[-1, 1])).learn_many(X, y))
    assert same(state_of(epochs), state_of(nr.pipeline(m.fresh(), learner.clone()).fit(X, y)))


def test_pieces_of_all_tasks(monkeypatch):
    X, y = sample()
    t = np.column_stack([X[:, 0], X[:, 1] ** 2])
    for learner, targets in ((nr.RLS(), t[:, 1]), (nr.RLS(), t), (nr.PAUniclass(), None), (nr.AROW(), np.where(y > 0, "a", "b"))):
        p, q = (nr.pipeline(nr.RandomFourier(D=6), learner.clone()) for _ in range(2))
        p.partial_fit(X, targets)
        with monkeypatch.context() as small:
            small.setattr(front, "ROOM", 12 * 7)
            q.partial_fit(X, targets)
        assert same(state_of(p), state_of(q))


def test_a_large_batch_that_fails_in_the_middle_changes_nothing(monkeypatch):
    X, y = sample()
    other, _ = sample(40, 4, 9, share=1.0)  # what is forgotten is not what comes next
    for m in maps().values():
        for begun in (True, False):
            p = nr.pipeline(nr.Scale(center=False), m, nr.PA1(classes=[-1, 1]))
            if begun:
                p.partial_fit(X[:5], y[:5])
            before = copy.deepcopy(p)
            monkeypatch.setattr(front, "ROOM", 6 * m.stored)
            with pytest.raises(ValueError, match="label 7, not in the declared classes"):
                p.partial_fit(other, [*y[:-1].tolist(), 7])
            with pytest.raises(ValueError, match=r"40 rows and 39 targets"):
                p.partial_fit(other, y[:-1])
            assert (p.learner.started) is begun
            if begun:
                assert same(state_of(before), state_of(p))
            for q in (before, p):
                q.partial_fit(X[5:], y[5:])
            assert same(state_of(before), state_of(p)), "and goes on alike"


# ---- what does not fit -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: nr.RandomFourier(D=0), "D must be a whole number of at least 1, got 0"),
        (lambda: nr.RandomFourier(D=2.0), "D must be a whole number"),
        (lambda: nr.RandomFourier(D=True), "D must be a whole number"),
        (lambda: nr.RandomFourier(seed=-1), "seed must be a whole number of at least 0"),
        (lambda: nr.RandomFourier(form="both"), "form must be one of paired, phase, got 'both'"),
        (lambda: nr.RandomFourier(orthogonal=2), "orthogonal must be True or False"),
        (lambda: nr.RandomFourier(kernel=nr.Laplacian(), orthogonal=True), "those of a Gaussian kernel"),
        (lambda: nr.RandomFourier(kernel="rbf"), r"RandomFourier takes one of the kernels RBF, Laplacian, Cauchy, such as RBF\(\)"),
        (lambda: nr.RandomFourier(kernel=nr.Polynomial()), "takes one of the kernels"),
        (lambda: nr.RandomFourier(kernel=nr.RBF(0.0)), "gamma of RBF must be greater than 0, got 0.0"),
        (lambda: nr.RandomFourier(kernel=nr.RBF(math.nan)), "must be a finite number"),
        (lambda: nr.RandomFourier(kernel=nr.RBF("1")), "must be a finite number"),
        (lambda: nr.RandomBinning(kernel=nr.RBF()), "RandomBinning takes one of the kernels Laplacian"),
        (lambda: nr.RandomBinning(P=0), "P must be a whole number"),
        (lambda: nr.RandomBinning(bits=29), "bits must be a whole number of at least 1 and at most 28, got 29"),
        (lambda: nr.RandomBinning(P=50, bits=5), r"a column for each of 50 grids, got 2\^5"),
        (lambda: nr.Nystroem(B=0), "B must be a whole number"),
        (lambda: nr.Nystroem(B=20_000), "at most 16384"),
        (lambda: nr.Nystroem(tol=0.0), "tol must be a number between 0 and 1"),
        (lambda: nr.Nystroem(kernel=nr.Sigmoid()), "Nystroem takes one of the kernels"),
        (lambda: nr.Nystroem(kernel=nr.Polynomial(2.5)), "whole degree"),
        (lambda: nr.Nystroem(kernel=nr.Polynomial(2, 1, -1)), "coef0"),
        (lambda: nr.Nystroem(B=5, rank=6), "rank must be a whole number of at least 1 and at most 5"),
        (lambda: nr.RandomFourier().approximation_error([[1.0]]), "at least two rows"),
        (lambda: nr.RandomFourier().approximation_error([[1.0], [2.0]], pairs=0), "pairs must be"),
        (lambda: nr.RandomFourier().approximation_error([[1.0], [2.0]], delta=1.0), "delta must be"),
        (lambda: nr.pipeline(nr.Scale(), nr.PA1()).approximation_error([[1.0], [2.0]]), "there is none in this pipeline"),
    ],
)
def test_settings_that_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    ("m", "bad", "said"),
    [
        (nr.RandomFourier(D=4, kernel=nr.RBF(1e10)), np.full((2, 3), 1e308), r"row 0 has w.x beyond 1e\+15 in size"),
        (nr.RandomFourier(D=4, form="phase"), np.array([[1.0, 0, 0], [1e17, 0, 0]]), r"row 1 has w.x beyond 1e\+15 in size"),
        (nr.RandomBinning(P=4), np.array([[1.0, 0, 0], [1e300, 0, 0]]), r"row 1 falls into a bin beyond 2\^53"),
        (nr.Nystroem(B=9), np.array([[5.0, 5, 5], [1e300, 0, 0]]), "kernel of row 1 overflows"),
        (nr.Nystroem(B=9, kernel=nr.Polynomial(3)), np.array([[5.0, 5, 5], [1e200, 0, 0]]), "kernel of row 1 overflows"),
        (nr.RandomFourier(D=4, orthogonal=True), np.ones((1, 4)), "X has 4 features"),
        (nr.RandomFourier(D=4), np.ones((1, 4)), "X has 4 features"),
        (nr.Nystroem(B=9), np.array([[1.0, np.nan, 0]]), "NaN at row 0, column 1"),
        (nr.RandomFourier(D=4), np.array([[1.0, np.inf, 0]]), "infinity at row 0, column 1"),
    ],
)
def test_rows_that_are_refused_change_nothing(m, bad, said):
    X, y = sample(12, 3)
    p = learned(m, X, y, nr.PA1())
    before = state_of(p)
    for call in (p.predict, lambda rows: p.partial_fit(rows, y[: len(rows)])):
        with pytest.raises(ValueError, match=said), np.errstate(invalid="ignore"):
            call(bad)
        assert same(before, state_of(p))


def test_orthogonal_weights_need_a_width():
    m = nr.RandomFourier(D=4, orthogonal=True)
    assert m.transform(np.ones((1, 2))).shape == m.transform(np.ones((1, 3))).shape == (1, 8), "answering fixes nothing"
    with pytest.raises(ValueError, match="orthogonal weights need dense rows"):
        nr.pipeline(nr.RandomFourier(D=4, orthogonal=True), nr.PA1()).partial_fit(csr_matrix(np.eye(2)), [0, 1])


@pytest.mark.parametrize("name", ["nystroem", "nystroem, eigenvectors"])
def test_landmarks_that_do_not_fit_together_are_refused(name):
    X, _ = sample()
    m = maps()[name].partial_fit(X)
    good = m.state()
    m.fresh().restore(good)
    faults = {
        "indptr": [good["indptr"][:-1], good["indptr"][::-1], good["indptr"].astype(float)],
        "indices": [good["indices"] - 100, good["indices"][:-1], np.zeros_like(good["indices"]), good["indices"] + (1 << 31)],
        "data": [good["data"] * np.nan, good["data"][:-1], good["data"] * 0.0],
        "alone": [good["alone"][:-1], np.full_like(good["alone"], np.inf)],
        "factor": [good["factor"][:-1], -good["factor"], good["factor"] * np.nan],
    }
    if "turn" in good:
        faults["turn"] = [good["turn"][:-1], good["turn"] * np.nan, None]
    for key, values in faults.items():
        for v in values:
            state = {k: a for k, a in {**good, key: v}.items() if a is not None}
            with pytest.raises(ValueError, match="arrays that do not fit together"):
                m.fresh().restore(state)
    with pytest.raises(ValueError, match="expected finite weights, 7 for each column"):
        maps()["fourier"].restore({"omega": np.ones((3, 6))})


def test_a_file_whose_learner_has_other_features_is_no_model(tmp_path):
    X, y = sample()
    p = learned(maps()["fourier"], X, y)
    meta = p.front.meta()
    meta["maps"][0]["settings"]["D"] = 8
    p._front = Front.restored(meta, p.front.tensors())
    p.save(tmp_path / "m.nr")
    with pytest.raises(ValueError, match="expected a learner of 16 features"):
        nr.load(tmp_path / "m.nr")


# ---- error and bounds ------------------------------------------------------------------------------------------------
def test_bounds_are_the_formulas():
    X = np.random.default_rng(0).normal(size=(20, 3))
    found = nr.RandomFourier(D=400, kernel=nr.RBF(0.2)).approximation_error(X, pairs=50, delta=0.1)
    assert found.pairs == 50
    assert 0.0 < found.mean <= found.max < found.pointwise < found.uniform
    assert 2 * math.exp(-400 * found.pointwise**2 / 2) == pytest.approx(0.1)
    phase = nr.RandomFourier(D=400, kernel=nr.Cauchy(0.2), form="phase").approximation_error(X, pairs=50, delta=0.1)
    assert 2 * math.exp(-400 * phase.pointwise**2 / 8) == pytest.approx(0.1)
    binning = nr.RandomBinning(P=400, bits=20).approximation_error(X, pairs=50, delta=0.1)
    assert 2 * math.exp(-2 * 400 * (binning.pointwise - 1 / (2**20 // 400)) ** 2) == pytest.approx(0.1)
    assert nr.RandomFourier(D=40, kernel=nr.Laplacian()).approximation_error(X, pairs=50).uniform is None
    assert nr.RandomFourier(D=40, orthogonal=True).approximation_error(X, pairs=50)[4:] == (None, None)
    e = uniform_bound(400, 3, 7.0, 0.1)
    assert 2**8 * (7.0 / e) ** 2 * math.exp(-400 * e**2 / (4 * 5)) == pytest.approx(0.1, rel=1e-6)
    assert uniform_bound(400, 3, 0.0, 0.1) == 0.0
    assert hoeffding(8, 2.0, 0.05) == pytest.approx(math.sqrt(math.log(40) / 4))


def test_the_error_is_that_of_all_pairs():
    """Many pairs of few rows: their mean and largest error, computed here from the features and the kernel."""
    X, _ = sample(5, 3)
    m = nr.RandomFourier(D=20, kernel=nr.Cauchy(0.3))
    z = m.transform(X)
    errors = [abs(z[i] @ z[k] - EXACT[nr.Cauchy](0.3, X[i], X[k])) for i in range(5) for k in range(5) if i != k]
    for rows in (X, csr_matrix(X)):
        found = m.approximation_error(rows, pairs=4000)
        assert found.max == pytest.approx(max(errors))
        assert found.mean == pytest.approx(np.mean(errors), rel=0.05)
    p = nr.pipeline(nr.Scale(), m, nr.PA1()).partial_fit(X, [0, 1, 0, 1, 0])
    assert p.approximation_error(X, pairs=100) == m.approximation_error(
        p.front.scaled(checking.rows(X, "float64"), False), pairs=100
    )


def test_the_diameter_is_that_of_a_box():
    X, _ = sample(12, 5)
    X[:, 1] = 3.0
    want = np.linalg.norm(X.max(0) - X.min(0))
    assert diameter(checking.rows(X, "float64")) == pytest.approx(want)
    assert diameter(checking.rows(csr_matrix(X), "float64")) == pytest.approx(want)


@pytest.mark.parametrize("name", ["nystroem", "nystroem, polynomial", "nystroem, eigenvectors"])
def test_nystroem_errs_by_no_more_than_the_distances_from_the_landmarks(name):
    X, _ = sample(40, 3)
    m = maps()[name].partial_fit(X[:15])
    found = m.approximation_error(X, pairs=300)
    assert 0.0 < found.max <= found.pointwise * (1 + 1e-9) + 1e-9
    assert found.pointwise <= found.uniform * (1 + 1e-9)
    if name == "nystroem":
        marks = X[:15][np.flatnonzero((m.transform(X[:15]) ** 2).sum(1) > 1 - 1e-12)]
        assert len(marks) == m.landmarks
        assert m.approximation_error(marks, pairs=50).max < 1e-12, "exact between landmarks"


# ---- in use ----------------------------------------------------------------------------------------------------------
def circle(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where((X**2).sum(1) > 1.4, "out", "in")


@pytest.mark.parametrize(
    "m", [nr.RandomFourier(D=30, kernel=nr.RBF(0.5)), nr.RandomBinning(P=20, bits=14), nr.Nystroem(B=20, kernel=nr.RBF(0.5))]
)
def test_what_no_line_can_tell_apart_is_told_apart(m):
    X, y = circle(300, 0)
    T, t = circle(200, 1)
    plain = nr.PA1(C=0.1, average=True).partial_fit(X, y).score(T, t)
    assert nr.pipeline(m, nr.PA1(C=0.1, average=True)).partial_fit(X, y).score(T, t) > max(0.85, plain + 0.2)


def test_three_classes_regression_and_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.argmin([np.abs(np.hypot(*X.T) - r) for r in (0.5, 1.2, 2.5)], axis=0)
    p = nr.pipeline(nr.RandomFourier(D=20), nr.AROW()).partial_fit(X, y, sample_weight=np.linspace(0.0, 2.0, 60))
    assert p.predict(X).shape == (60,)
    assert p.decision_function(X).shape == (60, 3)
    t = np.cos(X[:, 0])
    r = nr.pipeline(nr.Scale(), nr.RandomFourier(D=20), nr.RLS()).partial_fit(X, t)
    assert nr.RLS().partial_fit(X, t).score(X, t) < 0.2 < 0.8 < r.score(X, t)


def test_studies_take_pipelines_of_the_same_steps():
    X, y = circle(200, 3)
    steps = [nr.Scale(), nr.RandomFourier(D=20)]
    p = nr.pipeline(*steps, nr.PA1(C=0.1))
    report = nr.evaluate((X, y), p, regret=False)
    q = nr.pipeline(*steps, nr.PA1(C=0.1)).partial_fit(X, y)
    assert report.learners[0]["mistakes"] == q.n_mistakes_
    assert np.array_equal(p.decision_function(X), q.decision_function(X))
    both = nr.compare((X, y), [nr.pipeline(*steps, nr.PA1(C=0.1)), nr.pipeline(*steps, nr.Perceptron())], regret=False)
    found = {learner["model"]: learner["mistakes"] for learner in both.learners}
    assert found["pa1"] == q.n_mistakes_


def test_sparse_files_train_and_resume(tmp_path):
    X, y = circle(120, 4)
    lines = [f"{1 if t == 'out' else -1} 3:{a!r} 90:{b!r}\n" for (a, b), t in zip(X.tolist(), y)]
    (tmp_path / "a.svm").write_text("".join(lines))
    for m in (nr.RandomFourier(D=10), nr.RandomBinning(P=6, bits=12), nr.Nystroem(B=8)):
        whole = nr.train(tmp_path / "a.svm", nr.pipeline(m, nr.PA1())).model
        path = tmp_path / "m.nr"
        nr.train(tmp_path / "a.svm", nr.pipeline(m, nr.PA1()), save=path)
        assert same(state_of(whole), state_of(nr.load(path)))
        assert nr.load(path).learner.n_features_in_ == m.outputs


def test_merging():
    X, y = sample()
    m = maps()
    p, q = learned(m["fourier"], X[:20], y[:20]), learned(m["fourier"], X[20:], y[20:])
    want = (p.coef_ + q.coef_) / 2
    assert p.merge(q).coef_ == pytest.approx(want)
    other = learned(nr.RandomFourier(D=7, kernel=nr.Laplacian(0.3), seed=1), X[:20], y[:20])
    with pytest.raises(ValueError, match="cannot merge"):
        p.merge(other)
    a, b = learned(m["nystroem"], X[:20], y[:20]), learned(m["nystroem"], X[20:], y[20:])
    before = state_of(a)
    with pytest.raises(ValueError, match="the other pipeline has other landmarks"):
        a.merge(b)
    assert same(before, state_of(a))
    c = copy.deepcopy(a)
    assert a.merge(c).coef_ == pytest.approx(c.coef_)


def test_merging_needs_the_same_numbers_of_columns():
    def of(names, **settings):
        rows = [{n: float(i % 3 + k) for k, n in enumerate(names)} for i in range(6)]
        return nr.pipeline(nr.Table(**settings), nr.RandomFourier(D=5), nr.PA1()).partial_fit(rows, [0, 1] * 3)

    of(["a", "b"]).merge(of(["a", "b"]))
    with pytest.raises(ValueError, match="in another order. Give the table hash_bits"):
        of(["a", "b"]).merge(of(["b", "a"]))
    of(["a", "b"], hash_bits=10).merge(of(["b", "a"], hash_bits=10))


def test_maps_tell_their_settings():
    assert repr(nr.RandomFourier(kernel=nr.Laplacian(1.0))) == "RandomFourier(kernel=Laplacian(gamma=1.0))", (
        "RBF(1) == Laplacian(1)"
    )
    p = nr.pipeline(nr.RandomFourier(D=5), nr.PA1())
    p.set_params(randomfourier__D=6).partial_fit(np.eye(2), [0, 1])
    assert p.coef_.shape == (1, 12)
    assert p.clone().get_params()["randomfourier__D"] == 6


def test_settings_of_numpy_are_kept_as_given_and_saved(tmp_path):
    X, y = sample()
    two, flag = np.int64(2), np.bool_(True)
    for m in (
        nr.RandomFourier(D=np.int64(300), kernel=nr.RBF(np.float32(0.5)), orthogonal=flag, seed=two),
        nr.RandomBinning(P=two, bits=np.int64(10), seed=two),
        nr.Nystroem(B=np.int64(300), tol=np.float64(0.1), rank=two),
    ):
        p = clone(nr.pipeline(m, nr.PA1())).partial_fit(X, y)
        assert repr(clone(m)) == repr(m)
        p.save(tmp_path / "m.nr")
        q = nr.load(tmp_path / "m.nr")
        assert repr(q) == repr(p)
        assert np.array_equal(p.decision_function(X), q.decision_function(X))


def test_entries_of_cut_rows_are_theirs_alone():
    X, _ = sample()
    for Z in (X, csr_matrix(X)):
        rows = checking.rows(Z, "float64")
        starts, indices, data, repeated = entries(rows.cut(10, 20))
        assert len(data) == starts[-1] == (40 if repeated else np.count_nonzero(X[10:20]))
        assert starts[0] == 0
        assert len(indices) == (4 if repeated else len(data))


@pytest.mark.parametrize("steps", [[], [nr.RandomFourier(D=3)], [nr.RandomBinning(P=3)]])
def test_no_rows_have_no_answers(steps):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]})
    p = nr.pipeline(*steps, nr.PA1()).partial_fit(frame, [0, 1])
    assert p.predict(frame[:0]).shape == (0,)


def test_features_have_no_names():
    rows = [{"a": 1.0, "b": 2.0}, {"a": 0.5}]
    p = nr.pipeline(nr.RandomFourier(D=3), nr.PA1()).partial_fit(rows, ["x", "y"])
    assert p.front.names is None
    assert [naming(p.front, p.learner.model)(j) for j in range(3)] == ["0", "1", "2"]
