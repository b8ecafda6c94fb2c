"""The commands over streams: what they print and write, what they refuse, and being stopped and going on."""

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main, options, plugins, progress, train
from noregret.cli.learners import options_of, sentence
from noregret.cli.values import steps
from noregret.registry import load_all
from noregret.spec import parse_list

LINEAR = "synthetic:linear?n=600&d=5&seed=1"
COLORS = "color,size,label,key\n" + "".join(
    f"{c},{s},{'big' if s > 2 else 'small'},r{i}\n"
    for i, (c, s) in enumerate(zip(["red", "green", "blue", "red"] * 30, [1, 2, 3, 4, 5] * 24))
)


def run(*args, code=0, **given):
    result = CliRunner().invoke(main, list(args), **given)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def refused(*args, code=2):
    result = run(*args, code=code)
    assert "Traceback" not in result.output
    assert result.stdout == ""
    return result.stderr


def process(*args, **given):
    return subprocess.Popen(
        [sys.executable, "-m", "noregret.cli", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **given
    )


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "colors.csv").write_text(COLORS)
    return tmp_path


# ---- options of a learner --------------------------------------------------------------------------------------------
def test_options_of_a_learner_reach_it():
    args = ("evaluate", LINEAR, "--model", "pa1", "-C", "2^-3", "--no-fit-intercept", "--average", "--json", "--no-regret")
    found = json.loads(run(*args).stdout)
    expected = nr.PA1(C=0.125, fit_intercept=False, average=True)
    assert {k: found["params"][k] for k in ("C", "fit_intercept", "average")} == {
        "C": 0.125,
        "fit_intercept": False,
        "average": True,
    }
    from noregret.streams.stream import stream

    for batch in stream(LINEAR).chunks():
        expected.learn_rows(batch.data, batch.y.astype(int), None)
    assert (found["mistakes"], found["updates"]) == (expected.n_mistakes_, expected.n_updates_)
    assert found["examples"] == 600


def test_every_parameter_has_an_option_with_help():
    for name, cls in load_all().items():
        found = {o.name.removeprefix("learner_"): o for o in options_of(cls, set(), False)}
        assert set(cls.defaults) - set(found) <= {"epochs", "shuffle", "seed", "hash_bits"}, name
        for parameter, option in found.items():
            assert option.help, (name, parameter)
            assert option.opts[0] == (f"-{parameter}" if len(parameter) == 1 else f"--{parameter.rstrip('_').replace('_', '-')}")


def test_help_comes_from_the_docstring():
    text = " ".join(run("evaluate", "--model", "pa1", "--help").output.split())
    assert "-C NUMBER C > 0, the aggressiveness (small = small steps). [default: 1; range (0, inf)]" in text
    assert "--fit-intercept / --no-fit-intercept" in text
    assert "--lambda NUMBER" in run("evaluate", "--model", "norma", "--help").output
    assert "--model NAME --help" in " ".join(run("evaluate", "--help").output.split())
    assert "-C" not in run("evaluate", "--help").output.split("Source:")[1]


def test_sentences_of_docstrings():
    doc = "Title.\n\nParameters: `a` > 0, the first; the second\n`b_`. Others: `a`.\n\nMore on `c`."
    assert sentence(doc, "a") == "a > 0, the first."
    assert sentence(doc, "b_") == "The second b_."
    assert sentence(doc, "c") == ""


def test_an_option_whose_name_is_taken_gets_another():
    names = {o.name: o.opts[0] for o in options_of(load_all()["ogd"], {"--radius", "--eta"}, False)}
    assert (names["learner_radius"], names["learner_eta"], names["learner_l2"]) == ("--model-radius", "--model-eta", "--l2")


def test_options_of_other_learners_are_refused():
    said = refused("evaluate", LINEAR, "--model", "perceptron", "-C", "1")
    assert "'-C': it is an option of alma, bpa_nn, bpa_p, bpa_s, duol and 9 more." in said
    assert "perceptron has --beta, --gamma" in said
    assert "Name the learner with --model" in refused("evaluate", LINEAR, "-C", "1")
    assert "No such option '--nonsense'" in refused("evaluate", LINEAR, "--model", "pa1", "--nonsense", "1")


def test_values_out_of_range_are_refused():
    assert "C must be in (0, inf), got -1.0" in refused("evaluate", LINEAR, "--model", "pa1", "-C", "-1")
    assert "expected a number in (0, inf), got 'x'" in refused("evaluate", LINEAR, "--model", "pa1", "-C", "x")
    assert "expected one of hinge, squared_hinge" in refused("evaluate", LINEAR, "--model", "ogd", "--loss", "hing")
    assert "expected LABEL=NUMBER" in refused("evaluate", LINEAR, "--model", "pa1", "--class-weight", "1")
    assert "expected TRUE:SAID=NUMBER" in refused("evaluate", LINEAR, "--model", "pa1", "--cost", "1=2")


def test_costs_and_weights_of_labels():
    args = (
        "evaluate",
        LINEAR,
        "-mpa1",
        "--cost",
        "1:-1=4",
        "--class-weight=1=2,-1=0.5",
        "--classes",
        "-1,1",
        "--json",
        "--no-regret",
    )
    params = json.loads(run(*args).stdout)["params"]
    assert params["classes"] == [-1, 1]
    assert params["class_weight"] == {"1": 2.0, "-1": 0.5}


def test_an_unknown_learner():
    said = refused("evaluate", LINEAR, "--model", "perceptrom")
    assert "no learner is called 'perceptrom'. Did you mean perceptron" in said
    assert "noregret algorithms lists them" in refused("sweep", LINEAR)
    assert "no learner is called 'pb1'" in refused("compare", LINEAR, "-m", "pa1,pb1")
    assert "PA1 has no parameter 'D'" in refused("compare", LINEAR, "-m", "pa1:D=3")


