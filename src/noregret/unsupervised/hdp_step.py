"""The compiled steps of the online HDP: which topics the sticks of a document point to, and which sticks its words come from.

Z = c zeta, how often words come from sticks, has a row for each stick, and B = E[ln beta] one for each topic: loops over words
vectorise. Words are a multiple of LANES, those that fill up of count 0: what is left over would be taken one by one.
"""

from __future__ import annotations

import math

from ..engine.elementary import exp, log
from ..engine.special import log_gamma, psi
from ..engine.words import rare, strict
from .lda_step import BLOCK, LEAST, add_four, add_row, add_times, clear, total_of
from .sparse_coding import eight_products

LANES = 16
FAINT = 1e-18  # of phi and zeta: what is less does not change a sum
ALIKE = 3  # iterations that leave out the sticks, as those of the authors do


def log_words(row, scale, eta, out):
    """Write psi(lambda) of a word."""
    for k in range(row.shape[0]):
        out[k] = psi(max(eta + scale * row[k], LEAST))


@rare
@strict
def expect_words(Lam, scale, eta, words, first, P):
    """Write psi(lambda) of words, from the first one on."""
    for i in range(first, words.shape[0]):
        log_words(Lam[words[i]], scale, eta, P[i])


def expect_topics(total, more, out):
    """Write psi of the sums of lambda."""
    for k in range(out.shape[0]):
        out[k] = psi(max(total[k] + more, LEAST))


def spread_four(B, i, a, b, c, d, less):
    """Write the differences of four rows and another into columns."""
    for k in range(less.shape[0]):
        x = less[k]
        B[k, i], B[k, i + 1], B[k, i + 2], B[k, i + 3] = a[k] - x, b[k] - x, c[k] - x, d[k] - x


# ---- softmax -----------------------------------------------------------------------------------------------------------
def largest_sum(z, x, w):
    """Return the largest of z + w x."""
    top = -math.inf
    for k in range(z.shape[0]):
        top = max(top, z[k] + w * x[k])
    return top


def exponentials(z, x, w, top, out):
    """Write exp(z + w x - top); return the sum."""
    found = 0.0
    for k in range(z.shape[0]):
        out[k] = exp(z[k] + w * x[k] - top)
        found += out[k]
    return found


def scaled_by(a, by):
    """Multiply by a number."""
    for k in range(a.shape[0]):
        a[k] *= by


def product(a, b):
    """Return the product of two rows."""
    found = 0.0
    for k in range(a.shape[0]):
        found += a[k] * b[k]
    return found


def softmax(z, x, w, out):
    """Write exp(z + w x), so that it sums to 1; return the logarithm of what it summed to."""
    top = largest_sum(z, x, w)
    whole = exponentials(z, x, w, top, out)
    scaled_by(out, 1.0 / whole)
    return top + log(whole)


def raise_to(top, z, more):
    """Raise each number to z + more."""
    for i in range(top.shape[0]):
        top[i] = max(top[i], z[i] + more)


def exponentials_of(z, more, top, whole):
    """Write exp(z + more - top) in the place of z, and add it."""
    for i in range(z.shape[0]):
        z[i] = exp(z[i] + more - top[i])
        whole[i] += z[i]


def log_sums(c, top, whole):
    """Return the sum of c ln(sum of exponentials); `whole` becomes c over the sum."""
    found = 0.0
    for i in range(c.shape[0]):
        found += c[i] * (top[i] + log(whole[i]))
        whole[i] = c[i] / whole[i]
    return found


def times_row(z, by):
    """Multiply by a row."""
    for i in range(z.shape[0]):
        z[i] *= by[i]


@strict
def softmax_columns(Z, T, x, w, c, top, whole):
    """Set Z_ti to c_i exp(Z_ti + w x_t) over its sum; return the sum of c times the logarithms of those sums."""
    n = c.shape[0]
    for i in range(n):
        top[i] = -math.inf
    clear(whole)
    for t in range(T):
        raise_to(top, Z[t, :n], w * x[t])
    for t in range(T):
        exponentials_of(Z[t, :n], w * x[t], top, whole)
    found = log_sums(c, top, whole)
    for t in range(T):
        times_row(Z[t, :n], whole)
    return found


