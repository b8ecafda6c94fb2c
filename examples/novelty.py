"""One class only: learn what is normal from a stream, and flag what is not before learning from it."""

import numpy as np

import noregret as nr


def stream(n, seed=0):
    """Return rows, and which of them are odd: one in fifty comes from somewhere else."""
    rng = np.random.default_rng(seed)
    odd = rng.random(n) < 0.02
    X = 0.3 * rng.standard_normal((n, 4)) + [2.0, 1.0, 0.0, -1.0]
    X[odd] = 2.0 * rng.standard_normal((odd.sum(), 4))
    return X, odd


def main():
    X, odd = stream(5000)
    model = nr.PAUniclass(epsilon=1.2, C=0.02)  # small C: a single odd row must not drag the centre away
    scores = model.learn_many(X)  # how far inside the ball each row was, before it was learned from
    flagged = scores < 0.0
    late = slice(500, None)  # the first rows only find the place
    found, false = (flagged & odd)[late].sum(), (flagged & ~odd)[late].sum()
    print("centre:", model.coef_.round(2).tolist(), "radius:", model.radius_)
    print(f"of {odd[late].sum()} odd rows {found} were flagged; of {(~odd)[late].sum()} normal rows {false} were")

    print("one by one:", [model.predict_one(row) for row in ([2.0, 1.0, 0.0, -1.0], [-3.0, 0.0, 4.0, 0.0])])


if __name__ == "__main__":
    main()
