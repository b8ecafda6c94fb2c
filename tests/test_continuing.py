"""Training on tomorrow's file: new files, and what was added to one, give the model of one long file; nothing is learned twice."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_training import ROLES, same_file, svmlight, table

import noregret as nr
from noregret.cli import main
from noregret.streams import delimited, growing
from noregret.streams import svmlight as svmlight_reader
from noregret.streams.text_reader import Copied
from noregret.training.job import train

MODELS = [
    "pa1",
    "auto",
    "arow:covariance=full",
    "voted_perceptron",
    "scale()>normalize()>ogd:average=true",
    "nystroem(8,rbf(0.1))>pa1",
]


def run(*args, code=0):
    result = CliRunner().invoke(main, list(args))
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result


def cut(source, *rows):
    """Write the lines of a file into several, the header of a table in each."""
    lines = Path(source).read_text().splitlines(keepends=True)
    head = lines[:1] if source.endswith("csv") else []
    ends = [len(head), *(len(head) + n for n in rows), len(lines)]
    paths = []
    for k, (a, b) in enumerate(itertools.pairwise(ends)):
        path = Path(source).with_name(f"day{k}{Path(source).suffix}")
        path.write_text("".join([*head, *lines[a:b]]))
        paths.append(str(path))
    return paths


def made(tmp_path, kind):
    return (svmlight(tmp_path / "whole.svm"), {}) if kind == "svmlight" else (table(tmp_path / "whole.csv"), ROLES)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    for module, name in ((svmlight_reader, "SvmlightReader"), (delimited, "CsvReader")):
        monkeypatch.setattr(module, name, partial(getattr(module, name), block=700))


# ---- other options ---------------------------------------------------------------------------------------------------
OTHER = [
    ("csv", "--scale", "the model was trained without --scale: leave out --scale"),
    ("csv", "--normalize l2", "the model was trained without --normalize: leave out --normalize"),
    ("csv", "--target color", "the model was trained with --target y, not --target color: leave out --target"),
    ("csv", "--weight w", "the model was trained without --weight: leave out --weight"),
    (
        "csv",
        "--ignore w,size",
        "the model was trained with --ignore ['color', 'w'], not --ignore ['w', 'size']: leave out --ignore",
    ),
    ("csv", "--id w", "the model was trained without --id: leave out --id"),
    ("csv", "--hash-bits 9", "the model was trained without --hash-bits: leave out --hash-bits"),
    ("csv", "--ngrams 0", "the model was trained with --ngrams 1, not --ngrams 0: leave out --ngrams"),
    ("svm", "--scale", "the model was trained without --scale: leave out --scale"),
    ("svm", "--normalize max", "the model was trained without --normalize: leave out --normalize"),
]


@pytest.mark.parametrize("way", ["--continue", "--resume"])
@pytest.mark.parametrize(("kind", "option", "told"), OTHER)
def test_options_that_are_not_those_of_the_model_are_refused(tmp_path, kind, option, told, way):
    """Ignored or mixed with the model's own they would give a model of neither."""
    files = [tmp_path / f"{day}.{kind}" for day in ("mon", "tue")]
    for file in files:
        rows = "".join(f"{i},red,{i % 3},{i % 2}\n" for i in range(20))
        file.write_text(f"size,color,w,y\n{rows}" if kind == "csv" else "1 1:2\n-1 1:-2\n" * 10)
    how = ["--target", "y", "--ignore", "color,w"] if kind == "csv" else []
    save = str(tmp_path / "m.nr")
    run("train", str(files[0]), "-m", "pa1", "--save", save, *how)
    before = Path(save).read_bytes()
    source = str(files[way == "--continue"])
    done = run("train", source, "--save", save, way, *option.split(), code=2)
    assert f"Error: {told}\n" in done.output
    if "--id" not in option:  # which answers may have from any column
        assert f"Error: {told}\n" in run("predict", source, "--model-file", save, *option.split(), code=2).output
    assert Path(save).read_bytes() == before


