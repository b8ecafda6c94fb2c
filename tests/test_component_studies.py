"""Components in the commands, studies and reports: what is left of rows, regret, outliers, training, coordinates, pictures."""

import json
import zlib

import numpy as np
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main
from noregret.evaluation.comparator import subspace_regret
from noregret.evaluation.measures import residuals
from noregret.evaluation.report import images
from noregret.evaluation.runs import gap
from noregret.streams.delimited import CsvReader

N, D = 150, 6
COLUMNS = [f"x{j}" for j in range(D)]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    return (rng.normal(size=(N, 2)) @ rng.normal(size=(2, D)) + 0.2 * rng.normal(size=(N, D)) + 3.0).round(4)


@pytest.fixture(scope="module")
def marks():
    return np.where(np.arange(N) % 10 == 9, -1, 1)


def far(X, y):
    """Rows in which those marked as outliers have noise of their own."""
    return (X + 2.0 * np.random.default_rng(6).normal(size=X.shape) * (y < 0)[:, None]).round(4)


def written(path, X, y=None, name="label"):
    head = [*COLUMNS, *([] if y is None else [name])]
    lines = [",".join([*map(repr, x.tolist()), *([] if y is None else [str(y[i])])]) for i, x in enumerate(X)]
    path.write_text("\n".join([",".join(head), *lines]) + "\n")
    return str(path)


def run(*args, code=0):
    found = CliRunner().invoke(main, [str(a) for a in args])
    assert found.exit_code == code, found.output + str(found.exception)
    return found.output


def energies(X):
    means = [np.zeros(X.shape[1]), *(X[:i].mean(0) for i in range(1, len(X)))]
    return np.square(X - np.array(means)).sum(1)


# ---- figures ---------------------------------------------------------------------------------------------------------------
def test_figures_are_those_of_residuals_from_before(rows):
    left = nr.OnlinePCA(k=2).learn_many(rows)
    report = nr.evaluate(rows, "online_pca:k=2", window=20, fading=0.9)
    row, blind = report.learners[0], report.data["baselines"][0]
    assert row["metrics"]["residual"] == pytest.approx(left.mean())
    assert row["metrics"]["unexplained"] == pytest.approx(left.sum() / energies(rows).sum())
    assert blind["metrics"]["residual"] == pytest.approx(energies(rows).mean())
    assert blind["metrics"]["unexplained"] == 1.0
    assert row["curve"]["examples"] == blind["curve"]["examples"]
    at = np.array(row["curve"]["examples"])
    np.testing.assert_allclose(row["curve"]["residual"], np.cumsum(left)[at - 1] / at)
    assert row["curve"]["window_residual"][-1] == pytest.approx(left[-20:].mean())
    assert row["curve"]["window_unexplained"][-1] == pytest.approx(left[-20:].sum() / energies(rows)[-20:].sum())
    fading = 0.9 ** np.arange(N)[::-1]
    assert row["curve"]["faded_residual"][-1] == pytest.approx(fading @ left / fading.sum())
    assert "AUC" not in str(report)
    assert "auc" not in row["metrics"]


@pytest.mark.parametrize(("model", "centred", "k"), [("online_pca:k=2,S=7", True, 2), ("online_svd:r_max=3,keep=false", False, 3)])
def test_regret_is_against_the_best_subspace(rows, model, centred, k):
    row = nr.evaluate(rows, model).learners[0]
    found, mean = row["regret"], rows.mean(0) if centred else 0.0
    V = np.linalg.svd(rows - mean, full_matrices=False)[2][:k]
    ideal = np.square((rows - mean) - (rows - mean) @ V.T @ V).sum(1)
    assert found["comparator"] == pytest.approx(ideal.sum())
    assert found["value"] == pytest.approx(row["metrics"]["residual"] * N - ideal.sum())
    at = np.array(found["curve"]["examples"])
    np.testing.assert_allclose(found["curve"]["comparator"], np.cumsum(ideal)[at - 1])
    np.testing.assert_allclose(found["curve"]["regret"], np.subtract(found["curve"]["cumulative"], found["curve"]["comparator"]))
    assert ("affine" in found["against"]) == centred
    assert found["bound"] is None
    assert "{" not in found["told"]


