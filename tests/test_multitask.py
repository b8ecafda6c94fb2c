"""Learners of several tasks: files, merging, tasks by a column, studies and the command line. Updates are in test_sparse.py."""

import copy
import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.cli import main, warm
from noregret.engine.compiling import interpreted
from noregret.files.model_file import read, store

VARIANTS = ("individual", "all", "both")
KINDS = (nr.MultiTask, nr.MultiTaskRegressor)


@pytest.fixture(autouse=True)
def no_compiler(request):
    if request.function in (test_compiled_is_interpreted, test_compiled_sums_do_not_show_how_many_tasks_are_known):
        yield
    else:
        with interpreted():
            yield


def data(kind=nr.MultiTask, n=60, seed=0):
    """Rows, targets, tasks and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.6)
    tasks = np.array(["ann", "bob", "eve"])[rng.integers(0, 3, n)]
    f = X @ np.array([2.0, -1.0, 0, 0, 0, 0]) + X[:, 2] * (tasks == "eve")
    return X, np.where(f > 0, "yes", "no") if kind is nr.MultiTask else f, tasks, rng.integers(0, 3, n).astype(float)


def dicts(X, tasks=None):
    found = [{f"x{j}": float(v) for j, v in enumerate(x) if v} for x in X]
    return found if tasks is None else [{"user": t, **x} for x, t in zip(found, tasks.tolist(), strict=True)]


def bits(m):
    return {**{k: a.tobytes() for k, a in m.model.used().items()}, "tally": m.model.tally.tobytes(), "tasks": list(m.model.domains)}


def unchanged(m, call, error, match):
    before = copy.deepcopy(bits(m)), repr(m.model.features.names), None if m.model.labels is None else list(m.model.labels.values)
    with pytest.raises(error, match=match):
        call()
    assert before == (bits(m), repr(m.model.features.names), None if m.model.labels is None else list(m.model.labels.values))


# ---- splits, weights, epochs -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_any_split_and_form_is_the_same(kind, variant):
    X, y, tasks, c = data(kind)
    whole, parts, one = (kind(variant=variant, lambda_=0.02) for _ in range(3))
    f = whole.learn_many(X, y, tasks, c)
    again = [parts.learn_many(csr_matrix(X[a:b]), y[a:b], tasks[a:b], c[a:b]) for a, b in ((0, 1), (1, 7), (7, 40), (40, 60))]
    np.testing.assert_allclose(np.abs(np.concatenate(again)), np.abs(f), atol=1e-13)  # the sense of labels comes with the second
    assert bits(whole)["tally"] == bits(parts)["tally"]
    assert whole.tasks_ == parts.tasks_
    np.testing.assert_allclose(whole.coef_, parts.coef_, atol=1e-13)
    for i in range(len(y)):
        one.learn_one(X[i], y[i], task=tasks[i], w=c[i])
    assert bits(one)["tally"] == bits(whole)["tally"]
    np.testing.assert_allclose(one.coef_, whole.coef_, atol=1e-13)
    assert whole.n_seen_ == np.count_nonzero(c)


def test_a_row_of_weight_0_is_answered_and_changes_nothing():
    X, y, tasks, _ = data()
    m = nr.MultiTask().partial_fit(X, y, tasks)
    before = bits(m)
    assert m.learn_many(X[:2], ["other", "yes"], ["nobody", "ann"], [0.0, 0.0])[0] == 0.0
    assert m.learn_one(X[0], "yes", task="nobody", w=0.0) in ("yes", "no")
    assert bits(m) == before
    assert m.tasks_ == list(dict.fromkeys(tasks))
    empty = nr.MultiTask()
    assert empty.learn_one(X[0], "yes", task="ann", w=0.0) is None
    with pytest.raises(ValueError, match="learned nothing"):
        empty.predict(X, tasks)


@pytest.mark.parametrize("kind", KINDS)
def test_epochs_are_passes(kind):
    X, y, tasks, c = data(kind)
    given = {"classes": ["no", "yes"]} if kind is nr.MultiTask else {}
    twice = kind(**given).partial_fit(X, y, tasks, c).partial_fit(X, y, tasks, c)
    assert bits(kind(**given).fit(X, y, tasks, c, epochs=2)) == bits(twice)
    shuffled = kind(shuffle=True, epochs=2, seed=3, **given).fit(X, y, tasks)
    rng, by_hand = np.random.default_rng(3), kind(**given)
    for _ in range(2):
        order = rng.permutation(len(y))
        by_hand.partial_fit(X[order], y[order], tasks[order])
    assert bits(shuffled) == bits(by_hand)
    assert shuffled.score(X, y, tasks) == pytest.approx(by_hand.score(X, y, tasks))
    assert shuffled.score(X, y, tasks) > 0.5


def test_mistakes_are_counted_as_they_are_made():
    X, y, tasks, _ = data()
    m, wrong = nr.MultiTask(lambda_=0.02), 0
    for x, label, task in zip(X, y, tasks, strict=True):
        wrong += m.learn_one(x, label, task=task) != label
    assert m.n_mistakes_ == wrong == nr.MultiTask(lambda_=0.02).partial_fit(X, y, tasks).n_mistakes_ > 0


def test_compiled_is_interpreted():
    X, y, tasks, c = data()
    m = nr.MultiTask(lambda_=0.02).partial_fit(csr_matrix(X), y, tasks, c)
    f = m.decision_function(csr_matrix(X), tasks)
    with interpreted():
        plain = nr.MultiTask(lambda_=0.02).partial_fit(csr_matrix(X), y, tasks, c)
        np.testing.assert_allclose(plain.decision_function(csr_matrix(X), tasks), f, atol=1e-12)
    np.testing.assert_allclose(m.coef_, plain.coef_, atol=1e-12)
    assert (m.model.tally == plain.model.tally).all()


@pytest.mark.parametrize("variant", ["individual", "all"])
def test_compiled_sums_do_not_show_how_many_tasks_are_known(variant):
    """Row by row there are fewer tasks at first, and weights lie closer: sums over features are in one order all the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 12))
    y, tasks = np.sign(X[:, 0]), np.minimum(rng.integers(0, 9, 120), np.arange(120) // 10)
    m, other = (nr.MultiTask(variant=variant, lambda_=0.001) for _ in range(2))
    m.partial_fit(X, y, tasks)
    for i in range(120):
        other.partial_fit(X[i : i + 1], y[i : i + 1], tasks[i : i + 1])
    assert m.coef_.tolist() == other.coef_.tolist()


# ---- parameters ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("variant", VARIANTS)
def test_new_parameters_act_at_once(variant):
    """The weights are a function of the sums of gradients: with another lambda they are those of that lambda."""
    X, y, tasks, _ = data(nr.MultiTaskRegressor)
    m = nr.MultiTaskRegressor(variant=variant, lambda_=0.01, gamma=4.0).partial_fit(X, y, tasks)
    m.set_params(lambda_=0.2)
    t, G = m.model.state.w.w.t[0], m.model.state.w.w.G.reshape(-1, 3)[:6]
    threshold = {"individual": 0.2, "all": 0.0, "both": 0.2 * 0.5}[variant]
    soft = np.sign(G) * np.maximum(0.0, np.abs(G / t) - threshold)
    if variant != "individual":
        length = np.maximum(np.linalg.norm(soft, axis=1, keepdims=True), 1e-300)
        soft = np.maximum(0.0, 1.0 - 0.2 / length) * soft
    np.testing.assert_allclose(m.coef_.T, -np.sqrt(t) / 4.0 * soft, atol=1e-12)
    assert 0 < np.count_nonzero(m.coef_) < m.coef_.size
    assert m.nonzeros_ == dict(zip(m.tasks_, np.count_nonzero(m.coef_, axis=1).tolist(), strict=True))
    fresh = m.clone()
    assert fresh.get_params() == m.get_params()
    assert not fresh.started
    unchanged(m, lambda: m.set_params(variant="all" if variant == "individual" else "individual"), ValueError, "reset")


def test_what_has_no_meaning_is_refused():
    with pytest.raises(ValueError, match="loss must be one of 'hinge'"):
        nr.MultiTask(loss="square").partial_fit([[1.0]], ["a"], "t")
    with pytest.raises(TypeError, match="no parameter 'cost'"):
        nr.MultiTask(cost={})
    with pytest.raises(TypeError, match="no compact form"):
        nr.MultiTask().partial_fit([[1.0]], ["a"], "t").compact()
    with pytest.raises(TypeError, match="expected classifiers"):
        nr.Hedge(learners=["multitask", "pa1"]).partial_fit([[1.0]], ["a"])
    with pytest.raises(ValueError, match="every row belongs to a task"):
        nr.pipeline(nr.Normalize(), nr.MultiTask()).partial_fit(np.eye(2), ["a", "b"])
    assert type(nr.learner("multitask")) is nr.MultiTask
    assert "multitask" not in nr.algorithms()


# ---- files -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("form", ["array", "dicts", "hashed"])
def test_a_file_goes_on_bit_for_bit(kind, variant, form, tmp_path):
    X, y, tasks, c = data(kind)
    given = {"hash_bits": 4} if form == "hashed" else {}
    m = kind(variant=variant, lambda_=0.02, dtype="float32" if form == "array" else "float64", **given)
    X = X if form == "array" else dicts(X)
    m.partial_fit(X[:20], y[:20], tasks[:20], c[:20])
    m.save(tmp_path / "m")
    loaded = nr.load(tmp_path / "m")
    assert bits(loaded) == bits(m)
    assert repr(loaded) == repr(m)
    f, again = (k.learn_many(X[20:], y[20:], tasks[20:], c[20:]) for k in (m, loaded))
    assert f.tobytes() == again.tobytes()
    assert bits(loaded) == bits(m)
    assert type(m).load(tmp_path / "m").n_seen_ == np.count_nonzero(c[:20])


def test_a_file_that_was_changed_is_refused(tmp_path):
    X, y, tasks, _ = data()
    nr.MultiTask().partial_fit(X, y, tasks).save(tmp_path / "m")
    meta, tensors = read(tmp_path / "m")
    model = meta["model"]
    for wrong in (
        {"tasks": ["ann", "bob"]},
        {"tasks": ["ann", "bob", "bob"]},
        {"tasks": "abc"},
        {"tasks": [["a"], ["b"], ["c"]]},
        {"many": True},
        {"dims": {**model["dims"], "class": 2}},
        {"dims": {**model["dims"], "domain": 2}},
        {"labels": None},
    ):
        store(tmp_path / "bad", {**meta, "model": {**model, **wrong}}, tensors)
        with pytest.raises(nr.ModelFileError):
            nr.load(tmp_path / "bad")
    store(tmp_path / "bad", {**meta, "model": {k: v for k, v in model.items() if k != "tasks"}}, tensors)
    with pytest.raises(nr.ModelFileError):
        nr.load(tmp_path / "bad")
    with pytest.raises(TypeError, match="task .* cannot be saved"):
        nr.MultiTask().partial_fit(X, y, [frozenset("a")] * len(y)).save(tmp_path / "m")


# ---- merging ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_merging_is_the_mean_by_examples(kind, variant):
    """Tasks, names and the sense of the labels are united; sums of gradients and rounds become their mean."""
    X, y, tasks, _ = data(kind)
    rows = dicts(X)
    first, second = slice(0, 40), slice(40, 60)
    other = np.where(tasks == "ann", "zoe", tasks)
    a = kind(variant=variant, lambda_=0.02).partial_fit(rows[first], y[first], tasks[first])
    b = kind(variant=variant, lambda_=0.02).partial_fit(rows[second][::-1], y[second][::-1], other[second][::-1])

    def sums(m):
        sense = 1.0 if kind is nr.MultiTaskRegressor or m.model.labels.values[m.model.labels.positive] == "yes" else -1.0
        G = sense * m.model.state.w.w.G.reshape(-1, m.model.dims["domain"])
        return {(n, t): G[j + 1, k] for t, k in m.model.domains.items() for j, n in enumerate(m.feature_names_)}

    mine, theirs = sums(a), sums(b)
    t = (40 * a.model.state.w.w.t[0] + 20 * b.model.state.w.w.t[0]) / 60
    a.merge(b)
    assert set(a.tasks_) == {"ann", "bob", "eve", "zoe"}
    assert a.n_seen_ == 60
    assert a.model.state.w.w.t[0] == pytest.approx(t)
    for key, v in sums(a).items():
        assert v == pytest.approx((40 * mine.get(key, 0.0) + 20 * theirs.get(key, 0.0)) / 60, abs=1e-12)
    if variant != "individual":
        G = a.model.state.w.w.G.reshape(len(a.model.state.w.w.S), -1)
        np.testing.assert_allclose(a.model.state.w.w.S, (G**2).sum(1), atol=1e-12)
    a.partial_fit(rows, y, tasks)
    assert a.n_seen_ == 120
    assert np.isfinite(a.coef_).all()


def test_merging_what_does_not_fit_changes_nothing():
    X, y, tasks, _ = data()
    m = nr.MultiTask().partial_fit(X, y, tasks)
    third = nr.MultiTask().partial_fit(X, np.where(y == "no", "maybe", y), tasks)
    unchanged(m, lambda: m.merge(third), ValueError, "share two labels")
    unchanged(m, lambda: m.merge(nr.MultiTask(gamma=2.0).partial_fit(X, y, tasks)), ValueError, "different parameters")
    unchanged(m, lambda: m.merge(nr.RDA()), TypeError, "cannot merge")
    assert bits(nr.MultiTask().merge(m)) == bits(m) == bits(m.merge(nr.MultiTask()))


# ---- tasks by a column -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_a_key_of_dicts_names_the_task(kind):
    X, y, tasks, c = data(kind)
    told = kind(lambda_=0.02).partial_fit(dicts(X), y, tasks, c)
    by_key = kind(lambda_=0.02, task_column="user").partial_fit(dicts(X, tasks), y, sample_weight=c)
    assert bits(by_key) == bits(told)
    assert by_key.feature_names_ == told.feature_names_
    rows = dicts(X, tasks)
    assert by_key.predict(rows).tolist() == told.predict(dicts(X), tasks).tolist() == by_key.predict(dicts(X), tasks).tolist()
    assert by_key.predict_one(rows[5]) == told.predict_one(dicts(X)[5], task=tasks[5])
    assert by_key.learn_one(rows[5], y[5]) == told.learn_one(dicts(X)[5], y[5], task=tasks[5])
    assert bits(by_key) == bits(told)
    unchanged(by_key, lambda: by_key.partial_fit([rows[0], dicts(X)[1]], y[:2]), ValueError, "row 1 has no 'user'")
    unchanged(by_key, lambda: by_key.predict(dicts(X)), ValueError, "row 0 has no 'user'")
    unchanged(by_key, lambda: by_key.partial_fit([{"user": [1], "new": 1.0}], y[:1]), ValueError, "task of row 0")
    unchanged(by_key, lambda: by_key.predict([{"user": "nobody"}]), ValueError, "'nobody' has never been learned")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_column_of_a_frame_names_the_task(library):
    X, y, tasks, _ = data()
    columns = {"user": tasks.tolist(), **{f"x{j}": X[:, j] for j in range(6)}}
    frames = pytest.importorskip(library)
    frame = frames.table(columns) if library == "pyarrow" else frames.DataFrame(columns)
    told = nr.MultiTask().partial_fit(X, y, tasks)
    alone = nr.MultiTask(task_column="user").partial_fit(frame, y)
    assert bits(alone) == bits(told)
    assert alone.predict(frame).tolist() == told.predict(X, tasks).tolist()
    for behind in (
        nr.pipeline(nr.Table(task="user"), nr.MultiTask()),
        nr.pipeline(nr.Table(), nr.MultiTask(task_column="user")),
        nr.pipeline(nr.Normalize(), nr.MultiTask(task_column="user")),
    ):
        behind.partial_fit(frame, y)
        assert behind.tasks_ == told.tasks_
        assert behind.feature_names_ == [f"x{j}" for j in range(6)]
        assert behind.score(frame, y) > 0.8


def test_a_pipeline_is_saved_and_merged_with_its_column(tmp_path):
    X, y, tasks, _ = data()
    rows = dicts(X, tasks)
    m = nr.pipeline(nr.Scale(), nr.MultiTask(task_column="user")).partial_fit(rows[:30], y[:30])
    m.save(tmp_path / "m")
    loaded = nr.load(tmp_path / "m")
    for k in (m, loaded):
        k.partial_fit(rows[30:], y[30:])
    assert bits(loaded.learner) == bits(m.learner)
    said = m.predict_one(rows[3])
    assert said == m.learn_one(rows[3], y[3])
    other = m.clone().partial_fit([{**x, "user": "zoe"} for x in rows[:9]], y[:9])
    assert m.merge(other).tasks_ == [*loaded.tasks_, "zoe"]
    before = bits(m.learner), m.feature_names_
    with pytest.raises(ValueError, match="'user' has no value in row 0"):
        m.partial_fit([{"new": 1.0}], ["yes"])
    assert before == (bits(m.learner), m.feature_names_)


# ---- tables, studies, the command line -------------------------------------------------------------------------------
@pytest.fixture
def table(tmp_path):
    """Return a CSV file and its rows; tasks look like numbers, one of them with a 0 before it."""
    X, y, tasks, _ = data(n=200)
    users = np.where(tasks == "ann", "007", np.where(tasks == "bob", "7", "8"))
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["user", *(f"x{j}" for j in range(6)), "y"])
        out.writerows([u, *x, label] for u, x, label in zip(users, X.tolist(), y, strict=True))
    return path, X, y, users


