"""Readers of tables and arrays: what is read, what is refused and where, and passes that go on from any position."""

import bz2
import csv
import gzip
import io
import itertools
import json
import math
import pathlib
import random
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy.io import arff as scipy_arff
from scipy.sparse import csr_matrix, save_npz
from scipy.sparse import random as random_sparse

import noregret as nr
from noregret.engine import compiling
from noregret.inputs.batch import BadRow
from noregret.inputs.labels import Coded
from noregret.streams.arff import ArffReader
from noregret.streams.arrays import ArraysReader, in_memory
from noregret.streams.delimited import CsvReader
from noregret.streams.records import scanned
from noregret.streams.tables import JsonReader, ParquetReader
from noregret.transforms.front import Front
from noregret.transforms.table import Table


def read(reader, position=None):
    """All rows, as dicts."""
    return [row for b in reader.batches(position) for row in pylist(b.data)]


def pylist(record):
    names = record.schema.names
    if len(set(names)) == len(names):
        return record.to_pylist()
    out = [{} for _ in range(record.num_rows)]
    for name, column in zip(names, record.columns):
        for x, v in zip(out, column.to_pylist()):
            x[name] = v if x.get(name) is None else x[name]
    return out


def awkward(n, seed=0):
    """Rows with everything CSV can hide."""
    rng = np.random.default_rng(seed)
    texts = ["plain", 'with "quotes"', "a, comma", "two\nlines", "ünï", 'said 5" wide', "x;y|z"]
    return [
        {
            "n": int(rng.integers(-5, 1000)),
            "x": None if rng.random() < 0.2 else float(np.round(rng.normal(), 4)),
            "t": None if rng.random() < 0.1 else str(rng.choice(texts)),
            "c": str(rng.choice(["DE", "FR"])),
        }
        for _ in range(n)
    ]


def write_csv(path, rows, **how):
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.DictWriter(f, rows[0].keys(), **how)
        out.writeheader()
        out.writerows(rows)
    return str(path)


# ---- CSV -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("block", [256, 1000, 1 << 22])
@pytest.mark.parametrize("how", [{}, {"delimiter": ";", "lineterminator": "\n"}, {"delimiter": "\t", "quoting": csv.QUOTE_ALL}])
def test_csv_is_read_as_it_was_written(tmp_path, block, how):
    rows = awkward(200)
    path = write_csv(tmp_path / "a.csv", rows, **how)
    assert read(CsvReader(path, block=block)) == rows


def test_csv_agrees_with_pandas(tmp_path):
    rows = awkward(300, 1)
    path = write_csv(tmp_path / "a.csv", rows)
    got = pd.DataFrame(read(CsvReader(path, block=700)))
    want = pd.read_csv(path)
    for name in "nx":
        assert np.array_equal(got[name].to_numpy(float), want[name].to_numpy(float), equal_nan=True)


@pytest.mark.parametrize("compress", [None, gzip.compress, bz2.compress, lambda b: pa.compress(b, "zstd", asbytes=True)])
def test_any_pass_goes_on_where_another_stopped(tmp_path, compress):
    rows = awkward(300, 2)
    text = pathlib.Path(write_csv(tmp_path / "plain.csv", rows)).read_bytes()
    paths = [str(tmp_path / f"{k}.csv") for k in range(2)]
    for path in paths:
        pathlib.Path(path).write_bytes(compress(text) if compress else text)
    whole = list(CsvReader(paths, block=1500).batches())
    assert [r for b in whole for r in b.data.to_pylist()] == rows * 2
    assert len(whole) == 10
    for k in range(len(whole)):
        reader = CsvReader(paths, block=1500)
        rest = list(reader.batches(json.loads(json.dumps(whole[k].position))))
        assert [b.position for b in rest] == [b.position for b in whole[k + 1 :]]
        assert all(a.data.equals(b.data) for a, b in zip(rest, whole[k + 1 :]))
    assert whole[-1].position["examples"] == 600
    if compress is None:
        assert reader.size == 2 * len(text)