# ---- sticks ------------------------------------------------------------------------------------------------------------
@strict
def break_sticks(a, b, out):
    """Write E[ln sigma_t] of sticks that are Beta(a_t, b_t), the last of which is 1."""
    before = 0.0
    for t in range(a.shape[0]):
        both = psi(a[t] + b[t])
        out[t] = before + psi(a[t]) - both
        before += psi(b[t]) - both
    out[a.shape[0]] = before


@strict
def stick_terms(a, b, alpha0):
    """Return minus the divergence of the sticks of a document from Beta(1, alpha0)."""
    found = 0.0
    for t in range(a.shape[0]):
        both = psi(a[t] + b[t])
        one, rest = psi(a[t]) - both, psi(b[t]) - both
        found += log(alpha0) + (alpha0 - b[t]) * rest - (a[t] - 1.0) * one
        found += log_gamma(a[t]) + log_gamma(b[t]) - log_gamma(a[t] + b[t])
    return found


@strict
def lengths(Z, n, a, b, alpha0):
    """Set a_t = 1 + sum c zeta_t and b_t = alpha0 + sum of those behind t."""
    T = a.shape[0] + 1
    behind = total_of(Z[T - 1, :n])
    for j in range(T - 1):
        t = T - 2 - j
        b[t] = alpha0 + behind
        here = total_of(Z[t, :n])
        a[t] = 1.0 + here
        behind += here


# ---- one document ------------------------------------------------------------------------------------------------------
@strict
def start_by_words(B, K, c, Z, R, counts, choice, none, top, whole):
    """Begin with the topics that the words are likeliest in: zeta_nt as probable as word n is in topic k_t."""
    n = c.shape[0]
    for k in range(K):
        copy_row(R[k, :n], B[k, :n])
    softmax_columns(R, K, none, 0.0, c, top, whole)
    for k in range(K):
        counts[k] = total_of(R[k, :n])
    for t in range(Z.shape[0]):
        best = 0
        for k in range(1, K):
            if counts[k] > counts[best]:
                best = k
        choice[t] = best
        counts[best] = -1.0
    for t in range(Z.shape[0]):
        copy_row(Z[t, :n], B[choice[t], :n])
    softmax_columns(Z, Z.shape[0], none, 0.0, c, top, whole)


def copy_row(to, row):
    """Copy as much of a row as there is room for."""
    for i in range(to.shape[0]):
        to[i] = row[i]


@strict
def start_alike(c, Z):
    """Begin with equal zeta."""
    for t in range(Z.shape[0]):
        for i in range(c.shape[0]):
            Z[t, i] = c[i] / Z.shape[0]


@strict
def point(B, K, n, Z, sigma, w, phi, s):
    """Write phi_tk, proportional to exp(sum_n c_n zeta_nt E[ln beta] + w E[ln sigma_k]); return its part of the bound."""
    found, T = 0.0, Z.shape[0]
    for k in range(0, B.shape[0], BLOCK):
        for t in range(0, T, 2):
            e, f, g, h = B[k, :n], B[k + 1, :n], B[k + 2, :n], B[k + 3, :n]
            eight_products(e, f, g, h, Z[t, :n], Z[min(t + 1, T - 1), :n], s[t, k : k + BLOCK], s[t + 1, k : k + BLOCK])
    for t in range(T):
        whole = softmax(s[t, :K], sigma, w, phi[t])
        found += whole - product(phi[t], s[t, :K])
    return found


@strict
def listed(phi, some):
    """List the topics that a stick may point to, and more until they are a multiple of a block; return how many."""
    n = 0
    for k in range(phi.shape[0]):
        if phi[k] > FAINT:
            some[n] = k
            n += 1
    while n % BLOCK:
        some[n] = -1
        n += 1
    return n