# ---- studies ---------------------------------------------------------------------------------------------------------
def test_a_report_in_every_form(here):
    files = {"--html": "r.html", "--csv": "r.csv", "--curves": "c.csv", "--plot": "p.svg", "--report-json": "r.json"}
    given = [part for pair in files.items() for part in pair]
    said = run("evaluate", LINEAR, "-m", "pa1", "--window", "50", *given)
    assert "error %" in said.stdout
    assert said.stdout.endswith("Wrote r.html, r.csv, c.csv, p.svg, r.json.\n")
    assert said.stderr == ""
    found = json.loads((here / "r.json").read_text())
    assert found["examples"] == 600
    assert found["regret"]["value"] is not None
    with open("r.csv") as f:
        figures = [found, *found["data"]["baselines"]]
        assert [line["mistakes"] for line in csv.DictReader(f)] == [str(row["mistakes"]) for row in figures]
    with open("c.csv") as f:
        assert int(list(csv.DictReader(f))[-1]["examples"]) == 600
    assert "<svg" in (here / "p.svg").read_text()
    assert "<html" in (here / "r.html").read_text()


def test_files_that_cannot_be_written_are_refused_first(here):
    assert "there is no directory nowhere" in refused("evaluate", LINEAR, "-m", "pa1", "--html", "nowhere/r.html", code=1)
    assert ".png or .svg" in refused("evaluate", LINEAR, "-m", "pa1", "--plot", "r.gif")


@pytest.mark.parametrize(
    ("command", "file", "why"),
    [
        ("predict a.csv --model-file m.nr --output m.nr", "m.nr", "is read"),
        ("predict a.csv --model-file m.nr --output a.csv", "a.csv", "is read"),
        ("predict *.csv --model-file m.nr --output ./a.csv", "./a.csv", "is read"),
        ("predict a.csv --model-file m.nr --output link.csv", "link.csv", "is read"),
        ("evaluate a.csv -m pa1 --html a.csv", "a.csv", "is read"),
        ("evaluate a.csv -m pa1 --holdout b.csv --curves b.csv", "b.csv", "is read"),
        ("compare a.csv -m pa1 --report-json a.csv", "a.csv", "is read"),
        ("sweep a.csv -m pa1 -C 1,2 --csv a.csv", "a.csv", "is read"),
        ("compare a.csv -m pa1 --csv same.out --html ./same.out", "same.out", "is written already"),
        ("convert a.csv a.csv", "a.csv", "is read"),
        ("train a.csv -m pa1 --save a.csv --overwrite", "a.csv", "is read"),
    ],
)
def test_no_output_replaces_what_is_read_or_another_output(here, command, file, why):
    for name in ("a.csv", "b.csv"):
        (here / name).write_text("x,y\n" + "1,p\n2,q\n" * 5)
    os.link("a.csv", "link.csv")
    run("train", "a.csv", "-m", "pa1", "--save", "m.nr")
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    assert f"cannot write {file}: that file {why}; name another" in refused(*command.split(), code=1)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_outputs_may_go_to_one_device(here):
    run("evaluate", LINEAR, "-m", "pa1", "--csv", os.devnull, "--curves", os.devnull)


def test_compare():
    found = json.loads(
        run("compare", LINEAR, "-m", "perceptron,pa1:C=0.1,average=true", "-m", "pa", "--json", "--sort", "mistakes").stdout
    )
    assert sorted(m["model"] for m in found["learners"]) == ["pa", "pa1", "perceptron"]
    assert next(m for m in found["learners"] if m["model"] == "pa1")["params"]["C"] == 0.1
    best = min(found["learners"], key=lambda m: m["mistakes"])
    assert found["winner"] == best["label"]
    alone = json.loads(run("evaluate", LINEAR, "-m", "perceptron", "--json", "--no-regret").stdout)
    assert next(m for m in found["learners"] if m["model"] == "perceptron")["mistakes"] == alone["mistakes"]


def test_names_of_learners_with_settings():
    assert parse_list(["a,b:x=1,y=2,c", "d:z=3"]) == ["a", "b:x=1,y=2", "c", "d:z=3"]


def test_permutations():
    args = ("compare", LINEAR, "-m", "pa1,perceptron", "--permutations", "3", "--seed", "5", "--no-regret", "--json")
    first, second = (json.loads(run(*args).stdout)["learners"] for _ in range(2))
    assert [m["spread"] for m in first] == [m["spread"] for m in second]


def test_sweep():
    found = json.loads(
        run("sweep", LINEAR, "-m", "pa1", "-C", "2^-2..2^0", "--average", "true,false", "--json", "--no-regret").stdout
    )
    grid = {(m["params"]["C"], m["params"]["average"]) for m in found["learners"]}
    assert grid == {(c, a) for c in (0.25, 0.5, 1.0) for a in (True, False)}
    alone = json.loads(run("evaluate", LINEAR, "-m", "pa1", "-C", "0.5", "--json", "--no-regret").stdout)
    swept = next(m for m in found["learners"] if m["params"]["C"] == 0.5 and not m["params"]["average"])
    assert swept["mistakes"] == alone["mistakes"]
    assert "such as -C 0.01,0.1,1" in refused("sweep", LINEAR, "-m", "pa1", "-C", "1")


def test_ranges():
    assert steps("2^-2..2^2") == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert steps("0.01..10") == [0.01, 0.1, 1.0, 10.0]
    assert steps("1..20*3") == [1.0, 3.0, 9.0]
    for wrong in ("0..1", "3..1", "1..x", "1..2*1"):
        with pytest.raises(ValueError, match="range"):
            steps(wrong)


