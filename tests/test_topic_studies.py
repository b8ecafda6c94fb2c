"""Topics in the commands, studies and reports: perplexities, words, shares over time, training, proportions of documents."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.cli import main
from noregret.evaluation.measures import topic_portraits
from noregret.evaluation.measures.perplexity import PRIOR, halves
from noregret.inputs.checking import rows as checked
from noregret.streams.plain_text import LinesReader

N, K = 120, 3
GROUPS = [["oil", "barrel", "opec", "crude"], ["goal", "team", "match", "coach"], ["court", "judge", "law", "trial"]]
WORDS = [word for group in GROUPS for word in group]
LDA = "online_lda:K=3,S=16,eta=0.1"
HDP = "online_hdp:K=6,T=3,eta=0.5,S=16"


@pytest.fixture(scope="module")
def counts():
    """Documents of one or two planted topics; a word of the second comes after the half of them."""
    rng = np.random.default_rng(3)
    X = np.zeros((N, len(WORDS)))
    for i, theta in enumerate(rng.dirichlet([0.15] * K, N)):
        for k, n in enumerate(rng.multinomial(14, theta)):
            X[i, 4 * k : 4 * k + 4] += rng.multinomial(n, [0.4, 0.3, 0.2, 0.1])
    X[: N // 2, 7] = 0
    X[5] = 0  # an empty document
    return X


@pytest.fixture(scope="module")
def texts(counts):
    return [" ".join(word for word, n in zip(WORDS, x, strict=True) for _ in range(int(n))) for x in counts]


@pytest.fixture
def lines(texts, tmp_path):
    path = tmp_path / "docs.txt"
    path.write_text("\n".join(texts) + "\n")
    return str(path)


@pytest.fixture
def ldac(counts, tmp_path):
    """Numbers and counts, and the words that the numbers stand for."""
    path, words = tmp_path / "docs.ldac", tmp_path / "words.txt"
    rows = ([(j, int(c)) for j, c in enumerate(x) if c] for x in counts)
    path.write_text("".join(" ".join([str(len(row)), *(f"{j}:{c}" for j, c in row)]) + "\n" for row in rows))
    words.write_text("\n".join(WORDS) + "\n")
    return str(path), str(words)


def run(*args, code=0):
    found = CliRunner().invoke(main, [str(a) for a in args])
    assert found.exit_code == code, found.output + str(found.exception)
    return found.output


# ---- figures ---------------------------------------------------------------------------------------------------------------
def test_perplexities_are_from_before_documents_are_learned(counts, ldac):
    bounds = nr.learner("online_lda", K=3, S=16, eta=0.1).learn_many(csr_matrix(counts))
    tokens = counts.sum(1)
    report = nr.evaluate(ldac[0], LDA, vocabulary=ldac[1], window=20, fading=0.9)
    row = report.learners[0]
    assert row["metrics"]["perplexity"] == pytest.approx(math.exp(-bounds.sum() / tokens.sum()))
    at = np.array(row["curve"]["examples"])
    np.testing.assert_allclose(row["curve"]["perplexity"], np.exp(-np.cumsum(bounds) / np.cumsum(tokens))[at - 1])
    assert row["curve"]["window_perplexity"][-1] == pytest.approx(math.exp(-bounds[-20:].sum() / tokens[-20:].sum()))
    fading = 0.9 ** np.arange(N)[::-1]
    assert row["curve"]["faded_perplexity"][-1] == pytest.approx(math.exp(-(fading @ bounds) / (fading @ tokens)))
    assert (report.data["unit"], report.data["features"], report.data["tokens"]) == ("document", 12, tokens.sum())
    assert row["metrics"]["topics"] == K
    assert "topics" not in row["curve"]  # their number is given


def test_one_document_in_ten_is_completed(counts, ldac):
    m, nats, words = nr.learner("online_lda", K=3, S=16, eta=0.1), 0.0, 0.0
    for i in range(0, N, 10):
        m.partial_fit(csr_matrix(counts[i : i + 9]))
        at = np.flatnonzero(counts[i + 9])
        observed, scored = np.zeros((2, 1, len(WORDS)))
        observed[0, at[::2]], scored[0, at[1::2]] = counts[i + 9, at[::2]], counts[i + 9, at[1::2]]
        nats -= scored.sum() * math.log(m.completion(csr_matrix(observed), csr_matrix(scored))) if scored.any() else 0.0
        words += scored.sum()
        m.partial_fit(csr_matrix(counts[i + 9 : i + 10]))
    row = nr.evaluate(ldac[0], LDA, vocabulary=ldac[1]).learners[0]
    assert row["metrics"]["completion"] == pytest.approx(math.exp(-nats / words))
    every = nr.evaluate(ldac[0], LDA, vocabulary=ldac[1], completion=True).learners[0]
    assert every["metrics"]["perplexity"] == pytest.approx(row["metrics"]["perplexity"])
    assert every["metrics"]["completion"] != row["metrics"]["completion"]
    none = nr.compare(ldac[0], [LDA], vocabulary=ldac[1], completion=False)
    assert none.learners[0]["metrics"]["completion"] is None
    assert none.sort == "perplexity"


def test_halves_are_the_even_and_the_odd_words():
    rows = checked(csr_matrix([[1.0, 2.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0], [0.0, 5.0, 6.0, 0.0]]), "float64")
    even, odd = (csr_matrix((a[2], a[1], a[0]), (3, 4)).toarray() for a in (half.arrays for half in halves(rows)))
    np.testing.assert_array_equal(even, [[1, 0, 0, 3], [0] * 4, [0, 5, 0, 0]])
    np.testing.assert_array_equal(odd, [[0, 2, 0, 0], [0] * 4, [0, 0, 6, 0]])


@pytest.mark.parametrize("fixed", [True, False])
def test_the_baseline_counts_words(counts, ldac, fixed):
    blind = nr.evaluate(ldac[0], LDA, completion=True, **({"vocabulary": ldac[1]} if fixed else {})).data["baselines"][0]
    seen, V, nats, half = np.zeros(12), 12 if fixed else 0, 0.0, [0.0, 0.0]
    for x in counts:
        at, before = np.flatnonzero(x), V
        V = max(V, at.max(initial=-1) + 1)
        nats -= (x * np.log((seen + PRIOR) / (seen.sum() + PRIOR * V)))[at].sum()
        told = [w for w in at[1::2] if w < before]
        half[0] -= sum(x[w] * math.log((seen[w] + PRIOR) / (seen.sum() + PRIOR * before)) for w in told)
        half[1] += x[told].sum()
        seen += x
    assert blind["metrics"]["perplexity"] == pytest.approx(math.exp(nats / counts.sum()))
    assert blind["metrics"]["completion"] == pytest.approx(math.exp(half[0] / half[1]))


def test_figures_do_not_depend_on_batches(lines):
    whole = nr.evaluate(lines, LDA).learners[0]
    parts = nr.evaluate(LinesReader(lines, block=700), LDA).learners[0]
    assert parts["metrics"] == pytest.approx(whole["metrics"], rel=1e-12)
    assert parts["topics"]["late"] == whole["topics"]["late"]
    assert parts["topics"]["top"] == whole["topics"]["top"]


# ---- topics ------------------------------------------------------------------------------------------------------------------
def test_topics_have_words_weights_and_shares_over_time(texts, lines, monkeypatch):
    monkeypatch.setattr(topic_portraits, "LATE", 0.5)
    m = nr.OnlineLDA(K=3, S=16, eta=0.1, tau0=1, D=500, seed=1)
    row = nr.evaluate(lines, m).learners[0]
    found = row["topics"]
    assert {frozenset(w["word"] for w in t["words"][:4]) for t in found["top"]} == {frozenset(group) for group in GROUPS}
    assert sum(t["weight"] for t in found["top"]) == pytest.approx(1.0)
    assert [t["weight"] for t in found["top"]] == sorted((t["weight"] for t in found["top"]), reverse=True)
    word, chance = m.topic(found["top"][0]["topic"], 1)[0]
    assert found["top"][0]["words"][0] == {"word": word.removeprefix("text:"), "probability": pytest.approx(chance)}
    over = found["over_time"]
    assert set(over["series"]) == {t["name"] for t in found["top"]}
    assert over["examples"][-1] == N
    np.testing.assert_allclose(np.sum(list(over["series"].values()), 0), 1.0, atol=1e-4)
    [late] = found["late"]
    assert (late["word"], late["since"]) == ("coach", 1 + next(i for i, t in enumerate(texts) if "coach" in t))
    assert late["count"] == sum(t.split().count("coach") for t in texts)
    assert "goal" in next(t["name"] for t in found["top"] if t["topic"] == late["topic"])


def test_the_number_of_topics_is_followed_where_it_is_found(lines):
    row = nr.evaluate(lines, HDP).learners[0]
    assert row["curve"]["topics"][-1] == row["metrics"]["topics"] == len(row["topics"]["top"])
    assert 2 <= row["metrics"]["topics"] <= 6
    assert row["topics"]["of"] == "expected share"


# ---- sources -----------------------------------------------------------------------------------------------------------------
def test_a_format_or_a_learner_tells_the_task(lines, ldac, tmp_path, counts):
    docword = tmp_path / "docs.docword"
    cells = [f"{i + 1} {j + 1} {int(c)}" for i, x in enumerate(counts) for j, c in enumerate(x) if c]
    docword.write_text("\n".join([str(N), "12", str(len(cells)), *cells]) + "\n")
    for source in (lines, ldac[0], str(docword)):
        report = nr.evaluate(source, K=3)
        assert report.data["task"] == "topics"
        assert "online_lda was taken" in report.notes[0]
    want = nr.evaluate(ldac[0], LDA).learners[0]
    assert nr.evaluate(str(docword), LDA, vocabulary=ldac[1]).learners[0]["topics"]["count"] == want["topics"]["count"]
    assert nr.evaluate(counts, LDA).data["task"] == "topics"
    records = [({w: c for w, c in zip(WORDS, x, strict=True) if c}, None) for x in counts.tolist()]
    assert nr.evaluate(records, LDA).learners[0]["topics"]["late"] == nr.evaluate(lines, LDA).learners[0]["topics"]["late"]


def test_only_columns_of_text_make_words(texts, lines, tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text("\n".join(["label,when,body", *(f"{'ab'[i % 2]},{i},{t}" for i, t in enumerate(texts))]) + "\n")
    want = nr.evaluate(lines, LDA).learners[0]
    for given in ({"text": "body"}, {}, {"target": "label"}):
        report = nr.evaluate(str(path), LDA, **given)
        assert report.learners[0]["metrics"] == pytest.approx(want["metrics"])
        assert report.learners[0]["topics"]["top"] == want["topics"]["top"]
        assert ("No column of text was named: body was taken" in str(report)) == ("text" not in given)
    path.write_text("label,a,b\nx,1,2\ny,3,4\n")
    with pytest.raises(ValueError, match="has no column of text: name it .* one of label, a, b"):
        nr.evaluate(str(path), LDA)
    with pytest.raises(ValueError, match="'numeric' is about other features than words"):
        nr.evaluate(str(path), LDA, numeric="a")


def test_what_is_refused(counts, lines, tmp_path):
    bad = tmp_path / "bad.svm"
    bad.write_text("".join(f"1 1:{i + 1}\n" for i in range(40)) + "1 1:2 2:-3\n")
    told = run("evaluate", bad, "--task", "topics", "--quiet", code=1)
    assert "Error: Negative values in data: word 2 has the count -3 in example 41" in told
    assert "in (0.5, 1], got 0.5" in run("evaluate", lines, "--kappa", "0.5", "--quiet", code=2)
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n")
    assert "has no words: 2 documents, all of them empty" in run("evaluate", empty, "--quiet", code=1)
    with pytest.raises(TypeError, match="no option 'delay' for topics"):
        nr.evaluate(lines, LDA, delay=3)
    with pytest.raises(ValueError, match="pa1 is for classification, and the task is topics"):
        nr.compare(lines, ["online_lda", "pa1"], task="topics")
    with pytest.raises(ValueError, match="T must be from 2 to K=4"):
        nr.compare(counts, [LDA, "online_hdp:K=4,T=9"])


# ---- several -----------------------------------------------------------------------------------------------------------------
def test_compare_and_sweep(lines):
    report = nr.compare(lines, [LDA, HDP])
    assert report.winner == min(report.learners, key=lambda row: row["metrics"]["completion"])["label"]
    assert report.learners[0]["metrics"] == nr.evaluate(lines, LDA).learners[0]["metrics"]
    grid = nr.sweep(lines, "online_lda", K=[2, 3], S=16, eta=0.1)
    assert [row["setting"] for row in grid.learners] == [{"K": 2}, {"K": 3}]
    assert grid.winner == "online_lda K=3"
    sized = nr.compare(lines, [HDP, "online_lda:S=16,eta=0.1"], K=3)
    assert [row["params"]["K"] for row in sized.learners] == [6, 3]


def test_small_priors_make_new_words_dear(lines):
    report = nr.evaluate(lines, "online_lda:K=3,S=16,eta=0.001")
    assert report.learners[0]["metrics"]["perplexity"] > report.data["baselines"][0]["metrics"]["perplexity"]
    assert "completion leaves them out" in report.notes[-1]


# ---- commands ----------------------------------------------------------------------------------------------------------------
def test_commands(lines, ldac, tmp_path):
    small = ("--K", 3, "-S", 16, "--eta", 0.1)
    one = json.loads(run("evaluate", lines, *small, "--json", "--quiet"))
    assert (one["model"], one["params"]["K"], one["data"]["task"]) == ("online_lda", 3, "topics")
    named = json.loads(run("evaluate", ldac[0], "--vocabulary", ldac[1], "--task", "topics", *small, "--json", "--quiet"))
    assert {w["word"] for t in named["topics"]["top"] for w in t["words"]} <= {*WORDS}
    two = json.loads(run("compare", lines, "-m", f"online_lda:S=16,eta=0.1,{HDP}", "--K=3", "--json", "--quiet"))
    assert [row["params"]["K"] for row in two["learners"]] == [3, 6]
    grid = json.loads(run("sweep", lines, "-m", "online_lda", "--K", "2,3", "-S", 16, "--json", "--quiet", "--no-completion"))
    assert grid["data"]["swept"] == {"K": [2, 3]}
    out = run("evaluate", lines, *small, "--stop-words", "english", "--min-count", 2, "--quiet", "--csv", tmp_path / "f.csv")
    assert "completion perplexity" in out
    assert "gap of" in out
    assert "gap of" not in run("evaluate", lines, *small, "--no-gap", "--quiet")
    head, _, blind = (tmp_path / "f.csv").read_text().splitlines()
    assert "metrics.perplexity,metrics.completion,metrics.topics" in head
    assert "topics.top" not in head
    assert "(words so far)" in blind
    run("evaluate", lines, *small, "--quiet", "--curves", tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text().startswith("label,model,examples,perplexity,completion")
    assert "it is an option of online_hdp, online_lda" in run("evaluate", "synthetic:linear?n=9", "-K", 3, code=2)
    assert run("algorithms", "--task", "topics").count("online_") == 2


def test_train_stops_in_a_batch_and_resumes_bit_for_bit(texts, lines, tmp_path):
    whole, path = tmp_path / "whole.nr", tmp_path / "part.nr"
    nr.train(lines, LDA, save=whole, min_count=2)
    done = nr.train(LinesReader(lines, block=700), LDA, save=path, min_count=2, stop=lambda: True)
    assert not done.finished
    assert nr.load(path).n_pending_ > 0
    said = run("train", lines, "--save", path, "--resume")
    assert "online_lda learned 120 documents: 3 topics of 12 words, 7 documents waiting for a batch" in said
    assert nr.load(path).learner.digest() == nr.load(whole).learner.digest()
    for name, part in (("a", texts[:61]), ("b", texts[61:])):
        (tmp_path / f"{name}.txt").write_text("\n".join(part) + "\n")
    run("train", tmp_path / "a.txt", "--K", 3, "-S", 16, "--eta", 0.1, "--min-count", 2, "--save", tmp_path / "c.nr")
    run("train", tmp_path / "b.txt", "--save", tmp_path / "c.nr", "--continue")
    assert nr.load(tmp_path / "c.nr").learner.digest() == nr.load(whole).learner.digest()


def test_predict_writes_proportions(counts, ldac, tmp_path):
    path = tmp_path / "m.nr"
    run("train", ldac[0], "--vocabulary", ldac[1], "-m", LDA, "--save", path)
    m = nr.load(path)
    m.model.features.names = None  # arrays have none
    Z = m.transform(csr_matrix(counts))
    rows = [line.split("\t") for line in run("predict", ldac[0], "--model-file", path, "--quiet").splitlines()]
    assert [int(row[0]) for row in rows] == Z.argmax(1).tolist()
    np.testing.assert_allclose([[float(v) for v in row[1:]] for row in rows], Z, atol=1e-6)
    csv = run("predict", ldac[0], "--model-file", path, "--as", "csv", "--scores", "--limit", 4, "--quiet").splitlines()
    assert csv[0] == "prediction,topic 0,topic 1,topic 2,perplexity"
    assert float(csv[4].split(",")[-1]) == pytest.approx(m.perplexity(csr_matrix(counts[3:4])))
    found = json.loads(run("predict", ldac[0], "--model-file", path, "--json"))
    assert found["rows"] == N
    assert found["perplexity"] == pytest.approx(m.perplexity(csr_matrix(counts)))
    assert list(found["predictions"][0]["proportions"]) == ["0", "1", "2"]
    assert "120 documents, perplexity" in run("predict", ldac[0], "--model-file", path)
    assert "proportions of topics: leave out --proba" in run("predict", ldac[0], "--model-file", path, "--proba", code=2)
    assert "Missing argument" in run("predict", "--model-file", path, code=2)
    other = tmp_path / "other.txt"
    other.write_text("\n".join(reversed(WORDS)))
    said = run("predict", ldac[0], "--model-file", path, "--vocabulary", other, code=1)
    assert "vocabulary is not that of the model: word 0 is 'trial', and was 'oil'. Leave it out" in said


def test_predict_takes_other_tables(texts, lines, tmp_path):
    path, table = tmp_path / "m.nr", tmp_path / "new.csv"
    run("train", lines, "-m", LDA, "--save", path)
    want = run("predict", lines, "--model-file", path, "--quiet").splitlines()[:3]
    table.write_text("\n".join(["key,text", *(f"k{i},{t} unheard" for i, t in enumerate(texts[:3]))]) + "\n")
    assert run("predict", table, "--model-file", path, "--quiet").splitlines() == want
    named = run("predict", table, "--model-file", path, "--id", "key", "--quiet").splitlines()
    assert [line.split("\t")[0] for line in named] == ["k0", "k1", "k2"]


@pytest.mark.parametrize("model", [LDA, HDP])
def test_inspect_names_words(lines, tmp_path, model):
    path = tmp_path / "m.nr"
    nr.train(lines, model, save=path)
    found = json.loads(run("inspect", path, "--json", "--top", 3))
    m = nr.load(path).learner
    assert found["topics"] == len(found["found"]) == (m.n_topics_ if hasattr(m, "n_topics_") else K)
    for row in found["found"]:
        assert [f"text:{w['word']}" for w in row["words"]] == [word for word, _ in m.topic(row["topic"], 3)]
    text = run("inspect", path)
    assert "120 documents: " in text
    assert "documents waiting for a batch" in text.replace("\n            ", " ")
    assert "words, with their probability in %" in text
    assert "text:" not in text.rpartition("probability in %")[2]


# ---- the page and plots --------------------------------------------------------------------------------------------------------
def test_the_page_shows_topics(lines, tmp_path):
    report = nr.compare(lines, [LDA, HDP], window=20)
    page = report.to_html()
    assert page.count('aria-label="topics over time"') == 2
    assert "Words that came late" in page
    assert page.count("the same model after 10 passes") == 2
    assert ">coach</th>" in page
    assert '"one":"a document"' in page
    assert '"key":"topics"' in page
    assert "text:oil" not in page
    again = nr.Report.from_dict(json.loads(report.to_json()))
    assert again.to_html() == page
    for what in (None, "topics over time", "perplexity", "completion", "topics"):
        report.plot(tmp_path / f"{what}.png", what)
        assert (tmp_path / f"{what}.png").read_bytes()[:4] == b"\x89PNG"
    nr.sweep(lines, "online_lda", K=[2, 3], S=16).plot(tmp_path / "sweep.png")
    odd = nr.evaluate([({"<b>": 2.0, "&": 1.0}, None), ({"<b>": 1.0}, None)], LDA).to_html()
    assert "<b>" not in odd


def test_a_study_can_be_stopped(lines):
    report = nr.evaluate(LinesReader(lines, block=700), LDA, stop=lambda: True)
    assert report.data["examples"] < N
    assert "Interrupted after" in report.notes[0]