def test_regret_of_what_can_be_read_once_is_found_at_its_end(rows):
    stream = [(dict(zip(COLUMNS, x, strict=True)), 1) for x in rows.tolist()]
    want = nr.evaluate(rows, "online_pca:k=2").learners[0]["regret"]
    found = nr.evaluate(iter(stream), "online_pca:k=2").learners[0]["regret"]
    assert found["value"] == pytest.approx(want["value"])


def test_the_theorem_of_experts_holds(rows, tmp_path):
    path = written(tmp_path / "x.csv", rows)
    row = nr.evaluate(path, "online_pca:k=2,method=expert", normalize="l2").learners[0]
    found = row["regret"]
    assert found["against"] == "the best subspace of dimension 2"
    assert all(v <= b for v, b in zip(found["curve"]["regret"], found["curve"]["bound"], strict=True))
    assert 0.0 < found["value"] <= found["bound"]
    assert "Warmuth" in found["told"]


def test_regret_is_left_out_with_the_reason(rows, monkeypatch):
    report = nr.compare(rows, ["dictionary:k=2", "online_svd", "online_svd:r_max=2,missing=impute", "online_pca"])
    assert [bool(row["regret"]) for row in report.learners] == [False, False, False, True]
    said = " ".join(report.notes)
    assert "Gap: dictionary k=2 left" in said
    assert "It is no regret: the problem is not convex" in said
    assert "online_svd was left out: its rank has no limit" in said
    assert "it fills in unknown entries" in said
    assert nr.evaluate(rows, "online_pca", regret=False).learners[0]["regret"] is None
    monkeypatch.setattr(subspace_regret, "SOON", 10.0)
    report = nr.evaluate(rows, "online_pca")
    assert "takes long. Ask for it" in report.notes[0]
    assert nr.evaluate(rows, "online_pca", regret=True).learners[0]["regret"] is not None
    monkeypatch.setattr(subspace_regret, "MOST", D - 1)
    assert "at most 5 features, and there are 6" in nr.evaluate(rows, "online_pca").notes[0]


def test_the_gap_of_a_dictionary_is_to_itself_after_ten_passes(rows, monkeypatch):
    m = nr.DictionaryLearner(k=4, S=7)
    paid = m.learn_many(rows).sum()
    m.finish()
    for _ in range(9):
        m.partial_fit(rows).finish()
    row = nr.evaluate(rows, nr.DictionaryLearner(k=4, S=7)).learners[0]
    assert row["gap"]["comparator"] == pytest.approx(m.errors(rows).sum())
    assert row["gap"]["value"] == pytest.approx(paid - m.errors(rows).sum())
    assert row["metrics"]["gap"] == pytest.approx(row["gap"]["value"] / len(rows))
    monkeypatch.setattr(gap, "SOON", 10.0)
    report = nr.evaluate(rows, nr.DictionaryLearner(k=4, S=7))
    assert "nine more passes over these rows take long" in report.notes[0]
    assert "gap" not in report.learners[0]
    assert "gap" in nr.evaluate(rows, nr.DictionaryLearner(k=4, S=7), regret=True).learners[0]


def test_the_angle_to_the_best_subspace(rows):
    m = nr.OnlinePCA(k=2)
    found = nr.evaluate(rows, m).learners[0]["metrics"]["angle"]
    assert found == pytest.approx(np.degrees(nr.best_subspace(rows, 2).angle(m.components_)), abs=1e-9)
    assert 0.0 < found < 90.0


def test_more_components_than_features_leave_nothing(rows, tmp_path):
    row = nr.evaluate(written(tmp_path / "x.csv", rows), "online_pca:k=9").learners[0]
    assert "dimension 6" in row["regret"]["against"]
    assert row["regret"]["comparator"] == pytest.approx(0.0, abs=1e-9)


