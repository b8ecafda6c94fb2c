"""Learners of topics: documents, a few distributions over words that they are mixtures of, and their proportions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from ..algorithm.rounds import EXAMPLES
from ..algorithm.state import Dims
from ..engine.compiling import compiled
from ..engine.elementary import power
from ..files.json_values import expect
from ..inputs import checking
from ..inputs.checking import Rows
from ..inputs.features import Columns, Features, Hashed, Named, Names, Numbers
from ..learners.columned import named_pieces
from .featured import Featured
from .lda_step import blend, number_words, shrink
from .starting import draw_words
from .without_targets import Unlabelled
from .word_counts import as_counts, check_counts, counts, is_document, sparse

MANY = 10_000  # documents there are at least, where nobody says
AT_ONCE = 256  # documents whose words are looked up together
FADED = 1e-100  # of the scale: below it the scale is put into effect
ROOM = 256  # words of a batch there is room for at first


Table = tuple[np.ndarray, ...]  # what documents need of words, a row for each


class TopicModel(Featured):
    """What a learner of topics holds: Lam = (lambda - eta)/scale by word and topic, and what the documents of a batch add up to.

    Documents are taken as they come, with the topics of the last batch; what their words count for topics waits in `Sum`.
    """

    open_axes = ("waiting",)
    derived: tuple[str, ...] = ("place", "table")

    def sizes(self) -> Dims:
        """Return the sizes of the axes."""
        return {"feature": self.room, "topic": int(self.params.K), "waiting": 0}

    def used_sizes(self) -> Dims:
        """Return the sizes of the axes without spare room."""
        return {**super().used_sizes(), "waiting": int(self.state.used[0])}

    def refresh(self) -> None:
        """Find the words of the batch again."""
        s = self.state
        n = int(s.used[0])
        self.place = np.full(self.dims["feature"], -1)
        self.place[s.words[:n]] = np.arange(n)
        self.table = self.new_table(self.dims["waiting"])
        self.weighed(s.words[:n], 0, self.table)

    def begin(self) -> None:
        """Begin with nothing, or with given topics."""
        super().begin()
        s, start = self.state, self.given["start"]
        s.known[0] = 0 if self.features.grows else self.features.size
        if start is not None:
            found = np.asarray(start, np.float64)
            if found.shape != (self.dims["topic"], self.features.size):
                raise ValueError(
                    f"start must have {self.dims['topic']} rows of {self.features.size} numbers, those of lambda, got shape "
                    f"{found.shape}; it is for arrays, whose columns are known"
                )
            s.Lam[:] = found.T - self.eta
            s.total[:] = s.Lam.sum(0)
            s.begun[0] = 1

    # ---- what a subclass says ------------------------------------------------------------------------------------------
    @property
    def eta(self) -> float:
        """The prior of words."""
        return float(self.params.eta)

    def new_table(self, n: int) -> Table:
        """Return room for what documents need of n words."""
        raise NotImplementedError

    def weighed(self, words: np.ndarray, first: int, table: Table) -> None:
        """Write what documents need of words, from the first one on."""
        raise NotImplementedError

    def infer(
        self, rows: Rows, known: np.ndarray, where: np.ndarray, table: Table, told: bool, learn: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return proportions and bounds of documents, given the place of each of their words in the table."""
        raise NotImplementedError

    def absorb(self, rho: float, weight: float) -> None:
        """Move the topics by what waits; what `Sum` holds is moved already."""
        raise NotImplementedError

    @property
    def first(self) -> tuple[float, float]:
        """The shape and the size of the gamma variables that lambda begins with."""
        raise NotImplementedError

    # ---- learning ------------------------------------------------------------------------------------------------------
    def learn_rows(self, rows: Rows, told: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Learn documents in their places; return proportions and bound of each, from before."""
        rows, s = sparse(rows), self.state
        starts, words, _ = rows.arrays
        known = self.vocabularies(starts, words)
        if not s.begun[0] and isinstance(self.features, Columns):
            self.draw(np.arange(self.features.size))
            s.begun[0] = 1
        full = np.concatenate([[0], np.cumsum(np.diff(starts) > 0)])
        Z, L, a = np.empty((rows.n, self.dims["topic"])), np.empty(rows.n), 0
        while a < rows.n:
            need = max(int(self.params.S) - int(s.held[0]), 1)
            at_once = AT_ONCE if s.begun[0] else 1  # words that begin at random count from their document on
            b = min(int(np.searchsorted(full, full[a] + need)), a + at_once, rows.n)
            part = rows.cut(a, b).packed()
            where = self.join(part.arrays[1])
            Z[a:b], L[a:b] = self.infer(part, known[a:b], where, self.table, told, True)
            s = self.state
            self.tally[EXAMPLES] += b - a
            s.held[0] += full[b] - full[a]
            s.known[0] = known[b - 1]
            if s.held[0] >= self.params.S:
                self.finish()
            a = b
        return Z, L

    def vocabularies(self, starts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return how many words are known once each document has come."""
        before = int(self.state.known[0])
        known = np.full(len(starts) - 1, before)
        if self.features.grows and len(words):
            full = np.flatnonzero(np.diff(starts))
            known[full] = np.maximum.reduceat(words.astype(np.int64), starts[full]) + 1
            known = np.maximum(np.maximum.accumulate(known), before)
        return known

    def join(self, words: np.ndarray) -> np.ndarray:
        """Let words join those of the batch; return the place of each. Those of the first batch begin at random."""
        n = int(self.state.used[0])
        where, joined = np.empty(len(words), np.int64), np.empty(n + len(words), np.int64)
        used = compiled(number_words)(words.astype(np.int64), self.place, joined, n, where)
        if used > self.dims["waiting"]:
            self.resize(waiting=max(ROOM, 1 << (used - 1).bit_length()))
        s, fresh = self.state, joined[n:used]
        s.words[n:used], s.used[0] = fresh, used
        self.place[fresh] = np.arange(n, used)  # which a new size has forgotten
        if not s.begun[0]:
            self.draw(s.words[n : int(s.used[0])])
        self.weighed(s.words[: int(s.used[0])], n, self.table)
        return where

    def draw(self, words: np.ndarray) -> None:
        """Let words begin at random."""
        s, (shape, size) = self.state, self.first
        compiled(draw_words)(s.Lam, s.total, words, self.eta, int(self.given["seed"] or 0), shape, size)

    def finish(self) -> None:
        """Learn what waits, as a short batch."""
        s = self.state
        held, n = int(s.held[0]), int(s.used[0])
        if held == 0:
            return
        s.begun[0] = 1
        s.t[0] += 1
        rho = self.rate
        weight = self.corpus / held
        s.scale[0] *= 1.0 - rho
        if s.scale[0] < FADED:
            compiled(shrink)(s.Lam.reshape(-1), float(s.scale[0]))
            s.scale[0] = 1.0
        compiled(blend)(s.Lam, s.total, s.words, s.Sum, n, rho * weight / float(s.scale[0]), rho, weight)
        self.place[s.words[:n]] = -1
        s.words[:n] = 0
        s.used[0] = 0
        self.absorb(rho, weight)
        s.held[0] = 0

    @property
    def rate(self) -> float:
        """The step size of the batch that is counted last."""
        p = self.params
        return float(power(p.tau0 + float(self.state.t[0]), -p.kappa)) if p.tau0 + self.state.t[0] > 1.0 else 1.0

    @property
    def corpus(self) -> float:
        """How many documents there are."""
        return float(self.params.D) or float(max(int(self.tally[EXAMPLES]), MANY))

    @property
    def n_pending(self) -> int:
        """Documents that wait."""
        return int(self.state.held[0])

    # ---- answers -------------------------------------------------------------------------------------------------------
    def answer(self, rows: Rows, told: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return proportions and bounds of documents in their places; nothing changes, in any number of threads."""
        rows = sparse(rows)
        Z, L = np.empty((rows.n, self.dims["topic"])), np.empty(rows.n)
        for a in range(0, rows.n, AT_ONCE):
            part = rows.cut(a, min(a + AT_ONCE, rows.n)).packed()
            words, where = np.unique(part.arrays[1].astype(np.int64), return_inverse=True)
            known = np.full(part.n, int(self.state.known[0]))
            table = self.new_table(len(words))
            self.weighed(words, 0, table)
            Z[a : a + part.n], L[a : a + part.n] = self.infer(part, known, where, table, told, False)
        return Z, L

    def chances(self, Z: np.ndarray, rows: Rows) -> np.ndarray:
        """Return the probability of each word of documents, given their proportions; rows are sparse."""
        s = self.state
        starts, words, _ = rows.arrays
        beta = (self.eta + s.scale[0] * s.Lam[words]) / (s.total + self.eta * s.known[0])
        found: np.ndarray = (beta * np.repeat(Z, np.diff(starts), 0)).sum(1)
        return found

    def lam(self) -> np.ndarray:
        """Return lambda, a row for each topic."""
        s = self.state
        return np.ascontiguousarray(self.eta + s.scale[0] * s.Lam[: self.features.size].T)

    # ---- words ---------------------------------------------------------------------------------------------------------
    def forget_words(self, keep: int) -> None:
        """Drop the words with the least mass, that of the batch included, until so many are left."""
        f, s = self.features, self.state
        if not isinstance(f, Names):
            raise TypeError(f"words can be forgotten where they are names; these are {f.kind}")
        n, size = int(s.used[0]), f.size
        mass = s.scale[0] * s.Lam[:size].sum(1)
        p = self.params
        coming = (self.corpus / max(int(s.held[0]), 1)) * float(power(p.tau0 + float(s.t[0] + 1), -p.kappa))
        mass[s.words[:n]] += coming * s.Sum[:n].sum(1)
        kept = np.sort(np.argsort(-mass, kind="stable")[:keep])
        if len(kept) == size:
            return
        new = np.full(size, -1)
        new[kept] = np.arange(len(kept))
        gone = np.setdiff1d(np.arange(size), kept)
        s.total[:] -= s.scale[0] * s.Lam[gone].sum(0)
        names = f.names
        self.features = Names(False)
        self.features.row({names[w]: 0.0 for w in kept.tolist()}, True)
        s.Lam[: len(kept)] = s.Lam[kept]
        s.Lam[len(kept) :] = 0.0
        stays = np.flatnonzero(new[s.words[:n]] >= 0)
        words, Sum = new[s.words[stays]], s.Sum[stays]
        s.words[:n], s.Sum[:n] = 0, 0.0
        s.words[: len(stays)], s.Sum[: len(stays)], s.used[0] = words, Sum, len(stays)
        s.known[0] = len(kept)
        self.resize(feature=self.room)
        self.refresh()

    def check(self) -> None:
        """Refuse counts that the arrays of a file have no room for."""
        s, n = self.state, int(self.state.used[0])
        expect(n == self.dims["waiting"], "as many words as wait", n)
        words = s.words[:n]
        expect(bool(((words >= 0) & (words < self.features.size)).all()) and len({*words.tolist()}) == n, "different words", words)
        expect(int(s.known[0]) <= self.features.size, "no more words than features", s.known)
        least = self.eta + float(s.scale[0]) * float(s.Lam.min(initial=0.0))
        expect(self.eta > 0.0 and least > -1e-9 and float(s.scale[0]) > 0.0, "a positive lambda", least)
        expect((n == 0 or int(s.held[0]) > 0) and bool((s.Sum[:n] >= 0.0).all()), "counts of documents that wait", s.held)


class Topics(Unlabelled):
    """The methods of every learner of topics. Documents are learned in order; the split into calls does not matter.

    A document is a dict of counts, a list of words, a text, or a row of an array or sparse matrix. Words by name may come at any
    time; arrays fix their number at the first call. The cost of a document is minus its bound.
    """

    task: ClassVar[Any] = "topics"
    made_of = "topics"
    options: ClassVar[dict[str, Any]] = {"start": None, "seed": 0, **Unlabelled.options}
    fixed: ClassVar[tuple[str, ...]] = ("K", "eta", "start", "seed", "hash_bits")
    no_merge = "the topics of two models do not correspond"

    @property
    def outputs(self) -> int:
        """Topics."""
        return int(self.K)

    def check_settings(self) -> None:
        """Refuse settings that do not go together."""
        super().check_settings()
        if self.start is not None:
            found = np.asarray(self.start, np.float64)
            if found.ndim != 2 or not (np.isfinite(found).all() and (found > 0.0).all()):
                raise ValueError(f"start must be an array of positive numbers, a row for each topic, got {self.start!r:.60}")

    # ---- documents -----------------------------------------------------------------------------------------------------
    def given(self, X: Any) -> Any:
        """Return documents as dicts of counts, or as arrays."""
        return as_counts(X)

    def learnable(self, read: Rows | Named, m: Any) -> None:
        """Refuse what cannot be counts; nothing changes."""
        check_counts(read)

    def pieces(self, m: Any, rows: Rows | Named) -> Iterator[Rows]:
        """Yield checked documents in the places of a model, which new words join."""
        if isinstance(rows, Named):
            yield from named_pieces(m, rows, None, False)
            return
        rows = sparse(rows)
        top = int(rows.arrays[1].max()) + 1 if len(rows.arrays[1]) else 0
        placed = m.features.rows(rows._replace(width=top) if m.features.grows else rows, True)
        m.widen()
        yield placed

    def learn_one(self, x: Any) -> np.ndarray:
        """Learn one document; return its proportions from before."""
        X = [counts(x)] if is_document(x) else checking.one_row(x).arrays[0]
        return self._learned(X, True)[0][0][0]

    def learn_many(self, X: Any) -> np.ndarray:
        """Learn documents in order; return the bound of each on its log likelihood, from before."""
        return -super().learn_many(X)

    def taught(self, m: Any, rows: Rows | Named, told: bool = True) -> tuple[list[np.ndarray], np.ndarray]:
        """Let a model learn checked documents; return their proportions, in pieces, and costs from before."""
        Z, L = super().taught(m, rows, told)
        return Z, -L

    def answered_rows(self, rows: Rows, features: Features | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return proportions and costs of checked documents of a source; nothing is learned."""
        Z, L = super().answered_rows(rows, features)
        return Z, -L

    def forget_words(self, keep: int) -> Self:
        """Drop the words with the least mass, until `keep` are left: for streams whose words never end."""
        if not (isinstance(keep, (int, np.integer)) and keep >= 1):
            raise ValueError(f"keep must be a whole number of at least 1, got {keep!r}")
        self.model.forget_words(int(keep))
        return self

    # ---- answers -------------------------------------------------------------------------------------------------------
    def bounds(self, X: Any) -> np.ndarray:
        """Return the bound of each document on its log likelihood; words never learned from are left out."""
        found: np.ndarray = self.model.answer(self._documents(X))[1]
        return found

    def perplexity(self, X: Any) -> float:
        """Return exp(-sum of the bounds of documents/number of their words); words never learned from are left out."""
        rows = self._documents(X)
        tokens = float(rows.packed().arrays[-1].sum())
        return math.exp(-float(self.model.answer(rows)[1].sum()) / tokens) if tokens else math.nan

    def completion(self, observed: Any, scored: Any) -> float:
        """Return the perplexity of words of documents, given other words of the same documents.

        Proportions are those of `observed`; a word of `scored` has the probability sum_k theta_k lambda_kw/sum_w lambda_kw. Words
        never learned from are left out.
        """
        total, tokens = self.completed(self._documents(observed), self._documents(scored))
        return math.exp(-total / tokens) if tokens else math.nan

    def completed(self, observed: Rows, scored: Rows) -> tuple[float, float]:
        """Return the log likelihood of words given others, and their number; documents are in their places."""
        if observed.n != scored.n:
            raise ValueError(f"expected the same documents twice, got {observed.n} observed and {scored.n} scored")
        scored = sparse(scored)
        p = self.model.chances(self.model.answer(observed, told=False)[0], scored)
        return float((scored.arrays[2] * np.log(p)).sum()), float(scored.arrays[2].sum())

    def similar(self, x: Any, X: Any) -> np.ndarray:
        """Return how alike the proportions of one document and of others are: sum_k sqrt(theta_k theta'_k), from 0 to 1."""
        one = self.transform([x] if is_document(x) else np.reshape(x, (1, -1)))
        return np.asarray(np.sqrt(self.transform(X) * one).sum(1))

    def _documents(self, X: Any) -> Rows:
        """Return documents in the places of the model."""
        rows = self.placed(X)
        check_counts(rows)
        return rows

    def transform(self, X: Any) -> np.ndarray:
        """Return the proportions of topics of documents, a row each; nothing is learned."""
        found: np.ndarray = self.model.answer(self._documents(X), told=False)[0]
        return found

    # ---- reading back --------------------------------------------------------------------------------------------------
    @property
    def components_(self) -> np.ndarray:
        """lambda: how often each topic has each word, priors included; a row for each topic."""
        found: np.ndarray = self.model.lam()
        return found

    @property
    def topic_word_(self) -> np.ndarray:
        """The probability of each word in each topic."""
        lam = self.components_
        return lam / lam.sum(1, keepdims=True)

    @property
    def eta_(self) -> float:
        """The prior of words."""
        return float(self.model.eta)

    def topic(self, k: int, n: int = 10) -> list[tuple[Any, float]]:
        """Return the n likeliest words of a topic, with their probabilities."""
        p = self.topic_word_[k]
        order = np.argsort(-p, kind="stable")[:n].tolist()
        return list(zip(self.words_at(order), p[order].tolist(), strict=True))

    def topics(self, n: int = 10) -> list[list[Any]]:
        """Return the n likeliest words of each topic."""
        return [self.words_at(np.argsort(-p, kind="stable")[:n].tolist()) for p in self.topic_word_]

    def words_at(self, places: Sequence[int]) -> list[Any]:
        """Return the names of words, or their numbers where they have none; hashed ones that nobody remembers are #number."""
        f = self.model.features
        if isinstance(f, Hashed):
            known: dict[int, Any] = {}
            for name, at in f.table.items():
                known.setdefault(at, name)
            return [known.get(w, f"#{w}") for w in places]
        titles = f.titles.feature_names if isinstance(f, Numbers) and f.titles is not None else f.names
        return list(places) if titles is None else [titles[w] for w in places]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names for the columns of `transform`: the name of the class with a number."""
        return np.array([f"{type(self).__name__.lower()}{k}" for k in range(self.outputs)], object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
