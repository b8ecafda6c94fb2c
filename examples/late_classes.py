"""Many classes, some of which turn up late: nothing has to be declared, and what was learned before is kept."""

import numpy as np

import noregret as nr


def stream(n, seed=0):
    """Yield points around four centres; the third and fourth kind appear only after a while."""
    rng = np.random.default_rng(seed)
    centres = {"north": (0, 3), "south": (0, -3), "east": (3, 0), "west": (-3, 0)}
    for t in range(n):
        known = ["north", "south", "east", "west"][: 2 if t < n // 3 else 3 if t < 2 * n // 3 else 4]
        label = rng.choice(known)
        yield centres[label] + rng.standard_normal(2), str(label)


def main():
    n = 3000
    model = nr.PA1(C=0.1)
    known = 0
    for t, (x, y) in enumerate(stream(n), start=1):
        model.learn_one(x, y)
        if len(model.classes_) > known:
            known = len(model.classes_)
            print(f"row {t:>4}: {y!r} is new, {known} classes, {model.n_mistakes_} mistakes so far")
    print(f"row {t:>4}: {model.n_mistakes_} mistakes in all, {100 * model.n_mistakes_ / n:.1f} %")
    print("a row of weights per class:", model.coef_.shape)
    scores = model.decision_function([[0.0, 2.5]])[0]
    print("a score per class:", {label: round(float(f), 2) for label, f in zip(model.classes_.tolist(), scores, strict=True)})


if __name__ == "__main__":
    main()
