"""Files that are damaged, forged or only odd give an answer or one line: cases of the fuzzer, and what it has found."""

import json
import os
import re
import stat
import subprocess
import sys

import numpy as np
import pytest
from fuzz import CASES, fault
from safetensors.numpy import save as serialize

import noregret as nr
from noregret.files.model_file import ModelFileError, checksum, read
from noregret.streams.source import Held

SOME = 40  # of each kind; `make fuzz` runs on for minutes


@pytest.mark.parametrize("kind", CASES)
def test_changed_files_give_an_answer_or_one_line(kind):
    """A fixed number of cases of each kind; `python tests/fuzz.py --case csv:7` runs one alone."""
    found = {f"{kind}:{number}": fault(kind, number) for number in range(SOME)}
    assert {case: wrong for case, wrong in found.items() if wrong is not None} == {}


def rows(name, data, **options):
    """Return how many rows there are in the bytes of a file of this name."""
    given = data if isinstance(data, bytes) else data.encode()
    return sum(batch.data.n for batch in nr.stream(Held(given, name), **options).chunks())


def refusal(name, data, **options):
    """Return the one line that refuses the bytes of a file."""
    with pytest.raises(ValueError, match=name) as caught:
        rows(name, data, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 500
    return text


# ---- JSON ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ("[", ""), ('{"a":', "}")])
@pytest.mark.parametrize("depth", [100, 2_000, 100_000])
def test_json_is_not_nested_without_end(begin, end, depth):
    """Beyond some depth parsers overflow the stack, which ends the process."""
    line = '{"y":1,"b":' + begin * depth + "1" + end * depth + "}\n"
    text = refusal("t.jsonl", '{"y":0}\n' + line)
    assert text.startswith(f"t.jsonl:2: expected at most 64 objects and lists inside each other, found {depth + 1}")
    assert rows("t.jsonl", '{"y":0}\n' + line, on_bad="skip") == 1


def test_json_may_be_nested_and_hold_brackets():
    """Depth is that of the line, and brackets in texts are none."""
    deep = '{"b":' * 63 + "1" + "}" * 63
    assert rows("t.jsonl", f'{{"a":{deep}}}\n{{"a":"{"[" * 100}"}}\n' * 40) == 80


def test_json_numbers_that_are_not_finite_are_bad_rows():
    """Of hundreds of digits, of thousands, and in a column of real numbers."""
    for number in ("9" * 400, "-" + "9" * 400, "9" * 5000, "1e999"):
        assert refusal("t.jsonl", f'{{"a":0.5}}\n{{"a":{number}}}\n').startswith("t.jsonl:2: expected")


def test_json_with_half_of_a_surrogate_pair():
    """JSON may escape it, but it is no text."""
    for line in (r'{"a":"\ud800"}', r'{"\udfff":1}'):
        assert refusal("t.jsonl", '{"a":"x"}\n' + line + '\n{"a":[1]}').endswith("found half of a surrogate pair")
    assert rows("t.jsonl", r'{"a":"\ud83d\ude00"}') == 1


# ---- other tables ----------------------------------------------------------------------------------------------------
def test_an_arff_attribute_that_is_there_twice():
    """It is named."""
    data = "@relation r\n@attribute a numeric\n@attribute a numeric\n@data\n1,2\n"
    assert refusal("t.arff", data) == "t.arff: the header names column 'a' twice; name each column once"


def test_arff_without_attributes():
    """It has no columns, so it has no rows."""
    assert (
        refusal("t.arff", "@relation r\n@data\n1,2\n") == "t.arff: expected lines '@attribute NAME TYPE' before @data, found none"
    )


def test_a_target_that_sparse_arff_does_not_have():
    """The columns there are come with the error, not Python's words for a list."""
    with pytest.raises(ValueError, match=r"no column 'b' \(columns: a, c\)"):
        rows("t.arff", "@attribute a numeric\n@attribute c numeric\n@data\n{0 1}\n", target="b")


def test_an_attribute_number_of_thousands_of_digits():
    """It is not there."""
    text = refusal("t.arff", "@attribute a numeric\n@data\n{" + "9" * 5000 + " 1}\n")
    assert text.startswith("t.arff:3:2: expected an attribute from 0 to 0 and a value")


def test_long_cells_among_the_first_lines():
    """A text may be longer than Python's csv module takes."""
    data = "a,b,y\n1," + "x" * 140_000 + ",p\n2,z,q\n"
    assert rows("t.csv", data, target="y", text="b") == 2


def test_whole_numbers_that_no_float_holds():
    """As features they are rounded."""
    assert rows("t.csv", f"a,b\n1,{2**62 + 1}\n2,3\n") == 2
    for data in columns(a=[2**62 + 1, 3], y=["p", "q"]):
        assert rows("t.parquet", data, target="y") == 2


def test_a_carriage_return_inside_a_line():
    """It ends a row for one parser and not for another: the line is a bad row."""
    data = "a\tb\n" + "1\t2\n" * 3 + "1\tx\ry\n" + "1\t3\n" * 30
    assert refusal("t.tsv", data).startswith("t.tsv:5: expected a row of 2 cells")
    assert rows("t.tsv", data, on_bad="skip") == 33


def test_a_bad_row_after_whole_numbers_became_real():
    """The columns are read as texts to say what is wrong, whatever they have become."""
    reader = nr.stream(Held(b"a,b\n" + b"1,0.5\n" * 50 + b"1.5,0.5\n" * 50 + b"2.5,x\n" * 9, "t.csv"), header=True).reader
    reader.block = 100
    with pytest.raises(ValueError, match=r"t\.csv:102:2: expected a number"):
        list(reader.batches())


def test_thousands_of_columns_are_read_in_time():
    """The work grows with the columns, not with their square."""
    n = 6000
    data = ",".join(f"c{j}" for j in range(n)) + "\n" + ",".join(["1"] * n) + "\n" + ",".join([" 1.5"] * n) + "\n"
    assert rows("t.csv", data) == 2


def columns(**arrays):
    """Return the bytes of a Parquet file and those of an Arrow file."""
    import io

    import pyarrow as pa
    import pyarrow.parquet

    table = pa.Table.from_arrays(list(map(pa.array, arrays.values())), names=[k.rstrip("_") for k in arrays])
    parquet, arrow = io.BytesIO(), io.BytesIO()
    pyarrow.parquet.write_table(table, parquet, write_page_checksum=True, compression="none")
    with pa.ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table)
    return parquet.getvalue(), arrow.getvalue()


