"""The compiled steps of online LDA: proportions of documents given the topics, what they count, and topics given the counts.

Weights of topics lie side by side, so that loops over topics vectorise. Words come with E_wk = exp(psi(lambda_kw) - shift_w),
topics with f_k = exp(base - psi(sum_w lambda_kw)); shift and base cancel in proportions, and keep small numbers from vanishing.
"""

from __future__ import annotations

from ..engine.elementary import exp, log
from ..engine.special import exp_psi, log_gamma, psi
from ..engine.words import rare, strict

BLOCK = 4  # words that are taken at once
SMALL = 0.01  # of lambda: exp(psi) of smaller ones could vanish
LEAST = 1e-30  # of lambda
NOTHING = 1e-290  # of the probability of a word


# ---- words and topics --------------------------------------------------------------------------------------------------
def ends(row, scale, eta):
    """Return the least and the largest lambda of a word."""
    low, high = row[0], row[0]
    for k in range(1, row.shape[0]):
        low, high = min(low, row[k]), max(high, row[k])
    return max(eta + scale * low, LEAST), max(eta + scale * high, LEAST)


def grown(row, scale, eta, out):
    """Write exp(psi(lambda))."""
    for k in range(row.shape[0]):
        out[k] = exp_psi(eta + scale * row[k])


def grown_below(row, scale, eta, top, out):
    """Write exp(psi(lambda) - top)."""
    for k in range(row.shape[0]):
        out[k] = exp(psi(max(eta + scale * row[k], LEAST)) - top)


@rare
@strict
def weigh_words(Lam, scale, eta, words, first, E, shift):
    """Write E and shift of words, from the first one on."""
    for i in range(first, words.shape[0]):
        row = Lam[words[i]]
        low, high = ends(row, scale, eta)
        if low >= SMALL:
            shift[i] = 0.0
            grown(row, scale, eta, E[i])
        else:
            shift[i] = psi(high)
            grown_below(row, scale, eta, shift[i], E[i])


@strict
def weigh_topics(total, more, f):
    """Write f, given the sums of lambda - eta, and eta times the number of words; return the base."""
    base = psi(max(total[0] + more, LEAST))
    for k in range(f.shape[0]):
        f[k] = psi(max(total[k] + more, LEAST))
        base = min(base, f[k])
    for k in range(f.shape[0]):
        f[k] = exp(base - f[k])
    return base


# ---- one document ------------------------------------------------------------------------------------------------------
def four_products(t, a, b, c, d):
    """Return the products of t with four rows."""
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    for k in range(t.shape[0]):
        e += t[k] * a[k]
        f += t[k] * b[k]
        g += t[k] * c[k]
        h += t[k] * d[k]
    return e, f, g, h


def add_four(s, e, a, f, b, g, c, h, d):
    """Add four rows, each times a number."""
    for k in range(s.shape[0]):
        s[k] += (e * a[k] + f * b[k]) + (g * c[k] + h * d[k])


def clear(s):
    """Set to 0."""
    for k in range(s.shape[0]):
        s[k] = 0.0


def start_even(gamma, t, f):
    """Begin with gamma = 1, and t = exp(psi(gamma)) f."""
    for k in range(gamma.shape[0]):
        gamma[k] = 1.0
        t[k] = exp_psi(1.0) * f[k]


def settle(gamma, alpha, t, s, f):
    """Set gamma = alpha + t s and t = exp(psi(gamma)) f; return how far gamma has moved."""
    moved = 0.0
    for k in range(gamma.shape[0]):
        g = alpha[k] + t[k] * s[k]
        moved += abs(g - gamma[k])
        gamma[k] = g
        t[k] = exp_psi(g) * f[k]
    return moved


@strict
def explain(B, n, c, t, p):
    """Write the probability of each word, up to factors."""
    for i in range(0, n, BLOCK):
        e, f, g, h = four_products(t, B[i], B[i + 1], B[i + 2], B[i + 3])
        p[i], p[i + 1], p[i + 2], p[i + 3] = max(e, NOTHING), max(f, NOTHING), max(g, NOTHING), max(h, NOTHING)


@strict
def share_out(B, n, c, t, s):
    """Write s_k = sum_w c_w E_wk/p_w: times t_k it is how much of the document topic k takes."""
    clear(s)
    for i in range(0, n, BLOCK):
        e, f, g, h = four_products(t, B[i], B[i + 1], B[i + 2], B[i + 3])
        e, f, g, h = c[i] / max(e, NOTHING), c[i + 1] / max(f, NOTHING), c[i + 2] / max(g, NOTHING), c[i + 3] / max(h, NOTHING)
        add_four(s, e, B[i], f, B[i + 1], g, B[i + 2], h, B[i + 3])


