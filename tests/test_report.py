"""Reports: what they say is what was measured, files read back, and no text from the data becomes code."""

import csv
import html.parser
import io
import json
import math
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from noregret.evaluation.report import forms, page, palette, plots, summary
from noregret.evaluation.report.report import KEYS, Report, plain

POINTS = [10, 100, 1000]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"q\" 'q' $x$ \x1b[31m"


def a_regret(**more):
    curve = {
        "examples": POINTS,
        "cumulative": [9.0, 60.0, 500.0],
        "comparator": [4.0, 40.0, 450.0],
        "regret": [5.0, 20.0, 50.0],
        "average": [0.5, 0.2, 0.05],
        "bound": [70.0, 220.0, 700.0],
        "measured": [5.0, 20.0, 50.0],
    }
    found = {
        "loss": "hinge",
        "cumulative": 500.0,
        "comparator": 450.0,
        "value": 50.0,
        "average": 0.05,
        "radius": 5.0,
        "tolerance": 1e-3,
    }
    found |= {"gap": 0.4, "lower": 449.6, "passes": 12, "bound": 700.0, "bound_name": "Zinkevich 2003", "bound_measures": "regret"}
    return {**found, "measured": 50.0, "curve": curve, **more}


def a_classifier(label="pa1 C=0.1", error=0.123, C=0.1, **more):
    return {
        "model": "pa1",
        "label": label,
        "params": {"C": C, "fit_intercept": True},
        "examples": 1000,
        "mistakes": round(1000 * error),
        "error": error,
        "updates": 456,
        "losses": {"hinge": 3 * error, "log": 0.51},
        "metrics": {"accuracy": 1 - error, "auc": 0.9876},
        "confusion": {"labels": ["ham", "spam"], "counts": [[500, 23], [100, 377]]},
        "nonzeros": 31,
        "bytes": 2048,
        "seconds": 0.01,
        "examples_per_second": 100_000.0,
        "curve": {"examples": POINTS, "error": [0.5, 0.3, error], "loss": [1.0, 0.6, 3 * error], "window_error": [0.5, 0.2, 0.1]},
        **more,
    }


def a_regressor(label="rls", rmse=0.25):
    curve = {"examples": POINTS, "loss": [1.0, 0.1, rmse**2]}
    return {"model": "rls", "label": label, "losses": {"square": rmse**2}, "metrics": {"rmse": rmse, "r2": 0.75}, "curve": curve}


DATA = {"name": "mail.svm", "kind": "svmlight", "examples": 1000, "features": 30, "classes": ["ham", "spam"]}


def a_comparison(**more):
    learners = [a_classifier(regret=a_regret()), a_classifier("ogd", 0.1), a_classifier("alma", 0.2)]
    return Report("compare", {**DATA, **more}, learners, "ogd", ["Compared in one pass."])


def a_sweep(settings=(0.01, 0.1, 1.0)):
    return Report("sweep", DATA, [a_classifier(f"pa1 C={C}", 0.1 + C / 10, C) for C in settings], f"pa1 C={settings[0]}")


def an_evaluation():
    return Report("evaluate", DATA, [a_classifier(regret=a_regret(), drifts=[500])])


def a_regression():
    return Report("compare", {"name": "house", "examples": 1000}, [a_regressor(), a_regressor("worse", 0.5)], "rls")


MAKERS = [a_comparison, a_sweep, an_evaluation, a_regression]


@pytest.fixture
def weather(monkeypatch):
    """A kind of report that someone adds, with a line, a section and a plot of its own."""
    monkeypatch.setattr(forms, "FORMS", dict(forms.FORMS))

    def draw(figure, report, rows, chosen):
        figure.subplots().plot([1, 2])

    form = forms.Form(
        alone=True,
        plots=("rain",),
        lines=lambda report, rows: [f"It rained on {rows[0]['label']}."],
        sections=lambda report, rows: ["<section id='rain'>wet</section>"],
        drawings=lambda rows: {"rain": draw},
    )
    forms.register("weather", form)
    return Report("weather", DATA, [a_classifier()])