def command(*args):
    from click.testing import CliRunner

    from noregret.cli import main

    return CliRunner().invoke(main, [str(a) for a in args])


def test_a_study_of_a_table_by_task(table):
    path, X, y, users = table
    m, plain = nr.MultiTask(lambda_=0.05, variant="both", task_column="user"), nr.MultiTask(lambda_=0.05, variant="both")
    report = nr.evaluate(path, m, target="y")
    wrong = {}
    for x, label, user in zip(X, y, users, strict=True):
        said = plain.learn_one(x, label, task=user)
        wrong.setdefault(user, []).append(said != label)
    found = report.learners[0]
    assert found["mistakes"] == m.n_mistakes_ == plain.n_mistakes_ == sum(map(sum, wrong.values()))
    np.testing.assert_allclose(m.coef_, plain.coef_, atol=1e-12)
    assert found["regret"] is None
    assert [(t["task"], t["examples"], t["error"]) for t in found["tasks"]] == [
        (u, len(v), pytest.approx(np.mean(v))) for u, v in wrong.items()
    ]
    assert {t["task"]: t["nonzeros"] for t in found["tasks"]} == plain.nonzeros_
    assert 0 < sum(plain.nonzeros_.values()) < m.coef_.size
    assert "007" in str(report)
    assert "error %" in str(report)
    assert all(f"<tr><th>{u}</th><td>{len(v)}</td>" in report.to_html() for u, v in wrong.items())
    late = nr.evaluate(path, nr.MultiTask(task_column="user"), target="y", delay=3).learners[0]
    assert sum(t["error"] * t["examples"] for t in late["tasks"]) == pytest.approx(late["mistakes"])


