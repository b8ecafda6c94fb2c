"""The default for rows without labels: scaled columns, bins of one width, NORMA."""

import numpy as np
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main
from noregret.spelling import made
from noregret.training.by_task import NOVELTY


def rows(n=1500, d=6, seed=0):
    """Return two clouds in columns of different units and offsets, with one outlier in twenty between and around them; labels."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.05, -1, 1)
    side = rng.choice([-1.0, 1.0], n)[:, None]
    Z = np.where(y[:, None] > 0, 2.0 * side + 0.5 * rng.standard_normal((n, d)), rng.uniform(-4.0, 4.0, (n, d)))
    return Z * 10.0 ** np.arange(-2, d - 2) + 100.0, y


def auc(X, y, model):
    return nr.evaluate(X, model, y).learners[0]["metrics"]["auc"]


# ---- quality -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("d", "seed"), [(3, 0), (6, 1), (40, 2)])
def test_the_default_ranks_outliers_last_where_the_bare_learner_is_about_chance(d, seed):
    X, y = rows(d=min(d, 6), seed=seed)
    X = np.column_stack([X] * (d // X.shape[1])) if d > 6 else X
    assert auc(X, y, NOVELTY) > 0.9
    assert auc(X, y, "norma_novelty") < 0.65


def test_units_and_offsets_do_not_matter():
    X, y = rows()
    assert auc(X, y, NOVELTY) == pytest.approx(auc(1000.0 * X - 7.0, y, NOVELTY), abs=0.01)


# ---- who names no learner ----------------------------------------------------------------------------------------------
def test_rows_without_labels_get_it():
    X, _ = rows(300)
    report = nr.evaluate(X)
    assert report.learners[0]["model"] == "norma_novelty"
    assert report.learners[0]["losses"] == nr.evaluate(X, NOVELTY).learners[0]["losses"]
    assert report.notes[-2:] == [
        f"No learner was named: {NOVELTY} was taken.",
        "arrays has no labels: the learner flags the rows least like the others, a share nu of them.",
    ]
    done = nr.train(X)
    assert done.notes == report.notes[-2:]
    np.testing.assert_array_equal(done.model.decision_function(X), made(NOVELTY).partial_fit(X).decision_function(X))


def test_maps_that_were_asked_for_come_first():
    X, _ = rows(100)
    found = nr.train(X, normalize="l2").model
    assert [type(m).__name__ for m in found.front.maps] == ["Normalize", "Scale", "PerEntry", "RandomBinning"]


def test_nothing_decides_between_learners_without_labels():
    with pytest.raises(ValueError, match=r"no labels, which decide between learners: give them \(y, --target\)"):
        nr.compare(rows(100)[0])


def test_a_table_asks_for_labels_and_names_it():
    table = b"a,b,c\n1,2,3\n4,5,6\n"
    for study in (nr.evaluate, nr.train):
        with pytest.raises(ValueError, match=r"one of a, b, c\. To find rows unlike the others, name a learner .*: scale") as e:
            study(table, format="csv")
        assert str(e.value).endswith(NOVELTY)
    with pytest.raises(ValueError, match="one of a, b, c$"):
        nr.train(table, nr.PA1(), format="csv")


def test_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, _ = rows(400)
    np.savez("rows.npz", X=X)
    run = CliRunner().invoke
    done = run(main, ["train", "rows.npz", "--save", "m.nr"])
    assert done.exit_code == 0, done.stderr
    assert f"No learner was named: {NOVELTY} was taken." in done.stderr
    said = run(main, ["predict", "rows.npz", "--model-file", "m.nr"]).stdout.split()
    assert said == [str(v) for v in made(NOVELTY).partial_fit(X).predict(X).tolist()]


# ---- laws --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cuts", [[1, 2, 50], [99, 100, 101]])
def test_any_split_gives_the_same_bits(cuts, tmp_path):
    X, _ = rows(200)
    whole, parts = made(NOVELTY), made(NOVELTY)
    f = whole.learn_many(X)
    g = []
    for piece in np.split(X, cuts):
        g.append(parts.learn_many(piece))
        parts.save(tmp_path / "m.nr")
        parts = nr.load(tmp_path / "m.nr")
    np.testing.assert_array_equal(f, np.concatenate(g))
    assert parts.learner.digest() == whole.learner.digest()
