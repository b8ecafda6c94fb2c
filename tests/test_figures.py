"""Figures of one pass against scikit-learn, the compiled losses and plain sums; the split of a stream does not show."""

import copy
import json
import math
from itertools import pairwise

import numpy as np
import pytest
from sklearn import metrics as sk

from noregret.evaluation.kinds import KINDS, along, by_rounds
from noregret.evaluation.measures import auc, figures
from noregret.evaluation.measures.figures import ClassFigures, RealFigures, class_losses, real_losses
from noregret.evaluation.measures.novelty import NoveltyFigures
from noregret.inputs.labels import Labels
from noregret.learners.learner import Progress
from noregret.parts import losses as parts


def binary(n=4000, seed=0, positive=1, coarse=False):
    r = np.random.default_rng(seed)
    y = r.integers(0, 2, n)
    f = r.normal(np.where(y == positive, 0.7, -0.5), 1.3)
    f = np.round(f * 4) / 4 if coarse else f
    said = np.where(f > 0, positive, 1 - positive)
    return y, said, f[:, None], r.uniform(0.2, 3.0, n)


def many(n=3000, K=5, seed=0):
    r = np.random.default_rng(seed)
    y = r.choice(K, n, p=np.arange(1, K + 1) / (K * (K + 1) / 2))
    f = r.standard_normal((n, K)) + 1.2 * (np.arange(K) == y[:, None])
    return y, f.argmax(axis=1), f, r.uniform(0.2, 3.0, n)


def fill(fig, parts, cuts=(), seen=None):
    n = len(parts[0])
    edges = [0, *cuts, n]
    for a, b in pairwise(edges):
        rest = {} if seen is None else {"seen": seen[a:b]}
        fig.add(*(None if p is None else p[a:b] for p in parts), **rest)
    return fig


def near(a, b, tolerance=1e-12):
    assert a == pytest.approx(b, rel=tolerance, abs=tolerance)


def check_classes(m, y, said, c):
    near(m["accuracy"], sk.accuracy_score(y, said, sample_weight=c))
    near(m["balanced_accuracy"], sk.balanced_accuracy_score(y, said, sample_weight=c))
    near(m["kappa"], sk.cohen_kappa_score(y, said, sample_weight=c))
    near(m["mcc"], sk.matthews_corrcoef(y, said, sample_weight=c))
    near(m["f1_macro"], sk.f1_score(y, said, average="macro", sample_weight=c))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("labels", [["a", "b"], ["b", "a"]])
def test_two_classes_as_scikit_learn(weighted, positive, labels):
    y, said, f, c = binary(positive=positive)
    c = c if weighted else None
    d = fill(ClassFigures(positive=positive), (y, said, f, c), (0, 1, 900, 2500)).to_dict(labels)
    names = np.array(labels)
    m = d["metrics"]
    check_classes(m, names[y], names[said], c)
    for ours, theirs in (("f1", sk.f1_score), ("precision", sk.precision_score), ("recall", sk.recall_score)):
        near(m[ours], theirs(names[y], names[said], pos_label="b", sample_weight=c))
    p = 1.0 / (1.0 + np.exp(-f[:, 0]))
    near(d["losses"]["log"], sk.log_loss(y == positive, p, sample_weight=c))
    near(m["auc"], sk.roc_auc_score(y == positive, f[:, 0], sample_weight=c))
    assert d["examples"] == 4000
    assert d["mistakes"] == (y != said).sum()
    near(d["error"], 1.0 - m["accuracy"])
    near(d["losses"]["hinge"], sk.hinge_loss(y == positive, f[:, 0], sample_weight=c))
    near(np.array(d["confusion"]["counts"]), sk.confusion_matrix(names[y], names[said], labels=["a", "b"], sample_weight=c))
    assert d["confusion"]["labels"] == ["a", "b"]
    assert isinstance(d["confusion"]["counts"][0][0], float if weighted else int)
    json.dumps(d)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("K", [3, 5, 20, 21])
