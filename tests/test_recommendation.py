"""Recommendation from tables: figures within the scale, running offsets, hits, regret against the best additive model, files."""

import json
import os
import pathlib
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main
from noregret.evaluation.measures.ratings import ASKED, Hits, Offsets, RatingFigures
from noregret.inputs.checking import Rows


def events(n=800, users=25, items=30, seed=0):
    """Ratings of rank 1 with offsets, on a scale of 1 to 5."""
    rng = np.random.default_rng(seed)
    u, v, b = rng.normal(size=users), rng.normal(size=items), rng.normal(size=items)
    who, what = rng.integers(users, size=n), rng.integers(items, size=n)
    y = np.clip(np.round(3 + u[who] * v[what] + 0.5 * b[what]), 1, 5).astype(int)
    return who, what, y


@pytest.fixture(scope="module")
def tsv(tmp_path_factory):
    """Ratings as MovieLens writes them: no header, a time at the end."""
    path = tmp_path_factory.mktemp("ratings") / "u.data"
    rows = zip(*(a.tolist() for a in events()), strict=True)
    path.write_text("".join(f"{u}\t{i}\t{r}\t{88 + k}\n" for k, (u, i, r) in enumerate(rows)))
    return path


def options(**more):
    return {"task": "recommendation", "user": "c0", "item": "c1", "target": "c2", **more}


def run(*args):
    done = CliRunner().invoke(main, [str(a) for a in args])
    return done.exit_code, done.output


PAIR = ("--task", "recommendation", "--user", "c0", "--item", "c1", "--target", "c2")


def test_a_study_has_the_figures_of_a_recommender(tsv):
    who, what, y = events()
    found = nr.evaluate(tsv, **options(regret=False))
    said = nr.Recommender().learn_many(who, what, y)
    rmse = np.sqrt(np.mean((said - y)[1:] ** 2))
    row = found.learners[0]
    assert row["model"] == "fm_regressor"
    assert row["metrics"]["rmse"] == pytest.approx(rmse, rel=1e-12)
    assert row["metrics"]["mae"] == pytest.approx(np.abs((said - y)[1:]).mean(), rel=1e-12)
    assert found.data["unit"] == "rating"
    assert found.data["features"] == len({*who}) + len({*what})  # the time is none


def test_a_recommender_that_is_measured_can_be_asked(tsv):
    r = nr.Recommender("adagrad_regressor", eta=0.3)
    report = nr.evaluate(tsv, r, user="c0", item="c1", target="c2", regret=False)
    who, what, _ = events()
    assert report.data["task"] == r.task
    assert r.scale_ == (1.0, 5.0)
    assert {i for i, _ in r.top(3, 100)} == {str(i) for i in what} - {str(i) for i in what[who == 3]}


def test_columns_may_stand_in_any_order_and_have_names(tmp_path):
    who, what, y = events(300)
    a, b = nr.Recommender(), tmp_path / "b.csv"
    a.learn_many(who, what, y)
    rows = zip(*(v.tolist() for v in (what, y, who)), strict=True)
    b.write_text("film,stars,age,who\n" + "".join(f"{i},{r},40,{u}\n" for i, r, u in rows))
    m = nr.train(b, **options(user="who", item="film", target="stars")).model
    assert isinstance(m, nr.Recommender)
    assert m.columns == ("who", "film")
    assert {*m.items_} == {*a.items_}
    assert m._rated_by(m._known(0, 3)) == {m._known(1, int(i)) for i in what[who == 3]}


def test_learners_compared_by_default(tsv):
    report = nr.compare(tsv, **options(top=5))
    assert {row["model"] for row in report.learners} == {"fm_regressor", "adagrad_regressor", "nag_regressor"}
    assert report.data["baselines"][0]["label"] == "running offsets"
    text = " ".join(str(report).split())
    assert "(running offsets)" in text
    assert "upper fifth" in text
    assert "the best additive model, a constant and an offset for each user and each item, with |u| <=" in text


