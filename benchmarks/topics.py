"""Topic models beside scikit-learn's and gensim's: documents a second, and the perplexity of completed documents after one pass.

The AP corpus, 2,246 documents of 10,473 words; one in ten is held out, its distinct words at even places are observed and those at
odd places scored. LDA: K = 50, alpha = eta = 1/50, batches of 256, offset 10, decay 0.7, D known, at most 100 iterations to 1e-3.
HDP: K = 60, T = 10, eta = 0.5, batches of 64, offset 1, decay 0.5, D known. gensim counts batches from 0, so its offset is 1 more.
Both look at the bound of a document until it grows by less than a share: ours of 1e-3, gensim's of 1e-4. "Our defaults" know
neither D nor any other setting but K of the LDA. One thread.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.decomposition import LatentDirichletAllocation
from threadpoolctl import threadpool_limits

import noregret as nr

from .sets import cells, lines
from .table import Row
from .timing import Job, interleave

FASTER = 3.0
WORDS = 10_473
K, S, OFFSET, DECAY, TOLERANCE = 50, 256, 10.0, 0.7, 1e-3
HDP = {"K": 60, "T": 10, "eta": 0.5, "S": 64}
MOST, MOST_HDP = 3_350.0, 3_700.0  # of the perplexity, with our defaults
MISSING = "gensim is not installed: python -m pip install -e '.[bench]'"

Documents = list[list[tuple[int, float]]]


def corpus() -> Documents:
    """Return the documents as words and counts, in the order of the file."""
    return [[(int(w), c) for w, c in cells(line.split(None, 1)[1]).items()] for line in lines("ap/ap.dat.gz")]  # type: ignore[call-overload]


def matrix(documents: Sequence[Sequence[tuple[int, float]]]) -> csr_matrix:
    """Return documents as rows of counts."""
    starts = np.cumsum([0, *map(len, documents)])
    cells = np.array([cell for x in documents for cell in x])
    return csr_matrix((cells[:, 1], cells[:, 0].astype(int), starts), shape=(len(documents), WORDS))


def completed(theta: np.ndarray, beta: np.ndarray, scored: csr_matrix) -> float:
    """Return the perplexity of words, given proportions of the documents and topics that sum to 1."""
    at = np.repeat(np.arange(scored.shape[0]), np.diff(scored.indptr))
    p = (theta[at] * beta.T[scored.indices]).sum(1)
    return float(np.exp(-(scored.data * np.log(p)).sum() / scored.data.sum()))


class Held:
    """The documents held out."""

    def __init__(self, documents: Documents) -> None:
        self.lists = [x[0::2] for x in documents]
        self.observed, self.scored = matrix(self.lists), matrix([x[1::2] for x in documents])

    def ours(self, m: Any) -> float:
        """Return the perplexity of a model of ours."""
        return float(m.completion(self.observed, self.scored))

    def sklearn(self, m: Any) -> float:
        """Return the perplexity of one of scikit-learn's."""
        return completed(m.transform(self.observed), m.components_ / m.components_.sum(1, keepdims=True), self.scored)

    def gensim(self, m: Any) -> float:
        """Return the perplexity of one of gensim's; an HDP is scored as the LDA that it suggests."""
        hdp = hasattr(m, "hdp_to_lda")
        beta = m.hdp_to_lda()[1] if hdp else m.get_topics().astype(np.float64)
        gamma = (m.suggested_lda_model() if hdp else m).inference(self.lists)[0].astype(np.float64)
        return completed(gamma / gamma.sum(1, keepdims=True), beta, self.scored)


def learning(make: Callable[[], Callable[[], Any]], kept: dict[str, Any], name: str) -> Callable[[], Job]:
    """Prepare a pass over the documents; what it makes is kept."""

    def prepare() -> Job:
        work = make()

        def job() -> Callable[[], int]:
            kept[name] = work()
            return lambda: 0

        return job

    return prepare