@rare
@strict
def infer_one(B, n, c, f, alpha, iterations, tolerance, gamma, t, s, p):
    """Find gamma and t of one document, and the probabilities of its words up to factors."""
    start_even(gamma, t, f)
    for _ in range(iterations):
        share_out(B, n, c, t, s)
        if settle(gamma, alpha, t, s, f) < tolerance * gamma.shape[0]:
            break
    explain(B, n, c, t, p)


def gamma_terms(gamma, alpha, s):
    """Return the sum of the terms of the bound that are of single topics; write psi(gamma)."""
    found = 0.0
    for k in range(gamma.shape[0]):
        s[k] = psi(gamma[k])
        found += (alpha[k] - gamma[k]) * s[k] + log_gamma(gamma[k]) - log_gamma(alpha[k])
    return found


def total_of(a):
    """Return the sum."""
    found = 0.0
    for k in range(a.shape[0]):
        found += a[k]
    return found


def log_likelihood(c, p, n, where, shift, less):
    """Return the sum of c ln p, each p with its factor."""
    found = 0.0
    for i in range(n):
        found += c[i] * (log(p[i]) + (shift[where[i]] - less))
    return found


@rare
@strict
def bound_of(c, n, p, where, shift, base, alpha, gamma, s):
    """Return the bound of one document; s becomes E[ln theta]."""
    inner = gamma_terms(gamma, alpha, s)
    whole, prior = total_of(gamma), total_of(alpha)
    less = psi(whole)
    found = log_likelihood(c, p, n, where, shift, base + less) + inner - less * (prior - whole)
    for k in range(s.shape[0]):
        s[k] -= less
    return found + log_gamma(prior) - log_gamma(whole)


# ---- documents ---------------------------------------------------------------------------------------------------------
def take_row(to, row):
    """Copy a row."""
    for k in range(to.shape[0]):
        to[k] = row[k]


def add_products(to, r, t, b):
    """Add r t_k b_k."""
    for k in range(to.shape[0]):
        to[k] += r * t[k] * b[k]


def add_row(to, row):
    """Add a row."""
    for k in range(to.shape[0]):
        to[k] += row[k]


@strict
def gather(E, where, counts, B, c):
    """Copy the words of a document to one place, and words of count 0 until they are a multiple of a block; return how many."""
    n = where.shape[0]
    for i in range(n):
        take_row(B[i], E[where[i]])
        c[i] = counts[i]
    while n % BLOCK:
        take_row(B[n], E[where[0]])
        c[n] = 0.0
        n += 1
    return n


@strict
def infer_documents(
    starts, where, counts, known, E, shift, total, eta, alpha, iterations, tolerance, told, G, L, Sum, logs, B, c, p, f, t, s
):
    """Write gamma and, if it is to be told, the bound of each document; add what words count for topics to Sum, if it has room."""
    before, base = -1, 0.0
    for d in range(starts.shape[0] - 1):
        a, b = starts[d], starts[d + 1]
        if a == b:
            take_row(G[d], alpha)
            L[d] = 0.0
            continue
        if known[d] != before:
            before = known[d]
            base = weigh_topics(total, eta * before, f)
        n = gather(E, where[a:b], counts[a:b], B, c)
        infer_one(B, n, c, f, alpha, iterations, tolerance, G[d], t, s, p)
        if told:
            L[d] = bound_of(c, b - a, p, where[a:b], shift, base, alpha, G[d], s)
            add_row(logs, s)
        if Sum.shape[0] > 0:
            for i in range(b - a):
                add_products(Sum[where[a + i]], c[i] / p[i], t, B[i])


# ---- topics ------------------------------------------------------------------------------------------------------------
def number_words(indices, place, words, n, where):
    """Write the row of each word among those of the batch, which new ones join in their order; return how many there are."""
    for i in range(indices.shape[0]):
        w = indices[i]
        if place[w] < 0:
            place[w] = n
            words[n] = w
            n += 1
        where[i] = place[w]
    return n


def add_times(to, a, row):
    """Add a times a row."""
    for k in range(to.shape[0]):
        to[k] += a * row[k]


def shrink(a, by):
    """Multiply by a number."""
    for k in range(a.shape[0]):
        a[k] *= by


@strict
def blend(Lam, total, words, Sum, n, gain, rho, weight):
    """Move the topics: Lam += gain Sum for the words of a batch, total <- (1 - rho) total + rho weight times the columns of Sum."""
    shrink(total, 1.0 - rho)
    for i in range(n):
        add_times(Lam[words[i]], gain, Sum[i])
        add_times(total, rho * weight, Sum[i])
        clear(Sum[i])


@strict
def sum_psi(Lam, scale, eta, V):
    """Return the sum of psi(lambda) over all words and topics."""
    found = 0.0
    for w in range(V):
        found += psi_sum(Lam[w], scale, eta)
    return found


def psi_sum(row, scale, eta):
    """Return the sum of psi(lambda) of a word."""
    found = 0.0
    for k in range(row.shape[0]):
        found += psi(max(eta + scale * row[k], LEAST))
    return found
