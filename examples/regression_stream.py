"""Real targets: follow a load curve whose level shifts half way through, one reading at a time."""

import math

import numpy as np

import noregret as nr


def readings(n, seed=0):
    """Yield features of the hour as a dict, and the load; from the middle on everything is higher."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        hour = t % 24
        angle = 2.0 * math.pi * hour / 24.0
        cold = float(rng.random())
        load = 2.0 + math.sin(angle) + 0.5 * math.cos(2.0 * angle) + 1.5 * cold + (1.0 if t >= n // 2 else 0.0)
        x = {"sin": math.sin(angle), "cos": math.cos(angle), "sin2": math.sin(2 * angle), "cos2": math.cos(2 * angle), "cold": cold}
        yield x, load + 0.05 * float(rng.standard_normal())


def main():
    n = 4000
    models = {
        "PA-I regression": nr.PA1Regressor(C=0.1, epsilon=0.05),
        "gradient descent, constant rate": nr.OGDRegressor(eta=0.05, rate="constant"),
        "gradient descent, rate 1/sqrt(t)": nr.OGDRegressor(eta=0.1),
    }
    errors = {name: np.zeros(n) for name in models}
    for t, (x, y) in enumerate(readings(n)):
        for name, model in models.items():
            errors[name][t] = abs(y - model.learn_one(x, y))  # the prediction from before the update

    print(f"{'mean |error| over rows':<34} {'1-100':>8} {'1901-2000':>10} {'2001-2100':>10} {'3901-4000':>10}")
    for name, e in errors.items():
        print(
            f"{name:<34} {e[:100].mean():>8.3f} {e[1900:2000].mean():>10.3f} {e[2000:2100].mean():>10.3f} {e[-100:].mean():>10.3f}"
        )
    model = models["PA-I regression"]
    print("weights:", {k: round(float(v), 2) for k, v in zip(model.feature_names_, model.coef_, strict=True)})
    print("intercept:", round(model.intercept_, 2))


if __name__ == "__main__":
    main()