def lda(documents: Documents, held: Held, quick: bool) -> list[Row]:
    """Compare LDA at equal settings."""
    X, D = matrix(documents), len(documents)

    def ours() -> Callable[[], Any]:
        return lambda: nr.OnlineLDA(K=K, eta=1 / K, tau0=OFFSET, kappa=DECAY, S=S, D=D, tolerance=TOLERANCE).partial_fit(X).finish()

    def sklearn() -> Callable[[], Any]:
        m = LatentDirichletAllocation(
            K, learning_offset=OFFSET, learning_decay=DECAY, total_samples=D, mean_change_tol=TOLERANCE, random_state=0,
            batch_size=S,  # it splits what partial_fit is given into batches of 128 otherwise
        )  # fmt: skip

        def work() -> Any:
            for i in range(0, D, S):
                m.partial_fit(X[i : i + S])
            return m

        return work

    def gensim() -> Callable[[], Any]:
        from gensim.models import LdaModel

        prior = {"alpha": "symmetric", "eta": 1.0 / K, "id2word": {w: str(w) for w in range(WORDS)}}
        speed = {"offset": OFFSET + 1.0, "decay": DECAY, "iterations": 100, "gamma_threshold": TOLERANCE, "eval_every": None}
        return lambda: LdaModel(documents, K, chunksize=S, random_state=0, **prior, **speed)

    kept: dict[str, Any] = {}
    makers = {"ours": ours, "sklearn": sklearn} | ({"gensim": gensim} if find_spec("gensim") else {})
    best = interleave({name: learning(make, kept, name) for name, make in makers.items()}, rounds=1 if quick else 3)
    rates = {name: D / best[name].seconds for name in makers}
    found = {name: getattr(held, name)(m) for name, m in kept.items()}
    rows = []
    for name, title in (("sklearn", "LatentDirichletAllocation"), ("gensim", "LdaModel")):
        note = f"perplexity {found['ours']:,.0f} | {found[name]:,.0f}" if name in found else MISSING
        rows.append(
            Row("LDA, one pass", rates["ours"], "ex/s", title, rates.get(name), FASTER if name in rates else None, note=note)
        )
    return rows


def hdp(documents: Documents, held: Held, quick: bool) -> list[Row]:
    """Compare the HDP at equal settings."""
    X, D = matrix(documents), len(documents)

    def ours() -> Callable[[], Any]:
        return lambda: nr.OnlineHDP(**HDP, D=D).partial_fit(X).finish()

    def gensim() -> Callable[[], Any]:
        from gensim.models import HdpModel

        same = {"T": HDP["K"], "K": HDP["T"], "eta": HDP["eta"], "chunksize": HDP["S"], "kappa": 0.5, "tau": 2.0}
        names = {w: str(w) for w in range(WORDS)}
        return lambda: HdpModel(documents, names, alpha=1, gamma=1, random_state=0, **same)

    kept: dict[str, Any] = {}
    makers = {"ours": ours} | ({"gensim": gensim} if find_spec("gensim") else {})
    best = interleave({name: learning(make, kept, name) for name, make in makers.items()}, rounds=1 if quick else 2)
    mine, note = held.ours(kept["ours"]), MISSING
    if "gensim" in kept:
        note = f"perplexity {mine:,.0f} | {held.gensim(kept['gensim']):,.0f}, topics above 0.01: {kept['ours'].n_topics_}"
    peer = D / best["gensim"].seconds if "gensim" in best else None
    return [Row("HDP, one pass", D / best["ours"].seconds, "ex/s", "HdpModel", peer, FASTER if peer else None, note=note)]


def defaults(documents: Documents, held: Held, quick: bool) -> list[Row]:
    """Say how well our defaults do after one pass, and after three."""
    X, rows = matrix(documents), []
    for work, make, most in (
        (f"LDA with our defaults, K = {K}", lambda seed: nr.OnlineLDA(K=K, seed=seed), MOST),
        ("HDP with our defaults", lambda seed: nr.OnlineHDP(seed=seed), MOST_HDP),
    ):
        models = [make(seed).fit(X) for seed in range(3)]
        once = [held.ours(m) for m in models]
        thrice = [held.ours(m.partial_fit(X).finish().partial_fit(X).finish()) for m in models]
        note = f"seeds {', '.join(f'{p:,.0f}' for p in once)}; after three passes {', '.join(f'{p:,.0f}' for p in thrice)}"
        rows.append(Row(work, max(once), "perplexity", at_most=None if quick else most, note=note))
    return rows


def run(quick: bool) -> list[Row]:
    """Compare everything."""
    documents = corpus()
    held = Held([x for i, x in enumerate(documents) if i % 10 == 9])
    documents = [x for i, x in enumerate(documents) if i % 10 != 9][: 512 if quick else None]
    with threadpool_limits(1):
        return [row for part in (lda, hdp, defaults) for row in part(documents, held, quick)]
