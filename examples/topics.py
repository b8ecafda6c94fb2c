"""Topics of news that never stop: documents are learned as they come, a subject turns up late, and its words find a topic."""

import random

import noregret as nr

SUBJECTS = {
    "sport": "team goal match coach player league season win",
    "politics": "vote party law minister parliament election budget reform",
    "weather": "storm rain wind flood snow forecast coast river",
    "health": "virus vaccine hospital doctor patient infection dose trial",
}
LATE = "health"


def stream(n, seed=0):
    """Yield texts with their subjects; those about health begin after half of them."""
    rng = random.Random(seed)
    for t in range(n):
        known = [name for name in SUBJECTS if name != LATE or t >= n // 2]
        first, second = rng.choice(known), rng.choice(known)
        yield " ".join(rng.choice(SUBJECTS[rng.choice([first, first, second])].split()) for _ in range(20)), first


def main():
    m = nr.OnlineLDA(K=4, eta=0.1, S=20, tau0=8, D=2000, seed=1)
    for t, (text, _) in enumerate(stream(2000), 1):
        m.learn_one(text)
        if t in (1000, 2000):
            print(f"after {t} documents, {m.n_features_in_} words:")
            for words in m.topics(5):
                print("   ", " ".join(words))
    theta = m.transform(["the vaccine reached the hospital in the storm"])[0]
    print("a new text:", " and ".join(f"{100 * theta[k]:.0f} % {m.topics(1)[k][0]}" for k in theta.argsort()[:-3:-1]))
    texts, subjects = zip(*stream(2000, seed=1), strict=True)
    learner = nr.pipeline(m.clone(), nr.AROW()).partial_fit(texts[:1500], subjects[:1500])
    right = (learner.predict(texts[1500:]) == subjects[1500:]).mean()
    print(f"proportions of topics tell the subject of {100 * right:.0f} % of the last 500 texts")


if __name__ == "__main__":
    main()
