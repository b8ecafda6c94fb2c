"""Models as bytes and digests, files of older formats, and files that appear whole."""

import itertools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from conftest import learners
from test_model_file import same

import noregret as nr
from noregret.engine import compiling
from noregret.engine.compiling import interpreted
from noregret.files import drafts, model_file
from noregret.owners import OWNERS, owner

OLD = pathlib.Path(__file__).parent / "old_models"
EXPECTED = json.loads((OLD / "expected.json").read_text())


@pytest.fixture(autouse=True)
def no_compiler():
    with interpreted():
        yield


def rows(n=24):
    """Return the rows and labels of which the old models were made."""
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(n, 4)), 2) * (rng.random((n, 4)) < 0.7)
    y = np.array(["ham", "spam", "eggs"])[(X @ np.round(rng.normal(size=(4, 3)), 2)).argmax(1)]
    return X, y


def named(X):
    """Return rows as dicts; half of the names come late."""
    return [{f"n{j}" if i < 12 else f"m{j}": float(v) for j, v in enumerate(x) if v} | {"one": 1.0} for i, x in enumerate(X)]


def answers(name, m):
    """Return what a model says of the first four rows."""
    X, _ = rows()
    if name == "columns":
        return m.predict(X[:4])
    if name == "tasks":
        return m.decision_function(X[:4], tasks=["a", "b", "a", "b"])
    if name == "pipeline":
        return m.decision_function([{"a": float(x[0]), "b": float(x[1]), "c": c} for x, c in zip(X, "uvwu")])
    if name == "stream":  # its features begin at 1
        return m.decision_function(scipy.sparse.csr_matrix(np.column_stack([np.zeros(4), X[:4]])))
    return m.decision_function(named(X)[:4] if name in ("names", "hashed", "compact") else X[:4])


# ---- older formats ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_files_of_older_formats(name, tmp_path):
    """They load, answer as they did when they were written, and go on as files of this format."""
    expected, m = EXPECTED[name], nr.load(OLD / f"{name}.nr")
    assert type(m).__name__ == expected["class"]
    if "params" in expected:
        later = {"probabilities": False, "coverage": None}  # options that came after these files
        assert m.get_params() == expected["params"] | {k: v for k, v in later.items() if k in m.defaults}
    for k in ("n_epochs_", "separated_"):
        assert getattr(m, k, None) == expected.get(k)
    for tag in ("stream", "sampler"):
        assert m.extras.get(tag) == expected.get(f"{tag}_")
    if "seen" in expected:
        assert (m.n_seen_, m.n_updates_) == (expected["seen"], expected["updates"])
    m.save(tmp_path / "m")
    for model in (m, nr.load(tmp_path / "m")):
        if "scores" in expected:
            np.testing.assert_allclose(answers(name, model), expected["scores"], rtol=1e-12, atol=1e-12)
        assert model.digest() == m.digest()
        assert model.extras == m.extras
    assert model_file.read(tmp_path / "m")[0]["format"] == model_file.FORMAT == 3


def test_an_old_sampler_and_an_old_training_go_on(tmp_path):
    """What was saved beside the model is where its owner looks for it."""
    sampler = nr.SelectiveSampler.load(OLD / "sampler.nr")
    assert (sampler.n_queries_, sampler.b) == (9, 0.5)
    assert "sampler" not in sampler.learner.extras
    path = tmp_path / "m.nr"
    path.write_bytes((OLD / "stream.nr").read_bytes())
    X, y = rows()
    lines = [f"{1 if t == 'ham' else -1} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x) if v) for x, t in zip(X, y)]
    (tmp_path / "other.svm").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"was trained from old\.svm"):
        nr.train(tmp_path / "other.svm", save=path, resume=True)


# ---- bytes and digests -----------------------------------------------------------------------------------------------
def models():
    """Return a learner of each owner, with rows and targets for it."""
    X, y = rows()
    two = np.where(y == "eggs", "ham", y)
    table = [{"a": float(x[0]), "c": "uvw"[i % 3], "text": f"word{i % 5} word{i % 7}"} for i, x in enumerate(X)]
    pool = nr.Hedge(learners=[nr.PA1(), nr.pipeline(nr.Normalize(), nr.Perceptron())])
    return {
        "fresh": (nr.PA1(C=0.25), None, None),
        "names": (nr.PA1(), named(X), y),
        "hashed": (nr.AROW(hash_bits=8), named(X), y),
        "votes": (nr.VotedPerceptron(), X, y),
        "kernel": (nr.PA1(kernel=nr.RBF(0.5), budget=nr.RemoveOldest(5)), scipy.sparse.csr_array(X), two),
        "pool": (pool, named(X), two),
        "pipeline": (nr.pipeline(nr.Text("text"), nr.Category("c"), nr.Scale(), nr.PA1()), table, two),
        "fourier": (nr.pipeline(nr.RandomFourier(8, seed=1), nr.PA1()), X, two),
    }


NAMES = list(models())


