"""The loops over rows that call a step: one score, a score for each class, a column of weights for each domain.

A row of weight 0 is answered and changes nothing, counters included.
"""

from __future__ import annotations

from collections.abc import Callable

from ..algorithm.rounds import Priced, UnitCost, asked, count, rival, wrong_class, wrong_sign
from ..learners.drivers import Job, Text, answers_apart
from ..spaces.examples import Block, Every, Pair
from ..spaces.weights import answer, answers, dot, scores, tick

Words = dict[str, str]
Wrap = Callable[[str], str]

PREDICT = """
@jit
def predict({args}{data}out):
    s, p = {S}, {P}
    K = np.uintp(out.shape[1])
    for i in range({n}):
        x = {row}
        {look}f = out[i]
        {answers}
"""
REAL = """
@jit
def learn({args}{data}{c}y, tally, work, out):
    s, p = {S}, {P}
    for i in range({n}):
        x = {row}
        {look}{skip}{before}f, moved = step(s, {example}, y[i], p)
        tick(s.{first})
        out[i, 0] = {said}
        count(tally, {wrong}, moved)
"""
CLASSES = """
@jit
def learn({args}{data}{c}y, tally, work, out):
    s, p, cost = {S}, {P}, {cost}
    K = np.uintp(out.shape[1])
    for i in range({n}):
        x = {row}
        {look}f = out[i]
        {scores}
        {skip}wrong = wrong_class(tally, f, y[i])
        moved = False
        {round}
        tick(s.{first})
        count(tally, wrong, moved)
"""
PAIR = """r = rival(cost, s, p, g[:tally[0]], y[i], Every(x, K))
        if r >= 0 and r != y[i]:
            _, moved = step(s, {pair}, 1.0, p)"""
SHARE = """work[0, :] = 0.0
        moved = share(s, g[:tally[0]], y[i], p, work[0], {whole})"""
EACH = """for k in range(out.shape[1]):
            f[k] = score(s, Block(x, np.uintp(k), K), p)"""
DOMAINS = """
@jit
def learn({args}{data}domain, K, c, y, tally, out):
    s, p = {S}, {P}
    for i in range({n}):
        if domain[i] < 0:
            out[i, 0] = 0.0
            continue
        x = Block({row}, np.uintp(domain[i]), np.uintp(K))
        if c[i] == 0.0:
            out[i, 0] = dot(s.w, x)
            continue
        f, moved = step(s, Weighted(x, c[i]), y[i], p)
        out[i, 0] = f
        count(tally, {wrong}, moved)

@jit
def predict({args}{data}domain, K, out):
    s, p = {S}, {P}
    for i in range({n}):
        out[i, 0] = 0.0
        if domain[i] >= 0:
            out[i, 0] = dot(s.w, Block({row}, np.uintp(domain[i]), np.uintp(K)))
"""


def one_score(job: Job, words: Words, weigh: Wrap, skip: Wrap) -> Words:
    """Fill in the loops of one score."""
    first = words["first"]
    said = "f[0] = score(s, x, p)" if job.score else f"f[0] = answer(s.{first}, x)"
    before, f = (f"said = answer(s.{first}, x)\n        ", "said") if answers_apart(job.state[0]) else ("", "f")
    return {
        "example": weigh("x"),
        "answers": said,
        "before": before,
        "said": f,
        "wrong": f"wrong_sign(tally, {f}, y[i])" if job.labelled else "False",
        "skip": skip("\n            f = out[i]\n            " + said),
    }


def score_per_class(job: Job, words: Words, weigh: Wrap, skip: Wrap) -> Words:
    """Fill in the loops of a score for each class: every round is a Pair, or shared among classes."""
    first = words["first"]
    pair = "Pair(x, np.uintp(y[i]), np.uintp(r), K, asked(cost, y[i], r))"
    whole = weigh("x" if isinstance(job.cost, UnitCost) else "Priced(x, cost)")
    all_scores = f"scores(s.{first}, x, f)\n        g = f"
    if answers_apart(job.state[0]):
        all_scores = f"answers(s.{first}, x, f)\n        g = work[1]\n        scores(s.{first}, x, g)"
    return {
        "round": SHARE.format(whole=whole) if job.share else PAIR.format(pair=weigh(pair)),
        "answers": EACH if job.score else f"answers(s.{first}, x, f)",
        "scores": f"{EACH}\n        g = f" if job.score else all_scores,
        "skip": skip(""),
    }


def column_per_domain(job: Job, words: Words, weigh: Wrap, skip: Wrap) -> Words:
    """Fill in the loops of rows that belong to domains."""
    return {"wrong": "wrong_sign(tally, f, y[i])" if job.labelled else "False"}


ONE_SCORE = Text(REAL + PREDICT, (answer, count, tick, wrong_sign), one_score)
SCORE_PER_CLASS = Text(
    CLASSES + PREDICT, (Block, Every, Pair, Priced, answers, asked, count, rival, scores, tick, wrong_class), score_per_class
)
COLUMN_PER_DOMAIN = Text(DOMAINS, (Block, count, dot, wrong_sign), column_per_domain)