def test_regret_is_against_the_best_additive_model(tsv):
    who, what, y = events()
    X = np.zeros((len(y), 56))
    X[np.arange(len(y)), who] = X[np.arange(len(y)), 25 + what] = X[:, 55] = 1.0
    least = float(((X @ np.linalg.lstsq(X, y.astype(float), rcond=None)[0] - y) ** 2).sum())
    found = nr.evaluate(tsv, **options()).learners[0]["regret"]
    assert found["comparator"] == pytest.approx(least, rel=2e-3)
    assert found["loss"] == "square"


# ---- measures ----------------------------------------------------------------------------------------------------------
def rows_of(who, what):
    flat = np.column_stack([who, 25 + what]).astype(np.uint32).reshape(-1)
    return Rows("csr", (np.arange(0, len(flat) + 1, 2), flat, np.ones(len(flat))), len(who), 55)


def plain_offsets(who, what, y, delay=0):
    """The same by dicts, a row at a time."""
    sums, counts, total, said = {}, {}, [], []

    def offset(j, mu):
        return (sums.get(j, 0.0) - counts.get(j, 0) * mu) / (5.0 + counts.get(j, 0))

    for t in range(len(y)):
        k = t - 1 - delay
        if k >= 0:
            u, i, mu = ("u", who[k]), ("i", what[k]), np.mean(total) if total else 0.0
            a, b = offset(u, mu), offset(i, mu)
            for j, other in ((u, b), (i, a)):
                sums[j], counts[j] = sums.get(j, 0.0) + y[k] - other, counts.get(j, 0) + 1
            total.append(y[k])
        mu = np.mean(total) if total else 0.0
        said.append(mu + offset(("u", who[t]), mu) + offset(("i", what[t]), mu))
    return np.array(said)


@pytest.mark.parametrize("delay", [0, 3])
def test_running_offsets_in_any_pieces(delay):
    who, what, y = events(120)
    want = plain_offsets(who, what, y, delay)
    for cuts in ([0, 120], [0, 1, 8, 72, 120]):
        line = Offsets(lambda: RatingFigures(None, None, 0.1, "square"))
        heard = []
        line.figures.add = lambda y, f, c, blind: heard.append(f)  # noqa: B023
        for a, b in pairwise(cuts):
            known = np.maximum(0, np.arange(a, b) - delay)
            line.add(y[a:b].astype(float), None, known, rows_of(who[a:b], what[a:b]))
        assert np.concatenate(heard) == pytest.approx(want, abs=1e-12)


def test_figures_are_within_the_scale_before():
    whole, parts = RatingFigures(), RatingFigures()
    y, f = np.array([3.0, 5.0, 1.0, 4.0]), np.array([0.0, 9.0, 9.0, -2.0])
    whole.add(y, f)
    for k in range(4):
        parts.add(y[k : k + 1], f[k : k + 1])
    assert whole.to_dict() == parts.to_dict()
    assert whole.sums["absolute"] == 3.0 + 2.0 + 4.0 + 3.0  # 0 as it is, then 3, 5 and 1


def plain_hits(who, what, y, n):
    """The share of hits by a recommender that is asked before each rating."""
    r, low, high, found = nr.Recommender("adagrad_regressor", eta=0.3), np.inf, -np.inf, []
    for u, i, rating in zip(who.tolist(), what.tolist(), y.tolist(), strict=True):
        low, high = min(low, rating), max(high, rating)
        if rating >= low + 0.8 * (high - low):
            r.low, r.high = -np.inf, np.inf
            found.append(r.n_seen_ > 0 and str(i) in [name for name, _ in r.top(u, n)])
        r.learn_one(u, i, rating)
    return found