def test_options_of_the_model_are_no_other_options(tmp_path):
    for day in ("mon", "tue", "wed"):
        (tmp_path / f"{day}.csv").write_text("size,color,w,y,a,b\n" + "".join(f"{i},red,{i % 3},{i % 2},0,1\n" for i in range(20)))
    save, how = str(tmp_path / "m.nr"), ["--target", "y", "--weight", "w", "--scale", "--normalize", "l1", "--cross", "size,color"]
    run("train", str(tmp_path / "mon.csv"), "-m", "pa1", "--save", save, *how, "--ignore", "a,b")
    run("train", str(tmp_path / "tue.csv"), "--save", save, "--continue", *how, "--ignore", "b,a")
    done = run("train", str(tmp_path / "wed.csv"), "--save", save, "--continue", "--normalize", "l2", code=2)
    assert "the model was trained with --normalize l1, not --normalize l2: leave out --normalize" in done.output


# ---- new files -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["svmlight", "csv"])
@pytest.mark.parametrize("model", MODELS)
def test_files_one_after_the_other_are_one_long_file(tmp_path, kind, model):
    source, options = made(tmp_path, kind)
    if "scale" in model:
        options = {k: v for k, v in options.items() if k not in ("scale", "normalize")}
    train(source, model, save=tmp_path / "whole.nr", **options)
    for path in cut(source, 100, 101, 220):
        train(path, model, save=tmp_path / "days.nr", continue_=True, **options)
    same_file(tmp_path / "whole.nr", tmp_path / "days.nr")


@pytest.mark.parametrize("model", ["auto_regressor", "rls"])
def test_numbers_continue(tmp_path, model):
    source = tmp_path / "whole.csv"
    source.write_text("a,b,y\n" + "".join(f"{i * 7 % 11},{'xyz'[i % 3]},{i * 5 % 13 + 0.5}\n" for i in range(150)))
    train(str(source), model, save=tmp_path / "whole.nr", target="y")
    for path in cut(str(source), 50, 90):
        train(path, model, save=tmp_path / "days.nr", continue_=True, target="y")
    same_file(tmp_path / "whole.nr", tmp_path / "days.nr")


def test_tasks_continue(tmp_path):
    source = tmp_path / "whole.csv"
    source.write_text("task,x,y\n" + "".join(f"{'abc'[i % 3 if i > 60 else 0]},{i * 7 % 11},{i * 5 % 3}\n" for i in range(120)))
    how = {"target": "y", "task": "task"}
    train(str(source), "multitask_regressor", save=tmp_path / "whole.nr", **how)
    for path in cut(str(source), 50, 90):
        train(path, "multitask_regressor", save=tmp_path / "days.nr", continue_=True, **how)
    same_file(tmp_path / "whole.nr", tmp_path / "days.nr")


@pytest.mark.parametrize("after", [1, 3])
def test_stopped_in_a_file_and_continued(tmp_path, after):
    source = svmlight(tmp_path / "whole.svm")
    train(source, "pa1", save=tmp_path / "whole.nr")
    monday, tuesday = cut(source, 300)
    train(monday, "pa1", save=tmp_path / "m.nr")
    count = itertools.count(1)
    stopped = train(tuesday, save=tmp_path / "m.nr", continue_=True, stop=lambda: next(count) == after)
    assert not stopped.finished
    with pytest.raises(
        ValueError, match="stopped in the middle of .*day1.svm, after .* rows: give that source and resume=True first"
    ):
        train(svmlight(tmp_path / "other.svm", 10), save=tmp_path / "m.nr", continue_=True)
    rest = train(tuesday, save=tmp_path / "m.nr", continue_=True)
    assert rest.added == 600 - stopped.examples
    same_file(tmp_path / "whole.nr", tmp_path / "m.nr")


def test_stopped_in_a_later_pass_says_so(tmp_path):
    source, save = svmlight(tmp_path / "whole.svm"), tmp_path / "m.nr"
    other = svmlight(tmp_path / "other.svm", 10, seed=3)
    count = itertools.count(1)
    stopped = train(source, "pa1", save=save, epochs=3, stop=lambda: next(count) == 100)
    assert 600 < stopped.examples < 1200
    before = save.read_bytes()
    where = f"m.nr stopped in pass 2 over {source}, after {stopped.examples - 600} rows"
    for way in ({"resume": True}, {"continue_": True}):
        with pytest.raises(ValueError, match=f"{where}: give epochs=2 or more to continue, got 1"):
            train(source, save=save, **way)
    for sources in (other, [source, other]):
        with pytest.raises(ValueError, match=f"{where}: give that source, epochs=2 or more and resume=True first"):
            train(sources, save=save, continue_=True, epochs=3)
    assert save.read_bytes() == before
    assert train(source, save=save, continue_=True, epochs=3).examples == 1800
    assert train([source, other], save=save, continue_=True).added == 10


