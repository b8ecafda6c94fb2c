"""Mistakes that cost different amounts: ask for a larger margin where a confusion is dearer."""

import numpy as np

import noregret as nr

CLASSES = ["none", "minor", "severe"]
COST = {("severe", "none"): 25.0, ("severe", "minor"): 9.0, ("minor", "none"): 2.0}  # (true, predicted); others cost 1


def stream(n, seed=0):
    """Return rows and labels of three overlapping classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.7, 0.2, 0.1])
    X = rng.standard_normal((n, 5))
    X[:, 0] += 1.2 * y
    X[:, 1] += 0.8 * (y == 2)
    return X, np.array(CLASSES)[y]


def total(y, said):
    """Return what the answers cost."""
    return sum(COST.get((t, p), 1.0) for t, p in zip(y, said, strict=True) if t != p)


def main():
    X, y = stream(20_000)
    train, test = slice(0, 15_000), slice(15_000, None)
    models = {
        "all mistakes alike": nr.PA1(C=0.01, average=True),
        "cost": nr.PA1(C=0.01, average=True, cost=COST),
        "cost, rival by prediction": nr.PA1(C=0.01, average=True, cost=COST, mode="prediction"),
        "class weights": nr.PA1(C=0.01, average=True, class_weight={"severe": 10.0}),
    }
    print(f"{'':<28} {'mistakes':>9} {'missed severe':>14} {'total cost':>11}")
    for name, model in models.items():
        said = model.partial_fit(X[train], y[train]).predict(X[test])
        missed = ((y[test] == "severe") & (said != "severe")).sum()
        print(f"{name:<28} {(said != y[test]).sum():>9} {missed:>14} {total(y[test], said):>11.0f}")


if __name__ == "__main__":
    main()