def test_many_classes_as_scikit_learn(weighted, K):
    y, said, f, c = many(K=K)
    c = c if weighted else None
    d = fill(ClassFigures(), (y, said, f, c), (700, 701)).to_dict(list(range(K)))
    m = d["metrics"]
    check_classes(m, y, said, c)
    near(m["f1"], sk.f1_score(y, said, average="macro", sample_weight=c))
    near(m["precision"], sk.precision_score(y, said, average="macro", sample_weight=c))
    near(m["recall"], sk.recall_score(y, said, average="macro", sample_weight=c))
    p = np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
    near(d["losses"]["log"], sk.log_loss(y, p, sample_weight=c))
    if K <= 20:
        near(m["auc"], np.mean([sk.roc_auc_score(y == k, f[:, k], sample_weight=c) for k in range(K)]))
    else:
        assert m["auc"] is None


def test_more_classes_than_the_table_holds():
    r = np.random.default_rng(0)
    y = r.integers(0, 400, 5000)
    said = np.where(r.random(5000) < 0.4, y, r.integers(-1, 400, 5000))
    y[:2000], said[:2000] = y[:2000] % 30, np.minimum(said[:2000], 29)
    f = np.zeros((5000, 400))
    fig = fill(ClassFigures(), (y, said, f, None), (2000, 3500))
    check = ClassFigures()
    old, figures.TABLE_CLASSES = figures.TABLE_CLASSES, 1000
    try:
        fill(check, (y, said, f, None), (2000,))
    finally:
        figures.TABLE_CLASSES = old
    assert fig.confusion() is None
    assert fig.normalised_confusion() is None
    assert fig.metrics() == check.metrics()
    near(fig.metrics()["mcc"], sk.matthews_corrcoef(y, said))
    near(fig.metrics()["f1"], sk.f1_score(y, said, average="macro", labels=np.arange(400)))
    head = fill(ClassFigures(), (y[:2000], said[:2000], f[:2000], None))
    head += fill(ClassFigures(), (y[2000:], said[2000:], f[2000:], None))
    for name, v in check.metrics().items():
        assert head.metrics()[name] is None if v is None else head.metrics()[name] == pytest.approx(v, rel=1e-12)


def test_rows_without_an_answer_are_mistakes():
    y, said = np.array([0, 0, 1, 1, 1]), np.array([-1, 0, 0, 1, 1])
    fig = ClassFigures()
    fig.add(y, said, np.array([[0.0], [-1.0], [-2.0], [1.0], [3.0]]))
    d = fig.to_dict(["no", "yes"])
    assert d["mistakes"] == 2
    assert d["error"] == pytest.approx(0.4)
    assert d["confusion"]["counts"] == [[1, 0], [1, 2]]
    assert d["confusion"]["no_answer"] == [1, 0]
    near(d["metrics"]["kappa"], sk.cohen_kappa_score(y, said))
    near(d["metrics"]["mcc"], sk.matthews_corrcoef(y, said))
    near(d["metrics"]["recall"], 2 / 3)
    near(d["metrics"]["f1_macro"], sk.f1_score(y, said, labels=[0, 1], average="macro"))


def test_the_column_normalised_table_of_the_sheet():
    y, said = np.array([0, 0, 0, 1, 1, 2, 2, 2]), np.array([0, 0, 1, 1, 1, 2, 0, 2])
    fig = ClassFigures()
    fig.add(y, said, np.zeros((8, 3)))
    near(fig.normalised_confusion(), np.array([[2 / 3, 0, 1 / 3], [1 / 3, 1, 0], [0, 0, 2 / 3]]))
    assert fig.confusion(["a", "b", "c"])["counts"] == sk.confusion_matrix(y, said).tolist()
    near(fig.normalised_confusion(["c", "a", "b"])[:, 0], np.array([1.0, 0.0, 0.0]))
    assert np.isnan(fig.normalised_confusion([0, 1, 2, 3])[:, 3]).all()