def test_tables(here):
    args = ("evaluate", "colors.csv", "--target", "label", "--ignore", "key", "--categorical", "color,size", "-m", "pa1", "--json")
    found = json.loads(run(*args, "--no-regret", "--limit", "100").stdout)
    assert (found["examples"], found["data"]["classes"], found["data"]["features"]) == (100, 2, 8)
    assert "no column 'labl'; did you mean 'label'" in refused("evaluate", "colors.csv", "--target", "labl", "-m", "pa1", code=1)
    (here / "other.csv").write_text(COLORS.replace("label", "outcome"))
    said = "has no labels: name their column (--target), one of color, size, outcome, key"
    assert f"other.csv {said}" in refused("evaluate", "other.csv", "-m", "pa1", code=1)
    rows = run("train", "-", "--format", "csv", "-m", "pa1", "--save", "m.nr", input=COLORS.replace("label", "outcome"), code=1)
    assert f"standard input {said}" in rows.stderr


def test_a_target_that_is_guessed_is_said_and_remembered(here):
    said = "No target was named: column 'label' was taken (--target)."
    done = run("train", "colors.csv", "--ignore", "key", "-m", "pa1", "--save", "m.nr")
    assert done.stderr == f"Note: {said}\n"
    assert said in run("evaluate", "colors.csv", "-m", "pa1", "--no-regret", "--quiet").stdout
    assert said in run("compare", "colors.csv", "-m", "pa1,perceptron", "--no-regret", "--quiet").stdout
    assert json.loads(run("train", "colors.csv", "-m", "pa1", "--save", "n.nr", "--json").stdout)["notes"] == [said]
    run("train", "colors.csv", "--ignore", "key", "--target", "label", "-m", "pa1", "--save", "told.nr")
    (here / "new.csv").write_text("color,size,key\nred,5,a\ngreen,1,b\n")
    answers = [run("predict", "new.csv", "--model-file", name, "--scores").stdout for name in ("m.nr", "told.nr")]
    assert answers[0] == answers[1]
    assert "error" in run("predict", "colors.csv", "--model-file", "m.nr").stderr


def test_rows_without_a_target_in_a_holdout_are_bad_rows(here):
    (here / "some.csv").write_text(COLORS.replace("red,1,small", "red,1,", 3))
    args = ("evaluate", "colors.csv", "--target", "label", "--ignore", "key", "-m", "pa1", "--no-regret", "--quiet", "--json")
    found = json.loads(run(*args, "--holdout", "some.csv", "--on-bad", "skip").stdout)
    assert found["holdout"]["examples"] == 117
    assert "some.csv:2:3: expected a value in column 'label', found none" in refused(*args, "--holdout", "some.csv", code=1)


@pytest.mark.parametrize(
    ("kind", "labels", "none"), [("svm", "1 1:1 2:1\n-1 1:2\n", "1:1 2:1\n1:2\n"), ("vw", "1 |a b c\n-1 |a d\n", "|a b c\n|a d\n")]
)
def test_rows_without_labels_are_answered(here, kind, labels, none):
    (here / f"old.{kind}").write_text(labels)
    (here / f"new.{kind}").write_text(none)
    run("train", f"old.{kind}", "-m", "pa1", "--save", "m.nr")
    answers = [run("predict", f"{name}.{kind}", "--model-file", "m.nr", "--quiet").stdout for name in ("old", "new")]
    assert answers[0] == answers[1]
    assert "a label" in refused("train", f"new.{kind}", "-m", "pa1", "--save", "n.nr", code=1)


def test_lists_of_columns():
    kind = options.Columns()
    assert kind.convert('a,"b,c", d', None, None) == ["a", "b,c", "d"]
    given = {"numeric": (["a"], ["b", "c"]), "cross": ("a,b",), "header": False, "scale": False, "target": None}
    assert options.given(given, options.SOURCE) == {"numeric": ["a", "b", "c"], "cross": ["a,b"], "header": False}
    assert "expected names of columns" in refused("evaluate", LINEAR, "-m", "pa1", "--text", "a,,b")


def test_formats_and_detectors_are_those_of_the_library():
    from noregret.streams.formats import files

    assert f"--format [{'|'.join(files())}]" in run("train", "--help").stdout
    assert "'xml' is not one of arff, csv" in refused("train", LINEAR, "-m", "pa1", "--format", "xml")
    for name in options.DETECTORS:
        run("evaluate", LINEAR, "-m", "pa1", "--drift", name, "--no-regret", "--quiet")


# ---- what goes wrong -------------------------------------------------------------------------------------------------
def test_bad_sources(here):
    assert refused("evaluate", "nothing.svm", "-m", "pa1", code=1).startswith("Error: no such file: nothing.svm")
    (here / "empty.svm").touch()
    assert refused("evaluate", "empty.svm", "-m", "pa1", code=1).startswith("Error: empty.svm")
    (here / "bad.svm").write_text("1 1:2\n-1 1:x\n1 2:1\n")
    said = refused("evaluate", "bad.svm", "-m", "pa1", code=1)
    assert said.startswith("Error: bad.svm:2:6: expected a finite number")
    assert said.count("\n") == 1
    found = json.loads(run("evaluate", "bad.svm", "-m", "pa1", "--on-bad", "skip", "--json", "--no-regret").stdout)
    assert (found["examples"], found["skipped"]) == (2, 1)
    assert "is a directory" in refused("evaluate", str(here), "-m", "pa1", "--format", "svmlight", code=1)


def test_debugging_shows_the_error(monkeypatch, here):
    monkeypatch.setenv("NOREGRET_DEBUG", "1")
    result = CliRunner().invoke(main, ["evaluate", "nothing.svm", "-m", "pa1"])
    assert isinstance(result.exception, FileNotFoundError)


# ---- training and predicting -----------------------------------------------------------------------------------------
def same_state(a, b):
    a, b = nr.load(a), nr.load(b)
    one, two = a.model.arrays(), b.model.arrays()
    assert one.keys() == two.keys()
    for k in one:
        assert np.array_equal(one[k], two[k]), k
    assert np.array_equal(a.model.tally, b.model.tally)