def test_two_columns_of_one_name():
    """Which of them was meant, nobody knows; the second took the place of the first."""
    for data in columns(a=[1.0, 2.0], a_=[3.0, 4.0], y=["p", "q"]):
        assert refusal("t.parquet", data, target="y").endswith("names column 'a' twice; name each column once")


def test_parquet_names_that_are_no_text():
    """The file is damaged."""
    data = columns(colour=[1.0, 2.0], y=["p", "q"])[0].replace(b"colour", b"col\xfdur")
    assert "damaged" in refusal("t.parquet", data, target="y")


def test_changed_pages_of_parquet_are_noticed():
    """Where the file has checksums."""
    data = bytearray(columns(a=np.arange(1000.0) + 0.5, y=["p"] * 1000)[0])
    data[data.index(np.float64(500.5).tobytes())] ^= 1
    assert "damaged, cut short, or of another kind" in refusal("t.parquet", bytes(data), target="y")


def test_arrow_files_whose_texts_lie_elsewhere():
    """Offsets in the file are checked before anyone follows them."""
    data = columns(a=["red", "green", "blue"], y=[0, 1, 0])[1]
    offsets = np.array([0, 3, 8, 12], np.int32)
    for wrong in ([0, 3, 8, 2**31 - 1], [0, -5, 8, 12], [0, 9, 8, 12]):
        changed = data.replace(offsets.tobytes(), np.array(wrong, np.int32).tobytes())
        assert changed != data
        assert "damaged" in refusal("t.parquet", changed, target="y")