def test_nothing_and_one_class():
    assert ClassFigures(window=3, fading=0.9).to_dict([])["error"] is None
    assert ClassFigures().to_dict(["a", "b"])["metrics"]["f1"] is None
    assert ClassFigures(window=3).now() == {"examples": 0, "error": None, "loss": None, "window_error": None, "window_loss": None}
    assert RealFigures().to_dict()["metrics"] == {"mae": None, "rmse": None, "r2": None, "bias": None}
    fig = ClassFigures()
    fig.add(np.zeros(4, int), np.zeros(4, int), np.ones((4, 1)) * -1)
    m = fig.metrics(["a"])
    assert (m["accuracy"], m["auc"], m["kappa"], m["mcc"]) == (1.0, None, None, 0.0)


# ---- losses ----------------------------------------------------------------------------------------------------------
def test_losses_are_those_of_the_learners():
    r = np.random.default_rng(1)
    f = np.concatenate([r.normal(0, 3, 200), [0.0, 1.0, -1.0, 800.0, -800.0]])
    y = r.integers(0, 2, len(f))
    for name, kind in parts.CLASSIFICATION.items():
        for positive in (0, 1):
            sign = np.where(y == positive, 1.0, -1.0)
            expected = [parts.value(kind(), s, t) for s, t in zip(f, sign)]
            np.testing.assert_allclose(class_losses(name, y, f[:, None], None, positive), expected, rtol=1e-14)
    target = r.normal(0, 3, len(f))
    for name, kind in parts.REGRESSION.items():
        loss = kind(0.3) if "epsilon" in name else kind()
        np.testing.assert_allclose(real_losses(name, target, f, 0.3), [parts.value(loss, *v) for v in zip(f, target)], rtol=1e-14)


def plain_losses(y, f, seen):
    """Hinge and log loss of many classes, written out."""
    hinge, log = [], []
    for i, t in enumerate(y):
        rivals = [f[i, k] for k in range(seen[i]) if k != t] or [0.0]
        true = f[i, t]
        hinge.append(max(0.0, 1.0 + max(rivals) - true))
        log.append(-true + math.log(sum(math.exp(s) for s in [true, *rivals])))
    return hinge, log


