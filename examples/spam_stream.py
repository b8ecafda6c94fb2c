"""A stream of messages as dicts of words: answer first, then learn. New words join the model as they come."""

import random
from collections import Counter

import noregret as nr

SPAM = ["free", "win", "money", "offer", "click", "prize", "cheap", "now", "winner", "cash"]
HAM = ["meeting", "agenda", "report", "lunch", "budget", "review", "monday", "notes", "team", "plan"]
BOTH = ["the", "a", "and", "you", "we", "please", "today", "hello", "thanks", "regards"]


def message(rng):
    """Return a message and its label; one in twenty is labelled wrongly."""
    label = rng.choice(["spam", "ham"])
    words = rng.choices(SPAM if label == "spam" else HAM, k=3) + rng.choices(BOTH, k=6)
    if rng.random() < 0.05:
        label = "ham" if label == "spam" else "spam"
    return Counter(words), label


def main():
    rng = random.Random(0)
    model = nr.PA1(C=0.1)
    wrong = 0
    for t in range(1, 3001):
        x, y = message(rng)
        said = model.learn_one(x, y)  # the answer from before the update; None for the very first message
        wrong += said != y
        if t in (10, 100, 1000, 3000):
            print(f"{t:>5} messages, {100 * wrong / t:5.1f} % wrong so far, {model.n_features_in_} words known")

    weights = sorted(zip(model.coef_[0], model.feature_names_, strict=True))
    print("most like", model.classes_[0] + ":", ", ".join(word for _, word in weights[:5]))
    print("most like", model.classes_[1] + ":", ", ".join(word for _, word in weights[:-6:-1]))

    # Millions of words? Fold them into 2^18 places: memory stays fixed, and collisions are counted.
    hashed = nr.PA1(C=0.1, hash_bits=18)
    for _ in range(1000):
        hashed.learn_one(*message(rng))
    print("hashed:", hashed.coef_.shape[1], "places,", hashed.hash_collisions_, "collisions")


if __name__ == "__main__":
    main()
