"""Files that other programs write in their own way: commas at the ends of ARFF rows, comments before a header, decimal commas,
arrays by other names, JSON as one array."""

import gzip
import itertools
import json
import time

import numpy as np
import pytest

import noregret as nr
from noregret.inputs.batch import BadRow
from noregret.streams import source
from noregret.streams.arff import ArffReader
from noregret.streams.arrays import ArraysReader
from noregret.streams.delimited import CsvReader
from noregret.streams.table_reader import Block
from noregret.streams.tables import JsonReader


def read(reader, position=None):
    """All rows, as dicts."""
    return [row for b in reader.batches(position) for row in b.data.to_pylist()]


# ---- ARFF ------------------------------------------------------------------------------------------------------------
def test_arff_rows_may_end_with_a_comma(tmp_path):
    head = "@relation r\n@attribute a numeric\n@attribute b {'x,', y}\n@attribute c numeric\n@data\n"
    path = tmp_path / "a.arff"
    path.write_text(head + "1,'x,',2\n3,y,4\n5,y,\n")
    want = read(ArffReader(path))
    assert want[2] == {"a": 5.0, "b": "y", "c": None}
    path.write_text(head + "1,'x,',2,\n3,y,4, \r\n% 1,2,3,\n5,y,,\n")
    for block in (20, 1 << 22):
        assert read(ArffReader(path, block=block)) == want
    path.write_text(head + "1,'x,',2,3\n")
    with pytest.raises(BadRow, match="a.arff:6: expected 3 columns, found 4"):
        read(ArffReader(path))


# ---- CSV -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ['# made by hand, on a "day\n', "#\n# more\n\n", "\n# a, b\n", "# x; y; z\n"])
def test_comments_before_a_header(tmp_path, before, end):
    path = tmp_path / "a.csv"
    path.write_bytes((before + "a;b;c\n1;2;u\n3;x;v\n").replace("\n", end).encode())
    for block in (64, 1 << 22):
        assert read(CsvReader(path, block=block)) == [{"a": 1, "b": "2", "c": "u"}, {"a": 3, "b": "x", "c": "v"}]
    path.write_bytes((before + "a;b;c\n1;2\n3;x;v\n").replace("\n", end).encode())
    with pytest.raises(BadRow, match=f"a.csv:{before.count(chr(10)) + 2}: expected 3 columns, found 2"):
        read(CsvReader(path))