def test_headers_are_guessed_and_may_be_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("39, State-gov, <=50K\n50, Private, >50K\n")
    assert read(CsvReader(path)) == [{"c0": 39, "c1": "State-gov", "c2": "<=50K"}, {"c0": 50, "c1": "Private", "c2": ">50K"}]
    path.write_text("p,x,p\ne,x,s\n")
    assert read(CsvReader(path))[0] == {"c0": "p", "c1": "x", "c2": "p"}, "a name twice is no header"
    path.write_text("a,b\nx,y\n")
    assert read(CsvReader(path)) == [{"a": "x", "b": "y"}]
    assert len(read(CsvReader(path, header=False))) == 2
    path.write_bytes(b"\xef\xbb\xbf2019,b\r\n1,y\r\n\r\n2,z")
    assert read(CsvReader(path, header=True)) == [{"2019": 1, "b": "y"}, {"2019": 2, "b": "z"}]


def test_quotes_in_tsv_are_characters_unless_told(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text('ham\t"Oh no\nspam\tfree "stuff" now"\n')
    assert [r["c1"] for r in read(CsvReader(path, kind="tsv", header=False))] == ['"Oh no', 'free "stuff" now"']
    path.write_text('a\tb\n"x\ty"\t1\n')
    assert read(CsvReader(path, kind="tsv", quote='"')) == [{"a": "x\ty", "b": 1}]


def test_missing_cells_and_kinds(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,b,c,d,z\n1,2.5,NA,x,007\n?, ?,null,?,010\n,NaN,,"",1\n3,1e3,N/A,None,5\n')
    got = read(CsvReader(path, text="z"))
    assert got == [
        {"a": 1, "b": 2.5, "c": None, "d": "x", "z": "007"},
        {"a": None, "b": None, "c": None, "d": None, "z": "010"},
        {"a": None, "b": None, "c": None, "d": None, "z": "1"},
        {"a": 3, "b": 1000.0, "c": None, "d": None, "z": "5"},
    ]


def test_whole_numbers_become_real_when_a_later_block_has_fractions(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n" + "1\n" * 100 + "2.5\n" * 100)
    got = [b.data.schema.field("a").type for b in CsvReader(path, block=100).batches()]
    assert (got[0], got[-1]) == (pa.int64(), pa.float64())


BAD = [
    ("5,x\n", r"a.csv:52: expected 3 columns, found 2"),
    ("5,x,1,2\n", r"a.csv:52: expected 3 columns, found 4"),
    ("many,x,1\n", r"a.csv:52:1: expected a number.* in column 'a', found 'many'"),
    ("5,x,1e999\n", r"a.csv:52:3: expected a finite number in column 'b', found inf"),
    ('5,"x,1\n', r"a.csv:52: expected 3 columns, found a quote that does not close"),
    ("5,,1\n", r"a.csv:52:2: expected a value in column 't', found none"),
]


@pytest.mark.parametrize("block", [64, 1 << 20])
@pytest.mark.parametrize(("line", "said"), BAD)
def test_bad_rows_stop_with_their_place_or_are_counted(tmp_path, line, said, block):
    path = tmp_path / "a.csv"
    good = [f"{k},two words,0.5\n" for k in range(100)]
    path.write_text("a,t,b\n" + "".join(good[:50]) + line + "".join(good[50:]))
    with pytest.raises(BadRow, match=said):
        read(CsvReader(path, block=block, required="t"))
    reader = CsvReader(path, block=block, required="t", on_bad="skip")
    assert [r["a"] for r in read(reader)] == list(range(100)), "no good row is lost"
    assert reader.skipped.count == 1
    assert said.split(":")[1] in reader.skipped.first[0]


def test_lines_are_counted_through_cells_of_several_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,t\n1,"one\ntwo\nthree"\n2,x\noops,y\n' + "3,z\n" * 18 + "nine,z\n")
    with pytest.raises(BadRow, match=r"a.csv:6:1: expected a number.*found 'oops'"):
        read(CsvReader(path))
    reader = CsvReader(path, on_bad="skip")
    assert len(read(reader)) == 20
    assert [s.split(": ")[0].rsplit("a.csv", 1)[1] for s in reader.skipped.first] == [":6:1", ":25:1"]


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,t\n1,x\n2,caf\xe9\n3,y\n")
    with pytest.raises(BadRow, match=r"a.csv:3: expected text in UTF-8"):
        read(CsvReader(path))
    assert [r["a"] for r in read(CsvReader(path, on_bad="skip"))] == [1, 3]


def test_many_bad_rows_are_counted_and_the_first_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{k},1\n" + ("x\n" if k % 3 == 0 else "") for k in range(300)))
    reader = CsvReader(path, on_bad="skip", block=200)
    whole = list(reader.batches())
    assert sum(b.data.num_rows for b in whole) == 300
    assert (reader.skipped.count, len(reader.skipped.first)) == (100, 5)
    again = CsvReader(path, on_bad="skip", block=200)
    list(again.batches(whole[3].position))
    assert again.skipped.count == 100, "a pass that goes on counts on"


def test_bad_rows_are_read_as_fast_as_good_ones_are(tmp_path):
    """The places of bad rows are found in one walk: at 3 % bad rows a pass took 60 times as long."""
    rows = [f"{i % 97},{i % 89}.5,{'pq'[i % 2]}" for i in range(200_000)]
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("a,b,y\n" + "\n".join(rows))
    bad.write_text("a,b,y\n" + "\n".join(row.replace(".", "!") if i % 33 == 0 else row for i, row in enumerate(rows)))
    took = {}
    for path in (good, good, bad):
        reader = CsvReader(path, on_bad="skip")
        start = time.perf_counter()
        assert sum(b.n for b in reader.batches()) + reader.skipped.count == len(rows)
        took[path] = time.perf_counter() - start
    assert reader.skipped.count == len(rows[::33])
    assert (
        reader.skipped.first[1]
        == f"{bad}:35:2: expected a number, or declare the column categorical or text, in column 'b', found '33!5'"
    )
    assert took[bad] < 15 * took[good]


@pytest.mark.parametrize("block", [64, 1000, 1 << 20])
@pytest.mark.parametrize("target", ["whole", "real", "text"])
def test_rows_without_a_target_are_counted_once_each(target, block, tmp_path):
    made = {"whole": lambda i: i % 3, "real": lambda i: i / 8, "text": lambda i: "yn"[i % 2]}[target]
    values = [None if i % 7 == 3 else made(i) for i in range(300)]
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{i},{'' if v is None else v}\n" for i, v in enumerate(values)))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"x": i, "y": v}) + "\n" for i, v in enumerate(values)))
    pa.parquet.write_table(pa.table({"x": range(300), "y": pa.array(values)}), tmp_path / "a.parquet")
    readers = [
        CsvReader(tmp_path / "a.csv", on_bad="skip", block=block),
        JsonReader(tmp_path / "a.jsonl", on_bad="skip", block=block),
        ParquetReader(tmp_path / "a.parquet", on_bad="skip", rows=block),
    ]
    for reader in readers:
        reader.heed(Table(target="y"), True)
        assert [row["x"] for row in read(reader)] == [i for i, v in enumerate(values) if v is not None]
        assert reader.skipped.count == values.count(None)


def test_a_target_that_is_not_a_number_is_missing(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x": 1, "y": 1}\n{"x": 2, "y": NaN}\n{"x": 3, "y": 0}\n')
    pa.parquet.write_table(pa.table({"x": [1, 2, 3], "y": [1.0, math.nan, 0.0]}), tmp_path / "a.parquet")
    for reader in (JsonReader(tmp_path / "a.jsonl", on_bad="skip"), ParquetReader(tmp_path / "a.parquet", on_bad="skip")):
        reader.heed(Table(target="y"), True)
        assert [row["x"] for row in read(reader)] == [1, 3]
        assert reader.skipped.count == 1


def test_files_with_other_columns(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("a,c\n1,2\n")
    with pytest.raises(ValueError, match="2.csv has other columns than the first file: expected a, b; found a, c"):
        read(CsvReader(str(tmp_path / "*.csv"), header=True))
    (tmp_path / "3.csv").write_text("a,a\n1,2\n")
    with pytest.raises(ValueError, match="names column 'a' twice"):
        read(CsvReader(tmp_path / "3.csv", header=True))
    (tmp_path / "4.csv").write_text("")
    assert read(CsvReader(tmp_path / "4.csv")) == []


def test_records_are_found_as_pythons_csv_finds_them():
    text = 'a,"b ""x"" \n y",c\n\n"q",5" disk,"z"\r\nlast,"unclosed'
    starts, fields = scanned(text.encode(), ",", '"', True)
    assert fields.tolist() == [3, 0, 3, -1]
    parts = [text.encode()[a:b].decode() for a, b in itertools.pairwise(starts)]
    assert "".join(parts) == text
    assert [len(next(csv.reader(io.StringIO(parts[k])))) for k in (0, 2)] == [3, 3]
    with compiling.interpreted():
        again = scanned(text.encode(), ",", '"', True)
    assert np.array_equal(again[0], starts)
    assert np.array_equal(again[1], fields)


def test_space_around_numbers_may_be_any(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n 1 ,x\n\u00a02\u2003,y\n\t3,z\n")
    assert [r["a"] for r in read(CsvReader(path, delimiter=","))] == [1, 2, 3]


def test_the_size_of_blocks_never_shows(tmp_path):
    rng = random.Random(0)
    parts = ["a", "b,", '"', "\n", '"x"', "1", ",", '""', " ", "\r\n", "é", "1,2\n", "a,b\n", '"q\nq",z\n', "?"]
    path = tmp_path / "a.csv"
    for _ in range(40):
        path.write_text("A,B\n" + "".join(rng.choice(parts) for _ in range(rng.randrange(80))), newline="")
        seen = []
        for block in (9, 64, 1 << 20):
            reader = CsvReader(path, text=("A", "B"), on_bad="skip", block=block)
            seen.append((read(reader), reader.skipped.count, reader.skipped.first))
        assert seen[0] == seen[1] == seen[2]


def test_readers_heed_a_table(tmp_path):
    table = Table(target="y", weight="w", categorical="zip")
    rows = [
        {"y": 1, "w": 2.0, "zip": "007", "n": 3},
        {"y": 0, "w": 1.0, "zip": "010", "n": None},
        {"y": None, "w": 1.0, "zip": "1", "n": 4},
    ]
    write_csv(tmp_path / "a.csv", rows)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    for reader in (CsvReader(tmp_path / "a.csv"), JsonReader(tmp_path / "a.jsonl"), ParquetReader(tmp_path / "a.parquet")):
        reader.heed(table, True)
        with pytest.raises(BadRow, match=r":\d.*expected a value (in column|under) 'y'"):
            read(reader)
        reader.on_bad = "skip"
        assert [r["zip"] for r in read(reader)] == ["007", "010"]
        assert reader.skipped.count == 1


# ---- JSON lines ------------------------------------------------------------------------------------------------------
def test_json_lines_nested_absent_and_mixed(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [
        {"a": 1, "user": {"age": 30, "home": {"country": "DE"}}, "ok": True},
        {"a": 2.5, "user": {"age": None}, "when": "2024-01-01 12:00:00"},
        {"user": {"name": "ünï"}, "a": None},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    got = read(JsonReader(path))
    want = {"a": 1, "user.age": 30, "user.home.country": "DE", "user.name": None, "ok": True, "when": None}
    assert got[0] == want
    assert got[1]["when"] == "2024-01-01 12:00:00", "a text stays as it is written"
    assert got[2]["user.name"] == "ünï"
    path.write_text('{"v": 3}\n{"v": "old"}\n{"v": null}\n')
    table = Table()
    for b in JsonReader(path).batches():
        table.rows(b.data, True)
    assert table.feature_names == ["v", "v=old"], "a null is as good as no key"


def test_json_lines_make_the_same_features_however_they_are_cut(tmp_path):
    path = tmp_path / "a.jsonl"
    rng = np.random.default_rng(0)
    rows = []
    for k in range(120):
        x = {"n": int(k), "m": "text" if k % 7 == 3 else 1.5, "u": {"a": str(rng.integers(3)), **({"b": 2} if k > 30 else {})}}
        rows.append(x if k % 5 else {"late": k / 2, **x})
    path.write_text("".join(json.dumps(x) + "\n" for x in rows))
    want = Table()
    whole = want.rows(rows, True)
    for block in (100, 700, 1 << 20):
        table = Table()
        parts = [table.rows(b.data, True).arrays for b in JsonReader(path, block=block).batches()]
        assert table.feature_names == want.feature_names
        for k in (1, 2):
            assert np.array_equal(np.concatenate([p[k] for p in parts]), whole.arrays[k])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"a": 1', r"a.jsonl:31:8: expected a JSON object"),
        ("null", r"a.jsonl:31:1: expected a JSON object on one line, found a NoneType"),
        ('{"a": 1} {"a": 2}', r"a.jsonl:31:10: expected a JSON object on one line, found Extra data"),
        ("[1, 2]", r"a.jsonl:31:1: expected a JSON object on one line, found a list"),
        ('{"a": [1]}', r"a.jsonl:31: expected a number or text under 'a', found a list"),
        ('{"a": Infinity}', r"a.jsonl:31: expected a finite number under 'a'"),
        ('{"b": 1}', r"a.jsonl:31: expected a value under 'a', found none"),
    ],
)
@pytest.mark.parametrize("block", [64, 1 << 20])
def test_bad_lines_of_json(tmp_path, line, said, block):
    path = tmp_path / "a.jsonl"
    good = [f'{{"a": {k}}}\n' for k in range(60)]
    path.write_text("".join(good[:30]) + line + "\n" + "".join(good[30:]))
    with pytest.raises(BadRow, match=said):
        read(JsonReader(path, block=block, required="a"))
    reader = JsonReader(path, block=block, required="a", on_bad="skip")
    assert [r["a"] for r in read(reader)] == list(range(60))
    assert reader.skipped.count == 1


def test_a_file_that_begins_with_null_or_other_bytes(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'null\n{"a": 1}\n{"a": "\xe9"}\n')
    reader = JsonReader(path, on_bad="skip")
    assert read(reader) == [{"a": 1}]
    assert [s.split(": ")[1] for s in reader.skipped.first] == [
        "expected a JSON object on one line, found a NoneType",
        "expected text in UTF-8, found bytes of another encoding",
    ]


# ---- Parquet ---------------------------------------------------------------------------------------------------------
def test_parquet_files_directories_and_positions(tmp_path):
    rows = awkward(250, 3)
    table = pa.Table.from_pylist(rows)
    for country in ("DE", "FR"):
        (tmp_path / "data" / f"country={country}").mkdir(parents=True)
        pa.parquet.write_table(table, tmp_path / "data" / f"country={country}" / "part.parquet", row_group_size=60)
    reader = ParquetReader(tmp_path / "data", rows=25)
    whole = list(reader.batches())
    got = [r for b in whole for r in b.data.to_pylist()]
    assert got == [{**r, "country": country} for country in ("DE", "FR") for r in rows]
    assert reader.read == reader.size
    for k in (0, 5, 9, len(whole) - 1):
        rest = list(ParquetReader(tmp_path / "data", rows=25).batches(json.loads(json.dumps(whole[k].position))))
        assert [b.position for b in rest] == [b.position for b in whole[k + 1 :]]
        assert all(a.data.equals(b.data) for a, b in zip(rest, whole[k + 1 :]))


def test_feather_and_what_is_no_parquet(tmp_path):
    rows = awkward(50, 4)
    pa.feather.write_feather(pa.Table.from_pylist(rows), tmp_path / "a.feather")
    assert read(ParquetReader(tmp_path / "a.feather", rows=20)) == rows
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing else")
    with pytest.raises(ValueError, match="a.parquet: expected a Parquet or Arrow file"):
        read(ParquetReader(tmp_path / "a.parquet"))
    pa.parquet.write_table(pa.table({"y": [1, None, 3]}), tmp_path / "y.parquet")
    with pytest.raises(BadRow, match=r"y.parquet:2: expected a value in column 'y'"):
        read(ParquetReader(tmp_path / "y.parquet", required="y"))
    reader = ParquetReader(tmp_path / "y.parquet", required="y", on_bad="skip")
    assert [r["y"] for r in read(reader)] == [1, 3]
    assert reader.skipped.count == 1


# ---- ARFF ------------------------------------------------------------------------------------------------------------
DENSE = """% a comment
@relation 'weather data'
@ATTRIBUTE temperature numeric
@attribute 'wind speed' REAL
@attribute outlook {sunny, 'partly cloudy', rain}
@attribute play {yes,no}
@data
% another
85, 1.5, sunny, no
?,2,'partly cloudy',yes

70,0.25,rain,?
"""


def test_arff_agrees_with_scipy(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(DENSE)
    rows = read(ArffReader(path))
    assert rows[1] == {"temperature": None, "wind speed": 2.0, "outlook": "partly cloudy", "play": "yes"}
    data, meta = scipy_arff.loadarff(io.StringIO(DENSE.replace("'partly cloudy'", "fair")))  # SciPy knows no quotes there
    assert list(rows[0]) == meta.names()
    for got, want in zip(rows, data):
        assert math.isnan(want["temperature"]) if got["temperature"] is None else got["temperature"] == want["temperature"]
        assert got["wind speed"] == want["wind speed"]
        assert (got["play"] or "?") == want["play"].decode()
    table = Table(target="play")
    for b in ArffReader(path).batches():
        table.rows(b.data, True)
    assert table.column_roles["outlook"] == "categorical"


def test_arff_sparse_and_bad_rows(tmp_path):
    head = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@attribute c string\n@data\n"
    path = tmp_path / "a.arff"
    path.write_text(head + "{0 3, 1 y, 2 'some text'}\n{}\n{1 y,0 2.5}\n{0 ?}\n")
    assert read(ArffReader(path)) == [
        {"a": 3.0, "b": "y", "c": "some text"},
        {"a": 0.0, "b": "x", "c": None},
        {"a": 2.5, "b": "y", "c": None},
        {"a": None, "b": "x", "c": None},
    ]
    for rows, said in (
        ("1,z,t\n", r"a.arff:6:2: expected one of x, y in attribute 'b', found 'z'|a.arff:6:2: .*'z'"),
        ("{0 1}\n{1 z}\n", r"a.arff:7:4: expected one of x, y in attribute 'b'"),
        ("{0 1}\n{7 z}\n", r"a.arff:7:2: expected an attribute from 0 to 2"),
        ("{0 1}\n{0 q}\n", r"a.arff:7:4: expected a finite number in attribute 'a', found 'q'"),
    ):
        path.write_text(head + rows)
        with pytest.raises(BadRow, match=said):
            read(ArffReader(path))
        reader = ArffReader(path, on_bad="skip")
        assert len(read(reader)) == rows.count("\n") - 1
        assert reader.skipped.count == 1
    path.write_text(head.replace("numeric", "complex") + "1,x,t\n")
    with pytest.raises(BadRow, match=r"a.arff:2:1: expected a type"):
        read(ArffReader(path))


def test_arff_goes_on_from_any_position(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(DENSE + "".join(f"{k},0.5,rain,yes\n" for k in range(200)))
    whole = list(ArffReader(path, block=400).batches())
    assert sum(b.data.num_rows for b in whole) == 203
    rest = list(ArffReader(path, block=400).batches(json.loads(json.dumps(whole[2].position))))
    assert [pylist(b.data) for b in rest] == [pylist(b.data) for b in whole[3:]]


# ---- arrays ----------------------------------------------------------------------------------------------------------
def test_npz_dense_sparse_and_positions(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 4))
    y = np.array(["a", "b"])[np.arange(50) % 2]
    np.savez(tmp_path / "d.npz", X=X, y=y, sample_weight=np.arange(50.0))
    whole = list(ArraysReader(tmp_path / "d.npz", rows=20).batches())
    assert np.array_equal(np.concatenate([b.data.arrays[0] for b in whole]), X)
    assert isinstance(whole[0].y, Coded)
    assert [b.y.values[k] for b in whole for k in b.y.codes] == y.tolist()
    assert np.concatenate([b.c for b in whole]).tolist() == list(range(50))
    rest = list(ArraysReader(tmp_path / "d.npz", rows=20).batches(whole[0].position))
    assert [b.position for b in rest] == [b.position for b in whole[1:]]
    S = random_sparse(30, 8, 0.4, "csr", rng=np.random.default_rng(1))
    save_npz(tmp_path / "s.npz", S)
    got = list(ArraysReader(tmp_path / "s.npz", rows=7).batches())
    assert len(got) == 5
    a, i, d = got[1].data.arrays
    assert np.array_equal(
        csr_matrix((d[a[0] : a[-1]], i[a[0] : a[-1]].astype(int), a - a[0]), shape=(7, 8)).toarray(), S[7:14].toarray()
    )
    np.save(tmp_path / "x.npy", X)
    assert next(ArraysReader(tmp_path / "x.npy").batches()).y is None
    np.savez(tmp_path / "bad.npz", Z=X)
    with pytest.raises(ValueError, match="bad.npz: expected an array X, .*found Z"):
        list(ArraysReader(tmp_path / "bad.npz").batches())
    np.save(tmp_path / "o.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(ValueError, match="o.npy: expected arrays of numbers"):
        list(ArraysReader(tmp_path / "o.npy").batches())


def test_weights_of_arrays_are_no_column():
    X, y = np.eye(2), np.array([0, 1])
    with pytest.raises(ValueError, match=r"'weight' is for tables; weights of arrays come beside them, \(X, y, weights\)"):
        nr.stream(X, y, weight=np.ones(2))
    with pytest.raises(ValueError, match="weight must be the name of a column, got array"):
        nr.stream(pd.DataFrame(X, columns=["a", "b"]), y, weight=np.ones(2))


def test_what_is_in_memory():
    X, y = np.eye(3), [1, 0, 1]
    for source in ((X, y), (csr_matrix(X), y)):
        (b,) = in_memory(source).batches()
        assert (b.data.n, b.y.tolist()) == (3, y)
    frame = {"a": [1.0, 2.0], "c": ["x", "y"], "y": [0, 1]}
    for made in (pd.DataFrame(frame), pl.DataFrame(frame), pa.table(frame)):
        reader = in_memory(made)
        assert reader.kind == "frame"
        (b,) = reader.batches()
        got = Front(Table(target="y")).batch(b, True)
        assert got.y.tolist() == [0, 1]
        assert got.data.width == 4 - 1
    records = [({"a": 1.0}, "x"), ({"b": "t"}, "y", 2.0)]
    reader = in_memory(records)
    assert reader.kind == "records"
    front = Front(Table())
    (b,) = (front.batch(b, True) for b in reader.batches())
    assert (list(b.y), b.c.tolist(), front.names) == (["x", "y"], [1.0, 2.0], ["a", "b=t"])
    assert next(iter(in_memory(records).batches({"row": 1}))).data == [{"b": "t"}]
    assert not in_memory(iter(records)).replayable
    with pytest.raises(TypeError, match=r"example 0: expected \(dict, label\)"):
        list(in_memory([1, 2]).batches())
    with pytest.raises(TypeError, match="expected a path, bytes, an array"):
        in_memory(3)


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("ham\tGo until jurong point\nspam\tFree entry\nham\tOk lar\n", False),  # `ham` comes again in its column
        ("label\tmessage\nham\tGo until jurong point\n", True),
        ("a,b\n1,2\n", True),
        ("1,2\n3,4\n", False),
        (f"good,{'word ' * 40}\nbad,other\n", False),  # too long for a name
    ],
)
def test_whether_there_is_a_header_is_found_out(tmp_path, text, header):
    path = tmp_path / "t.csv"
    path.write_text(text)
    reader = CsvReader(str(path), kind="tsv" if "\t" in text else "csv")
    rows = sum(batch.data.num_rows for batch in reader.batches())
    assert reader.header is header
    assert rows == len(text.splitlines()) - header


def test_a_column_to_ignore_that_is_not_there_is_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,leak,label\n1,2,x\n3,4,y\n")
    with pytest.raises(ValueError, match="no column 'leek'; did you mean 'leak'"):
        nr.train(str(path), nr.PA1(), target="label", ignore="leek")
    model = nr.train(str(path), nr.PA1(), target="label", ignore="leak").model
    path.write_text("a,label\n1,x\n")
    assert len(list(nr.stream(str(path), front=model.front).chunks(front=model.front, learn=False))) == 1