def test_train_predict_inspect(here):
    said = run("train", LINEAR, "-m", "pa1", "-C", "0.1", "--save", "m.nr", "--epochs", "2").stdout
    assert said.startswith("pa1 learned 1,200 rows, error ")
    model = nr.load("m.nr")
    assert (model.C, model.n_seen_) == (0.1, 1200)
    from noregret.streams.stream import stream

    batch = next(stream(LINEAR).chunks())
    scores = model.decision_function(batch.data.arrays[0])
    result = run("predict", LINEAR, "--model-file", "m.nr", "--scores", "--limit", "100")
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert [float(s) for _, s in lines] == scores[:100].tolist()
    assert [int(y) for y, _ in lines] == model.predict(batch.data.arrays[0][:100]).tolist()
    wrong = np.mean(model.predict(batch.data.arrays[0][:100]) != batch.y[:100])
    assert result.stderr == f"100 rows, error {100 * wrong:.2f} %.\n"
    found = json.loads(run("inspect", "m.nr", "--json", "--top", "2").stdout)
    assert (found["model"], found["changed"], found["examples"]) == ("pa1", {"C": 0.1}, 1200)
    top = np.argsort(-np.abs(model.coef_[0]))[:2]
    assert found["weights"][0]["top"] == [{"feature": str(j), "weight": model.coef_[0, j]} for j in top]
    text = run("inspect", "m.nr").stdout
    assert "Crammer, Dekel" in text
    assert "to the end (2 times)" in text
    assert "parameters  C=0.1\n" in text
    assert "dtype='float64'" in run("inspect", "m.nr", "--all").stdout