def test_rows_and_headers_that_begin_with_the_mark_of_comments(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("#a,b\n1,2\n")
    assert read(CsvReader(path)) == [{"#a": 1, "b": 2}]
    path.write_text("# a comment\n#a,b\n1,2\n")
    assert read(CsvReader(path)) == [{"#a": 1, "b": 2}]
    path.write_text("#spam,1\n#eggs,2\nham,3\n")
    assert [row["c0"] for row in read(CsvReader(path))] == ["#spam", "#eggs", "ham"]
    path.write_text("#spam,1\n#eggs,2\n")
    assert [row["c0"] for row in read(CsvReader(path))] == ["#spam", "#eggs"]


@pytest.mark.parametrize("block", [16, 64, 1 << 20])
@pytest.mark.parametrize("again", ["w,k", '"w",k', " w , k "])
def test_a_header_again_is_no_row(tmp_path, again, block):
    path = tmp_path / "joined.csv"
    rows = ["x,u", "w,v", "y,k"] * 4
    path.write_text("\n".join(["w,k", *rows, again, *rows, again]) + "\n")
    with pytest.raises(BadRow, match=r"joined.csv:14: expected a row, found the header again"):
        read(CsvReader(path, header=True, block=block))
    reader = CsvReader(path, header=True, block=block, on_bad="skip")
    assert [",".join(x.values()) for x in read(reader)] == 2 * rows
    assert reader.skipped.count == 2


def test_thousands_of_known_columns_are_found_at_once(tmp_path):
    names = [f"c{k}" for k in range(60_000)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" * len(names)) + "\n")
    reader = CsvReader(tmp_path / "wide.csv")
    reader.numbers = tuple(reversed(names))
    began = time.perf_counter()
    with open(tmp_path / "wide.csv", "rb") as file:
        reader.begin(Block("wide.csv", file.read(), 0, 1, True))
    assert time.perf_counter() - began < 3.0
    assert reader.kinds == dict.fromkeys(names, "number")


def test_decimal_commas(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b;t\n1,5;2;x,y\n-0,25;3; 1.5\n 1e2 ;4,5;z\n")
    rows = [{"a": 1.5, "b": 2.0, "t": "x,y"}, {"a": -0.25, "b": 3.0, "t": "1.5"}, {"a": 100.0, "b": 4.5, "t": "z"}]
    for block in (20, 1 << 22):
        assert read(CsvReader(path, decimal=",", text="t", block=block)) == rows
    with pytest.raises(ValueError, match=r"a.csv: column 'a' holds '1,5'.*--decimal ,.*categorical, text or ignore"):
        read(CsvReader(path, block=20))
    path.write_text("a;b\n1,5;2\n1.500;3\n" + "2;3\n" * 20)
    with pytest.raises(BadRow, match=r"a.csv:3:1: expected a number, .* in column 'a', found '1.500'"):
        read(CsvReader(path, decimal=","))
    path.write_text('a,b\n"1,5",2\n"2,5",3\n')
    assert read(CsvReader(path, decimal=",", delimiter=","))[1] == {"a": 2.5, "b": 3}
    with pytest.raises(ValueError, match="decimal must be '.' or ',', got ';'"):
        CsvReader(path, decimal=";")


def test_a_model_of_decimal_commas_is_that_of_points():
    text = "a;b;label\n" + "".join(f"{i % 7 / 4};{i % 5 / 8};{'yes' if i % 7 > i % 5 else 'no'}\n" for i in range(50))
    points, commas = (
        nr.train(data.encode(), nr.PA1(), format="csv", **how).model
        for data, how in ((text, {}), (text.replace(".", ","), {"decimal": ","}))
    )
    np.testing.assert_array_equal(points.coef_, commas.coef_)


# ---- arrays ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("names", [("data", "target"), ("x", "Y"), ("features", "labels"), ("arr_0", "arr_1"), ("X", "label")])
def test_arrays_by_other_names(tmp_path, names):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    np.savez(tmp_path / "a.npz", **dict(zip(names, (X, y))))
    (batch,) = ArraysReader(tmp_path / "a.npz").batches()
    np.testing.assert_array_equal(batch.data.arrays[0], X)
    assert batch.y.tolist() == y.tolist()


def test_arrays_that_cannot_be_told_apart(tmp_path):
    X = np.arange(12.0).reshape(6, 2)
    for names in (("x_train", "x_test"), ("data", "features")):
        np.savez(tmp_path / "a.npz", **dict.fromkeys(names, X))
        with pytest.raises(
            ValueError, match=rf"a.npz: expected an array X.* found {names[0]} \(6 x 2\), .*savez\(path, X=..., y=...\)"
        ):
            list(ArraysReader(tmp_path / "a.npz").batches())


# ---- JSON ------------------------------------------------------------------------------------------------------------
OBJECTS = [{"a": 1.5 * i, "b": {"c": i % 3}, "t": 'x\n[]{},"\\', "label": "uv"[i % 2]} for i in range(30)]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("block", [50, 100, 1000, 1 << 22])
def test_one_array_is_read_as_lines_are(tmp_path, indent, block):
    path = tmp_path / "a.json"
    path.write_text("\n".join(map(json.dumps, OBJECTS)))
    want = read(JsonReader(path))
    path.write_text(json.dumps(OBJECTS, indent=indent) + "\n")
    whole = list(JsonReader(path, block=block).batches())
    assert [row for b in whole for row in b.data.to_pylist()] == want
    for k, batch in enumerate(whole):
        rest = read(JsonReader(path, block=block), json.loads(json.dumps(batch.position)))
        assert rest == [row for b in whole[k + 1 :] for row in b.data.to_pylist()]
    for n in (1, 2, 7, 40):
        pieces = JsonReader(path, block=block).split(n)
        assert list(itertools.chain.from_iterable(map(read, pieces))) == want
    assert nr.stream(path.read_bytes()).kind == "jsonl"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1},\n{"a": 2}\n', "1: expected ] after the last object, found none"),
        ('[{"a": 1},', "1: expected ] after the last object, found none"),
        ('[{"a": 1}]\n{', "1: expected nothing after the array, found '{'"),
        ('[\n{"a": 1},\n\n3]', "4: expected a JSON object, found a int"),
        ('[{"a": 1},\n{"a":}]', "2: expected a JSON object, found Expecting value: '{\"a\":}'"),
        ('[{"a": 1},\n{"a": 1}}]', "2: expected a JSON object, found Extra data"),
        ('[[1, 2], {"a": 1}]', "1: expected a JSON object, found a list"),
    ],
)
def test_bad_objects_of_an_array(tmp_path, text, said):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(BadRow) as refused:
        read(JsonReader(path))
    assert f"a.json:{said}" in str(refused.value)
    reader = JsonReader(path, on_bad="skip")
    assert read(reader) == [{"a": 1}]
    assert reader.skipped.count == 1