def learned(name, cuts=()):
    """Return a model, its stream cut into calls."""
    m, X, y = models()[name]
    if X is None:
        return m
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    ends = [0, *cuts, n]
    for a, b in itertools.pairwise(ends):
        m.partial_fit(X[a:b], y[a:b])
    return m


@pytest.mark.parametrize("name", NAMES)
def test_bytes_come_back(name):
    """What `to_bytes` writes is a file, and is read as one."""
    m = learned(name)
    data = m.to_bytes()
    again = nr.from_bytes(data)
    assert type(again) is type(m)
    assert again.to_bytes() == data
    assert again.digest() == m.digest()
    if isinstance(m, nr.Learner) and m.started and name != "pool":
        same(m, again)
    for cut in (0, 7, 100, len(data) - 1):
        with pytest.raises(nr.ModelFileError, match="bytes: not a whole safetensors file"):
            nr.from_bytes(data[:cut])


def test_a_file_is_the_bytes(tmp_path):
    """One container, on disk or not; a compact predictor has it too."""
    for m in (learned("names"), learned("names").compact(), learned("pipeline")):
        m.save(tmp_path / "m")
        assert (tmp_path / "m").read_bytes() == m.to_bytes() == nr.load(tmp_path / "m").to_bytes()
    from safetensors.numpy import load_file

    m = learned("names")
    m.save(tmp_path / "m")
    assert np.array_equal(load_file(tmp_path / "m")["tally"], m.model.tally)  # any reader of safetensors can look inside


@pytest.mark.parametrize("name", NAMES)
def test_the_same_model_gives_the_same_bytes(name):
    """On every save, and however the stream was cut into calls."""
    if name == "fresh":
        assert len({learned(name).to_bytes() for _ in range(8)}) == 1
        return
    every = tuple(range(1, 24))
    found = [learned(name, cuts) for cuts in ((), (5,), (1, 2, 20), every) for _ in range(2)]
    assert len({m.to_bytes() for m in found}) == 1
    assert len({m.digest() for m in found}) == 1


def test_numbers_that_come_late_leave_no_trace():
    """A file of sparse rows brings new numbers in any call; the arrays in memory differ, the bytes do not."""
    X = scipy.sparse.csr_matrix(np.triu(np.arange(1.0, 65.0).reshape(8, 8))[:, ::-1])
    y = [0, 1] * 4
    found = []
    for cuts in ((), (3,), tuple(range(1, 8))):
        m = nr.pipeline(nr.Scale(), nr.AROW())
        for a, b in zip([0, *cuts], [*cuts, 8]):
            m.partial_fit(X[a:b], y[a:b])
        found.append(m)
    assert len({m.to_bytes() for m in found}) == 1


CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from test_files import NAMES, learned
from noregret.engine.compiling import interpreted
with interpreted():
    print(*(learned(name).digest() for name in NAMES))