def test_what_has_no_examples_says_what_there_is(tmp_path):
    path = tmp_path / "a.csv"
    for text, told in {
        "": "",
        "1,0,p\n2,0,p\n": ", but 2 rows of weight 0",
        "1,0\n": f", but 1 bad row, the first {path}:2: expected 3 columns, found 2",
        "1,0,p\n2\n": f", but 1 row of weight 0 and 1 bad row, the first {path}:3: expected 3 columns, found 1",
    }.items():
        path.write_text(f"x,w,y\n{text}")
        for do in (
            partial(train, model="pa1"),
            partial(nr.evaluate, model="pa1"),
            partial(nr.evaluate, model="pa1", permutations=2),
        ):
            with pytest.raises(ValueError) as found:
                do(str(path), target="y", weight="w", on_bad="skip")
            assert str(found.value) == f"{path} has no examples{told}"


def test_columns_of_another_file_are_refused_with_its_name(tmp_path):
    for name, head in (("mon", "x,y"), ("tue", "x,z,y")):
        (tmp_path / f"{name}.csv").write_text(f"{head}\n" + ",".join("1" for _ in head.split(",")) + "\n")
    save = str(tmp_path / "m.nr")
    run("train", str(tmp_path / "mon.csv"), "--target", "y", "-m", "pa1", "--save", save)
    done = run("train", str(tmp_path / "tue.csv"), "--save", save, "--continue", code=1)
    assert f"Error: {tmp_path}/tue.csv: the columns are not those of the first batch; new: z." in done.output


def test_files_of_a_list_that_were_learned_are_left_out(tmp_path):
    source = svmlight(tmp_path / "whole.svm")
    train(source, "pa1", save=tmp_path / "whole.nr")
    days = cut(source, 100, 200, 300)
    pattern = str(tmp_path / "day*.svm")
    for path in days[1:]:
        os.rename(path, path + ".later")
    for n, path in zip((100, 100, 100, 300), days):
        if not os.path.exists(path):
            os.rename(path + ".later", path)
        assert train(pattern, "pa1", save=tmp_path / "m.nr", continue_=True).added == n
    before = (tmp_path / "m.nr").read_bytes()
    assert train(pattern, save=tmp_path / "m.nr", continue_=True).added == 0
    assert (tmp_path / "m.nr").read_bytes() == before
    same_file(tmp_path / "whole.nr", tmp_path / "m.nr")


def test_stopped_in_the_middle_of_several_files(tmp_path):
    source = svmlight(tmp_path / "whole.svm")
    train(source, "pa1", save=tmp_path / "whole.nr")
    days = cut(source, 100, 350)
    train(days[0], "pa1", save=tmp_path / "m.nr")
    for after in (2, 6, 1000):
        count = itertools.count(1)
        done = train(days, save=tmp_path / "m.nr", continue_=True, stop=lambda n=after, count=count: next(count) == n)
    assert done.finished
    same_file(tmp_path / "whole.nr", tmp_path / "m.nr")


@pytest.mark.parametrize("kind", ["svmlight", "csv"])
def test_what_was_added_to_a_file_is_learned(tmp_path, kind):
    source, options = made(tmp_path, kind)
    train(source, "pa1", save=tmp_path / "whole.nr", **options)
    text = Path(source).read_bytes()
    day = tmp_path / f"day{Path(source).suffix}"
    for share in (0.3, 0.5, 1.0):
        day.write_bytes(text[: text.rfind(b"\n", 0, int(share * len(text))) + 1])
        if share > 0.3:
            with pytest.raises(ValueError, match=r"has grown from .* bytes to .* continue_=True"):
                train(str(day), save=tmp_path / "m.nr", resume=True, **options)
        train(str(day), "pa1", save=tmp_path / "m.nr", continue_=True, **options)
    same_file(tmp_path / "whole.nr", tmp_path / "m.nr")