# ---- labels ----------------------------------------------------------------------------------------------------------------
def test_outliers_are_ranked_by_what_is_left_of_them(rows, marks):
    X = far(rows, marks)
    left = nr.OnlinePCA(k=2).learn_many(X)
    odd, normal = left[marks < 0], left[marks > 0]
    want = (odd[:, None] > normal).mean() + 0.5 * (odd[:, None] == normal).mean()
    for y in (marks, (marks > 0).astype(int)):
        report = nr.evaluate((X, y), "online_pca:k=2")
        assert report.learners[0]["metrics"]["auc"] == pytest.approx(want)
        assert "AUC is the chance" in str(report)
    assert want > 0.9
    named = nr.evaluate((X, np.where(marks > 0, "a", "b")), "online_pca:k=2")
    assert "auc" not in named.learners[0]["metrics"]
    assert set(named.learners[0]["components"]["coordinates"]["labels"]) == {"a", "b"}
    late = nr.evaluate((X, np.where(np.arange(N) > 100, 7, marks)), "online_pca:k=2")  # not marks after all
    assert "auc" not in late.learners[0]["metrics"]


def test_a_column_of_labels_is_no_part_of_the_rows(rows, marks, tmp_path):
    want = nr.evaluate((rows, marks), "online_pca:k=2").learners[0]["metrics"]
    guessed = nr.evaluate(written(tmp_path / "g.csv", rows, marks), "online_pca:k=2")
    assert guessed.learners[0]["metrics"] == pytest.approx(want)
    assert guessed.data["features"] == D
    assert "column 'label' was taken" in str(guessed)
    named = nr.evaluate(written(tmp_path / "n.csv", rows, marks, "odd"), "online_pca:k=2", target="odd")
    assert named.learners[0]["metrics"] == pytest.approx(want)
    part = nr.evaluate(written(tmp_path / "p.csv", rows, marks, "odd"), "online_pca:k=2")
    assert part.data["features"] == D + 1


