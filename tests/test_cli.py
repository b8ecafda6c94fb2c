"""The command line: what is printed, exit codes, and what is not imported."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import COMMANDS, main, warm
from noregret.cli.cite import references
from noregret.cli.options import TASKS
from noregret.engine import code_cache, compiling

HEAVY = ("numba", "numpy", "scipy", "sklearn", "pandas", "river")


def run(*args, code=0, env=None):
    result = CliRunner().invoke(main, list(args), env=env)
    assert result.exit_code == code, (result.output, result.exception)
    return result


# ---- starting --------------------------------------------------------------------------------------------------------
def python(text):
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("args", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_imports_nothing_heavy(args):
    out = python(
        "import sys\nfrom noregret.cli import main\n"
        f"try:\n    main({args!r}, prog_name='noregret')\nexcept SystemExit as e:\n    assert e.code == 0\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert out.endswith("[]\n")
    assert nr.__version__ in out or "Usage: noregret" in out


def test_import_is_light():
    assert python(f"import sys, noregret\nprint([m for m in {HEAVY!r} if m in sys.modules])") == "[]\n"
    assert python(
        "import sys, noregret as nr\nnr.PA1(C=2).get_params()\nprint('numba' in sys.modules, 'sklearn' in sys.modules)"
    ) == ("False False\n")


def test_help_of_a_learner_compiles_nothing():
    out = python(
        "import sys\nfrom noregret.cli import main\n"
        "try:\n    main(['evaluate', '--model', 'pa1', '--help'], prog_name='noregret')\n"
        "except SystemExit as e:\n    assert e.code == 0\n"
        "print([m for m in ('numba', 'scipy', 'sklearn', 'pyarrow', 'rich') if m in sys.modules])"
    )
    assert "Options of pa1" in out
    assert out.endswith("[]\n")


def test_training_imports_what_it_uses(tmp_path):
    (tmp_path / "small.svm").write_text("1 1:1\n-1 2:1\n" * 5)
    args = ["train", str(tmp_path / "small.svm"), "--model", "pa1", "--save", str(tmp_path / "m.nr"), "--quiet"]
    rooms = ("noregret.families.", "noregret.evaluation.comparator.", "noregret.portfolio.", "noregret.forests.", "noregret.pools.")
    apart = (
        "noregret.unsupervised.hdp",
        "noregret.transforms.learned",
        "noregret.transforms.nystroem",
        "rich",
        "pyarrow",
    )
    code = (
        f"import sys\nfrom noregret.cli import main\ntry:\n    main({args!r})\nexcept SystemExit as e:\n    assert e.code == 0\n"
        f"print([m for m in sys.modules if m.startswith({rooms!r}) or m in {apart!r}])"
    )
    python(code)  # what is compiled is kept: the second process finds it
    found = python(code)
    assert found.endswith("['noregret.families.passive_aggressive', 'noregret.portfolio.prices']\n")


@pytest.mark.skipif(sys.platform == "win32", reason="counts the processor time of child processes")
def test_help_is_quick():
    import resource

    def seconds(*args):
        def once():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *args], stdout=subprocess.DEVNULL, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

        return min(once() for _ in range(5))

    assert seconds("-m", "noregret.cli", "--help") - seconds("-c", "pass") < 0.15


def test_help_names_every_command():
    text = run("--help").output
    for name in COMMANDS:
        assert re.search(rf"^  {name}  +[A-Z].*\.$", text, re.M), name


def test_version():
    assert run("--version").output == f"noregret, version {nr.__version__}\n"


def test_wrong_usage():
    assert "No such command 'algorithm'" in run("algorithm", code=2).output
    assert "No such option" in run("algorithms", "--rows", "5", code=2).output


def test_interrupt(monkeypatch):
    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("noregret.cli.algorithms.learners", stop)
    result = run("algorithms", code=130)
    assert "Traceback" not in result.output
    assert "Aborted" not in result.output


# ---- algorithms ------------------------------------------------------------------------------------------------------
def test_algorithms():
    text = run("algorithms").output
    lines = text.splitlines()
    assert lines[0].split() == ["name", "class", "task", "merge", "summary"]
    for name in nr.algorithms():
        assert any(line.startswith(f"{name} ") and type(nr.learner(name)).__name__ in line for line in lines), name
    assert all(line == line.rstrip() for line in lines)


def test_algorithms_of_a_task():
    text = run("algorithms", "--task", "regression").output
    assert "pa1_regressor" in text
    assert "AveragedPerceptron" not in text
    assert "'ranking' is not one of" in run("algorithms", "--task", "ranking", code=2).output
    text = run("algorithms", "--task", "recommendation").output
    assert "RatingSVD" in text
    assert "fm_regressor is the usual one" in text


def test_algorithms_as_json():
    found = json.loads(run("algorithms", "--json").output)
    rest = [name for task in ("components", "experts", "portfolio", "topics") for name in nr.algorithms(task)]
    apart = ["multitask", "multitask_regressor", "recommendation.online_svd"]
    assert sorted(a["name"] for a in found) == sorted([*nr.algorithms(), *apart, *rest])
    assert {a["task"] for a in found} == {*TASKS}
    one = next(a for a in found if a["name"] == "pa1")
    assert one == {
        "name": "pa1",
        "class": "PA1",
        "task": "classification",
        "merges": "approximate",
        "bound": nr.PA1.bound.name,
        "cite": "crammer2006",
        "summary": nr.PA1.__doc__.splitlines()[0],
    }
    assert [a["name"] for a in json.loads(run("algorithms", "--task", "one_class", "--json").output)] == nr.algorithms("one_class")


# ---- cite ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", nr.algorithms())
def test_cite(name):
    text = run("cite", name).output
    assert text.startswith("@")
    assert text.endswith("}\n")
    assert text.count("{") == text.count("}")
    assert f"{{{type(nr.learner(name)).cite}," in text
    for field in ("author", "title", "year", "pages"):
        assert re.search(rf"^  {field} +=", text, re.M), field


def test_cite_as_json():
    found = json.loads(run("cite", "pa1", "--json").output)
    assert found == {"name": "pa1", "cite": "crammer2006", "bibtex": references()["crammer2006"]}


def test_cite_unknown():
    text = run("cite", "PA3", code=2).output
    assert "no learner is called 'PA3'. Did you mean pa" in text
    assert all(name in text for name in nr.algorithms())
    assert "Did you mean" not in run("cite", "zzzzzz", code=2).output
    assert "Missing argument 'NAME'" in run("cite", code=2).output


def test_every_reference_is_used():
    more = {"cesabianchi2006", "crammer2009multi", "yang2013"}  # selective sampling; second order with many classes; many tasks
    more |= {nr.RandomFourier.cite, nr.RandomBinning.cite, nr.Nystroem.cite, "lu2016", "salmon2011", "yu2016"}
    more |= {"oja1982", "warmuth2006pca", "weng2003"}  # methods of OnlinePCA
    names = [*nr.algorithms(), *(name for task in ("components", "experts", "portfolio", "topics") for name in nr.algorithms(task))]
    assert set(references()) == {type(nr.learner(name)).cite for name in names} | more


# ---- warm ------------------------------------------------------------------------------------------------------------
def test_warm_fills_a_cache(tmp_path):
    env = {**os.environ, "NOREGRET_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "noregret.cli", "warm", "--quick", "pa_regressor", "pa1_regressor"]
    first, second = (subprocess.run(command, env=env, capture_output=True, text=True, check=False) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr
    assert re.search(r"^pa_regressor +\d+ functions? compiled in [\d.]+ s$", first.stdout, re.M)
    assert str(tmp_path) in first.stdout.splitlines()[-1]
    assert re.search(r"^pa1_regressor +in the cache already$", second.stdout, re.M)
    assert list(tmp_path.glob("pa_regressor_dense_learn_*.json"))


def test_what_is_warm_is_not_compiled_again():
    run("warm", "pa", "--jobs", "1")
    before = compiling.compilations()
    for rows in ([[1.0, 0.0], [0.0, 1.0]], [{"a": 1.0}, {"b": 1.0}]):
        for labels in ([1, -1], ["x", "y"]):
            nr.PA().partial_fit(rows, labels).predict(rows)
    assert compiling.compilations() == before


def test_warm_as_json():
    found = json.loads(run("warm", "pa", "--jobs", "1", "--json").output)
    assert found["learners"] == ["pa"]
    assert found["cache"] == str(code_cache.directory())


def test_warm_refuses():
    assert "no learner is called 'pb1'. Did you mean" in run("warm", "pb1", code=2).output
    assert "Invalid value for '--jobs'" in run("warm", "--jobs", "0", code=2).output


def test_warm_without_a_cache(tmp_path):
    (tmp_path / "file").write_text("")
    env = {**os.environ, "NOREGRET_CACHE": str(tmp_path / "file" / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "noregret.cli", "warm", "pa", "--jobs", "1"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: cannot cache compiled code in")


def test_warm_has_nothing_to_do_interpreted():
    with compiling.interpreted():
        assert "NOREGRET_JIT=0" in run("warm", "pa", code=1).output


def test_warm_reports_a_failed_process(monkeypatch):
    monkeypatch.setattr(warm, "share", lambda *args: False)
    assert "not everything was compiled" in run("warm", "pa", "pa1", "--jobs", "2", code=1).output


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_inside_the_compiler(tmp_path):
    env = {**os.environ, "NOREGRET_CACHE": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "noregret.cli", "warm", "--quick", "--jobs", "1", "pa_regressor", "eg", "eg_pm"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        assert "pa_regressor" in p.stdout.readline()
        p.send_signal(signal.SIGINT)
        _, errors = p.communicate(timeout=20)
    assert p.returncode == 130
    assert "Traceback" not in errors


def test_algorithms_fit_a_terminal():
    from noregret.cli.algorithms import in_paragraphs, learners

    lines = in_paragraphs(learners(), 60).splitlines()
    assert max(map(len, lines)) <= 60
    words = " ".join(" ".join(lines).split())
    for found in learners():
        assert found["name"] in words
        assert " ".join(found["summary"].split()) in words


def test_regret_against_an_l1_ball():
    with compiling.interpreted():
        said = run("evaluate", "synthetic:linear?n=300&d=4", "--model", "eg_pm", "-U", "2", "--regret-norm", "l1").output
    assert "the best fixed model with |u|_1 <= 2 lost" in " ".join(said.split())
    assert "'l1'" in run("evaluate", "synthetic:linear?n=300", "--regret-norm", "l3", code=2).output
