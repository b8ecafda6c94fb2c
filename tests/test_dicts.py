"""Named examples read by compiled code: the same as Python reads them, and no trace left in Python's objects."""

import copy
import pickle
import sys
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noregret as nr
from noregret.engine import compiling
from noregret.inputs.dicts import MEET, NOWHERE, UNKNOWN, Book, read
from noregret.inputs.features import Columns, Hashed, Names, stacked
from noregret.inputs.hashing import hash_name

NAMES = st.text(max_size=12)
NUMBERS = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**63), 2**63 - 1), st.booleans())
TABLES = {"names": lambda: Names(True), "hashed": lambda: Hashed(4, True)}


@pytest.mark.parametrize("table", TABLES)
@settings(deadline=None, max_examples=50)
@given(st.lists(st.dictionaries(NAMES, NUMBERS, max_size=40), max_size=6), st.dictionaries(NAMES, NUMBERS, max_size=40))
def test_compiled_and_interpreted_reading_agree(table, learned, asked):
    fast, slow = TABLES[table](), TABLES[table]()
    for x in learned:
        assert read(x, fast.table) is not None
        found = fast.row(x, grow=True)
        with compiling.interpreted():
            assert read(x, slow.table) is None
            expected = slow.row(x, grow=True)
        assert [a.tolist() for a in found] == [a.tolist() for a in expected]
    assert fast.table == slow.table
    with compiling.interpreted():
        expected = slow.row(asked, grow=False)
    assert [a.tolist() for a in fast.row(asked, grow=False)] == [a.tolist() for a in expected]
    assert fast.table == slow.table


@pytest.mark.parametrize(
    "x",
    [
        {"a": np.float32(1.5)},
        {"a": 1.0, 3: 2.0},
        {("a", "b"): 1.0},
        {"a": 2**63},
        {"a": -(2**80)},
        OrderedDict(a=1.0),
        {b"a": 1.0},
    ],
    ids=repr,
)
def test_what_python_reads_itself_is_learned_all_the_same(x):
    assert read(x, Book()) is None
    found = Names(False)
    idx, values = found.row(x, grow=True)
    assert idx.tolist() == list(range(len(x)))
    assert values.tolist() == [float(v) for v in x.values()]
    assert found.names == list(x)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), "1", None, 1j])
def test_what_is_no_finite_number_is_refused_and_no_name_joins(bad):
    found = Names(False)
    found.row({"a": 1.0}, grow=True)
    with pytest.raises((TypeError, ValueError), match="'b'"):
        found.row({"new": 1.0, "b": bad}, grow=True)
    assert found.names == ["a"]


def test_kinds_of_dict():
    table = Book({"a": 7, "b": 3})
    for x in ({"b": 1, "a": True}, Counter("ba"), defaultdict(float, b=1.0, a=1.0)):
        idx, values, said = read(x, table)
        assert (idx.tolist(), values.tolist(), said) == ([3, 7], [1.0, 1.0], 0)
    assert read({}, table)[2] == 0


def test_names_that_are_not_in_the_table():
    table = Book({"a": 7, "b": 3})
    idx, _, said = read({"a": 1, "c": 2}, table)
    assert (idx.tolist(), said, len(table)) == ([7, NOWHERE], UNKNOWN, 2)
    idx, _, said = read({"c": 1, "a": 1, "d": 2}, table, first=5, room=10)
    assert (idx.tolist(), said, table) == ([7, 7, 8], 0, {"a": 7, "b": 3, "c": 7, "d": 8})
    names = {f"\u00e9{k}": 1.0 for k in range(4)}
    idx, _, said = read(names, table, bits=20, room=6)
    assert idx.tolist() == [hash_name(name) & (1 << 20) - 1 for name in names]
    assert (said, list(table)[4:]) == (0, ["\u00e90", "\u00e91"])
    assert read({f"{k}": 1.0 for k in range(9)}, Book(), bits=3)[2] == MEET


def test_the_index_follows_the_book_as_it_grows_by_any_way():
    rng = np.random.default_rng(0)
    fast, slow = Names(True), Names(True)
    for t in range(300):
        x = {f"name {j}": float(j) for j in rng.integers(0, 20 * (t + 1), 30)}
        if t % 7 == 0:
            x[(t, "not a str")] = 1.0  # read, and entered, by Python
        found = fast.row(dict(x), grow=t % 3 > 0)
        with compiling.interpreted():
            expected = slow.row(x, grow=t % 3 > 0)
        assert [a.tolist() for a in found] == [a.tolist() for a in expected]
    assert fast.table == slow.table
    assert len(fast.table) > 2000