def test_another_file_of_the_same_name_is_a_new_one(tmp_path):
    source = svmlight(tmp_path / "today.svm", 50, seed=1)
    train(source, "pa1", save=tmp_path / "m.nr")
    svmlight(tmp_path / "today.svm", 60, seed=2)
    with pytest.raises(ValueError, match="is not the file that was read before"):
        train(source, save=tmp_path / "m.nr", resume=True)
    assert train(source, save=tmp_path / "m.nr", continue_=True).examples == 110


def test_files_of_which_it_cannot_be_told_what_is_new(tmp_path):
    source = svmlight(tmp_path / "a.svm", 200)
    text = Path(source).read_bytes()
    train(source, "pa1", save=tmp_path / "m.nr")
    saved = (tmp_path / "m.nr").read_bytes()
    again = partial(train, source, save=tmp_path / "m.nr", continue_=True)
    Path(source).write_bytes(text[: text.index(b"\n", 8000) + 1])
    with pytest.raises(ValueError, match=r"a.svm was cut from .* bytes to"):
        again()
    Path(source).write_bytes(text + b"1 2:1\n")
    other = svmlight(tmp_path / "b.svm", 10, seed=4)
    train(other, save=tmp_path / "m.nr", continue_=True)
    with pytest.raises(ValueError, match="another file was learned after it"):
        again()
    (tmp_path / "m.nr").write_bytes(saved)
    Path(source).write_bytes(text[:-4])
    train(source, "pa1", save=tmp_path / "torn.nr")
    Path(source).write_bytes(text)
    with pytest.raises(ValueError, match=r"ended inside a line when it was learned, at byte"):
        train(source, save=tmp_path / "torn.nr", continue_=True)


def test_other_features_are_refused(tmp_path):
    train(svmlight(tmp_path / "a.svm", 20), "pa1", save=tmp_path / "m.nr")
    train(table(tmp_path / "a.csv", 20), "pa1", save=tmp_path / "t.nr", **ROLES)
    before = (tmp_path / "m.nr").read_bytes()
    with pytest.raises(TypeError, match="the model learned from rows of numbered features, and .*a.csv has named columns"):
        train(str(tmp_path / "a.csv"), save=tmp_path / "m.nr", continue_=True, target="spam")
    with pytest.raises(TypeError, match="the model learned from a table with named columns"):
        train(str(tmp_path / "a.svm"), save=tmp_path / "t.nr", continue_=True)
    assert (tmp_path / "m.nr").read_bytes() == before


def test_a_file_that_is_gone_does_not_stand_in_the_way(tmp_path):
    monday, tuesday = svmlight(tmp_path / "mon.svm"), svmlight(tmp_path / "tue.svm", 50, seed=3)
    train(monday, "pa1", save=tmp_path / "m.nr", stop=lambda: True)
    os.remove(monday)
    with pytest.warns(UserWarning, match="which is gone: what was left of it is not learned"):
        assert train(tuesday, save=tmp_path / "m.nr", continue_=True).added == 50


def test_sources_that_are_no_files(tmp_path):
    X, y = np.eye(4), np.array([1, -1, 1, -1])
    sources = [
        ("synthetic:linear?n=100&d=4", None, 100),
        ("synthetic:linear?n=100&d=4", None, 0),
        (X, y, 4),
        (X[::-1].copy(), y, 4),
    ]
    for source, labels, added in sources:
        assert train(source, "pa1", labels, save=tmp_path / "m.nr", continue_=True).added == added
    with pytest.raises(ValueError, match="resume and continue_ do not go together"):
        train(X, None, y, save=tmp_path / "m.nr", resume=True, continue_=True)


def test_a_model_of_arrays_continues_with_a_file(tmp_path):
    nr.PA1().partial_fit(np.eye(4), [1, -1, 1, -1]).save(tmp_path / "m.nr")
    np.savez(tmp_path / "a.npz", X=np.ones((20, 4)), y=np.arange(20) % 2 * 2 - 1)
    assert train(str(tmp_path / "a.npz"), save=tmp_path / "m.nr", continue_=True).examples == 24