# ---- data ------------------------------------------------------------------------------------------------------------
def test_a_kind_of_report_can_be_added(weather, tmp_path):
    assert "It rained on pa1 C=0.1." in weather.text(width=100, encoding="utf-8")
    assert "<section id='rain'>wet</section>" in weather.to_html()
    weather.plot(tmp_path / "p.png")
    assert weather.winner is None
    assert Report.from_dict(weather.to_dict()).to_dict() == weather.to_dict()
    with pytest.raises(ValueError, match="'weather' already: give yours another name"):
        forms.register("weather", forms.Form())


@pytest.mark.parametrize("make", MAKERS)
def test_round_trip_through_json(make):
    report = make()
    found = json.loads(report.to_json())
    assert found == report.to_dict()
    again = Report.from_dict(found)
    assert again == report
    assert str(again) == str(report)


def test_keys_of_one_learner_and_of_several():
    one = an_evaluation().to_dict()
    assert set(KEYS) | {"data"} <= set(one)
    assert "learners" not in one
    many = a_comparison().to_dict()
    assert set(KEYS) <= set(many["learners"][0])
    assert (many["winner"], many["data"]["name"]) == ("ogd", "mail.svm")
    assert a_regression().to_dict()["learners"][0]["error"] is None


def test_numbers_become_plain_json():
    given = {"a": np.float32(0.5), "b": np.arange(3), "c": (math.nan, math.inf, -1), 4: np.bool_(True), "d": {1}, "e": object}
    assert plain(given) == {"a": 0.5, "b": [0, 1, 2], "c": [None, None, -1], "4": True, "d": [1], "e": str(object)}


def test_nan_and_infinity_are_null_and_print_as_dashes(tmp_path):
    learner = a_classifier(regret=a_regret(bound=math.inf, value=math.nan, average=math.nan))
    learner |= {"error": math.nan, "mistakes": None}
    learner["curve"]["error"] = [math.nan, 0.5, np.float64("nan")]
    report = Report("compare", DATA, [learner, a_classifier("ogd")])
    assert report.to_dict()["learners"][0]["curve"]["error"] == [None, 0.5, None]
    assert "NaN" not in report.to_json()
    assert report.learners[0]["regret"]["bound"] is None
    line = next(line for line in str(report).splitlines() if line.startswith("pa1"))
    assert re.match(r"pa1 C=0.1 +- +- ", line)
    assert str(report).index("\nogd") < str(report).index("\npa1")  # no figure stands last
    report.to_html(tmp_path / "r.html")
    report.plot(tmp_path / "r.png", "error")


def test_labels_are_unique_and_the_winner_is_one():
    assert Report("compare", DATA, [a_classifier("a"), a_classifier("a"), a_classifier(None)]).labels == ["a", "a (2)", "pa1"]
    with pytest.raises(ValueError, match="winner 'b' is not the label of a learner: a"):
        Report("compare", DATA, [a_classifier("a")], "b")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "race"}, "kind must be one of evaluate, compare, sweep"),
        ({"learners": []}, "at least one learner, got 0"),
        ({"kind": "evaluate", "learners": [a_classifier(), a_classifier("b")]}, "one learner, got 2"),
        ({"sort": "beauty"}, "cannot sort by 'beauty': the figures of this report are mistakes, error"),
    ],
)
def test_a_wrong_report_says_why(change, message):
    given = {"kind": "compare", "data": DATA, "learners": [a_classifier()], **change}
    with pytest.raises(ValueError, match=message):
        Report(**given)


def test_from_dict_refuses_something_else():
    with pytest.raises(ValueError, match="not a report"):
        Report.from_dict({"models": 3})


