"""svmlight and VW text: every number to the bit, every row in order, every bad line named, in any block and any thread."""

import bz2
import contextlib
import gzip
import math
import mmap
import os
import pathlib
import subprocess
import sys
import threading
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.engine import compiling
from noregret.inputs.batch import BadRow
from noregret.inputs.hashing import murmur3
from noregret.streams import source
from noregret.streams.svmlight import Room as SvmRoom
from noregret.streams.svmlight import SvmlightReader
from noregret.streams.text_reader import REQUIRED, SLACK, Block, padded
from noregret.streams.vw import SEEN, VwReader
from noregret.streams.vw import Room as VwRoom

HERE = __file__  # any file that exists


def parsed(reader, room, text, labelled=REQUIRED):
    """What a reader makes of one block."""
    content, end = padded(text, len(text))
    return reader.parse(Block(content, 0, end, 0, 0, end, end, labelled), room(len(content)), labelled)


def rows_of(batches):
    """Batches as a list of (label, weight, id, features as a list of pairs)."""
    out = []
    for b in batches:
        indptr, indices, values = b.data.arrays
        assert (indptr.dtype, indices.dtype, values.dtype) == (np.int64, np.uint32, np.float64)
        assert indices.max(initial=0) < b.data.width
        assert len(indptr) == b.data.n + 1
        for i in range(b.data.n):
            features = list(zip(indices[indptr[i] : indptr[i + 1]].tolist(), values[indptr[i] : indptr[i + 1]].tolist()))
            label = None if b.y is None else float(b.y[i])
            out.append((label, 1.0 if b.c is None else float(b.c[i]), None if b.ids is None else b.ids[i], features))
    return out


