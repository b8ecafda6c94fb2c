"""The documentation is true: code in it runs, pages made from the code are current, nothing is left out, links lead somewhere."""

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import click
import numpy as np
import pytest

import noregret as nr
from noregret import families, portfolio, vocabulary
from noregret.allocations.allocator import Allocator
from noregret.cli import COMMANDS, main
from noregret.cli.cite import references
from noregret.engine import compiling
from noregret.evaluation.measures.drift import DETECTORS
from noregret.evaluation.report.report import KEYS
from noregret.evaluation.runs.run import ACTIONS
from noregret.registry import by_name
from noregret.streams.formats import FORMATS
from noregret.streams.synthetic import COMMON, SOURCES
from noregret.unsupervised.without_targets import Unlabelled

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
SHOWN = [p for p in PAGES if "```console" in p.read_text("utf-8")]
MODULES = [
    "noregret",
    "noregret.checks",
    "noregret.evaluation.runs.study",
    "noregret.training.job",
    "noregret.streams.stream",
    "noregret.transforms.namespaces",
    "noregret.transforms.nystroem",
    "noregret.transforms.pipeline",
    "noregret.transforms.random_features",
    "noregret.transforms.scale",
    "noregret.transforms.table",
    "noregret.vocabulary",
    *(f"noregret.families.{m.name}" for m in pkgutil.iter_modules(families.__path__)),
    *(f"noregret.unsupervised.{name}" for name in ("dictionary", "pca", "svd")),
    "noregret.evaluation.comparator.subspace",
    "noregret.portfolio",
    *(f"noregret.portfolio.{name}" for name in portfolio.NAMES),
]
LEARNERS = sorted(name for name, cls in by_name().items() if cls.__module__.startswith("noregret."))
OF_ROWS = [name for name in LEARNERS if not issubclass(by_name()[name], (Allocator, Unlabelled))]


def read(name):
    return (ROOT / name).read_text("utf-8")


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- code runs -------------------------------------------------------------------------------------------------------
def blocks(text, language="python"):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("path", [p for p in PAGES if p.name != "learners.md"], ids=lambda p: p.name)
def test_code_in_pages(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "\n".join(block for block in blocks(path.read_text("utf-8")) if ">>>" in block)
    said, runner = [], doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(doctest.DocTestParser().get_doctest(text, {}, path.name, path.name, 0), out=said.append)
    assert runner.failures == 0, "".join(said)


def test_the_algorithm_in_the_readme_is_the_example():
    whole = [block for block in blocks(read("README.md")) if ">>>" not in block]
    assert [block.strip() for block in whole] == [read("examples/own_algorithm.py").strip()]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    module = importlib.import_module(name)
    # Examples of a few rows: interpreted, they give the same bits without a minute of compiling.
    with contextlib.nullcontext() if name == "noregret.checks" else compiling.interpreted():
        said = doctest.testmod(module)
    assert said.failed == 0
    assert said.attempted > 0


# ---- commands run ----------------------------------------------------------------------------------------------------
def commands(text):
    """Return the commands of the console blocks of a page: what to run, the exit code, what it prints.

    A command begins with `$ ` and may go on in lines that begin with `> `; `# exit 1` at its end says that it fails so.
    """
    found = []
    for line in "".join(blocks(text, "console")).splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0].append(line[2:])
        else:
            found[-1][1].append(line)
    for lines, expected in found:
        code = re.search(r"# exit (\d+)$", lines[0])
        yield "\n".join(lines), int(code[1]) if code else 0, "\n".join(expected).strip()


# Lines that come when a machine is slow.
PROGRESS = re.compile(r"^([\d,]+ rows?, (\d+ %, )?\d+ s, |regret: step ).*\n", re.M)


# Lines that come where code is for another processor level than the usual one.
LEVEL = re.compile(r"^(learned by  |Learned by )(code for|interpreted).*\n?", re.M)
NUMBER = r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"


def alike(expected, said):
    """Return whether an output is as shown: `...` is anything, and another processor may round numbers otherwise."""
    parts = re.split(rf"(\.\.\.|{NUMBER})", expected)
    shown = [part for part in parts[1::2] if part != "..."]
    text = "".join(re.escape(part) if i % 2 == 0 else ".*?" if part == "..." else f"({NUMBER})" for i, part in enumerate(parts))
    found = re.fullmatch(re.sub(r"(\\ )+", " +", text), said, re.S)
    return found is not None and [number(v) for v in found.groups()] == pytest.approx([number(v) for v in shown], rel=0.01)


def number(text):
    return float(text.replace(",", ""))


def test_an_output_is_as_shown_but_for_rounding():
    assert alike("a  466.2 of ... rows\nb", "a 466.1 of 5 rows\nb")
    assert not alike("a 466.2 of ... rows\nb", "a 480.1 of 5 rows\nb")
    assert not alike("a 466.2 of ... rows\nb", "c 466.2 of 5 rows\nb")
    assert not alike("a 466.2", "a 466.2 and more")


