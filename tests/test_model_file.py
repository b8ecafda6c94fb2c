"""Model files: what is saved comes back bit for bit; whatever is wrong with a file is a ModelFileError."""

import datetime
import json
import os
import shutil
import subprocess
import sys
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse
from safetensors import safe_open
from safetensors.numpy import save as serialize

import noregret as nr
from noregret.files.json_values import decode, encode, known_parts
from noregret.files.model_file import FORMAT, ModelFileError, checksum, load
from noregret.learners.base import REGISTRY
from noregret.parts import losses, projections, proximal

LEARNERS = ["PA1", "Perceptron", "AveragedPerceptron", "VotedPerceptron", "PA1Regressor"]
K, N, D = 37, 90, 6


def stream(layout, classes):
    """Return rows in a layout and targets: labels, or real numbers for 0 classes."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6)
    X[:, 0] += 0.1
    f = X @ rng.normal(size=(D, max(classes, 1)))
    y = f[:, 0] + 0.1 * rng.normal(size=N) if classes == 0 else np.array(["ham", "spam", "eggs"])[f.argmax(1) % classes]
    if layout == "csr":
        return scipy.sparse.csr_array(X), y
    if layout in ("dicts", "hashed"):  # names come late as well, so that the table grows after the file
        return [{f"f{j}" if i < 60 else f"g{j}{i % 3}": v for j, v in enumerate(x) if v} for i, x in enumerate(X)], y
    return X, y


def learner(name, layout, **params):
    """Return a learner of this name."""
    return getattr(nr, name)(hash_bits=4 if layout == "hashed" else None, **params)


def same(a, b):
    """Check that two learners are the same to the bit."""
    assert type(a) is type(b)
    assert json.dumps(encode(a.get_params(), "", known_parts(type(a)))) == json.dumps(
        encode(b.get_params(), "", known_parts(type(b)))
    )
    assert (a.started) == (b.started)
    if not a.started:
        return
    m, n = a.model, b.model
    assert {**m.dims, "feature": 0} == {**n.dims, "feature": 0}
    assert m.many == n.many
    assert m.tally.tolist() == n.tally.tolist()
    assert m.used().keys() == n.used().keys()
    for path, x in m.used().items():
        z = n.used()[path]
        assert (x.dtype, x.shape, x.tobytes()) == (z.dtype, z.shape, z.tobytes()), path
    for z in n.arrays().values():
        assert z.flags.writeable
        assert z.flags.c_contiguous
    assert (m.features.kind, m.features.size, m.features.bias) == (n.features.kind, n.features.size, n.features.bias)
    assert repr(m.features.names) == repr(n.features.names)
    for table in ("table", "taken", "collisions", "place"):
        if not callable(getattr(m.features, table, None)):
            assert repr(getattr(m.features, table, None)) == repr(getattr(n.features, table, None))
    assert (m.labels is None) == (n.labels is None)
    if m.labels is not None:
        for k in ("values", "index", "positive", "declared", "sorted", "order", "tie"):
            assert repr(getattr(m.labels, k)) == repr(getattr(n.labels, k))
    assert repr(m.cost) == repr(n.cost)


def reloaded(m, tmp_path):
    """Return what a file makes of a learner."""
    m.save(tmp_path / "m.safetensors")
    return load(tmp_path / "m.safetensors")


# ---- resuming --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("layout", ["dense", "csr", "dicts", "hashed"])
@pytest.mark.parametrize("name", LEARNERS)
def test_resume_is_bit_identical(name, layout, classes, tmp_path):
    """Train k, save, load, train the rest = never stopped."""
    X, y = stream(layout, 0 if name == "PA1Regressor" else classes)
    whole = learner(name, layout).partial_fit(X[:K], y[:K]).partial_fit(X[K:], y[K:])
    half = learner(name, layout).partial_fit(X[:K], y[:K])
    again = reloaded(half, tmp_path)
    same(half, again)
    assert again.predict(X[:K]).tolist() == half.predict(X[:K]).tolist()
    same(half, again)
    again.partial_fit(X[K:], y[K:])
    same(whole, again)
    assert whole.n_updates_ > 0


CHILD = """
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
from noregret.files.model_file import load
from test_model_file import K, stream
for name, layout, classes in eval(sys.argv[3]):
    path = f"{sys.argv[2]}/{name}-{layout}"
    X, y = stream(layout, classes)
    load(path).partial_fit(X[K:], y[K:]).save(path + "-done")
