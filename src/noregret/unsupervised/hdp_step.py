"""The compiled steps of the online HDP: which topics the sticks of a document point to, and which sticks its words come from.

Z = c zeta, how often words come from sticks, has a row for each stick, and B = E[ln beta] one for each topic: loops over words
vectorise. Words and topics are a multiple of LANES, those that fill up of count or weight 0: what is left over would be taken one
by one. B does not fit the first cache of a processor, so loops over blocks of its rows are the outer ones. The tables of a batch
have a row for each word: P = psi(lambda), and E = exp(P) over the largest of the word.
"""

from __future__ import annotations

import math

from ..engine.elementary import exp, log
from ..engine.special import log_gamma, psi
from ..engine.words import rare, strict
from .lda_step import BLOCK, LEAST, add_four, add_row, add_times, clear, gather, share_out, total_of
from .sparse_coding import eight_products

LANES = 8
FAINT = 1e-18  # of phi: what is less does not change a sum
NONE = -1e300  # of the logarithm of phi: no topic
ALIKE = 3  # iterations that leave out the sticks, as those of the authors do


def lambdas(row, scale, eta, out):
    """Write lambda of a word."""
    for k in range(row.shape[0]):
        out[k] = max(eta + scale * row[k], LEAST)


def psi_of(x, out):
    """Write psi of numbers."""
    for k in range(x.shape[0]):
        out[k] = psi(x[k])


def psi_and_log_gamma(x, psis, logs):
    """Write psi and ln Gamma of numbers, which share a logarithm."""
    for k in range(x.shape[0]):
        psis[k] = psi(x[k])
        logs[k] = log_gamma(x[k])


def largest(x):
    """Return the largest number."""
    top = x[0]
    for k in range(x.shape[0]):
        top = max(top, x[k])
    return top


def grown_from(x, top, out):
    """Write exp(x - top)."""
    for k in range(x.shape[0]):
        out[k] = exp(x[k] - top)


@rare
@strict
def expect_words(Lam, scale, eta, words, first, P, E):
    """Write psi(lambda) of words, from the first one on, and its exponential over the largest of the word."""
    K = Lam.shape[1]
    for i in range(first, words.shape[0]):
        lambdas(Lam[words[i]], scale, eta, E[i, :K])
        for k in range(K, E.shape[1]):
            E[i, k] = E[i, 0]
        psi_of(E[i], P[i])
        grown_from(P[i], largest(P[i]), E[i])


@strict
def expect_topics(total, more, less, f):
    """Write psi of the sums of lambda, and the exponential of the least of them less each."""
    base = math.inf
    for k in range(total.shape[0]):
        less[k] = psi(max(total[k] + more, LEAST))
        base = min(base, less[k])
    for k in range(total.shape[0]):
        f[k] = exp(base - less[k])


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


@strict
def softmax_rows(s, sigma, w, phi, ones, top, whole):
    """Write exp(s + w sigma), each row so that it sums to 1; return the sum of the logarithms of what they summed to.

    The rows take each step together: none waits for the last one.
    """
    T = ones.shape[0]
    for t in range(T):
        top[t] = largest_sum(s[t], sigma, w)
    for t in range(T):
        whole[t] = exponentials(s[t], sigma, w, top[t], phi[t])
    found = log_sums(ones, top, whole)
    for t in range(T):
        scaled_by(phi[t], whole[t])
    return found


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
def break_sticks(ab, psis, logs, T, alpha0, out):
    """Write E[ln sigma_t] of sticks that are Beta(a_t, b_t), the last 1; return minus their divergence from Beta(1, alpha0)."""
    for i in range(3):  # a, b and a + b
        psi_and_log_gamma(ab[i], psis[i], logs[i])
    before, found = 0.0, (T - 1) * log(alpha0)
    for t in range(T - 1):
        one, rest = psis[0, t] - psis[2, t], psis[1, t] - psis[2, t]
        out[t] = before + one
        before += rest
        found += (alpha0 - ab[1, t]) * rest - (ab[0, t] - 1.0) * one
        found += logs[0, t] + logs[1, t] - logs[2, t]
    out[T - 1] = before
    return found


@strict
def lengths(Z, T, n, ab, alpha0):
    """Set a_t = 1 + sum c zeta_t and b_t = alpha0 + sum of those behind t."""
    behind = total_of(Z[T - 1, :n])
    for j in range(T - 1):
        t = T - 2 - j
        here = total_of(Z[t, :n])
        ab[0, t], ab[1, t] = 1.0 + here, alpha0 + behind
        ab[2, t] = ab[0, t] + ab[1, t]
        behind += here


# ---- one document ------------------------------------------------------------------------------------------------------
@strict
def start_by_words(E, where, counts, f, K, T, B, c, Z, R, likely, choice, none, top, whole):
    """Begin with the topics that the words are likeliest in: zeta_nt as probable as word n is in topic k_t."""
    share_out(R, gather(E, where, counts, R, c), c, f, likely)
    for k in range(K):
        likely[k] *= f[k]
    for t in range(T):
        best = 0
        for k in range(1, K):
            if likely[k] > likely[best]:
                best = k
        choice[t] = best
        likely[best] = -1.0
    for t in range(T):
        copy_row(Z[t, : c.shape[0]], B[choice[t], : c.shape[0]])
    softmax_columns(Z, T, none, 0.0, c, top, whole)


