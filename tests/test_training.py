"""Training over streams: a file that was stopped anywhere and resumed is the file that was never stopped."""

import csv
import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import noregret as nr
from noregret.streams import delimited
from noregret.streams import svmlight as svmlight_reader
from noregret.streams.writers import convert
from noregret.training.answering import answer
from noregret.training.job import train


def svmlight(path, n=600, seed=0):
    rng = np.random.default_rng(seed)
    with open(path, "w") as f:
        for _ in range(n):
            x = rng.standard_normal(4)
            cells = " ".join(f"{j}:{v!r}" for j, v in zip(sorted(rng.choice(30, 4, replace=False) + 1), x.tolist()))
            f.write(f"{1 if x.sum() > 0 else -1} {cells}\n")
    return str(path)


def table(path, n=300, seed=1):
    rng = np.random.default_rng(seed)
    words = ["free", "cash", "meeting", "lunch", "agenda", "prize"]
    with open(path, "w") as f:
        f.write("country,age,body,spam\n")
        for _ in range(n):
            body = rng.choice(words, 3)
            age = "" if rng.random() < 0.1 else f"{rng.normal(40, 9):.2f}"
            f.write(f"{rng.choice(['DE', 'FR', 'IT'])},{age},{' '.join(body)},{'yes' if 'free' in body else 'no'}\n")
    return str(path)


def same_file(a, b):
    x, y = load_file(a), load_file(b)
    assert x.keys() == y.keys()
    for name in x:
        assert x[name].tobytes() == y[name].tobytes(), name


ROLES = {"target": "spam", "text": "body", "categorical": "country", "scale": True, "normalize": "l2"}


@pytest.mark.parametrize("kind", ["svmlight", "csv"])
@pytest.mark.parametrize("after", [1, 2, 5])
def test_stopped_and_resumed_equals_never_stopped(tmp_path, monkeypatch, kind, after):
    for module, name in ((svmlight_reader, "SvmlightReader"), (delimited, "CsvReader")):
        monkeypatch.setattr(module, name, partial(getattr(module, name), block=700))
    source = svmlight(tmp_path / "a.svm") if kind == "svmlight" else table(tmp_path / "a.csv")
    options = {} if kind == "svmlight" else ROLES
    model = "ogd:average=true"
    whole = train(source, model, save=tmp_path / "whole.nr", epochs=2, **options)
    assert whole.finished
    count = itertools.count(1)
    first = train(source, model, save=tmp_path / "part.nr", epochs=2, stop=lambda: next(count) == after, **options)
    assert not first.finished
    assert first.examples < whole.examples
    rest = train(source, None, save=tmp_path / "part.nr", resume=True, epochs=2, **options)
    assert rest.finished
    assert rest.examples == whole.examples
    same_file(tmp_path / "whole.nr", tmp_path / "part.nr")


def test_resuming_what_is_finished_learns_nothing_more(tmp_path):
    source = svmlight(tmp_path / "a.svm", 50)
    train(source, "pa1", save=tmp_path / "m.nr")
    again = train(source, "pa1", save=tmp_path / "m.nr", resume=True)
    assert again.examples == 50


def test_checkpoints_are_written_on_the_way(tmp_path):
    source = "synthetic:linear?n=20000&d=4"
    seen = []

    def watch(examples, stream, model):
        if (tmp_path / "m.nr").exists():
            seen.append(nr.load(tmp_path / "m.nr").n_seen_)

    train(source, "pa1", save=tmp_path / "m.nr", checkpoint_every=3000, watch=watch)
    assert seen
    assert seen == sorted(seen)
    assert seen[0] < 20000


def test_limit_and_epochs(tmp_path):
    source = svmlight(tmp_path / "a.svm", 100)
    assert train(source, "pa1", limit=30, epochs=3).examples == 90
    lines = [line.split() for line in Path(source).read_text().splitlines()]
    m = nr.PA1()
    for _ in range(2):
        for line in lines:
            m.learn_one({int(c.split(":")[0]): float(c.split(":")[1]) for c in line[1:]}, int(line[0]))
    twice = train(source, "pa1", epochs=2).model
    assert twice.n_mistakes_ == m.n_mistakes_
    assert twice.intercept_ == pytest.approx(m.intercept_)


