"""Weights of groups of features that vanish together, and who belongs to which group.

The members of a group form a ring: `home` leads from a feature to that member under which the numbers of the group are kept, `next`
to the next member. Both are distances, so a new feature is a group by itself. Blocks holds the shrinkage of a
group back until one of its features is looked at (FOBOS); Groups makes weights of sums of gradients (dual averaging).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy import ndarray

from ..engine.words import rare, strict, word
from ..inputs.features import Columns, Features, Hashed, Names
from .examples import Block, Pair, item, nnz
from .sparse import FIRST, LONG, shrink, soft, softened
from .weights import PERIOD, add, dot, scores

if TYPE_CHECKING:
    from ..learners.model import Model

ONE = np.uintp(1)


def home_of(w, j):
    """Return the feature under which the group of feature j is kept."""
    return np.uintp(np.int64(j) + w.home[j])


def after(w, j):
    """Return the next member of the group of feature j."""
    return np.uintp(np.int64(j) + w.next[j])


def rings(home: ndarray, next_: ndarray, dims: dict[str, int]) -> bool:
    """Return whether compiled code that follows the members of groups stays inside the arrays and comes back."""
    here = np.arange(dims["feature"])
    homes, nexts = here + home, here + next_
    inside = all(((a >= 0) & (a < len(here))).all() for a in (homes, nexts))
    if not inside or (np.sort(nexts) != here).any() or (homes[nexts] != homes).any() or (home[homes] != 0).any():
        return False
    least, step = here, nexts  # the first member of each ring, over twice as many members at a time
    for _ in range(len(here).bit_length()):
        least, step = np.minimum(least, least[step]), step[step]
    return bool((least == least[homes]).all())


# ---- shrinkage of groups, held back (F.3, F.7) -----------------------------------------------------------------------
class Shorter(NamedTuple):
    """The length of a group's weights: all of them are multiplied by a factor."""


class Lower(NamedTuple):
    """The largest of a group's weights: those beyond a level are cut to it."""


class Blocks(NamedTuple):
    """The weights u of a group are as they were when one was last touched, when shrinkage added up to past; by now it is total.

    A group's weights are those of its features for all classes.
    """

    u: ndarray
    past: ndarray
    total: ndarray
    home: ndarray
    next: ndarray
    rule: Any

    def primal(self) -> ndarray:
        """Return the weights."""
        w = self._replace(u=self.u.copy(), past=self.past.copy())
        rows = self.u.reshape(len(self.past), -1)
        K = np.uintp(rows.shape[1])
        used = np.flatnonzero(rows.any(1))
        for h in np.unique(used + self.home[used]):
            catch_up_block(w, np.uintp(h), K)
        return w.u

    def settle(self) -> None:
        """Let all shrinkage act."""
        self.u[:] = self.primal()
        self.past[:] = 0.0
        self.total[0] = 0.0

    def sound(self, dims: dict[str, int]) -> bool:
        """Return whether groups are rings."""
        return rings(self.home, self.next, dims)


@word
def level(rule, w, h, K):
    """Return the shrink factor or cap of group h."""


@word
def levelled(rule, v, s):
    """Return weight v after shrinkage by s."""


@level.on(Shorter)
@strict
def level_shorter(rule, w, h, K):
    a = w.total[0] - w.past[h]
    if a <= 0.0:
        return 1.0
    q = 0.0
    j = h
    while True:
        for c in range(int(K)):
            v = float(w.u[j * K + np.uintp(c)])
            q += v * v
        j = after(w, j)
        if j == h:
            break
    return max(0.0, 1.0 - a / math.sqrt(q)) if q > 0.0 else 1.0


@levelled.on(Shorter)
def levelled_shorter(rule, v, s):
    return v * s


@level.on(Lower)
@strict
def level_lower(rule, w, h, K):
    a = w.total[0] - w.past[h]
    if a <= 0.0:
        return math.inf
    top, size = -1.0, np.int64(-1)  # Michelot: the level from those above the last one, until there are no fewer
    while True:
        total, count = 0.0, np.int64(0)
        j = h
        while True:
            for c in range(int(K)):
                v = abs(float(w.u[j * K + np.uintp(c)]))
                if v > top:
                    total += v
                    count += 1
            j = after(w, j)
            if j == h:
                break
        if count == 0 or count == size:
            return max(0.0, top)
        if size < 0 and total <= a:
            return 0.0
        top, size = (total - a) / count, count