def test_the_runner_reads_what_a_page_shows():
    page = "x\n```console\n$ cat > a <<E\n> 1\n> E\n$ false  # exit 1\nno\n...\n\n$ true\n```\n"
    assert list(commands(page)) == [("cat > a <<E\n1\nE", 0, ""), ("false  # exit 1", 1, "no\n..."), ("true", 0, "")]
    slow = "5,304,320 rows, 2 s, 2.6M rows/s, error 15.63 %\nregret: step 32, to within 0.09 %\n3 rows, error 0.00 %.\n"
    assert PROGRESS.sub("", slow) == "3 rows, error 0.00 %.\n"


@pytest.mark.parametrize("path", SHOWN, ids=lambda p: p.name)
def test_commands_in_pages(path, tmp_path):
    bin_directory = os.path.dirname(sys.executable)
    settings = {"PATH": f"{bin_directory}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80", "PYTHONUTF8": "1", "TERM": "dumb"}
    settings |= dict.fromkeys(("NOREGRET_PLUGINS", "NOREGRET_DEBUG"), "")
    for command, code, expected in commands(path.read_text("utf-8")):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=os.environ | settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        shown = LEVEL.sub("", PROGRESS.sub("", done.stdout.decode()))
        said = "\n".join(line.rstrip() for line in shown.splitlines()).strip()
        assert done.returncode == code, f"$ {command}\n{said}"
        assert alike(expected, said), f"$ {command}\nexpected:\n{expected}\ngot:\n{said}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_shown(name):
    assert re.search(rf"^\$ (.*[|] )?(\S+=\S+ )?noregret {name}\b", read("docs/tutorial.md") + read("README.md"), re.M)


# ---- every learner ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", LEARNERS)
def test_learner_is_documented(name):
    cls = by_name()[name]
    doc = inspect.getdoc(cls)
    assert doc.splitlines()[0].rstrip().endswith("."), "the first line is a sentence"
    assert re.search(r"\(\d{4}\)", doc), "a reference with its year"
    assert ">>>" in doc, "an example"
    assert cls.cite in references()
    assert re.search(r"\b(19|20)\d\d\b", references()[cls.cite])
    room = nr.portfolio if name.startswith("portfolio.") else nr
    assert cls.__name__ in room.__all__
    assert getattr(room, cls.__name__) is cls


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_is_in_the_reference(name, generate):
    cls, page = by_name()[name], read("docs/learners.md")
    section = page.split(f"\n### {generate.public(cls)}\n")[1].split("\n### ")[0]
    assert f"`{name}`" in section
    for parameter in cls.defaults:
        assert f"`{parameter}" in section, parameter
    assert f"`{cls.cite}`" in section
    assert f"`{generate.public(cls)}`" in read("README.md")


def test_every_family_has_a_heading(generate):
    homes = {cls.__module__.rsplit(".", 1)[-1] for cls in map(by_name().get, LEARNERS)}
    assert set(generate.FAMILIES) <= homes
    for home in homes:
        assert f"\n## {generate.heading(home)}\n" in read("docs/learners.md")


def test_readme_counts_learners():
    assert f"{len(OF_ROWS)} learners" in read("README.md")
    assert f"{len(OF_ROWS)} learners" in read("CHANGELOG.md")


# ---- pages are current -----------------------------------------------------------------------------------------------
PARTS = ["docs/learners.md", "docs/cli.md", "src/noregret/families/__init__.py", "README.md", "CHANGELOG.md"]


@pytest.mark.parametrize("name", PARTS)
def test_generated_page_is_current(generate, name):
    assert list(generate.PAGES) == PARTS
    assert read(name) == generate.PAGES[name](), "run python docs/generate.py"


def test_a_learner_that_the_readme_does_not_name_gets_a_row(generate, monkeypatch):
    monkeypatch.setattr(generate, "own", lambda: [nr.PA1, type("Newcomer", (), {})])
    text = generate.readme()
    assert "| also | `Newcomer` |" in text
    assert "\n2 learners." in text


def test_commands_and_options_are_documented():
    page, context = read("docs/cli.md"), click.Context(main)
    for name in COMMANDS:
        section = page.split(f"## noregret {name}\n")[1].split("\n## ")[0]
        for parameter in main.get_command(context, name).params:
            for text in [*parameter.opts, *parameter.secondary_opts]:
                assert (text if text.startswith("-") else text.upper()) in section, (name, text)
        assert f"noregret {name}" in read("CHANGELOG.md")
        assert f"`{name}`" in read("README.md") or f"noregret {name}" in read("README.md")


def test_options_verbs_and_attributes_are_documented():
    page = read("docs/api.md")
    of_rows = [by_name()[name] for name in OF_ROWS]
    options = {k for cls in of_rows for k in cls.defaults} - {f for cls in of_rows for f in cls.Params._fields}
    public = {
        k for cls in (nr.Classifier, nr.Regressor, nr.OneClass) for k in dir(cls) if k.endswith("_") and not k.startswith("_")
    }
    verbs = {
        "learn_one",
        "learn_many",
        "partial_fit",
        "fit",
        "predict_one",
        "predict",
        "decision_function",
        "score",
        "merge",
        "save",
        "reset",
        "clone",
        "get_params",
        "set_params",
    }
    for word in options | (public - {"offset_"}) | verbs:
        assert f"`{word}" in page, word


