"""Readers and writers of documents: LDA-C, bags of words of UCI, plain text; stop words, and words that come often enough."""

import gzip
import json
import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main
from noregret.inputs.batch import BadRow
from noregret.inputs.checking import joined
from noregret.inputs.features import Hashed, Names
from noregret.streams.writers import convert
from noregret.transforms.stop_words import ENGLISH, stop_words
from noregret.transforms.table import Table

WORDS = [f"word{k}" for k in range(12)]


def bags(n=40, seed=0):
    """Counts of words in documents, some of which have none."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, len(WORDS))) * (rng.random((n, len(WORDS))) < 0.3)
    X[[0, 7, n - 1]] = 0
    return X


def ldac(X):
    return "".join(f"{(x > 0).sum()} {' '.join(f'{j}:{x[j]}' for j in np.flatnonzero(x))}\n" for x in X)


def docword(X):
    i, j = np.nonzero(X)
    lines = "".join(f"{a + 1} {b + 1} {X[a, b]}\n" for a, b in zip(i, j))
    return f"{len(X)}\n{X.shape[1]}\n{len(i)}\n{lines}"


def dense(stream, position=None, width=12):
    rows = joined([batch.data for batch in stream.chunks(position)])
    assert rows.layout == "csr"
    X = np.zeros((rows.n, width))
    X[np.repeat(np.arange(rows.n), np.diff(rows.arrays[0])), rows.arrays[1]] = rows.arrays[2]
    return X


def opened(data, kind, block=None, **options):
    stream = nr.stream(data.encode(), format=kind, **options)
    stream.reader.block = block or stream.reader.block
    return stream


# ---- what files hold -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("write", "kind"), [(ldac, "ldac"), (docword, "docword")])
def test_counts_are_read_as_they_are_written(write, kind, tmp_path):
    X = bags()
    for block in (None, 1, 50):
        assert (dense(opened(write(X), kind, block)) == X).all()
    path = tmp_path / f"x.{kind}.gz"
    path.write_bytes(gzip.compress(write(X).replace("\n", "\r\n").encode()))
    stream = nr.stream(path, vocabulary=WORDS)
    batch = next(stream.chunks())
    assert (dense(stream) == X).all()
    assert (batch.data.names, batch.data.width, batch.y) == (WORDS, 12, None)
    assert np.array_equal(dense(opened(write(X), kind, hash_bits=2), width=4), X.reshape(-1, 3, 4).sum(1))


@pytest.mark.parametrize(("write", "kind"), [(ldac, "ldac"), (docword, "docword")])
def test_a_pass_goes_on_from_every_position(write, kind):
    X = bags()
    stream = opened(write(X), kind, 30)
    batches = list(stream.chunks())
    assert len(batches) > 5
    for batch in batches[:-1]:
        done = batch.position["examples"]
        assert (dense(stream, json.loads(json.dumps(batch.position))) == X[done:]).all()


def test_a_file_cut_at_any_place_loses_documents_or_says_so():
    X = bags(15)
    whole = docword(X)
    for k in range(1, len(whole) - 1):
        with pytest.raises(BadRow):
            list(opened(whole[:k], "docword", 40).chunks())
    head = sum(len(line) + 1 for line in whole.split("\n")[:3])
    for k in range(head, len(whole) - 1):
        stream = opened(whole[:k], "docword", 40, on_bad="skip")
        found = dense(stream)
        assert found.shape == X.shape
        assert ((found == X) | (found == 0)).all()
        assert stream.skipped.count in (1, 2)
    lines = ldac(X)
    for k in range(1, len(lines)):
        stream = opened(lines[:k], "ldac", 40, on_bad="skip")
        found = dense(stream)
        rest = len(X[: lines[:k].count("\n")])
        assert (found[:rest] == X[:rest]).all()
        assert len(found) + stream.skipped.count == rest + (lines[k - 1] != "\n")


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("ldac", "1 3:1\n3 1:1 2:2\n", ":2:1: expected as many words as the line says, found '3' and 2 of them"),
        ("ldac", "2 1:1 2:-2\n", ":1:9: expected a whole count of at least 0, found '2:-2'"),
        ("ldac", "2 1:1 2:1.5\n", ":1:9: expected a whole count of at least 0, found '2:1.5'"),
        ("ldac", "1 1:nan\n", ":1:5: expected a finite number, found '1:nan'"),
        ("ldac", "1 1.5:1\n", ":1:4: expected a colon after the number of a word (number:count), found '1.5:1'"),
        ("ldac", "1 -1:1\n", ":1:3: expected a word as number:count, found '-1:1'"),
        ("ldac", "1 12:1\n", ":1:3: expected the number of a word, from 0 to 11, as the vocabulary has 12 words, found '12:1'"),
        ("ldac", "1:1\n", ":1:1: expected how many words the document has at the beginning of the line"),
        ("ldac", "1 qid:3 1:1\n", ":1:3: expected a word as number:count, found 'qid:3'"),
        ("docword", "2\n13\n0\n", ":2:1: expected at most 12 words, as the vocabulary has, found 13"),
        ("docword", "two\n3\n0\n", ":1:1: expected the number of documents alone on the line, found 'two'"),
        ("docword", "2\n3\n1\n1 1 -1\n", ":4: expected a count of at least 0, found '1 1 -1'"),
        ("docword", "2\n3\n1\n1 1 nan\n", ":4: expected three whole numbers (document word count), found '1 1 nan'"),
        ("docword", "2\n3\n1\n1 1.5 1\n", ":4: expected three whole numbers (document word count), found '1 1.5 1'"),
        ("docword", "2\n3\n1\n1 4 1\n", ":4: expected a word from 1 to 3, as line 2 says, found '1 4 1'"),
        ("docword", "2\n3\n1\n1 0 1\n", ":4: expected a word from 1 to 3, as line 2 says, found '1 0 1'"),
        ("docword", "2\n3\n1\n3 1 1\n", ":4: expected a document from 1 to 2, as line 1 says, found '3 1 1'"),
        ("docword", "2\n3\n2\n2 1 1\n1 1 1\n", ":5: expected documents in order, after document 2, found '1 1 1'"),
        ("docword", "2\n3\n2\n1 1 1\n", ":5: expected 2 lines `document word count`, as line 3 says, found 1"),
        ("docword", "9000000\n3\n0\n", ":4: expected at most 1,000,000 documents without words one after the other"),
    ],
)
def test_bad_lines_are_named(kind, text, said, tmp_path):
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(BadRow) as e:
        list(nr.stream(path, format=kind, vocabulary=WORDS).chunks())
    assert said in str(e.value)


def test_bad_lines_that_are_skipped_lose_no_good_document():
    X = bags()
    lines = ldac(X).splitlines()
    text = "".join(f"{line}\n{'2 1:1' if i % 3 else '1 1:-1'}\n" for i, line in enumerate(lines))
    stream = opened(text, "ldac", 60, on_bad="skip")
    assert (dense(stream) == X).all()
    assert stream.skipped.count == len(X)
    head, lines = docword(X).split("\n")[:3], docword(X).split("\n")[3:-1]
    head[2] = str(2 * int(head[2]))
    text = "\n".join([*head, *(part for line in lines for part in (line, "nonsense"))]) + "\n"
    stream = opened(text, "docword", 60, on_bad="skip")
    assert (dense(stream) == X).all()
    assert stream.skipped.count == len(lines)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["a", "b", "a"], "vocabulary:3: expected each word once, found 'a' again, as on line 1"),
        (["a", ""], "vocabulary:2: expected a word, found ''"),
        ([], "vocabulary has no words"),
    ],
)
def test_bad_vocabularies(given, said):
    with pytest.raises(ValueError, match=said):
        nr.stream(b"1 0:1\n", format="ldac", vocabulary=given)


def test_vocabularies_are_for_words_by_number(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"\xff\n")
    with pytest.raises(ValueError, match=r"v.txt: expected a vocabulary in UTF-8"):
        nr.stream(b"1 0:1\n", format="ldac", vocabulary=tmp_path / "v.txt")
    with pytest.raises(ValueError, match="vocabulary is for ldac and docword"):
        nr.stream(b"1 0:1\n", format="svmlight", vocabulary=["a"])
    with pytest.raises(ValueError, match="leave one of them out"):
        nr.stream(b"1 0:1\n", format="ldac", vocabulary=["a"], hash_bits=3)


def test_features_by_name_take_words_of_a_vocabulary():
    rows = next(opened("2 0:1 2:3\n1 1:2\n", "ldac", vocabulary=["a", "b", "c"]).chunks()).data
    names = Names(False)
    names.row({"c": 1.0}, True)
    assert [a.tolist() for a in names.rows(rows, False).arrays] == [[0, 1, 1], [0], [3.0]]
    assert [a.tolist() for a in names.rows(rows, True).arrays] == [[0, 2, 3], [1, 0, 2], [1.0, 3.0, 2.0]]
    assert names.names == ["c", "a", "b"]
    folded = Hashed(1, False).rows(rows, True)
    assert np.add.reduceat(folded.arrays[2], folded.arrays[0][:-1]).tolist() == [4.0, 2.0]
    assert all(np.diff(folded.arrays[1][a:b]).all() for a, b in pairwise(folded.arrays[0]))


# ---- which format ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("x.data", ldac(bags()), "ldac"),
        ("x.data", "1 3:1\n1 5:2\n1 2:1\n", "svmlight"),
        ("x.data", "1 3:1\n2 5:2 6:1\n1 2:1\n", "svmlight"),  # labels may be so by chance
        ("x.data", "1 3:1\n2 5:2 6:1\n3 1:1 2:1 3:0.5\n4 1:1\n", "svmlight"),
        ("docword.x.txt", docword(bags()), "docword"),
        ("x.txt", "1 3:1\n-1 5:2\n", "svmlight"),
        ("x.txt", "a,b\n1,2\n3,4\n", "csv"),
        ("x.txt", "spam\tbuy, now\nham\thello\n", "tsv"),
        ("x.txt", "Hello, world\nand then, of course, more\n", "text"),
        ("x.txt", "One line, alone\n", "text"),
        ("x.txt", "no commas\n", "text"),
    ],
)
def test_formats_are_known_by_how_files_begin(name, text, kind, tmp_path):
    (tmp_path / name).write_text(text)
    assert nr.stream(tmp_path / name).kind == kind


# ---- plain text --------------------------------------------------------------------------------------------------------
def features(stream):
    """The documents as dicts of counts."""
    front = stream.front.fresh()
    rows = joined([batch.data for batch in stream.chunks(front=front)])
    start, places, counts = rows.arrays
    names = front.names
    return [{names[j]: v for j, v in zip(places[a:b].tolist(), counts[a:b].tolist())} for a, b in pairwise(start)]


def test_lines_are_documents(tmp_path):
    (tmp_path / "x.txt").write_bytes("\ufeffFree money, FREE!\r\n\r\nZürich\nno end".encode())
    stream = nr.stream(tmp_path / "x.txt")
    wanted = [{"text:free": 2.0, "text:money": 1.0}, {}, {"text:zürich": 1.0}, {"text:no": 1.0, "text:end": 1.0}]
    assert features(stream) == wanted
    for block in (1, 5, 9):
        stream.reader.block = block
        assert features(stream) == wanted
    assert stream.front.table.text == ["text"]
    assert nr.stream(tmp_path / "x.txt", categorical="text").front.table.text is None


def test_files_of_a_directory_are_documents(tmp_path):
    for name, text in (("b.txt", b"two\nlines"), ("a.txt", b"first"), ("inner/c.txt.gz", gzip.compress(b"packed")), ("d.txt", b"")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text)
    stream = nr.stream(tmp_path)
    assert stream.kind == "text"
    wanted = [{"text:first": 1.0}, {"text:two": 1.0, "text:lines": 1.0}, {}, {"text:packed": 1.0}]
    assert features(stream) == wanted
    (batch,) = stream.chunks()
    assert [name[len(str(tmp_path)) + 1 :] for name in batch.ids] == ["a.txt", "b.txt", "d.txt", "inner/c.txt.gz"]
    stream.reader.block = 1
    batches = list(stream.chunks())
    assert [b.n for b in batches] == [1, 1, 2]
    for k, b in enumerate(batches):
        assert sum(rest.n for rest in stream.chunks(json.loads(json.dumps(b.position)))) == [3, 2, 0][k]
    for n in (1, 2, 3, 9):
        pieces = stream.split(n)
        assert len(pieces) == min(n, 4)
        assert [i for piece in pieces for b in piece.chunks() for i in b.ids] == list(batch.ids)
    (tmp_path / "c.bin").write_bytes(b"\x7fELF\0\1")
    (tmp_path / "e.txt").write_bytes(b"latin \xe9")
    with pytest.raises(BadRow, match=r"c.bin:1:5: expected text, found a byte of value 0: is this a binary file\?"):
        list(nr.stream(tmp_path).chunks())
    stream = nr.stream(tmp_path, on_bad="skip")
    assert features(stream) == wanted
    assert "e.txt:1:7: expected text in UTF-8" in stream.skipped.first[1]


def test_directories_without_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        nr.stream(tmp_path, format="text")


def test_bad_lines_of_text():
    data = b"fine\nlatin \xe9\nzero \0\nlast\n"
    with pytest.raises(BadRow, match=r":2:7: expected text in UTF-8, found bytes of another encoding"):
        list(nr.stream(data, format="text").chunks())
    stream = nr.stream(data, format="text", on_bad="skip")
    assert features(stream) == [{"text:fine": 1.0}, {"text:last": 1.0}]
    assert stream.skipped.count == 2


# ---- stop words and rare words --------------------------------------------------------------------------------------------
def texts(n=120, seed=0):
    rng = random.Random(seed)
    known = ["the", "Of", "Zürich", *(f"w{int(1.4**k)}" for k in range(18))]
    return [" ".join(rng.choice(known) for _ in range(rng.randrange(9))) for _ in range(n)]


def encoded(table, docs, size):
    """Documents as dicts of counts, in batches of some size."""
    found = []
    for a in range(0, len(docs), size):
        rows = table.rows(pa.RecordBatch.from_pydict({"body": docs[a : a + size]}), True)
        start, places, counts = rows.arrays
        names = table.feature_names
        found += [{names[j]: v for j, v in zip(places[a:b].tolist(), counts[a:b].tolist())} for a, b in pairwise(start)]
    return found


@pytest.mark.parametrize("least", [1, 2, 5])
def test_rare_words_are_held_back_until_they_are_met_often_enough(least):
    docs, met, wanted = texts(), Counter(), []
    for doc in docs:
        counts = Counter(word.lower() for word in doc.split() if word.lower() not in ("the", "of"))
        met.update(counts)
        wanted.append({f"body:{word}": float(c) for word, c in counts.items() if met[word] >= least})
    for size in (1, 7, 120):
        table = Table(text="body", stop_words=["The", "of"], min_count=least)
        assert encoded(table, docs, size) == wanted
    table = Table(text="body", stop_words=["The", "of"], min_count=least)
    assert encoded(table, docs[:50], 50) == wanted[:50]
    mark = table.mark()
    encoded(table, docs[::-1], 40)
    table.back(mark)
    table = Table.restored(json.loads(json.dumps(table.meta())), table.tensors())
    assert encoded(table, docs[50:], 11) == wanted[50:]
    row = table.rows([{"body": "never met, the w1"}], False)
    assert [table.feature_names[k] for k in row.arrays[1]] == ["body:w1"]


def test_many_names_are_counted_while_room_grows():
    docs = [" ".join(f"x{50 * i + j}" for j in range(50)) for i in range(40)] * 2
    found = encoded(Table(text="body", min_count=2), docs, 80)
    assert not any(found[:40])
    assert all(len(row) == 50 for row in found[40:])


def test_words_of_dicts_and_runs_of_words():
    table = Table(text="body", stop_words="english", ngrams=2, min_count=2)
    for _ in range(2):
        row = table.row({"body": "The cat isn't on the mat", "n": 1.0}, True)
    assert [table.feature_names[k] for k in row[0]] == ["body:cat", "body:mat", "body:cat mat", "n"]


def test_merged_tables_add_what_they_have_counted():
    parts = [Table(text="body", min_count=3) for _ in range(2)]
    encoded(parts[0], ["a b", "a b"], 2)
    encoded(parts[1], ["b c", "b", "b"], 3)
    parts[0].merge(parts[1])
    assert parts[0].feature_names == ["body:b"]
    assert encoded(parts[0], ["a b c"], 1) == [{"body:a": 1.0, "body:b": 1.0}]


def test_settings_of_words_are_kept_only_where_they_were_given(tmp_path):
    assert not {"stop_words", "min_count"} & Table(text="body").meta()["settings"].keys()
    assert Table(text="body", stop_words="english").meta()["settings"]["stop_words"] == "english"
    (tmp_path / "stop").write_text("don't\nThe\n")
    table = Table(text="body", stop_words=str(tmp_path / "stop"))
    assert table.meta()["settings"]["stop_words"] == ["don", "t", "the"]
    assert stop_words({"A", "b"}, False) == ["A", "b"]
    assert ENGLISH.split() == stop_words("english", True)
    merged = Table.restored(table.meta(), table.tensors())
    merged.merge(table)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"min_count": 0}, "min_count must be a whole number of at least 1, got 0"),
        ({"min_count": 2, "hash_bits": 8}, "min_count counts names, and hash_bits keeps none"),
        ({"stop_words": "no such file"}, "stop_words must be 'english', a list, or a file"),
        ({"stop_words": [1]}, "got 1"),
    ],
)
def test_bad_settings_of_words(settings, said):
    with pytest.raises(ValueError, match=said):
        Table(text="body", **settings)


def test_pipelines_and_models_keep_what_they_counted(tmp_path):
    docs, y = texts(), np.arange(120) % 2
    frame = pa.table({"body": docs})
    model = nr.pipeline(nr.Text("body", stop_words="english", min_count=3), nr.PA1())
    whole = model.clone().partial_fit(frame, y)
    model.partial_fit(frame.slice(0, 60), y[:60])
    model.save(tmp_path / "m.nr")
    again = nr.load(tmp_path / "m.nr")
    again.partial_fit(frame.slice(60), y[60:])
    assert again.decision_function(frame).tolist() == whole.decision_function(frame).tolist()
    assert "body:the" not in again.front.names


# ---- writing --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["ldac", "docword", "docword.gz"])
def test_counts_are_written_and_read_again(kind, tmp_path):
    X = bags()
    path = tmp_path / f"x.{kind}"
    for source in (opened(ldac(X), "ldac", 50, vocabulary=WORDS), opened(docword(X), "docword", 50, vocabulary=WORDS)):
        done = convert(source, path)
        assert (done.rows, (dense(nr.stream(path)) == X).all()) == (len(X), True)
        assert (dense(nr.stream(path, vocabulary=done.vocabulary)) == X).all()
    with pytest.raises(ValueError, match="has whole counts of words, got 0.5 in row 1"):
        convert(nr.stream(b"1 1:1\n1 1:0.5\n", format="svmlight"), path)


def test_texts_are_written(tmp_path):
    lines = tmp_path / "x.txt"
    lines.write_text("Free money, free!\n\nthe money\n")
    done = CliRunner().invoke(
        main, ["convert", str(lines), str(tmp_path / "x.ldac"), "--stop-words", "english", "--min-count", "2"]
    )
    assert done.exit_code == 0, done.output
    assert f"Its words are in {tmp_path / 'x.ldac'}.vocab, one a line." in done.output
    assert (tmp_path / "x.ldac").read_text().split("\n") == ["1 0:2", "0 ", "1 1:1", ""]
    assert (tmp_path / "x.ldac.vocab").read_text() == "free\nmoney\n"
    (tmp_path / "y.jsonl").write_text('{"text": "two\\r\\nlines", "n": 1}\n{"n": 2}\n{"text": "one"}\n')
    convert(tmp_path / "y.jsonl", tmp_path / "y.txt")
    assert (tmp_path / "y.txt").read_text() == "two lines\n\none\n"
    with pytest.raises(ValueError, match="plain text is one column"):
        convert(tmp_path / "x.ldac", tmp_path / "z.txt")