@pytest.mark.parametrize("learner", ["pa1", "scale>pa1"])
@pytest.mark.parametrize("name", ["new.csv", "new.jsonl", "new.vw"])
def test_rows_of_another_kind_are_not_answered(here, name, learner):
    """They were answered all the same, exit 0."""
    here.joinpath("old.svm").write_text("1 1:1 2:0.5\n-1 3:1\n" * 10)
    here.joinpath("new.csv").write_text("a,b\n1,2\n3,4\n")
    here.joinpath("new.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    here.joinpath("new.vw").write_text("1 | a b\n-1 | c\n")
    run("train", "old.svm", "-m", learner, "--save", "m.nr", "--quiet")
    failed = run("predict", name, "--model-file", "m.nr", code=1)
    assert "the model learned from rows of numbered features" in failed.stderr
    assert failed.stdout == ""
    assert run("predict", "old.svm", "--model-file", "m.nr", "--quiet").stdout.splitlines() == ["1", "-1"] * 10


def test_a_table_from_training_to_answers(here):
    columns = ("--target", "label", "--ignore", "key")
    run("train", "colors.csv", *columns, "-m", "pa1", "--save", "m.nr", "--quiet")
    run("predict", "colors.csv", "--model-file", "m.nr", "--id", "key", "--output", "a.csv", "--as", "csv", "--scores", "--quiet")
    with open("a.csv") as f:
        lines = list(csv.DictReader(f))
    model = nr.load("m.nr")
    cells = list(csv.DictReader(COLORS.splitlines()))
    rows = [{"color": c["color"], "size": float(c["size"])} for c in cells]
    assert [line["id"] for line in lines] == [c["key"] for c in cells]
    assert [line["prediction"] for line in lines] == model.predict(rows).tolist()
    assert sorted(os.listdir()) == ["a.csv", "colors.csv", "m.nr"]
    found = [json.loads(line) for line in run("predict", "colors.csv", "--model-file", "m.nr", "--as", "jsonl").stdout.splitlines()]
    assert found == [{"prediction": line["prediction"]} for line in lines]
    whole = json.loads(run("predict", "colors.csv", "--model-file", "m.nr", "--json").stdout)
    assert whole["predictions"] == found
    assert whole["rows"] == 120
    text = run("inspect", "m.nr").stdout
    assert "color=red" in text
    assert re.search(r"^ +categorical: color$", text, re.M)
    assert "weight for small" in text
    assert "the model was trained without --text: leave out --text" in refused(
        "predict", "colors.csv", "--model-file", "m.nr", "--text", "color"
    )


CLICKS = "".join(f"{1 if u == i else -1} |user u{u} |item i{i}\n" for k in range(40) for u, i in [(k % 2, (k // 2) % 2)])


def test_namespaces_are_crossed_and_the_model_keeps_them(here):
    """Whether a user likes an item depends on the pair alone, so without products nothing can be learned."""
    (here / "clicks.vw").write_text(CLICKS)
    run("train", "clicks.vw", "-m", "perceptron", "--epochs", "5", "--save", "plain.nr")
    run("train", "clicks.vw", "-m", "perceptron", "--epochs", "5", "--save", "m.nr", "--cross", "user,item", "--hash-bits", "20")
    assert "error 0.00 %" not in run("predict", "clicks.vw", "--model-file", "plain.nr").stderr
    said = run("predict", "clicks.vw", "--model-file", "m.nr")
    assert "40 rows, error 0.00 %" in said.stderr
    assert run("predict", "clicks.vw", "--model-file", "m.nr", "--cross", "user,item").stdout == said.stdout
    assert "Namespaces(cross=['user,item'])" in run("inspect", "m.nr").stdout
    assert "Best: perceptron" in run("compare", "clicks.vw", "-m", "perceptron,pa1", "--cross", ":,:", "--no-regret").stdout


def test_crosses_that_do_not_fit_are_refused(here):
    (here / "clicks.vw").write_text(CLICKS)
    (here / "rows.svm").write_text("1 3:1\n-1 4:1\n")
    run("train", "clicks.vw", "-m", "pa1", "--save", "m.nr", "--cross", "user,item")
    run("train", "clicks.vw", "-m", "pa1", "--save", "plain.nr", "--scale")
    for model, source, cross, expected in (
        ("m.nr", "clicks.vw", ["--cross", "user,:"], "the model crosses user,item: leave out cross (--cross)"),
        ("plain.nr", "clicks.vw", ["--cross", "user,item"], "the model crosses no namespaces: leave out cross (--cross)"),
        ("m.nr", "rows.svm", [], "rows.svm is svmlight, which has no namespaces: the model crosses those of VW text"),
    ):
        assert expected in refused("predict", source, "--model-file", model, *cross, code=1)
    for cross, expected in (
        (["user"], "a cross takes two or three namespaces, such as 'a,b'; got 'user'"),
        (["a,b,:"], ": stands for any namespace in a cross of two alone"),
        (["a,b,a"], "a namespace that a cross has twice stands in neighbouring places"),
        (["user,item", "user,:"], "the namespaces 'user,item' are crossed twice: leave one cross out"),
        (["user,item", "user,item"], "the namespaces 'user,item' are crossed twice: leave one cross out"),
    ):
        given = [word for c in cross for word in ("--cross", c)]
        assert expected in refused("train", "clicks.vw", "-m", "pa1", "--save", "new.nr", *given, code=1)
    assert "a cross takes two or three different feature columns" in refused(
        "train", "colors.csv", "--target", "label", "--cross", "color", "--save", "new.nr", code=1
    )
    (here / "own.vw").write_text("1 |a x |b y\n")
    for data in ([{"a": 1.0}], np.eye(2)[:1]):
        with pytest.raises(TypeError, match="Cross is for columns"):
            nr.pipeline(nr.Namespaces("a,b"), nr.PA1()).partial_fit(data, [1])
    with pytest.raises(TypeError, match="expected the same Namespaces in all"):
        nr.compare("own.vw", [nr.pipeline(nr.Namespaces("a,b"), nr.PA1()), nr.PA1()])


def test_a_pipeline_reads_hashed_text_as_it_learned_it(here):
    (here / "clicks.vw").write_text(CLICKS)
    run("train", "clicks.vw", "-m", "pa1", "--save", "m.nr", "--scale", "--hash-bits", "20")
    assert run("predict", "clicks.vw", "--model-file", "m.nr").stdout.count("\n") == 40
    assert "2^20 places" in refused("predict", "clicks.vw", "--model-file", "m.nr", "--hash-bits", "18", code=1)


def test_several_classes(here):
    (here / "three.svm").write_text("".join(f"{i % 3} {i % 3}:1 4:{i}\n" for i in range(30)))
    run("train", "three.svm", "-m", "perceptron", "--save", "m.nr", "--quiet")
    lines = [
        json.loads(s)
        for s in run("predict", "three.svm", "--model-file", "m.nr", "--scores", "--as", "jsonl", "--quiet").stdout.splitlines()
    ]
    for line in lines:
        assert sorted(line["scores"]) == ["0", "1", "2"]
        assert str(line["prediction"]) == max(line["scores"], key=line["scores"].get)
    text = run("inspect", "m.nr").stdout
    assert all(f"weight for {k}" in text for k in range(3))


def test_a_damaged_model(here):
    run("train", LINEAR, "-m", "pa1", "--save", "m.nr", "--quiet")
    data = (here / "m.nr").read_bytes()
    (here / "m.nr").write_bytes(data[:-20] + b"x" * 20)
    for args in (
        ("inspect", "m.nr"),
        ("predict", LINEAR, "--model-file", "m.nr"),
        ("train", LINEAR, "-m", "pa1", "--save", "m.nr", "--resume"),
    ):
        said = refused(*args, code=1)
        assert said.startswith("Error: m.nr: the file is damaged")
        assert said.count("\n") == 1


def test_training_does_not_destroy(here):
    assert "is not a noregret model" in refused("train", LINEAR, "-m", "pa1", "--save", "colors.csv", code=1)
    assert (here / "colors.csv").read_text() == COLORS
    assert "expected a number of rows, or a time" in refused(
        "train", LINEAR, "-m", "pa1", "--save", "m.nr", "--checkpoint-every", "often"
    )
    run("train", LINEAR, "-m", "pa1", "--save", "m.nr", "--quiet")
    run("train", LINEAR, "-m", "perceptron", "--save", "m.nr", "--quiet")
    assert "name a learner with --model to start over" in refused("train", LINEAR, "--save", "m.nr")


def test_intervals():
    kind = train.Interval()
    assert kind.convert("1000", None, None) == (1000, None)
    assert kind.convert("1.5m", None, None) == (None, 90.0)


ENDLESS = "synthetic:linear?n=1000000000&d=8&seed=3"


def started(path, *args):
    """A training that goes on until it is stopped, once it has written its first checkpoint."""
    p = process("train", ENDLESS, "--model", "pa1", "-C", "0.5", "--save", str(path), "--checkpoint-every", "1", "--quiet", *args)
    limit = time.monotonic() + 60
    while not path.exists() and p.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    assert path.exists(), p.communicate()
    return p


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_stopped_and_resumed_is_never_stopped(number, tmp_path):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip(f"{number.name} is ignored here, as under nohup, and by the training too")
    path = tmp_path / "m.nr"
    p = started(path)
    p.send_signal(number)
    try:
        out, said = p.communicate(timeout=60)
    finally:
        p.kill()
    seen = nr.load(path).n_seen_
    if number == signal.SIGKILL:
        assert p.returncode == -signal.SIGKILL
    else:
        assert p.returncode == 128 + number
        assert f"pa1 was stopped after {seen:,} rows" in out
        assert f"train '{ENDLESS}' --model pa1 -C 0.5 --save {path} --checkpoint-every 1 --quiet --resume" in said
        assert "stopped after" in run("inspect", str(path)).stdout
        assert "give --resume to continue it" in refused("train", ENDLESS, "-m", "pa1", "--save", str(path), code=1)
    total = str(seen + 5000)
    run("train", ENDLESS, "--save", str(path), "--resume", "--limit", total, "--quiet")
    run("train", ENDLESS, "-m", "pa1", "-C", "0.5", "--save", str(tmp_path / "whole.nr"), "--limit", total, "--quiet")
    same_state(path, tmp_path / "whole.nr")
    assert sorted(os.listdir(tmp_path)) == ["m.nr", "whole.nr"]


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
def test_nohup_is_respected(monkeypatch):
    was = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with train.stopping() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop.signal is None
    finally:
        signal.signal(signal.SIGHUP, was)


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
def test_a_second_signal_leaves_at_once(monkeypatch):
    left = []
    monkeypatch.setattr(os, "_exit", left.append)
    with train.stopping() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.signal == signal.SIGINT
        assert left == []
        signal.raise_signal(signal.SIGINT)
    assert left == [130]


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
def test_ctrl_c_ends_a_study_with_a_report_of_the_rows_so_far():
    args = ["compare", ENDLESS, "-m", "pa1,perceptron", "--no-regret", "--json"]
    code = f"from noregret.cli import main, progress; progress.FIRST = 0.0; main({args!r})"
    p = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "rows/s" in p.stderr.readline()
    p.send_signal(signal.SIGINT)
    out, said = p.communicate(timeout=60)
    assert p.returncode == 130
    found = json.loads(out)
    assert "Interrupted after" in found["notes"][0]
    assert found["learners"][0]["examples"] == found["learners"][1]["examples"] > 0
    assert "Stopping" in said
    assert "Traceback" not in said


def test_ctrl_c_before_there_are_rows_and_a_second_one_leave_at_once(monkeypatch):
    left = []
    monkeypatch.setattr("os._exit", left.append)
    shown = progress.Progress(False)
    progress.asked(shown)
    assert left == [130]
    shown.calls = 1
    progress.asked(shown)
    assert left == [130, 130]  # the first one asked already


def test_the_search_for_the_best_model_is_told_in_a_pipe(monkeypatch, capsys):
    monkeypatch.setattr(progress, "FIRST", 0.0)
    shown = progress.Progress(True)
    shown.solving(3, 200.0, 199.0, 1e-3)
    assert "step 3, to within 0.50 %" in capsys.readouterr().err
    monkeypatch.setattr(shown, "next", 0.0)
    monkeypatch.setattr(progress, "LONG", 0.0)
    monkeypatch.setattr(shown, "began", 0.0)
    shown.reading_again(500, 2000)
    assert "step 3, to within 0.50 %, 500 of 2,000 rows" in capsys.readouterr().err


@pytest.fixture
def bar(monkeypatch):
    """The values that a bar on a terminal is set to."""
    shown, said = progress.Progress(True), []
    shown.terminal = True
    monkeypatch.setattr(progress, "BLINK", 0.0)
    monkeypatch.setattr(shown, "_set_bar", lambda *at: said.append(at))
    return shown, said


def test_the_bar_moves_with_the_rows_that_are_read_again_for_the_regret(bar):
    shown, said = bar
    shown.began = 0.0  # long ago
    shown.reading_again(500, 2000)
    shown.began = 0.0
    shown.reading_again(1000, 2000)
    assert [at[:3] for at in said] == [(500, 2000, "regret"), (1000, 2000, "regret")]
    assert re.match("1,000 of 2,000 rows, .* rows/s", said[1][3])
    shown.reading_again(0, 2000)
    shown.reading_again(1000, 2000)
    assert len(said) == 2  # a short pass is not shown


def test_the_bar_moves_while_the_best_fixed_model_is_searched(bar):
    shown, said = bar
    for step, gap in enumerate((200.0, 20.0, 60.0, 2.0, 0.2, 0.1)):
        shown.solving(step, 200.0, 200.0 - gap, 1e-3)
    assert [at[0] for at in said] == pytest.approx([0.0, 1 / 3, 1 / 3, 2 / 3, 1.0, 1.0])
    assert {at[1] for at in said} == {1.0}
    assert said[1][2] == "regret: step 1, to within 10.00 %"
    shown.solving(7, 200.0, 100.0, 1.0)  # any model will do
    assert said[-1][0] == 1.0


def test_a_file_that_cannot_be_written_does_not_cost_the_report(here, monkeypatch):
    monkeypatch.setattr("noregret.evaluation.report.report.Report.to_html", refuse_to_write)
    done = run("evaluate", LINEAR, "-m", "pa1", "--no-regret", "--csv", "figures.csv", "--html", "x.html", code=1)
    assert "hinge loss" in done.stdout
    assert "cannot write x.html: No space left on device" in done.stderr
    assert (here / "figures.csv").exists()


@pytest.mark.parametrize("command", ["evaluate", "compare", "sweep"])
def test_a_report_tells_the_command_that_made_it(command, here):
    args = [
        command,
        "synthetic:linear?n=200&d=3",
        "-m",
        "pa1",
        *(["-C", "0.1,1"] if command == "sweep" else []),
        "--html",
        "a b.html",
    ]
    data = json.loads(run(*args, "--json").stdout)["data"]
    assert data["command"].endswith(f" {command} '{args[1]}' {' '.join(args[2:-1])} 'a b.html' --json")
    assert data["version"] == nr.__version__
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", data["date"])
    assert "Run it again" in (here / "a b.html").read_text("utf-8")


def refuse_to_write(*_):
    raise OSError(28, "No space left on device")


def test_resuming_with_other_settings_is_refused(here):
    short = ("train", "synthetic:linear?n=100000&d=3", "--save", "m.nr", "--quiet")
    run(*short, "-m", "pa1", "-C", "0.5")
    before = (here / "m.nr").read_bytes()
    more = ("--resume", "--epochs", "2")
    assert "was trained with C=0.5, not 0.25" in refused(*short, "-m", "pa1", "-C", "0.25", *more)
    assert "holds pa1, not pa2" in refused(*short, "-m", "pa2", *more)
    assert (here / "m.nr").read_bytes() == before
    run(*short, "-m", "pa1", *more)
    assert nr.load("m.nr").n_seen_ == 200_000


@pytest.mark.skipif(sys.platform == "win32", reason="closes a pipe")
def test_a_closed_pipe_is_quiet(here):
    run("train", LINEAR, "-m", "pa1", "--save", "m.nr", "--quiet")
    p = process("predict", "synthetic:linear?n=3000000&d=5", "--model-file", "m.nr", "--quiet")
    assert p.stdout.readline() in ("1\n", "-1\n")
    p.stdout.close()
    said = p.stderr.read()
    p.stderr.close()
    p.wait(timeout=60)
    assert said == ""


# ---- progress --------------------------------------------------------------------------------------------------------
def test_lines_in_a_pipe(monkeypatch):
    assert run("evaluate", LINEAR, "-m", "pa1", "--json").stderr == ""
    monkeypatch.setattr(progress, "FIRST", 0.0)
    result = run("evaluate", LINEAR, "-m", "pa1", "--json")
    json.loads(result.stdout)
    assert re.search(r"^\d+ rows?, \d+ %, 0 s, .* rows/s, \d+ s to go, error [\d.]+ %$", result.stderr, re.M)
    assert run("evaluate", LINEAR, "-m", "pa1", "--json", "--quiet").stderr == ""
    assert "loss" in run("evaluate", "synthetic:linear_regression?n=600", "-m", "pa1_regressor").stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("phase", "last"), [("--no-regret", r"rows/s.* error [\d.]+ % (pa1|perceptron)"), ("--regret", r"100%.* regret: step \d+")]
)
def test_a_bar_on_a_terminal(phase, last):
    ours, theirs = pty.openpty()
    args = ["compare", LINEAR, "-m", "pa1,perceptron", "--json", phase]
    code = f"from noregret.cli import main, progress; progress.BLINK = 0.0; main({args!r})"
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    p = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, text=True, env=env)
    os.close(theirs)
    out = p.stdout.read()
    p.stdout.close()
    assert p.wait(timeout=60) == 0
    said = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert len(json.loads(out)["learners"]) == 2
    assert re.search(last, said)


def test_rates():
    assert [progress.short(x) for x in (5, 950, 12_345, 123_456, 3.4e6, 2e9)] == ["5", "950", "12.3k", "123k", "3.4M", "2.0G"]


# ---- learners of one's own -------------------------------------------------------------------------------------------
@pytest.fixture
def own(here):
    yield here
    for path in [p for p in plugins.loaded if p.is_relative_to(here)]:
        plugins.loaded.discard(path)
        sys.modules.pop(path.stem, None)
        load_all().pop(path.stem, None)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_new_learner_passes_its_test(task, own):
    name = f"mine_{task[:5]}"
    said = run("new", name, "--task", task).stdout
    assert f"{name}.py" in said
    assert f"{name}.py is there already" in refused("new", name, code=1)
    only = ["-k", "hand"] if task == "regression" else []  # the laws once: they take time
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"test_{name}.py", *only],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    source = re.search(r"evaluate '(\S+)'", said)[1].replace("5000", "500")
    plugin = ("--model", name, "--plugin", f"{name}.py")
    found = json.loads(run("train", source, *plugin, "--eta", "0.25", "--save", "m.nr", "--json").stdout)
    assert (found["model"], found["examples"]) == (name, 500)
    assert nr.load("m.nr").eta == 0.25
    assert "the share of the way" in " ".join(run("evaluate", *plugin, "--help").output.split())
    if task == "classification":
        assert json.loads(run("evaluate", source, *plugin, "--json").stdout)["examples"] == 500


def test_new_refuses(own):
    assert "there is a learner called pa1 already" in refused("new", "pa1")
    assert "a Python module called random" in refused("new", "random")
    assert "small letters" in refused("new", "My-Own")
    (own / "test_fresh.py").touch()
    assert "test_fresh.py is there already" in refused("new", "fresh", code=1)
    assert not (own / "fresh.py").exists()


def test_plugins(own, monkeypatch):
    run("new", "plugged")
    monkeypatch.setenv("NOREGRET_PLUGINS", str(own / "plugged.py"))
    assert "plugged" in run("algorithms").stdout
    assert "cites no paper" in refused("cite", "plugged", code=1)
    run("train", LINEAR, "-m", "plugged", "--save", "m.nr", "--quiet")
    assert "plugged (Plugged), classification" in run("inspect", "m.nr").stdout
    monkeypatch.delenv("NOREGRET_PLUGINS")
    for command in (("inspect", "m.nr"), ("predict", LINEAR, "--model-file", "m.nr")):
        said = process(*command).communicate()[1]  # a process that has not run the plugin
        assert "holds a 'plugged', a learner not known here" in said
        assert "name its file (--plugin)" in said
        assert process(*command, "--plugin", "plugged.py", stdin=subprocess.DEVNULL).communicate()[0]
    assert "no plugin nothing.py" in refused("algorithms", "--plugin", "nothing.py", code=1)
    (own / "broken.py").write_text("1 / 0\n")
    assert "broken.py fails: ZeroDivisionError" in refused("algorithms", "--plugin", "broken.py", code=1)


# ---- completion ------------------------------------------------------------------------------------------------------
def completed(*args):
    *before, incomplete = args
    return [
        item.value for item in ShellComplete(main, {}, "noregret", "_NOREGRET_COMPLETE").get_completions(list(before), incomplete)
    ]


def test_completion():
    assert completed("ev") == ["evaluate"]
    assert completed("evaluate", "--model", "averaged") == ["averaged_perceptron"]
    assert completed("compare", "x.svm", "-m", "pa,averaged") == ["pa,averaged_perceptron"]
    assert "--schedule" in completed("evaluate", "--model", "perceptron", "--sch")
    assert completed("evaluate", "--model", "ogd", "--loss", "sq") == ["squared_hinge"]
    assert completed("cite", "winn") == ["winnow"]
    assert completed("evaluate", "--model", "nothing", "--sc") == ["--scale"]


# ---- mistakes of a user ----------------------------------------------------------------------------------------------
def test_a_model_is_no_source(here):
    run("train", LINEAR, "-m", "pa1", "--save", "m.nr", "--quiet")
    for args in (["evaluate", "m.nr", "-m", "pa1"], ["predict", "m.nr", "--model-file", "m.nr"], ["convert", "m.nr", "m.csv"]):
        assert "m.nr is a model of noregret" in refused(*args)


def test_an_unknown_figure_is_refused_before_the_work(here):
    assert "Did you mean error?" in refused("compare", "there-is-no-such-file.svm", "--sort", "eror")
    run("compare", LINEAR, "-m", "pa1,ogd", "--no-regret", "--sort", "squared_hinge")


def test_drafts_are_not_what_an_error_is_about(here):
    run("train", LINEAR, "-m", "pa1", "--save", "m.nr", "--quiet")
    said = refused("predict", LINEAR, "--model-file", "m.nr", "--output", "nowhere/answers", code=1)
    assert said == "Error: cannot write nowhere/answers: there is no directory nowhere; make it first\n"
    long = "a" * 250  # the name of its draft is too long for the system
    said = refused("predict", LINEAR, "--model-file", "m.nr", "--output", long, code=1)
    assert said == f"Error: {here / long}: File name too long\n"


def test_one_class_learners_on_the_command_line(here):
    found = json.loads(run("evaluate", LINEAR, "-m", "pa_uniclass", "--json").stdout)
    assert found["examples"] == 600
    assert found["losses"].keys() == {"outside"}
    assert found["confusion"]["labels"] == [-1, 1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_keeps_its_first_rows(tmp_path):
    pipe = tmp_path / "rows"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("1 1:2\n-1 2:1\n1 1:1\n",))
    writer.start()
    found = json.loads(run("evaluate", str(pipe), "--format", "svmlight", "-m", "pa1", "--no-regret", "--json").stdout)
    writer.join()
    assert found["examples"] == 3


# ---- unsure ----------------------------------------------------------------------------------------------------------
def test_asking_and_rejecting(here):
    noisy = "synthetic:linear?n=400&d=5&seed=1&noise=0.1"
    said = run("evaluate", noisy, "-m", "arow", "--ask", "second_order", "--ask-b", "0.5", "--json").stdout
    assert 0 < json.loads(said)["queries"] < 400
    run("train", noisy, "-m", "arow", "--save", "a.nr", "--quiet")
    done = run("predict", noisy, "--model-file", "a.nr", "--reject", "0.9")
    answers = done.stdout.splitlines()
    learner = nr.load(here / "a.nr")
    assert set(answers) == {"", "-1", "1"}
    assert f"{answers.count('')} were not" in done.stderr
    whole = run("predict", noisy, "--model-file", "a.nr").stdout.splitlines()
    assert all(a in ("", b) for a, b in zip(answers, whole, strict=True))
    found = json.loads(run("predict", noisy, "--model-file", "a.nr", "--reject", "0.9", "--json").stdout)
    assert found["rejected"] == answers.count("")
    assert found["error"] < learner.n_mistakes_ / 400
    run("train", noisy, "-m", "pa1", "--save", "p.nr", "--quiet")
    assert "knows how sure it is" in refused("predict", noisy, "--model-file", "p.nr", "--reject", "0.9", code=1)


# ---- compact predictors ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("learner", ["ftrl", "ftrl_regressor"])
@pytest.mark.parametrize("bits", [(), ("--hash-bits", "6")])
def test_a_compact_predictor_answers_and_is_shown(here, learner, bits):
    rows = "".join(f"{(-1) ** i} {1 + i % 3}:{(-1) ** i * (1 + i % 2)} 7:1\n" for i in range(60))
    (here / "rows.svm").write_text(rows)
    run("train", "rows.svm", "-m", learner, "--save", "whole.nr", *bits)
    nr.load("whole.nr").compact().save("small.nr")
    answers = [
        json.loads(run("predict", "rows.svm", "--model-file", file, "--scores", "--json").stdout)
        for file in ("whole.nr", "small.nr")
    ]
    if learner == "ftrl":
        run("train", "rows.svm", "-m", learner, "--save", "sure.nr", "--probabilities", *bits)
        nr.load("sure.nr").compact().save("small_sure.nr")
        sure = [run("predict", "rows.svm", "--model-file", file, "--proba").stdout for file in ("sure.nr", "small_sure.nr")]
        assert np.allclose(*([[float(p) for p in line.split()] for line in said.splitlines()] for said in sure), atol=1e-9)
    both = zip(*(found["predictions"] for found in answers), strict=True)
    assert all(a["score"] == pytest.approx(b["score"], abs=1e-12) for a, b in both)
    shown = process("inspect", "small.nr").communicate()[0]  # a process of its own, which has imported no task yet
    assert f"{learner} (Compact)" in shown
    assert "60 rows" in shown
    whole, small = (json.loads(run("inspect", file, "--json").stdout) for file in ("whole.nr", "small.nr"))
    assert {k: small[k] for k in ("examples", "mistakes", "classes", "nonzeros")} == {
        k: whole[k] for k in ("examples", "mistakes", "classes", "nonzeros")
    }
    same = [[abs(row["weight"]) for row in found["weights"][0]["top"]] for found in (whole, small)]
    assert same[0] == pytest.approx(same[1])
    for way in ("--resume", "--continue"):
        assert "a Compact only predicts" in refused("train", "rows.svm", "--save", "small.nr", way, code=1)