@pytest.mark.parametrize("limit", [200, 800])
def test_hits_are_those_of_top_lists(tsv, limit):
    who, what, y = (a[:limit] for a in events())
    want = plain_hits(who, what, y, 5)
    assert len(want) < ASKED
    row = nr.evaluate(tsv, nr.AdaGradRegressor(eta=0.3), **options(top=5, limit=limit, regret=False)).learners[0]
    assert row["hits"] == {"top": 5, "worthy": len(want), "asked": len(want)}
    assert row["metrics"]["hit_rate"] == pytest.approx(np.mean(want))


def test_of_many_ratings_some_are_drawn_the_same_in_any_pieces():
    rng = np.random.default_rng(1)
    n = 6000
    who, what, y = rng.integers(25, size=n), rng.integers(30, size=n), rng.integers(1, 6, size=n).astype(float)
    table = nr.Table(categorical=["user", "item"])
    table.join(["user", "item"], ["0", "0"])
    drawn = []
    for cuts in ([0, n], [0, 7, 500, n]):
        hits = Hits(3)
        for a, b in pairwise(cuts):
            drawn.append([(a + t, w) for _, t, w, _ in hits.stops(rows_of(who[a:b], what[a:b]), y[a:b], table) if w])
    whole, parts = drawn[0], drawn[1] + drawn[2] + drawn[3]
    assert whole == parts
    assert ASKED < len(whole) < hits.worthy / 1.2
    assert sum(w for _, w in whole) == pytest.approx(hits.worthy, rel=0.1)


# ---- files ---------------------------------------------------------------------------------------------------------------
def test_training_stops_and_resumes(tsv, tmp_path):
    whole = nr.train(tsv, "fm_regressor", **options()).model
    path, calls = tmp_path / "r.nr", []

    def stop():
        calls.append(None)
        return len(calls) == 1

    small = tmp_path / "small"
    small.mkdir()
    lines = tsv.read_text().splitlines(keepends=True)
    (small / "a.tsv").write_text("".join(lines[:300]))
    (small / "b.tsv").write_text("".join(lines[300:]))
    first = nr.train([small / "a.tsv", small / "b.tsv"], "fm_regressor", save=path, stop=stop, **options())
    assert not first.finished
    assert nr.train([small / "a.tsv", small / "b.tsv"], save=path, resume=True).examples == 800
    again = nr.load(path)
    assert isinstance(again, nr.Recommender)
    assert again.digest() == whole.digest()
    assert again.scale_ == (1.0, 5.0)
    assert again.top(3, 4) == whole.top(3, 4)
    assert len(again.similar(5, 3)) == 3


def test_it_goes_on_by_hand_where_a_file_ended(tsv):
    who, what, y = events()
    a, b = nr.train(tsv, **options(), limit=500).model, nr.Recommender()
    b.learn_many(who[:500], what[:500], y[:500])
    rest = [r.learn_many(who[500:], what[500:], y[500:]) for r in (a, b)]
    assert np.array_equal(*rest)


def test_commands(tsv, tmp_path):
    model, pairs = tmp_path / "m.nr", tmp_path / "pairs.tsv"
    code, text = run("train", tsv, *PAIR, "--save", model, "--quiet")
    assert code == 0, text
    assert "running offsets RMSE" in text
    pairs.write_text("3\t5\n3\tnew\nnobody\t5\n")
    code, text = run("predict", pairs, "--model-file", model, "--quiet")
    r = nr.load(model)
    assert code == 0, text
    assert [float(v) for v in text.split()] == r.predict(["3", "3", "nobody"], ["5", "new", "5"]).tolist()
    code, text = run("predict", tsv, *PAIR, "--model-file", model, "--json")
    assert code == 0
    assert json.loads(text)["mae"] < 1.0
    code, text = run("inspect", model)
    assert "25 users, 30 items, from 1 to 5" in text
    code, text = run("inspect", model, "--json")
    assert json.loads(text)["rated"] == {"users": 25, "items": 30, "scale": [1.0, 5.0]}
    code, text = run("sweep", tsv, *PAIR, "--model", "fm_regressor", "-k", "2,3", "--no-regret", "--quiet")
    assert code == 0, text
    assert "fm_regressor k=3" in text