"""


def test_resume_in_a_new_process(tmp_path):
    """The same across processes; the child knows nothing but the file."""
    cases = [
        ("PA1", "dicts", 3),
        ("VotedPerceptron", "dense", 3),
        ("AveragedPerceptron", "hashed", 2),
        ("PA1Regressor", "csr", 0),
    ]
    for name, layout, classes in cases:
        X, y = stream(layout, classes)
        learner(name, layout).partial_fit(X[:K], y[:K]).save(tmp_path / f"{name}-{layout}")
    subprocess.run([sys.executable, "-c", CHILD, os.path.dirname(__file__), str(tmp_path), repr(cases)], check=True)
    for name, layout, classes in cases:
        X, y = stream(layout, classes)
        whole = learner(name, layout).partial_fit(X[:K], y[:K]).partial_fit(X[K:], y[K:])
        same(whole, load(tmp_path / f"{name}-{layout}-done"))


@pytest.mark.parametrize("name", ["MIRA", "ALMA", "OGD", "NORMA", "PAUniclass", "EGpm", "MirrorDescent"])
def test_other_states_resume(name, tmp_path):
    """Tracked norms, p-norm geometry, logarithms, offsets: states of other shapes, on dicts with spare room."""
    if not hasattr(nr, name):
        pytest.skip(f"no {name} yet")
    X, y = stream("dicts", 3)
    args = (lambda s: (X[s],)) if name == "PAUniclass" else (lambda s: (X[s], y[s]))
    whole = getattr(nr, name)().partial_fit(*args(slice(K))).partial_fit(*args(slice(K, N)))
    again = reloaded(getattr(nr, name)().partial_fit(*args(slice(K))), tmp_path)
    same(whole, again.partial_fit(*args(slice(K, N))))


def test_spare_room_is_not_saved(tmp_path):
    """A table of names has room to grow; how much is no part of the model."""
    m = nr.PA1()
    for i in range(5):
        m.learn_one({f"n{i}": 1.0}, i % 2)
    assert m.model.dims["feature"] > m.model.features.size
    again = reloaded(m, tmp_path)
    same(m, again)
    assert again.model.dims["feature"] == m.model.features.size
    for each in (m, again):
        each.learn_one({"n5": 1.0, "n6": 2.0}, 1)
    same(m, again)


def test_a_third_class_after_the_file(tmp_path):
    """Two classes in the file, three later."""
    X, y = stream("dense", 3)
    two = np.where(y == "eggs", "ham", y)
    whole = nr.PA1().partial_fit(X[:K], two[:K]).partial_fit(X[K:], y[K:])
    again = reloaded(nr.PA1().partial_fit(X[:K], two[:K]), tmp_path)
    assert not again.model.many
    same(whole, again.partial_fit(X[K:], y[K:]))


def test_an_untrained_learner(tmp_path):
    """Parameters alone; the class is checked by `load` of a class."""
    m = nr.PA1(C=0.25, classes=("a", "b"), class_weight={"a": 2})
    same(m, reloaded(m, tmp_path))
    assert isinstance(nr.PA1.load(tmp_path / "m.safetensors"), nr.PA1)
    with pytest.raises(TypeError, match="holds a PA1, not a Perceptron"):
        nr.Perceptron.load(tmp_path / "m.safetensors")


def test_fitted_attributes(tmp_path):
    """What `fit` notes besides the model comes back, and float32 stays float32."""
    X, y = stream("dense", 2)
    for dtype in ("float32", np.float32, np.dtype(np.float32)):
        m = nr.Perceptron(dtype=dtype).fit(X[:3], y[:3] if len(set(y[:3])) > 1 else [0, 1, 0], until="separated")
        again = reloaded(m, tmp_path)
        assert (again.n_epochs_, again.separated_) == (m.n_epochs_, m.separated_)
        assert again.coef_.tobytes() == m.coef_.tobytes()
        assert again.state.w.u.dtype == np.float32


def test_names_of_columns(tmp_path):
    """A frame's columns keep their names."""
    pd = pytest.importorskip("pandas")
    X, y = stream("dense", 2)
    frame = pd.DataFrame(X, columns=[f"é{j}" for j in range(D)])
    m = nr.PA1().fit(frame, y)
    again = reloaded(m, tmp_path)
    same(m, again)
    assert again.predict_one({"é0": 1.0}) == m.predict_one({"é0": 1.0})
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[frame.columns[::-1]])