def test_parameters_of_portfolios_are_documented():
    page = read("docs/portfolios.md")
    for name in nr.algorithms("portfolio"):
        for parameter in by_name()[name].defaults:
            assert re.search(rf"[`( ]{parameter}=", page), (name, parameter)
    for name in nr.portfolio.__all__:
        assert re.search(rf"\b{name}\(|`{name}`", page), name


def test_parameters_of_components_are_documented():
    page = read("docs/components.md")
    for name in nr.algorithms("components"):
        for word in by_name()[name].defaults:
            assert re.search(rf"[`( ]{word}[=`]", page), (name, word)
        for word in [k for k in dir(by_name()[name]) if not k.startswith("_") and k.endswith("_")]:
            if word not in dir(nr.Classifier) and word != "lambda_":
                assert f"`{word}" in page or f"m.{word}" in page, (name, word)


def test_sources_are_documented():
    page = read("docs/streams.md")
    made = page.partition("## Synthetic streams")[2].splitlines()
    for name, source in SOURCES.items():
        row = next(line for line in made if line.startswith(f"| `{name}` |"))
        assert all(f"`{option}`" in row for option in source.options if option not in COMMON), name
    for f in FORMATS.values():
        if f.suffixes:
            assert f"| `{f.name}` | {', '.join(f'`.{s}`' for s in f.suffixes)} | {f.help} |" in page
        assert all(f'`"{scheme}:' in page for scheme in f.schemes)
    for word in inspect.signature(nr.Table).parameters:
        assert f"`{word}" in page, word
    for option in inspect.signature(nr.stream).parameters.values():
        if option.kind is option.KEYWORD_ONLY and option.name != "front":
            assert re.search(rf"`{option.name}\b", page), option.name


def test_figures_and_keys_are_documented():
    page = read("docs/evaluation.md")
    found = nr.compare("synthetic:linear?n=200", "perceptron").to_dict()
    learner, real = found["learners"][0], nr.evaluate("synthetic:friedman?n=200", "pa1_regressor").learners[0]
    one_class = nr.evaluate((np.eye(3)[[0, 1, 2, 0]], [1, 1, -1, 1]), "pa_uniclass").learners[0]
    words = [
        *KEYS,
        *one_class["losses"],
        *one_class["metrics"],
        *learner["losses"],
        *learner["metrics"],
        *real["losses"],
        *real["metrics"],
        *learner["regret"],
        *found,
    ]
    words += [*learner["regret"]["curve"], *learner["curve"], *found["data"], *DETECTORS, *ACTIONS]
    for word in words:
        assert f"`{word}`" in page or f'`"{word}"`' in page or f'"{word}"`' in page, word


def test_public_names_are_documented():
    pages = "".join(path.read_text("utf-8") for path in PAGES if path.name != "learners.md")
    for name in nr.__all__:
        assert f"nr.{name}" in pages or f"`{name}" in pages, name


def test_the_vocabulary_is_documented():
    section = read("CONTRIBUTING.md").split("\n## The vocabulary\n")[1].split("\n## ")[0]
    first = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    named = {name for cell in first for name in re.findall(r"`([A-Za-z]\w*)", cell)}
    assert named <= {*vocabulary.__all__}
    assert [name for name in vocabulary.__all__ if not re.search(rf"`@?{name}\b", section)] == []


def test_laws_are_documented():
    page = read("docs/laws.md")
    for name in nr.checks.LAWS:
        assert f"`{name}`" in page, name


def test_settings_are_documented():
    for path in (ROOT / "src").rglob("*.py"):
        for setting in re.findall(r"NOREGRET_\w+", path.read_text("utf-8")):
            assert setting in read("README.md"), (path.name, setting)


def test_version_is_the_same_everywhere():
    assert re.search(r"^version: (.*)$", read("CITATION.cff"), re.M)[1] == nr.__version__


# ---- names and links -------------------------------------------------------------------------------------------------
def test_public_names():
    assert nr.__all__ == sorted(set(nr.__all__))
    for name in nr.__all__:
        assert getattr(nr, name) is not None
    assert set(dir(nr)) >= set(nr.__all__)
    with pytest.raises(AttributeError, match="no attribute 'PA3'"):
        nr.PA3  # noqa: B018


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_links(path):
    text = path.read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("http"):
            continue
        name, _, anchor = target.partition("#")
        found = (path.parent / name) if name else path
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", found.read_text("utf-8"), re.M)
            assert anchor in {h.lower().replace(" ", "-").replace(".", "") for h in headings}, target


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_files_that_a_page_names_are_there(path):
    there = [f"/{p.relative_to(ROOT)}" for room in ("src", "tests", "docs", "examples") for p in (ROOT / room).rglob("*.py")]
    for name in re.findall(r"`(?:\S+ )?([\w/]+\.py)`", path.read_text("utf-8")):
        assert any(p.endswith(f"/{name}") for p in there), name