@pytest.mark.parametrize("name", ["t.npz", "t.npy"])
def test_damaged_arrays(name):
    """Cut anywhere, or changed anywhere: one line with the name of the file, or an answer."""
    import io

    out = io.BytesIO()
    np.savez(out, X=np.ones((20, 3))) if name == "t.npz" else np.save(out, np.ones((20, 3)))
    data = out.getvalue()
    for n in range(0, len(data), 7):
        refusal(name, data[:n], format="npz")
    changed = data.replace(b"(20, 3)", b"(9**9,)").replace(b"'shape': (", b"'shape': (99999999999, ")
    assert changed != data
    assert "expected arrays of numbers" in refusal(name, changed, format="npz")


# ---- writing ---------------------------------------------------------------------------------------------------------
FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from noregret.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    "command", ["train SOURCE --model pa1 --save FILE", "convert SOURCE FILE.svm", "evaluate SOURCE --model pa1 --html FILE"]
)
def test_a_full_disk_names_the_file(command, tmp_path):
    """And leaves nothing behind."""
    given = command.replace("SOURCE", "synthetic:linear?n=200&d=300").replace("FILE", "out").split()
    env = {**os.environ, "NOREGRET_JIT": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", FULL, *given], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"^Error: (cannot write )?out(\.svm)?: File too large$", done.stderr, re.M)
    assert os.listdir(tmp_path) == []


def test_what_is_no_file_is_written_to_as_it_is(tmp_path):
    """A device or pipe is not replaced by a file: for root, that would be the end of /dev/null."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    m = nr.PA1()
    m.save(path)
    assert os.read(reading, 1 << 16) == m.to_bytes()
    os.close(reading)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


# ---- positions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "change",
    [
        {"file": -1},
        {"file": 2**40},
        {"offset": -3},
        {"offset": 2**40},
        {"line": None},
        {"examples": "x"},
        {"skipped": {}},
        {"path": 1},
    ]
    + [{"columns": 3}, {"kinds": {"a": []}}, {"delimiter": 7}, {"delimiter": ""}, {"header": None}],
)
def test_positions_that_are_none(change):
    """They come from model files and from other processes."""
    reader = nr.stream(Held(b"a,b\n1,2\n3,4\n", "t.csv")).reader
    (batch,) = reader.batches()
    assert list(reader.batches(batch.position)) == []
    with pytest.raises(ValueError, match="expected a position|the position is in file|expected at least"):
        list(reader.batches({**batch.position, **change}))


@pytest.mark.parametrize("change", [{"nominal": {"b": ["u"]}}, {"nominal": {"a": [1]}}, {"kinds": {}}])
def test_positions_in_arff_know_the_attributes(change):
    """All of them, and no others."""
    reader = nr.stream(Held(b"@attribute a {u,v}\n@data\nu\nv\n", "t.arff")).reader
    (batch,) = reader.batches()
    with pytest.raises(ValueError, match="expected a position"):
        list(reader.batches({**batch.position, **change}))


def test_positions_inside_a_table_know_its_columns():
    """The header is behind them."""
    reader = nr.stream(Held(b"a,b\n1,2\n3,4\n", "t.csv")).reader
    (batch,) = reader.batches()
    without = {k: v for k, v in batch.position.items() if k != "columns"} | {"offset": 4}
    with pytest.raises(ValueError, match="expected a position"):
        list(nr.stream(Held(b"a,b\n1,2\n3,4\n", "t.csv")).reader.batches(without))


def test_a_piece_that_ends_nowhere():
    """Its end is checked like its beginning."""
    for name, data in (("t.svm", b"1 1:1\n"), ("t.csv", b"a,b\n1,2\n")):
        end = {"file": 2**33, "path": name, "offset": 1}
        with pytest.raises(ValueError, match="the position is in file"):
            list(nr.stream(Held(data, name), piece=(None, end)).reader.batches())


# ---- models: the checksum is right -----------------------------------------------------------------------------------
def forged(model, **changes):
    """Return the file of a model with other arrays."""
    meta, tensors = read(model.to_bytes())
    for name, value in changes.items():
        at = name.replace("__", ".")
        tensors = {**tensors, at: tensors[at].copy()}
        tensors[at].reshape(-1)[-1] = value
    text = json.dumps(meta)
    return serialize(tensors, {"noregret": text, "sha256": checksum(text, tensors)})


def examples(classes=2):
    """Return rows and labels."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 4))
    return X, np.argmax(X[:, :classes], axis=1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused(value):
    """A learner that holds one would answer it."""
    with pytest.raises(ModelFileError, match=r"expected finite numbers in state\.w, found array"):
        nr.from_bytes(forged(nr.PA1().partial_fit(*examples()), state__w=value))
    with pytest.raises(ModelFileError, match=r"expected finite numbers in state\.w\.alpha"):
        nr.from_bytes(forged(nr.PA1(kernel=nr.RBF()).partial_fit(*examples()), state__w__alpha=value))


def test_sums_of_squares_may_overflow():
    """Infinity is where they end on huge numbers, and no answer depends on it."""
    m = nr.AdaGradRegressor().partial_fit(1e160 * examples()[0], 1e160 * examples()[0][:, 0])
    assert np.isinf(m.state.n).any()
    assert nr.from_bytes(m.to_bytes()).digest() == m.digest()
    with pytest.raises(ModelFileError, match=r"finite numbers in state\.n"):
        nr.from_bytes(forged(m, state__n=np.nan))


def test_a_multiplier_is_never_zero():
    """Steps divide by it."""
    m = nr.PA1(average=True).partial_fit(*examples())
    with pytest.raises(ModelFileError, match=r"a multiplier in state\.w\.c"):
        nr.from_bytes(forged(m, state__w__c=0.0))


def test_counts_are_counts():
    """A negative round has no rate; the rows of a window end inside."""
    X, y = examples()
    with pytest.raises(ModelFileError, match=r"counts in state\.t"):
        nr.from_bytes(forged(nr.OGD().partial_fit(X, y), state__t=-4))
    for end in (-1, 10**9):
        with pytest.raises(ModelFileError, match=r"counts in state\.ends, at most 5"):
            nr.from_bytes(forged(nr.RLS(window=5).partial_fit(X, y), state__ends=end))


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_that_were_seen_are_known(classes):
    """A tally of labels that the file has not, or of none after examples."""
    m = nr.PA1().partial_fit(*examples(classes))
    meta, tensors = read(m.to_bytes())
    for seen in (0, 4):
        tally = tensors["tally"].copy()
        tally[0] = seen
        text, lie = json.dumps(meta), {**tensors, "tally": tally}
        with pytest.raises(ModelFileError, match=f"a tally of {classes} labels"):
            nr.from_bytes(serialize(lie, {"noregret": text, "sha256": checksum(text, lie)}))


def test_messages_about_models_are_short():
    """Whatever the file holds."""
    meta, tensors = read(nr.PA1().partial_fit(*examples()).to_bytes())
    for key in ("kind", "noregret", "levels", "format"):
        text = json.dumps({**meta, key: "x" * 100_000} if key != "noregret" else {**meta, "format": 10**300, key: "x" * 100_000})
        with pytest.raises(ModelFileError) as caught:
            nr.from_bytes(serialize(tensors, {"noregret": text, "sha256": checksum(text, tensors)}))
        assert len(str(caught.value)) < 600