def test_losses_of_classes_that_appear_on_the_way():
    r = np.random.default_rng(2)
    n, K = 300, 4
    seen = np.minimum(np.arange(n) // 20, K)
    y = np.array([r.integers(0, min(s + 1, K)) for s in seen])
    f = np.where(np.arange(K) < seen[:, None], r.normal(0, 2, (n, K)), 0.0)
    hinge, log = plain_losses(y, f, seen)
    np.testing.assert_allclose(class_losses("hinge", y, f, seen), hinge, rtol=1e-13)
    np.testing.assert_allclose(class_losses("log", y, f, seen), log, rtol=1e-12)
    assert class_losses("hinge", y, f, seen)[0] == 1.0
    assert class_losses("log", y, f, seen)[0] == pytest.approx(math.log(2.0))


def test_half_a_score_for_each_class_is_one_score():
    y, _, f, _ = binary(300)
    for name in ("hinge", "squared_hinge", "log", "exponential", "perceptron"):
        np.testing.assert_allclose(class_losses(name, y, f * [[-0.5, 0.5]]), class_losses(name, y, f), rtol=1e-12)


def test_add_tells_what_each_row_cost():
    y, said, f, c = many(200)
    told = ClassFigures(loss="log").add(y, said, f, c)
    assert np.array_equal(told.wrong, class_losses("zero_one", y, f, predicted=said))
    assert np.array_equal(told.loss, class_losses("log", y, f))
    t = np.linspace(-1, 1, 200)
    assert np.array_equal(RealFigures(loss="absolute").add(t, f[:, 0]).loss, real_losses("absolute", t, f[:, 0]))


def test_what_is_refused():
    y, said, f, c = binary(10)
    for make, message in (
        (lambda: ClassFigures(loss="square"), "unknown loss 'square'; expected one of hinge"),
        (lambda: RealFigures(loss="hinge"), "unknown loss 'hinge'; expected one of square"),
        (lambda: class_losses("zero_one", y, f), "needs the answers"),
        (lambda: ClassFigures(window=0), "window must be at least 1"),
        (lambda: ClassFigures(fading=1.5), "fading must be above 0 and at most 1, got 1.5"),
        (lambda: ClassFigures().add(y, said[:9], f), "one length, got 10, 9, 10, None"),
        (lambda: ClassFigures().add(y, said, f, c[:3]), "one length, got 10, 10, 10, 3"),
        (lambda: RealFigures().add(f[:, 0], f[:4]), "one length"),
        (lambda: ClassFigures(window=3).__iadd__(ClassFigures(window=4)), "cannot merge"),
        (lambda: ClassFigures().__iadd__(ClassFigures(loss="log")), "cannot merge"),
        (lambda: RealFigures().__iadd__(RealFigures(epsilon=1.0)), "cannot merge"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


# ---- window, fading, merging -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [5, 50, 400])
def test_window_and_fading_by_definition(n, weighted):
    y, said, f, c = binary(n)
    c = c if weighted else None
    w = np.ones(n) if c is None else c
    fig = fill(ClassFigures(window=50, fading=0.97), (y, said, f, c), (n // 3, n // 2))
    wrong, loss = (y != said).astype(float), class_losses("hinge", y, f)
    fade = w * 0.97 ** np.arange(n - 1, -1, -1)
    now = fig.now()
    for name, v in (("error", wrong), ("loss", loss)):
        near(now[name], (w * v).sum() / w.sum())
        near(now[f"window_{name}"], np.average(v[-50:], weights=w[-50:]))
        near(now[f"faded_{name}"], (fade * v).sum() / fade.sum())


@pytest.mark.parametrize("a", [0, 7, 60, 500, 3000])
def test_merged_figures_are_those_of_the_whole(a):
    def halves(make, parts):
        whole = fill(make(), parts)
        first, second = (fill(make(), [p[s] for p in parts]) for s in (slice(a), slice(a, None)))
        first += second
        return whole, first

    y, said, f, c = many()
    whole, merged = halves(lambda: ClassFigures(window=50, fading=0.99), (y, said, f, c))
    same(whole, merged)
    assert whole.metrics()["auc"] == pytest.approx(merged.metrics()["auc"], rel=1e-14)
    whole, merged = halves(lambda: ClassFigures(window=50, fading=0.99), binary(3000)[:3])
    same(whole, merged)
    assert whole.metrics() == merged.metrics()
    t = np.random.default_rng(0).normal(1e6, 1.0, 3000)
    whole, merged = halves(lambda: RealFigures(window=50, fading=0.99), (t, t + f[:, 0], c))
    near(list(whole.now().values()), list(merged.now().values()))
    near(whole.metrics(), merged.metrics(), 1e-9)


@pytest.mark.parametrize("labelled", [False, True])
def test_merged_figures_of_a_one_class_learner_are_those_of_the_whole(labelled):
    y, _, f, c = binary(300)
    y = np.where(y == 1, 1, -1) if labelled else None
    whole, first, second = (NoveltyFigures(window=50, fading=0.99) for _ in range(3))
    whole.add(y, f[:, 0], c)
    first.add(None if y is None else y[:120], f[:120, 0], c[:120])
    second.add(None if y is None else y[120:], f[120:, 0], c[120:])
    first += second
    assert first.mistakes == whole.mistakes
    assert first.now() == pytest.approx(whole.now(), rel=1e-12)
    found, expected = first.to_dict(), whole.to_dict()
    assert found["losses"] == pytest.approx(expected["losses"], rel=1e-12)
    assert found["metrics"] == pytest.approx(expected["metrics"], rel=1e-12)


ANSWERING = {name: kind for name, kind in KINDS.items() if kind.figures is not by_rounds}  # the others have tests of their own


@pytest.mark.parametrize("kind", ANSWERING.values(), ids=ANSWERING)
def test_figures_of_every_task_speak_one_language(kind):
    """What an evaluation asks of figures, whatever the task."""
    y, _, f, _ = binary(40)
    figures = [kind.figures(kind.loss, 0.1, 10, 0.9) for _ in range(3)]
    for one, rows in zip(figures, (slice(0, 40), slice(0, 25), slice(25, 40)), strict=True):
        told = one.take(Progress(f[rows], y[rows], seen=3), None)
        assert len(told.wrong) == len(told.loss) == len(told.cost) == len(y[rows])
    whole, merged, later = figures
    merged += later
    assert merged.now() == pytest.approx(whole.now(), rel=1e-12)
    assert set(merged.now()) - {"examples"} == set(along(kind.curves))
    found = whole.to_dict()
    assert (found["examples"], set(found["metrics"]) - {*kind.scores, *kind.errors, *KINDS["classification"].scores}) == (40, set())
    assert set(whole.LOSSES) <= set(kind.losses)


def same(a, b):
    assert (a.mistakes, a.examples) == (b.mistakes, b.examples)
    near(a.sums, b.sums)
    near(a.now(), b.now())
    near(np.array(a.confusion()["counts"]), np.array(b.confusion()["counts"]))


@pytest.mark.parametrize("positive", [0, 1])
def test_a_third_class_in_the_middle(positive):
    """One score a row, then one for each class: as if there had been one for each from the start."""
    y, said, f, _ = binary(1000, positive=positive, coarse=True)
    wide = np.zeros((1000, 3))
    wide[:, :2] = 0.5 * f * np.where(np.arange(2) == positive, 1.0, -1.0)
    z, spoke, g, _ = many(1500, 3)
    g = np.round(g, 1)
    narrow = ClassFigures(positive=positive)
    narrow.add(y, said, f)
    late = ClassFigures(positive=positive)
    late.add(z, spoke, g)
    whole = ClassFigures(positive=positive)
    whole.add(np.r_[y, z], np.r_[said, spoke], np.r_[wide, g], None, np.repeat([2, 3], [1000, 1500]))
    near(narrow.metrics()["auc"], sk.roc_auc_score(y == positive, f[:, 0]))
    for merged in (copy.deepcopy(narrow), copy.deepcopy(late)):
        merged += late if merged.examples == 1000 else narrow
        near(merged.metrics()["auc"], whole.metrics()["auc"])
        assert np.array_equal(merged.table, whole.table)
    narrow.add(z, spoke, g)
    same(narrow, whole)
    near(narrow.metrics()["auc"], whole.metrics()["auc"])
    late.add(y, said, f)
    near(late.metrics()["auc"], whole.metrics()["auc"])


# ---- the area under the curve ----------------------------------------------------------------------------------------
def test_the_area_when_scores_outnumber_the_bins():
    n = 300_000
    for at, spread in ((0.0, 1.0), (1e4, 1.0), (0.0, 1e-30)):
        y, _, f, c = binary(n)
        s = (f[:, 0] * spread + at).astype(np.float32)
        r = auc.Ranking()
        for a in range(0, n, 8192):
            r.add(s[a : a + 8192], y[a : a + 8192] == 1, c[a : a + 8192])
        assert r.area() == pytest.approx(sk.roc_auc_score(y, s, sample_weight=c), abs=1e-6)
        assert len(r.keys) <= auc.VALUES
        assert r.sums.sum() == pytest.approx(c.sum())


@pytest.mark.parametrize("scale", [1e-300, 1e-25, 1e25, 1e300])
def test_the_area_does_not_depend_on_the_size_of_the_scores(scale):
    y, _, f, c = binary(3000)
    r = auc.Ranking()
    r.add(f[:, 0] * scale, y == 1, c)
    near(r.area(), sk.roc_auc_score(y, f[:, 0], sample_weight=c))


def test_the_area_does_not_depend_on_order_split_or_merging(monkeypatch):
    monkeypatch.setattr(auc, "VALUES", 64)
    monkeypatch.setattr(auc, "PENDING", 100)
    y, _, f, _ = binary(3000)
    areas, r = [], np.random.default_rng(0)
    for cuts in ([], [1, 2, 50, 149, 1500], list(range(10, 3000, 10))):
        for order in (np.arange(3000), r.permutation(3000), np.argsort(f[:, 0])):
            pieces = [auc.Ranking(), auc.Ranking()]
            for i, part in enumerate(np.split(order, cuts)):
                pieces[i % 2].add(f[part, 0], y[part] == 1, None)
            pieces[0] += pieces[1]
            areas.append(pieces[0].area())
    assert len(set(areas)) == 1
    assert areas[0] == pytest.approx(sk.roc_auc_score(y, f[:, 0]), abs=0.02)


@pytest.mark.parametrize("values", [64, 1 << 16])
def test_a_mirrored_ranking(values, monkeypatch):
    monkeypatch.setattr(auc, "VALUES", values)
    y, _, f, c = binary(3000)
    f[::7] = 0.0
    a, b = auc.Ranking(), auc.Ranking()
    a.add(f[:, 0], y == 1, c)
    b.add(-f[:, 0], y == 0, c)
    assert a.mirrored().area() == pytest.approx(b.area(), rel=1e-12 if values > 64 else 1e-2)
    a.add(f[:5, 0] * np.nan, y[:5] == 1, c[:5])
    assert a.area() is None


def test_the_order_of_scores_is_kept():
    f = np.array([-np.inf, -1e308, -3e38, -1.0, -1e-45, -5e-324, 0.0, 5e-324, 1e-45, 1.0, 1.0 + 2.0**-52, 3e38, 1e308, np.inf])
    keys = auc.sortable(f)
    assert (keys[1:] > keys[:-1]).all()
    assert auc.sortable(np.array([-0.0])) == auc.sortable(np.array([0.0]))


# ---- regression, a real learner --------------------------------------------------------------------------------------
@pytest.mark.parametrize("weighted", [False, True])
def test_regression_as_scikit_learn(weighted):
    r = np.random.default_rng(3)
    y = r.normal(1e4, 2.0, 5000)
    f = y + r.normal(0.3, 1.0, 5000)
    c = r.uniform(0.1, 2.0, 5000) if weighted else None
    fig = fill(RealFigures(window=100, epsilon=0.5), (y, f[:, None], c), (1, 2000))
    d = fig.to_dict()
    near(d["metrics"]["mae"], sk.mean_absolute_error(y, f, sample_weight=c))
    near(d["metrics"]["rmse"], sk.root_mean_squared_error(y, f, sample_weight=c))
    near(d["metrics"]["r2"], sk.r2_score(y, f, sample_weight=c))
    near(d["metrics"]["bias"], np.average(f - y, weights=c))
    near(d["losses"]["square"], sk.mean_squared_error(y, f, sample_weight=c))
    near(d["losses"]["epsilon_insensitive"], np.average(np.maximum(0, np.abs(f - y) - 0.5), weights=c))
    near(fig.now()["window_loss"], np.average((f - y)[-100:] ** 2, weights=None if c is None else c[-100:]))


def test_codes_of_labels_in_order_of_appearance():
    """Labels 1, -1 arriving in this order: code 0 is positive; f1 is still that of +1."""
    labels = Labels()
    labels.extend([1, -1])
    y, said, f, _ = binary(500, positive=labels.positive)
    fig = ClassFigures(positive=labels.positive)
    fig.add(y, said, f)
    signs = np.array(labels.values)
    near(fig.metrics(labels.values)["f1"], sk.f1_score(signs[y], signs[said]))
    assert fig.confusion(labels.values)["labels"] == [-1, 1]


@pytest.mark.parametrize("bits", [3, 12, 31, 61])
def test_counting_in_a_table_and_by_sorting(bits):
    from noregret.evaluation.measures.auc import counted, grouped

    rng = np.random.default_rng(bits)
    keys = rng.integers(1 << bits, 1 << (bits + 1), 500).astype(np.uint64)
    of_class = rng.random(500) < 0.3
    found, sums = grouped(*counted(keys, of_class))
    assert found.tolist() == sorted(set(keys.tolist()))
    for k, (others, own) in zip(found, sums.T, strict=True):
        assert others == np.sum((keys == k) & ~of_class)
        assert own == np.sum((keys == k) & of_class)
