"""What a user may get wrong, in Python and on the command line: the error says what was expected, what came and what to do."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main
from noregret.cli.learners import from_spec
from noregret.engine import compiling
from noregret.registry import by_name

X = np.random.default_rng(0).normal(size=(40, 3))
y = np.where(X @ [1.0, -2.0, 0.5] > 0, "yes", "no")


@pytest.fixture(autouse=True)
def interpret():
    with compiling.interpreted():
        yield


@pytest.fixture
def table(tmp_path):
    """A file of numbers, categories and labels."""
    path = tmp_path / "rows.csv"
    rows = "\n".join(
        f"{a:.4f},{b:.4f},{c:.4f},{'ab'[i % 2]},{label}" for i, ((a, b, c), label) in enumerate(zip(X, y, strict=True))
    )
    path.write_text(f"a,b,c,user,y\n{rows}\n")
    return path


def run(*args):
    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda: nr.PA1(0.1), r"PA1 takes its parameters by name, as in PA1\(C=0.1\)"),
        (lambda: nr.PA1(kernal="rbf"), "Did you mean kernel[?]"),
        (lambda: nr.learner("pa-1"), "no learner is called 'pa-1'. Did you mean pa1"),
        (lambda: nr.learner("pa1:C=2"), "give one name, and settings by keyword"),
        (lambda: nr.compare((X, y), "pa1,arow"), "or a list of several"),
        (lambda: nr.evaluate((X, y), nr.PA1), r"make one, PA1\(\)"),
        (lambda: nr.evaluate((X, y), "pa1", limt=3), "no option 'limt'. Did you mean limit[?]"),
        (lambda: nr.evaluate((X, y), "pa1", limit=-3), "limit must be a whole number of at least 1, got -3"),
        (lambda: nr.evaluate((X, y), "pa1", window="a"), "window must be a whole number of at least 1, got 'a'"),
        (lambda: nr.evaluate((X, y), "pa1", features=-1), "features must be a whole number of at least 0, got -1"),
        (lambda: nr.PA1(average="no").fit(X, y), "average must be True or False, got 'no'"),
        (lambda: nr.PA1(fit_intercept="no").fit(X, y), "fit_intercept must be True or False, got 'no'"),
        (lambda: nr.PA1(shuffle=True, seed="a").fit(X, y), "seed must be a whole number of at least 0, or None, got 'a'"),
        (lambda: nr.PA1(C="1").fit(X, y), r"C must be a number in \(0, inf\), got '1'"),
        (lambda: nr.PA1(kernel=nr.RBF).fit(X, y), r"kernel=nr.RBF\(gamma=...\); got the class RBF"),
        (lambda: nr.PA1(kernel="rbf", budget=nr.RemoveOldest).fit(X, y), r"budget=nr.RemoveOldest\(B=...\); got the class"),
        (lambda: nr.PA1(kernel="rbf").fit(X, y).compact(), "answers by the rows it keeps"),
        (lambda: nr.PA1().fit([[1, 2], [3]], [1, -1]), "rows of one length"),
        (lambda: nr.PA1().fit("rows.csv", y), "From a file: nr.train"),
        (lambda: nr.PA1().learn_one("a", 1), "an example must be a dict from names to numbers, or a row of numbers; got 'a'"),
        (lambda: nr.PA1().learn_one({"a", "b"}, 1), "an example must be a dict"),
        (lambda: nr.PA1(class_weight=3).fit(X, y), "class_weight must be a dict of weights by label, or 'balanced', got 3"),
        (lambda: nr.PA1().fit(X, y, sample_weight="a"), "sample_weight must be a number, or one for each of 40 rows, got 'a'"),
        (lambda: nr.batch((X, y), loss="log", radios=1), "no option 'radios'. Did you mean radius[?]"),
        (lambda: nr.batch((X, y), loss="logg"), "loss must be one of .*exponential.*, got 'logg'"),
        (lambda: nr.GroupLasso(groups=5).fit(X, y), "groups must be a group for each column.*got 5"),
        (lambda: nr.GroupLasso(groups={"a": 1}).fit(X, y), "groups name none of the 3 columns: expected 0.*got 'a'"),
    ],
)
def test_errors_say_what_to_do(mistake, said):
    with pytest.raises((TypeError, ValueError), match=said):
        mistake()


def test_python_itself_names_the_attribute_that_was_meant():
    with pytest.raises(AttributeError) as caught:
        _ = nr.Adagrad
    assert (caught.value.name, caught.value.obj) == ("Adagrad", nr)  # what the interpreter needs to say "Did you mean: 'AdaGrad'?"


def test_switches_may_be_numpy_booleans_or_0_and_1():
    for on, off in ((np.True_, np.False_), (1, 0)):
        assert nr.PA1(average=on).fit(X, y).coef_.tolist() == nr.PA1(average=True).fit(X, y).coef_.tolist()
        assert nr.PA1(fit_intercept=off).fit(X, y).intercept_.tolist() == [0.0]


def test_new_options_are_checked_before_they_are_taken():
    m = nr.PA1().fit(X, y)
    with pytest.raises(TypeError, match="average must be True or False"):
        m.set_params(average="yes")
    assert m.average is False


# ---- reports -----------------------------------------------------------------------------------------------------------
def test_curves_of_different_losses_are_drawn_in_one_that_all_have():
    real = X @ [1.0, -2.0, 0.5]
    report = nr.compare((X, real), ["rls", "pa1_regressor", "nag_regressor"], regret=False)
    for found in report.learners:
        assert found["curve_loss"] == "square"
        assert found["curve"]["loss"][-1] == pytest.approx(found["losses"]["square"])
    assert nr.evaluate((X, real), "pa1_regressor", regret=False).learners[0]["curve_loss"] == "epsilon_insensitive"
    best = next(row for row in report.learners if row["label"] == report.winner)
    assert f"RMSE {best['metrics']['rmse']:.4g}" in report.to_html()  # the sentence at the top


def test_one_curve_of_several_orders_is_in_that_loss_too():
    report = nr.compare((X, y), ["rda", "pa1", "arow"], permutations=2, window=10)
    assert {found["curve_loss"] for found in report.learners} == {"hinge"}
    for found in report.learners:
        assert found["curve"]["loss"][-1] == pytest.approx(found["losses"]["hinge"])


def test_features_in_use_have_signs_and_stand_under_a_comparison():
    report = nr.compare((X, y), ["rda", "ftrl"], features=2, regret=False)
    top = next(m for m in report.learners if m["label"] == report.winner)["features"]["top"]
    assert top[0]["feature"] == "1"
    assert top[0]["weight"] == -top[0]["size"] < 0.0
    assert report.to_html().count("<details open><summary>") == 1  # the winner's; the other's are behind a fold
    lines = report.text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("feature "))
    assert lines[at + 2].split()[:2] == ["1", f"{top[0]['weight']:.4g}"]


def test_of_several_classes_the_largest_weight_is_told_with_its_class():
    three = np.argmax(X, 1)
    found = nr.evaluate((X, three), "rda", features=3, regret=False)
    rows = found.learners[0]["features"]["top"]
    assert {(row["feature"], row["of"]) for row in rows if row["weight"] > 0.0} <= {(str(k), str(k)) for k in range(3)}
    assert "for class" in found.text()


def test_numbers_of_features_count_from_the_first_that_there_is(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("".join(f"{1 if i % 2 else -1} 1:{1 + i % 2} 3:1\n" for i in range(20)))
    report = nr.evaluate(str(path), "rda", features=1, regret=False)
    assert report.data["features"] == report.learners[0]["features"]["of"] == 3
    mapped = nr.evaluate(str(path), "random_fourier(5,rbf(0.1))>rda", features=1, regret=False)
    assert mapped.data["features"] == mapped.learners[0]["features"]["of"] == 10


def test_maps_that_all_have_are_told():
    notes = nr.compare((X, y), ["random_fourier(5)>pa1", "random_fourier(5)>arow"], regret=False).notes
    assert notes == ["All learn after random_fourier(5)."]
    assert nr.compare((X, y), ["random_fourier(5)>pa1", "random_fourier(6)>pa1"], regret=False).notes == []


def test_titles_stay_short():
    many = {str(k): k for k in range(1000)}
    label = nr.compare((X, y), [nr.GroupLasso(groups={**many, 0: 1}), nr.RDA()], regret=False).labels[0]
    assert label.startswith("group_lasso groups={'0': 0, '1': 1")
    assert len(label) < 70


# ---- commands ----------------------------------------------------------------------------------------------------------
def test_what_a_learner_has_by_default_is_right_usage():
    for name in by_name():
        assert from_spec(name).name == name


@pytest.mark.parametrize(
    "spec",
    [
        "pa1:C=-1",
        "pa1:C=much",
        "pa1:average=no",
        "pa1:kernel=rbff(1)",
        "pa1:budget=stop(3)",
        "random_fourier(9)>pa1:C=0",
        "pa1:kernal=rbf",
        "rbff(1)>pa1",
        "random_fourier(200,poly(2))>pa1",
        "random_fourier(0)>pa1",
    ],
)
def test_a_wrong_spelling_of_a_learner_is_wrong_usage(spec):
    done = run("compare", "no such file", "-m", spec)  # nothing is opened
    assert (done.exit_code, "Traceback" in done.output) == (2, False)


def test_a_training_that_is_over_is_not_taken_up_by_another_learner(table, tmp_path):
    file = tmp_path / "m.nr"
    assert run("train", table, "--target", "y", "-m", "arow", "--save", file).exit_code == 0
    done = run("train", table, "--target", "y", "-m", "pa1", "--save", file, "--resume")
    assert done.exit_code == 2
    assert "holds arow, not pa1: leave out --model" in done.output
    assert run("train", table, "--target", "y", "-m", "arow", "--save", file, "--resume").exit_code == 0


def test_inspect_tells_how_many_rows_a_kernel_keeps(table, tmp_path):
    file = tmp_path / "m.nr"
    assert (
        run(
            "train", table, "--target", "y", "-m", "pa1", "--kernel", "rbf(1)", "--budget", "remove_oldest(7)", "--save", file
        ).exit_code
        == 0
    )
    assert "vectors     7 support vectors" in run("inspect", file).output
    assert run("train", table, "--target", "y", "-m", "voted_perceptron", "--save", tmp_path / "v.nr").exit_code == 0
    assert " rows kept" in run("inspect", tmp_path / "v.nr").output
    assert json.loads(run("inspect", file, "--json").output)["vectors"] == 7


def test_rows_of_numbers_for_a_model_of_columns(table, tmp_path):
    file, other = tmp_path / "m.nr", tmp_path / "a.svm"
    other.write_text("1 1:1\n")
    assert run("train", table, "--target", "y", "-m", "pa1", "--save", file).exit_code == 0
    done = run("predict", other, "--model-file", file)
    assert (
        done.exit_code,
        "learned from a table with named columns, and these rows have numbers for names" in " ".join(done.output.split()),
    ) == (1, True)


@pytest.mark.parametrize(("model", "options"), [("pa1", ["--hash-bits", "18"]), ("random_fourier(5,rbf(0.1))>pa1", [])])
def test_vw_text_is_not_answered_by_a_model_of_svmlight_rows(tmp_path, model, options):
    """Behind folded or random features, names and numbers look alike."""
    rows, text, save = tmp_path / "a.svm", tmp_path / "a.vw", str(tmp_path / "m.nr")
    rows.write_text("1 1:2\n-1 2:1\n")
    text.write_text("1 |f a\n-1 |f b\n")
    for source, other in ((rows, text), (text, rows)):
        done = CliRunner().invoke(main, ["train", str(source), "-m", model, *options, "--save", save, "--overwrite"])
        assert done.exit_code == 0, done.output
        for command in (["predict", str(other), "--model-file", save], ["train", str(other), "--save", save, "--continue"]):
            done = CliRunner().invoke(main, command)
            kinds = [{"svm": "svmlight"}.get(p.suffix[1:], "vw") for p in (source, other)]
            assert done.exit_code == 1, done.output
            assert f"expected rows of {kinds[0]}, on which the model was trained, got {kinds[1]}: {other}" in done.output