def test_learners_that_are_compared_do_not_see_the_column(table, tmp_path):
    path, *_ = table
    report = nr.compare(path, ["multitask:task_column=user", "rda"], target="y", permutations=2)
    assert report.data["features"] == 6
    with pytest.raises(ValueError, match="one column of tasks"):
        nr.compare(path, ["multitask:task_column=user", "multitask:task_column=x0"], target="y")
    swept = nr.sweep(path, "multitask:task_column=user", target="y", lambda_=[0.001, 1.0], folds=2)
    assert [m["params"]["lambda_"] for m in swept.learners] == [0.001, 1.0]
    other = tmp_path / "other.csv"
    other.write_text(path.read_text().replace("\n007,", "\nsomebody new,"))
    held = nr.evaluate(path, "multitask:task_column=user", target="y", holdout=other)
    assert held.learners[0]["holdout"]["examples"] == 200


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_training_goes_on_where_it_stopped(table, tmp_path, form):
    path, X, y, users = table
    if form == "jsonl":
        path = tmp_path / "t.jsonl"
        cells = [{f"x{j}": v for j, v in enumerate(x)} for x in X.tolist()]
        lines = ({"user": int(u), **x, "y": t} for u, x, t in zip(users, cells, y.tolist(), strict=True))
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    whole = nr.train(path, nr.MultiTask(task_column="user"), target="y", save=tmp_path / "whole")
    nr.train(path, nr.MultiTask(task_column="user"), target="y", save=tmp_path / "part", stop=lambda: True)
    rest = nr.train(path, target="y", save=tmp_path / "part", resume=True)
    assert bits(rest.model.learner) == bits(whole.model.learner)
    assert set(rest.model.tasks_) == ({"007", "7", "8"} if form == "csv" else {"7", "8"})
    rows = [{"user": 8, **{f"x{j}": v for j, v in enumerate(x)}} for x in X[:20].tolist()]
    assert rest.model.predict(rows).tolist() == whole.model.predict([{**x, "user": "8"} for x in rows]).tolist()


