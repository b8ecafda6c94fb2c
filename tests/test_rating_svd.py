"""Recommendation by a thin SVD: against a plain transcription, any split, files, tables, revisions, and what is refused."""

import os
import pathlib

import numpy as np
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main

HOW = {"r_max": 3, "nu": 0.5, "revise": 2}


def events(n=240, users=14, items=11, seed=0):
    """Ratings of rank 1 with offsets, on a scale of 1 to 5; some pairs come again."""
    rng = np.random.default_rng(seed)
    u, v, b = rng.normal(size=users), rng.normal(size=items), rng.normal(size=items)
    who, what = rng.integers(users, size=n), rng.integers(items, size=n)
    y = np.clip(np.round(3 + 1.5 * u[who] * v[what] + 0.5 * b[what] + 0.3 * rng.normal(size=n)), 1, 5)
    return who, what, y


def plain(who, what, y, r_max=3, nu=0.5, revise=2, reg_item=5.0, reg_user=5.0):
    """The same by dicts and dense matrices: after every revision the matrix is cut to its best of rank r_max."""
    rated, rows, n_items, M, said = {}, {}, {}, np.zeros((0, 40)), []

    def offsets():
        every = [r for own in rated.values() for r in own.values()]
        mu, b = np.mean(every) if every else 0.0, np.zeros(40)
        for i, at in n_items.items():
            own = [of[i] - mu for of in rated.values() if i in of]
            b[at] = sum(own) / (reg_item + len(own))
        return mu, b

    def expected(u):
        """What is expected of all items, and the row of those known."""
        mu, b = offsets()
        own = rated.get(u, {})
        known = np.array([n_items[i] for i in own], int)
        x = np.array([*own.values()]) - mu - b[known]
        bu = x.sum() / (reg_user + len(own))
        _, s, U = np.linalg.svd(M, full_matrices=False)
        S = s[:r_max] / np.sqrt(max(len(M), 1))
        G = U[: len(S), known].T * S
        f = (U[: len(S)].T * S) @ np.linalg.solve(G.T @ G + nu * np.eye(len(S)), G.T @ (x - bu))
        row = f.copy()
        row[known] = x - bu
        return mu + b + bu + f, row

    for u, i, r in zip(who.tolist(), what.tolist(), y.tolist(), strict=True):
        said.append(expected(u)[0][n_items[i]] if i in n_items else expected(u)[0][39])
        n_items.setdefault(i, len(n_items))
        again = i in rated.setdefault(u, {})
        rated[u][i] = r
        if (again and u in rows) or (not again and len(rated[u]) % revise == 0):
            row = expected(u)[1]
            if u not in rows:
                rows[u] = len(M)
                M = np.vstack([M, np.zeros(40)])
            M[rows[u]] = row
            P, s, Q = np.linalg.svd(M, full_matrices=False)
            M = (P[:, :r_max] * s[:r_max]) @ Q[:r_max]
    return np.array(said)


def test_it_does_what_a_plain_transcription_does():
    who, what, y = events()
    said = nr.Recommender("online_svd", low=-99, high=99, **HOW).learn_many(who, what, y)
    assert said == pytest.approx(plain(who, what, y), abs=1e-9)


def test_any_split_gives_the_same_predictions_and_model():
    who, what, y = events()
    one = nr.Recommender("online_svd", **HOW)
    said = [one.learn_one(*event) for event in zip(who.tolist(), what.tolist(), y.tolist(), strict=True)]
    for size in (7, 64, 240):
        many = nr.Recommender("online_svd", **HOW)
        heard = [many.learn_many(*(a[k : k + size] for a in (who, what, y))) for k in range(0, 240, size)]
        assert np.array_equal(said, np.concatenate(heard))
        assert one.digest() == many.digest()


def test_a_file_goes_on_bit_for_bit(tmp_path):
    who, what, y = events()
    whole, r = (nr.Recommender("online_svd", **HOW) for _ in range(2))
    whole.learn_many(who, what, y)
    r.learn_many(who[:101], what[:101], y[:101])
    r.save(tmp_path / "r.nr")
    r = nr.load(tmp_path / "r.nr")
    r.learn_many(who[101:], what[101:], y[101:])
    assert r.digest() == whole.digest()
    assert r.top(3) == whole.top(3)
    assert nr.from_bytes(nr.Recommender("online_svd").to_bytes()).n_seen_ == 0