@pytest.mark.parametrize("table", TABLES)
def test_text_of_numpy_names_the_same_features(table):
    book = TABLES[table]()
    first = book.row(dict.fromkeys(np.array(["a", "b"]), 1.0), grow=True)[0].tolist()
    assert all(type(name) is np.str_ for name in book.table)
    for grow in (False, True):
        assert book.row({"b": 1.0, "a": 1.0}, grow)[0].tolist() == first[::-1]
    assert len(book.table) == 2
    assert book.row(dict.fromkeys(np.array(["b"]), 1.0), grow=False)[0].tolist() == first[1:]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_a_copied_book_has_an_index_of_its_own(copied):
    book = Names(False)
    book.row({f"{k}": 1.0 for k in range(100)}, grow=True)
    other = copied(book.table)
    assert "index" in book.table.__dict__
    assert "index" not in other.__dict__
    assert read({"7": 1.0, "new": 1.0}, other, room=200)[0].tolist() == [7, 100]
    assert read({"new": 1.0}, book.table)[2] == UNKNOWN


def test_names_with_half_a_hash_in_common_are_told_apart():
    """The index keeps half of each hash: names are drawn until two have that half, and the first slot, in common."""
    halves, mask = {}, 0xFFFFFFFF00000000 | 1
    for k in range(400_000):
        name = f"n{k}"
        twin = halves.setdefault(hash(name) & mask, name)
        if twin is not name:
            break
    else:
        pytest.skip("no such pair among 400,000 names")
    book = Book({twin: 1, name: 2})
    assert read({twin: 1.0, name: 1.0}, book)[0].tolist() == [1, 2]
    assert read({name: 1.0}, Book({twin: 1}))[2] == UNKNOWN


def test_a_name_that_is_no_text_leaves_the_table_as_it_was():
    table = Book()
    assert read({"good": 1.0, "\ud800": 1.0}, table, bits=10, room=10) is None
    assert table == {}
    assert read({"good": 1.0, "\ud800": 1.0}, table, room=10)[0].tolist() == [0, 1]  # places of their own need no bytes


def test_columns_by_name():
    columns = Columns(2, False, ["a", "b"])
    assert columns.row({"b": 2}, True)[0].tolist() == [1]
    with pytest.raises(ValueError, match="unknown feature 'c'.*column names"):
        columns.row({"b": 2, "c": 1.0}, True)


def test_no_reference_is_kept_or_lost():
    name, value, place = "a name of its own, " + str(1), 2.5 * len(sys.argv), 10**9
    x, table = {name: value}, Book({name: place})
    counts = [sys.getrefcount(v) for v in (name, value, place, x, table)]
    for _ in range(1000):
        read(x, table)
    assert [sys.getrefcount(v) for v in (name, value, place, x, table)] == counts
    new = name + "!"
    read({new: 1.0}, table, first=10**6, room=10)
    table["as Python does it"] = int("1000002")
    counts = [sys.getrefcount(v) for v in (table[new], table["as Python does it"])]
    assert counts[0] == counts[1]


def test_a_label_that_cannot_be_one_is_refused_and_nothing_changes():
    m = nr.PA1().partial_fit([{"a": 1.0}, {"a": -1.0}], [1, -1])
    before = m.coef_.tolist()
    with pytest.raises(TypeError, match="must be hashable"):
        m.learn_one({"a": 1.0}, [1])
    assert m.coef_.tolist() == before


# ---- many at once ----------------------------------------------------------------------------------------------------------
@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.floats(-9, 9), max_size=6), min_size=1, max_size=30),
    st.sampled_from([0, 3, 10]),
)
def test_many_dicts_are_read_as_one_by_one(rows, bits):
    one, many = (Hashed(bits, True) if bits else Names(True) for _ in range(2))
    for grow in (False, True, True, False):
        alone = [one.row(x, grow) for x in rows]
        indptr, idx, values = stacked(many, rows, grow).arrays
        assert one.names == many.names
        for i, (places, numbers) in enumerate(alone):
            part = slice(indptr[i], indptr[i + 1])
            np.testing.assert_array_equal(idx[part], places)
            np.testing.assert_array_equal(values[part], numbers)


def test_a_dict_that_compiled_code_refuses_among_others():
    rows = [{"a": 1.0}, {"b": np.float32(0.5), 3: 2}, {"c": 1}]
    f = Names(False)
    rest = stacked(f, rows, True)
    assert (f.names, rest.arrays[1].tolist(), rest.arrays[2].tolist()) == (["a", "b", 3, "c"], [0, 1, 2, 3], [1.0, 0.5, 2.0, 1.0])