def test_an_array_of_nothing(tmp_path):
    (tmp_path / "a.json").write_text(" [ ] \n")
    assert read(JsonReader(tmp_path / "a.json")) == []


def test_a_name_that_is_also_a_value_is_still_a_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("p,x\np,1\nq,2\n")
    (batch,) = nr.stream(path, format="csv").reader.batches()
    assert batch.data.to_pydict() == {"p": ["p", "q"], "x": [1, 2]}
    path.write_text("p,x\np,a\nq,b\n")  # without numbers there is no telling
    (batch,) = nr.stream(path, format="csv").reader.batches()
    assert batch.data.to_pydict() == {"c0": ["p", "p", "q"], "c1": ["x", "a", "b"]}


# ---- lines without end -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "arff", "svmlight", "vw"])
def test_a_line_has_a_greatest_length(tmp_path, monkeypatch, kind, packed):
    """Whatever the file: without a bound, one that has no line ends would have to fit in memory."""
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "zeros"
    path.write_bytes(gzip.compress(bytes(1 << 23)) if packed else bytes(1 << 23))
    with pytest.raises(ValueError, match=r"zeros(:1)?: expected lines of at most 1 MiB, found a longer one: is this a text file"):
        list(nr.stream(str(path), format=kind).reader.batches())


def test_a_first_cell_may_be_long(tmp_path):
    """The module csv, which reads the first rows, refuses cells beyond its own limit."""
    path = tmp_path / "long.csv"
    path.write_bytes(b"1" * ((1 << 24) + 1))
    with pytest.raises(ValueError, match="long.csv:1:1: expected a finite number in column 'c0', found inf"):
        nr.evaluate(str(path), "pa1", target="c0")


TWO = b"a,b\n1,2\n3,4\n"


def test_text_that_is_named_like_a_compressed_file(tmp_path):
    for name, data in (("a.csv.gz", TWO), ("b.csv", gzip.compress(TWO)), ("c.csv.bz2", gzip.compress(TWO))):
        (tmp_path / name).write_bytes(data)
        assert read(nr.stream(str(tmp_path / name)).reader) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


def test_runs_of_blanks_are_explained(tmp_path):
    path = tmp_path / "aligned.txt"
    path.write_text("a b y\n1 2 0\n10  3  1\n")
    with pytest.raises(
        ValueError, match=r"expected 3 columns with one blank between them \(tr -s ' ' makes one of several\), found 5"
    ):
        nr.evaluate(str(path), "pa1", target="y", format="csv", delimiter=" ")


def test_a_header_that_names_a_column_twice_is_still_a_header(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,b\n" + "1,2,x\n3,4,y\n" * 5)
    with pytest.raises(ValueError, match="the header names column 'b' twice"):
        list(nr.stream(str(tmp_path / "a.csv")).chunks())
    (tmp_path / "b.csv").write_text("red,red,blue\n" + "red,blue,blue\n" * 5)  # no numbers below: a row as the others
    assert sum(batch.n for batch in nr.stream(str(tmp_path / "b.csv")).chunks()) == 6


def test_standard_input_asks_for_its_format_by_the_option():
    with pytest.raises(ValueError, match="has no name to tell its format: give it [(]format, --format[)], one of arff"):
        nr.stream("-")