# ---- values ----------------------------------------------------------------------------------------------------------
EXOTIC = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        1.0,
        -0.0,
        1e-310,
        2**80,
        float("inf"),
        float("-inf"),
        "",
        "é\n\0",
        "\ud83d\ude00",
        b"\xff\0",
    ),
    *((), (1, (1.0, (True, b"a"))), [1, [2]], {(0, "a"): 1.0, True: None}, np.float64(0.1), np.float32(0.1), np.int64(3)),
    *(np.str_("a"), np.bytes_(b"a"), np.bool_(True)),
    *(losses.Hinge(), losses.EpsilonInsensitive(0.5), proximal.Grouped(np.array([1, 3]), proximal.L1())),
]


@pytest.mark.parametrize("v", EXOTIC, ids=repr)
def test_values_keep_type_and_value(v):
    """JSON and back."""
    parts = known_parts(nr.PA1)
    back = decode(json.loads(json.dumps(encode(v, "it", parts), allow_nan=False)), parts)
    assert type(back) is type(v)
    assert repr(back) == repr(v)


@pytest.mark.parametrize(
    "a",
    [
        np.array([[0.0, np.inf], [0.1, 0.0]]),
        np.zeros((0, 3), np.float32),
        np.array([2**64 - 1], np.uint64),
        np.array(["a", "bcd"]),
        np.array([b"a", b"\xff"]),
        np.array([True, False]),
        np.fromiter([(1, 2), "a", None], object, 3),
        np.arange(6).reshape(2, 3).T,
        np.array(3.5),
    ],
    ids=repr,
)
def test_arrays_keep_type_and_value(a):
    """The same for arrays."""
    back = decode(json.loads(json.dumps(encode(a, "it", {}))), {})
    assert (back.dtype, back.shape, back.tolist()) == (a.dtype, a.shape, a.tolist())


def test_parameters_come_back(tmp_path):
    """Costs, class weights and classes of every form, trained."""
    X, y = stream("dense", 3)
    classes = ["eggs", "ham", "spam"]
    costs = [None, {("ham", "spam"): 3.0}, OrderedDict({("ham", "spam"): 3}), 1.0 - np.eye(3), (1 - np.eye(3)).tolist()]
    for cost in costs:
        for given in (classes, tuple(classes), np.array(classes)):
            m = nr.PA1(cost=cost, classes=given, class_weight={"ham": np.float64(0.5)}, C=np.float32(0.3), seed=None)
            half = m.clone().partial_fit(X[:K], y[:K])
            again = reloaded(half, tmp_path)
            assert type(again.classes) is type(given)
            same(m.partial_fit(X[:K], y[:K]).partial_fit(X[K:], y[K:]), again.partial_fit(X[K:], y[K:]))
    m = nr.PA1(classes=range(3)).partial_fit(X, (y == "ham").astype(int))
    assert reloaded(m, tmp_path).classes == [0, 1, 2]


def test_parameters_in_force(tmp_path):
    """An attribute set without set_params counts after a reset only; the file keeps both values."""
    X, y = stream("dense", 2)
    m = nr.PA1(C=0.1).partial_fit(X[:K], y[:K])
    m.C = 7.0
    again = reloaded(m, tmp_path)
    assert (again.C, again.model.given["C"], again.model.params.slack.C) == (7.0, 0.1, 0.1)
    same(m.partial_fit(X[K:], y[K:]), again.partial_fit(X[K:], y[K:]))


def test_parts_as_parameters(tmp_path):
    """A part, here one that holds an array."""
    if not hasattr(nr, "OGD"):
        pytest.skip("no OGD yet")
    X, y = stream("dense", 2)
    region = projections.HalfSpace(np.array([1.0, 0.5]), 0.25)
    new = lambda: nr.OGD(projection=region)  # noqa: E731
    again = reloaded(new().partial_fit(X[:K], y[:K]), tmp_path)
    assert isinstance(again.projection, projections.HalfSpace)
    same(new().partial_fit(X, y), again.partial_fit(X[K:], y[K:]))