"""


def test_the_same_digest_in_another_process():
    """Hashes of Python are salted differently in each."""
    out = [
        subprocess.run(
            [sys.executable, "-c", CHILD, os.path.dirname(__file__)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]
    assert out[0] == out[1] == [learned(name).digest() for name in NAMES]


def test_digests_tell_models_apart():
    """State, counters, options, labels, features: a difference in any of them, and in nothing else."""
    base = learned("names")
    different = [base.digest()]

    def other(**params):
        m, X, y = models()["names"]
        return m.set_params(**params).partial_fit(X, y)

    different += [other(C=0.5).digest(), other(dtype="float32").digest(), learned("names").set_params(seed=1).digest()]
    m, X, y = models()["names"]
    renamed = [{f"{k}!": v for k, v in x.items()} for x in X]
    different += [m.clone().partial_fit(renamed, y).digest(), m.clone().partial_fit(X, np.char.add(y, "s")).digest()]
    different += [m.clone().partial_fit(X[:-1], y[:-1]).digest(), learned("names").compact().digest()]
    moved = learned("names")
    moved.model.state.w[0] = np.nextafter(moved.model.state.w[0], 9.0)
    counted = learned("names")
    counted.model.tally[1] += 1
    different += [moved.digest(), counted.digest()]
    assert len(set(different)) == len(different)
    noted = learned("names")
    noted.extras["stream"] = {"source": "a file"}
    assert noted.digest() == base.digest()
    assert noted.to_bytes() != base.to_bytes()


def test_the_processor_level_is_in_the_file_and_not_in_the_digest(monkeypatch):
    plain = learned("names")
    here = compiling.level()
    assert model_file.read(plain.to_bytes())[0]["levels"] == [here]
    assert nr.from_bytes(plain.to_bytes()).levels == [here]
    monkeypatch.setattr(compiling, "level", lambda: "v2")
    elsewhere = plain.to_bytes()
    monkeypatch.setattr(compiling, "level", lambda: "host")
    words = "bytes was learned by code for x86-64-v2, and this process runs code for the processor at hand: .* Set NOREGRET_CPU=v2"
    with pytest.warns(UserWarning, match=words):
        again = nr.from_bytes(elsewhere)
    assert again.digest() == plain.digest()
    assert model_file.read(again.to_bytes())[0]["levels"] == ["v2", "host"]  # resumed at another level: both are known
    with pytest.warns(UserWarning, match="code for x86-64-v2"):
        nr.from_bytes(again.to_bytes())


@pytest.mark.parametrize("levels", ["v3", [3], ["v" * 30], ["v3\n"]])
def test_levels_that_are_none(levels):
    meta, tensors = model_file.headed(learned("names"))
    with pytest.raises(nr.ModelFileError, match="expected names of processor levels"):
        nr.from_bytes(b"".join(bytes(p) for p in model_file.pieces({**meta, "levels": levels}, tensors)))


def test_extras_follow_the_model():
    """They come back with their types, go with a reset, and are refused where they cannot be written."""
    m = learned("pipeline")
    m.extras["mine"] = {"place": (1, 2.5, b"x")}
    again = nr.from_bytes(m.to_bytes())
    assert again.extras == m.extras
    assert again.reset().extras == {}
    m.extras["mine"] = print
    with pytest.raises(TypeError, match="extra 'mine' cannot be saved"):
        m.to_bytes()


def test_owners_are_where_the_table_says():
    """Each tag leads to something that can be called."""
    assert all(callable(owner(tag)) for tag in OWNERS)
    assert set(model_file.KINDS) <= set(OWNERS)


def test_a_pool_of_pipelines_with_a_table_is_not_saved():
    """A file knows learners behind maps of rows; a table is before the whole pool."""
    learners = [nr.PA1(), nr.pipeline(nr.Scale(), nr.PA1())]
    assert (
        nr.from_bytes(nr.Hedge(learners=learners).to_bytes()).learners[1].get_params()["steps"][0].get_params()
        == nr.Scale().get_params()
    )
    with pytest.raises(TypeError, match=r"parameter 'learners' cannot be saved: expected a learner, or a pipeline of maps"):
        nr.Hedge(learners=[nr.PA1(), nr.pipeline(nr.Table(), nr.PA1())]).to_bytes()


@pytest.mark.parametrize("name", sorted(learners()))
def test_room_is_no_part_of_a_state(name):
    """A model whose arrays have no spare room goes on as one that has, also where features come late."""
    m = learners()[name].set_params(**{"theta": 3.0} if name == "winnow" else {})
    X, y = rows()
    X = np.abs(X) / 4 if m.nonnegative else X
    y = X[:, 0] - X[:, 1] if m.task != "classification" else np.where(y == "eggs", "ham", y)
    if m.task == "classification" and "cost" in name:
        y = (y == "ham").astype(int)
    Z = named(X)
    whole, half = m.clone(), m.clone()
    for i in range(len(Z)):
        for each in (whole, half):
            each.learn_one(Z[i], y[i])
        if i in (5, 13):
            half = nr.from_bytes(half.to_bytes())
    assert half.digest() == whole.digest()
    if hasattr(whole.model, "spec") and whole.model.features.kind == "names":
        same(whole, half)


# ---- files that appear whole -----------------------------------------------------------------------------------------
def test_a_save_is_on_the_disk(tmp_path, monkeypatch):
    """The file is synced before it gets its name, the folder after that."""
    done = []
    real = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda n: (done.append(os.readlink(f"/proc/self/fd/{n}")), real[0](n)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("rename"), real[1](a, b)))
    nr.PA1().save(tmp_path / "m.nr")
    assert len(done) == 3
    assert done[0].startswith(str(tmp_path / "m.nr."))
    assert done[1:] == ["rename", str(tmp_path)]


def test_drafts(tmp_path):
    """A file is written whole or not at all; a link stays one; what a killed process left is cleared."""
    path = tmp_path / "real"
    drafts.write(path, [b"one", b"", np.arange(3, dtype=np.uint8).data])
    assert path.read_bytes() == b"one\0\1\2"
    (tmp_path / "link").symlink_to(path)
    drafts.write(tmp_path / "link", [b"two"], durable=True)
    assert (tmp_path / "link").is_symlink()
    assert path.read_bytes() == b"two"
    with pytest.raises(TypeError):
        drafts.write(path, [b"half", "text"])
    with pytest.raises(FileNotFoundError, match=r"cannot write nowhere/m: there is no directory nowhere; make it first"):
        drafts.write("nowhere/m", [])
    assert path.read_bytes() == b"two"
    left = tmp_path / f"real.{'0a' * 8}.tmp"
    mine = tmp_path / f"real.{os.getpid():08x}{'0a' * 4}.tmp"  # of a process that still runs
    others = [tmp_path / f"other.{'0a' * 8}.tmp", tmp_path / "real.0a.tmp", mine]
    for file in (left, *others):
        file.write_bytes(b"")
    drafts.clear(path)
    assert sorted(tmp_path.iterdir()) == sorted([path, tmp_path / "link", *others])
