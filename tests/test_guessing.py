"""The column of labels where none is named: which is guessed, and when none is."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main
from noregret.training.guessing import with_target

ROWS = "".join(f"{i % 7},{i % 5},{'yes' if i % 7 > i % 5 else 'no'}\n" for i in range(40))
ARFF = "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute {} {}\n@data\n" + ROWS


def guessed(source, *models, **options):
    opened, notes = with_target(nr.stream(source, **options), *models or [None])
    assert all(repr(opened.front.table.target) in note for note in notes)
    return opened.front.table.target if notes else None


@pytest.mark.parametrize("name", ["label", "target", "class", "y", "Class", "LABEL"])
def test_columns_called_as_labels_are(name):
    data = f"a,b,{name}\n{ROWS}".encode()
    assert guessed(data, format="csv") == name
    found = nr.train(data, nr.PA1(), format="csv")
    told = nr.train(data, nr.PA1(), format="csv", target=name)
    assert found.model.front.table.target == name
    np.testing.assert_array_equal(found.model.coef_, told.model.coef_)
    assert len(found.notes) == 1
    assert not told.notes


def test_the_last_attribute_of_arff():
    assert guessed(ARFF.format("play", "{yes, no}").encode()) == "play"
    assert guessed(ARFF.format("play", "{yes, no}").replace(" a ", " class ").encode()) == "class"
    with pytest.raises(ValueError, match="has no labels: .* one of a, b, play"):
        guessed(ARFF.format("play", "string").encode())


@pytest.mark.parametrize("names", ["a,b,c", "y,b,label"])
def test_nothing_is_guessed_in_doubt(names):
    with pytest.raises(
        ValueError, match=rf"has no labels: name their column \(target, --target\), one of {', '.join(names.split(','))}"
    ):
        guessed(f"{names}\n{ROWS}".encode(), format="csv")


def test_columns_with_a_role_are_not_guessed():
    assert guessed(f"y,b,label\n{ROWS}".encode(), format="csv", ignore="y") == "label"
    with pytest.raises(ValueError, match="has no labels"):
        guessed(ARFF.format("play", "{yes, no}").encode(), id="play")


def test_learners_that_need_no_labels_get_none():
    assert guessed(ARFF.format("play", "{yes, no}").encode(), nr.PAUniclass()) is None


def test_sources_that_bring_labels_keep_them():
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]})
    assert guessed(frame) == "y"
    assert guessed((frame, ["u", "v"])) is None
    assert guessed(iter([({"a": 1.0, "y": 2.0}, "u")])) is None


def test_pipelines_take_the_guess_over():
    model = nr.pipeline(nr.Category("a"), nr.PA1())
    done = nr.train(f"a,b,label\n{ROWS}".encode(), model, format="csv")
    assert done.model.front.table.target == "label"
    assert set(done.model.front.table.column_roles) == {"a", "b"}
    report = nr.evaluate(f"a,b,label\n{ROWS}".encode(), nr.pipeline(nr.Category("a"), nr.PA1()), format="csv")
    assert report.notes == done.notes


def test_convert_guesses_the_target_too(tmp_path):
    """Unsaid, the label would be written as a feature."""
    table, out = tmp_path / "a.csv", tmp_path / "a.svm"
    for head, told, first in (
        ("x,y", "Note: No target was named: column 'y' was taken (--target).", "4 0:3"),
        ("x,z", "Note: No target was named (--target): all columns were written as features.", "0:3 1:4"),
    ):
        table.write_text(f"{head}\n3,4\n5,6\n")
        done = CliRunner().invoke(main, ["convert", str(table), str(out)])
        assert done.exit_code == 0, done.output
        assert told in done.stderr
        assert out.read_text().splitlines()[0] == first
    done = CliRunner().invoke(main, ["convert", str(table), str(tmp_path / "a.jsonl")])
    assert "Note" not in done.output