@strict
def deal(B, c, phi, pi, w, Z, some, top, whole):
    """Set Z to c zeta_nt, zeta proportional to exp(sum_k phi_tk E[ln beta] + w E[ln sigma_t(pi)]); return its part of the bound."""
    n = c.shape[0]
    for t in range(Z.shape[0]):
        clear(Z[t, :n])
        for j in range(0, listed(phi[t], some), BLOCK):
            k, x, y, z = some[j], max(some[j + 1], 0), max(some[j + 2], 0), max(some[j + 3], 0)
            f = phi[t, x] if some[j + 1] >= 0 else 0.0
            g = phi[t, y] if some[j + 2] >= 0 else 0.0
            h = phi[t, z] if some[j + 3] >= 0 else 0.0
            add_four(Z[t, :n], phi[t, k], B[k, :n], f, B[x, :n], g, B[y, :n], h, B[z, :n])
    return softmax_columns(Z, Z.shape[0], pi, w, c, top, whole)


@rare
@strict
def infer_sticks(B, K, c, sigma, alpha0, by_words, iterations, tolerance, Z, R, phi, s, a, b, pi, choice, none, top, whole):
    """Find phi, zeta and the sticks of one document; return the bound."""
    if by_words:
        start_by_words(B, K, c, Z, R, s[0], choice, none, top, whole)
    else:
        start_alike(c, Z)
    bound, n = -math.inf, c.shape[0]
    for t in range(a.shape[0]):
        a[t], b[t] = 1.0, alpha0
    for i in range(iterations):
        w = 0.0 if i < ALIKE else 1.0
        break_sticks(a, b, pi)
        last, bound = bound, stick_terms(a, b, alpha0)
        bound += point(B, K, n, Z, sigma, w, phi, s)
        bound += deal(B, c, phi, pi, w, Z, choice, top, whole)
        lengths(Z, n, a, b, alpha0)
        if i > ALIKE and bound - last <= tolerance * abs(last):
            break
    return bound


@strict
def mean_topics(phi, a, b, out):
    """Write theta_k = sum_t E[pi_t] phi_tk."""
    clear(out)
    left = 1.0
    for t in range(a.shape[0]):
        add_times(out, left * a[t] / (a[t] + b[t]), phi[t])
        left *= b[t] / (a[t] + b[t])
    add_times(out, left, phi[a.shape[0]])


@strict
def gather_logs(P, less, where, counts, B, c):
    """Copy E[ln beta] of the words of a document, and words of count 0 until they are a multiple of LANES; return how many."""
    words = where.shape[0]
    n = words + -words % LANES
    for i in range(n):
        c[i] = counts[i] if i < words else 0.0
    for i in range(0, n, BLOCK):
        e, f, g, h = min(i, words - 1), min(i + 1, words - 1), min(i + 2, words - 1), min(i + 3, words - 1)
        spread_four(B, i, P[where[e]], P[where[f]], P[where[g]], P[where[h]], less)
    return n


@strict
def count_up(Sum, uses, where, Z, phi):
    """Add how often topics have words, and how many sticks point to them."""
    for t in range(phi.shape[0]):
        add_row(uses, phi[t])
        for i in range(where.shape[0]):
            if Z[t, i] > FAINT:
                add_times(Sum[where[i]], Z[t, i], phi[t])


@strict
def infer_with_sticks(
    starts, where, counts, known, P, total, eta, sigma, mean, alpha0, by_words, iterations, tolerance,
    G, L, Sum, uses, B, R, c, Z, phi, s, a, b, pi, choice, less, none, top, whole,
):  # fmt: skip
    """Write proportions and the bound of each document; add what words and sticks count for topics to Sum, if it has room."""
    before, K = -1, total.shape[0]
    for d in range(starts.shape[0] - 1):
        at, to = starts[d], starts[d + 1]
        L[d] = 0.0
        if at == to:
            copy_row(G[d], mean)
            continue
        if known[d] != before:
            before = known[d]
            expect_topics(total, eta * before, less)
        n = gather_logs(P, less, where[at:to], counts[at:to], B, c)
        held = (Z, R, phi, s, a, b, pi, choice, none, top[:n], whole[:n])
        L[d] = infer_sticks(B, K, c[:n], sigma, alpha0, by_words, iterations, tolerance, *held)
        mean_topics(phi, a, b, G[d])
        if Sum.shape[0] > 0:
            count_up(Sum, uses, where[at:to], Z, phi)