def test_exotic_labels_and_names(tmp_path):
    """Labels and names of any plain type, told apart by type."""
    names = ["é", b"\xff", ("a", 1, (2.5, b"b")), 7, 1.5, True, "1", 2**70, np.str_("s")]
    for bits in (None, 3):
        for labels in ([(1, "a"), b"x", "x"], [True, False], [1, 2, 3.0], [0.0, 1], [b"", (0,)]):
            m = nr.PA1(hash_bits=bits)
            for i in range(40):
                m.learn_one({names[i % len(names)]: 1.0, names[(3 * i) % 7]: -0.5}, labels[i % len(labels)])
            again = reloaded(m, tmp_path)
            same(m, again)
            assert [type(v) for v in again.feature_names_] == [type(v) for v in m.feature_names_]
            x = {names[2]: 1.0, names[5]: 1.0}
            assert repr(again.learn_one(x, labels[0])) == repr(m.learn_one(x, labels[0]))
            same(m, again)


# ---- what cannot be saved --------------------------------------------------------------------------------------------
def test_labels_that_cannot_be_saved(tmp_path):
    """An error that names the label; no file."""
    day = datetime.date(2020, 1, 2)
    for label in (day, ("a", day)):
        m = nr.PA1()
        m.learn_one({"a": 1}, "other")
        m.learn_one({"a": 1}, label)
        with pytest.raises(TypeError, match=r"label .*datetime.date\(2020, 1, 2\).*of type date.*Expected"):
            m.save(tmp_path / "m")
    m = nr.PA1()
    m.learn_one({day: 1}, "a")
    with pytest.raises(TypeError, match=r"feature name .*datetime.date\(2020, 1, 2\)"):
        m.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_functions_cannot_be_saved(tmp_path):
    """A rate of the user's own is code."""
    if hasattr(nr, "OGD"):
        with pytest.raises(TypeError, match=r"parameter 'rate' cannot be saved.*named schedule"):
            nr.OGD(rate=lambda t: 1.0 / t).save(tmp_path / "m")
    with pytest.raises(TypeError, match=r"parameter 'C' cannot be saved.*named schedule"):
        nr.PA1(C=print).save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_parts_of_the_users_own_cannot_be_saved(tmp_path):
    """A part of an unknown class could not be found again, not even one with a known name."""

    class Hinge(NamedTuple):
        pass

    with pytest.raises(TypeError, match=r"parameter 'C' cannot be saved: Hinge\(\)"):
        nr.PA1(C=Hinge()).save(tmp_path / "m")


def test_a_class_without_a_name(tmp_path):
    """A subclass that is not in the registry would come back as its parent."""

    class Mine(nr.PA1):
        pass

    with pytest.raises(TypeError, match="Mine is not in the registry"):
        Mine().save(tmp_path / "m")


# ---- writing ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("what", ["replace", "fsync"])
def test_an_interrupted_save(what, tmp_path, monkeypatch):
    """The old file stays as it was, and nothing is left behind."""
    path = tmp_path / "m.safetensors"
    nr.PA1(C=0.5).save(path)
    before = path.read_bytes()

    def fail(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, what, fail)
        with pytest.raises(KeyboardInterrupt):
            nr.PA1(C=2.0).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.safetensors"]


def test_where_files_go(tmp_path):
    """Missing folders and files are the system's errors; a link stays a link; the mode is that of any new file."""
    with pytest.raises(FileNotFoundError):
        nr.PA1().save(tmp_path / "no" / "m")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "m")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    nr.PA1(C=3.0).save(str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "real").C == 3.0
    (tmp_path / "new").write_bytes(b"")
    assert (tmp_path / "real").stat().st_mode == (tmp_path / "new").stat().st_mode


# ---- damaged files ---------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Return the bytes of a small model, with names."""
    m = nr.PA1()
    for i in range(4):
        m.learn_one({f"n{i}": 1.0}, i % 3)
    path = tmp_path_factory.mktemp("tiny") / "m"
    m.save(path)
    return path.read_bytes()


def refused(path, data, match="m: "):
    """Check that these bytes are refused."""
    with open(path, "wb") as f:
        f.write(data)
    with pytest.raises(ModelFileError, match=match):
        load(path)


def test_every_flipped_bit(tiny, tmp_path):
    """All of them, header and data."""
    path = tmp_path / "m"
    data = bytearray(tiny)
    for i in range(len(data)):
        for bit in range(8):
            data[i] ^= 1 << bit
            path.write_bytes(data)
            try:
                load(path)
            except ModelFileError:
                data[i] ^= 1 << bit
            else:
                pytest.fail(f"bit {bit} of byte {i} was flipped and not noticed")
    assert bytes(data) == tiny
    path.write_bytes(data)
    load(path)


