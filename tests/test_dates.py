"""Dates as features: of CSV, Arrow and dicts alike; what is not a date; models from before there were dates."""

import datetime as dt
import itertools
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import noregret as nr
from noregret.inputs.batch import BadRow
from noregret.streams.writers import convert
from noregret.training.answering import answer
from noregret.transforms import dates
from noregret.transforms.front import Front
from noregret.transforms.table import Table

WHEN = dt.datetime(2024, 1, 31, 14, 30)
ELAPSED = (WHEN - dt.datetime(2000, 1, 1)).total_seconds() / (365.25 * 86400)
FEATURES = {"when.year=2024": 1.0, "when.month=1": 1.0, "when.weekday=3": 1.0, "when.hour=14": 1.0, "when.elapsed": ELAPSED}
DAYS = [WHEN + dt.timedelta(hours=7 * i) for i in range(120)]


def features(data, learn=True, **settings):
    """The features of each row, by name."""
    table = Table(**settings)
    indptr, indices, values = table.rows(data, learn).arrays[:3]
    names = table.feature_names
    return [{names[indices[k]]: values[k] for k in range(a, b)} for a, b in itertools.pairwise(indptr)]


def record(array):
    return pa.RecordBatch.from_arrays([array], names=["when"])


def csv_text(days=DAYS):
    return "when,label\n" + "".join(f"{d.isoformat()},{'end' if d.isoweekday() > 5 else 'week'}\n" for d in days)


def csv_features(data, **options):
    """The names of the features of a CSV."""
    opened = nr.stream(data, format="csv", **options)
    for _ in opened.chunks():
        pass
    return opened.front.table.feature_names


@pytest.mark.parametrize(
    "data",
    [
        [{"when": WHEN}],
        [{"when": np.datetime64(WHEN)}],
        [{"when": pd.Timestamp(WHEN)}],
        [{"when": WHEN.replace(tzinfo=dt.timezone(dt.timedelta(hours=5)))}],
        record(pa.array([WHEN], pa.timestamp("s"))),
        record(pa.array([WHEN], pa.timestamp("ns"))),
        record(pa.array([WHEN - dt.timedelta(hours=1)], pa.timestamp("us", "Europe/Berlin"))),
    ],
)
def test_dates_are_the_same_features_wherever_they_come_from(data):
    assert features(data) == [FEATURES]


@pytest.mark.parametrize(
    "text", ["2024-01-31T14:30", "2024-01-31 14:30:00", "2024-01-31T14:30:00.000000Z", "2024-01-31T14:30+02:00"]
)
def test_texts_in_iso_form(text):
    assert features([{"when": text}], date="when") == [FEATURES]
    assert features(record(pa.array([text])), date="when") == [FEATURES]
    assert features([{"when": text}]) == [{f"when={text}": 1.0}], "only CSV looks for dates that nobody declared"
    names = csv_features(f"when,x\n{text},1\n".encode())
    assert names == [*FEATURES, "x"]


def test_a_date_without_a_time_has_no_hour():
    day = dt.date(2024, 1, 31)
    want = {k: v for k, v in FEATURES.items() if "hour" not in k} | {
        "when.elapsed": pytest.approx((day - dt.date(2000, 1, 1)).days / 365.25)
    }
    assert features([{"when": day}]) == [want]
    assert features(record(pa.array([day], pa.date32()))) == [want]
    assert csv_features(b"when,x\n2024-01-31,1\n") == [*want, "x"]


def test_missing_dates():
    want = [FEATURES, {"when.elapsed?": 1.0}]
    assert features([{"when": WHEN}, {"when": None}]) == want
    assert features([{"when": WHEN}, {"when": pd.NaT}]) == want
    assert features(record(pa.array([WHEN, None]))) == want
    assert features(record(pa.array([WHEN.isoformat(), ""])), date="when") == want
    assert features([{"when": WHEN}, {}]) == [FEATURES, {}], "a key that is not there gives nothing"


def test_a_table_that_knows_dates_reads_texts_as_such():
    whole, one = Table(), Table()
    rows = [{"when": WHEN, "x": 1.0}, {"when": WHEN.isoformat(), "x": 2.0}, {"when": None, "x": 3.0}]
    together = whole.rows(rows, True)
    apart = [one.rows([row], True) for row in rows]
    for k in (1, 2):
        np.testing.assert_array_equal(together.arrays[k], np.concatenate([r.arrays[k] for r in apart]))
    assert whole.column_roles["when"] == "date"
    with pytest.raises(ValueError, match="column 'when' holds 'soon' in row 0 of the batch; expected a date such as 2024-01-31"):
        whole.rows([{"when": "soon"}], False)
    with pytest.raises(ValueError, match="column 'when' holds '2023-02-30' in row 1 of the batch"):
        whole.rows(record(pa.array(["2024-01-31", "2023-02-30"])), False)