def copy_row(to, row):
    """Copy as much of a row as there is room for."""
    for i in range(to.shape[0]):
        to[i] = row[i]


@strict
def start_alike(T, c, Z):
    """Begin with equal zeta."""
    for t in range(T):
        for i in range(c.shape[0]):
            Z[t, i] = c[i] / T


@strict
def point(B, K, n, Z, sigma, w, phi, s, ones, top, whole):
    """Write phi_tk, proportional to exp(sum_n c_n zeta_nt E[ln beta] + w E[ln sigma_k]); return its part of the bound."""
    T = ones.shape[0]
    for k in range(0, K, BLOCK):
        for t in range(0, T, 2):
            e, f, g, h = B[k, :n], B[k + 1, :n], B[k + 2, :n], B[k + 3, :n]
            eight_products(e, f, g, h, Z[t, :n], Z[t + 1, :n], s[t, k : k + BLOCK], s[t + 1, k : k + BLOCK])
    for t in range(T):
        for k in range(K, s.shape[1]):
            s[t, k] = NONE
    found = softmax_rows(s, sigma, w, phi, ones, top, whole)
    for t in range(T):
        found -= product(phi[t], s[t])
    return found


@strict
def deal(B, K, T, c, phi, pi, w, Z, top, whole):
    """Set Z to c zeta_nt, zeta proportional to exp(sum_k phi_tk E[ln beta] + w E[ln sigma_t(pi)]); return its part of the bound."""
    n = c.shape[0]
    for t in range(T):
        clear(Z[t, :n])
    for k in range(0, K, BLOCK):
        for t in range(T):
            p, q, r, s = phi[t, k], phi[t, k + 1], phi[t, k + 2], phi[t, k + 3]
            if p > FAINT or q > FAINT or r > FAINT or s > FAINT:
                add_four(Z[t, :n], p, B[k, :n], q, B[k + 1, :n], r, B[k + 2, :n], s, B[k + 3, :n])
    return softmax_columns(Z, T, pi, w, c, top, whole)


@rare
@strict
def infer_sticks(B, K, T, c, sigma, alpha0, iterations, tolerance, Z, phi, s, ab, psis, logs, pi, choice, ones, sums, top, whole):
    """Find phi, zeta and the sticks of one document, given the zeta it begins with; return the bound."""
    bound, n = -math.inf, c.shape[0]
    for t in range(T - 1):
        ab[0, t], ab[1, t], ab[2, t] = 1.0, alpha0, 1.0 + alpha0
    for i in range(iterations):
        w = 0.0 if i < ALIKE else 1.0
        last, bound = bound, break_sticks(ab, psis, logs, T, alpha0, pi)
        bound += point(B, K, n, Z, sigma, w, phi, s, ones, sums[0], sums[1])
        bound += deal(B, K, T, c, phi, pi, w, Z, top, whole)
        lengths(Z, T, n, ab, alpha0)
        if i > ALIKE and bound - last <= tolerance * abs(last):
            break
    return bound


@strict
def mean_topics(phi, T, K, ab, out):
    """Write theta_k = sum_t E[pi_t] phi_tk."""
    clear(out)
    left = 1.0
    for t in range(T - 1):
        add_times(out, left * ab[0, t] / ab[2, t], phi[t, :K])
        left *= ab[1, t] / ab[2, t]
    add_times(out, left, phi[T - 1, :K])


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
def count_up(Sum, uses, where, T, Z, phi):
    """Add how often topics have words, and how many sticks point to them."""
    K = uses.shape[0]
    for t in range(T):
        add_row(uses, phi[t, :K])
    for i in range(where.shape[0]):
        row = Sum[where[i]]
        for t in range(0, T, BLOCK):
            add_four(row, Z[t, i], phi[t], Z[t + 1, i], phi[t + 1], Z[t + 2, i], phi[t + 2], Z[t + 3, i], phi[t + 3])


@strict
def infer_with_sticks(
    starts, where, counts, known, P, E, total, eta, sigma, mean, T, alpha0, by_words, iterations, tolerance,
    G, L, Sum, uses, B, R, c, Z, phi, s, ab, psis, logs, pi, choice, ones, sums, less, f, none, top, whole,
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
            expect_topics(total, eta * before, less, f)
        n = gather_logs(P, less[:K], where[at:to], counts[at:to], B, c)
        if by_words:
            begun = (K, T, B, c[:n], Z, R, s[0], choice, none, top[:n], whole[:n])
            start_by_words(E, where[at:to], counts[at:to], f, *begun)
        else:
            start_alike(T, c[:n], Z)
        held = (Z, phi, s, ab, psis, logs, pi, choice, ones, sums, top[:n], whole[:n])
        L[d] = infer_sticks(B, K, T, c[:n], sigma, alpha0, iterations, tolerance, *held)
        mean_topics(phi, T, K, ab, G[d])
        if Sum.shape[0] > 0:
            count_up(Sum, uses, where[at:to], T, Z, phi)
