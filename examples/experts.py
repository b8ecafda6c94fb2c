"""Experts: three forecasters of rain are followed by AdaHedge, a fourth joins late, and the regret stays below its bound."""

import numpy as np

import noregret as nr


def forecasts(days, seed=0):
    """Return the share of each day with rain, and what an almanac, a radar, a frog and a satellite say of it."""
    rng = np.random.default_rng(seed)
    truth = rng.random(days)
    return truth, np.clip(truth[:, None] + rng.normal(0.0, [0.2, 0.18, 0.4, 0.05], (days, 4)), 0.0, 1.0)


def main():
    truth, advice = forecasts(1500)
    e = nr.Experts(["almanac", "radar", "frog"], loss="absolute")
    said = e.learn_many(advice[:500, :3], truth[:500])
    print("after 500 days:", dict(zip(e.names_, e.weights_.round(3).tolist(), strict=True)))

    e.join("satellite")  # with the loss of the whole so far as its own
    for x, y in zip(advice[500:].tolist(), truth[500:].tolist(), strict=True):  # a day at a time
        said = np.append(said, e.learn_one(dict(zip(e.names_, x, strict=True)), y))
    print("after 1,500 days:", dict(zip(e.names_, e.weights_.round(3).tolist(), strict=True)))
    cost = abs(said - truth).sum()
    print(f"paid {e.paid_:.2f}, best expert {e.losses_.min():.2f}; what was said cost {cost:.2f}, never more than paid")
    print(f"regret {e.regret_:.3f}, below its bound of {e.bound_:.3f}:", e.regret_ <= e.bound_)

    report = nr.compare(abs(advice - truth[:, None]), task="experts")  # the same as losses, by three rules
    for row in report.learners:
        print(f"{row['label']:25} paid {row['metrics']['paid']:7.2f}  regret {row['regret']['value']:6.2f}")


if __name__ == "__main__":
    main()