@pytest.mark.parametrize("first", [1.0, "soon"])
def test_a_column_of_something_else_takes_no_dates(first):
    table = Table()
    table.rows([{"when": first}], True)
    for data in ([{"when": WHEN}], record(pa.array([WHEN]))):
        with pytest.raises(TypeError, match="feature 'when' is a date in row 0, and was (numeric|categorical) before"):
            table.rows(data, True)
    with pytest.raises(TypeError, match="is a date in row 1"):
        features([{"when": first}, {"when": WHEN}])
    assert list(table.column_roles) == ["when"]


def test_roles_settle_what_dates_are(tmp_path):
    assert features([{"when": WHEN}], categorical="when") == [{"when=2024-01-31 14:30:00": 1.0}]
    assert features([{"when": WHEN, "x": 1.0}], ignore="when") == [{"x": 1.0}]
    assert "when.month=1&x" in features([{"when": WHEN, "x": 1.0}], cross="when.month,x")[0]
    data = csv_text().encode()
    assert csv_features(data, target="label", ignore="when") == []
    assert csv_features(data, target="label", categorical="when")[0] == "when=2024-01-31T14:30:00"
    assert "when.elapsed" in csv_features(data, target="label", cross="when.month,when.weekday")
    opened = nr.stream(data, format="csv", target="label", id="when")
    assert next(opened.chunks()).ids.tolist()[0] == "2024-01-31T14:30:00"
    convert(data, tmp_path / "b.csv", format="csv")
    assert (tmp_path / "b.csv").read_text().split("\n")[1].replace('"', "") == "2024-01-31T14:30:00,week"


@pytest.mark.parametrize(
    "cells", [["2024", "2025"], ["10:30", "11:30"], ["2024-01", "2024-02"], ["31.13.2024"], ["2024-02-30"], ["01/02/03"]]
)
def test_what_is_not_beyond_doubt_a_date(cells):
    names = csv_features(("when,x\n" + "".join(f"{c},1\n" for c in cells)).encode())
    assert "when.elapsed" not in names


def test_blocks_do_not_show(tmp_path):
    text = csv_text().encode()
    whole = nr.train(text, nr.PA1(), format="csv", target="label").model
    small = nr.stream(text, format="csv", target="label")
    small.reader.block = 300
    pieces = nr.train(small, nr.PA1()).model
    assert pieces.feature_names_ == whole.feature_names_
    np.testing.assert_array_equal(pieces.coef_, whole.coef_)
    frame = pd.DataFrame({"when": pd.to_datetime(DAYS), "label": [("week", "end")[d.isoweekday() > 5] for d in DAYS]})
    frame.to_parquet(tmp_path / "a.parquet")
    arrow = nr.train(tmp_path / "a.parquet", nr.PA1(), target="label").model
    np.testing.assert_array_equal(arrow.coef_, whole.coef_)


def test_a_cell_that_is_no_date_is_a_bad_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(csv_text() + "soon,week\n")
    with pytest.raises(BadRow, match="a.csv:122:1: expected a date such as .* in column 'when', found 'soon'"):
        nr.train(path, nr.PA1(), target="label")
    done = nr.train(path, nr.PA1(), target="label", on_bad="skip", save=tmp_path / "m.nr")
    assert (done.examples, done.stream.skipped.count) == (120, 1)
    model = nr.load(tmp_path / "m.nr")
    path.write_text("when\n2030-01-01\nsoon\n")
    with pytest.raises(BadRow, match="a.csv:3:1: expected a date"):
        list(answer(path, model))
    assert model.predict(pd.DataFrame({"when": DAYS})).tolist() == done.model.predict(pd.DataFrame({"when": DAYS})).tolist()


def test_a_model_from_before_keeps_its_categories():
    table = Table(target="label")
    table.rows([{"when": "2024-01-31"}, {"when": "2024-02-01"}], True)
    meta = json.loads(json.dumps(table.meta()))
    del meta["settings"]["date"]
    again = Table.restored(meta, table.tensors())
    assert again.column_roles == {"when": "categorical"}
    opened = nr.stream(b"when,label\n2024-02-01,a\n", format="csv", target="label")
    (batch,) = opened.chunks(front=Front(again), learn=False)
    assert batch.data.arrays[1].tolist() == [1]


# ---- other forms than ISO --------------------------------------------------------------------------------------------
WRITTEN = {
    "mdy": ["1/31/2024 14:30", "1/31/2024 2:30 PM", "01/31/2024 02:30:00pm", "1-31-2024 14:30"],
    "dmy": ["31.1.2024 14:30", "31/01/2024 14:30:00", "31-01-2024 2:30 p.m."],
    None: [
        "2024/01/31 14:30",
        "2024.1.31 14:30",
        "Jan 31 2024 14:30",
        "January 31, 2024, 2:30 PM",
        "31 Jan 2024 14:30",
        "31-Jan-2024 14:30",
    ],
}


@pytest.mark.parametrize(("order", "text"), [(order, text) for order, texts in WRITTEN.items() for text in texts])
def test_dates_in_other_forms(order, text):
    assert csv_features(f'when,x\n"{text}",1\n'.encode()) == [*FEATURES, "x"]
    assert features([{"when": text}], date="when", date_order=order) == [FEATURES]
    assert features(record(pa.array([text])), date="when", date_order=order) == [FEATURES]