def test_the_commands(table, tmp_path):
    path, X, _, users = table
    given = ("--target", "y", "--model", "multitask", "--task-column", "user", "--variant", "both", "--quiet")
    report = json.loads(command("evaluate", path, *given, "--json").output)
    assert {t["task"] for t in report["tasks"]} == {"007", "7", "8"}
    done = command("train", path, *given, "--save", tmp_path / "m")
    assert done.exit_code == 0, done.output
    m = nr.load(tmp_path / "m")
    assert m.learner.n_mistakes_ == report["mistakes"]
    shown = command("inspect", tmp_path / "m").output
    assert all(f"weight for yes, task {u}" in shown for u in ("007", "7", "8"))
    said = command("predict", path, "--model-file", tmp_path / "m", "--quiet").output.split()
    rows = [{"user": u, **{f"x{j}": v for j, v in enumerate(x)}} for u, x in zip(users, X.tolist(), strict=True)]
    assert said == m.predict(rows).tolist()
    assert "yang2013" in command("cite", "multitask").output
    for wrong, match in (
        (("--model", "multitask", "--task-column", "nobody"), "no column 'nobody'"),
        (("--model", "multitask"), "--task-column"),
        (("--model", "multitask", "--task-column", "y"), "both the target and the task"),
        (("--model", "pa1", "--task-column", "user"), "it is an option of multitask, multitask_regressor"),
    ):
        failed = command("evaluate", path, "--target", "y", *wrong, "--quiet")
        assert failed.exit_code in (1, 2)
        assert match in failed.output


def test_rows_without_a_task_are_bad_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("user,x,y\nann,1,a\n,2,b\nbob,3,b\n")
    m = nr.MultiTask(task_column="user")
    report = nr.evaluate(path, m, target="y", on_bad="skip")
    assert m.tasks_ == ["ann", "bob"]
    assert report.data["skipped"]["count"] == 1
    with pytest.raises(nr.BadRow, match="user"):
        nr.evaluate(path, nr.MultiTask(task_column="user"), target="y")


# ---- found like others -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["multitask", "multitask_regressor"])
def test_warm_and_the_reference_know_them(name):
    warm.use(name, quick=False)  # learns dense rows, sparse rows and dicts
    done = CliRunner().invoke(main, ["warm", "multitusk"])
    assert (done.exit_code, "Did you mean multitask" in done.output) == (2, True)