def test_the_same_command_every_day(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    svmlight("mon.svm", 50)
    svmlight("tue.svm", 40, seed=2)
    daily = ("--save", "day.nr", "--continue", "--quiet")
    assert "pa1 learned 50 rows" in run("train", "mon.svm", "-m", "pa1", *daily).stdout
    said = run("train", "tue.svm", "--save", "day.nr", "--resume", "--quiet", code=1).stderr
    assert said == (
        "Error: day.nr was trained from mon.svm, not from tue.svm: give the same source to resume, or --continue to learn from "
        "this one too\n"
    )
    assert "pa1 learned 90 rows" in run("train", "tue.svm", "-m", "pa1", *daily).stdout
    for day in ("tue.svm", "mon.svm", "./mon.svm"):
        told = run("train", day, *daily).stdout
        assert told == f"Nothing new: day.nr has learned {day} already. It stays as it was.\n"
    assert json.loads(run("train", "tue.svm", *daily, "--json").stdout)["added"] == 0
    assert "holds pa1, not pa2" in run("train", "tue.svm", "-m", "pa2", *daily, code=2).stderr
    assert "tue.svm, to the end (once), after mon.svm" in run("inspect", "day.nr").stdout


# ---- a file that grows -----------------------------------------------------------------------------------------------
@pytest.fixture
def writing(monkeypatch):
    """Write more to a file whenever who follows it has nothing to read; ask for a stop when there is no more."""

    def start(path, pieces, stop_at_end=True):
        left = iter(pieces)
        path.write_bytes(next(left))
        state = {"done": False}

        def sleep(_):
            piece = next(left, None)
            if piece is None:
                state["done"] = stop_at_end
            elif callable(piece):
                piece()
            else:
                with open(path, "ab") as file:
                    file.write(piece)

        monkeypatch.setattr(growing, "sleep", sleep)
        return lambda: state["done"]

    return start


def torn(text, n):
    """Cut bytes into n pieces, wherever that is."""
    edges = [len(text) * k // n for k in range(n + 1)]
    return [text[a:b] for a, b in itertools.pairwise(edges)]


@pytest.mark.parametrize("kind", ["svmlight", "csv"])
@pytest.mark.parametrize("model", MODELS)
def test_a_followed_file_is_one_long_file(tmp_path, writing, kind, model):
    source, options = made(tmp_path, kind)
    if "scale" in model:
        options = {k: v for k, v in options.items() if k not in ("scale", "normalize")}
    train(source, model, save=tmp_path / "whole.nr", **options)
    log = tmp_path / f"log{Path(source).suffix}"
    stop = writing(log, torn(Path(source).read_bytes(), 7))
    done = train(str(log), model, save=tmp_path / "m.nr", follow=True, stop=stop, **options)
    assert done.finished
    same_file(tmp_path / "whole.nr", tmp_path / "m.nr")


def test_lines_inside_quotes_are_not_whole(tmp_path, writing):
    text = b"a,note,y\n" + b"".join(b'%d,"one\ntwo ""%d"" three",%s\n' % (i, i % 5, b"yes" if i % 3 else b"no") for i in range(60))
    (tmp_path / "whole.csv").write_bytes(text)
    how = {"target": "y", "text": "note"}
    train(str(tmp_path / "whole.csv"), "pa1", save=tmp_path / "whole.nr", **how)
    for n in (9, 60, 300):
        stop = writing(tmp_path / "log.csv", torn(text, n))
        train(str(tmp_path / "log.csv"), "pa1", save=tmp_path / "m.nr", follow=True, stop=stop, **how)
        same_file(tmp_path / "whole.nr", tmp_path / "m.nr")


def test_following_stops_and_goes_on(tmp_path, writing):
    source = svmlight(tmp_path / "whole.svm")
    train(source, "pa1", save=tmp_path / "whole.nr")
    pieces = torn(Path(source).read_bytes(), 4)
    log = tmp_path / "log.svm"
    log.write_bytes(b"")
    for how, piece in zip(("continue_", "resume", "continue_", "resume"), pieces):
        log_now = log.read_bytes()
        stop = writing(log, [log_now + piece])
        train(str(log), "pa1", save=tmp_path / "m.nr", follow=True, stop=stop, **{how: True})
    same_file(tmp_path / "whole.nr", tmp_path / "m.nr")
    other = svmlight(tmp_path / "b.svm", 30, seed=5)
    assert train(other, save=tmp_path / "m.nr", continue_=True).added == 30  # nothing was left in the file that was followed


def test_a_followed_file_that_changes_is_an_error_and_nothing_is_lost(tmp_path, writing):
    text = Path(svmlight(tmp_path / "whole.svm", 100)).read_bytes()
    log = tmp_path / "log.svm"

    def replaced():
        (tmp_path / "new.svm").write_bytes(text + text)
        os.replace(tmp_path / "new.svm", log)

    changes = {
        "was cut to 20 bytes": lambda: log.write_bytes(text[:20]),
        "was replaced by another file": replaced,
        "was rewritten while it was followed: expected its first [0-9,]+ bytes to stay": lambda: log.write_bytes(text[::-1]),
        "was rewritten while": lambda: log.write_bytes(text[: len(text) // 2] + b"1 1:1\n" * len(text)),
        "log.svm is gone, which was followed": lambda: os.remove(log),
        "expected a feature as number:value": lambda: log.write_bytes(text + b"1 a:b\n"),
    }
    for said, change in changes.items():
        (tmp_path / "m.nr").unlink(missing_ok=True)
        stop = writing(log, [text, change], stop_at_end=False)
        with pytest.raises((ValueError, OSError), match=said):
            train(str(log), "pa1", save=tmp_path / "m.nr", follow=True, stop=stop)
        assert nr.load(tmp_path / "m.nr").n_seen_ == 100


def test_a_file_that_is_cut_while_it_is_read_ends_no_process(tmp_path):
    source = svmlight(tmp_path / "a.svm", 200)
    reader = growing.Growing(svmlight_reader.SvmlightReader(source, block=512, threads=1), lambda: True)
    rows = reader.batches()
    assert next(rows).n
    blocks = Copied(source, 0)
    os.truncate(source, 600)
    with pytest.raises(ValueError, match="expected at least"):
        list(rows)
    with pytest.raises(ValueError, match="expected at least"):
        blocks.window(1000)  # what was there when it was looked for, and is gone when it is read
    blocks.close()


def test_two_trainings_do_not_overwrite_each_other(tmp_path):
    first, second = (svmlight(tmp_path / f"{name}.svm", 100, seed=k) for k, name in enumerate("ab"))
    path = tmp_path / "m.nr"
    train(first, "pa1", save=path)

    def other(rows, opened, model):
        if rows == 200:
            train(svmlight(tmp_path / "c.svm", 30, seed=2), save=path, continue_=True)

    with pytest.raises(ValueError, match="m.nr was written by someone else during this training, which is not saved"):
        train(second, save=path, continue_=True, watch=other)
    assert nr.load(path).n_seen_ == 130
    assert train(second, save=path, continue_=True, checkpoint_every=10).examples == 230


def test_what_cannot_be_followed(tmp_path):
    path = svmlight(tmp_path / "a.svm", 10)
    for source in ("synthetic:linear?n=10", [path, path]):
        with pytest.raises(ValueError, match="cannot be followed: expected one file of svmlight, vw, csv, tsv or jsonl"):
            train(source, "pa1", follow=True)
    with pytest.raises(ValueError, match="has no end: epochs must be 1"):
        train(path, "pa1", follow=True, epochs=2)


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
def test_ctrl_c_ends_following(tmp_path):
    log, model = tmp_path / "log.svm", tmp_path / "m.nr"
    text = Path(svmlight(tmp_path / "whole.svm", 200)).read_bytes()
    log.write_bytes(text[:3000])
    args = ["train", str(log), "-m", "pa1", "--save", str(model), "--follow", "--continue", "--checkpoint-every", "1"]
    for part in (text[3000:7000], text[7000:]):
        p = subprocess.Popen(
            [sys.executable, "-m", "noregret.cli", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        seen = nr.load(model).n_seen_ if model.exists() else 0
        with open(log, "ab") as file:
            file.write(part)
        lines = log.read_bytes().count(b"\n")
        limit = time.monotonic() + 60
        while (not model.exists() or nr.load(model).n_seen_ < lines) and p.poll() is None and time.monotonic() < limit:
            time.sleep(0.02)
        p.send_signal(signal.SIGINT)
        out, said = p.communicate(timeout=60)
        assert p.returncode == 0, said
        assert seen < lines
        assert f"pa1 learned {lines} rows" in out
        assert said.count("To continue:") == 1
    assert nr.load(model).n_seen_ == 200


def test_a_file_is_not_learned_again_under_another_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mon.svm").write_text("1 1:1\n-1 2:1\n")
    Path("tue.svm").write_text("1 1:1\n-1 3:1\n")
    nr.train("mon.svm", nr.PA1(), save="m.nr", continue_=True)
    Path("copy.svm").write_bytes(Path("mon.svm").read_bytes())
    Path("link.svm").symlink_to("mon.svm")
    for again in ("copy.svm", "link.svm", tmp_path / "mon.svm"):
        assert nr.train(again, save="m.nr", continue_=True).added == 0
    assert nr.train("tue.svm", save="m.nr", continue_=True).added == 2


@pytest.mark.parametrize("limit", [50, 100])
def test_following_ends_at_a_limit(tmp_path, limit):
    """Whether the limit cuts a batch, or all there is has been read: nothing is waited for."""
    source = tmp_path / "rows.svm"
    source.write_text("".join(f"{(-1) ** i} {i % 7 + 1}:1\n" for i in range(100)))
    asked = iter([False] * 10)  # more often only if it waits
    done = train(str(source), "pa1", save=tmp_path / "m.nr", follow=True, limit=limit, stop=lambda: next(asked))
    assert (done.examples, done.finished) == (limit, True)
    with open(source, "a") as file:
        file.write("1 1:1\n")
    if limit == 50:
        with pytest.raises(ValueError, match="has learned only the first 50 rows"):
            train(str(source), save=tmp_path / "m.nr", resume=True)
    else:
        assert train(str(source), save=tmp_path / "m.nr", resume=True).examples == 101


# ---- columns that came later -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_that_came_later_are_left_out(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    rows = [(i * 7 % 11, i % 2) for i in range(40)]
    Path("mon.csv").write_text("a,y\n" + "".join(f"{a},{y}\n" for a, y in rows))
    Path("tue.csv").write_text("a,zz,y\n" + "".join(f"{a},{'?' * (a % 2)}{a},{y}\n" for a, y in rows))
    for day in ("mon", "tue") if kind == "parquet" else ():
        run("convert", f"{day}.csv", f"{day}.parquet")
    monday, tuesday = f"mon.{kind}", f"tue.{kind}"
    run("train", monday, "--target", "y", "-m", "pa1", "--save", "m.nr")
    told = "new: zz. Give the same columns, or leave out those that vary (--ignore)."
    assert told in run("predict", tuesday, "--model-file", "m.nr", code=1).output
    wanted = run("predict", monday, "--model-file", "m.nr", "--scores").stdout
    assert run("predict", tuesday, "--model-file", "m.nr", "--scores", "--ignore", "zz").stdout == wanted
    assert run("predict", tuesday, "--model-file", "m.nr", "--scores", "--ignore", "zz", "--id", "zz").exit_code == 0
    refused = run("predict", tuesday, "--model-file", "m.nr", "--ignore", "zz,a", code=2)
    assert "the model was trained without --ignore: leave out --ignore" in refused.output
    Path("gone.csv").write_text("y\n1\n")
    assert run("predict", "gone.csv", "--model-file", "m.nr", code=1).output.endswith("missing: a. Give the same columns.\n")
    assert "learned 80 rows" in run("train", tuesday, "--save", "m.nr", "--continue", "--ignore", "zz").output


def test_continuing_a_model_that_is_not_there_says_so(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n0 1:2\n")
    given = ["train", str(tmp_path / "a.svm"), "--model", "pa1", "--save", str(tmp_path / "m.nr"), "--continue", "--quiet"]
    assert "m.nr is not there yet" in CliRunner().invoke(main, given).stderr
    assert "not there" not in CliRunner().invoke(main, given).stderr
