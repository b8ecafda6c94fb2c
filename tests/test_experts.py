"""Experts: printed traces, transcriptions of the rules, regret below the bound, late experts, files, and what is refused."""

import math

import numpy as np
import pytest

import noregret as nr
from noregret.engine import compiling

# Probabilities of +1 by three learners in the rounds of stream P, and the labels
P = np.array(
    [
        (0.5, 0.5, 0.5),
        (0.465437, 0.437823, 0.558568),
        (0.50756, 0.279046, 0.378128),
        (0.574423, 0.663858, 0.56695),
        (0.572486, 0.667585, 0.561713),
    ]
)
UP = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
WRONG = np.where(UP[:, None] == 1.0, 1 - P, P)
RULES = ("adahedge", "hedge", "fixed_share", "bayes")


# ---- printed traces ----------------------------------------------------------------------------------------------------
def test_bayes_mixes_probabilities():
    m = nr.Experts(3, rule="bayes", loss="log")
    said = [m.learn_one(p, y) for p, y in zip(P, UP, strict=True)]
    np.testing.assert_allclose(said, [0.5, 0.487276, 0.386897, 0.595902, 0.590101], atol=2e-6)
    np.testing.assert_allclose(m.weights_, (0.465819, 0.248065, 0.286116), atol=2e-6)
    assert m.paid_ == pytest.approx(3.744323, abs=5e-6)
    assert m.losses_.min() == pytest.approx(3.409669, abs=5e-6)
    assert m.regret_ == pytest.approx(0.334654, abs=5e-6)
    assert m.bound_ == pytest.approx(math.log(3))


def test_fixed_share_of_probabilities():
    m = nr.Experts(3, rule="bayes", alpha=0.1, loss="log")
    said = m.learn_many(P, UP)
    np.testing.assert_allclose(said, [0.5, 0.487276, 0.387099, 0.596462, 0.59206], atol=2e-6)
    np.testing.assert_allclose(m.weights_, (0.411555, 0.281816, 0.306629), atol=2e-6)


def test_hedge():
    m = nr.Experts(3, rule="hedge", eta=math.sqrt(8 * math.log(3) / 5))
    W = m.learn_many(WRONG)
    np.testing.assert_allclose(W[2], (0.342333, 0.355098, 0.302569), atol=2e-6)
    np.testing.assert_allclose(W[4], (0.411119, 0.279766, 0.309115), atol=2e-6)
    np.testing.assert_allclose(m.losses_, (2.459814, 2.65505, 2.685677), atol=2e-6)
    assert m.regret_ == pytest.approx(0.143948, abs=2e-6)
    assert m.bound_ == pytest.approx(1.657266, abs=2e-6)


def test_adahedge():
    m = nr.Experts(3)
    W = m.learn_many(WRONG)
    np.testing.assert_allclose(W[2], (0.33635, 0.621163, 0.042487), atol=5e-6)
    np.testing.assert_allclose(W[4], (0.749248, 0.09214, 0.158612), atol=5e-6)
    assert m.bound_ == pytest.approx(2 * 0.155682, abs=4e-6)
    assert m.regret_ == pytest.approx(0.175489, abs=4e-6)


# ---- transcriptions ----------------------------------------------------------------------------------------------------
def transcribed(L, rule, eta=None, alpha=None):
    """Return the weights before each round and what was paid, round by round from the formulas."""
    K = L.shape[1]
    total, w, delta, W, paid = np.zeros(K), np.full(K, 1 / K), 0.0, [], 0.0
    for t, loss in enumerate(L, 1):
        if rule in ("hedge", "adahedge"):
            rate = eta or math.sqrt(8 * math.log(K) / t)
            rate = rate if rule == "hedge" else math.log(K) / delta if delta > 0 else math.inf
            w = (total == total.min()).astype(float) if rate == math.inf else np.exp(-rate * (total - total.min()))
            w /= w.sum()
        W.append(w.copy())
        h, before = w @ loss, total.min()
        total = total + loss
        if rule == "adahedge":
            mix = total.min() - before if rate == math.inf else -math.log(w @ np.exp(-rate * loss)) / rate
            delta += max(0.0, h - mix)
        if rule in ("fixed_share", "bayes"):
            rate = eta or (1.0 if rule == "bayes" else 0.05)
            mass = w @ np.exp(-rate * loss)
            h = -math.log(mass) / rate if rule == "bayes" else h
            w = w * np.exp(-rate * loss) / mass
            share = alpha if alpha is not None else 0.0 if rule == "bayes" else 1 / (t + 1)
            w = (1 - share) * w + share * (1 - w) / (K - 1)
        paid += h
    return np.array(W), paid, total


