"""Online latent Dirichlet allocation."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.params import NonNegative, Optional, Range, Switch, Times, WholeRange
from ..algorithm.state import ONE, Count, Number, Slot
from ..engine.compiling import compiled
from ..engine.elementary import over
from ..engine.special import psi, trigamma
from ..files.json_values import expect
from ..inputs.checking import Rows
from .lda_step import BLOCK, infer_documents, sum_psi, weigh_words
from .topics import Table, TopicModel, Topics

SETTLED = 3  # batches after which priors are learned
SHAPE = 100.0  # of the gamma variables that lambda begins with

Words = Annotated[Any, Slot(("feature", "topic"), dtype=np.float64)]
PerTopic = Annotated[Any, Slot(("topic",), dtype=np.float64)]
Batch = Annotated[Any, Slot(("waiting", "topic"), dtype=np.float64)]
Places = Annotated[Any, Slot(("waiting",), dtype=np.int64)]
Multiplier = Annotated[Any, ONE]
Corpus = Annotated[Any, WholeRange(1.0, math.inf, "[)"), None]
HowMany = Annotated[float, WholeRange(1.0, 1 << 20, "[]")]


class State(NamedTuple):
    """Topics, priors, and what documents that wait add up to."""

    Lam: Words  # (lambda - eta)/scale
    scale: Multiplier
    total: PerTopic  # sums of lambda - eta
    alpha: PerTopic
    eta: Number
    low: Number  # what lambda - eta is at least
    known: Count  # words
    begun: Count  # whether topics have begun; before, words that come begin at random
    t: Count  # batches
    held: Count  # documents that wait
    used: Count  # their words
    words: Places
    Sum: Batch  # how often each topic has each of them
    logs: PerTopic  # sum of E[ln theta]


class LDA(TopicModel):
    """What an `OnlineLDA` holds."""

    State = State

    def begin(self) -> None:
        """Begin with the priors that were given, and with nothing or given topics."""
        s, K = self.state, self.dims["topic"]
        s.alpha[:] = 1.0 / K if self.given["alpha"] is None else self.given["alpha"]
        s.eta[0] = float(self.params.eta) or 1.0 / K
        super().begin()
        s.low[0] = min(float(s.Lam.min(initial=0.0)), 0.0)

    @property
    def eta(self) -> float:
        """The prior of words."""
        return float(self.state.eta[0])

    @property
    def first(self) -> tuple[float, float]:
        """Gamma variables of shape 100 and mean 1."""
        return SHAPE, 1.0

    def draw(self, words: np.ndarray) -> None:
        """Let words begin at random."""
        super().draw(words)
        s = self.state
        s.low[0] = min(float(s.low[0]), float(s.Lam[words].min(initial=0.0)))

    def weighed(self, words: np.ndarray, first: int, table: Table) -> None:
        """Write E and shift of words, from the first one on."""
        s = self.state
        compiled(weigh_words)(s.Lam, float(s.scale[0]), self.eta, words, first, *table)

    def new_table(self, n: int) -> Table:
        """Return room for E and shift of n words."""
        return np.empty((n, self.dims["topic"])), np.empty(n)

    def infer(
        self, rows: Rows, known: np.ndarray, where: np.ndarray, table: Table, told: bool, learn: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return proportions and bounds of documents."""
        s, p, K = self.state, self.params, self.dims["topic"]
        starts, _, data = rows.arrays
        n = int(np.diff(starts).max(initial=0)) + BLOCK
        told = told or bool(learn and p.learn_alpha)
        G, L = np.empty((rows.n, K)), np.zeros(rows.n)
        Sum, logs = (s.Sum, s.logs) if learn else (np.empty((0, K)), np.zeros(K))
        logs = logs if p.learn_alpha else np.zeros(K)
        how = (s.total, self.eta, s.alpha, int(p.iterations), float(p.tolerance), told)
        scratch = (np.empty((n, K)), np.empty(n), np.empty(n), np.empty(K), np.empty(K), np.empty(K))
        compiled(infer_documents)(starts, where, data, known, *table, *how, G, L, Sum, logs, *scratch)
        return G / G.sum(1, keepdims=True), L

    def absorb(self, rho: float, weight: float) -> None:
        """Learn the priors, where that is asked for."""
        s, p = self.state, self.params
        s.low[0] *= 1.0 - rho
        if p.learn_alpha and s.t[0] > SETTLED:
            s.alpha[:] = next_alpha(s.alpha, s.logs / s.held[0], rho)
        s.logs[:] = 0.0
        if p.learn_eta and s.t[0] > SETTLED:
            V, K = int(s.known[0]), self.dims["topic"]
            found = compiled(sum_psi)(s.Lam, float(s.scale[0]), self.eta, V) - V * over(psi, s.total + V * self.eta).sum()
            eta = next_eta(self.eta, K, V, found, rho)
            s.eta[0] = eta if eta + s.low[0] > 0.0 else s.eta[0]

    def check(self) -> None:
        """Refuse priors that are not positive."""
        super().check()
        expect(bool((self.state.alpha > 0.0).all()), "positive priors", self.state.alpha)


