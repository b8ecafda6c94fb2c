"""Golden digests: what every learner, transform and reader makes of a fixed input, to the last bit, at each processor level.

`python tests/golden.py NAME ...` prints digests as JSON (without a name, all of them); `--write` puts them into the level's file,
tests/golden/LEVEL.json. A change there is a change of everybody's bits: the commit that makes it says why.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import sys
import tempfile
import warnings

import numpy as np
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.engine import elementary, processor, special

HERE = pathlib.Path(__file__).parent / "golden"
MULTIPLIER, INCREMENT = 6364136223846793005, 1442695040888963407  # of Knuth's congruential generator


# ---- input: whole numbers, and one correctly rounded division -------------------------------------------------------------
def numbers(n, seed):
    """n numbers in [-1, 1), in thousandths: the same on every machine, and not exact in binary."""
    state, out = seed * 2 + 1, []
    for _ in range(n):
        state = (state * MULTIPLIER + INCREMENT) % 2**64
        out.append((state >> 33) % 2000 - 1000)
    return np.array(out, np.float64) / 1000.0


def rows(n, d, seed, share=0.6):
    """Rows of which a share of the cells is not 0."""
    X = numbers(n * d, seed).reshape(n, d)
    return np.where(np.abs(numbers(n * d, seed + 1)).reshape(n, d) < share, X, 0.0)


def stream(learner, K, n=90, d=13):
    """Rows and targets for a learner: linear in three of the columns, with noise."""
    X = rows(n, d, 7)
    if learner.nonnegative:
        X = np.abs(X)
    f = X[:, :3].sum(1) + X[:, 3] * X[:, 4] + 0.3 * numbers(n, 9)
    if learner.task != "classification":
        return X, f
    y = np.digitize(f, np.quantile(f, [0.5] if K == 2 else [0.3, 0.7], method="lower"))
    return X, y


# ---- digests --------------------------------------------------------------------------------------------------------------
def digest(arrays):
    """A short name for the bits of named arrays."""
    h = hashlib.sha256()
    for name, a in sorted(arrays.items()):
        a = np.asarray(a)
        h.update(f"{name} {a.dtype.str} {a.shape}\n".encode())
        h.update(a.tobytes() if a.dtype != object else repr(a.tolist()).encode())
    return h.hexdigest()[:16]


def of_learner(name):
    """Digests of the state and the counters, for two classes and three (or targets), dense rows and sparse ones."""
    out = {}
    for K in (2, 3) if nr.learner(name).task == "classification" else (1,):
        for layout in (np.asarray, csr_matrix):
            m = nr.learner(name)
            X, y = stream(m, K)
            m.partial_fit(layout(X), y)
            out[f"{K} {'dense' if layout is np.asarray else 'sparse'}"] = digest({**m.model.arrays(), "tally": m.model.tally})
    return out


def more_learners():
    """Settings whose code differs in kind from the defaults."""
    return {
        "alma p=4": nr.ALMA(p=4.0),
        "arow full": nr.AROW(covariance="full"),
        "fobos elastic": nr.FOBOS(regularizer="l2sq", lambda_=0.01),
        "hedge bayes": nr.Hedge(learners=[nr.PA1(), nr.NAG()], rule="bayes"),
        "hedge fixed share": nr.Hedge(learners=[nr.PA1(), nr.AROW()], rule="fixed_share"),
        "mirror descent p=3 log": nr.MirrorDescent(p=3.0, loss="log"),
        "nag log": nr.NAG(loss="log"),
        "ogd log float32": nr.OGD(loss="log", dtype="float32"),
        "pa1 averaged": nr.PA1(average=True),
        "pa1 cauchy": nr.PA1(kernel=nr.Cauchy(0.3), budget=nr.RemoveOldest(20)),
        "pa1 merging": nr.PA1(kernel=nr.RBF(0.5), budget=nr.Merge(20)),
        "perceptron laplacian": nr.Perceptron(kernel=nr.Laplacian(0.2), budget=nr.RemoveSmallest(20)),
        "perceptron polynomial": nr.Perceptron(kernel=nr.Polynomial(degree=3)),
        "rls forgetting": nr.RLS(forgetting=0.97),
    }


def of_settings(name):
    """A digest of the state of one of them."""
    m = more_learners()[name]
    X, y = stream(m, 2)
    m.partial_fit(X, y)
    return {"dense": digest({**m.model.arrays(), "tally": m.model.tally})}


def of_transforms():
    """Digests of the features that maps make, and of what a learner behind a table learns."""
    X = 3.0 * rows(60, 8, 21)
    maps = {
        "random fourier": nr.RandomFourier(D=16, kernel=nr.RBF(0.5)),
        "random fourier, laplacian": nr.RandomFourier(D=16, kernel=nr.Laplacian(0.5)),
        "random fourier, cauchy": nr.RandomFourier(D=16, kernel=nr.Cauchy(0.5)),
        "random fourier, orthogonal": nr.RandomFourier(D=16, orthogonal=True),
        "random binning": nr.RandomBinning(P=8),
        "nystroem": nr.Nystroem(B=10, kernel=nr.RBF(0.5)),
        "nystroem, eigenvectors": nr.Nystroem(B=10, kernel=nr.Cauchy(0.5), rank=4),
    }
    for m in maps.values():
        if hasattr(m, "partial_fit"):
            m.partial_fit(X)
    out = {name: digest({"z": dense(m.transform(X))}) for name, m in maps.items()}
    m = nr.pipeline(nr.Scale(), nr.NAG())
    y = (X[:, 0] > X[:, 1]).astype(int)
    m.partial_fit(X, y)
    out["scale > nag"] = digest(m.learner.model.arrays())
    common = nr.pipeline(nr.Scale(center="common"), nr.NAG()).partial_fit(csr_matrix(X), y)
    out["scale common > nag"] = digest(common.learner.model.arrays())
    days = [{"when": f"20{i:02d}-{i % 12 + 1:02d}-{i % 28 + 1:02d}T{i % 24:02d}:30:00"} for i in range(60)]
    dated = nr.pipeline(nr.Date("when"), nr.NAG()).partial_fit(days, y)
    return {**out, "date > nag": digest(dated.learner.model.arrays())}


def dense(z):
    """An array of what may be sparse."""
    return z.toarray() if hasattr(z, "toarray") else z


def of_functions():
    """Digests of the elementary functions over wide ranges."""
    x = np.concatenate([s * numbers(400, 31) for s in (1e-6, 1.0, 40.0, 700.0)])
    with np.errstate(all="ignore"):
        out = {f: elementary.over(getattr(elementary, f), x) for f in ("exp", "expm1", "exp2", "tanh", "tan")}
        out |= {f: elementary.over(getattr(elementary, f), np.abs(x)) for f in ("log", "log1p", "log2")}
    out["power"] = elementary.over(elementary.power, np.abs(x) + 0.001, 2.5)
    out["normal_quantile"] = [elementary.normal_quantile(p) for p in (np.abs(x[400:800]) + 1e-9).clip(max=1 - 1e-9).tolist()]
    return {name: digest({"f": np.asarray(f)}) for name, f in out.items()}


def of_probabilities():
    """Digests of probabilities and of what calibrators keep, for two classes, three, and a pool."""
    out = {}
    for K in (2, 3):
        for m in (nr.PA1(probabilities=True), nr.Hedge(learners=[nr.PA1(), nr.AROW()], probabilities=True)):
            X, y = stream(m, K)
            c = 1.0 + np.round(np.abs(numbers(len(y), 51)))
            m.partial_fit(X, y, sample_weight=c)
            out[f"{m.name} {K}"] = digest({**m.model.calibration.arrays(), "p": m.predict_proba(X)})
        m = nr.PA1(coverage=[0.5, 0.9])
        m.partial_fit(*stream(m, K))
        out[f"sets {K}"] = digest(m.model.calibration.arrays())
    m = nr.NAGRegressor(coverage=[0.5, 0.9])
    X, y = stream(m, 1)
    m.partial_fit(X, y)
    return {**out, "intervals": digest({**m.model.calibration.arrays(), "bounds": m.predict_interval(X)})}


def of_portfolios():
    """Digests of what strategies keep, and of the weights of every day."""
    X = 1.0 + 0.05 * numbers(150 * 4, 61).reshape(150, 4)
    X[40:46, 2] = 1.0
    given = {"universal": {"samples": 100}, "anticor": {"W": 8}, "mixture": {"strategies": ["eg", "pamr", "market"]}}
    cases = [(name.partition(".")[2], {}) for name in nr.algorithms("portfolio")]
    cases += [("olmar", {"alpha": 0.5}), ("cwmr", {"variant": "var"}), ("pamr", {"variant": "pamr2"}), ("anticor", {"w": 3})]
    cases += [("universal", {"prior": "dirichlet"}), ("ons", {"eta": 0.1, "delta": 2.0})]
    out = {}
    for name, more in cases:
        m = nr.learner(f"portfolio.{name}", cost=0.001, **{**given.get(name, {}), **more})
        W = m.learn_many(X)
        out[f"{name} {more}" if more else name] = digest({**m.model.arrays(), "W": W})
    return out


def of_experts():
    """Digests of what experts keep under each rule, and of the weights of every round; one joins late."""
    L = 0.5 + 0.5 * numbers(120 * 4, 67).reshape(120, 4)
    out = {}
    for rule in ("adahedge", "hedge", "fixed_share", "bayes"):
        m = nr.Experts(rule=rule)
        W = m.learn_many(L[:60, :3])
        m.join()
        out[rule] = digest({**m.model.arrays(), "W": W, "later": m.learn_many(L[60:])})
    m = nr.Experts(loss="square")
    return {**out, "square": digest({"said": m.learn_many(L[:, :3], L[:, 3]), **m.model.arrays()})}


def of_readers():
    """Digests of the rows that readers make of text."""
    values = [repr(v) for v in np.concatenate([numbers(200, 41), 1e12 * numbers(100, 42), 1e-9 * numbers(100, 43)]).tolist()]
    four = [values[k : k + 4] for k in range(0, len(values), 4)]
    texts = {
        "svmlight": "".join(f"{1 if k % 2 else -1} 1:{a} 3:{b} 7:{c} 9:{d}\n" for k, (a, b, c, d) in enumerate(four)),
        "vw": "".join(f"{1 if k % 2 else -1} |x a:{a} b:{b} |y c:{c} d:{d}\n" for k, (a, b, c, d) in enumerate(four)),
        "csv": "y,a,b,c,d\n" + "".join(f"{k % 2},{','.join(row)}\n" for k, row in enumerate(four)),
        "ldac": "".join(f"2 {k % 17 + 3}:{k + 1} {k % 3}:2\n" for k in range(100)) + "0\n",
        "docword": "101\n20\n200\n" + "".join(f"{k + 1} {k % 3 + 1} 2\n{k + 1} {k % 17 + 4} {k + 1}\n" for k in range(100)),
        "text": "".join(f"Word{k % 7} and word{k % 11}, word{k % 7}\n" for k in range(100)) + "\n",
    }
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = pathlib.Path(folder) / f"rows.{name}"
            path.write_text(text)
            out[name] = of_stream(str(path), format=name, **({"target": "y"} if name == "csv" else {}))
    for url in ("linear?n=500", "blobs?n=500&speed=0.01", "friedman?n=500", "text?n=200"):
        out[url] = of_stream(f"synthetic:{url}")
    return out


def of_stream(source, **options):
    """A digest of all rows and labels of a source."""
    arrays = {}
    for k, batch in enumerate(nr.stream(source, **options).chunks()):
        columns = batch.data.arrays if hasattr(batch.data, "arrays") else [c.to_numpy(False) for c in batch.data.columns]
        arrays |= {f"{k}.{i}": a for i, a in enumerate(columns)} | {f"{k}.y": np.asarray(getattr(batch.y, "codes", batch.y))}
    return digest(arrays)


def of_components():
    """Digests of learners of components that are compiled to the end: those in batches of PCA and of experts ask LAPACK."""
    learners = {
        "merge": nr.OnlinePCA(k=3),
        "ccipca": nr.OnlinePCA(k=3, method="ccipca", l=2),
        "oja": nr.OnlinePCA(k=3, method="oja"),
        "svd": nr.OnlineSVD(r_max=4),
        "dictionary": nr.DictionaryLearner(k=5, S=8),
        "dictionary, lars": nr.DictionaryLearner(k=5, coding="lars", positive=True),
    }
    return {name: digest(m.partial_fit(rows(90, 13, 7)).model.arrays()) for name, m in learners.items()}


def of_topics():
    """Digests of topic models, and of the functions that only they use."""
    X = np.floor(4.0 * np.abs(rows(60, 20, 8)))
    learners = {
        "lda": nr.OnlineLDA(K=5, eta=0.2, S=16),
        "lda, priors": nr.OnlineLDA(K=3, S=8, eta=0.004, learn_alpha=True, learn_eta=True),
        "hdp": nr.OnlineHDP(K=7, T=3, S=16, eta=0.1, tolerance=1e-4),
        "hdp, uniform": nr.OnlineHDP(K=7, T=3, S=16, eta=0.01, tolerance=1e-4, zeta="uniform", sort=False),
    }
    out = {name: digest(m.partial_fit(X).model.arrays()) for name, m in learners.items()}
    x = np.abs(numbers(2000, 44)) * np.exp2(np.arange(2000) % 40 - 10.0) + 1e-4
    functions = ("exp_psi", "psi", "trigamma", "log_gamma")
    return out | {"functions": digest({f: elementary.over(getattr(special, f), x) for f in functions})}


WHOLE = {
    "components": of_components,
    "topics": of_topics,
    "probabilities": of_probabilities,
    "portfolios": of_portfolios,
    "experts": of_experts,
    "transforms": of_transforms,
    "functions": of_functions,
    "readers": of_readers,
}


def names():
    """All that has digests."""
    return [*nr.algorithms(), *more_learners(), *WHOLE]


def found(name):
    """The digests of one name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return WHOLE[name]() if name in WHOLE else (of_settings if name in more_learners() else of_learner)(name)


def known():
    """The digests on file for the level of this process; None if there are none."""
    path = HERE / f"{processor.chosen().name}.json"
    return json.loads(path.read_text()) if path.exists() else None


if __name__ == "__main__":
    write, wanted = "--write" in sys.argv, [a for a in sys.argv[1:] if a != "--write"]
    digests = {name: found(name) for name in wanted or names()}
    if write:
        HERE.mkdir(exist_ok=True)
        digests = {**((wanted and known()) or {}), **digests}
        (HERE / f"{processor.chosen().name}.json").write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n")
    else:
        print(json.dumps(digests, sort_keys=True))
