"""Kernels on strings and trees (G.10): functions of two objects, for `kernel=` on any first-order learner. They are interpreted.

Support vectors are the objects themselves. Values of an object with itself are remembered, as normalising asks for them again and
again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..algorithm.params import Range

KEPT = 1 << 14  # objects whose value with themselves, or whose nodes, are remembered
SHARE = Range(0.0, 1.0, "(]")


class StringSubsequence(NamedTuple):
    """Common subsequences of n symbols, gaps allowed: each counts lambda_ to the power of the span it takes in both strings.

    A string is any sequence: text, a tuple of words. `normalize` divides by sqrt(K(s, s) K(t, t)); strings shorter than n then have
    value 0. O(n |s| |t|) time.

    Lodhi, Saunders, Shawe-Taylor, Cristianini, Watkins (2002), *Text classification using string kernels*, definition 2.

    >>> StringSubsequence(n=2, lambda_=0.5, normalize=False)("cat", "car")
    0.0625
    """

    n: int = 3
    lambda_: float = 0.5
    normalize: bool = True

    def check(self) -> None:
        """Refuse parameters that do not make a kernel."""
        if not (self.n >= 1 and int(self.n) == self.n):
            raise ValueError(f"n of a StringSubsequence must be a whole number of at least 1, got {self.n!r}")
        SHARE.check("lambda_ of a StringSubsequence", self.lambda_)

    def __call__(self, s: Sequence[Any], t: Sequence[Any]) -> float:
        """Return K(s, t)."""
        return normalized(self, s, t) if self.normalize else subsequences(s, t, int(self.n), self.lambda_)


class SubsetTree(NamedTuple):
    """Common fragments of two trees, in which every node has all its children or none: each counts lambda_ to its productions.

    A tree is text in brackets, "(S (NP (D the) (N dog)) (VP (V barks)))", or the same in nested tuples; leaves are words.
    `normalize` divides by sqrt(K(s, s) K(t, t)). Time is proportional to the pairs of nodes with the same production.

    Collins, Duffy (2001), *Convolution kernels for natural language*, section 3.

    >>> k = SubsetTree(lambda_=1.0, normalize=False)
    >>> k("(NP (D the) (N dog))", "(NP (D a) (N dog))")
    3.0
    """

    lambda_: float = 0.4
    normalize: bool = True

    def check(self) -> None:
        """Refuse parameters that do not make a kernel."""
        SHARE.check("lambda_ of a SubsetTree", self.lambda_)

    def __call__(self, s: Any, t: Any) -> float:
        """Return K(s, t)."""
        return normalized(self, s, t) if self.normalize else fragments(nodes(s), nodes(t), self.lambda_)


def normalized(kernel: Any, s: Any, t: Any) -> float:
    """Return K(s, t)/sqrt(K(s, s) K(t, t)), 0 for 0/0."""
    plain = kernel._replace(normalize=False)
    size = alone(plain, s) * alone(plain, t)
    return float(plain(s, t) / math.sqrt(size)) if size > 0.0 else 0.0


def alone(kernel: Any, s: Any) -> float:
    """Return K(s, s), remembered where the object can be a key."""
    try:
        return remembered(kernel, s)
    except TypeError:
        return float(kernel(s, s))


@lru_cache(KEPT)
def remembered(kernel: Any, s: Any) -> float:
    """Return K(s, s)."""
    return float(kernel(s, s))


# ---- strings ---------------------------------------------------------------------------------------------------------
def subsequences(s: Sequence[Any], t: Sequence[Any], n: int, decay: float) -> float:
    """Return K_n(s, t) by the recursion over prefixes: row j of `inner` is K'_i of all of s so far and t[:j]."""
    if min(len(s), len(t)) < n:
        return 0.0
    before = [[1.0] * (len(t) + 1) for _ in range(len(s) + 1)]  # K'_0
    for _ in range(1, n):
        inner = [[0.0] * (len(t) + 1) for _ in range(len(s) + 1)]
        for a, x in enumerate(s):
            ending = 0.0  # K''_i
            for b, u in enumerate(t):
                ending = decay * ending + (decay * decay * before[a][b] if u == x else 0.0)
                inner[a + 1][b + 1] = decay * inner[a][b + 1] + ending
        before = inner
    return decay * decay * sum(before[a][b] for a, x in enumerate(s) for b, u in enumerate(t) if u == x)


# ---- trees -----------------------------------------------------------------------------------------------------------
class Node(NamedTuple):
    """A node that is not a word: its production, and its children among the nodes before it (none if they are words)."""

    production: tuple[Any, ...]
    children: tuple[int, ...]


def nodes(tree: Any) -> tuple[Node, ...]:
    """Return the nodes of a tree, children before parents."""
    try:
        return remembered_nodes(tree)
    except TypeError:  # lists cannot be keys
        return walked(tree)


@lru_cache(KEPT)
def remembered_nodes(tree: Any) -> tuple[Node, ...]:
    """Return the nodes of a tree."""
    return walked(parsed(tree) if isinstance(tree, str) else tree)


def parsed(text: str) -> Any:
    """Return the nested lists of a tree in brackets."""
    stack: list[list[Any]] = [[]]
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            stack.append([])
        elif token == ")" and len(stack) > 1:
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    if len(stack) != 1 or len(stack[0]) != 1 or not isinstance(stack[0][0], list):
        raise ValueError(f"expected a tree in brackets such as '(S (NP I) (VP (V sleep)))', got {text[:80]!r}")
    return stack[0][0]


def walked(tree: Any) -> tuple[Node, ...]:
    """Return the nodes of nested sequences (label, child, ...), with an explicit stack: trees may be deep."""
    found: list[Node] = []
    places: list[list[int]] = [[]]
    todo: list[tuple[Any, bool]] = [(tree, False)]
    while todo:
        node, seen = todo.pop()
        if isinstance(node, str) or not isinstance(node, Sequence) or len(node) < 2:
            raise ValueError(f"expected a tree (label, child, ...), got {node!r}")
        inner = [child for child in node[1:] if not isinstance(child, str)]
        if inner and len(inner) < len(node) - 1:
            raise ValueError(f"a node has children or words, not both: {node!r}")
        if not seen:
            places.append([])
            todo.append((node, True))
            todo += [(child, False) for child in reversed(inner)]
        else:
            children = places.pop()
            labels = tuple(child if isinstance(child, str) else ("node", child[0]) for child in node[1:])
            places[-1].append(len(found))
            found.append(Node((node[0], *labels), tuple(children)))
    return tuple(found)


def fragments(s: tuple[Node, ...], t: tuple[Node, ...], decay: float) -> float:
    """Return the sum of Delta over all pairs of nodes with equal productions; children come before parents in both."""
    alike: dict[tuple[Any, ...], list[int]] = {}
    for j, node in enumerate(t):
        alike.setdefault(node.production, []).append(j)
    delta: dict[tuple[int, int], float] = {}
    for i, node in enumerate(s):
        for j in alike.get(node.production, ()):
            delta[i, j] = decay * math.prod(1.0 + delta.get(pair, 0.0) for pair in zip(node.children, t[j].children, strict=True))
    return math.fsum(delta.values())