# ---- text ------------------------------------------------------------------------------------------------------------
def test_text_of_a_comparison():
    text = a_comparison().text(width=132, encoding="utf-8")
    assert text.startswith("mail.svm (svmlight): 1,000 examples, 30 features, 2 classes")
    lines = text.splitlines()
    assert " ".join(lines[2].split()) == "learner mistakes error % hinge loss AUC updates nonzeros regret bound examples/s"
    assert [line.split()[0] for line in lines[4:7]] == ["ogd", "pa1", "alma"]
    assert lines[5].split()[2:] == ["123", "12.30", "0.369", "0.9876", "456", "31", "50", "700", "100,000"]
    assert "Best: ogd." in text
    assert "Compared in one pass." in text


def test_text_sorts_by_what_is_asked():
    def order(sort):
        return [line.split()[0] for line in a_comparison().text(sort=sort, width=132).splitlines()[4:7]]

    assert order("accuracy") == ["ogd", "pa1", "alma"]  # larger is better
    assert order("loss") == ["ogd", "pa1", "alma"]
    assert order("regret") == ["pa1", "ogd", "alma"]  # the others have none
    assert order("label") == ["alma", "ogd", "pa1"]


def test_text_of_an_evaluation_has_every_figure():
    text = an_evaluation().text(width=100, encoding="utf-8")
    figures = dict(re.split(r"  +", line) for line in text.split("\n\n")[1].splitlines())
    expected = {
        "mistakes": "123",
        "error %": "12.30",
        "hinge loss": "0.369",
        "log loss": "0.51",
        "auc": "0.9876",
        "memory": "2.05 kB",
    }
    assert expected.items() <= figures.items()
    assert re.search(r"ham +500 +23\nspam +100 +377", text)
    assert "Drift detected for pa1 C=0.1 at 500." in text


def test_text_of_a_regression_has_its_own_columns():
    text = a_regression().text(width=100)
    assert " ".join(text.splitlines()[2].split()) == "learner square loss RMSE R2"
    assert "mistakes" not in text
    assert re.search(r"rls +0.0625 +0.25 +0.75\nworse +0.2500 +0.50 +0.75", text)


def test_permutations_show_mean_deviation_and_p():
    spread = {"error": [0.125, 0.0025], "per_permutation": [0.12, 0.13], "p_value": 0.031}
    report = Report("compare", DATA, [a_classifier(spread=spread), a_classifier("ogd", 0.1)])
    assert "12.50 ± 0.25" in report.text(width=132, encoding="utf-8")
    assert "12.50 +- 0.25" in report.text(width=132, encoding="ascii")
    assert " 0.031 " in report.text(width=132)
    assert report.text(sort="error", width=132).index("\nogd") < report.text(width=132).index("\npa1")


def test_a_hold_out_file_has_its_column():
    text = Report("compare", DATA, [a_classifier(holdout={"error": 0.0777, "losses": {"hinge": 0.2}})]).text(width=132)
    assert "hold-out %" in text
    assert " 7.77 " in text
    text = Report("compare", DATA, [{**a_regressor(), "holdout": {"error": None, "losses": {"square": 0.0444}}}]).text(width=132)
    assert "hold-out loss" in text
    assert " 0.0444 " in text


def test_regret_in_words():
    found = summary.regret_words(a_classifier(regret=a_regret()))
    assert found == (
        "pa1 C=0.1 lost 500 in hinge loss; the best fixed model with |u| <= 5 lost 450 (to within 0.4): regret 50, 0.05 an example."
        " The theorem (Zinkevich 2003) allows a regret of 700."
    )
    assert "allows 700 mistakes; 50 measured" in summary.regret_words(a_classifier(regret=a_regret(bound_measures="mistakes")))
    assert "bounds it here: the rows are not separable." in summary.bound_words(
        {"bound": None, "bound_why": "the rows are not separable"}
    )
    better = summary.regret_words(a_classifier(regret=a_regret(value=-3.0, average=-0.003)))
    assert "so the learner, which moves, did better than every fixed model with |u| <= 5. " in better
    sparse = a_classifier(regret=a_regret(norm="l1"))
    assert "the best fixed model with |u|_1 <= 5 lost" in summary.regret_words(sparse)
    assert "one fixed model u with |u|_1 ≤ 5, the best" in Report("evaluate", DATA, [sparse]).to_html()
    only_tolerance = a_regret(gap=None, lower=None)
    assert "(to within 0.45)" in summary.regret_words(a_classifier(regret=only_tolerance))


