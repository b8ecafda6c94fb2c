"""Stop, save, load in another process, go on: the result is that of never having stopped, bit for bit."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import noregret as nr

LATER = """
import sys, numpy as np, noregret as nr
model = nr.load(sys.argv[1])
data = np.load(sys.argv[2])
model.partial_fit(data["X"], data["y"])
model.save(sys.argv[1])
"""


def main():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 20))
    y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(2000) > 0, "yes", "no")

    whole = nr.OGD(eta=0.5).partial_fit(X, y)

    with tempfile.TemporaryDirectory() as folder:
        path, rest = Path(folder, "model.nr"), Path(folder, "rest.npz")
        nr.OGD(eta=0.5).partial_fit(X[:700], y[:700]).save(path)
        np.savez(rest, X=X[700:], y=y[700:])
        subprocess.run([sys.executable, "-c", LATER, str(path), str(rest)], check=True)
        print(f"{path.name}: {path.stat().st_size} bytes")
        again = nr.load(path)

    print(again, again.n_seen_, "examples,", again.n_updates_, "updates")
    print("the same weights, bit for bit:", np.array_equal(whole.coef_, again.coef_))

    # Two learners that saw different parts can be merged: weights are averaged by examples seen.
    a, b = nr.OGD(eta=0.5).partial_fit(X[:1000], y[:1000]), nr.OGD(eta=0.5).partial_fit(X[1000:], y[1000:])
    print("merged:", a.merge(b).n_seen_, "examples, accuracy", round(a.score(X, y), 3), "- one pass:", round(whole.score(X, y), 3))


if __name__ == "__main__":
    main()