def next_alpha(alpha: np.ndarray, mean: np.ndarray, rho: float) -> np.ndarray:
    """Return alpha after a Newton step of size rho, given the mean of E[ln theta] of documents; as it is if it would leave 0."""
    whole = np.array([alpha.sum()])
    g = over(psi, whole) - over(psi, alpha) + mean
    q, z = -over(trigamma, alpha), over(trigamma, whole)[0]
    b = (g / q).sum() / (1.0 / z + (1.0 / q).sum())
    new = alpha - rho * (g - b) / q
    return new if (new > 0.0).all() else alpha


def next_eta(eta: float, K: int, V: int, logs: float, rho: float) -> float:
    """Return eta after a Newton step of size rho, given the sum of E[ln beta]; as it is if it would leave 0."""
    whole, one = (over(f, np.array([V * eta, eta])) for f in (psi, trigamma))
    g = K * V * (whole[0] - whole[1]) + logs
    h = K * (V * V * one[0] - V * one[1])
    new = eta - rho * g / h
    return float(new) if new > 0.0 else eta


class Params(NamedTuple):
    """OnlineLDA."""

    K: HowMany = 20
    eta: Optional = 0.5
    kappa: Annotated[float, Range(0.5, 1.0, "(]")] = 0.7
    tau0: NonNegative = 64.0
    S: Times = 64
    D: Corpus = None
    iterations: Times = 100
    tolerance: NonNegative = 1e-3
    learn_alpha: Switch = False
    learn_eta: Switch = False


class OnlineLDA(Topics):
    """Latent Dirichlet allocation of a stream: documents are mixtures of K topics, topics are distributions over words.

    q(beta_k) = Dirichlet(lambda_k), q(theta_d) = Dirichlet(gamma_d). For each document, until gamma moves by less than
    `tolerance` a topic: phi_kw ~ exp(E[ln theta_k] + E[ln beta_kw]), gamma_k = alpha_k + sum_w c_w phi_kw. After S documents:
    lambda <- (1 - rho) lambda + rho (eta + D/S sum_d c_w phi_kw), rho = (tau0 + t)^-kappa. A batch costs its own words; the others
    fade by a common factor. A new word joins with lambda = eta; those of the first batch, or all columns of an array, begin at
    Gamma(100, 1/100).

    Parameters: `K` topics; `alpha`, the prior of topics, a number or one for each, and `eta`, that of words, where None is 1/K;
    `kappa` and `tau0`, how fast the past is forgotten; `S` documents in a batch; `D` documents in all, by default those seen, and
    at least 10,000; `iterations` and `tolerance` of a document; `learn_alpha`, `learn_eta`, Newton steps on the priors after the
    third batch (eta costs all words); `start`, lambda to begin with, for arrays; `seed`; `hash_bits`, to fold words into 2^bits
    places.

    Read back: `topics(n)`, `topic(k, n)`, `components_` (lambda), `topic_word_`, `alpha_`, `eta_`, `perplexity(docs)`,
    `completion(observed, scored)`, `bounds(docs)`, `similar(doc, docs)`, `n_pending_`.

    Pitfalls: `learn_many` returns bounds from before, `learn_one` proportions from before: both know nothing in the first batch.
    The last documents wait for a batch until `finish()`. 1/K, the eta of other libraries, makes new words dear. Leave out stop
    words first. Perplexities of other libraries are defined otherwise. Topics of two models do not correspond: there is no merge.

    Reference: Hoffman, Blei, Bach (2010), *Online learning for latent Dirichlet allocation*, algorithm 2.

    >>> import noregret as nr
    >>> texts = ["goal match team", "vote party law", "team match win", "law vote court", "goal win team", "court party law"]
    >>> m = nr.OnlineLDA(K=2, S=3, D=60).fit(texts, epochs=20)
    >>> m.topics(3)
    [['team', 'win', 'goal'], ['law', 'court', 'party']]
    >>> m.transform(["team goal", "court law"]).round(2)
    array([[0.83, 0.17],
           [0.17, 0.83]])
    """

    name = "online_lda"
    cite = "hoffman2010"
    Params: ClassVar[Any] = Params
    options: ClassVar[dict[str, Any]] = {"alpha": None, **Topics.options}
    fixed: ClassVar[tuple[str, ...]] = (*Topics.fixed, "alpha")
    model_class: ClassVar[Any] = LDA

    def check_settings(self) -> None:
        """Refuse settings that do not go together."""
        super().check_settings()
        if self.alpha is not None:
            found = np.asarray(self.alpha, np.float64)
            if found.shape not in ((), (int(self.K),)) or not (np.isfinite(found).all() and (found > 0.0).all()):
                raise ValueError(
                    f"alpha must be a positive number, or one for each of {int(self.K)} topics, got {self.alpha!r:.60}"
                )

    @property
    def alpha_(self) -> np.ndarray:
        """The prior of each topic."""
        return np.array(self.model.state.alpha)