@levelled.on(Lower)
def levelled_lower(rule, v, s):
    return math.copysign(min(abs(v), s), v)


def catch_up_block(w, h, K):
    """Let all shrinkage act on group h."""
    s = level(w.rule, w, h, K)
    if w.total[0] > w.past[h]:
        j = h
        while True:
            for c in range(int(K)):
                i = j * K + np.uintp(c)
                w.u[i] = levelled(w.rule, float(w.u[i]), s)
            j = after(w, j)
            if j == h:
                break
        w.past[h] = w.total[0]


def by_walk(kind, walk, walk_add):
    """Give a kind `dot` and `add`: walks over an example as class c of K sees it."""

    @dot.on(kind)
    def dot_kind(w, x):
        return walk(w, x, FIRST, ONE)

    @dot.on(kind, Block)
    def dot_kind_block(w, x):
        return walk(w, x.x, x.c, x.K)

    @dot.on(kind, Pair)
    def dot_kind_pair(w, x):
        return walk(w, x.x, x.a, x.K) - walk(w, x.x, x.b, x.K)

    @add.on(kind)
    def add_kind(w, a, x):
        walk_add(w, a, x, FIRST, ONE)

    @add.on(kind, object, Block)
    def add_kind_block(w, a, x):
        walk_add(w, a, x.x, x.c, x.K)

    @add.on(kind, object, Pair)
    def add_kind_pair(w, a, x):
        walk_add(w, a, x.x, x.a, x.K)
        walk_add(w, -a, x.x, x.b, x.K)


@strict
def walk_block(w, x, c, K):
    """Return the score of class c; what is known of a group serves all its features that come in a row."""
    f, last, s = 0.0, np.int64(-1), 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        h = home_of(w, j)
        if np.int64(h) != last:
            s = level(w.rule, w, h, K)
            last = np.int64(h)
        f += levelled(w.rule, float(w.u[j * K + c]), s) * v
    return f


@strict
def walk_block_add(w, a, x, c, K):
    """Do w_c += a x; groups touched are brought up to date."""
    for k in range(nnz(x)):
        j, v = item(x, k)
        catch_up_block(w, home_of(w, j), K)
        w.u[j * K + c] += a * v


by_walk(Blocks, walk_block, walk_block_add)


@strict
def walk_block_scores(w, x, out):
    """Do out[c] += sum_j w_jc x_j for all classes c in one walk."""
    K = np.uintp(out.shape[0])
    last, s = np.int64(-1), 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        h = home_of(w, j)
        if np.int64(h) != last:
            s = level(w.rule, w, h, K)
            last = np.int64(h)
        for c in range(out.shape[0]):
            out[c] += levelled(w.rule, float(w.u[j * K + np.uintp(c)]), s) * v


@scores.on(Blocks)
def scores_blocks(w, x, out):
    out[:] = 0.0
    walk_block_scores(w, x, out)


@shrink.on(Blocks)
def shrink_blocks(w, a):
    w.total[0] += a
    if w.total[0] > LONG:
        catch_up_blocks(w)