def test_yes_and_no_from_a_table(tmp_path):
    rng = np.random.default_rng(2)
    path = tmp_path / "clicks.csv"
    rows = [(u, i, "yes" if (u + i) % 2 else "no") for u, i in rng.integers(8, size=(900, 2)).tolist()]
    path.write_text("user,item,click\n" + "".join(f"u{u},i{i},{said}\n" for u, i, said in rows))
    how = options(user="user", item="item", target="click")
    row = nr.evaluate(path, "fm", **how, regret=False, probabilities=True).learners[0]
    assert row["error"] < 0.35
    assert row["metrics"]["log_loss"] < np.log(2)
    r = nr.train(path, "fm", **how).model
    assert isinstance(r, nr.Recommender)
    assert r.predict_one("u1", "i2") > 0.5 > r.predict_one("u1", "i3")
    assert r.learn_one("u1", "i2", "yes") > 0.5
    with pytest.raises(ValueError, match="expected yes or no, one of 'no', 'yes', got 'maybe'"):
        r.learn_one("u1", "i2", "maybe")
    assert nr.from_bytes(r.to_bytes()).digest() == r.digest()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"item": None}, r"name the column of items \(item, --item\)"),
        ({"item": "c0"}, "users and items are in two columns, got 'c0' for both"),
        ({"item": "c9"}, "no column 'c9'"),
        ({"numeric": ["c3"]}, "'numeric' is about features"),
        ({"model": "norma_novelty"}, "norma_novelty is for one_class, and the task is recommendation"),
        ({"top": 0}, "top must be a whole number of at least 1"),
    ],
)
def test_what_is_refused(tsv, change, error):
    with pytest.raises((ValueError, TypeError), match=error):
        nr.evaluate(tsv, **options(**change))


def test_a_rating_that_is_no_number_is_named_by_line(tsv, tmp_path):
    bad = tmp_path / "bad.tsv"
    bad.write_text("1\t2\t3\t0\n1\t3\t4\t0\n2\t3\tgood\t0\n")
    code, text = run("train", bad, *PAIR, "--save", tmp_path / "m.nr", "--quiet")
    assert code == 1
    assert f"{bad}:3:3: expected a number in column 'c2', found 'good'" in text
    with pytest.raises(ValueError, match="top looks up ratings: it is for the task recommendation"):
        nr.evaluate(tsv, nr.PA1Regressor(), target="c2", top=3)
    model = tmp_path / "m.nr"
    nr.train(tsv, save=model, **options())
    code, text = run("predict", tsv, "--user", "c1", "--model-file", model)
    assert code == 2
    assert "trained with --user c0" in text


def test_standard_input_is_read_once(tsv, tmp_path):
    model = tmp_path / "m.nr"
    done = CliRunner().invoke(
        main, ["train", "-", "--format", "tsv", "--no-header", *PAIR, "--save", str(model)], input=tsv.read_bytes()
    )
    assert done.exit_code == 0, done.output
    assert nr.load(model).digest() == nr.train(tsv, **options()).model.digest()


# ---- MovieLens 100K ------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def movielens():
    places = [os.environ.get("NOREGRET_DATA", ""), "../shared/data"]
    found = next((p for place in places if place and (p := pathlib.Path(place, "movielens100k/u.data.gz")).exists()), None)
    if found is None:
        pytest.skip("the public file movielens100k/u.data.gz is not here: give its directory in NOREGRET_DATA")
    return np.loadtxt(found, np.int64)


def test_the_error_before_each_rating_in_the_order_of_time(movielens):
    users, items, y, _ = movielens[np.argsort(movielens[:, 3], kind="stable")].T
    for seed in range(3):
        said = nr.Recommender(seed=seed).learn_many(users, items, y)
        assert np.sqrt(np.mean((said - y)[1:] ** 2)) <= 0.947