def test_every_truncation(tiny, tmp_path):
    """Every length below the whole, and bytes too many."""
    for n in range(len(tiny)):
        refused(tmp_path / "m", tiny[:n], "not a whole safetensors file")
    refused(tmp_path / "m", tiny + b"\0", "not a whole safetensors file")


def test_the_checksum_covers_everything():
    """Text, names, dtypes, shapes and bytes."""
    a = np.arange(6.0)
    files = [("t", {"a": a}), ("u", {"a": a}), ("t", {"b": a}), ("t", {"a": a.view(np.int64)}), ("t", {"a": a.reshape(2, 3)})]
    files += [("t", {"a": -a}), ("t", {}), ("t", {"a": a, "b": a[:0]}), ("t", {"a": a[:3], "b": a[3:]})]
    assert len({checksum(*f) for f in files}) == len(files)
    assert checksum("t", {"a": a, "b": -a}) == checksum("t", {"b": -a.astype(">f8"), "a": a})


def test_damage_is_named(tiny, tmp_path):
    """The message has both checksums."""
    refused(
        tmp_path / "m",
        tiny[:-1] + bytes([tiny[-1] ^ 1]),
        r"m: the file is damaged: expected sha256 [0-9a-f]{64}, found [0-9a-f]{64}",
    )


# ---- hostile files: the checksum is right ----------------------------------------------------------------------------
def opened(data, path):
    """Return the metadata and tensors of a file."""
    path.write_bytes(data)
    with safe_open(path, "numpy") as f:
        return json.loads(f.metadata()["noregret"]), {k: f.get_tensor(k) for k in f.keys()}  # noqa: SIM118


def forged(meta, tensors):
    """Return a file with a valid checksum."""
    text = meta if isinstance(meta, str) else json.dumps(meta)
    return serialize(tensors, {"noregret": text, "sha256": checksum(text, tensors)})


def put(tree, path, value):
    """Set a value deep in nested dicts."""
    *way, last = path.split(".")
    for k in way:
        tree = tree[k]
    tree[last] = value


def test_a_newer_format(tiny, tmp_path):
    """An error that says to upgrade."""
    meta, tensors = opened(tiny, tmp_path / "m")
    refused(
        tmp_path / "m",
        forged({**meta, "format": FORMAT + 1, "noregret": "9.0"}, tensors),
        f"by noregret 9.0 with format {FORMAT + 1}.*upgrade",
    )
    refused(tmp_path / "m", forged({"format": 99}, {}), "upgrade")
    for version in (0, -1, "1", 1.0, True, None):
        refused(tmp_path / "m", forged({**meta, "format": version}, tensors), "format version")


@pytest.mark.parametrize("text", ["[]", "1", "null", '"a"', "", "{", "{}", "[" * 100_000, "9" * 10_000, '{"format": 1}'])
def test_metadata_that_are_not_ours(text, tmp_path):
    """JSON of another kind, or none."""
    refused(tmp_path / "m", forged(text, {}), "a JSON object as metadata" if text in ("[]", "1", "null", '"a"') else "m: ")


def test_other_safetensors(tmp_path):
    """A file of somebody else's."""
    refused(tmp_path / "m", serialize({"a": np.zeros(3)}), "not those of a noregret model")
    refused(tmp_path / "m", serialize({"a": np.zeros(3)}, {"noregret": "{}"}), "not those of a noregret model")


