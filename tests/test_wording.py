"""What the library says about parameters is said about options on the command line."""

import json

import click
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main, wording


def said(*args, code=1):
    result = CliRunner().invoke(main, list(args))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.stderr


def test_parameters_become_options():
    names = ["hash_bits", "on_drift", "drift", "scale", "limit", "learner_C", "learner_kernel", "continue_", "classes", "regret"]
    params = [
        click.Option([f"--{n.removeprefix('learner_').rstrip('_').replace('_', '-')}", n], is_flag=n == "scale") for n in names
    ]
    params[5] = click.Option(["-C", "learner_C"])
    params[9] = click.Option(["--regret/--no-regret"])
    with click.Context(click.Command("x", params=params)) as ctx:
        wording.note_names(ctx)
        for library, line in (
            ("fold the numbers with hash_bits", "fold the numbers with --hash-bits"),
            ("hash_bits must be from 1 to 31, got 40", "--hash-bits must be from 1 to 31, got 40"),
            ("limit must be 1", "--limit must be 1"),
            ("the limit is 5 and must be", "the limit is 5 and must be"),
            (
                "on_drift='reset' needs a detector: give drift='adwin' or",
                "--on-drift reset needs a detector: give --drift adwin or",
            ),
            ("Give scale=True, or", "Give --scale, or"),
            ("leave it: regret=False.", "leave it: --no-regret."),
            ("use C=0.5. Then", "use -C 0.5. Then"),
            ("or continue_=True to", "or --continue to"),
            ("such as kernel=nr.RBF(gamma=0.5); got", "such as --kernel rbf(gamma=0.5); got"),
            ("(classes=...)", "(--classes)"),
            ("leave it out (ignore, --ignore day), or", "leave it out (--ignore day), or"),
            ("standardise them (scale=True, --scale)", "standardise them (--scale)"),
            ("say so (decimal, --decimal ,); else", "say so (--decimal ,); else"),
            ("a budget= is not one of these", "a budget= is not one of these"),
            ("column 'hash_bits' of my_hash_bits.csv", "column 'hash_bits' of my_hash_bits.csv"),
            ("data/hash_bits: hash_bits.csv", "data/hash_bits: hash_bits.csv"),
        ):
            assert wording.spoken(library) == line
    assert wording.spoken("hash_bits") == "hash_bits"  # outside of a command


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wide.svm").write_text("1 999999999:1\n-1 5:1\n")
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,3\n2,3,5\n")
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
    return tmp_path


def test_errors_of_the_library(here):
    assert "fold the numbers with --hash-bits\n" in said("train", "wide.svm", "-m", "pa1", "--save", "m.nr")
    assert "--on-drift reset needs a detector: give --drift adwin" in said("evaluate", "a.svm", "-m", "pa1", "--on-drift", "reset")
    assert "--average does not go with a projection" in said("evaluate", "a.svm", "-m", "ogd", "--average", "--projection", "l2")
    assert "Error: --kernel must be one of cauchy, " in said("evaluate", "a.svm", "-m", "forgetron", "--kernel", "no", code=2)


def test_a_model_of_hashed_features(here):
    assert CliRunner().invoke(main, ["train", "a.svm", "-m", "pa1", "--hash-bits", "5", "--save", "m.nr"]).exit_code == 0
    told = said("predict", "a.svm", "--model-file", "m.nr", "--hash-bits", "6")
    assert "2^5 places: --hash-bits 6 does not fit it" in told
    assert CliRunner().invoke(main, ["train", "t.csv", "-m", "pa1_regressor", "--target", "y", "--save", "t.nr"]).exit_code == 0
    told = said("predict", "t.csv", "--model-file", "t.nr", "--target", "a", code=2)
    assert "the model was trained with --target y, not --target a: leave out --target" in told


def test_notes_and_warnings_name_options_alone(here):
    (here / "l.csv").write_text("a,label\n" + "".join(f"{1000 * (i % 7)},{'pq'[i % 2]}\n" for i in range(60)))
    for args in (("train", "l.csv", "-m", "pa1", "--save", "m.nr"), ("evaluate", "l.csv", "-m", "pa1")):
        result = CliRunner().invoke(main, list(args))
        told = " ".join(result.output.split())
        assert "column 'label' was taken (--target)" in told
        assert "standardise them (--scale)" in told
    assert "give --theta or --hash-bits" in said("evaluate", "a.svm", "-m", "winnow")


def test_help_has_values_as_they_are_given():
    told = " ".join(CliRunner().invoke(main, ["train", "-m", "experts", "--help"]).output.split())
    assert "adahedge, hedge, fixed_share, bayes." in told
    assert '"' not in told.partition("Options of experts:")[2].partition("Source:")[0]


def test_lists_may_be_given_in_parts(here):
    run = ("train", "a.svm", "-m", "pa1", "--save", "m.nr")
    assert CliRunner().invoke(main, [*run, "--coverage", "0.5", "--coverage", "0.9"]).exit_code == 0
    assert nr.load("m.nr").coverage == [0.5, 0.9]
    assert CliRunner().invoke(main, [*run, "--class-weight", "1=2", "--class-weight=-1=1"]).exit_code == 0
    assert nr.load("m.nr").class_weight == {1: 2.0, -1: 1.0}
    assert "1 is given twice" in said(*run, "--class-weight", "1=2", "--class-weight", "1=3", code=2)
    assert "1 is given twice" in said(*run, "--class-weight", "1=2,1=3", code=2)
    swept = CliRunner().invoke(main, ["sweep", "a.svm", "-m", "pa1", "-C", "1", "-C", "2,4", "--json"]).stdout
    assert [row["label"] for row in json.loads(swept)["learners"]] == ["pa1 C=1.0", "pa1 C=2.0", "pa1 C=4.0"]
