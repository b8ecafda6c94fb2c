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
