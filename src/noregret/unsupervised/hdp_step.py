"""The compiled steps of the online HDP: which topics the sticks of a document point to, and which sticks its words come from."""

from __future__ import annotations

import math

from ..engine.elementary import exp, log
from ..engine.special import log_gamma, psi
from ..engine.words import rare, strict
from .lda_step import BLOCK, LEAST, add_four, add_row, add_times, clear, four_products

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


def less_row(to, row, less):
    """Write the difference of two rows."""
    for k in range(to.shape[0]):
        to[k] = row[k] - less[k]


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
def lengths(Z, n, c, a, b, alpha0):
    """Set a_t = 1 + sum c zeta_t and b_t = alpha0 + sum of those behind t."""
    T = a.shape[0] + 1
    for t in range(T - 1):
        a[t] = 1.0
        for i in range(n):
            a[t] += c[i] * Z[i, t]
    behind = 0.0
    for i in range(n):
        behind += c[i] * Z[i, T - 1]
    for j in range(T - 1):
        t = T - 2 - j
        b[t] = alpha0 + behind
        behind += a[t] - 1.0


# ---- one document ------------------------------------------------------------------------------------------------------
@strict
def start_by_words(B, n, c, Z, top, s, none):
    """Begin with the topics that the words are likeliest in: zeta_nt as probable as word n is in topic k_t."""
    K, T = B.shape[1], Z.shape[1]
    counts = s[0]
    clear(counts)
    for i in range(n):
        softmax(B[i], none, 0.0, s[1])
        add_times(counts, c[i], s[1])
    for t in range(T):
        best = 0
        for k in range(1, K):
            if counts[k] > counts[best]:
                best = k
        top[t] = best
        counts[best] = -1.0
    for i in range(n):
        for t in range(T):
            Z[i, t] = B[i, top[t]]
        softmax(Z[i], none[:T], 0.0, Z[i])


@strict
def start_alike(n, Z):
    """Begin with equal zeta."""
    for i in range(n):
        for t in range(Z.shape[1]):
            Z[i, t] = 1.0 / Z.shape[1]


@strict
def point(B, n, c, Z, sigma, w, phi, s):
    """Write phi_tk, proportional to exp(sum_n c_n zeta_nt E[ln beta] + w E[ln sigma_k]); return its part of the bound."""
    found = 0.0
    for t in range(phi.shape[0]):
        clear(s[t])
    for i in range(0, n, BLOCK):
        for t in range(phi.shape[0]):
            e, f, g, h = c[i] * Z[i, t], c[i + 1] * Z[i + 1, t], c[i + 2] * Z[i + 2, t], c[i + 3] * Z[i + 3, t]
            add_four(s[t], e, B[i], f, B[i + 1], g, B[i + 2], h, B[i + 3])
    for t in range(phi.shape[0]):
        whole = softmax(s[t], sigma, w, phi[t])
        found += whole - product(phi[t], s[t])
    return found


@strict
def deal(B, n, c, phi, pi, w, Z):
    """Write zeta_nt, proportional to exp(sum_k phi_tk E[ln beta] + w E[ln sigma_t(pi)]); return its part of the bound."""
    found = 0.0
    for i in range(0, n, BLOCK):
        for t in range(phi.shape[0]):
            Z[i, t], Z[i + 1, t], Z[i + 2, t], Z[i + 3, t] = four_products(phi[t], B[i], B[i + 1], B[i + 2], B[i + 3])
    for i in range(n):
        found += c[i] * softmax(Z[i], pi, w, Z[i])
    return found


@rare
@strict
def infer_sticks(B, n, c, sigma, alpha0, by_words, iterations, tolerance, Z, phi, s, a, b, pi, top, none):
    """Find phi, zeta and the sticks of one document; return the bound."""
    if by_words:
        start_by_words(B, n, c, Z, top, s, none)
    else:
        start_alike(n, Z)
    bound = -math.inf
    for t in range(a.shape[0]):
        a[t], b[t] = 1.0, alpha0
    for i in range(iterations):
        w = 0.0 if i < ALIKE else 1.0
        break_sticks(a, b, pi)
        last, bound = bound, stick_terms(a, b, alpha0)
        bound += point(B, n, c, Z, sigma, w, phi, s)
        bound += deal(B, n, c, phi, pi, w, Z)
        lengths(Z, n, c, a, b, alpha0)
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
    """Copy E[ln beta] of the words of a document, and words of count 0 until they are a multiple of a block; return how many."""
    n = where.shape[0]
    for i in range(n):
        less_row(B[i], P[where[i]], less)
        c[i] = counts[i]
    while n % BLOCK:
        less_row(B[n], P[where[0]], less)
        c[n] = 0.0
        n += 1
    return n


@strict
def infer_with_sticks(
    starts, where, counts, known, P, total, eta, sigma, mean, alpha0, by_words, iterations, tolerance,
    G, L, Sum, uses, B, c, Z, phi, s, a, b, pi, top, less, none,
):  # fmt: skip
    """Write proportions and the bound of each document; add what words and sticks count for topics to Sum, if it has room."""
    before = -1
    for d in range(starts.shape[0] - 1):
        at, to = starts[d], starts[d + 1]
        L[d] = 0.0
        if at == to:
            clear(G[d])
            add_row(G[d], mean)
            continue
        if known[d] != before:
            before = known[d]
            expect_topics(total, eta * before, less)
        n = gather_logs(P, less, where[at:to], counts[at:to], B, c)
        L[d] = infer_sticks(B, n, c, sigma, alpha0, by_words, iterations, tolerance, Z, phi, s, a, b, pi, top, none)
        mean_topics(phi, a, b, G[d])
        if Sum.shape[0] > 0:
            for i in range(to - at):
                for t in range(phi.shape[0]):
                    add_times(Sum[where[at + i]], c[i] * Z[i, t], phi[t])
            for t in range(phi.shape[0]):
                add_row(uses, phi[t])
