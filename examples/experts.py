"""Three forecasters of rain: follow them by AdaHedge, let a fourth in late, and see what not knowing the best one cost."""

import numpy as np

import noregret as nr

rng = np.random.default_rng(0)
truth = rng.random(1500)  # share of the day with rain
advice = np.clip(truth[:, None] + rng.normal(0.0, [0.3, 0.15, 0.4], (1500, 3)), 0.0, 1.0)

e = nr.Experts(["almanac", "radar", "frog"], loss="square")
said = e.learn_many(advice[:500], truth[:500])
print("after 500 days:", dict(zip(e.names_, e.weights_.round(3).tolist(), strict=True)))

satellite = np.clip(truth + rng.normal(0.0, 0.05, 1500), 0.0, 1.0)
e.join("satellite")  # with the loss of the whole so far
late = np.column_stack([advice, satellite])[500:]
said = np.concatenate([said, e.learn_many(late, truth[500:])])

print("after 1,500 days:", dict(zip(e.names_, e.weights_.round(3).tolist(), strict=True)))
print(f"paid {e.paid_:.2f}; the best expert lost {e.losses_.min():.2f}; regret {e.regret_:.3f}, of {e.bound_:.3f} allowed")
assert e.regret_ <= e.bound_
assert np.isclose(((said - truth) ** 2).sum(), e.paid_)  # what is paid is the loss of what was said

report = nr.compare(abs(late - truth[500:, None]), task="experts")  # the same as losses, by three rules
print(report)
assert report.winner == "experts"