def test_factors_beat_offsets_where_there_is_something_to_learn():
    who, what, y = events(4000, 50, 60)
    new = np.unique(60 * who + what, return_index=True)[1]
    who, what, y = (a[np.sort(new)] for a in (who, what, y))
    late = slice(1500, None)
    errors = [
        np.sqrt(np.mean((nr.Recommender("online_svd", revise=k).learn_many(who, what, y) - y)[late] ** 2)) for k in (4, 10_000)
    ]
    assert errors[0] < 0.7 * errors[1]


def test_a_pair_that_is_rated_again_is_revised():
    who, what, y = events(60)
    pairs = list(dict.fromkeys(zip(who.tolist(), what.tolist(), strict=True)))
    a, b = (nr.Recommender("online_svd", revise=1000) for _ in range(2))  # offsets alone, which follow from the ratings that hold
    for k, (u, i) in enumerate(pairs):
        a.learn_one(u, i, y[k])
        b.learn_one(u, i, 3.0)
    for k, (u, i) in enumerate(pairs):
        b.learn_one(u, i, y[k])
    assert [f for _, f in a.top(0, 99, seen=True)] == pytest.approx([f for _, f in b.top(0, 99, seen=True)])


def test_what_can_be_asked():
    who, what, y = events()
    r = nr.Recommender("online_svd", **HOW)
    r.learn_many(who, what, y)
    before = r.digest()
    own = {int(i): float(t) for u, i, t in zip(who, what, y, strict=True) if u == 5}
    guest, user = r.fold_in(own, 99), r.top(5, 99)
    assert [i for i, _ in guest] == [i for i, _ in user]
    assert [f for _, f in guest] == pytest.approx([f for _, f in user])
    assert len(r.similar(0, 3)) == 3
    assert r.predict_one("nobody", 3) == r.predict_one("no one", "3")
    assert r.predict_one("nobody", "new") == pytest.approx(
        np.mean(list({(u, i): t for u, i, t in zip(who, what, y, strict=True)}.values()))
    )
    assert r.digest() == before


def test_it_takes_the_settings_of_a_decomposition():
    assert (
        nr.Recommender(nr.OnlineSVD(r_max=4, nu=2.0)).learner.get_params()
        == nr.Recommender("online_svd", r_max=4, nu=2.0).learner.get_params()
    )
    assert nr.Recommender(nr.OnlineSVD()).learner.r_max == 10
    with pytest.raises(ValueError, match="beta: a recommender takes r_max and nu"):
        nr.Recommender(nr.OnlineSVD(beta=0.9))
    with pytest.raises(ValueError, match="that has learned nothing"):
        nr.Recommender(nr.OnlineSVD().partial_fit([[1.0, 2.0]]))


# ---- tables --------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The same ratings with the user first, and with the item first."""
    folder = tmp_path_factory.mktemp("ratings")
    rows = [*zip(*(a.tolist() for a in events()), strict=True)]
    (folder / "a.csv").write_text("who,film,stars\n" + "".join(f"u{u},f{i},{r:g}\n" for u, i, r in rows))
    (folder / "b.csv").write_text("film,stars,who\n" + "".join(f"f{i},{r:g},u{u}\n" for u, i, r in rows))
    return folder


OPTIONS = ("--task", "recommendation", "--user", "who", "--item", "film", "--target", "stars")


def run(*args):
    done = CliRunner().invoke(main, [str(a) for a in args])
    return done.exit_code, done.output


def test_commands(tables, tmp_path):
    who, what, y = events()
    r = nr.Recommender("online_svd", **HOW)
    said = r.learn_many([f"u{u}" for u in who], [f"f{i}" for i in what], y)
    rmse = np.sqrt(np.mean((said - y)[1:] ** 2))
    spec = "online_svd:r_max=3,nu=0.5,revise=2"
    for name in ("a.csv", "b.csv"):
        code, text = run("train", tables / name, *OPTIONS, "-m", spec, "--save", tmp_path / name, "--quiet")
        assert code == 0, text
        m = nr.load(tmp_path / name)
        assert m.predict(["u3", "u4", "no"], ["f5", "no", "f6"]) == pytest.approx(r.predict(["u3", "u4", "no"], ["f5", "no", "f6"]))
        pair = [q.learn_one("new", "also new", 4.0) for q in (m, nr.load(tmp_path / name))]
        assert pair[0] == pair[1]
        found = nr.evaluate(tables / name, spec, task="recommendation", user="who", item="film", target="stars", top=3)
        assert found.learners[0]["metrics"]["rmse"] == pytest.approx(rmse, rel=1e-9)
        assert found.learners[0]["metrics"]["hit_rate"] > 0.0
    code, text = run("inspect", tmp_path / "a.csv")
    assert code == 0, text
    assert "14 users, 11 items, from 1 to 5" in text


