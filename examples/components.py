"""Images as sums of a few parts: principal components and a dictionary, learned from a stream, and what they leave unexplained."""

import pathlib
import sys

import numpy as np

import noregret as nr

SIDE = 8


def stream(n, seed=0):
    """Return small images: one to three bars, across or down, and some noise."""
    rng = np.random.default_rng(seed)
    bars = [np.outer(np.ones(SIDE), np.eye(SIDE)[j]) for j in range(SIDE)]
    bars = np.array([b.ravel() for b in [*bars, *(b.T for b in bars)]])
    chosen = np.array([rng.permutation(len(bars)) < rng.integers(1, 4) for _ in range(n)])
    return (chosen * rng.uniform(0.5, 1.5, chosen.shape)) @ bars + 0.05 * rng.standard_normal((n, SIDE * SIDE))


def main():
    X = stream(4000)
    pca = nr.OnlinePCA(k=15)
    parts = nr.DictionaryLearner(k=16, lambda_=0.5, S=50)
    for m in (pca, parts):
        left = m.learn_many(X)  # the squared residual of each row, before it was learned
        print(f"{m!r}: left of a row, one by one: {left[:500].mean():.2f} at first, {left[-500:].mean():.2f} in the end")
    best = nr.best_subspace(X, 15)
    print(f"the best 15 directions in hindsight leave {best.loss / len(X):.2f}")
    print(f"the largest angle between them and those found: {best.angle(pca.components_):.3f}")
    print(f"numbers other than 0 in a row of coordinates: {(parts.transform(X) != 0).sum(1).mean():.1f} of 16")
    if len(sys.argv) > 1:
        picture(pathlib.Path(sys.argv[1]), pca, parts)


def picture(path, *models):
    """Draw the components of each as tiles."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 0.9 * len(models)), layout="constrained")
    for ax, m in zip(figure.subplots(len(models)), models, strict=True):
        ax.imshow(np.hstack([np.pad(c.reshape(SIDE, SIDE) / np.abs(c).max(), 1) for c in m.components_]), cmap="RdBu_r")
        ax.set_title(type(m).__name__)
        ax.axis("off")
    figure.savefig(path)


if __name__ == "__main__":
    main()
