"""Films for friends: learn ratings as they come, recommend, and see what factors add to offsets."""

import numpy as np

import noregret as nr

rng = np.random.default_rng(0)
users, items, n = 200, 100, 20_000
taste, kind = rng.choice([-1.0, 1.0], users), rng.choice([-1.0, 1.0], items)  # films for one taste, or for the other
quality = rng.normal(0.0, 0.5, items)
who, what = rng.integers(users, size=n), rng.integers(items, size=n)
stars = np.clip(np.round(3.0 + quality[what] + taste[who] * kind[what] + rng.normal(0.0, 0.5, n)), 1, 5)

r = nr.Recommender()
said = r.learn_many(who, what, stars)  # each predicted before it is learned
line = nr.Recommender("adagrad_regressor", eta=0.3).learn_many(who, what, stars)  # offsets alone
late = slice(n // 2, None)
errors = [float(np.sqrt(np.mean((p - stars)[late] ** 2))) for p in (said, line)]
print(f"RMSE of the later half: {errors[0]:.3f} with factors, {errors[1]:.3f} with offsets alone")
assert errors[0] < 0.7 * errors[1]

best = r.top(7, 5)
print("for user 7:", ", ".join(f"{item} ({rating:.1f})" for item, rating in best))
assert not {int(item) for item, _ in best} & {*what[who == 7].tolist()}  # none that they have rated

near = [int(item) for item, _ in r.similar(0, 10)]
print("like item 0:", near)
assert np.mean(kind[near] == kind[0]) > 0.9

guest = r.fold_in({0: 5, near[0]: 5}, 3)  # somebody who is not a user yet
print("for a guest:", [item for item, _ in guest])

events = [({"user": u, "item": i}, y) for u, i, y in zip(who.tolist(), what.tolist(), stars.tolist(), strict=True)]
report = nr.compare(events, task="recommendation", user="user", item="item", top=10)  # or a file, or a frame
print(report)
assert report.winner.startswith("fm_regressor")
