"""What rows have beside their features: ids, times, weights, bundles, domains, users, items; through readers, cuts and fronts."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

import noregret as nr
from noregret.evaluation.runs.passes import held
from noregret.inputs import checking
from noregret.inputs.batch import Batch
from noregret.streams.writers import convert
from noregret.training.answering import answer
from noregret.transforms.scale import Scale

RANKED = "1 qid:7 1:1\n0 qid:7 2:1\n1 3:1\n2 qid:9 1:0.5\n"


def rows(n=6, sparse=False):
    X = np.arange(2.0 * n).reshape(n, 2)
    return checking.rows(csr_matrix(X) if sparse else X, "float64")


@pytest.fixture
def ranked(tmp_path):
    path = tmp_path / "ranked.svm"
    path.write_text(RANKED)
    return path


# ---- rows ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sparse", [False, True])
def test_side_columns_are_cut_taken_and_joined_with_their_rows(sparse):
    whole = rows(6, sparse).beside(id=np.array(list("abcdef"), object), domain=np.arange(6) % 2, weight=None)
    assert set(whole.columns) == {"id", "domain"}
    assert whole.column("weight") is None
    assert "".join(whole.cut(1, 4).columns["id"]) == "bcd"
    assert "".join(whole.take(np.array([5, 0])).columns["id"]) == "fa"
    again = checking.joined([whole.cut(0, 2), whole.cut(2, 6)])
    assert again.n == 6
    for a, b in zip(again.arrays, whole.arrays):
        assert (a == b).all()
    for name, values in whole.columns.items():
        assert (again.columns[name] == values).all()


def test_a_column_that_some_rows_lack_is_filled_or_left_out():
    a, b = rows().cut(0, 2), rows().cut(2, 5)
    joined = checking.joined([a, b.beside(weight=np.full(3, 2.0), bundle=np.full(3, 4), id=np.arange(3))])
    assert joined.columns["weight"].tolist() == [1.0, 1.0, 2.0, 2.0, 2.0]
    assert joined.columns["bundle"].tolist() == [-1, -1, 4, 4, 4]
    assert joined.column("id") is None


def test_a_name_that_is_no_side_column_is_refused():
    with pytest.raises(ValueError, match="there is no side column 'ids'; there are id, time, weight"):
        rows().beside(ids=np.arange(6))
    with pytest.raises(ValueError, match="there is no side column 'ids'"):
        Batch([{"a": 1.0}], None, {}).beside(ids=np.arange(1))


def test_a_batch_is_cut_whatever_its_data():
    record = pa.RecordBatch.from_pydict({"a": [1.0, 2, 3]})
    for data in (rows(3), record, [{"a": 1.0}, {"a": 2.0}, {"a": 3.0}]):
        part = Batch(data, np.arange(3), {}).beside(weight=np.arange(3.0)).cut(1, 3)
        assert (part.n, part.y.tolist(), part.c.tolist()) == (2, [1, 2], [1.0, 2.0])


# ---- readers ---------------------------------------------------------------------------------------------------------
def test_queries_of_svmlight_are_bundles_and_name_rows_in_answers(ranked, tmp_path):
    (batch,) = nr.stream(ranked).chunks()
    assert batch.columns.keys() == {"bundle"}
    assert batch.columns["bundle"].tolist() == [7, 7, -1, 9]
    assert batch.ids.tolist() == [7, 7, -1, 9]
    m = nr.PA1Regressor().partial_fit(np.eye(4), [0.0, 1.0, 0.0, 1.0])
    assert [v for said in answer(ranked, m) for v in said.ids] == [7, 7, -1, 9]
    convert(ranked, tmp_path / "again.svm")
    (again,) = nr.stream(tmp_path / "again.svm").chunks()
    assert again.columns["bundle"].tolist() == [7, 7, -1, 9]


def test_tags_of_vw_are_ids(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("1 2.5 'first |f a\n-1 |f b\n")
    (batch,) = nr.stream(path).chunks()
    assert batch.columns["id"].tolist() == ["first", ""]
    assert batch.c.tolist() == [2.5, 1.0]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_tables_fill_bundles_users_and_items(name, tmp_path):
    source = tmp_path / "source.csv"
    source.write_text("q,u,i,x,y\n1,ann,10,0.5,1\n1,bob,11,1.5,0\n2,ann,12,2.5,1\n")
    convert(source, tmp_path / name)
    opened = nr.stream(tmp_path / name, target="y", bundle="q", user="u", item="i")
    (batch,) = opened.chunks()
    assert batch.columns["bundle"].tolist() == ["1", "1", "2"]
    assert batch.columns["user"].tolist() == ["ann", "bob", "ann"]
    assert batch.columns["item"].tolist() == ["10", "11", "12"]
    assert opened.front.names == ["x"], "none of them is a feature"
    with pytest.raises(ValueError, match="'nobody'"):
        list(nr.stream(tmp_path / name, target="y", user="nobody").chunks())


def test_queries_that_are_texts_have_no_place_in_svmlight(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("q,x,y\na,0.5,1\n")
    with pytest.raises(ValueError, match=r"whole numbers for queries \(qid\), got 'a'"):
        convert(source, tmp_path / "a.svm", target="y", bundle="q")


# ---- on the way ------------------------------------------------------------------------------------------------------
def test_maps_and_studies_keep_side_columns(ranked):
    """A map may make rows of its own, and a study of permutations puts batches together."""
    opened = nr.stream(ranked, maps=[Scale(), nr.RandomFourier(D=3)])
    assert held(opened).columns["bundle"].tolist() == [7, 7, -1, 9]


def test_tables_in_files_know_their_side_columns(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("q,x,y\n1,0.5,a\n1,1.5,b\n2,2.5,a\n")
    nr.train(source, "pa1", target="y", bundle="q", save=tmp_path / "m.nr")
    model = nr.load(tmp_path / "m.nr")
    assert model.front.table.bundle == "q"
    assert [v for said in answer(source, model) for v in said.ids] == ["1", "1", "2"]


CELLS = [" 5 ", "0012", "1.50", "1e2", "12345678901234567890", "true", "NA"]


@pytest.mark.parametrize("role", ["id", "bundle", "user", "item"])
def test_names_are_text_and_verbatim(tmp_path, role):
    path = tmp_path / "a.csv"
    path.write_text("x,name,y\n" + "".join(f"1,{cell},1\n" for cell in CELLS))
    (batch,) = nr.stream(path, target="y", **{role: "name"}).chunks()
    assert batch.columns[role].tolist() == CELLS
    written = ['" 5 "', "12", "1.50", "1e2", "12345678901234567890", "true", '"0012"']
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"x": 1, "name": {cell}, "y": 1}}\n' for cell in written))
    (batch,) = nr.stream(path, target="y", **{role: "name"}).chunks()
    assert batch.columns[role].tolist() == [cell.strip('"') for cell in written]


def test_an_id_that_is_a_feature_too_is_read_as_one(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n 1 ,1\n 2 ,0\n")
    nr.train(path, "pa1", target="y", save=tmp_path / "m.nr")
    model = nr.load(tmp_path / "m.nr")
    plain = [a.scores.tolist() for a in answer(path, model)]
    model.front.table.identify("x")
    assert [a.scores.tolist() for a in answer(path, model)] == plain


def test_queries_of_svmlight_come_back_as_they_were(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("q,x,y\n12,0.5,1\n0,0.5,1\n")
    convert(source, tmp_path / "a.svm", target="y", bundle="q")
    assert (tmp_path / "a.svm").read_text() == "1 qid:12 0:0.5\n1 qid:0 0:0.5\n"
    source.write_text("q,x,y\n12,0.5,1\n0012,0.5,1\n")
    with pytest.raises(ValueError, match=r"whole numbers for queries \(qid\), got '0012'"):
        convert(source, tmp_path / "b.svm", target="y", bundle="q")