def test_a_trained_pipeline_answers_files_frames_and_dicts_alike(tmp_path):
    source = table(tmp_path / "a.csv")
    train(source, "pa1", save=tmp_path / "m.nr", **ROLES)
    m = nr.load(tmp_path / "m.nr")
    said = list(answer(source, m))
    y = np.concatenate([a.y for a in said])
    with open(source) as f:
        rows = list(csv.DictReader(f))
    dicts = [{"country": r["country"], "age": float(r["age"]) if r["age"] else None, "body": r["body"]} for r in rows]
    assert [m.predict_one(x) for x in dicts] == y.tolist()
    assert np.mean(y == [r["spam"] for r in rows]) > 0.9
    assert "body:free" in m.feature_names_


def test_mistakes_of_the_caller(tmp_path, monkeypatch):
    source = svmlight(tmp_path / "a.svm", 20)
    with pytest.raises(ValueError, match="give save"):
        train(source, "pa1", resume=True)
    with pytest.raises(FileNotFoundError, match="no directory"):
        train(source, "pa1", save=tmp_path / "no" / "m.nr")
    with pytest.raises(ValueError, match="epochs"):
        train(source, "pa1", epochs=0)
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="does not let you"):
        train(source, "pa1", save=tmp_path / "m.nr")
    monkeypatch.undo()
    nr.PA1().partial_fit(np.eye(2), [0, 1]).save(tmp_path / "array.nr")
    with pytest.raises(ValueError, match="not trained from a stream"):
        train(source, save=tmp_path / "array.nr", resume=True)
    train(source, "pa1", save=tmp_path / "m.nr")
    with pytest.raises(ValueError, match="give the same source"):
        train(svmlight(tmp_path / "b.svm", 20), save=tmp_path / "m.nr", resume=True)


def test_drafts_of_a_killed_process_are_cleared(tmp_path):
    source = svmlight(tmp_path / "a.svm", 20)
    train(source, "pa1", save=tmp_path / "m.nr")
    draft = tmp_path / "m.nr.0123456789abcdef.tmp"
    draft.write_bytes(b"half a file")
    other = tmp_path / "m.nr.notes.tmp"
    other.write_bytes(b"mine")
    train(source, save=tmp_path / "m.nr", resume=True)
    assert not draft.exists()
    assert other.exists()


@pytest.mark.parametrize("way", ["resume", "continue_"])
def test_the_rest_after_a_limit_is_not_taken_for_learned(way, tmp_path):
    rows, model = tmp_path / "rows.svm", tmp_path / "m.nr"
    rows.write_text("".join(f"{(-1) ** i} {i % 7 + 1}:1\n" for i in range(1000)))
    nr.train(rows, nr.PA1(), save=model, limit=100)
    with pytest.raises(ValueError, match="has learned only the first 100 rows of .*rows.svm, as limit said"):
        nr.train(rows, save=model, **{way: True})
    nr.train(rows, nr.PA1(), save=model, limit=1000)
    assert nr.train(rows, save=model, **{way: True}).examples == 1000


