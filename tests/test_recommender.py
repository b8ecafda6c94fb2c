"""The recommender: events one by one and in batches, new users and items, what it lists, files, and what it refuses."""

import numpy as np
import pytest

import noregret as nr


def events(n=600, users=30, items=40, seed=0):
    """Ratings of rank 1 with offsets, on a scale of 1 to 5."""
    rng = np.random.default_rng(seed)
    u, v, b = rng.normal(size=users), rng.normal(size=items), rng.normal(size=items)
    who, what = rng.integers(users, size=n), rng.integers(items, size=n)
    y = np.clip(np.round(3 + u[who] * v[what] + 0.5 * b[what]), 1, 5)
    return who, what, y


def test_any_split_gives_the_same_predictions_and_model():
    who, what, y = events()
    one, many = nr.Recommender(), nr.Recommender()
    said = [one.learn_one(*event) for event in zip(who.tolist(), what.tolist(), y.tolist(), strict=True)]
    cuts = [0, 1, 8, 72, 300, 600]
    forms = [lambda a: a, lambda a: a.tolist(), lambda a: a.astype(str), lambda a: a.astype(object), lambda a: a]
    heard = [
        many.learn_many(form(who[a:b]), form(what[a:b]), y[a:b]) for a, b, form in zip(cuts[:-1], cuts[1:], forms, strict=True)
    ]
    assert np.array_equal(said, np.concatenate(heard))
    assert one.digest() == many.digest()
    assert one.n_seen_ == 600
    assert {*one.users_} == {str(u) for u in who}


def test_it_is_the_learner_on_one_hot_rows():
    who, what, y = events(200)
    r, m = nr.Recommender(), nr.pipeline(nr.Table(categorical=["user", "item"]), nr.FMRegressor())
    r.learn_many(who, what, y)
    for u, i, t in zip(who, what, y, strict=True):
        m.learn_one({"user": str(u), "item": str(i)}, t)
    assert r.learner.digest() == m.learner.digest()
    raw = m.predict_one({"user": "3", "item": "5"})
    assert r.predict_one(3, 5) == r.predict_one("3", "5") == min(max(raw, y.min()), y.max())


def test_factors_beat_offsets_where_there_is_something_to_learn():
    who, what, y = events(6000)
    fm, line = nr.Recommender(), nr.Recommender("adagrad_regressor", eta=0.3)
    late = slice(3000, None)
    errors = [np.sqrt(np.mean((r.learn_many(who, what, y) - y)[late] ** 2)) for r in (fm, line)]
    assert errors[0] < 0.85 * errors[1]


def test_predictions_stay_on_the_scale():
    r = nr.Recommender(eta=5.0, eta_w=5.0)
    who, what, y = events(100)
    said = r.learn_many(who, what, y)
    assert said[1:].min() >= 1
    assert said.max() <= 5
    given = nr.Recommender(low=0, high=10)
    assert 0.0 <= given.learn_one("a", "b", 3.0) < 0.01
    assert 0.0 <= given.predict_one("c", "d") <= 10.0


def test_new_users_and_items_are_answered():
    r = nr.Recommender()
    for _ in range(30):
        r.learn_one("ann", "good", 5)
        r.learn_one("bob", "good", 5)
        r.learn_one("ann", "bad", 1)
    assert r.predict_one("cid", "good") > r.predict_one("cid", "new") > r.predict_one("cid", "bad")
    assert r.predict_one("cid", "nothing") == r.predict_one("dan", "none")
    assert r.users_ == ["ann", "bob"]  # asking is not learning


def test_top_lists_what_was_not_rated():
    who, what, y = events()
    r = nr.Recommender()
    r.learn_many(who, what, y)
    rated = {str(i) for u, i in zip(who, what, strict=True) if u == 7}
    every, rest = r.top(7, n=100, seen=True), r.top(7, n=100)
    assert {i for i, _ in every} == {*r.items_}
    assert {i for i, _ in rest} == {*r.items_} - rated
    ratings = [score for _, score in every]
    assert ratings == sorted(ratings, reverse=True)
    assert ratings[0] == r.predict_one(7, every[0][0])
    assert r.top("nobody", 3) == r.top("no one", 3)
    assert nr.Recommender(keep=False).learn_many(who, what, y).shape == (600,)


