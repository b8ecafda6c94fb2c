"""Aggregated Mondrian forests written out plainly: one object a node, dicts for boxes, the functions of `math`, no speed."""

from __future__ import annotations

import math

from noregret.inputs.hashing import hash_name

MASK = 0xFFFFFFFF


def draw(seed, t, tree, depth, key, what):
    """Two numbers of Philox4x32-10 in (0, 1)."""
    c = [t & MASK, (tree << 20) + depth, key, what + 256 * (t >> 32)]
    k = [seed & MASK, (seed >> 32) & MASK]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & MASK, (p >> 32) ^ c[3] ^ k[1], p & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return tuple((a * 2**20 + b // 2**12 + 0.5) / 2**52 for a, b in (c[:2], c[2:]))


class Node:
    """A leaf of one row."""

    def __init__(self, x, parent=None):
        self.tau, self.feature, self.cut, self.left, self.right, self.parent = math.inf, None, None, None, None, parent
        self.lo, self.hi = dict(x), dict(x)
        self.counts, self.n, self.mean, self.M2 = {}, 0.0, 0.0, 0.0
        self.L, self.lnW = 0.0, 0.0

    def low(self, j):
        return self.lo.get(j, 0.0)

    def high(self, j):
        return self.hi.get(j, 0.0)

    def copy(self):
        other = Node({})
        other.__dict__.update(self.__dict__, lo=dict(self.lo), hi=dict(self.hi), counts=dict(self.counts))
        return other


class Forest:
    """The whole method, for labels or for targets. Rows are dicts; labels any values."""

    def __init__(self, real=False, trees=10, seed=0, classes=(), **given):
        self.real, self.seed, self.labels = real, seed, list(classes)
        self.trees = [[] for _ in range(trees)]
        self.t, self.Q, self.C, self.q = 0, 0.0, 0.0, 0.0
        self.step, self.alpha, self.noise, self.fading = 1.0, None, None, 1.0
        self.split_pure, self.scale, self.max_features, self.max_nodes, self.max_bytes = False, True, None, None, 2**30
        self.__dict__.update(given)
        self.columns, self.a, self.b = [], {}, {}
        self.losses, self.gaps = [0.0] * trees, [0.0] * trees

    # ---- nodes -------------------------------------------------------------------------------------------------------
    @property
    def K(self):
        return max(len(self.labels), 2)

    @property
    def eta(self):
        q = self.noise or self.q
        return self.step if not self.real else self.step / q if q else 0.0

    def p(self, v, label):
        alpha = self.alpha or 1.0 / self.K
        return (v.counts.get(label, 0.0) + alpha) / (v.n + alpha * self.K)

    def loss(self, v, y):
        return 0.5 * (v.mean - y) ** 2 if self.real else -math.log(self.p(v, y))

    def count(self, v, y, w):
        v.n += w
        if self.real:
            r = y - v.mean
            v.mean += r * (w / v.n)
            v.M2 += w * r * (y - v.mean)
        else:
            v.counts[y] = v.counts.get(y, 0.0) + w

    def weigh(self, v):
        v.lnW = -self.eta * v.L
        if v.left is not None:
            a, b = v.lnW, v.left.lnW + v.right.lnW
            v.lnW = max(a, b) + math.log1p(math.exp(-abs(a - b))) - math.log(2.0)

    # ---- answers -----------------------------------------------------------------------------------------------------
    def path(self, v, x):
        """The nodes that a row passes from v on, each with its share of the answer."""
        rest = 1.0
        while v.left is not None:
            share = min(0.5 * math.exp(-self.eta * v.L - v.lnW), 1.0)
            yield v, rest * share
            rest *= 1.0 - share
            v = v.left if x.get(v.feature, 0.0) <= v.cut else v.right
        yield v, rest

    def answer_of(self, nodes, x):
        if self.real:
            return sum(share * v.mean for v, share in self.path(nodes[0], x)) if nodes else 0.0
        if not nodes:
            return dict.fromkeys(self.labels, 1.0 / self.K)
        found = list(self.path(nodes[0], x))
        return {k: sum(share * self.p(v, k) for v, share in found) for k in self.labels}

    def answer(self, x):
        told = [self.answer_of(nodes, x) for nodes in self.trees]
        if self.real:
            return sum(told) / len(told)
        return {k: sum(f[k] for f in told) / len(told) for k in self.labels}

    def spread(self, x):
        moments = [
            sum(share * ((v.M2 + (self.noise or self.q)) / (v.n + 1.0) + v.mean**2) for v, share in self.path(nodes[0], x))
            for nodes in self.trees
        ]
        return math.sqrt(max(sum(moments) / len(moments) - self.answer(x) ** 2, 0.0))

    # ---- learning ----------------------------------------------------------------------------------------------------
    def learn(self, x, y, w=1.0):
        f, told = self.answer(x), [self.answer_of(nodes, x) for nodes in self.trees]
        if w == 0.0:
            return f
        self.t += 1
        if self.t > 1:
            for m, one in enumerate(told):
                self.losses[m] += 0.5 * (one - y) ** 2 if self.real else -math.log(one[y]) if y in one else math.inf
        if not self.real and y not in self.labels:
            self.labels.append(y)
        for j, v in x.items():
            if j not in self.a:
                self.columns.append(j)
                self.a[j] = self.b[j] = v if self.t == 1 else 0.0
        for j in self.columns:
            self.a[j], self.b[j] = min(self.a[j], x.get(j, 0.0)), max(self.b[j], x.get(j, 0.0))
        if self.real and self.t > 1 and not self.noise:
            self.Q, self.C = self.Q + w * (f - y) ** 2, self.C + w
            s = self.Q / self.C
            if s > 2 * self.q or s < self.q / 2:
                self.q = s
                for nodes in self.trees:
                    for v in self.children_first(nodes[0]):
                        self.weigh(v)
        for m, nodes in enumerate(self.trees):
            self.enter(m, nodes, x, y, w)
        return f

    def children_first(self, v):
        found, todo = [], [v]
        while todo:
            v = todo.pop()
            found.append(v)
            todo += [] if v.left is None else [v.left, v.right]
        return found[::-1]

    def room(self, nodes):
        each = 56 + 16 * len(self.columns) + 8 * (2 if self.real else self.K)
        most = self.max_bytes // (len(self.trees) * each)
        return len(nodes) + 2 <= min(most, self.max_nodes or most)

    def looked_at(self, m):
        if self.max_features is None:
            return self.columns
        return sorted(self.columns, key=lambda j: (draw(self.seed, 0, m, 0, hash_name(j), 6)[0], hash_name(j)))[: self.max_features]

    def rates(self, m, v, x):
        found = {}
        for j in self.looked_at(m):
            width = self.b[j] - self.a[j] if self.scale else 1.0
            out = max(v.low(j) - x.get(j, 0.0), x.get(j, 0.0) - v.high(j), 0.0)
            if width > 0.0 and out > 0.0:
                found[j] = out / width
        return found

    def enter(self, m, nodes, x, y, w):
        if not nodes:
            nodes.append(Node(x))
            self.count(nodes[0], y, w)
            return
        v, birth, depth, room = nodes[0], 0.0, 0, self.room(nodes)
        while True:
            rates = self.rates(m, v, x)
            s, cut, gained = sum(rates.values()), False, 0.0
            pure = not self.real and not self.split_pure and v.counts.get(y, 0.0) == v.n
            if s > 0.0 and room and not pure:
                u, place = draw(self.seed, self.t, m, depth, 0, 4)
                T = birth - math.log(u) / s
                cut = v.tau > T
                if cut:
                    powers = [(-self.eta * self.loss(z, y), share) for z, share in self.path(v, x) if share > 0.0]
                    top = max(powers)[0]
                    gained = v.lnW + top + math.log(sum(share * math.exp(power - top) for power, share in powers))
                    self.cut(m, nodes, v, depth, x, y, w, T, place, rates)
            if s > 0.0:
                for j in self.columns:
                    v.lo[j], v.hi[j] = min(v.low(j), x.get(j, 0.0)), max(v.high(j), x.get(j, 0.0))
            v.n, v.M2 = self.fading * v.n, self.fading * v.M2
            v.counts = {k: self.fading * c for k, c in v.counts.items()}
            v.L += w * self.loss(v, y)
            self.count(v, y, w)
            if cut:
                self.weigh(v)
                self.gaps[m] += max(0.0, v.lnW - gained)
            if cut or v.left is None:
                break
            birth, depth = v.tau, depth + 1
            v = v.left if x.get(v.feature, 0.0) <= v.cut else v.right
        while v is not None:
            self.weigh(v)
            v = v.parent

    def cut(self, m, nodes, v, depth, x, y, w, T, place, rates):
        race = {j: -math.log(draw(self.seed, self.t, m, depth, hash_name(j), 5)[0]) / r for j, r in rates.items()}
        j = min(race, key=lambda j: (race[j], hash_name(j)))
        at, right = x.get(j, 0.0), x.get(j, 0.0) > v.high(j)
        a, b = (v.high(j), at) if right else (at, v.low(j))
        cut = a + place * (b - a)
        old, fresh = v.copy(), Node(x, v)
        old.parent = v
        for below in (old.left, old.right):
            if below is not None:
                below.parent = old
        self.count(fresh, y, w)
        nodes += [old, fresh]
        v.tau, v.feature, v.cut = T, j, a if cut >= b else cut
        v.left, v.right = (old, fresh) if right else (fresh, old)

    # ---- the guarantee -----------------------------------------------------------------------------------------------
    def best(self, v):
        """The least loss of a pruning and its price, by the recursion."""
        if v.left is None:
            return v.L
        return math.log(2.0) / self.eta + min(v.L, self.best(v.left) + self.best(v.right))

    def prunings(self, v):
        """Every pruning of a subtree, as (nodes that are no leaves of the whole tree, total loss)."""
        if v.left is None:
            return [(0, v.L)]
        below = [(a + c, b + d) for a, b in self.prunings(v.left) for c, d in self.prunings(v.right)]
        return [(1, v.L), *((c + 1, L) for c, L in below)]
