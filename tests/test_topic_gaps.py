"""Figures of topic models in studies of documents in memory: perplexity and completion from before, the gap to ten passes."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.evaluation.runs import topic_study

N, V = 90, 12


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return rng.poisson(rng.dirichlet([0.1] * 3, N) @ rng.dirichlet([0.3] * V, 3) * 20.0).astype(float)


def make():
    return nr.OnlineLDA(K=3, S=10)


def completed(X, every):
    """The perplexity of words at odd places, given those at even places and what was learned before."""
    m, likelihood, words = make(), 0.0, 0.0
    for i, x in enumerate(X):
        if i % every == every - 1 and m.started:
            at = np.flatnonzero(x)
            even, odd = np.zeros(V), np.zeros(V)
            even[at[::2]], odd[at[1::2]] = x[at[::2]], x[at[1::2]]
            if odd.any():
                likelihood -= odd.sum() * np.log(m.completion([even], [odd]))
                words += odd.sum()
        m.learn_one(x)
    return np.exp(-likelihood / words)


def test_figures_are_those_from_before(rows):
    bounds = make().learn_many(rows)
    row = nr.evaluate(rows, make(), window=20).learners[0]
    assert row["metrics"]["perplexity"] == pytest.approx(np.exp(-bounds.sum() / rows.sum()))
    assert row["metrics"]["completion"] == pytest.approx(completed(rows, 10))
    assert row["curve"]["examples"][-1] == row["examples"] == N
    assert row["curve"]["window_perplexity"][-1] == pytest.approx(np.exp(-bounds[-20:].sum() / rows[-20:].sum()))
    all_ = nr.evaluate(rows, make(), completion=True, gap=False).learners[0]
    assert all_["metrics"]["completion"] == pytest.approx(completed(rows, 1))
    assert "gap" not in all_


def test_the_gap_is_to_ten_passes(rows, monkeypatch):
    report = nr.evaluate(rows, make())
    row, after = report.learners[0], make().fit(rows, epochs=10)
    assert row["gap"]["perplexity"] == pytest.approx(after.perplexity(rows))
    assert row["gap"]["average"] == pytest.approx(np.log(row["metrics"]["perplexity"] / after.perplexity(rows)))
    assert row.get("regret") is None
    assert "nats a word to the same model after 10 passes" in " ".join(str(report).split())
    monkeypatch.setattr(topic_study, "SOON", 10)
    assert any("Ask for it (gap=True, --gap)" in note for note in nr.evaluate(rows, make()).notes)
    assert "gap" in nr.evaluate(rows, make(), gap=True).learners[0]


def test_documents_in_memory(rows):
    expected = nr.evaluate(rows, make(), gap=False).learners[0]["metrics"]["perplexity"]
    assert nr.evaluate(rows.tolist(), make(), gap=False).learners[0]["metrics"]["perplexity"] == expected
    found = nr.evaluate(csr_matrix(rows), make(), gap=False).learners[0]["metrics"]["perplexity"]
    assert found == pytest.approx(expected, rel=0.2)  # sparse sources let words come late
    texts = ["free money now", "lunch at noon", "", "money for lunch"] * 5
    found = [nr.evaluate(source, nr.OnlineLDA(K=2, S=4), gap=False) for source in (texts, [t.split() for t in texts])]
    assert found[0].learners[0]["metrics"] == found[1].learners[0]["metrics"]
    with pytest.raises(ValueError, match="word 1 has the count -2 in example 4"):
        nr.evaluate(np.where(np.arange(N * V).reshape(N, V) == 3 * V + 1, -2.0, rows), make())