def test_every_source_gives_the_same(rows, marks, tmp_path):
    np.savez(tmp_path / "x.npz", X=rows, y=marks)
    lines = (f"{y} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x)) for x, y in zip(rows.tolist(), marks, strict=True))
    (tmp_path / "x.svm").write_text("\n".join(lines) + "\n")
    want = nr.evaluate((rows, marks), "online_pca:k=2").learners[0]
    for name in ("x.npz", "x.svm"):
        report = nr.evaluate(str(tmp_path / name), "online_pca:k=2", shape="2x3")
        assert report.data["features"] == D
        assert report.learners[0]["metrics"] == pytest.approx(want["metrics"])
        assert report.learners[0]["regret"]["value"] == pytest.approx(want["regret"]["value"])
        assert np.abs(images.pixels(report.learners[0]["components"]["images"]["components"][0], (2, 3))).max() == 1.0


def test_some_rows_are_shown_however_many_come(rows, monkeypatch):
    monkeypatch.setattr(residuals, "KEPT", 20)
    X = np.tile(rows, (3, 1))
    found = nr.evaluate((X, np.arange(len(X)) % 3), "online_pca:k=2").learners[0]["components"]["coordinates"]
    assert 20 <= len(found["x"]) <= 40
    kept = np.arange(0, len(X), 16)
    assert found["labels"] == (kept % 3).tolist()
    m = nr.OnlinePCA(k=2).partial_fit(X)
    np.testing.assert_allclose(found["x"], m.transform(X[kept])[:, 0], rtol=1e-3, atol=1e-3)


# ---- several -----------------------------------------------------------------------------------------------------------------
def test_compare_and_sweep(rows):
    report = nr.compare(rows, task="components", k=3)
    assert [row["model"] for row in report.learners] == ["online_pca"] * 3 + ["online_svd", "dictionary"]
    assert {row["params"].get("k") or row["params"]["r_max"] for row in report.learners} == {3}
    assert report.winner == min(report.learners, key=lambda row: row["metrics"]["residual"])["label"]
    assert report.data["unit"] == "row"
    alone = nr.evaluate(rows, "online_pca:k=3,method=oja").learners[0]
    assert report.learners[2]["metrics"] == alone["metrics"]
    grid = nr.sweep(rows, "online_pca", k=[1, 2, 4])
    assert [row["setting"] for row in grid.learners] == [{"k": 1}, {"k": 2}, {"k": 4}]
    assert grid.data["swept"] == {"k": [1, 2, 4]}
    assert grid.winner == "online_pca k=4"
    assert len({row["regret"]["against"] for row in grid.learners}) == 3
    left = nr.compare(rows, ["online_pca:k=50", "online_pca:k=1"])
    assert left.labels == ["online_pca k=1"]
    assert "fewer than the k=50 components" in left.notes[0]


def test_pipelines_end_in_components(rows, tmp_path):
    m = nr.pipeline(nr.Scale(), nr.OnlinePCA(k=2))
    report = nr.evaluate(rows, m)
    np.testing.assert_array_equal(m.transform(rows), nr.from_bytes(m.to_bytes()).transform(rows))
    other = nr.pipeline(nr.Scale(), nr.OnlinePCA(k=2))
    left = other.learn_many(rows)
    assert report.learners[0]["metrics"]["residual"] == pytest.approx(left.mean())
    np.testing.assert_allclose(m.errors(rows), other.errors(rows))
    np.testing.assert_array_equal(nr.pipeline(nr.Scale(), nr.OnlinePCA(k=2)).fit(rows).transform(rows), other.transform(rows))
    was = m.digest()
    for asked in (m.predict, lambda X: m.predict_one(X[0]), lambda X: m.learn_one(X[0])):
        with pytest.raises(TypeError, match="answers nothing: use transform or errors"):
            asked(rows)
    assert m.digest() == was
    both = nr.compare(rows, ["scale>online_pca:k=2", "scale>online_svd:r_max=2"])
    assert "All learn after scale." in both.notes
    assert both.learners[0]["metrics"] == report.learners[0]["metrics"]
    with pytest.raises(TypeError, match="the same steps before all"):
        nr.compare(rows, ["scale>online_pca:k=2", "online_pca:k=2"])
    with pytest.raises(TypeError, match="settings that are swept"):
        nr.sweep(rows, "scale>online_pca", k=[1, 2])


def test_what_is_refused(rows, marks, tmp_path):
    for given, said in [
        ({"shape": "2x2"}, "shape=2x2 means 4 features, and rows have 6"),
        ({"shape": "2"}, "shape must be the height and width"),
        ({"shape": (0, 3)}, "shape must be the height and width"),
        ({"sort": "eror"}, "cannot sort by"),
    ]:
        with pytest.raises(ValueError, match=said):
            nr.evaluate(rows, "online_pca:k=2", **given)
    with pytest.raises(TypeError, match="no option 'delay' for components"):
        nr.evaluate(rows, "online_pca:k=2", delay=3)
    with pytest.raises(ValueError, match="pa1 is for classification, and the task is components"):
        nr.compare(rows, ["online_pca", "pa1"], task="components")
    with pytest.raises(ValueError, match="without weights"):
        nr.evaluate(written(tmp_path / "w.csv", rows, np.full(N, 2.0), "w"), "online_pca:k=2", weight="w")
    long = rows / 100.0
    long[70] = 3.0
    with pytest.raises(ValueError, match="example 71 has the length"):
        nr.evaluate(long, "online_pca:k=2,method=expert")
    with pytest.raises(ValueError, match="a sweep needs a list"):
        nr.sweep(rows, "online_pca", k=2)


# ---- commands ----------------------------------------------------------------------------------------------------------------
def test_commands(rows, marks, tmp_path):
    path = written(tmp_path / "x.csv", far(rows, marks), marks)
    text = run("evaluate", path, "--task", "components", "--quiet")
    assert "online_pca was taken" in text
    one = json.loads(run("evaluate", path, "-m", "online_pca", "-k", 3, "--method", "ccipca", "--json", "--quiet"))
    assert one["params"]["method"] == "ccipca"
    assert one["data"]["task"] == "components"
    all_ = json.loads(run("compare", path, "--task", "components", "-k", 2, "--json", "--quiet"))
    assert len(all_["learners"]) == 5
    grid = json.loads(run("sweep", path, "-m", "online_pca", "-k", "2,4", "--json", "--quiet"))
    assert grid["data"]["swept"] == {"k": [2, 4]}
    assert "No such option '-k'" not in run("compare", path, "-m", "online_pca", "-k", 2, "--quiet")
    assert "pa1 after online_pca(3)" in run("evaluate", "synthetic:linear?n=50", "--model", "online_pca(k=3)>pa1")
    assert run("algorithms", "--task", "components").count("online_") >= 2
    assert "--shape 2x2 means 4 features" in run("evaluate", path, "-m", "online_pca", "--shape", "2x2", "--quiet", code=1)


def test_train_stops_and_resumes_bit_for_bit(rows, tmp_path):
    whole, path, source = tmp_path / "whole.nr", tmp_path / "part.nr", written(tmp_path / "x.csv", rows)
    nr.train(source, "online_pca:k=2,S=7", save=whole, scale=True)
    small = CsvReader(source, block=1500)
    done = nr.train(small, "online_pca:k=2,S=7", save=path, scale=True, stop=lambda: True)
    assert not done.finished
    assert 0 < done.examples < N
    assert nr.load(path).n_pending_ > 0
    assert "150 rows: 2 components of 6 features, 3 rows waiting for a batch" in run("train", source, "--save", path, "--resume")
    assert nr.load(path).learner.digest() == nr.load(whole).learner.digest()
    first, second = written(tmp_path / "a.csv", rows[:61]), written(tmp_path / "b.csv", rows[61:])
    run("train", first, "-m", "online_pca", "-k", 2, "-S", 7, "--scale", "--save", tmp_path / "c.nr")
    run("train", second, "--save", tmp_path / "c.nr", "--continue")
    assert nr.load(tmp_path / "c.nr").learner.digest() == nr.load(whole).learner.digest()


def test_predict_writes_coordinates(rows, marks, tmp_path):
    source, path = written(tmp_path / "x.csv", far(rows, marks), marks), tmp_path / "m.nr"
    out = run("train", source, "--task", "components", "--save", path)
    assert "online_pca was taken" in out
    m, X = nr.load(path), far(rows, marks)
    Z, E = m.learner.answered_rows(m.front.rows(m._data([dict(zip(COLUMNS, x, strict=True)) for x in X]), False))
    lines = run("predict", source, "--model-file", path, "--quiet").splitlines()
    np.testing.assert_allclose([[float(v) for v in line.split("\t")] for line in lines], Z)
    csv = run("predict", source, "--model-file", path, "--as", "csv", "--scores", "--limit", 4, "--quiet").splitlines()
    assert csv[0] == "onlinepca0,onlinepca1,residual"
    assert len(csv) == 5
    assert float(csv[4].split(",")[2]) == pytest.approx(E[3])
    found = json.loads(run("predict", source, "--model-file", path, "--json"))
    assert found["rows"] == N
    assert found["residual"] == pytest.approx(E.mean())
    assert 0.8 < found["auc"] <= 1.0
    assert list(found["predictions"][0]) == ["onlinepca0", "onlinepca1"]
    assert "mean squared residual" in run("predict", source, "--model-file", path)
    bare = written(tmp_path / "bare.csv", X[:3])
    assert len(run("predict", bare, "--model-file", path, "--quiet").splitlines()) == 3
    assert "Missing argument" in run("predict", "--model-file", path, code=2)


@pytest.mark.parametrize("model", ["online_pca", "online_svd:r_max=2", "dictionary:k=3", "online_pca:method=expert"])
def test_inspect_names_loadings(rows, tmp_path, model):
    path, unit = tmp_path / "m.nr", rows / np.linalg.norm(rows, axis=1).max()
    nr.train(written(tmp_path / "x.csv", unit), model, save=path)
    found = json.loads(run("inspect", path, "--json", "--top", 3))
    m = nr.load(path)
    V = m.learner.components_
    assert found["components"] == len(V)
    for row, v in zip(found["found"], V, strict=True):
        best = np.argsort(-np.abs(v), kind="stable")[:3]
        assert [f["feature"] for f in row["features"]] == [COLUMNS[j] for j in best if v[j] != 0.0]
    if hasattr(m.learner, "singular_values_"):
        np.testing.assert_allclose(found["singular_values"], m.learner.singular_values_)
    text = run("inspect", path)
    assert f"150 rows: {len(V)} components of 6 features" in text
    assert "largest loadings" in text


# ---- the page and plots --------------------------------------------------------------------------------------------------------
def test_the_page_shows_components(rows, marks, tmp_path):
    report = nr.compare((rows, marks), ["online_pca:k=3", "dictionary:k=4"], shape="2x3")
    page = report.to_html()
    assert page.count('<img src="data:image/png;base64,') == 3 + 4 + 1  # the mean of the first
    assert "img-src data:" in page
    assert page.count('class="still"') == 4
    assert ">-1</span>" in page
    assert '"one":"a row"' in page
    again = nr.Report.from_dict(json.loads(report.to_json()))
    assert again.to_html() == page
    assert "components" not in report.to_csv().splitlines()[0]
    for what in (None, "spectrum", "coordinates", "components", "residual", "unexplained", "regret"):
        report.plot(tmp_path / f"{what}.png", what)
        assert (tmp_path / f"{what}.png").read_bytes()[:4] == b"\x89PNG"
    odd = nr.evaluate((rows, np.where(marks > 0, "<b>", "&")), "online_pca:k=2").to_html()
    assert "<b>" not in odd
    one = nr.evaluate(rows, "online_pca:k=1")  # nothing to draw across and up
    assert one.to_html().count('class="still"') == 1
    with pytest.raises(ValueError, match="cannot plot 'coordinates'"):
        one.plot(tmp_path / "x.png", "coordinates")


def test_pictures_hold_the_numbers(rows):
    image = np.array([[1.0, -1.0, 0.0], [0.5, -0.5, 0.25]])
    data = images.png(image)
    at = data.index(b"IDAT")
    size = int.from_bytes(data[at - 4 : at], "big")
    found = np.frombuffer(zlib.decompress(data[at + 4 : at + 4 + size]), np.uint8).reshape(2, 13)[:, 1:].reshape(2, 3, 4)
    np.testing.assert_array_equal(found[..., 3], [[255, 255, 0], [128, 128, 64]])
    assert tuple(found[0, 0, :3]) != tuple(found[0, 1, :3])
    assert images.ticks(0.0, 10.0) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert images.ticks(3.0, 3.0) == [3.0]
    assert [images.compact(v) for v in (950.0, 12_000.0, 3.4e6, 2e9)] == ["950", "12k", "3.4M", "2G"]


def test_figures_do_not_depend_on_batches(rows, tmp_path):
    source = written(tmp_path / "x.csv", rows)
    whole = nr.evaluate(source, "online_pca:k=2").learners[0]
    parts = nr.evaluate(CsvReader(source, block=500), "online_pca:k=2").learners[0]
    assert parts["metrics"] == pytest.approx(whole["metrics"], rel=1e-12)
    np.testing.assert_allclose(parts["regret"]["curve"]["comparator"], whole["regret"]["curve"]["comparator"], rtol=1e-9)


def test_a_study_can_be_stopped(rows, tmp_path):
    source = CsvReader(written(tmp_path / "x.csv", rows), block=1500)
    report = nr.evaluate(source, "online_pca:k=2", stop=lambda: True)
    assert report.data["examples"] < N
    assert "Interrupted after" in report.notes[-1]