def test_regrets_in_different_losses_have_columns_of_their_own():
    learners = [a_classifier(regret=a_regret()), a_classifier("ogd", 0.1, regret=a_regret(value=40.0))]
    learners.append(a_classifier("ogd loss=log", 0.2, regret=a_regret(loss="log", value=3.0)))
    report = Report("compare", DATA, learners)
    assert re.search(r"learner .* regret \(hinge\) +regret \(log\)", report.text(width=200))
    assert re.search(r"ogd loss=log .* - +3 ", report.text(width=200))
    by_regret = [line.split("  ")[0] for line in report.text(sort="regret", width=200).splitlines()[4:7]]
    assert by_regret == ["ogd", "pa1 C=0.1", "ogd loss=log"]  # the least regret in the loss of most learners, then the others
    assert "regret (hinge)" not in Report("compare", DATA, learners[:2]).text(width=200)


def test_a_bound_that_says_nothing_is_called_vacuous():
    found = a_classifier(regret=a_regret(bound=1200.0, bound_measures="mistakes", vacuous=True))
    assert summary.bound_words(found["regret"]).endswith("This is vacuous: there are no more rounds than that.")
    assert "1,200 mistakes (vacuous)" in Report("compare", DATA, [found, a_classifier("b")]).text(width=200)
    assert "vacuous, as there are no more rounds than that" in Report("evaluate", DATA, [found]).to_html()
    assert "weights that stay 0 do as well" in summary.bound_words(a_regret(vacuous=True))
    pool = a_regret(vacuous=True, bound=0.0, against="the best learner of the pool, PA1(),")
    assert "no larger regret is possible here" in summary.bound_words(pool)
    assert "vacuous" not in Report("evaluate", DATA, [a_classifier(regret=a_regret(vacuous=False))]).to_html()


def test_the_best_by_error_with_a_large_regret_is_explained():
    def told(mine, theirs, **more):
        learners = [
            a_classifier("best", 0.1, regret=a_regret(value=mine)),
            a_classifier("b", 0.2, regret=a_regret(value=theirs, **more)),
        ]
        return Report("compare", DATA, learners).text(width=300)

    line = "best is the best by error, and not by regret: that of b is 40. Regret is in hinge loss, which counts how far"
    assert line in told(80.0, 40.0)
    assert "not by regret" not in told(79.0, 40.0)  # not twice that of the other
    assert "not by regret" not in told(49.0, 20.0)  # below a tenth of the 500 lost
    assert "not by regret" not in told(80.0, 40.0, loss="log")  # which cannot be compared


def test_a_column_has_even_decimals():
    learners = [a_classifier("a", 0.1), a_classifier("b", 0.2)]
    learners[0]["metrics"]["auc"], learners[1]["metrics"]["auc"] = 0.932, 0.9411
    text = Report("compare", DATA, learners).text(width=200)
    assert "0.9320" in text
    assert "0.9411" in text
    assert '<td data-value="0.932">0.9320</td>' in Report("compare", DATA, learners).to_html()


def test_skipped_rows_are_told():
    report = a_comparison(skipped={"count": 1234, "first": ["mail.svm:17:9: expected index:value, found '3;1'"]})
    assert "Skipped 1,234 bad rows:\n  mail.svm:17:9: expected index:value" in report.text(width=100)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_text_keeps_to_the_width(width):
    for make in MAKERS:
        text = make().text(width=width, encoding="utf-8")
        assert max(map(len, text.splitlines())) <= width
    narrow = a_comparison().text(width=60)
    assert "left out for width: nonzeros" in narrow
    assert "12.30" in narrow  # the error is the last to go