# ---- a limit that cuts a batch -----------------------------------------------------------------------------------------
def rows_in(tmp_path, kind, n=1000):
    """Write rows in a format; return the file and its options."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(n, 2)).round(3), rng.integers(0, 2, n)
    path, how = tmp_path / f"rows.{kind}", {} if kind in ("svm", "npz") else {"target": "y"}
    if kind == "svm":
        path.write_text("".join(f"{c} 1:{a} 2:{b}\n" for (a, b), c in zip(X, y, strict=True)))
    elif kind == "npz":
        np.savez(path, X=X, y=y)
    else:
        text = tmp_path / "rows.csv"
        text.write_text("a,b,y\n" + "".join(f"{a},{b},{c}\n" for (a, b), c in zip(X, y, strict=True)))
        if kind == "parquet":
            convert(str(text), str(path))
    return str(path), how


@pytest.mark.parametrize("way", ["resume", "continue_"])
@pytest.mark.parametrize("saved", ["stop", "checkpoint"])
@pytest.mark.parametrize("kind", ["svm", "csv", "parquet", "npz"])
def test_rows_after_a_limit_are_not_skipped_when_training_was_stopped(tmp_path, kind, saved, way):
    """The position that is saved is that of the whole batch, of which the limit left some rows out."""
    (source, how), model = rows_in(tmp_path, kind), tmp_path / "m.nr"
    if saved == "stop":
        nr.train(source, "pa1", save=model, limit=100, stop=lambda: True, **how)
    else:  # it crashes after a checkpoint

        def crash(seen, *_):
            if model.exists():
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            nr.train(source, "pa1", save=model, limit=100, epochs=2, checkpoint_every=1, watch=crash, **how)
    with pytest.raises(ValueError, match=r"has learned only the first 100 rows of .*rows\.\w+, as limit said.* give limit=100"):
        nr.train(source, save=model, **{way: True}, **how)
    again = nr.train(source, save=model, limit=100, **{way: True}, **how)
    assert (again.finished, again.examples, again.added) == (True, 100, 0)


@pytest.mark.parametrize("way", ["resume", "continue_"])
@pytest.mark.parametrize("kind", ["svm", "csv", "npz"])
def test_epochs_within_a_limit_resume(tmp_path, kind, way):
    (source, how), model = rows_in(tmp_path, kind), tmp_path / "m.nr"
    whole = nr.train(source, "pa1", limit=100, epochs=5, **how).model
    calls = iter(range(100))
    stopped = nr.train(source, "pa1", save=model, limit=100, epochs=5, stop=lambda: next(calls) == 2, **how)
    assert (stopped.finished, stopped.examples) == (False, 300)
    done = nr.train(source, save=model, limit=100, epochs=5, **{way: True}, **how)
    assert (done.finished, done.examples, done.added) == (True, 500, 200)
    assert done.model.digest() == whole.digest()
    before = model.read_bytes()
    assert nr.train(source, save=model, limit=100, epochs=5, **{way: True}, **how).added == 0
    assert model.read_bytes() == before


def test_a_limit_is_kept_when_the_file_grows(tmp_path):
    (source, how), model = rows_in(tmp_path, "csv"), tmp_path / "m.nr"
    nr.train(source, "pa1", save=model, limit=100, **how)
    with open(source, "a") as file:
        file.write("1,2,1\n")
    for way in ("resume", "continue_"):
        assert nr.train(source, save=model, limit=100, **{way: True}, **how).added == 0


def test_a_limit_in_the_first_of_two_files(tmp_path):
    first, second = (svmlight(tmp_path / f"{name}.svm", 300, seed) for seed, name in enumerate("ab"))
    nr.train([first, second], "pa1", save=tmp_path / "m.nr", limit=100)
    with pytest.raises(ValueError, match=r"only the first 100 rows of .*a\.svm"):
        nr.train(first, save=tmp_path / "m.nr", continue_=True)
    assert nr.train(second, save=tmp_path / "m.nr", continue_=True).added == 300


@pytest.mark.parametrize("limit", [100, 4096])
def test_what_a_limit_leaves_out_is_not_learned_by_the_steps_before_the_learner(tmp_path, limit):
    source, how = rows_in(tmp_path, "csv", 5000)
    head = tmp_path / "head.csv"
    head.write_text("".join(Path(source).read_text().splitlines(keepends=True)[: limit + 1]))
    limited = nr.train(source, "pa1", limit=limit, scale=True, **how).model
    assert limited.digest() == nr.train(str(head), "pa1", scale=True, **how).model.digest()
