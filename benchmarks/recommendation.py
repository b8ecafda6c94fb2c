"""Ratings of MovieLens 100K in time order: error before each is learned, and ratings per second beside River's BiasedMF."""

from time import process_time

import numpy as np
from river import reco

import noregret as nr

from .sets import lines
from .table import Row
from .timing import Job, interleave

SEEDS = (0, 1, 2)


def ratings() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return users, items and ratings, as they came."""
    rows = np.array([line.split() for line in lines("movielens100k/u.data.gz")], np.int64)
    users, items, y, _ = rows[np.argsort(rows[:, 3], kind="stable")].T
    return users, items, y.astype(np.float64)


def rmse(said: np.ndarray, y: np.ndarray) -> float:
    """Return the error of all but the first, which is answered before any rating is known."""
    return float(np.sqrt(np.mean((said - y)[1:] ** 2)))


def run(quick: bool) -> list[Row]:
    """Run everything."""
    users, items, y = (a[:10_000] if quick else a for a in ratings())
    events = list(zip(users.tolist(), items.tolist(), y.tolist(), strict=True))
    heard: dict[str, np.ndarray] = {}

    def arrays() -> Job:
        r = nr.Recommender()

        def job():  # type: ignore[no-untyped-def]
            heard["ours"] = r.learn_many(users, items, y)
            return lambda: 0

        return job

    def one_by_one() -> Job:
        r = nr.Recommender()

        def job():  # type: ignore[no-untyped-def]
            for user, item, rating in events:
                r.learn_one(user, item, rating)
            return lambda: 0

        return job

    def peer() -> Job:
        m, said = reco.BiasedMF(n_factors=10), []

        def job():  # type: ignore[no-untyped-def]
            for user, item, rating in events:
                said.append(m.predict_one(user=user, item=item))
                m.learn_one(user=user, item=item, y=rating)
            heard["river"] = np.clip(said, 1, 5)
            return lambda: 0

        return job

    best = {k: len(y) / t.seconds for k, t in interleave({"arrays": arrays, "one": one_by_one, "river": peer}, 3).items()}
    errors = [rmse(nr.Recommender(seed=seed).learn_many(users, items, y), y) for seed in SEEDS]
    line = nr.evaluate(
        [({"user": str(u), "item": str(i)}, r) for u, i, r in events], "adagrad_regressor:eta=0.3", regret=False
    ).learners[0]["metrics"]["rmse"]
    start = process_time()
    found = nr.Recommender("online_svd").learn_many(users, items, y)
    speed = len(y) / (process_time() - start)
    said = ", ".join(f"{e:.4f}" for e in errors)
    most, theirs = None if quick else 0.947, rmse(heard["river"], y)
    return [
        Row("learn_one", best["one"], "ex/s", "River BiasedMF, predict and learn", best["river"], at_least=5.0),
        Row("learn_many of arrays", best["arrays"], "ex/s", "target", 2e6, at_least=1.0),
        Row("RMSE, the worst of three seeds", max(errors), "", "River BiasedMF", theirs, at_most=most, note=said),
        Row("RMSE of offsets by AdaGrad's steps", line, ""),
        Row("RMSE of online_svd", rmse(found, y), "", note=f"{speed:,.0f} ex/s"),
    ]