def test_training_goes_on_where_a_file_ended(tables, tmp_path):
    whole, first, rest = (tmp_path / name for name in ("whole.nr", "first.csv", "rest.csv"))
    head, *lines = (tables / "a.csv").read_text().splitlines(keepends=True)
    first.write_text(head + "".join(lines[:101]))
    rest.write_text(head + "".join(lines[101:]))
    model = tmp_path / "m.nr"
    for args in (
        (tables / "a.csv", "-m", "online_svd:revise=2", "--save", whole),
        (first, "-m", "online_svd:revise=2", "--save", model),
    ):
        assert run("train", *args, *OPTIONS, "--quiet")[0] == 0
    code, text = run("train", rest, "--save", model, "--continue", "--quiet")
    assert code == 0, text
    assert nr.load(model).digest() == nr.load(whole).digest()


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (("ann", "x", np.nan), "rating 0: expected a finite number, got nan"),
        (("ann", "x", 1e200), "y in row 0 is 1e.200"),
        (("ann", 1.5, 1.0), "an item is a text or a whole number, got 1.5"),
    ],
)
def test_bad_events_change_nothing(event, error):
    r = nr.Recommender("online_svd", revise=1)
    r.learn_one("ann", "x", 3.0)
    before = r.digest()
    with pytest.raises((TypeError, ValueError), match=error):
        r.learn_one(*event)
    assert r.digest() == before


def test_what_is_refused(tables):
    how = {"task": "recommendation", "user": "who", "item": "film", "target": "stars"}
    with pytest.raises(ValueError, match="without weights"):
        nr.Recommender("online_svd").learner.learn_rows(rows_of(2), [1.0], np.ones(1))
    with pytest.raises(ValueError, match="row 0: expected a user and an item, got 3 features"):
        nr.Recommender("online_svd").learner.learn_rows(rows_of(3), [1.0], None)
    r = nr.train(tables / "a.csv", "online_svd", **how).model
    with pytest.raises(ValueError, match="r_max is for good"):
        r.learner.set_params(r_max=5)
    r.learner.set_params(nu=2.0)


def rows_of(n):
    """A row of n features."""
    from noregret.inputs.checking import Rows

    return Rows("csr", (np.array([0, n]), np.arange(n, dtype=np.uint32), np.ones(n)), 1, n)


# ---- MovieLens 100K ------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def movielens():
    places = [os.environ.get("NOREGRET_DATA", ""), "../shared/data"]
    found = next((p for place in places if place and (p := pathlib.Path(place, "movielens100k/u.data.gz")).exists()), None)
    if found is None:
        pytest.skip("the public file movielens100k/u.data.gz is not here: give its directory in NOREGRET_DATA")
    return np.loadtxt(found, np.int64)


@pytest.mark.parametrize(("rank", "once", "thrice"), [(5, 0.9188, 0.9119), (10, 0.9144, 0.9073), (20, 0.9128, 0.9068)])
def test_a_decomposition_of_what_offsets_leave(movielens, rank, once, thrice):
    """A tenth is held out; users are rows, in the order of time of their first rating; then two passes of revisions."""
    held = np.arange(len(movielens)) % 10 == 0
    rest = movielens[~held]
    (u, i, y, _), (v, j, z, _) = rest[np.argsort(rest[:, 3], kind="stable")].T, movielens[held].T
    mu = y.mean()
    item = np.bincount(i, y - mu, 1683) / (25 + np.bincount(i, minlength=1683))
    user = np.bincount(u, y - mu - item[i], 944) / (10 + np.bincount(u, minlength=944))
    X = np.full((944, 1683), np.nan)
    X[u, i] = y - mu - item[i] - user[u]
    order = u[np.sort(np.unique(u, return_index=True)[1])]

    def error(rest):
        return np.sqrt(np.mean((np.clip(mu + item[j] + user[v] + rest, 1, 5) - z) ** 2))

    assert error(0.0) == pytest.approx(0.9464, abs=5e-5)
    m = nr.OnlineSVD(r_max=rank, missing="impute", nu=1.0).partial_fit(X[order])
    assert error(m.complete(X)[v, j]) == pytest.approx(once, abs=2e-4)
    for _ in range(2):
        for k, row in enumerate(order.tolist()):
            m.revise(k, X[row])
    assert error(m.complete(X)[v, j]) == pytest.approx(thrice, abs=2e-4)


def test_the_error_in_the_order_of_time(movielens):
    users, items, y, _ = movielens[np.argsort(movielens[:, 3], kind="stable")][:20_000].T
    said = nr.Recommender("online_svd").learn_many(users, items, y)
    assert np.sqrt(np.mean((said - y)[1:] ** 2)) < 0.975