@pytest.mark.parametrize(
    "text", ["31/31/2024", "Foo 31 2024", "1/31/24", "2024/31/1", "1/31/2024 25:00", "1/31/2024 13:00 PM", "1/31-2024", "Ma 3 2024"]
)
def test_other_texts_are_categories(text):
    assert csv_features(f'when,x\n"{text}",1\n'.encode()) == [f"when={text}", "x"]


def test_midnight_and_noon():
    assert [dates.read(f"1/31/2024 {t}", "mdy").hour for t in ("12:00 AM", "12:00 PM", "1:00 am", "11:59 PM")] == [0, 12, 1, 23]


UNSURE = b"when,x\n1/2/2024,1\n3/4/2024,2\n"


def test_an_order_is_never_guessed():
    with pytest.raises(
        ValueError, match=r"column 'when' holds dates such as '1/2/2024', and none .* a day above 12: give date_order="
    ):
        csv_features(UNSURE)
    with pytest.raises(ValueError, match="Give the order of day and month: date_order='dmy' or date_order='mdy'"):
        features([{"when": "1/2/2024"}], date="when")
    assert "when.month=2" in csv_features(UNSURE, date_order="dmy")
    assert "when.month=1" in csv_features(UNSURE, date_order="mdy")
    assert "when=1/2/2024" in csv_features(UNSURE, categorical="when")
    assert csv_features(UNSURE, ignore="when") == ["x"]
    with pytest.raises(ValueError, match="date_order must be one of dmy, mdy, got 'ymd'"):
        Table(date_order="ymd")


def test_a_cell_against_the_order_is_a_bad_row():
    data = b"when,x\n" + b"".join(b"1/%d/2024,1\n" % day for day in range(1, 32)) + b"13/1/2024,2\n"
    with pytest.raises(
        BadRow, match="33:1: expected a date such as 1/31/2024 or 1/31/2024 12:00 in column 'when', found '13/1/2024'"
    ):
        csv_features(data)
    opened = nr.stream(data, format="csv", on_bad="skip")
    assert sum(batch.data.n for batch in opened.chunks()) == 31
    assert opened.skipped.count == 1


def test_a_model_remembers_the_order_of_its_dates(tmp_path):
    """A file to answer may not tell it; one to go on with may begin anywhere."""
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(90)]
    lines = [f"{d.month}/{d.day}/{d.year},{'end' if d.isoweekday() > 5 else 'week'}\n" for d in days]
    for name, some in (("all", lines), ("first", lines[:60]), ("rest", lines[60:]), ("few", lines[:5])):
        (tmp_path / f"{name}.csv").write_text("when,label\n" + "".join(some))
    whole = nr.train(str(tmp_path / "all.csv"), "arow", target="label", save=tmp_path / "all.nr").model
    nr.train(str(tmp_path / "first.csv"), "arow", target="label", save=tmp_path / "two.nr")
    again = nr.train(str(tmp_path / "rest.csv"), target="label", save=tmp_path / "two.nr", continue_=True).model
    assert again.learner.digest() == whole.learner.digest()
    assert again.front.table.meta()["orders"] == {"when": "mdy"}
    few = [label for found in answer(str(tmp_path / "few.csv"), nr.load(tmp_path / "two.nr")) for label in found.y.tolist()]
    assert few == ["week"] * 5
    assert nr.load(tmp_path / "two.nr").predict([{"when": "1/6/2024"}, {"when": "1/8/2024"}]).tolist() == ["end", "week"]


@pytest.mark.parametrize("limit", [1, 13, 45])
def test_a_training_that_stops_resumes_with_the_order(tmp_path, limit):
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(90)]
    path = tmp_path / "a.csv"
    path.write_text("when,label\n" + "".join(f"{d.day}.{d.month}.{d.year},{d.isoweekday() > 5}\n" for d in days))
    whole = nr.train(str(path), "arow", target="label", save=tmp_path / "a.nr").model
    seen = []
    nr.train(
        str(path),
        "arow",
        target="label",
        save=tmp_path / "b.nr",
        checkpoint_every=1,
        stop=lambda: len(seen) >= limit,
        watch=lambda *at: seen.append(at),
    )
    again = nr.train(str(path), target="label", save=tmp_path / "b.nr", resume=True).model
    assert again.learner.digest() == whole.learner.digest()


def test_tables_of_different_orders_are_not_merged():
    first, second = Table(), Table()
    for table, order in ((first, "dmy"), (second, "mdy")):
        rows = pa.RecordBatch.from_arrays([pa.array([WHEN])], names=["when"])
        table.rows(rows.replace_schema_metadata({dates.ORDER: json.dumps({"when": order}).encode()}), True)
    with pytest.raises(ValueError, match="the dates of column 'when' are written dmy here and mdy there"):
        first.merge(second)