def test_similar_items_have_similar_factors():
    rng = np.random.default_rng(1)
    r = nr.Recommender(k=4, sigma=0.1)
    taste = rng.choice([-1.0, 1.0], 60)
    for _ in range(40):
        for u in range(60):
            i = int(rng.integers(6))
            r.learn_one(u, i, 3.0 + 2.0 * taste[u] * (1 if i < 3 else -1))
    assert {i for i, _ in r.similar(0, 2)} == {"1", "2"}
    assert r.similar(0, 5)[0][1] <= 1.0 + 1e-12
    with pytest.raises(ValueError, match="item 'new' has not been rated"):
        r.similar("new")
    line = nr.Recommender("ogd_regressor")
    line.learn_one("a", "b", 1.0)
    with pytest.raises(TypeError, match="has no factors"):
        line.similar("b")


def test_fold_in_learns_nothing():
    who, what, y = events()
    r = nr.Recommender()
    r.learn_many(who, what, y)
    before = r.digest()
    found = r.fold_in({0: 5, 1: 1}, n=5)
    assert len(found) == 5
    assert not {"0", "1"} & {i for i, _ in found}
    assert r.digest() == before
    assert r.fold_in({0: 1, 1: 5}, n=5) != found


def test_yes_and_no():
    rng = np.random.default_rng(2)
    r = nr.Recommender("fm")
    for _ in range(1500):
        u, i = int(rng.integers(10)), int(rng.integers(10))
        said = r.learn_one(u, i, bool((u + i) % 2))
        assert 0.0 < said < 1.0
    right = [(r.predict_one(u, i) > 0.5) == bool((u + i) % 2) for u in range(10) for i in range(10)]
    assert np.mean(right) > 0.95
    with pytest.raises(ValueError, match="rating 0: expected yes or no"):
        r.learn_one(0, 0, 3)


def test_files(tmp_path):
    who, what, y = events()
    whole, r = nr.Recommender(high=5), nr.Recommender(high=5)
    whole.learn_many(who, what, y)
    r.learn_many(who[:200], what[:200], y[:200])
    r.save(tmp_path / "r.nr")
    r = nr.load(tmp_path / "r.nr")
    assert isinstance(r, nr.Recommender)
    r.learn_many(who[200:], what[200:], y[200:])
    assert r.digest() == whole.digest()
    assert r.top(3) == whole.top(3)
    assert nr.from_bytes(nr.Recommender().to_bytes()).n_seen_ == 0


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (("ann", "x", np.nan), "rating 0: expected a finite number, got nan"),
        (("ann", "x", "five"), "rating 0: expected a finite number, got 'five'"),
        (("ann", "x", None), "rating 0: expected a finite number, got None"),
        ((None, "x", 1.0), "a user is a text or a whole number, got None"),
        (("ann", 1.5, 1.0), "an item is a text or a whole number, got 1.5"),
        ((["ann"], "x", 1.0), "a user is a text or a whole number"),
    ],
)
def test_bad_events_change_nothing(event, error):
    r = nr.Recommender()
    r.learn_one("ann", "x", 3.0)
    before = r.digest()
    with pytest.raises((TypeError, ValueError), match=error):
        r.learn_one(*event)
    user, item, rating = event
    with pytest.raises((TypeError, ValueError)):
        r.learn_many(["bob", user], ["x", item], [2.0, rating])
    assert r.digest() == before


def test_what_is_refused():
    with pytest.raises(TypeError, match="set the parameters of a learner"):
        nr.Recommender(nr.FMRegressor(), k=3)
    with pytest.raises(TypeError, match="expected a regressor or a classifier"):
        nr.Recommender(3)
    with pytest.raises(ValueError, match="low must be below high"):
        nr.Recommender(low=5, high=1)
    with pytest.raises(ValueError, match="2 users, 1 item, 1 rating"):
        nr.Recommender().learn_many(["a", "b"], ["x"], [1.0])
    with pytest.raises(ValueError, match="has learned nothing yet"):
        nr.Recommender().predict_one("a", "b")
