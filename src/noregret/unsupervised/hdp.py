"""The online hierarchical Dirichlet process: topics whose number is found."""

from __future__ import annotations

import copy
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.params import Choice, NonNegative, Positive, Range, Switch, Times
from ..algorithm.rounds import EXAMPLES
from ..algorithm.state import Count, Slot
from ..engine.compiling import compiled
from ..engine.elementary import over
from ..engine.special import psi
from ..files.json_values import expect
from ..inputs.checking import Rows
from ..inputs.features import Columns
from .hdp_step import LANES, expect_words, infer_with_sticks
from .lda import Batch, Corpus, HowMany, Multiplier, OnlineLDA, PerTopic, Places, Words
from .lda_step import BLOCK
from .topics import MANY, Table, TopicModel, Topics

SEEN = 0.01  # of the expected weight: topics above it are counted


def up_to(by: int, n: int) -> int:
    """Return the least multiple of `by` that is at least n."""
    return by * -(-n // by)


class ByWords(NamedTuple):
    """zeta begins with the topics that the words of the document are likeliest in."""


class Uniform(NamedTuple):
    """zeta begins alike for all sticks, as the authors' program does."""


class State(NamedTuple):
    """Topics, how often sticks of documents point to them, and what documents that wait add up to."""

    Lam: Words  # (lambda - eta)/scale
    scale: Multiplier
    total: PerTopic  # sums of lambda - eta
    m: PerTopic  # expected number of sticks that point to each topic
    order: Annotated[Any, Slot(("topic",), dtype=np.int64)]  # of the topics on the stick of the corpus
    known: Count  # words
    begun: Count  # whether topics have begun; before, words that come begin at random
    t: Count  # batches
    held: Count  # documents that wait
    used: Count  # their words
    words: Places
    Sum: Batch  # how often each topic has each of them
    uses: PerTopic  # how many of their sticks point to each topic


class HDP(TopicModel):
    """What an `OnlineHDP` holds."""

    State = State
    derived = (*TopicModel.derived, "sigma", "mean")

    def begin(self) -> None:
        """Begin with no sticks, and with nothing or given topics."""
        self.state.order[:] = np.arange(self.dims["topic"])
        super().begin()

    def refresh(self) -> None:
        """Derive the expected weights too."""
        super().refresh()
        self.weigh_sticks()

    @property
    def first(self) -> tuple[float, float]:
        """Exponential variables of mean 100 D/(K V); V is taken for at least 10,000 where words still come."""
        V = self.features.size if isinstance(self.features, Columns) else max(MANY, int(self.state.known[0]))
        return 1.0, 100.0 * (float(self.params.D) or MANY) / (self.dims["topic"] * V)

    def sticks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return u and v of the stick of the corpus, in its order; before the first batch all weights are alike."""
        s, K = self.state, self.dims["topic"]
        if s.t[0] == 0 and self.given["start"] is None:
            return np.ones(K - 1), np.arange(K - 1.0, 0.0, -1.0)
        m = s.m[s.order]
        return 1.0 + m[:-1], float(self.params.gamma) + np.cumsum(m[::-1])[::-1][1:]

    def weigh_sticks(self) -> None:
        """Derive E[ln sigma] and E[sigma] by topic."""
        u, v = self.sticks()
        both, order = over(psi, u + v), self.state.order
        self.sigma, self.mean = np.empty(len(order)), np.empty(len(order))
        self.sigma[order] = np.append(over(psi, u) - both, 0.0) + np.append(0.0, np.cumsum(over(psi, v) - both))
        self.mean[order] = np.append(u / (u + v), 1.0) * np.append(1.0, np.cumprod(v / (u + v)))

    # ---- documents -----------------------------------------------------------------------------------------------------
    def new_table(self, n: int) -> Table:
        """Return room for psi(lambda) of n words and its exponential."""
        wide = up_to(LANES, self.dims["topic"])
        return np.empty((n, wide)), np.empty((n, wide))

    def weighed(self, words: np.ndarray, first: int, table: Table) -> None:
        """Write psi(lambda) of words and its exponential, from the first one on."""
        s = self.state
        compiled(expect_words)(s.Lam, float(s.scale[0]), self.eta, words, first, *table)

    def infer(
        self, rows: Rows, known: np.ndarray, where: np.ndarray, table: Table, told: bool, learn: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return proportions and bounds of documents."""
        s, p, K, T = self.state, self.params, self.dims["topic"], int(self.params.T)
        starts, _, data = rows.arrays
        n, wide, side = (up_to(LANES, size) for size in (int(np.diff(starts).max(initial=1)), K, T - 1))
        G, L = np.empty((rows.n, K)), np.empty(rows.n)
        sigma = np.append(self.sigma, np.zeros(wide - K))
        how = (sigma, self.mean, T, float(p.alpha0), isinstance(p.zeta, ByWords), int(p.iterations), float(p.tolerance))
        into = (s.Sum, s.uses) if learn else (np.empty((0, K)), np.empty(K))
        words = (np.zeros((up_to(BLOCK, K), n)), np.empty((n, wide)), np.empty(n))
        high = up_to(BLOCK, T)
        shares = (np.zeros((high, n)), np.zeros((high, wide)), np.empty((high, wide)))
        sticks = (np.ones((3, side)), np.empty((3, side)), np.empty((3, side)), np.empty(T), np.empty(T, np.int64))
        sums = (np.ones(T), np.empty((2, T)))
        scratch = (np.zeros(wide), np.zeros(wide), np.zeros(T), np.empty(n), np.empty(n))
        compiled(infer_with_sticks)(
            starts, where, data, known, *table, s.total, self.eta, *how, G, L, *into, *words, *shares, *sticks, *sums, *scratch
        )  # fmt: skip
        return G, L

    def absorb(self, rho: float, weight: float) -> None:
        """Move the sticks of the corpus, and put its topics in the order of their size."""
        s = self.state
        s.m[:] = (1.0 - rho) * s.m + rho * weight * s.uses
        s.uses[:] = 0.0
        if self.params.sort:
            s.order[:] = np.argsort(-s.total, kind="stable")
        self.weigh_sticks()

    def check(self) -> None:
        """Refuse an order that is none."""
        super().check()
        s = self.state
        expect(sorted(s.order.tolist()) == list(range(len(s.order))), "an order of topics", s.order)
        expect(bool((s.m >= 0.0).all()), "sticks", s.m)


class Params(NamedTuple):
    """OnlineHDP."""

    K: HowMany = 60
    T: HowMany = 10
    alpha0: Positive = 1.0
    gamma: Positive = 1.0
    eta: Positive = 0.5
    kappa: Annotated[float, Range(0.5, 1.0, "[]")] = 0.5
    tau0: NonNegative = 1.0
    S: Times = 64
    D: Corpus = None
    zeta: Annotated[Any, Choice({"words": ByWords, "uniform": Uniform})] = "words"
    iterations: Times = 100
    tolerance: NonNegative = 1e-3
    sort: Switch = True

    def check(self) -> None:
        """Refuse sticks without topics."""
        if not 2 <= self.T <= self.K:
            raise ValueError(f"T must be from 2 to K={int(self.K)}: sticks of a document point to topics; got {int(self.T)}")


class OnlineHDP(Topics):
    """A hierarchical Dirichlet process over topics: as many as the documents ask for, at most K, of which a document uses T.

    The corpus breaks a stick: sigma_k = V_k prod_{l<k} (1 - V_l), V_k ~ Beta(1, gamma); a document breaks one of T pieces with
    Beta(1, alpha0), and each piece points to a topic. For each document, until its bound grows by less than `tolerance`:
    phi_tk ~ exp(sum_n c_n zeta_nt E[ln beta_kw] + E[ln sigma_k]), zeta_nt ~ exp(sum_k phi_tk E[ln beta_kw] + E[ln pi_t]), and
    q(pi_t) = Beta(1 + sum_n c_n zeta_nt, alpha0 + sum_n sum_{s>t} c_n zeta_ns). After S documents lambda and the sticks of the
    corpus move by rho = (tau0 + t)^-kappa, and topics are put in the order of their size on the stick.

    Parameters: `K` topics at most, `T` for a document; `alpha0`, `gamma`, `eta`, the priors; `kappa`, `tau0`, `S`, `D`,
    `iterations`, `tolerance`, `start`, `seed`, `hash_bits` as in `OnlineLDA`; `zeta`, how a document begins: "words", from the T
    topics that its words are likeliest in, or "uniform", as the authors' program; `sort`, whether topics are put in order.

    Read back: as `OnlineLDA`, and `weights_` (E[sigma_k]), `n_topics_` (those above 0.01), `ranking_`, `to_lda()`. Numbers of
    topics stay as they are while topics grow and shrink.

    Pitfalls: the authors' K=300, T=20, eta=0.01 are for very large corpora; on some thousand documents they lose to counts of
    words. With zeta="uniform" all pieces begin alike and often one topic takes nearly everything. A larger D finds more topics.
    Bounds are not those of LDA: compare `completion`.

    Reference: Wang, Paisley, Blei (2011), *Online variational inference for the hierarchical Dirichlet process*, equations 15-26.

    >>> import noregret as nr
    >>> texts = ["goal match team", "vote party law", "team match win", "law vote court", "goal win team", "court party law"]
    >>> m = nr.OnlineHDP(K=10, T=3, eta=0.5, S=3, D=60).fit(texts, epochs=20)
    >>> m.topics(3)[:2], m.weights_[m.ranking_[:2]].round(2).tolist()
    ([['team', 'win', 'goal'], ['law', 'court', 'vote']], [0.38, 0.21])
    """

    name = "online_hdp"
    cite = "wang2011"
    Params: ClassVar[Any] = Params
    model_class: ClassVar[Any] = HDP

    # ---- reading back --------------------------------------------------------------------------------------------------
    @property
    def weights_(self) -> np.ndarray:
        """The expected share of each topic in the corpus, E[sigma_k]."""
        return np.array(self.model.mean)

    @property
    def n_topics_(self) -> int:
        """Topics of an expected share above 0.01."""
        return int((self.model.mean > SEEN).sum())

    @property
    def ranking_(self) -> np.ndarray:
        """The numbers of these topics, largest first."""
        return np.argsort(-self.model.mean, kind="stable")[: self.n_topics_]

    def topics(self, n: int = 10) -> list[list[Any]]:
        """Return the n likeliest words of each topic of an expected share above 0.01, largest first, as `ranking_` has them."""
        p = self.topic_word_
        return [self.words_at(np.argsort(-p[k], kind="stable")[:n].tolist()) for k in self.ranking_.tolist()]

    def to_lda(self) -> OnlineLDA:
        """Return an `OnlineLDA` with these topics and alpha_k = alpha0 E[sigma_k]; documents that wait are learned first."""
        m = self.model.fork()
        m.finish()
        p, given = m.params, {"kappa": float(m.params.kappa)} if m.params.kappa > 0.5 else {}
        alpha = np.maximum(float(p.alpha0) * m.mean, np.finfo(float).tiny)
        found = OnlineLDA(
            K=int(p.K), alpha=alpha, eta=m.eta, tau0=float(p.tau0), S=int(p.S), D=self.D, seed=self.seed,
            hash_bits=self.hash_bits, **given,
        )  # fmt: skip
        new = found.new_model(copy.deepcopy(m.features))
        for name in ("Lam", "scale", "total", "known", "begun", "t"):
            getattr(new.state, name)[:] = getattr(m.state, name)
        new.state.low[0] = min(float(m.state.scale[0]) * float(m.state.Lam.min()), 0.0)
        new.tally[EXAMPLES] = m.tally[EXAMPLES]
        found.model = new
        return found