def test_text_is_safe_for_any_terminal():
    report = Report("compare", {**DATA, "name": "π\x1b[2J"}, [a_classifier("naïve\x1b]0;x\x07")])
    for encoding in ("utf-8", "ascii", "latin-1"):
        text = report.text(width=120, encoding=encoding)
        text.encode(encoding)
        assert "\x1b" not in text
        assert "\x07" not in text
    assert "π" in report.text(encoding="utf-8")


# ---- files -----------------------------------------------------------------------------------------------------------
def test_csv_reads_back(tmp_path):
    a_comparison().to_csv(tmp_path / "r.csv")
    with open(tmp_path / "r.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == ["ogd", "pa1 C=0.1", "alma"]
    assert (float(rows[1]["error"]), float(rows[1]["losses.log"]), float(rows[1]["regret.value"])) == (0.123, 0.51, 50.0)
    assert json.loads(rows[1]["params"]) == {"C": 0.1, "fit_intercept": True}
    assert rows[0]["regret.value"] == ""


def test_curves_read_back(tmp_path):
    text = a_comparison().curves_to_csv(tmp_path / "c.csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert (tmp_path / "c.csv").read_text() == text
    assert [int(row["examples"]) for row in rows] == POINTS * 3
    assert [float(row["error"]) for row in rows[:3]] == [0.5, 0.3, 0.123]
    assert [float(row["regret.value"]) for row in rows[:3]] == [5.0, 20.0, 50.0]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "r.json"
    a_comparison().to_json(target)
    before = target.read_bytes()

    def fails(source, target):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(OSError, match="disk full"):
        a_sweep().to_json(target)
    assert target.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no directory .*nowhere"):
        a_sweep().to_html(tmp_path / "nowhere" / "r.html")


# ---- the page --------------------------------------------------------------------------------------------------------
class Outline(html.parser.HTMLParser):
    """Elements opened and closed in order, scripts, ids and text."""

    VOID = {"meta", "br", "img", "input", "link", "hr"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.attributes, self.scripts = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [v for k, v in attrs if k == "id"]
        if tag == "script":
            self.scripts.append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


@pytest.mark.parametrize("make", MAKERS)
def test_the_page_is_well_formed_and_asks_for_nothing(make, tmp_path):
    text = make().to_html(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text("utf-8") == text
    found = Outline(text)
    assert len(found.ids) == len(set(found.ids))
    assert not {"link", "img", "iframe", "object"} & set(found.tags)
    assert not {"src", "href"} & {k for k, _ in found.attributes}
    assert "url(" not in text
    without_comments = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    assert not re.findall(r"https?://", without_comments)
    assert not re.findall(r"\b(fetch|XMLHttpRequest|WebSocket|importScripts)\b", without_comments)


def test_the_page_without_data_is_small():
    report = a_comparison()
    assert len(report.to_html()) - len(page.embedded(page.payload(report, report.learners))) < 100_000


def test_sections_without_data_are_absent():
    def sections(report):
        return [
            i for i in Outline(report.to_html()).ids if i in ("results", "sweep", "regret", "curves", "confusion", "notes", "again")
        ]

    assert sections(a_comparison()) == ["results", "regret", "curves", "confusion", "notes"]
    assert sections(a_sweep()) == ["results", "sweep", "curves", "confusion"]
    assert sections(a_regression()) == ["results", "curves"]
    assert sections(Report("evaluate", {**DATA, "command": "noregret x"}, [{"model": "pa"}])) == ["results", "again"]


def test_the_policy_lets_exactly_our_scripts_run():
    import base64
    import hashlib

    text = an_evaluation().to_html()
    policy = re.search(r"script-src ([^;\"]*)", text)[1].split()
    _, library, ours = Outline(text).scripts
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in (library, ours)]
    assert policy == hashes
    assert "uPlot (v1.6.32)" in library
    assert "Permission is hereby granted" in library


def test_hostile_text_is_harmless():
    learner = a_classifier(HOSTILE, params={HOSTILE: HOSTILE}, regret=a_regret(bound_name=HOSTILE), drifts=[5])
    learner["confusion"]["labels"] = [HOSTILE, "ok"]
    learner["metrics"][HOSTILE] = 1.0
    skipped = {"count": 1, "first": [HOSTILE]}
    report = Report(
        "compare",
        {**DATA, "name": HOSTILE, "command": HOSTILE, "skipped": skipped},
        [learner, a_classifier("b")],
        HOSTILE,
        [HOSTILE],
    )
    found = Outline(report.to_html())
    assert found.tags.count("script") == 3
    assert "img" not in found.tags
    assert not [k for k, _ in found.attributes if k.startswith("on")]
    data = json.loads(found.scripts[0])
    assert HOSTILE in [learner["label"] for learner in data["learners"]]
    assert HOSTILE in data["learners"][0]["confusion"]["labels"]
    small = Outline(report._repr_html_())
    assert {"script", "img"}.isdisjoint(small.tags)


def test_the_page_says_what_the_report_says():
    text = re.sub(r"<script.*?</script>", "", an_evaluation().to_html(), flags=re.S)
    assert html.escape(summary.regret_words(an_evaluation().learners[0])) in text
    assert "between 449.6 and 450" in text
    assert "12 passes over the data" in text
    assert "12.30 % error" in text
    unsolved = Report("evaluate", DATA, [a_classifier(regret=a_regret(converged=False))]).to_html()
    assert "12 passes over the data, stopped before the tolerance was reached" in unsolved


def test_a_bound_that_does_not_hold_to_the_end_is_not_drawn():
    report = Report("evaluate", DATA, [a_classifier(regret=a_regret(bound=None, bound_measures=None, bound_why="its margin is 0"))])
    from noregret.evaluation.report import plots

    assert "No theorem bounds it here: its margin is 0." in report.to_html()
    assert json.loads(Outline(report.to_html()).scripts[0])["learners"][0]["regret"]["bound"] is None
    figure = plots.new_figure()
    plots.regret(figure, report, report.learners, report.learners[0])
    assert [line.get_label() for line in figure.axes[1].get_lines()] == ["regret"]


def test_no_two_curves_have_one_colour():
    for dark in (False, True):
        found = palette.lines(60, dark)
        assert len(set(found)) == 60
        assert palette.lines(3, dark) == list(palette.DARK if dark else palette.LIGHT)
    learners = [a_classifier(f"pa1 C={i}", 0.1 + i / 1000) for i in range(20)]
    text = Report("compare", DATA, learners).to_html()
    assert "--c19:" in text
    assert "The curves of 8 of 20 learners are drawn at first" in text
    assert "drawn at first" not in a_comparison().to_html()


def test_the_page_says_how_it_was_made():
    made = {
        "command": "noregret compare mail.svm --html 'a b.html'",
        "date": "2026-01-02 03:04:05+00:00",
        "version": "9.9",
        "seed": 7,
    }
    text = a_comparison(**made).to_html()
    assert "<pre>noregret compare mail.svm --html &#x27;a b.html&#x27;</pre>" in text
    assert "Made by noregret 9.9, 2026-01-02 03:04:05+00:00, seed 7." in text


@pytest.fixture(scope="module")
def browser():
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("needs Chromium: make browser")
    return found


def drawn(browser, report, folder, width=1200):
    """The page as a browser has it when its scripts have run."""
    path = folder / "page.html"
    report.to_html(path)
    args = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},1000", "--dump-dom", path.as_uri()]
    return subprocess.run(args, check=True, capture_output=True, text=True, timeout=120).stdout


def test_the_legend_shows_the_last_value_also_below_a_log_axis(browser, tmp_path):
    curve = a_regret()["curve"] | {"regret": [50.0, 200.0, -50.0], "examples": [10, 100, 1000]}
    dom = drawn(browser, Report("evaluate", DATA, [a_classifier(regret=a_regret(curve=curve))]), tmp_path)
    chart = dom[dom.index('id="regret-bound"') :]
    shown = re.search(r"<div[^>]*>regret</div></th><td[^>]*>([^<]*)<", chart)
    assert shown[1] == "-0.05"


def test_long_names_of_classes_are_short_in_the_confusion_matrix(browser, tmp_path):
    learner = a_classifier()
    learner["confusion"]["labels"] = ["a very long name of a class", "b"]
    dom = drawn(browser, Report("evaluate", DATA, [learner]), tmp_path)
    assert ">a very…class</th>" in dom
    assert 'title="a very long name of a class"' in dom


def test_a_table_wider_than_the_page_says_so(browser, tmp_path):
    assert 'class="scroll wide"' in drawn(browser, a_comparison(), tmp_path, 500)
    assert 'class="scroll wide"' not in drawn(browser, a_comparison(), tmp_path, 1600)


def test_the_first_sentence_has_the_figures_that_decide():
    held = a_classifier(holdout={"error": 0.25}, folds={"mean": 0.5})
    assert ", 12.30 % error, 25.00 % in hold-out, 50.00 % in folds." in Report("evaluate", DATA, [held]).to_html()
    assert "<strong>rls</strong>, RMSE 0.25." in a_regression().to_html()


def test_a_sweep_draws_the_figure_that_decides_first():
    learners = [a_classifier(f"pa1 C={C}", 0.1, C, folds={"mean": C}) for C in (0.1, 0.2)]
    view = page.sweep_view(Report("sweep", DATA, learners).learners)
    assert view["measures"][0] == {"key": "folds", "title": "error in folds", "percent": True, "log": False}
    assert view["lines"][0]["folds"] == [0.1, 0.2]


def test_a_pool_is_compared_with_its_best_learner():
    found = a_regret(against="the best learner of the pool, PA1(),", loss="zero_one")
    pool = [{"learner": "PA1()", "weight": 1.0, "loss": 450.0}]
    text = Report("evaluate", DATA, [a_classifier(regret=found, pool=pool)]).to_html()
    assert '"loss":"expected 0/1","best":"best learner of the pool"' in text
    assert '<div class="scroll"><table class="figures"><thead><tr><th>learner</th><th>weight</th>' in text  # a phone is narrower


def test_the_page_says_that_no_theorem_holds():
    found = a_regret(bound=None, bound_measures=None, bound_why="it needs two classes")
    text = Report("evaluate", DATA, [a_classifier(regret=found)]).to_html()
    assert "<dt>Theorem</dt><dd>No theorem bounds it here: it needs two classes.</dd>" in text


def test_one_learner_has_a_list_of_metrics_without_doubles():
    learner = a_classifier()
    learner["metrics"]["log_loss"] = learner["losses"]["log"]
    text = Report("evaluate", DATA, [learner]).to_html()
    assert "<div><dt>hinge loss</dt><dd>0.369</dd></div>" in text
    assert text.count("<dt>log loss</dt>") == 1


def test_large_numbers_in_a_legend_are_short(browser, tmp_path):
    curve = a_regret()["curve"] | {"cumulative": [1.0, 2.0, 115488600000000.0], "comparator": [1.0, 2.0, 16389.9128]}
    dom = drawn(browser, Report("evaluate", DATA, [a_classifier(regret=a_regret(curve=curve))]), tmp_path)
    assert ">1.155e14<" in dom
    assert ">16,390<" in dom


def test_the_first_examples_do_not_set_the_scale():
    assert plots.settled([1, 9, 10, 100], [1.0, 0.8, 0.5, None]) == [0.5, None]
    assert plots.settled([1, 9, 10, 99], [1.0, 0.8, 0.5, 0.4]) == [1.0, 0.8, 0.5, 0.4]  # all of a short stream


def test_plots_have_the_baselines(tmp_path):
    trivial = [{"label": "majority class", "examples": 1000, "curve": {"examples": POINTS, "error": [0.5, 0.4, 0.4]}}]
    a_comparison(baselines=trivial).plot(tmp_path / "a.svg", "error")
    assert "(majority class)" in (tmp_path / "a.svg").read_text()


def test_a_large_confusion_matrix_becomes_its_commonest_mistakes():
    counts = np.eye(50, dtype=int) * 100
    counts[3, 7], counts[9, 1] = 20, 30
    found = page.confusion_view(plain({"labels": np.arange(50), "counts": counts}))
    assert found == {"pairs": [["9", "1", 30], ["3", "7", 20]]}


# ---- sweeps and plots ------------------------------------------------------------------------------------------------
def test_the_axis_of_a_sweep():
    found = summary.swept(a_sweep((1.0, 0.01, 0.1)).learners)
    assert (found.name, found.log, [[x for x, _ in points] for _, points in found.lines]) == ("C", True, [[0.01, 0.1, 1.0]])
    learners = a_sweep((1.0, 2.0, 3.0)).learners + a_sweep((1.0, 2.0)).learners
    for learner in learners[3:]:
        learner["params"]["fit_intercept"] = False
    found = summary.swept(learners)
    assert not found.log
    assert [label for label, _ in found.lines] == ["fit_intercept=True", "fit_intercept=False"]
    assert summary.swept(a_comparison().learners) is None


@pytest.mark.parametrize(
    ("make", "what"),
    [(a_comparison, "error"), (an_evaluation, "loss"), (an_evaluation, "regret"), (a_sweep, None), (a_regression, None)],
)
def test_plots_are_written(make, what, tmp_path):
    report = make()
    report.data["true_drifts"] = [400]
    report.plot(tmp_path / "p.png", what)
    report.plot(tmp_path / "p.svg", what)
    png = (tmp_path / "p.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000
    import xml.etree.ElementTree as Tree

    assert len(list(Tree.fromstring((tmp_path / "p.svg").read_bytes()).iter())) > 50


def test_plots_take_names_that_mean_something_to_matplotlib(tmp_path):
    bounded = a_regret(bound_measures="mistakes")
    report = Report(
        "compare", DATA, [a_classifier("_private $x_$", regret=bounded), a_classifier("模型", 0.1, regret=a_regret(value=-1.0))]
    )
    for what in ("error", "regret", "regrets"):
        report.plot(tmp_path / "p.png", what)
    with pytest.raises(ValueError, match="no regret of 'nobody'"):
        report.plot(tmp_path / "p.png", "regret", learner="nobody")


def test_a_runaway_curve_does_not_set_the_scale():
    kept = summary.together([[1.0, 0.5], [1.0, 0.4], [1.0, 1e9], [1.0, None, 0.3]])
    assert kept == [[1.0, 0.5], [1.0, 0.4], [1.0, None, 0.3]]


def test_what_cannot_be_plotted_says_what_can(tmp_path):
    with pytest.raises(ValueError, match=r"cannot plot 'regret': this report has error, window_error, loss, sweep"):
        a_sweep().plot(tmp_path / "p.png", "regret")
    with pytest.raises(ValueError, match=r"ends in .png or .svg"):
        a_sweep().plot(tmp_path / "p.gif")
    with pytest.raises(ValueError, match="nothing to plot"):
        Report("evaluate", DATA, [{"model": "pa"}]).plot(tmp_path / "p.png")


def test_without_matplotlib_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'noregret\[plots\]'"):
        a_sweep().plot(tmp_path / "p.png")


def test_reports_are_light_and_leave_the_backend_alone():
    code = """
import sys
from noregret.evaluation.report.report import Report
r = Report("evaluate", {}, [{"model": "pa", "curve": {"examples": [1, 2], "error": [1.0, 0.5]}}])
str(r), r.to_html()
assert not {"matplotlib", "numba", "scipy", "sklearn"} & set(sys.modules)
from noregret.evaluation.report import plots
assert plots.draw(r, "error", "png")
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