def raw(header, data=b"", size=None):
    """Return a file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if size is None else size).to_bytes(8, "little") + text + data


def test_hostile_headers(tmp_path):
    """Lengths, shapes and offsets that lie."""
    one = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    cases = [
        raw(b"{}", size=2**64 - 1),
        raw(b"{}", size=2**63),
        raw(b"{}", size=10**8),
        raw(b"[]"),
        raw(b"\xff\xfe"),
        raw(b"{" * 10_000),
        raw({"a": {**one, "shape": [10**15]}}, bytes(8)),
        raw({"a": {**one, "shape": [2**63, 2**63]}}, bytes(8)),
        raw({"a": {**one, "shape": [10**15], "data_offsets": [0, 8 * 10**15]}}, bytes(8)),
        raw({"a": {**one, "shape": [-1]}}, bytes(8)),
        raw({"a": {**one, "dtype": "PICKLE"}}, bytes(8)),
        raw({"a": one, "b": one}, bytes(8)),
        raw({"a": one, "b": {**one, "data_offsets": [4, 12]}}, bytes(12)),
        raw({"a": {**one, "data_offsets": [8, 0]}}, bytes(8)),
        raw({"a": one}, bytes(16)),
        raw({"__metadata__": {"noregret": 1}}),
        raw({"__metadata__": []}),
    ]
    for data in cases:
        refused(tmp_path / "m", data)


CHANGES = [
    ("learner", "no_such", "import the module that defines it first"),
    ("learner", ["pa1"], "m: "),
    ("learner", "perceptron", "m: "),
    ("learner", "pa1_regressor", "m: "),
    ("params.C", -1.0, "C must be in"),
    ("params.C", {"part": "Popen", "fields": {}}, "value this version knows"),
    ("params.C", {"pickle": "gASV"}, "value this version knows"),
    ("params.C", {"array": [1.0], "dtype": "object", "shape": [1]}, "m: "),
    ("params.C", {"float": "0x1p3"}, "value this version knows"),
    ("params.dtype", "float32", "of float32"),
    ("params.dtype", "O", "m: "),
    ("params.average", True, "the tensors"),
    ("params.unknown", 1, "no parameter 'unknown'"),
    ("params", [], "m: "),
    ("fitted.__class__", 1, "attribute"),
    ("fitted.C", 1, "attribute"),
    ("fitted", None, "m: "),
    ("model", None, "no tensors"),
    ("model", {}, "m: "),
    ("model.features.kind", "columns", "m: "),
    ("model.features.kind", "os", "columns, numbers, names"),
    ("model.features.bias", 5, "constant feature"),
    ("model.features", {"kind": "columns", "width": 10**15, "bias": True}, "m: "),
    ("model.features", {"kind": "hashed", "width": None, "bits": 31, "bias": True}, "room for"),
    ("model.features", {"kind": "hashed", "width": None, "bits": 10**9, "bias": True}, "hash_bits"),
    ("model.labels", None, "labels"),
    ("model.labels.values", [0, 1], "rows of weights"),
    ("model.labels.values", [0, 1, 2, 3], "rows of weights"),
    ("model.labels.values", [0, 1, 1], "different labels"),
    ("model.labels.values", [0, 1, [2]], "m: "),
    ("model.many", False, "rows of weights"),
    ("model.many", 1, "rows of weights"),
    ("model.dims.feature", 10**15, "of shape"),
    ("model.dims.feature", 2, "room for"),
    ("model.dims.feature", -1, "sizes"),
    ("model.dims.feature", 8.0, "sizes"),
    ("model.dims.class", 10**15, "rows of weights"),
    ("model.dims.two", 1, "sizes"),
    ("model.dims.more", 1, "sizes"),
    ("model.dims", {}, "m: "),
    ("model.given", {"C": "x"}, "C must be a number"),
]


@pytest.mark.parametrize(("where", "value", "match"), CHANGES, ids=[f"{w}={v}"[:40] for w, v, _ in CHANGES])
def test_hostile_metadata(where, value, match, tiny, tmp_path):
    """One lie at a time."""
    meta, tensors = opened(tiny, tmp_path / "m")
    put(meta, where, value)
    refused(tmp_path / "m", forged(meta, tensors), match)


def test_hostile_columns(tmp_path):
    """A width without weights allocates nothing."""
    X, y = stream("dense", 2)
    nr.PA1().partial_fit(X, y).save(tmp_path / "m")
    meta, tensors = opened((tmp_path / "m").read_bytes(), tmp_path / "m")
    names = np.frombuffer(json.dumps([f"n{j}" for j in range(D + 3)]).encode(), np.uint8)
    refused(tmp_path / "m", forged(meta, {**tensors, "features": names}), f"{D} columns")
    put(meta, "model.features.width", 10**15)
    refused(tmp_path / "m", forged(meta, tensors), "room for")
    put(meta, "model.dims.feature", 10**15 + 1)
    refused(tmp_path / "m", forged(meta, tensors), r"state.w of shape \(1000000000000001, 1\), found \(7, 1\)")


def test_hostile_tensors(tiny, tmp_path):
    """Missing, unknown, of another shape or dtype, or with senseless contents."""
    meta, tensors = opened(tiny, tmp_path / "m")
    assert sorted(tensors) == ["features", "state.w", "tally"]
    w, tally = tensors["state.w"], tensors["tally"]
    cases = [
        ({"state.w": None}, "the tensors"),
        ({"tally": None}, "m: "),
        ({"features": None}, "hashed names"),
        ({"junk": np.zeros(3)}, "the tensors"),
        ({"state.w": w.astype(np.float32)}, "of float64"),
        ({"state.w": w.astype(np.int64)}, "of float64"),
        ({"state.w": w.reshape(-1)}, "of shape"),
        ({"state.w": w[:-1].copy()}, "of shape"),
        ({"state.w": np.zeros((0, 3))}, "of shape"),
        ({"tally": tally[:4].copy()}, "a tally"),
        ({"tally": tally.astype(np.float64)}, "a tally"),
        ({"tally": np.array([9, 4, 4, 4, 1])}, "a tally"),
        ({"tally": np.array([-1, 4, 4, 4, 1])}, "a tally"),
        ({"tally": np.array([3, 4, 4, 4, 5])}, "a tally"),
        ({"features": np.zeros(0, np.uint8)}, "m: "),
        ({"features": np.frombuffer(b'{"a":1}', np.uint8)}, "m: "),
        ({"features": np.frombuffer(b'["a","a","b","c"]', np.uint8)}, "different names"),
        ({"features": np.frombuffer(b'["a",["b"]]', np.uint8)}, "m: "),
        ({"features": np.frombuffer(json.dumps([*"abcdefghijk"]).encode(), np.uint8)}, "room for"),
    ]
    for change, match in cases:
        lie = {k: v for k, v in {**tensors, **change}.items() if v is not None}
        refused(tmp_path / "m", forged(meta, lie), match)


@pytest.mark.parametrize(("where", "value"), [("idx", 2**32 - 1), ("end", -1), ("end", 10**12), ("size", -1), ("size", 10**12)])
def test_kept_rows_stay_inside(where, value, tmp_path):
    """Compiled code trusts the kept rows of a vote, so a file may not point outside."""
    X, y = stream("dense", 2)
    nr.VotedPerceptron().partial_fit(X, y).save(tmp_path / "m")
    meta, tensors = opened((tmp_path / "m").read_bytes(), tmp_path / "m")
    tensors[f"state.w.{where}"][1] = value
    refused(tmp_path / "m", forged(meta, tensors), "kept rows")


def test_an_unknown_learner_of_the_users_own(tmp_path):
    """The class must be there; once it is defined the file loads."""

    class Mine(nr.PA1):
        name = "mine_for_a_test"

    path = tmp_path / "m"
    try:
        Mine(C=2.0).save(path)
        assert type(load(path)) is Mine
    finally:
        REGISTRY.pop("mine_for_a_test", None)
    with pytest.raises(ModelFileError, match=r"'mine_for_a_test'.*import the module"):
        load(path)


def test_nothing_heavy_on_import():
    """`import noregret` loads no safetensors."""
    code = "import sys, noregret.learners.learner; assert 'safetensors' not in sys.modules, 'loaded'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_copy_is_a_copy(tiny, tmp_path):
    """The file may go after it was read, and loading twice gives two learners."""
    (tmp_path / "m").write_bytes(tiny)
    shutil.copy(tmp_path / "m", tmp_path / "n")
    a, b = load(tmp_path / "m"), load(tmp_path / "n")
    os.unlink(tmp_path / "m")
    same(a, b)
    a.learn_one({"n0": 1.0}, 2)
    assert a.n_seen_ == b.n_seen_ + 1


def test_a_model_that_could_not_be_loaded_is_not_written(tmp_path):
    """The good one on disk stays."""
    path = tmp_path / "m.nr"
    m = nr.PA1().partial_fit(np.eye(2), [0, 1])
    m.save(path)
    before = path.read_bytes()
    m.state[0][0] = np.inf
    told = "expected finite numbers in state.w, found array.*: the learner met numbers too large for it. Scale them"
    with pytest.raises(nr.ModelFileError, match=f"m.nr was not written: {told}"):
        m.save(path)
    with pytest.raises(nr.ModelFileError, match=told):
        m.to_bytes()
    assert path.read_bytes() == before
