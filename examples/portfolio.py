"""Portfolios: what strategies make of the same market, before and after costs, beside the best constant weights in hindsight."""

import numpy as np

import noregret as nr


def market(days, seed=0):
    """Return relatives of four stocks: a common market, a trend for each, and prices that overshoot a little and come back."""
    rng = np.random.default_rng(seed)
    common = 0.008 * rng.standard_normal((days, 1))
    noise = 0.012 * rng.standard_normal((days + 1, 4))
    trend = [0.0006, 0.0003, 0.0, -0.0002]
    return np.exp(common + noise[1:] - 0.1 * noise[:-1] + trend)


def main():
    names = ["steel", "oil", "bank", "rail"]
    X = market(1500)
    best = nr.portfolio.BCRP().fit(X)
    weights = dict(zip(names, best.weights_.round(2).tolist(), strict=True))
    print(f"best constant weights: {weights}, wealth {best.wealth_:.2f}, certified to {best.gap_:.0e}")

    print(f"{'':20} {'free':>8} {'0.1 %':>8} {'0.5 %':>8} {'regret':>8}")
    for name in nr.algorithms("portfolio"):
        free, *dear = (nr.learner(name, cost=c).fit(X) for c in (0.0, 0.001, 0.005))
        wealth = " ".join(f"{m.wealth_:8.2f}" for m in (free, *dear))
        print(f"{name:20} {wealth} {best.log_wealth_ - free.log_wealth_:8.2f}")

    m = nr.portfolio.EG()
    for x in X:  # a day at a time
        m.learn_one(dict(zip(names, x.tolist(), strict=True)))
    print("tomorrow:", dict(zip(m.names_, m.weights_.round(3).tolist(), strict=True)))
    print("EG, regret below its bound:", best.log_wealth_ - m.log_wealth_ <= m.bound_)


if __name__ == "__main__":
    main()