@pytest.mark.parametrize("rule", RULES)
def test_weights_are_those_of_the_formulas(rule):
    L = np.random.default_rng(1).random((60, 4))
    for given in ({}, {"eta": 0.7}, {"alpha": 0.05}):
        m = nr.Experts(rule=rule, **given)
        W, paid, total = transcribed(L, rule, **(given if rule != "adahedge" else {}))
        np.testing.assert_allclose(m.learn_many(L), W, atol=1e-10)
        np.testing.assert_allclose(m.losses_, total, rtol=1e-12)
        assert m.paid_ == pytest.approx(paid, rel=1e-10)


# ---- bounds --------------------------------------------------------------------------------------------------------------
def sequences(n, seed):
    """Yield losses: random, 0 or 1, drifting, and against whoever has most weight."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        T, K = int(rng.integers(1, 80)), int(rng.integers(1, 7))
        L = rng.random((T, K))
        yield (L, (rng.random(K) > L).astype(float), np.where(np.arange(T)[:, None] % 20 < 10, L, L[:, ::-1]), None)[i % 4], rng


def adversarial(m, rng, T=25, K=3):
    """Let the heaviest expert lose every round."""
    for _ in range(T):
        losses = rng.random(K) * 0.2
        losses[int(np.argmax(m.weights_)) if m.started else 0] = 1.0
        m.learn_one(losses)


@pytest.mark.parametrize("rule", RULES)
def test_regret_stays_below_the_bound(rule):
    reached = 0.0
    for i, (L, rng) in enumerate(sequences(1000, 5)):
        m = nr.Experts(
            rule=rule, **({"eta": float(rng.random() + 0.01)} if i % 8 == 3 and rule in ("hedge", "fixed_share") else {})
        )
        if L is None:
            adversarial(m, rng)
        else:
            m.learn_many(L)
        assert m.regret_ <= m.bound_ * (1 + 1e-9) + 1e-9, (i, m)
        reached = max(reached, m.regret_ / m.bound_ if m.bound_ > 1e-9 else 0.0)
    assert reached > 0.2  # the sequences are hard enough to tell


def test_losses_of_any_range():
    L = np.random.default_rng(2).normal(size=(200, 3)) * 50
    m = nr.Experts()
    m.learn_many(L)
    assert m.regret_ <= m.bound_ < math.inf
    scaled = nr.Experts()
    np.testing.assert_allclose(scaled.learn_many(3 * L + 7), nr.Experts().learn_many(L), atol=1e-8)
    wide = nr.Experts(rule="hedge")
    wide.learn_many(L)
    assert wide.bound_ == math.inf  # its theorem is for losses that differ by at most 1
    shifted = nr.Experts(rule="hedge")
    shifted.learn_many(np.random.default_rng(3).random((50, 3)) + 100.0)
    assert shifted.regret_ <= shifted.bound_ < math.inf


@pytest.mark.parametrize("rule", RULES)
def test_an_expert_that_joins_late_begins_with_the_loss_of_the_whole(rule):
    rng = np.random.default_rng(7)
    for i in range(60):
        m = nr.Experts(rule=rule, eta=0.3 if rule == "hedge" else None)
        m.learn_many(rng.random((int(rng.integers(1, 40)), 3)))
        before = m.paid_
        m.join()
        assert m.losses_[3] == before
        assert len(m.weights_) == 4
        assert m.weights_.sum() == pytest.approx(1.0)
        m.learn_many(rng.random((40, 4)) * [1, 1, 1, 0.2 * (i % 3)])
        assert m.regret_ <= m.bound_ + 1e-9
    late = nr.Experts(rule="hedge")
    late.learn_many(rng.random((5, 2)))
    assert late.join().bound_ == math.inf  # the rate changes with the number of experts


# ---- advice --------------------------------------------------------------------------------------------------------------
def test_advice_and_truth():
    rng = np.random.default_rng(4)
    y = rng.random(80)
    A = np.clip(y[:, None] + rng.normal(0, [0.05, 0.3], (80, 2)), 0, 1)
    for loss, cost in (("square", lambda p: (p - y) ** 2), ("absolute", lambda p: abs(p - y))):
        m = nr.Experts(["near", "far"], loss=loss)
        said = m.learn_many(A, y)
        np.testing.assert_allclose(m.losses_, cost(A.T).sum(1), rtol=1e-12)
        assert cost(said).sum() <= m.paid_ + 1e-9  # the loss is convex
        assert m.weights_[0] > 0.9
        assert m.predict_one({"far": 0.0, "near": 1.0}) == pytest.approx(m.weights_[0])
    square = nr.Experts(loss="square")
    assert ((square.learn_many(A, y) - y) ** 2).sum() == pytest.approx(square.paid_)


def test_zero_one_advice_is_a_vote():
    A = np.array([[0, 1, 1], [2, 1, 1], [2, 1, 1], [2, 1, 1]], float)
    m = nr.Experts(loss="zero_one")
    assert m.learn_many(A, [1, 2, 2, 2]).tolist()[:2] == [1.0, 1.0]
    assert m.losses_.tolist() == [1.0, 3.0, 3.0]
    assert m.predict_one([5, 1, 1]) == 5.0


# ---- calls, files, copies ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rule", RULES)
def test_any_split_and_a_file_give_the_same_bits(rule, tmp_path):
    L = np.random.default_rng(6).random((50, 3))
    whole = nr.Experts(["a", "b", "c"], rule=rule)
    whole.learn_many(L)
    parts = nr.Experts(["a", "b", "c"], rule=rule)
    for row in L[:7]:
        parts.learn_one(dict(zip("cba", row[::-1], strict=True)))
    parts.partial_fit(L[7:20])
    parts.save(tmp_path / "e.nr")
    parts = nr.load(tmp_path / "e.nr")
    parts.learn_many(L[20:])
    assert parts.digest() == whole.digest()
    assert parts.join("d").names_ == ["a", "b", "c", "d"]
    assert nr.from_bytes(parts.to_bytes()).digest() == parts.digest() != whole.digest()
    assert whole.clone().fit(L).digest() == whole.digest()


@pytest.mark.parametrize("rule", RULES)
def test_laws(rule):
    """Permuted experts get permuted weights; interpreted rounds are compiled ones; noise leaves weights on the simplex."""
    rng = np.random.default_rng(8)
    L, order = rng.random((40, 4)), [2, 0, 3, 1]
    W = nr.Experts(rule=rule).learn_many(L)
    np.testing.assert_allclose(nr.Experts(rule=rule).learn_many(L[:, order]), W[:, order], atol=1e-12)
    with compiling.interpreted():
        assert np.array_equal(nr.Experts(rule=rule).learn_many(L), W)
    m = nr.Experts(rule=rule)
    W = m.learn_many(rng.random((100_000, 3)))
    assert np.isfinite(W).all()
    assert W.min() >= 0.0
    np.testing.assert_allclose(W.sum(1), 1.0, atol=1e-12)
    assert m.regret_ <= m.bound_ * (1 + 1e-9)


def test_reading_back_changes_nothing():
    m = nr.Experts(2, loss="square")
    m.learn_many([[0.1, 0.9], [0.2, 0.8]], [0, 0])
    was = m.digest()
    _ = m.weights_, m.paid_, m.regret_, m.bound_, m.predict([[0.5, 0.5]]), m.losses_
    m.losses_[0] = 7.0
    assert m.digest() == was


# ---- what is refused -------------------------------------------------------------------------------------------------------
def refuses(m, message, *round_):
    was = m.digest()
    with pytest.raises((ValueError, TypeError), match=message):
        m.learn_one(*round_)
    assert m.digest() == was


def test_bad_rounds_name_round_and_expert():
    m = nr.Experts(["a", "b"])
    refuses(m, "expected 2 experts, got 3", [1, 2, 3])
    m.learn_one([0.1, 0.2])
    refuses(m, "expert 'b' of round 2 is nan", [0.1, math.nan])
    refuses(m, "expected 2 experts in every round, got 3", [1, 2, 3])
    refuses(m, "'b' is missing and expert 'x' is new", {"a": 1.0, "x": 2.0})
    refuses(m, "give loss='square'", [0.1, 0.2], 1.0)
    log = nr.Experts(2, rule="bayes", loss="log")
    log.learn_one([0.5, 0.5], 1)
    refuses(log, r"expert 1 of round 2 says 1.2; expected a probability within \[0, 1\]", [0.5, 1.2], 1)
    refuses(log, "the truth of round 2 is 2.0; expected 0 or 1", [0.5, 0.5], 2)
    refuses(log, "advice and the truth", [0.5, 0.5])
    hedge = nr.Experts(2, rule="hedge", loss="square")
    refuses(hedge, r"expert 0 of round 1 says -0.5; expected advice for the square loss", [-0.5, 0.5], 1)
    free = nr.Experts(2, loss="square")
    assert free.learn_one([-5.0, 5.0], 1.0) == 0.0  # AdaHedge needs no range


def test_wrong_parameters_are_refused():
    for given, message in (
        ({"rule": "follow"}, "rule must be one of"),
        ({"loss": "hinge"}, "loss must be None or one of"),
        ({"rule": "bayes", "loss": "square"}, "mixes probabilities"),
        ({"eta": -1.0, "rule": "hedge"}, "eta must be in"),
        ({"alpha": 1.0, "rule": "fixed_share"}, "alpha must be in"),
        ({"experts": 0}, "experts must be their number or a list of their names"),
        ({"experts": ["a", "a"]}, "'a' comes twice"),
    ):
        with pytest.raises(ValueError, match=message):
            nr.Experts(**given).learn_one([0.1, 0.2], *([1.0] if "loss" in given else []))
    with pytest.raises(ValueError, match="has learned nothing yet"):
        _ = nr.Experts(2).weights_
    with pytest.raises(ValueError, match="the experts have no names"):
        nr.Experts(2).fit([[0.1, 0.2]]).join("c")


def test_advice_that_is_no_class_or_too_large_to_add_up_is_refused():
    m = nr.Experts(2, loss="zero_one")
    with pytest.raises(ValueError, match="expert 1 of round 1 says 0.6; expected the number of a class"):
        m.learn_one([1.0, 0.6], 1)
    with pytest.raises(ValueError, match="the truth of round 1 is 0.5; expected the number of a class"):
        m.learn_one([1.0, 0.0], 0.5)
    assert m.held is None
    for loss, y in (("square", 1.0), ("absolute", 1.0)):
        with pytest.raises(ValueError, match="expert 0 of round 1 says 1e[+]200; expected numbers of at most 1e[+]140"):
            nr.Experts(2, loss=loss).learn_one([1e200, 0.0], y)
    with pytest.raises(ValueError, match="the truth of round 1 is -1e[+]200; expected a number of at most 1e[+]140 in size"):
        nr.Experts(2, loss="square").learn_one([1.0, 0.0], -1e200)
    with pytest.raises(ValueError, match="expert 0 of round 1 is 1e[+]300; expected numbers of at most 1e[+]140"):
        nr.Experts(2).learn_one([1e300, 0.0])
