"""Studies of topic models: perplexity from before, completion, words by their counts, the gap to ten passes."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.evaluation.measures import perplexity as documents
from noregret.evaluation.runs import topic_study
from noregret.inputs import checking

N, V = 90, 12


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return rng.poisson(rng.dirichlet([0.1] * 3, N) @ rng.dirichlet([0.3] * V, 3) * 20.0).astype(float)


def make():
    return nr.OnlineLDA(K=3, S=10)


def completed(X, every=10):
    """Every tenth document, completed with what was learned before it."""
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
    report = nr.evaluate(rows, make(), window=20)
    row = report.learners[0]
    assert row["metrics"]["perplexity"] == pytest.approx(np.exp(-bounds.sum() / rows.sum()))
    assert row["metrics"]["completion"] == pytest.approx(completed(rows))
    assert row["curve"]["examples"][-1] == row["examples"] == N
    last = row["curve"]["window_perplexity"][-1]
    assert last == pytest.approx(np.exp(-bounds[-20:].sum() / rows[-20:].sum()))
    all_ = nr.evaluate(rows, make(), figures="completion", gap=False).learners[0]
    assert all_["metrics"]["completion"] == pytest.approx(completed(rows, 1))
    assert all_["metrics"]["perplexity"] == pytest.approx(row["metrics"]["perplexity"])
    assert "gap" not in all_
    assert report.data["unit"] == "document"
    assert report.data["words"] == rows.sum()


def test_words_by_their_counts(rows):
    counts, nats = np.zeros(V), 0.0
    for i, x in enumerate(rows):
        known = max((np.flatnonzero(r).max() + 1 for r in rows[: i + 1] if r.any()), default=0)
        p = (counts[:known] + 0.01) / (counts.sum() + 0.01 * known)
        nats -= (x[:known] * np.log(p)).sum()
        counts += x
    blind = nr.evaluate(rows, make(), gap=False).data["baselines"][0]
    assert blind["metrics"]["perplexity"] == pytest.approx(np.exp(nats / rows.sum()))


def test_the_gap_is_to_ten_passes(rows, monkeypatch):
    row = nr.evaluate(rows, make()).learners[0]
    after = make().fit(rows, epochs=10)
    assert row["gap"]["perplexity"] == pytest.approx(after.perplexity(rows))
    assert row["gap"]["average"] == pytest.approx(np.log(row["metrics"]["perplexity"] / after.perplexity(rows)))
    assert row.get("regret") is None
    text = str(nr.evaluate(rows, make()))
    assert "nats a word to the same model after 10 passes" in " ".join(text.split())
    assert "regret" not in text
    monkeypatch.setattr(topic_study, "SOON", 10)
    assert "ask with gap=True" in nr.evaluate(rows, make()).notes[0]
    assert "gap" in nr.evaluate(rows, make(), gap=True).learners[0]


def test_sources_of_documents(rows):
    bounds = make().learn_many(rows)
    expected = np.exp(-bounds.sum() / rows.sum())
    for source in (csr_matrix(rows), rows.tolist(), (rows, np.arange(N) % 2)):
        m = make()
        found = nr.evaluate(source, m, gap=False).learners[0]["metrics"]["perplexity"]
        assert m.n_seen_ == N
        assert found == pytest.approx(expected, rel=0.2)  # sparse sources let words come late
    texts = ["free money now", "lunch at noon", "", "money for lunch"] * 5
    found = [nr.evaluate(source, nr.OnlineLDA(K=2, S=4), gap=False) for source in (texts, [t.split() for t in texts])]
    assert found[0].learners[0]["metrics"] == found[1].learners[0]["metrics"]
    assert {*found[0].learners[0]["topics"][0]["words"]} <= {"free", "money", "now", "lunch", "at", "noon", "for"}
    m = nr.pipeline(nr.Text("body"), nr.OnlineLDA(K=2, S=4))
    nr.evaluate([{"body": t} for t in texts], m, gap=False)
    assert m.transform([{"body": "free lunch"}]).shape == (1, 2)
    assert m.learner.topics(1)[0][0].startswith("body:")


def test_several(rows, tmp_path):
    report = nr.compare(rows, ["online_lda:K=3,S=10", "online_hdp:K=6,T=3,S=10,eta=0.1"], gap=False)
    assert [row["model"] for row in report.learners] == ["online_lda", "online_hdp"]
    assert "Perplexity of documents" in report.to_html()
    swept = nr.sweep(rows, "online_lda", K=[2, 3], S=10, gap=False)
    assert {row["setting"]["K"] for row in swept.learners} == {2, 3}
    done = nr.train(rows, make(), save=tmp_path / "m.nr")
    assert nr.load(tmp_path / "m.nr").n_pending_ == done.model.n_pending_


def test_bad_options(rows):
    with pytest.raises(TypeError, match="no option 'delay' for topics"):
        nr.evaluate(rows, make(), delay=3)
    with pytest.raises(ValueError, match="pa1 is for classification, and the task is topics"):
        nr.compare(rows, ["online_lda", "pa1"], task="topics")
    with pytest.raises(ValueError, match="word 1 has the count -2 in example 4"):
        nr.evaluate(np.where(np.arange(N * V).reshape(N, V) == 3 * V + 1, -2.0, rows), make())


def test_halves():
    rows = documents.halves(checking.rows(np.array([[1.0, 0, 2, 3], [0, 0, 0, 0], [0, 5, 0, 0]]), "float64"))
    even, odd = (csr_matrix((r.arrays[2], r.arrays[1], r.arrays[0]), shape=(3, 4)).toarray().tolist() for r in rows)
    assert even == [[1, 0, 0, 3], [0, 0, 0, 0], [0, 5, 0, 0]]
    assert odd == [[0, 0, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