@rare
def catch_up_blocks(w):
    """Let all shrinkage act on all groups."""
    K = np.uintp(w.u.shape[0] // w.past.shape[0])
    for j in range(w.past.shape[0]):
        if w.home[j] == 0:
            catch_up_block(w, np.uintp(j), K)
    for j in range(w.past.shape[0]):
        w.past[j] = 0.0
    w.total[0] = 0.0


# ---- sums of gradients of groups (F.6) -------------------------------------------------------------------------------
class Tracked(NamedTuple):
    """The length of a group's sums is kept: every step changes it."""


class Summed(NamedTuple):
    """A threshold that moves comes before the length: it is summed up when a group is looked at."""


class Groups(NamedTuple):
    """With v = soft(G, a) the weights are -c v [1 - lambda t sqrt(size)/|v_g|]_+, class by class; a and c are those of the round.

    a = t lambda r + gamma rho sqrt(t), c = 1/(gamma sqrt(t)), |v_g| the length of the group's part of v; S keeps |G_g|^2.
    """

    G: ndarray
    S: ndarray
    home: ndarray
    next: ndarray
    size: ndarray
    t: ndarray
    now: ndarray
    age: ndarray
    rule: Any
    lambda_: float
    gamma: float
    rho: float
    r: float

    def primal(self) -> ndarray:
        """Return the weights."""
        homes = np.arange(len(self.home)) + self.home
        v = softened(self.G.reshape(len(homes), -1).astype(np.float64), self.now[0])
        n = np.sqrt(group_sums(v, homes))[homes]
        with np.errstate(divide="ignore", invalid="ignore"):
            keep = 1.0 - self.lambda_ * self.t[0] * np.sqrt(self.size[homes])[:, None] / n
        return (-self.now[1] * v * np.where(n > 0.0, np.maximum(0.0, keep), 0.0)).reshape(-1).astype(self.G.dtype)

    def settle(self) -> None:
        """Compute lengths, threshold and factor."""
        homes = np.arange(len(self.home)) + self.home
        self.S[:] = group_sums(self.G.reshape(len(homes), -1).astype(np.float64), homes).reshape(-1)
        self.age[0] = 0
        if self.t[0] > 0.0:
            group_threshold(self)

    def sound(self, dims: dict[str, int]) -> bool:
        """Return whether groups are rings."""
        return rings(self.home, self.next, dims)


def group_sums(v: ndarray, homes: ndarray) -> ndarray:
    """Return the squared length of each group's part of v, a column for each class, in the row of its home."""
    return np.column_stack([np.bincount(homes, column * column, len(homes)) for column in v.T])


def group_threshold(w):
    """Do a = t lambda r + gamma rho sqrt(t) and c = 1/(gamma sqrt(t))."""
    root = math.sqrt(w.t[0])
    w.now[0] = w.t[0] * w.lambda_ * w.r + w.gamma * w.rho * root
    w.now[1] = 1.0 / (w.gamma * root)


@word
def squared(rule, w, h, c, K):
    """Return |v_g|^2 of group h for class c."""


@squared.on(Tracked)
def squared_tracked(rule, w, h, c, K):
    return w.S[h * K + c]


@squared.on(Summed)
@strict
def squared_summed(rule, w, h, c, K):
    q = 0.0
    j = h
    while True:
        v = soft(float(w.G[j * K + c]), w.now[0])
        q += v * v
        j = after(w, j)
        if j == h:
            break
    return q


def kept_share(w, h, c, K):
    """Return [1 - lambda t sqrt(size)/|v_g|]_+."""
    q = squared(w.rule, w, h, c, K)
    return max(0.0, 1.0 - w.lambda_ * w.t[0] * math.sqrt(w.size[h] / q)) if q > 0.0 else 0.0


@strict
def walk_group(w, x, c, K):
    """Return the score of class c; what is known of a group serves all its features that come in a row."""
    f, last, s = 0.0, np.int64(-1), 0.0
    for k in range(nnz(x)):
        j, v = item(x, k)
        h = home_of(w, j)
        if np.int64(h) != last:
            s = kept_share(w, h, c, K)
            last = np.int64(h)
        f += s * soft(float(w.G[j * K + c]), w.now[0]) * v
    return -w.now[1] * f


@strict
def walk_group_add(w, a, x, c, K):
    """Do G_c -= a x."""
    for k in range(nnz(x)):
        j, v = item(x, k)
        h = home_of(w, j) * K + c
        old, g = float(w.G[j * K + c]), -a * v
        w.G[j * K + c] = old + g
        w.S[h] = max(0.0, w.S[h] + g * (2.0 * old + g))
    w.age[0] += 1
    if w.age[0] >= PERIOD:
        measure_groups(w)


@rare
@strict
def measure_groups(w):
    """Compute the lengths of all groups, so that rounding does not add up."""
    K = np.uintp(w.G.shape[0] // w.home.shape[0])
    for i in range(w.S.shape[0]):
        w.S[i] = 0.0
    for j in range(w.home.shape[0]):
        for c in range(int(K)):
            v = float(w.G[np.uintp(j) * K + np.uintp(c)])
            w.S[home_of(w, j) * K + np.uintp(c)] += v * v
    w.age[0] = 0


by_walk(Groups, walk_group, walk_group_add)


@scores.on(Groups)
def scores_groups(w, x, out):
    K = np.uintp(out.shape[0])
    for c in range(out.shape[0]):
        out[c] = walk_group(w, x, np.uintp(c), K)


@shrink.on(Groups)
def shrink_groups(w, a):
    w.t[0] += 1.0
    group_threshold(w)


# ---- who belongs to which group --------------------------------------------------------------------------------------
FORMS = "a group for each column, a list of lists of columns, a dict of groups by name, or 'prefix:_'"


class Known(NamedTuple):
    """The groups by feature, the homes of those met so far, and the sizes of all where they are known beforehand."""

    given: Any
    homes: dict[Any, int]
    sizes: Counter[Any] | None


def arrange(m: Model, first: int) -> None:
    """Put the features from `first` on into the rings of their groups."""
    given, w = m.given["groups"], m.state[0].w
    if given is None:
        return
    if not isinstance(given, Iterable):
        raise TypeError(f"groups must be {FORMS}; got {given!r}")
    if not hasattr(w, "home"):
        raise ValueError(f"groups={given!r:.60} mean nothing here: use regularizer='l1l2' or 'l1linf', or leave groups out")
    known = m.__dict__.get("known")
    if known is None or first == 0:
        given = by_feature(given, m.features)
        labels = None if isinstance(given, str) else given.values() if isinstance(given, Mapping) else list(given)
        known = m.__dict__["known"] = Known(given, {}, None if labels is None else Counter(labels))
    start = first if known.homes else 0  # a model from a file has its rings, but does not know the names of the groups
    for j, label in labelled(known.given, m.features, start):
        h = known.homes.setdefault(label, j)
        if j >= first:
            w.home[j] = h - j
            if h != j:
                w.next[j], w.next[h] = h + w.next[h] - j, j - h
            if hasattr(w, "size"):
                w.size[h] = w.size[h] + float(h != j) if known.sizes is None else float(known.sizes[label])


def by_feature(given: Any, features: Features) -> Any:
    """Return a list of groups, each a list of features, as a dict of groups by feature; any other form as it is."""
    listed = [isinstance(group, (list, np.ndarray)) for group in given]
    if not any(listed):
        return given
    if not all(listed):
        raise ValueError(f"groups must be {FORMS}; got lists beside other things: {given!r:.60}")
    found: dict[Any, int] = {}
    for k, group in enumerate(given):
        for feature in group:
            if found.setdefault(feature, k) != k:
                raise ValueError(f"groups must not overlap, but feature {feature!r} is in two of them: leave it in one")
    if isinstance(features, Columns):
        columns = range(features.width) if features.names is None else features.names
        outside = next((feature for feature in found if feature not in columns), None)
        if outside is not None:
            raise ValueError(
                f"groups has feature {outside!r}, but the {len(columns)} columns are {columns[0]!r} to {columns[-1]!r}"
            )
    return found


def labelled(given: Any, features: Features, start: int) -> Iterator[tuple[int, Any]]:
    """Yield (coordinate, group) of the features from coordinate `start` on that belong to a group."""
    names: Iterable[Any] | None = None
    before = int(features.bias and features.constant == 0)  # whether the constant feature is first, or last
    first, end = max(start, before), features.size - int(features.bias) + before
    if isinstance(features, Names):
        names = list(islice(reversed(features.table), end - first))[::-1]
    elif isinstance(features, Columns) and features.names is not None:
        names = features.names[first:]
    elif getattr(features, "titles", None) is not None:
        names = features.titles.feature_names[first - before : end - before]  # type: ignore[union-attr]
    numbers = range(first - before, end - before)
    if isinstance(given, str):
        rule, _, separator = given.partition(":")
        if rule != "prefix" or not separator:
            raise ValueError(f"groups as text must be 'prefix:' and a separator, such as 'prefix:_'; got {given!r}")
        if names is None:
            raise ValueError(f"groups={given!r} go by names, and the features have none: give a group for each column")
        labels: Iterable[Any] = (str(n).split(separator, 1)[0] if separator in str(n) else None for n in names)
    elif isinstance(given, Mapping):
        if isinstance(features, Hashed):
            raise ValueError("groups by name do not go with hash_bits, which forgets names: leave hash_bits out")
        known = list(numbers if names is None else names)
        if isinstance(features, Columns) and given and not any(n in given for n in known):
            raise ValueError(
                f"groups name none of the {len(known)} columns: expected {known[0]!r} and the like, got {next(iter(given))!r}"
            )
        labels = (given.get(n) for n in known)
    else:
        many, width = len(given), end - before
        if isinstance(features, Names):
            raise ValueError(f"groups has {many} entries, but features go by name: give a dict of groups by name, or 'prefix:_'")
        if isinstance(features, Columns) and many != width:
            raise ValueError(f"groups must have an entry for each of the {width} columns, got {many}; or lists, [[0, 1], [2, 3]]")
        labels = (given[n] if n < many else None for n in numbers)
    for j, label in zip(range(first, end), labels, strict=False):
        if label is not None:
            yield j, label