def written(tmp_path, text, name="data.svm"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


# ---- numbers ---------------------------------------------------------------------------------------------------------
digits = st.text("0123456789", max_size=30)
decimals = st.builds(
    lambda sign, a, b, e: f"{sign}{a}.{b}{e}" if b or not a else f"{sign}{a}{e}",
    st.sampled_from(["", "-", "+"]),
    digits,
    digits,
    st.one_of(st.just(""), st.integers(-345, 300).map(lambda e: f"e{e}"), st.integers(0, 40).map(lambda e: f"E+{e:03d}")),
).filter(lambda t: any(c.isdigit() for c in t.lower().partition("e")[0]))
floats = st.floats(allow_nan=False, allow_infinity=False)


def halfway(x):
    """The exact decimal of the point between two neighbouring floats."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 1200
        return format((Decimal(x) + Decimal(math.nextafter(x, math.inf))) / 2, "f")


numbers = st.one_of(
    decimals,
    floats.map(repr),
    floats.map(lambda x: f"{x:.18e}"),
    floats.map(lambda x: f"{x:.6g}"),
    st.floats(1e-30, 1e30).map(halfway),
    st.integers(-(10**25), 10**25).map(str),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=60))
def test_numbers_are_those_of_python(texts):
    text = "".join(f"1 {i}:{t}\n" for i, t in enumerate(texts)).encode()
    got = parsed(SvmlightReader(HERE, on_bad="skip"), SvmRoom, text)
    wanted = [(i, float(t)) for i, t in enumerate(texts) if math.isfinite(float(t))]
    assert got.data.arrays[1].tolist() == [i for i, _ in wanted]
    assert got.data.arrays[2].tobytes() == np.array([v for _, v in wanted]).tobytes()
    assert len(got.gaps) == len(texts) - len(wanted)


def test_numbers_of_every_length_are_those_of_python():
    """Random digits of each length, with the point in each place: fast, double-double and odd ones."""
    rng = np.random.default_rng(0)
    texts = []
    for n in range(1, 24):
        for point in range(n + 1):
            for power in ("", "", "e-5", "e20", "e-290", "e250"):
                d = "".join(map(str, rng.integers(0, 10, n)))
                texts.append(f"{d[:point]}.{d[point:]}{power}")
    got = parsed(SvmlightReader(HERE), SvmRoom, "".join(f"{t}\n" for t in texts).encode())
    assert got.y.tobytes() == np.array([float(t) for t in texts]).tobytes()


NO_NUMBERS = {"nan": 5, "inf": 5, "-inf": 6, "0x10": 6, "1_000": 6, "1e": 7, "1e+": 8, "": 5, "-": 6, ".": 6, "+-1": 6, "1.2.3": 8}
NO_NUMBERS |= {"1e400": 10, "1e5x": 8, "--1": 6, "1,5": 6, "12345678901234567890123x": 28, "-1e999": 11, "1e5.0": 8}


@pytest.mark.parametrize(("text", "column"), NO_NUMBERS.items())
def test_what_is_no_number(tmp_path, text, column):
    path = written(tmp_path, f"1 1:1\n1 2:{text} 3:1\n")
    with pytest.raises(BadRow) as e:
        list(SvmlightReader(path).batches())
    assert (e.value.file, e.value.line, e.value.column) == (path, 2, column)
    assert e.value.found == repr(f"2:{text}")
    assert str(e.value).startswith(f"{path}:2:{column}: expected a ")


# ---- svmlight --------------------------------------------------------------------------------------------------------
def plain_svmlight(text):
    """An independent reading of good svmlight text."""
    out = []
    for line in text.removeprefix("\ufeff").replace("\r", " ").split("\n"):
        words = line.split("#")[0].split()
        if not words:
            continue
        features, group = defaultdict(float), None
        for word in words[1:]:
            name, _, value = word.partition(":")
            if name == "qid":
                group = int(value)
            else:
                features[int(name)] += float(value)
        out.append((float(words[0]), 1.0, group, sorted(features.items())))
    return out


MESSY = (
    "\ufeff+1 1:0.5 3:1e-3 # first\r\n"
    "\n   \t \r\n# a comment: 1:2\n"
    "-1\t7:2\t\t9:.25  \n"
    "2.5\n"
    "0 # nothing here\n"
    "1 9:1 3:2 9:0.125 3:-2 1:4\n"
    "  -3 4294967294:1 0:0 12345678:5#tight\n"
    "1 000000001:1\n"
    f"1 {' '.join(f'{(i * 7919) % 3001}:{i / 7!r}' for i in range(4000))}\n"
    "1 5:0.1234567890123456789012345678 6:1e-310 7:179769313486231570000e288\n"
    "-1 1:1"
)


@pytest.mark.parametrize("block", [1, 64, 300, 1 << 21])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_change_nothing(tmp_path, block, threads):
    path = written(tmp_path, MESSY)
    wanted = plain_svmlight(MESSY)
    reader = SvmlightReader(path, block=block, threads=threads)
    assert rows_of(reader.batches()) == wanted
    assert rows_of(reader.batches()) == wanted, "a second pass"
    assert reader.read == reader.size == os.path.getsize(path)


def test_as_scikit_learn_reads_it(tmp_path):
    datasets = pytest.importorskip("sklearn.datasets")
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 40)) * (rng.random((300, 40)) < 0.3)
    path = str(tmp_path / "x.svm")
    datasets.dump_svmlight_file(X, rng.integers(0, 4, 300), path, query_id=np.arange(300) // 7)
    theirs, y, groups = datasets.load_svmlight_file(path, query_id=True, zero_based=True)
    batches = list(SvmlightReader(path, block=1000).batches())
    ours = rows_of(batches)
    assert [r[0] for r in ours] == y.tolist()
    assert [r[2] for r in ours] == groups.tolist()
    assert np.concatenate([b.data.arrays[1] for b in batches]).tolist() == theirs.indices.tolist()
    np.testing.assert_allclose(np.concatenate([b.data.arrays[2] for b in batches]), theirs.data, rtol=1e-15)


def test_folding_into_bits(tmp_path):
    path = written(tmp_path, "1 1:1 16:2 17:3 4294967294:4\n-1 3:1\n")
    (batch,) = SvmlightReader(path, hash_bits=4).batches()
    assert rows_of([batch]) == [(1.0, 1.0, None, [(0, 2.0), (1, 4.0), (14, 4.0)]), (-1.0, 1.0, None, [(3, 1.0)])]
    assert batch.data.width == 16


def test_groups_are_missing_on_some_rows(tmp_path):
    path = written(tmp_path, "1 qid:7 1:1\n1 1:1\n2 qid:123456789012345678 2:1\n")
    assert [r[2] for r in rows_of(SvmlightReader(path).batches())] == [7, -1, 123456789012345678]


@pytest.mark.parametrize(
    ("line", "column", "expected", "found"),
    [
        ("1:2 3:4", 1, "a label", "'1:2'"),
        ("spam 3:4", 1, "a label", "'spam'"),
        ("qid:1 3:4", 1, "a label", "'qid:1'"),
        ("1,2 3:4", 2, "a space", "'1,2'"),
        ("1 3 4:1", 4, "a colon", "'3'"),
        ("1 3:4 x", 7, "a feature", "'x'"),
        ("1 3:4 -5:1", 7, "a feature", "'-5:1'"),
        ("1 3:4 5:1:2", 10, "a space", "'5:1:2'"),
        ("1 4294967295:1", 3, "a feature number from 0 to 4294967294", "'4294967295:1'"),
        ("1 99999999999999999999999:1", 3, "a feature number from 0", "'99999999999999999999999:1'"),
        ("1 qid:x 1:1", 7, "one query", "'qid:x'"),
        ("1 1:1 qid:2", 7, "a feature", "'qid:2'"),
        ("1 qid:1 qid:2", 9, "a feature", "'qid:2'"),
        ("1 2:1e308 2:1e308", 1, "values of equal feature numbers with a finite sum", "'1'"),
        ("1 3:", 5, "a finite number", "'3:'"),
        ("1 3:1 \x00", 7, "a feature", "'\\x00'"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, column, expected, found):
    path = written(tmp_path, f"# head\n1 1:1\n\n{line}\n-1 2:2\n")
    for block in (1, 1 << 20):
        seen = []
        with pytest.raises(BadRow) as e:
            seen.extend(SvmlightReader(path, block=block).batches())
        assert rows_of(seen) == [(1.0, 1.0, None, [(1, 1.0)])], "the rows before it are given"
        assert (e.value.line, e.value.column, e.value.found) == (4, column, found)
        assert e.value.expected.startswith(expected)
        reader = SvmlightReader(path, block=block, on_bad="skip")
        assert [r[0] for r in rows_of(reader.batches())] == [1.0, -1.0]
        assert (reader.skipped.count, reader.skipped.first) == (1, [str(e.value)])


GOOD = ["1 1:1 2:2", "-1 5:0.5", "2 3:1 1:1", "1", "1 1:123456789012345678901"]
BAD = ["x 1:1", "1 1:nan", "1 1:1e400 2:123456789012345678901", "1 1", "1:1 2:2", "1 2:1 3:", "1 123456789012345678901"]


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.sampled_from(GOOD + BAD + ["", "# no"]), min_size=1, max_size=60),
    block=st.integers(1, 200),
    threads=st.integers(1, 3),
    end=st.sampled_from(["", "\n", "\r\n"]),
)
def test_skipping_loses_no_good_row(tmp_path_factory, lines, block, threads, end):
    path = written(tmp_path_factory.mktemp("skip"), "\n".join(lines) + end or "\n")
    reader = SvmlightReader(path, block=block, threads=threads, on_bad="skip")
    assert rows_of(reader.batches()) == plain_svmlight("\n".join(x for x in lines if x not in BAD))
    bad = [i + 1 for i, x in enumerate(lines) if x in BAD]
    assert reader.skipped.count == len(bad)
    assert [int(s.removeprefix(path).split(":")[1]) for s in reader.skipped.first] == bad[:5]
    if bad:
        with pytest.raises(BadRow) as e:
            list(SvmlightReader(path, block=block, threads=threads).batches())
        assert e.value.line == bad[0]


def test_labels_wanted_ignored_or_as_the_first_line(tmp_path):
    with_labels, without = "1 1:1\n-1 2:1\n", "# no labels\n\n1:1\nqid:3 2:1\n"
    a, b = written(tmp_path, with_labels, "a"), written(tmp_path, without, "b")
    assert [r[0] for r in rows_of(SvmlightReader(a, labelled=None).batches())] == [1.0, -1.0]
    for labelled in (None, False):
        assert [(r[0], r[3]) for r in rows_of(SvmlightReader(b, labelled=labelled).batches())] == [
            (None, [(1, 1.0)]),
            (None, [(2, 1.0)]),
        ]
    assert [(r[0], r[3]) for r in rows_of(SvmlightReader(a, labelled=False).batches())] == [(None, [(1, 1.0)]), (None, [(2, 1.0)])]
    for block in (1, 1 << 20):
        with pytest.raises(BadRow, match=r"c:3:1: expected a label"):
            list(SvmlightReader(written(tmp_path, with_labels + "1:1\n", "c"), labelled=None, block=block).batches())
        with pytest.raises(BadRow, match=r"d:5:1: expected no label, as on the first line"):
            list(SvmlightReader(written(tmp_path, without + "1 1:1\n", "d"), labelled=None, block=block).batches())


def test_interpreted_as_compiled():
    svm = MESSY.encode()[3:400] + b"\nx\n1 1:0.12345678901234567"
    for reader, room, text in ((SvmlightReader, SvmRoom, svm), (VwReader, VwRoom, MESSY_VW.encode()[3:3000])):
        got = parsed(reader(HERE, on_bad="skip"), room, text)
        with compiling.interpreted():
            other = parsed(reader(HERE, on_bad="skip"), room, text)
        assert (got.gaps.tolist(), got.bad, got.lines) == (other.gaps.tolist(), other.bad, other.lines)
        for a, b in zip((got.y, *got.data.arrays), (other.y, *other.data.arrays)):
            assert a.tobytes() == b.tobytes()


# ---- sources ---------------------------------------------------------------------------------------------------------
def zstd(data):
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as f:
        f.write(data)
    return sink.getvalue().to_pybytes()


PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstd, ".zstd": zstd}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("named", [True, False])
def test_compressed_files(tmp_path, suffix, named):
    """By suffix, and by the first bytes where there is none."""
    data = MESSY.encode()
    path = written(tmp_path, PACK[suffix](data), f"data{suffix}" if named else "data")
    assert source.compression(path) == source.PACKINGS[suffix]
    with source.open_bytes(path) as f:
        assert f.read() == data
    for block in (50, 1 << 20):
        reader = SvmlightReader(path, block=block)
        assert rows_of(reader.batches()) == plain_svmlight(MESSY)
        assert reader.read == reader.size == os.path.getsize(path)


def test_gzip_in_parts_and_cut_short(tmp_path):
    data = gzip.compress(b"1 1:1\n2 2:") + gzip.compress(b"2\n3 3:3")
    path = written(tmp_path, data, "x.gz")
    assert [r[0] for r in rows_of(SvmlightReader(path).batches())] == [1.0, 2.0, 3.0]
    for suffix, kept in ((".gz", 0.7), (".bz2", 0.7), (".zst", 0.7)):
        whole = PACK[suffix](MESSY.encode())
        cut = written(tmp_path, whole[: int(kept * len(whole))], f"cut{suffix}")
        with pytest.raises(ValueError, match=rf"cut\{suffix}: the compressed file is damaged or cut short"):
            list(SvmlightReader(cut).batches())
    assert len(rows_of(SvmlightReader(written(tmp_path, "1 1:1\n", "no.gz")).batches())) == 1


def test_several_files_and_globs(tmp_path):
    for i in (2, 10, 1):
        written(tmp_path, f"{i} 1:1\n{i}.5 2:1", f"part{i}.svm")
    written(tmp_path, "", "part3.svm")
    written(tmp_path, gzip.compress(b"7 1:1\n"), "part4.svm")
    reader = SvmlightReader(str(tmp_path / "part*.svm"))
    assert [r[0] for r in rows_of(reader.batches())] == [1.0, 1.5, 10.0, 10.5, 2.0, 2.5, 7.0]
    assert [os.path.basename(p) for p in reader.paths] == ["part1.svm", "part10.svm", "part2.svm", "part3.svm", "part4.svm"]
    both = SvmlightReader([tmp_path / "part2.svm", str(tmp_path / "part1.svm")])
    assert [r[0] for r in rows_of(both.batches())] == [2.0, 2.5, 1.0, 1.5]
    written(tmp_path, "1 1:1\n1 x\n", "part2b.svm")
    with pytest.raises(BadRow, match=r"part2b\.svm:2:3: expected a feature"):
        list(SvmlightReader(str(tmp_path / "part2*")).batches())


def test_a_name_with_brackets_is_a_file_first(tmp_path):
    path = written(tmp_path, "1 1:1\n", "a[1].svm")
    assert source.expand(path) == [path]


def test_sources_that_are_not_there(tmp_path):
    missing = str(tmp_path / "no.svm")
    with pytest.raises(FileNotFoundError, match="no such file: .*no.svm"):
        SvmlightReader(missing)
    with pytest.raises(FileNotFoundError, match=r"no file matches .*\*\.svm"):
        SvmlightReader(str(tmp_path / "*.svm"))
    with pytest.raises(IsADirectoryError, match="is a directory; expected a file"):
        SvmlightReader(tmp_path)
    with pytest.raises(ValueError, match="no file was named"):
        SvmlightReader([])
    with pytest.raises(ValueError, match="twice"):
        SvmlightReader(["-", "-"])
    for name, content in (("empty.svm", b""), ("empty.svm.gz", gzip.compress(b""))):
        with pytest.raises(ValueError, match=f"{name} is empty; expected lines of svmlight text"):
            list(SvmlightReader(written(tmp_path, content, name)).batches())
    with pytest.raises(FileNotFoundError, match=r"no file \*\.parquet in directory"):
        source.expand(tmp_path, inside="*.parquet")
    (tmp_path / "deep").mkdir()
    wanted = [written(tmp_path / "deep", "x", "b.parquet"), written(tmp_path, "x", "c.parquet")]
    assert source.expand(tmp_path, inside="*.parquet") == sorted(wanted)


@pytest.mark.parametrize(
    ("option", "value"), [("on_bad", "warn"), ("threads", 0), ("block", 0), ("hash_bits", 32), ("hash_bits", 0)]
)
def test_options_that_make_no_sense(option, value):
    with pytest.raises(ValueError, match=f"{option} must be"):
        SvmlightReader(HERE, **{option: value})


SUM_STDIN = """
import sys
sys.path.insert(0, sys.argv[1])
from noregret.streams.svmlight import SvmlightReader
reader = SvmlightReader("-")
for batch in reader.batches():
    print(*batch.y, flush=True)
    if sys.argv[2] == "first":
        break
try:
    list(reader.batches())
except ValueError as e:
    print(e, flush=True)
"""


def piped(mode):
    root = str(pathlib.Path(source.__file__).parents[2])
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", SUM_STDIN, root, mode], stdin=pipe, stdout=pipe, stderr=pipe)


def test_standard_input():
    for pack in (bytes, gzip.compress):
        out, err = piped("all").communicate(pack(MESSY.encode()), timeout=120)
        assert not err
        *labels, last = out.decode().splitlines()
        assert [float(x) for x in " ".join(labels).split()] == [r[0] for r in plain_svmlight(MESSY)]
        assert last.startswith("standard input can be read only once")


def test_lines_of_a_slow_pipe_are_given_as_they_come():
    """And a reader that stops early ends although a thread waits for the pipe."""
    with piped("first") as process:
        process.stdin.write(b"1 1:1\n2 2:2\n3 3")
        process.stdin.flush()
        assert process.stdout.readline() == b"1.0 2.0\n"
        assert process.stdout.readline().startswith(b"standard input can be read only once")
        assert process.wait(timeout=60) == 0
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()


# ---- positions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_pass_goes_on_from_every_position(tmp_path, suffix):
    pack = PACK.get(suffix, bytes)
    first = written(tmp_path, pack(("x\n" + MESSY.removeprefix("\ufeff")).encode()), f"a{suffix}")
    second = written(tmp_path, pack(b"\n5 1:1\nbad\n6 2:2\n7 1:7"), f"b{suffix}")
    reader = SvmlightReader([first, second], block=40, on_bad="skip")
    batches = list(reader.batches())
    wanted = rows_of(batches)
    assert [r[0] for r in wanted][-3:] == [5.0, 6.0, 7.0]
    assert reader.skipped.count == 2
    assert len(batches) > 5
    done = 0
    for k, batch in enumerate(batches):
        done += batch.data.n
        at = batch.position
        assert at["examples"] == done
        again = SvmlightReader([first, second], block=1000 if k % 2 else 17, threads=1 + k % 3, on_bad="skip")
        rest = list(again.batches(at))
        assert rows_of(rest) == wanted[done:]
        assert again.skipped.count == 2
        if rest:
            assert rest[-1].position == {**batches[-1].position}
    assert batches[-1].position == {"file": 1, "path": second, "offset": 22, "line": 5, "examples": len(wanted), "skipped": 2}


def test_positions_keep_what_the_first_line_said(tmp_path):
    path = written(tmp_path, "1:1\n2:1\n3:1\n")
    first, *_ = SvmlightReader(path, block=1, labelled=None).batches()
    assert [r[3] for r in rows_of(SvmlightReader(path, labelled=None).batches(first.position))] == [[(2, 1.0)], [(3, 1.0)]]


def test_positions_in_other_files_are_refused(tmp_path):
    path, other = written(tmp_path, "1 1:1\n" * 50), written(tmp_path, "1 1:1\n" * 50, "other")
    zipped = written(tmp_path, gzip.compress(b"1 1:1\n" * 50), "z.gz")
    at = [b.position for b in SvmlightReader(path, block=60).batches()][2]
    with pytest.raises(ValueError, match=r"the position is in file 1, .*data.svm; here that is .*other. Name the same files"):
        list(SvmlightReader(other).batches(at))
    with pytest.raises(ValueError, match="here that is no such file"):
        list(SvmlightReader(path).batches({**at, "file": 3}))
    at_zipped = [b.position for b in SvmlightReader(zipped, block=60).batches()][2]
    written(tmp_path, "1 1:1\n")
    written(tmp_path, gzip.compress(b"1 1:1\n"), "z.gz")
    for name, where in ((path, at), (zipped, at_zipped)):
        with pytest.raises(ValueError, match=r"expected at least 180 bytes, found 6: the file is not the one"):
            list(SvmlightReader(name).batches(where))


def test_a_file_that_grew_goes_on(tmp_path):
    path = written(tmp_path, "1 1:1\n2 2:2\n")
    *_, last = SvmlightReader(path).batches()
    with open(path, "a") as f:
        f.write("3 3:3\n")
    assert rows_of(SvmlightReader(path).batches(last.position)) == [(3.0, 1.0, None, [(3, 3.0)])]


def test_stopping_early_ends_the_threads(tmp_path):
    path = written(tmp_path, "1 1:1\n" * 2000)
    for take in (1, 7):
        stream = SvmlightReader(path, block=64, threads=3).batches()
        for _ in range(take):
            next(stream)
        assert any(t.name.startswith("noregret-parser") for t in threading.enumerate())
        stream.close()
        assert not any(t.name.startswith("noregret-parser") for t in threading.enumerate())


def mapped(path):
    """Bytes of a file that are mapped into this process."""
    spans = [line.split()[0].split("-") for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if line.endswith(path)]
    return sum(int(b, 16) - int(a, 16) for a, b in spans)


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="the system does not say what is mapped")
@pytest.mark.parametrize("threads", [1, 2])
def test_only_blocks_in_work_are_mapped(tmp_path, threads):
    """So memory does not grow with the file, and batches that are kept hold nothing of it."""
    block, sizes = 1 << 16, []

    class Watched(SvmlightReader):
        def parse(self, *args):
            sizes.append(mapped(path))
            return super().parse(*args)

    path = written(tmp_path, "1 1:1 2:0.5\n" * 100_000)
    kept = list(Watched(path, block=block, threads=threads).batches())
    assert sum(b.data.n for b in kept) == 100_000
    assert len(sizes) > 15
    assert 0 < max(sizes) <= (threads + 1) * (block + SLACK + 2 * mmap.ALLOCATIONGRANULARITY)
    assert mapped(path) == 0


# ---- VW --------------------------------------------------------------------------------------------------------------
MESSY_VW = (
    "\ufeff1 |f a b:2\r\n"
    "\n"
    "-1 2 0.5 'tag|f:0.5 a b:2 c:0 a:3\n"
    "0 0 'id/7 |123 a 5 |a b\n"
    "1 tag2| a b\tc  d \n"
    "1 |a :1 :2 x :3 | :5 :6\n"
    "1 |a|b c|\n"
    "1 |\n"
    "1 | é aé 日本 x:word x:wordier\n"
    "1\t|n 99999999999999999999999 123456789 12a4 012 x\x02y:3 \x01zz 1 2 3\n"
    "1 |longnamespacename abcd:1 abcde:2 abcdef:1 abcdefg:1 abcdefgh:1e-3 abcdefghijklmnopqrstuvwxyz:0.12345678901234567\n"
    "1 |a " + " ".join(f"w{i % 2500}:{i % 9 + 1}" for i in range(5000)) + "\n"
    "1 |a " + " ".join(f"{i % 300}" for i in range(900))
)


def plain_vw(text, bits):
    """An independent reading of good VW text (features by number)."""
    mask = (1 << bits) - 1

    def hashed(name, seed):
        name = bytes(name).strip(bytes(range(33)))
        return int(name or b"0") + seed if not name or name.isdigit() else murmur3(name, seed & 0xFFFFFFFF)

    out = []
    for line in text.removeprefix("\ufeff").encode().replace(b"\r", b" ").split(b"\n"):
        if not line.strip():
            continue
        before, *spaces = line.split(b"|")
        words, tag = before.split(), b""
        if words and (words[-1].startswith(b"'") or not before[-1:].isspace()):
            tag = words.pop().removeprefix(b"'")
        features = defaultdict(float)
        for space in spaces:
            head, *rest = space.replace(b"\t", b" ").split(b" ")
            name, _, scale = head.partition(b":")
            seed, anonymous = hashed(name, 0), 0
            for word in filter(None, rest):
                name, _, value = word.partition(b":")
                if name:
                    index = hashed(name, seed)
                else:
                    index, anonymous = seed + anonymous, anonymous + 1
                try:
                    v = float(value or 1)
                except ValueError:
                    index, v = hashed(value, index), 1.0
                if v * float(scale or 1):
                    features[index & mask] += v * float(scale or 1)
        numbers = [float(w) for w in words]
        out.append((numbers[0], numbers[1] if len(numbers) > 1 else 1.0, tag.decode(), sorted(features.items())))
    return out


def sorted_rows(batches):
    return [(y, c, "" if tag is None else tag, sorted(features)) for y, c, tag, features in rows_of(batches)]


@pytest.mark.parametrize(("block", "threads", "bits"), [(1, 1, 18), (100, 3, 24), (1 << 21, 2, 31), (1 << 21, 2, 6)])
def test_vw_text_in_any_block(tmp_path, block, threads, bits):
    path = written(tmp_path, MESSY_VW)
    reader = VwReader(path, block=block, threads=threads, hash_bits=bits)
    ours, wanted = sorted_rows(reader.batches()), plain_vw(MESSY_VW, bits)
    assert [r[:3] for r in ours] == [r[:3] for r in wanted]
    for a, b in zip(ours, wanted):
        assert [i for i, _ in a[3]] == [i for i, _ in b[3]]
        np.testing.assert_allclose([v for _, v in a[3]], [v for _, v in b[3]], rtol=1e-12)
    assert len(wanted[-2][3]) > SEEN // 2 or bits == 6, "one row is too long for the table of equal features"
    assert VwReader(path).hash_bits == 18


def test_vw_text_as_vw_reads_it(tmp_path):
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    workspace = vowpalwabbit.Workspace("--quiet -b 18 --noconstant")
    lines = [line for line in MESSY_VW.removeprefix("\ufeff").split("\n") if line and "\t|" not in line]
    ours = rows_of(VwReader(written(tmp_path, "\n".join(lines))).batches())
    for line, (y, c, tag, features) in zip(lines, ours):
        example = workspace.example(line)
        theirs = defaultdict(float)
        for n in range(example.num_namespaces()):
            for k in range(example.num_features_in(n)):
                theirs[example.feature(n, k) % 2**18] += example.feature_weight(n, k)
        assert dict(features).keys() == theirs.keys(), line
        np.testing.assert_allclose([v for _, v in sorted(features)], [v for _, v in sorted(theirs.items())], rtol=1e-5)
        assert (example.get_simplelabel_label(), example.get_simplelabel_weight(), example.get_tag()) == (y, c, tag)
        workspace.finish_example(example)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=40).filter(lambda b: not set(b) & set(b" \t\r\n:|")), min_size=1, max_size=30))
def test_hashes_are_those_of_the_core(names):
    def number(name):
        trimmed = name.strip(bytes(range(33)))
        return int(trimmed or b"0") if trimmed.isdigit() or not trimmed else murmur3(trimmed)

    text = b"".join(b"1 | " + name + b"\n" for name in names)
    got = parsed(VwReader(HERE, hash_bits=31), VwRoom, text)
    assert got.data.arrays[1].tolist() == [number(name) % 2**31 for name in names]


@pytest.mark.parametrize(
    ("line", "column", "expected", "found"),
    [
        ("|f a", 1, "a label", "'|f'"),
        ("'tag |f a", 1, "a label", '"\'tag"'),
        ("1|f a", 1, "a label", "'1|f'"),
        ("1 f a", 6, "a bar", "'a'"),
        ("spam |f a", 1, "a number for the label", "'spam'"),
        ("1 2x |f a", 4, "a number for the label", "'2x'"),
        ("1 1 1 1 |f a", 7, "at most a label, a weight, a base", "'1'"),
        ("1 'a b |f a", 6, "at most a label, a weight, a base", "'b'"),
        ("1 -2 |f a", 3, "a weight of at least 0", "'-2'"),
        ("1 1e999 |f a", 8, "a finite number (at most", "'1e999'"),
        ("1 |f:x a", 6, "a name or a space after |", "'|f:x'"),
        ("1 |: a", 4, "a name or a space after |", "'|:'"),
        ("1 |f: a", 6, "a name or a space after |", "'|f:'"),
        ("1 |f a: b", 8, "a finite number after the colon", "'a:'"),
        ("1 |f a:nan", 8, "a finite number after the colon", "'a:nan'"),
        ("1 |f a:-Infinity", 9, "a finite number after the colon", "'a:-Infinity'"),
        ("1 |f a:INF", 8, "a finite number after the colon", "'a:INF'"),
        ("1 |f a:1x", 9, "a space, |", "'a:1x'"),
        ("1 |f a:1:2", 9, "a space, |", "'a:1:2'"),
        ("1 |f a:1e309", 13, "a finite number (at most", "'a:1e309'"),
        ("1 |f:1e200 a:1e200", 19, "a finite product", "'a:1e200'"),
        ("1 |f a:1e308 a:1e308", 1, "values of equal features with a finite sum", "'1'"),
    ],
)
def test_bad_vw_lines_are_named(tmp_path, line, column, expected, found):
    path = written(tmp_path, f"\n1 |f a\n{line}\n-1 |f b\n", "data.vw")
    for block in (1, 1 << 20):
        with pytest.raises(BadRow) as e:
            list(VwReader(path, block=block).batches())
        assert (e.value.line, e.value.column, e.value.found) == (3, column, found)
        assert e.value.expected.startswith(expected)
        reader = VwReader(path, block=block, on_bad="skip")
        assert [r[0] for r in rows_of(reader.batches())] == [1.0, -1.0]
        assert reader.skipped.first == [str(e.value)]


# ---- crosses of namespaces -------------------------------------------------------------------------------------------
CROSSED = "1 |a x y:2 |b z:3 |c w q:-1.5 |a t\n"


def plain_crosses(features, pairs, bits=18):
    """The features of a row and the products of pairs and triples of them, by the formula of VW's manual."""
    found = defaultdict(float)
    for index, v in features:
        found[index % 2**bits] += v
    for members in pairs:
        index, value = 0, 1.0
        for k, v in members:
            index, value = (index * 16777619) ^ k, value * v
        found[index % 2**bits] += value
    return sorted(found.items())


def own(space, *features):
    return [(murmur3(name, murmur3(space)), v) for name, v in features]


def test_crosses_of_vw_namespaces_by_hand(tmp_path):
    a, b, c = own(b"a", (b"x", 1.0), (b"y", 2.0), (b"t", 1.0)), own(b"b", (b"z", 3.0)), own(b"c", (b"w", 1.0), (b"q", -1.5))
    row, path = [*a, *b, *c], written(tmp_path, CROSSED, "data.vw")

    def crossed(*cross):
        ((_, _, _, features),) = rows_of(VwReader(path, cross=cross).batches())
        return sorted(features)

    def ordered(s, t=None):
        return [(u, v) for k, u in enumerate(s) for v in (s[k:] if t is None else t)]

    assert crossed("a,b") == plain_crosses(row, ordered(a, b))
    assert crossed("b,a") == plain_crosses(row, ordered(b, a))
    assert crossed("a,a") == plain_crosses(row, ordered(a))
    assert crossed("a,b", "b,c") == plain_crosses(row, ordered(a, b) + ordered(b, c))
    assert crossed("a,b,c") == plain_crosses(row, [(u, v, w) for u, v in ordered(a, b) for w in c])
    assert crossed("a,a,b") == plain_crosses(row, [(u, v, w) for u, v in ordered(a) for w in b])
    assert crossed("a,:") == plain_crosses(row, ordered(a) + ordered(a, b) + ordered(a, c))
    every = [*ordered(a), *ordered(b), *ordered(c), *ordered(a, b), *ordered(a, c), *ordered(b, c)]
    assert crossed(":,:") == plain_crosses(row, every)
    with pytest.warns(UserWarning, match=r"data.vw: no row has the namespaces of the cross 'a,z'"):
        assert crossed("a,z") == plain_crosses(row, [])


def test_crosses_of_vw_namespaces_as_vw_has_them(tmp_path):
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    path = written(tmp_path, CROSSED, "data.vw")
    for theirs, cross in (("-q ab", "a,b"), ("-q cc", "c,c"), ("-q ::", ":,:"), ("-q a:", "a,:"), ("--interactions aab", "a,a,b")):
        workspace = vowpalwabbit.Workspace(f"--quiet -b 18 --noconstant --sgd -l 0.001 {theirs}")
        example = workspace.example(CROSSED)
        workspace.learn(example)  # from 0 a step of SGD is the row, times a number
        ((_, _, _, features),) = rows_of(VwReader(path, cross=cross).batches())
        weights = np.array([workspace.get_weight(i) for i, _ in features])
        np.testing.assert_allclose(weights / weights[0], [v / features[0][1] for _, v in features], rtol=1e-5)
        assert sum(workspace.get_weight(i) != 0.0 for i in range(2**18)) == len(features)
        workspace.finish_example(example)


def test_crosses_in_any_block_and_order_of_namespaces(tmp_path):
    rng = np.random.default_rng(0)
    spaces = ["|a " + " ".join(f"f{k}:{v}" for k, v in enumerate(rng.random(n).round(3))) for n in rng.integers(0, 40, 60)]
    lines = [f"1 {s} |b g{k}:2 h |b:0.5 i" if k % 2 else f"1 |b g{k}:2 h {s} |b:0.5 i" for k, s in enumerate(spaces)]
    path, cross = written(tmp_path, "\n".join(lines)), ("a,b", "a,a,a")
    whole = rows_of(VwReader(path, cross=cross, hash_bits=24).batches())
    assert max(len(features) for *_, features in whole) > SEEN
    for block, threads in ((1, 1), (700, 3)):
        assert rows_of(VwReader(path, cross=cross, hash_bits=24, block=block, threads=threads).batches()) == whole
    turned = [f"1 |b g{k}:2 h |b:0.5 i {s}" for k, s in enumerate(spaces)]
    again = rows_of(VwReader(written(tmp_path, "\n".join(turned)), cross=cross, hash_bits=24).batches())
    assert [[i for i, _ in features] for *_, features in again] == [[i for i, _ in features] for *_, features in whole]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1 |a x:1e200 |b y:1e200", "finite products of crossed features"),
        ("1 |a " + "x " * 5000 + "|b " + "y " * 5000, "at most 16,777,216 products of crossed features in a row"),
    ],
)
def test_rows_that_cannot_be_crossed_are_named(tmp_path, line, expected):
    path = written(tmp_path, f"1 |a x |b y\n{line}\n-1 |b z |a x\n", "data.vw")
    with pytest.raises(BadRow) as e:
        list(VwReader(path, cross="a,b").batches())
    assert (e.value.line, e.value.column, e.value.expected) == (2, 1, expected)
    reader = VwReader(path, cross="a,b", on_bad="skip")
    assert [(r[0], len(r[3])) for r in rows_of(reader.batches())] == [(1.0, 3), (-1.0, 3)]
    assert reader.skipped.count == 1


def test_vw_lines_without_labels(tmp_path):
    path = written(tmp_path, "'t|f a\n|f b\nu| c\n")
    for labelled in (None, False):
        (batch,) = VwReader(path, labelled=labelled).batches()
        assert batch.y is None
        assert batch.c is None
        assert batch.ids.tolist() == ["t", "", "u"]
    assert [r[0] for r in rows_of(VwReader(written(tmp_path, "1 |f a\n"), labelled=None).batches())] == [1.0]
    with pytest.raises(BadRow, match=r":2:1: expected no label, as on the first line"):
        list(VwReader(written(tmp_path, "|f a\n1 |f a\n"), labelled=None, block=1).batches())
