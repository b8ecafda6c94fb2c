"""Experts and portfolios in the commands, studies and reports: rounds from files, figures, baselines, training, what is refused."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import main
from noregret.evaluation.measures import allotted, paths
from noregret.evaluation.measures.wealth import Wealth
from noregret.streams import round_reader
from noregret.streams.delimited import CsvReader
from noregret.training.by_task import BY_TASK

ASSETS = ["AAA", "BBB", "CCC"]
DAYS = 90


@pytest.fixture(scope="module")
def prices():
    rng = np.random.default_rng(3)
    return np.vstack([[100.0, 50.0, 20.0], np.cumprod(np.exp(rng.normal(0.0005, 0.02, (DAYS, 3))), axis=0) * [100, 50, 20]]).round(
        4
    )


def written(path, P, names=ASSETS, dates=True, first="2020-02-01"):
    when = np.datetime64(first) + np.arange(len(P))
    head = ["date", *names] if dates else [*names]
    lines = [
        ",".join([*([str(day)] if dates else []), *("" if math.isnan(v) else repr(float(v)) for v in row)])
        for day, row in zip(when, P, strict=True)
    ]
    path.write_text("\n".join([",".join(head), *lines]) + "\n")
    return str(path)


@pytest.fixture
def market(tmp_path, prices):
    return written(tmp_path / "prices.csv", prices)


def relatives(P):
    return P[1:] / P[:-1]


def run(*args, code=0):
    found = CliRunner().invoke(main, [str(a) for a in args])
    assert found.exit_code == code, found.output + str(found.exception)
    return found.output


# ---- rounds ----------------------------------------------------------------------------------------------------------------
def batches(source, **how):
    opened = round_reader.rounds(source, manner=round_reader.Manner(**how))
    return list(opened.chunks()), opened.reader


def test_prices_become_relatives_wherever_blocks_end(market, prices):
    found, reader = batches(market, prices=True)
    X = np.concatenate([b.data.arrays[0] for b in found])
    np.testing.assert_array_equal(X, relatives(prices))
    assert found[0].data.names == ASSETS
    assert reader.time == "date"
    assert found[0].data.columns["id"][0] == "2020-02-02"
    small, _ = batches(CsvReader(market, block=300), prices=True)
    assert len(small) > 3
    np.testing.assert_array_equal(np.concatenate([b.data.arrays[0] for b in small]), X)
    for i, batch in enumerate(small[:-1]):  # a pass from any position makes the same rounds
        reader = round_reader.rounds(CsvReader(market, block=300), manner=round_reader.Manner(prices=True)).reader
        rest = [b.data.arrays[0] for b in reader.batches(json.loads(json.dumps(batch.position)))]
        np.testing.assert_array_equal(np.concatenate(rest), np.concatenate([b.data.arrays[0] for b in small[i + 1 :]]))


def test_columns_that_name_the_rows_are_no_assets(tmp_path):
    rows = [("03.01.2020", 1), ("04.01.2020", 2), ("06.01.2020", 3)]
    for names, first in (("when,A,B", 0), ("day,A,B", 1)):
        path = tmp_path / "p.csv"
        path.write_text("\n".join([names, *(f"{row[first]},1.{row[1]},0.9" for row in rows)]) + "\n")
        found, reader = batches(str(path))
        assert found[0].data.names == ["A", "B"]
        assert reader.time == names.partition(",")[0]
        assert found[0].data.columns["id"].tolist() == [str(row[first]) for row in rows]


def test_an_empty_cell_is_held_where_asked(tmp_path, prices):
    P = prices.copy()
    P[4:6, 1] = math.nan
    P[-1, 2] = math.nan
    held = P.copy()
    held[4:6, 1], held[-1, 2] = P[3, 1], P[-2, 2]
    path = written(tmp_path / "p.csv", P)
    found, _ = batches(path, prices=True, missing="hold")
    np.testing.assert_allclose(np.concatenate([b.data.arrays[0] for b in found]), relatives(held))
    assert [*found[-1].position["last"].values()] == held[-1].tolist()
    with pytest.raises(ValueError, match="row 5, column 'BBB': expected a price above 0, found nothing"):
        batches(path, prices=True)
    X = relatives(prices)
    X[2, 0] = math.nan
    assert batches(X, missing="hold")[0][0].data.arrays[0][2, 0] == 1.0


def test_frames_arrays_parquet_and_text_give_the_same(market, prices, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(prices, columns=ASSETS, index=pd.date_range("2020-02-01", periods=len(prices)))
    frame.reset_index(names="when").to_parquet(tmp_path / "p.parquet")
    want = nr.evaluate(market, "portfolio.eg", prices=True)
    for source in (frame, str(tmp_path / "p.parquet"), prices):
        found = nr.evaluate(source, "portfolio.eg", prices=True)
        assert found.learners[0]["metrics"] == want.learners[0]["metrics"]
    assert nr.evaluate(frame, "portfolio.eg", prices=True).data["from"] == "2020-02-02"


# ---- figures ----------------------------------------------------------------------------------------------------------------
def test_figures_of_wealth_are_those_of_a_ledger(prices):
    X = relatives(prices)
    m = nr.portfolio.PAMR(cost=0.002)
    W = m.clone().learn_many(X)
    cash, held, path, traded = 1.0, np.zeros(3), [], []
    for w, x in zip(W, X, strict=True):
        before = held / held.sum() if held.any() else held
        traded.append(abs(w - before).sum())
        cash *= 1 - 0.001 * traded[-1]
        held = cash * w * x
        cash = held.sum()
        path.append(cash)
    row = nr.evaluate(X, m, task="portfolio").learners[0]
    found, returns = row["metrics"], np.diff([1.0, *path]) / [1.0, *path[:-1]]
    assert found["wealth"] == pytest.approx(path[-1])
    assert found["annual_return"] == pytest.approx(path[-1] ** (252 / DAYS) - 1)
    assert found["volatility"] == pytest.approx(returns.std(ddof=1) * math.sqrt(252))
    assert found["sharpe"] == pytest.approx(returns.mean() / returns.std(ddof=1) * math.sqrt(252))
    top = np.maximum.accumulate([1.0, *path])
    assert found["drawdown"] == pytest.approx((1 - np.array([1.0, *path]) / top).max())
    assert found["turnover"] == pytest.approx(np.mean(traded[1:]) / 2)
    for cost in (0.0, 0.001, 0.0025, 0.005):
        alone = nr.portfolio.PAMR(cost=cost).fit(X)
        assert found[f"wealth_at_{100 * cost:g}%"] == pytest.approx(alone.wealth_)
    assert found["wealth"] == pytest.approx(m.wealth_)


def test_figures_do_not_depend_on_how_days_come(prices):
    X = relatives(prices)
    done = nr.portfolio.CRP(cost=0.01).learn_rounds(X)
    whole, parts = Wealth(0.01), Wealth(0.01)
    whole.add(done.outcome, done.turnover)
    for i in range(0, DAYS, 7):
        parts.add(done.outcome[i : i + 7], done.turnover[i : i + 7])
    assert whole.metrics(252) == parts.metrics(252)


def test_curves_and_weights_stay_bounded():
    path, blocks = paths.Path(), paths.Blocks()
    W = np.random.default_rng(0).dirichlet(np.ones(4), 20_000)
    for a in range(0, 20_000, 50):
        left = 50
        while left:
            n = min(left, path.due(left))
            left -= n
            if path.go(n):
                path.mark({"x": path.done})
        blocks.add(W[a : a + 50])
    at = [p["examples"] for p in path.points]
    assert paths.POINTS <= len(at) <= 2 * paths.POINTS
    assert len(set(np.diff(at))) == 1
    examples, means = blocks.means()
    assert paths.BLOCKS <= len(examples) <= 2 * paths.BLOCKS
    assert examples[-1] == 20_000
    np.testing.assert_allclose(means[0], W[: examples[0]].mean(0))
    np.testing.assert_allclose((means * np.diff([0, *examples])[:, None]).sum(0), W.sum(0))


# ---- studies ----------------------------------------------------------------------------------------------------------------
def test_compare_of_strategies(market, prices):
    report = nr.compare(market, task="portfolio", prices=True, cost=0.001)
    X = relatives(prices)
    assert {*nr.algorithms("portfolio")} - {"portfolio.market"} == {row["model"] for row in report.learners}
    assert [row["label"].split(",")[0] for row in report.data["baselines"]] == ["market", "best stock", "BCRP"]
    assert report.data["baselines"][1]["metrics"]["wealth_at_0%"] == pytest.approx(X.prod(0).max())
    star = nr.portfolio.BCRP().fit(X)
    assert report.data["baselines"][2]["metrics"]["wealth_at_0%"] == pytest.approx(star.wealth_)
    assert report.data["examples"] == DAYS
    assert report.data["unit"] == "day"
    by = {row["label"]: row for row in report.learners}
    eg = by["eg"]["regret"]
    assert eg["value"] == pytest.approx(star.log_wealth_ - nr.portfolio.EG().fit(X).log_wealth_)
    assert eg["value"] <= eg["bound"]
    assert eg["curve"]["regret"][-1] == eg["value"]
    assert all(r <= b for r, b in zip(eg["curve"]["regret"], eg["curve"]["bound"], strict=True))
    among = by["mixture"]["regret"]["strategies"]
    assert -1e-9 <= among["regret"] <= among["bound"]
    assert by["pamr"]["regret"]["bound"] is None
    assert "no theorem" in by["pamr"]["regret"]["bound_why"]
    assert by["eg"]["params"]["cost"] == 0.001
    assert sum(by["eg"]["weights"]["next"].values()) == pytest.approx(1.0)
    wealth = [row["metrics"]["wealth"] for row in nr.evaluation.report.summary.ordered(report.learners, "wealth")]
    assert wealth == sorted(wealth, reverse=True)
    assert any("back-test" in line for line in report.data["warnings"])
    text = report.text(width=150)
    assert "90 days, 3 assets, 2020-02-02 to 2020-05-01" in text
    assert "Weights of" in text
    assert "column 'date'" in text.lower()


def test_a_warning_where_costs_take_the_gain():
    X = np.tile([[1.1, 0.92], [0.92, 1.1]], (40, 1))  # what fell rises
    X = X * np.random.default_rng(0).normal(1, 0.001, X.shape)
    found = nr.compare(X, ["portfolio.pamr", "portfolio.market"]).data["warnings"]
    assert not any("below the market" in line for line in found)
    X = 1 + (X - 1) * 0.02
    found = nr.compare(X, ["portfolio.pamr", "portfolio.market"]).data["warnings"]
    assert any("end below the market" in line and "pamr" in line for line in found)


def test_too_many_days_to_hold_are_measured_without_hindsight(prices, monkeypatch):
    monkeypatch.setattr(allotted, "ROOM", 100)
    report = nr.compare(relatives(prices), ["portfolio.eg", "portfolio.pamr"])
    assert report.data["baselines"] == []
    assert all(row["regret"] is None for row in report.learners)
    assert any("too many days to hold" in note for note in report.notes)
    assert "wealth" in report.text()
    assert "Wealth and drawdown" in report.to_html()


def test_experts_in_studies():
    L = np.random.default_rng(0).random((300, 4)) * [0.3, 0.6, 0.6, 0.6]
    report = nr.compare(L, task="experts")
    assert [row["label"].partition(",")[0] for row in report.data["baselines"]] == ["best expert", "all experts alike"]
    m = nr.Experts()
    m.learn_many(L)
    own = next(row for row in report.learners if row["label"] == "experts")
    assert own["metrics"]["paid"] == m.paid_
    assert own["regret"]["value"] == m.regret_
    assert own["regret"]["bound"] == m.bound_
    assert all(r <= b + 1e-9 for r, b in zip(own["regret"]["curve"]["regret"], own["regret"]["curve"]["bound"], strict=True))
    advice = nr.evaluate(L, "experts", y=L[:, 0])
    assert advice.learners[0]["params"]["loss"] == "square"
    assert any("advice" in note for note in advice.notes)
    swept = nr.sweep(L, "experts:rule=hedge", eta=[0.1, 1.0])
    assert [row["setting"] for row in swept.learners] == [{"eta": 0.1}, {"eta": 1.0}]


def test_a_report_is_a_page_json_csv_and_plots(market, tmp_path):
    report = nr.compare(market, ["portfolio.eg", "portfolio.olmar"], prices=True)
    again = nr.Report.from_dict(json.loads(report.to_json()))
    assert again.text(width=120) == report.text(width=120)
    page = report.to_html()
    for said in ("Weights over time", "Wealth and drawdown", "best stock", "BCRP", "2020-05-01", "<polygon", '"log":true'):
        assert said in page
    assert "wealth_at_0.25%" in report.to_csv()
    assert "wealth" in report.curves_to_csv()
    for what in ("wealth", "drawdown", "weights", "regret"):
        report.plot(tmp_path / f"{what}.svg", what)
        assert (tmp_path / f"{what}.svg").stat().st_size > 1000
    nr.evaluate(np.random.default_rng(0).random((50, 12)), "experts").to_html(tmp_path / "e.html")
    assert "others" in (tmp_path / "e.html").read_text()


def test_an_unknown_strategy_is_answered_with_those_of_its_task(market):
    found = run("evaluate", market, "--task", "portfolio", "-m", "up", code=2)
    assert "no learner is called 'up'." in found
    assert "There are: anticor, crp, " in found
    assert "adagrad" not in found


def test_options_without_a_meaning_are_refused(market):
    with pytest.raises(TypeError, match="there is no option 'window' for the task portfolio"):
        nr.compare(market, task="portfolio", window=10)
    with pytest.raises(TypeError, match="there is no option 'prices' for the task experts"):
        nr.evaluate(market, task="experts", prices=True)
    with pytest.raises(ValueError, match="pa1 is for classification, and the task is portfolio"):
        nr.evaluate(market, "pa1", task="portfolio")


# ---- files that are refused --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("2020-03-01,1.0,0.0,1.0", "bad.csv, row 3: asset 'BBB' has the relative 0"),
        ("2020-03-01,1.0,1.0,-0.5", "bad.csv, row 3: asset 'CCC' has the relative -0.5"),
        ("2020-03-01,1.0,,1.0", "bad.csv, row 3: asset 'BBB' has the relative nan"),
        ("2020-03-01,1.0,oops,1.0", "row 3, asset 'BBB': expected a number, found 'oops'"),
        ("2020-03-01,1.0,1.0", "bad.csv:4"),
        ("2020-03-01,55.5,70.1,90.2", "look like prices"),
    ],
)
def test_bad_days_are_named(tmp_path, row, message):
    path = tmp_path / "bad.csv"
    path.write_text("date,AAA,BBB,CCC\n2020-02-01,1.0,1.01,0.99\n2020-02-02,1.0,1.01,0.99\n" + row + "\n")
    for command in ("evaluate", "compare"):
        found = run(command, path, "--task", "portfolio", code=1)
        assert found.count("\n") == 1
        assert message in found
        assert "bad.csv" in found
    target = tmp_path / "m.nr"
    assert message in run("train", path, "--task", "portfolio", "--save", target, code=1)
    assert not target.exists()


def test_bad_prices_are_named(tmp_path, prices):
    P = prices.copy()
    P[7, 2] = 0.0
    found = run("evaluate", written(tmp_path / "p.csv", P), "--task", "portfolio", "--prices", code=1)
    assert "row 8, asset 'CCC': expected a price above 0, found 0.0" in found
    P[7, 2] = math.nan
    found = run("evaluate", written(tmp_path / "p.csv", P), "--task", "portfolio", "--prices", code=1)
    assert "--missing hold" in found
    run("evaluate", tmp_path / "p.csv", "--task", "portfolio", "--prices", "--missing", "hold")
    assert "no column 'day'" in run("evaluate", tmp_path / "p.csv", "--task", "portfolio", "--time", "day", code=1)


def test_a_word_among_prices_gets_the_advice_for_prices(tmp_path, prices):
    path = Path(written(tmp_path / "p.csv", prices))
    rows = path.read_text().splitlines()
    rows[70] = rows[70].rpartition(",")[0] + ",n/a"
    path.write_text("\n".join(rows) + "\n")
    told = run("evaluate", path, "--task", "portfolio", "--prices", code=1)
    assert "an empty cell with --missing hold if the price did not change that day, in column 'CCC', found 'n/a'" in told
    assert "categorical" not in told


def test_a_year_is_not_told_from_a_few_days(tmp_path, prices):
    for days, told in ((19, False), (20, True)):
        report = nr.evaluate(written(tmp_path / "p.csv", prices[: days + 1]), "portfolio.pamr", prices=True)
        figures = report.learners[0]["metrics"]
        assert [figures[k] is not None for k in ("annual_return", "volatility", "sharpe")] == [told] * 3
        assert any("Figures of a year are left out: 19 days" in line for line in report.data["warnings"]) is not told
        assert ("% a year" in report.to_html()) is told


def test_days_out_of_order_are_refused(tmp_path, prices):
    path = tmp_path / "p.csv"
    head, *lines = (written(path, prices) and path.read_text()).splitlines()

    def refused(rows, *more, code=1):
        path.write_text("\n".join([head, *rows]) + "\n")
        return run("evaluate", path, "--task", "portfolio", "-m", "market", "--prices", *more, code=code)

    assert "row 2: the date is 2020-04-30, and the row before has 2020-05-01: sort the rows" in refused(lines[::-1])
    assert "row 12: the date is 2020-02-11, and the row before has 2020-02-11" in refused([*lines[:11], *lines[10:]])
    assert "90 days" in refused(lines[::-1], "--ignore", "date", code=0)
    hours = [line.replace(",", "T02:00:00,", 1) for line in lines]
    again = [*hours[:5], hours[4].replace("T02", "T01"), *hours[5:]]  # a clock that is put back
    assert "91 days" in refused(again, code=0)
    losses = written(tmp_path / "losses.csv", np.tile([[0.1, 0.3], [0.4, 0.2]], (5, 1)), names=["a", "b"])
    lines = (tmp_path / "losses.csv").read_text().splitlines()
    (tmp_path / "losses.csv").write_text("\n".join([*lines, lines[-1]]) + "\n")
    assert "11 rounds" in run("evaluate", losses, "--task", "experts")  # a date may have several rounds


def test_prices_near_1_are_told_from_relatives(tmp_path, prices):
    rates = 0.004 * (prices / prices[0] - 1.0) + [1.08, 0.92, 1.27]
    told = "Column 'AAA' and most others stay near one number that is not 1"
    for P, more, there in ((rates, (), True), (rates, ("--prices",), False), (relatives(prices), (), False)):
        path = written(tmp_path / "p.csv", P)
        found = run("train", path, "--task", "portfolio", "-m", "eg", "--overwrite", "--save", tmp_path / "p.nr", *more)
        assert (told in " ".join(found.split())) == there


def test_days_and_months_may_change_places(tmp_path, prices):
    def dated(path, rows, first):
        days = (np.datetime64(first) + np.arange(len(rows))).astype(object)
        lines = [
            f"{d.day:02d}/{d.month:02d}/{d.year}," + ",".join(map(repr, row)) for d, row in zip(days, rows.tolist(), strict=True)
        ]
        path.write_text("\n".join(["date,AAA,BBB,CCC", *lines]) + "\n")
        return path

    few = dated(tmp_path / "few.csv", prices[:5], "2020-02-01")  # nothing tells the order, which is not needed either
    run("train", few, "--task", "portfolio", "--prices", "--save", tmp_path / "e.nr")
    run("train", few, "--task", "portfolio", "--prices", "--date-order", "dmy", "--save", tmp_path / "f.nr")
    path = tmp_path / "p.nr"
    run("train", dated(tmp_path / "p.csv", prices[:40], "2020-02-01"), "--task", "portfolio", "--prices", "--save", path)
    more = dated(tmp_path / "more.csv", prices[40:41], "2020-03-12")  # 12/03, which the model knows for March
    assert "40 days" in run("train", more, "--save", path, "--continue")
    lines = few.read_text().splitlines()
    few.write_text("\n".join([*lines[:3], "," + lines[3].partition(",")[2], *lines[4:]]) + "\n")
    asked = run("evaluate", few, "--task", "portfolio", "--prices", "--date-order", "dmy", code=1)
    assert "row 3: there is no date" in asked


def test_files_with_columns_in_another_order_are_one_market(tmp_path, prices):
    one = written(tmp_path / "a.csv", prices[:40])
    two = written(tmp_path / "b.csv", prices[40:, [2, 0, 1]], names=[ASSETS[k] for k in (2, 0, 1)], first="2020-03-12")
    whole = written(tmp_path / "c.csv", prices)
    found = [
        json.loads(run("evaluate", *files, "--task", "portfolio", "-m", "eg", "--prices", "--json", "--quiet"))
        for files in ([one, two], [whole])
    ]
    assert found[0]["regret"]["value"] == pytest.approx(found[1]["regret"]["value"], rel=1e-9)
    assert found[0]["regret"]["comparator"] == pytest.approx(found[1]["regret"]["comparator"], rel=1e-9)


def test_a_column_that_counts_is_no_asset(tmp_path, prices):
    numbered = np.column_stack([20200101 + np.arange(len(prices)), prices])
    path = written(tmp_path / "p.csv", numbered, names=["day", *ASSETS], dates=False)
    found = run("evaluate", path, "--task", "portfolio", "--prices", code=1)
    assert "column 'day' goes up by whole numbers, 20200101, 20200102, 20200103" in found
    assert "--time day" in found
    for option in ("--time", "--ignore"):
        assert "3 assets" in run("evaluate", path, "--task", "portfolio", "--prices", option, "day")


# ---- commands ----------------------------------------------------------------------------------------------------------------
def test_json_of_the_commands(market, tmp_path):
    found = json.loads(
        run("compare", market, "--task", "portfolio", "--prices", "-m", "eg,olmar:W=3", "--cost", 0.001, "--json", "--quiet")
    )
    assert found["data"]["task"] == "portfolio"
    assert found["sort"] == "wealth"
    assert {"wealth", "annual_return", "volatility", "sharpe", "drawdown", "turnover", "wealth_at_0.5%"} <= {
        *found["learners"][0]["metrics"]
    }
    assert {row["label"] for row in found["learners"]} == {"eg", "olmar W=3"}
    one = json.loads(run("evaluate", market, "--model", "portfolio.ons", "--prices", "--json", "--quiet"))
    assert one["model"] == "portfolio.ons"
    assert {"regret", "weights", "curve"} <= {*one}
    grid = json.loads(run("sweep", market, "--task", "portfolio", "-m", "eg", "--prices", "--eta", "0.01,0.1", "--json", "--quiet"))
    assert [row["setting"] for row in grid["learners"]] == [{"eta": 0.01}, {"eta": 0.1}]
    costs = json.loads(run("sweep", market, "-m", "portfolio.pamr", "--prices", "--cost", "0,0.01", "--json", "--quiet"))
    assert costs["winner"] == "pamr cost=0.0"


def test_train_stops_and_resumes_bit_for_bit(market, prices, tmp_path):
    whole, path = tmp_path / "whole.nr", tmp_path / "part.nr"
    nr.train(market, "portfolio.olmar", prices=True, save=whole)
    for asked in (2, 3):
        stops = iter([False] * (asked - 1) + [True])
        small = CsvReader(market, block=400)  # several batches, the first of them without its first row
        done = nr.train(small, "portfolio.olmar", prices=True, save=path, resume=path.exists(), stop=stops.__next__)
        assert not done.finished
        assert done.examples < DAYS
    out = run("train", market, "--save", path, "--resume")
    assert f"{DAYS} days: wealth" in out
    assert nr.load(path).digest() == nr.load(whole).digest()
    assert nr.load(path).wealth_ == pytest.approx(nr.portfolio.OLMAR().fit(relatives(prices)).wealth_)


def test_train_continues_with_the_days_that_came(market, prices, tmp_path):
    path, more = tmp_path / "p.nr", np.vstack([prices[-1] * 1.01, prices[-1] * [1.02, 0.99, 1.0]])
    out = run("train", market, "--task", "portfolio", "--prices", "--save", path)
    assert "portfolio.eg was taken" in out
    assert "90 days" in out
    with open(market, "a") as file:
        file.write("2020-06-01," + ",".join(map(repr, more[0].tolist())) + "\n")
    assert "has grown" in run("train", market, "--save", path, "--resume", code=1)
    assert "91 days" in run("train", market, "--save", path, "--continue")
    other = written(tmp_path / "june.csv", more[1:], first="2020-06-02")
    assert "92 days" in run("train", other, "--save", path, "--continue")  # from the last prices of the other file
    want = nr.portfolio.EG().fit(relatives(np.vstack([prices, more])))
    np.testing.assert_allclose(nr.load(path).weights_, want.weights_, rtol=1e-12)
    assert "was trained without --missing" in run("train", other, "--save", path, "--continue", "--missing", "hold", code=2)
    assert "do not go with it" in run("train", market, "--task", "portfolio", "--save", tmp_path / "x.nr", "--epochs", 2, code=1)


def test_a_column_that_counts_is_known_in_the_row_that_came(tmp_path):
    path, model = tmp_path / "p.csv", tmp_path / "p.nr"
    path.write_text("day,A,B\n1,1.01,0.99\n2,1.0,1.02\n3,0.98,1.0\n")
    assert "Column 'day' was taken to name the days" in run("train", path, "--task", "portfolio", "--save", model)
    with open(path, "a") as file:
        file.write("4,1.0,1.01\n")
    assert "4 days" in run("train", path, "--save", model, "--continue")
    assert nr.load(model).names_ == ["A", "B"]


def test_new_files_are_matched_by_name_and_date(prices, tmp_path):
    half, path = tmp_path / "half.nr", tmp_path / "p.nr"
    run("train", written(tmp_path / "a.csv", prices[:40]), "--task", "portfolio", "-m", "ons", "--prices", "--save", half)
    turned = written(tmp_path / "b.csv", prices[40:, [2, 0, 1]], names=[ASSETS[k] for k in (2, 0, 1)], first="2020-03-12")
    path.write_bytes(half.read_bytes())
    run("train", turned, "--save", path, "--continue")
    want = nr.portfolio.ONS().fit(relatives(prices))
    np.testing.assert_allclose(nr.load(path).weights_, want.weights_, rtol=1e-9)
    told = json.loads(run("predict", turned, "--model-file", half, "--json"))
    np.testing.assert_allclose([*told["weights"].values()], want.weights_, rtol=1e-9)

    path.write_bytes(half.read_bytes())
    again = written(tmp_path / "c.csv", prices)
    assert "row 1: the date is 2020-02-01, and the model has learned to 2020-03-11" in run(
        "train", again, "--save", path, "--continue", code=1
    )
    assert "has learned to 2020-03-11" in run("predict", again, "--model-file", half, code=1)
    wider = written(tmp_path / "d.csv", prices[40:, [0, 1, 2, 0]], names=[*ASSETS, "DDD"], first="2020-03-12")
    found = run("train", wider, "--save", path, "--continue", code=1)
    assert "asset 'DDD' is new; the model has 3 assets: leave it out (--ignore DDD)" in found
    assert path.read_bytes() == half.read_bytes()
    run("train", wider, "--save", path, "--continue", "--ignore", "DDD")
    np.testing.assert_allclose(nr.load(path).weights_, want.weights_, rtol=1e-9)
    assert "ignore" not in nr.load(path).extras["rounds"]
    few = json.loads(run("predict", turned, "--model-file", half, "--json", "--limit", 3))
    assert few["examples"] == 42


def test_after_a_limit_the_prices_of_rows_that_were_not_learned_are_forgotten(market, prices, tmp_path):
    path = tmp_path / "p.nr"
    run("train", market, "--task", "portfolio", "-m", "ons", "--prices", "--save", path, "--limit", 10)
    later = written(tmp_path / "later.csv", prices[40:], first="2020-03-12")
    told = json.loads(run("predict", later, "--model-file", path, "--json"))
    want = nr.portfolio.ONS().fit(np.vstack([relatives(prices[:11]), relatives(prices[40:])]))
    np.testing.assert_allclose([*told["weights"].values()], want.weights_, rtol=1e-9)


def test_predict_prints_the_weights_for_tomorrow(market, prices, tmp_path):
    path = tmp_path / "p.nr"
    run("train", market, "--task", "portfolio", "-m", "eg", "--prices", "--save", path)
    was = path.read_bytes()
    m = nr.load(path)
    lines = dict(line.split("\t") for line in run("predict", "--model-file", path).splitlines())
    assert {k: float(v) for k, v in lines.items()} == pytest.approx(dict(zip(ASSETS, m.weights_, strict=True)), abs=1e-6)
    found = json.loads(run("predict", "--model-file", path, "--json"))
    assert found["weights"]["AAA"] == m.weights_[0]
    assert found["wealth"] == m.wealth_
    assert found["examples"] == DAYS
    refused = run("predict", "--model-file", path, "--proba", "--reject", 0.9, code=2)
    assert "is portfolio.eg, which answers with weights: leave out --proba and --reject" in refused
    today = written(tmp_path / "today.csv", prices[-1:] * 1.05, first="2020-05-02")
    csv = run("predict", today, "--model-file", path, "--as", "csv")
    assert csv.startswith("name,weight\nAAA,")
    m.learn_one(dict.fromkeys(ASSETS, 1.05))
    assert float(csv.splitlines()[1].split(",")[1]) == pytest.approx(m.weights_[0])
    assert path.read_bytes() == was
    assert json.loads(run("predict", "--model-file", path, "--as", "jsonl").splitlines()[0])["name"] == "AAA"


def test_a_strategy_that_has_learned_is_evaluated_on_what_follows(market, prices):
    m = nr.portfolio.EG()
    m.learn_rounds(relatives(prices)[:30], ASSETS)
    report = nr.evaluate(market, m, prices=True)
    assert report.learners[0]["examples"] == DAYS
    assert m.n_seen_ == 30 + DAYS
    both = nr.compare(market, [nr.portfolio.EG(), "olmar"], task="portfolio", prices=True)
    assert {row["label"] for row in both.learners} == {"eg", "olmar"}


def test_predict_mixes_advice(tmp_path):
    rng = np.random.default_rng(1)
    y = rng.random(60)
    A = np.column_stack([y, 1 - y, y])
    table = written(tmp_path / "a.csv", A, ["good", "bad", "rain"], dates=False)
    path = tmp_path / "e.nr"
    run("train", table, "--task", "experts", "--target", "rain", "--save", path)
    new = written(tmp_path / "new.csv", A[:2, :2], ["good", "bad"], dates=False)
    said = [float(v) for v in run("predict", new, "--model-file", path).split()]
    np.testing.assert_allclose(said, nr.load(path).predict(A[:2, :2]))
    assert len(run("predict", new, "--model-file", path, "--limit", 1).split()) == 1
    assert float(run("predict", "--model-file", path).splitlines()[0].split("\t")[1]) > 0.99


def test_advice_that_is_refused_is_named_by_file_and_row(tmp_path):
    path = tmp_path / "advice.csv"
    path.write_text("a,b,y\n" + "0.1,0.9,1\n" * 30)
    run("train", path, "--task", "experts", "--target", "y", "--save", tmp_path / "m.nr")
    path.write_text("a,b,y\n" + "0.1,0.9,1\n" * 30 + "0.1,,1\n")
    for target in ((), ("--target", "y")):
        told = run("predict", path, "--model-file", tmp_path / "m.nr", *target, code=1)
        assert "advice.csv, row 31: expert 'b' is nan; expected a finite number" in told


def test_inspect_shows_weights_and_standing(market, tmp_path):
    path = tmp_path / "p.nr"
    run("train", market, "--task", "portfolio", "--prices", "--cost", 0.001, "--save", path)
    text = run("inspect", path)
    assert "90 days, wealth" in text
    assert "weight for the next day" in text
    assert "cost=0.001" in text
    found = json.loads(run("inspect", path, "--json"))
    assert found["task"] == "portfolio"
    assert found["columns"] == 3
    assert len(found["weights"]) == 3
    losses = written(tmp_path / "l.csv", np.random.default_rng(0).random((40, 3)), dates=False)
    run("train", losses, "-m", "experts", "--rule", "hedge", "--save", tmp_path / "e.nr")
    assert "paid" in (text := run("inspect", tmp_path / "e.nr"))
    assert "theorem" in text


def test_a_model_of_rows_still_needs_rows(tmp_path):
    nr.PA1().fit([[1.0], [-1.0]], [1, 0]).save(tmp_path / "m.nr")
    assert "Missing argument" in run("predict", "--model-file", tmp_path / "m.nr", code=2)


def test_a_task_of_rows_may_be_named_too(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    report = nr.compare((X, (X[:, 0] > 0).astype(int)), task="regression", regret=False)
    assert all(row["model"].endswith(("_regressor", "rls")) for row in report.learners)


def test_every_task_of_rounds_has_a_start_that_is_its_own():
    for task, entry in BY_TASK.items():
        if entry.rounds is not None:
            assert nr.learner(entry.start).task == task
