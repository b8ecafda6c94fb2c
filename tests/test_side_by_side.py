"""Linear learners, kernels on a budget and random features in one comparison. Interpreted: what is tested is no kernel."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main
from noregret.engine import compiling
from noregret.evaluation.report.summary import swept
from noregret.evaluation.runs import run as run_module
from noregret.spec import parse_list
from noregret.spelling import made, map_of, spelled, titled
from noregret.training.answering import answer

OWN = {
    "scale": lambda: [nr.Scale()],
    "normalize": lambda: [nr.Normalize("l1")],
    "per entry": lambda: [nr.Scale(clip=3.0), nr.PerEntry(), nr.RandomBinning(8, nr.Laplacian(2.0), bits=8)],
    "random_fourier": lambda: [nr.RandomFourier(D=10, kernel=nr.RBF(0.5))],
    "orthogonal": lambda: [nr.RandomFourier(D=5, kernel=nr.RBF(0.5), form="phase", orthogonal=True)],
    "random_binning": lambda: [nr.RandomBinning(P=6, kernel=nr.Laplacian(0.5), bits=10)],
    "nystroem": lambda: [nr.Nystroem(B=12, kernel=nr.RBF(0.5))],
    "rank": lambda: [nr.Nystroem(B=12, kernel=nr.RBF(0.5), rank=5)],
    "several": lambda: [nr.Scale(), nr.RandomFourier(D=8), nr.Normalize()],
}
TIMES = ("seconds", "examples_per_second")


@pytest.fixture(autouse=True)
def interpreted():
    with compiling.interpreted():
        yield


def circle(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where((X**2).sum(1) > 1.4, "out", "in")


def rings(n=150, seed=0):
    X, _ = circle(n, seed)
    return X, np.digitize((X**2).sum(1), [0.5, 2.0])


def by_label(report):
    return {found["label"]: found for found in report.learners}


def untimed(found):
    return {k: v for k, v in found.items() if k not in (*TIMES, "label", "maps", "bytes")}


# ---- the same as alone ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("data", [circle, rings])
@pytest.mark.parametrize("name", OWN)
def test_each_learns_as_its_pipeline_alone(name, data):
    X, y = data()
    bent = nr.pipeline(*OWN[name](), nr.PA1(C=0.5))
    report = nr.compare((X, y), [nr.PA1(), bent], regret=False)
    alone = nr.pipeline(*OWN[name](), nr.PA1(C=0.5)).partial_fit(X, y)
    found = {bool(r.get("maps")): r for r in report.learners}
    assert (found[True]["mistakes"], found[True]["updates"]) == (alone.n_mistakes_, alone.n_updates_)
    assert found[False]["mistakes"] == nr.PA1().partial_fit(X, y).n_mistakes_
    assert not bent.learner.started  # a clone has learned
    assert bent.front.nbytes == bent.clone().front.nbytes


def test_the_three_side_by_side():
    X, y = circle(300)
    kernel = nr.PA1(kernel=nr.RBF(0.5), budget=nr.RemoveOldest(20))
    report = nr.compare((X, y), [nr.PA1(), kernel, nr.pipeline(nr.RandomFourier(30, kernel=nr.RBF(0.5)), nr.PA1())])
    found = by_label(report)
    bent, linear = found["pa1 after random_fourier(30, rbf(0.5))"], found["pa1"]
    kept = found["pa1 kernel=rbf(0.5) budget=remove_oldest(20)"]
    assert (linear["support_vectors"], kept["support_vectors"], bent["support_vectors"]) == (None, 20, None)
    assert max(kept["error"], bent["error"]) < linear["error"]
    assert linear["bytes"] < kept["bytes"] < bent["bytes"]
    text = report.text(width=140)
    assert all(head in text for head in ("vectors", "size", "examples/s"))
    assert report.data["features"] == 2
    assert nr.compare((X, y), ["random_fourier(5)>pa1", "random_fourier(6)>pa1"], regret=False).data["features"] == 2


# What is done once for all and what each does for itself must come to the same.
STUDIES = {
    "late labels": {"delay": 7},
    "hold-out": {"holdout": circle(40, 9)},
    "drift": {"drift": "eddm", "on_drift": "reset"},
    "labels asked for": {"ask": "margin"},
    "window": {"window": 30, "limit": 80},
    "features": {"features": 3},
}


@pytest.mark.parametrize("name", ["scale", "nystroem", "several"])
@pytest.mark.parametrize("study", STUDIES)
def test_every_study_is_the_same_as_with_shared_maps(study, name):
    X, y = circle(400 if study == "drift" else 150)
    if study == "drift":
        y = np.where((X[:, 0] > 0.0) == (np.arange(400) < 200), "in", "out")
    model = nr.pipeline(*OWN[name](), nr.Perceptron())
    shared = nr.compare((X, y), [model], regret=False, **STUDIES[study]).learners[0]
    own = next(r for r in nr.compare((X, y), [nr.PA1(), model], regret=False, **STUDIES[study]).learners if r.get("maps"))
    if study == "drift":
        assert shared["drifts"]
    assert untimed(own) == untimed(shared)


@pytest.mark.parametrize("name", ["scale", "nystroem", "several"])
def test_maps_begin_anew_with_each_order_and_each_fold(name):
    X, y = circle(90)
    alone, n = nr.pipeline(*OWN[name](), nr.PA1()), len(y)

    def own(**options):
        return next(r for r in nr.compare((X, y), ["pa1", alone], regret=False, **options).learners if r.get("maps"))

    rng = np.random.default_rng(5)
    orders = [rng.permutation(n) for _ in range(3)]
    mistakes = [alone.clone().partial_fit(X[order], y[order]).n_mistakes_ for order in orders]
    assert own(permutations=3, seed=5)["spread"]["per_permutation"] == [m / n for m in mistakes]
    blocks = [np.isin(np.arange(n), part) for part in np.split(np.arange(n), 3)]
    errors = [1.0 - alone.clone().partial_fit(X[~part], y[~part]).score(X[part], y[part]) for part in blocks]
    assert own(folds=3)["folds"]["values"] == pytest.approx(errors)
    rest = alone.clone().partial_fit(X[:72], y[:72]).score(X[72:], y[72:])
    assert own(validation=0.2)["validation"]["error"] == pytest.approx(1.0 - rest)


def test_many_rows_are_mapped_a_piece_at_a_time(monkeypatch):
    from noregret.transforms import front

    X, y = circle(200)
    models = [nr.Perceptron(), nr.pipeline(nr.Scale(), nr.Nystroem(B=10), nr.Perceptron())]
    whole = nr.compare((X, y), models, regret=False, holdout=(X, y))
    monkeypatch.setattr(front, "ROOM", 70)
    pieces = nr.compare((X, y), models, regret=False, holdout=(X, y))
    for a, b in zip(whole.learners, pieces.learners, strict=True):
        assert [a[k] for k in ("mistakes", "updates", "nonzeros", "confusion")] == [
            b[k] for k in ("mistakes", "updates", "nonzeros", "confusion")
        ]
        assert a["losses"] == pytest.approx(b["losses"], rel=1e-12)
        assert a["holdout"]["confusion"] == b["holdout"]["confusion"]


def test_regression_and_one_class():
    X = circle()[0]
    t = (X**2).sum(1)
    report = nr.compare((X, t), ["nag_regressor", "random_fourier(20,rbf(0.5))>nag_regressor"], regret=False)
    assert report.winner == "nag_regressor after random_fourier(20, rbf(0.5))"
    alone = nr.compare((X, None), [nr.pipeline(nr.Scale(), nr.PAUniclass())], regret=False).learners[0]
    both = nr.compare((X, None), ["pa_uniclass", "scale>pa_uniclass"], regret=False)
    assert untimed(by_label(both)["pa_uniclass after scale"]) == untimed(alone)


def test_a_map_that_fails_leaves_its_learner_behind():
    X, y = circle()
    X[50, 0] = 1e308
    report = nr.compare((X, y), ["perceptron", "scale>perceptron"], regret=False)
    assert report.labels == ["perceptron"]
    assert "perceptron after scale could not take this stream after" in report.notes[0]


# ---- sources -------------------------------------------------------------------------------------------------------------
def test_sparse_files(tmp_path):
    X, y = circle()
    lines = [f"{1 if t == 'out' else -1} 1:{a!r} 90:{b!r}\n" for (a, b), t in zip(X.tolist(), y)]
    (tmp_path / "a.svm").write_text("".join(lines))
    models = ["pa1", *(nr.pipeline(*steps(), nr.PA1()) for name, steps in OWN.items() if name != "orthogonal")]
    report = nr.compare(tmp_path / "a.svm", models, regret=False, holdout=tmp_path / "a.svm")
    for model, found in zip(models, report.learners, strict=True):  # in the order given
        alone = nr.train(tmp_path / "a.svm", model).model
        assert found["mistakes"] == alone.n_mistakes_
        said = np.concatenate([some.y for some in answer(tmp_path / "a.svm", alone)])
        assert found["holdout"]["mistakes"] == (said != np.where(y == "out", 1, -1)).sum()
    assert report.data["features"] == 90


@pytest.fixture
def table(tmp_path):
    X, y = circle()
    lines = [f"{a!r},{b!r},{'red' if a > 0 else 'blue'},{t}" for (a, b), t in zip(X.tolist(), y)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["a,b,color,label", *lines]) + "\n")
    return str(path)


def test_tables(table):
    kept = {"target": "label", "regret": False}
    report = nr.compare(table, ["pa1", "random_fourier(10,rbf(0.5))>pa1"], **kept)
    alone = nr.evaluate(table, "random_fourier(10,rbf(0.5))>pa1", **kept)
    assert by_label(report)["pa1 after random_fourier(10, rbf(0.5))"]["mistakes"] == alone.learners[0]["mistakes"]
    assert report.data["features"] == 4
    hashed = nr.compare(table, ["random_fourier(4)>pa1", "random_fourier(5)>pa1"], hash_bits=6, **kept)
    assert hashed.data["features"] == 64
    scaled = nr.compare(table, ["pa1", "random_fourier(10,rbf(0.5))>pa1"], scale=True, **kept)
    model = nr.pipeline(nr.Table(target="label"), nr.Scale(), nr.RandomFourier(10, kernel=nr.RBF(0.5)), nr.PA1())
    wanted = nr.train(table, model).model.n_mistakes_
    assert by_label(scaled)["pa1 after random_fourier(10, rbf(0.5))"]["mistakes"] == wanted
    named = nr.compare(table, ["pa1", "random_fourier(2)>pa1"], features=4, **kept)
    names = [{row["feature"] for row in found["features"]["top"]} for found in named.learners]
    assert names == [{"a", "b", "color=red", "color=blue"}, {"0", "1", "2", "3"}]
    begun = [nr.pipeline(*model.clone().steps[:k], nr.PA1()) for k in (2, 3)]  # the table and the scale are shared
    assert by_label(nr.compare(table, begun, regret=False))["pa1 after random_fourier(10, rbf(0.5))"]["mistakes"] == wanted


def test_what_cannot_differ_is_refused(table):
    with pytest.raises(ValueError, match="Scale standardises the numbers alone.*scale=True"):
        nr.compare(table, ["pa1", "scale>pa1"], target="label")
    assert nr.compare(table, ["scale>pa1", "scale>arow"], target="label", regret=False).labels
    with pytest.raises(TypeError, match="expected the same Table in all"):
        nr.compare(table, [nr.pipeline(nr.Table(target="label"), nr.PA1()), nr.PA1()], target="label")


def test_a_pipeline_takes_over_the_columns_of_a_source(table):
    model = made("normalize>pa1")
    nr.evaluate(table, model, target="label", scale=True, regret=False)
    assert [type(s).__name__ for s in model.steps] == ["Table", "Scale", "Normalize", "PA1"]
    assert model.predict([{"a": 3.0, "b": 3.0, "color": "red"}]).tolist() == ["out"]


def test_a_stream_is_a_source():
    opened = nr.stream(circle())
    labels = ["normalize>pa1", "normalize>arow"]
    assert by_label(nr.compare(opened, labels, regret=False)).keys() == {"pa1", "arow"}
    a, b = (nr.compare(source, labels, regret=False) for source in (opened, circle()))
    assert [r["mistakes"] for r in a.learners] == [r["mistakes"] for r in b.learners]
    assert opened.front is None
    trained = nr.train(opened, nr.pipeline(nr.Normalize(), nr.PA1())).model
    assert trained.n_mistakes_ == nr.pipeline(nr.Normalize(), nr.PA1()).partial_fit(*circle()).n_mistakes_
    again = nr.train(opened, trained).model  # what it has learned stays
    assert (again.n_seen_, [type(s).__name__ for s in again.steps]) == (300, ["Normalize", "PA1"])


# ---- what is counted -----------------------------------------------------------------------------------------------------
def test_bytes_of_maps():
    X, y = circle()
    specs = {
        "random_fourier(10)>pa1": 8 * (2 * 10 + 1) + 8 * 2 * 10 + 4 * 2 + 8 * 10,  # weights of PA1, draws, places, angles
        "random_binning(6,bits=10)>pa1": 8 * 2**10 + 8 + 8 * 2 * 12 + 4 * 2,  # widths and shifts
        "scale>pa1": 8 * (2 + 1) + 8 * 3 * 2,
        "normalize>pa1": 8 * (2 + 1),
    }
    plain = nr.compare((X, y), ["pa1"], regret=False).learners[0]["bytes"]
    bias = plain - 8 * 2  # of the constant feature
    report = nr.compare((X, y), ["pa1", *specs], regret=False)
    found = {">".join([*r.get("maps", []), r["model"]]).replace(" ", ""): r["bytes"] for r in report.learners}
    assert found == {"pa1": plain} | {k: v - 8 + bias for k, v in specs.items()}
    assert {k: nr.evaluate((X, y), k, regret=False).learners[0]["bytes"] for k in found} == found


def test_bytes_of_landmarks():
    X, y = circle()
    found = nr.compare((X, y), ["pa1", "nystroem(12,rbf(0.5))>pa1"], regret=False).learners[1]
    alone = nr.pipeline(nr.Nystroem(12, nr.RBF(0.5)), nr.PA1()).partial_fit(X, y)
    least = sum(a.nbytes for a in alone.front.maps[0].state().values())
    learned = sum(a.nbytes for a in alone.learner.model.arrays().values())
    assert learned + least * 0.9 < found["bytes"] == learned + alone.front.nbytes


def test_the_time_of_maps_is_that_of_the_learner(monkeypatch):
    class Clock:
        now = 0.0

    slow = nr.RandomFourier.rows

    def rows(self, *args):
        Clock.now += 1.0
        return slow(self, *args)

    monkeypatch.setattr(run_module, "thread_time", lambda: Clock.now)
    monkeypatch.setattr(nr.RandomFourier, "rows", rows)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    X, y = circle(8)
    found = by_label(nr.compare((X, y), ["pa1", "random_fourier(4)>pa1"], regret=False))
    assert found["pa1"]["seconds"] == 0.0
    assert found["pa1 after random_fourier(4)"]["seconds"] == len(found["pa1"]["curve"]["examples"])


def test_regret_is_for_the_shared_features():
    X, y = circle()
    models = ["pa1", "random_fourier(4)>pa1"]
    found = by_label(report := nr.compare((X, y), models))
    assert found["pa1"]["regret"]["value"] == nr.compare((X, y), ["pa1"]).learners[0]["regret"]["value"]
    assert found["pa1 after random_fourier(4)"]["regret"] is None
    assert any("Regret was left out for learners with maps of their own: it is against the best linear" in n for n in report.notes)
    apart = nr.compare((X, y), ["random_fourier(3)>pa1", "random_fourier(4)>pa1"], regret=True)
    assert [r["regret"] for r in apart.learners] == [None, None]
    assert any("Regret was left out: it is against" in n for n in apart.notes)
    assert not any("Regret" in n for n in nr.compare((X, y), models, regret=False).notes)


def test_learners_behind_other_maps_are_no_sweep():
    X, y = circle(40)
    assert swept(nr.compare((X, y), ["pa1:C=0.1", "pa1:C=1", "pa1:C=10"], regret=False).learners) is not None
    assert swept(nr.compare((X, y), ["pa1:C=0.1", "scale>pa1:C=1", "pa1:C=10"], regret=False).learners) is None


# ---- text ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("random_fourier(200, rbf(0.1))", nr.RandomFourier(200, nr.RBF(0.1))),
        ("random_fourier(500, rbf(0.1))", nr.RandomFourier(kernel=nr.RBF(0.1))),
        ("random_fourier(20, form=phase, orthogonal=true)", nr.RandomFourier(20, form="phase", orthogonal=True)),
        ("random_binning(50, laplacian(2.0), bits=12)", nr.RandomBinning(50, nr.Laplacian(2.0), 12)),
        ("nystroem(100, polynomial(2.0, coef0=0.5), rank=7)", nr.Nystroem(100, nr.Polynomial(degree=2.0, coef0=0.5), rank=7)),
        ("scale(false)", nr.Scale(center=False)),
        ("normalize(max)", nr.Normalize("max")),
        ("scale", nr.Scale()),
    ],
)
def test_steps_as_text_and_back(text, step):
    assert repr(map_of(text)) == repr(step)
    assert spelled(step) == text
    assert repr(map_of(text.replace(" ", ""))) == repr(step)


def test_models_as_text():
    model = made("scale()>random_fourier(kernel=rbf(gamma=0.1),D=200) > pa1: C=0.5, average=true")
    assert repr(model) == "pipeline(Scale(), RandomFourier(D=200, kernel=RBF(gamma=0.1)), PA1(C=0.5, average=True))"
    assert titled(model.learner, model.front.maps) == "pa1 C=0.5 average=True after scale>random_fourier(200, rbf(0.1))"
    assert made("pa1:kernel=polynomial(degree=2,coef0=1),C=2").kernel == "polynomial(degree=2,coef0=1)"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("fourier(3)>pa1", "must be one of scale, normalize, per_entry, random_fourier, random_binning.*got 'fourier"),
        (">pa1", "must be one of scale, .*got ''"),
        ("random_fourier(3>pa1", "a closing bracket for each opening one"),
        ("random_fourier(3))>pa1", "a closing bracket for each opening one"),
        ("random_fourier(3,rbf,phase,true,0,9)>pa1", "takes D, kernel, form, orthogonal, seed, each once"),
        ("random_fourier(3,D=4)>pa1", "takes D, .* each once"),
        ("random_fourier(E=4)>pa1", "takes D, .*got 'random_fourier"),
        ("random_fourier(3,gauss(1))>pa1", "kernel must be one of .*rbf.*got 'gauss"),
        ("random_fourier(3,linear)>pa1", "takes one of the kernels RBF, Laplacian, Cauchy"),
        ("random_fourier(0)>pa1", "D must be a whole number of at least 1, got 0"),
        ("scale>pa9", "no learner is called 'pa9'"),
        ("pa1>scale", "must be one of scale"),
    ],
)
def test_wrong_text(text, error):
    with pytest.raises(ValueError, match=error):
        made(text)


def test_lists_of_models_are_not_split_inside_brackets():
    assert parse_list(["pa1:C=1,average=true,random_fourier(D=20,kernel=rbf(0.1))>pa1:C=0.5,fit_intercept=false, nag"]) == [
        "pa1:C=1,average=true",
        "random_fourier(D=20,kernel=rbf(0.1))>pa1:C=0.5,fit_intercept=false",
        "nag",
    ]


# ---- the command line ----------------------------------------------------------------------------------------------------
def command(*args, code=0):
    result = CliRunner().invoke(main, list(args))
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_commands_compare_and_evaluate(table):
    models = "pa1,pa1:kernel=rbf(0.5),budget=remove_oldest(20),nystroem(10,rbf(0.5))>pa1:C=0.5,random_binning(5,laplacian(1))>nag"
    found = json.loads(command("compare", table, "--target", "label", "-m", models, "--no-regret", "--json", "--quiet").stdout)
    assert sorted(r["label"] for r in found["learners"]) == [
        "nag after random_binning(5)",
        "pa1",
        "pa1 C=0.5 after nystroem(10, rbf(0.5))",
        "pa1 kernel=rbf(0.5) budget=remove_oldest(20)",
    ]
    args = ("--target", "label", "-m", "nystroem(10,rbf(0.5))>pa1", "-C", "0.5", "--no-regret", "--json", "--quiet")
    alone = json.loads(command("evaluate", table, *args).stdout)
    assert alone["mistakes"] == next(r["mistakes"] for r in found["learners"] if "nystroem" in r["label"])
    assert "must be one of scale" in command("compare", table, "--target", "label", "-m", "pa1,kitchen(3)>pa1", code=2).output
    assert "closing bracket" in command("compare", table, "--target", "label", "-m", "nystroem(3>pa1", code=1).output
    assert "pa9" in command("evaluate", table, "--target", "label", "-m", "scale>pa9", code=2).output
    assert "pa1 has -C" in command("evaluate", table, "--target", "label", "-m", "scale>pa1", "--eta", "1", code=2).output
    assert "share their features" in command("sweep", table, "--target", "label", "-m", "scale>pa1", "-C", "1,2", code=1).output


def test_commands_train_resume_and_predict(table, tmp_path):
    spec, path = "random_fourier(10,rbf(0.5))>pa1", str(tmp_path / "m.nr")
    kept = ("--target", "label", "--scale", "--save", path, "--quiet")
    command("train", table, "-m", spec, "-C", "0.5", *kept)
    model = nr.load(path)
    steps = nr.Table(target="label"), nr.Scale(), nr.RandomFourier(10, kernel=nr.RBF(0.5))
    assert repr(model.front.maps) == repr(steps[1:])
    whole = nr.train(table, nr.pipeline(*steps, nr.PA1(C=0.5)), epochs=2).model
    assert model.n_mistakes_ == nr.train(table, nr.pipeline(*steps, nr.PA1(C=0.5))).model.n_mistakes_
    command("train", table, "-m", spec, *kept, "--epochs", "2", "--resume")
    assert nr.load(path).n_mistakes_ == whole.n_mistakes_
    other = command("train", table, "-m", "random_fourier(11)>pa1", *kept, "--epochs", "3", "--resume", code=2).output
    assert "holds scale>random_fourier(10, rbf(0.5))>pa1, not random_fourier(11)>pa1" in " ".join(other.split())
    assert "150 rows, error" in command("predict", table, "--model-file", path).stderr
