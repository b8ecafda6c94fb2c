"""Dicts with text, categories, numbers and holes: a pipeline makes features of them and is saved with the model."""

import random
import tempfile
from pathlib import Path

import noregret as nr

GOOD = ["works", "happy", "quick", "sturdy", "perfect"]
BAD = ["broken", "late", "refund", "scratched", "missing"]
OTHER = ["the", "box", "came", "on", "monday", "for", "my", "desk"]


def order(rng):
    """Return an order and whether it came back."""
    back = rng.random() < 0.4
    words = rng.choices(BAD if back else GOOD, k=2) + rng.choices(OTHER, k=4)
    x = {"review": " ".join(words), "country": rng.choice(["DE", "FR", "IT"]), "price": round(rng.lognormvariate(3, 1), 2)}
    if rng.random() < 0.2:
        x["price"] = None  # a missing number is a feature of its own: price?
    return x, "return" if back else "keep"


def main():
    rng = random.Random(0)
    model = nr.pipeline(nr.Text("review"), nr.Category("country"), nr.Scale(), nr.PA1(C=0.1))
    wrong = 0
    for t in range(1, 2001):
        x, y = order(rng)
        wrong += model.learn_one(x, y) != y
        if t in (10, 100, 2000):
            print(f"{t:>5} orders, {100 * wrong / t:5.1f} % wrong so far, {len(model.feature_names_)} features")
    print("read as:", model.front.table.column_roles)

    weights = sorted(zip(model.coef_[0], model.feature_names_, strict=True))
    print("most like", model.classes_[1] + ":", ", ".join(name for _, name in weights[:-4:-1]))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shop.nr")
        model.save(path)
        print("loaded, it says:", nr.load(path).predict_one({"review": "the box came broken"}))


if __name__ == "__main__":
    main()
