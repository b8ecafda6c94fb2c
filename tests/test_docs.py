"""The documentation is true: code in it runs, pages made from the code are current, nothing is left out, links lead somewhere."""

import doctest
import importlib
import importlib.util
import inspect
import pathlib
import pkgutil
import re

import click
import pytest

import noregret as nr
from noregret import families
from noregret.cli import COMMANDS, main
from noregret.cli.cite import references
from noregret.registry import load_all

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
MODULES = ["noregret", "noregret.checks", *(f"noregret.families.{m.name}" for m in pkgutil.iter_modules(families.__path__))]
LEARNERS = sorted(name for name, cls in load_all().items() if cls.__module__.startswith("noregret."))


def read(name):
    return (ROOT / name).read_text("utf-8")


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- code runs -------------------------------------------------------------------------------------------------------
def blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("path", [p for p in PAGES if p.name != "learners.md"], ids=lambda p: p.name)
def test_code_in_pages(path):
    text = "\n".join(block for block in blocks(path.read_text("utf-8")) if ">>>" in block)
    said, runner = [], doctest.DocTestRunner()
    runner.run(doctest.DocTestParser().get_doctest(text, {}, path.name, path.name, 0), out=said.append)
    assert runner.failures == 0, "".join(said)


def test_the_algorithm_in_the_readme_is_the_example():
    whole = [block for block in blocks(read("README.md")) if ">>>" not in block]
    assert [block.strip() for block in whole] == [read("examples/own_algorithm.py").strip()]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    module = importlib.import_module(name)
    said = doctest.testmod(module)
    assert said.failed == 0
    assert said.attempted > 0


# ---- every learner ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", LEARNERS)
def test_learner_is_documented(name):
    cls = load_all()[name]
    doc = inspect.getdoc(cls)
    assert doc.splitlines()[0].rstrip().endswith("."), "the first line is a sentence"
    assert re.search(r"\(\d{4}\)", doc), "a reference with its year"
    assert ">>>" in doc, "an example"
    assert cls.cite in references()
    assert re.search(r"\b(19|20)\d\d\b", references()[cls.cite])
    assert cls.__name__ in nr.__all__
    assert getattr(nr, cls.__name__) is cls


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_is_in_the_reference(name):
    cls, page = load_all()[name], read("docs/learners.md")
    section = page.split(f"\n### {cls.__name__}\n")[1].split("\n### ")[0]
    assert f"`{name}`" in section
    for parameter in cls.defaults:
        assert f"`{parameter}" in section, parameter
    assert f"`{cls.cite}`" in section
    assert f"`{cls.__name__}`" in read("README.md")


def test_every_family_has_a_heading(generate):
    assert {cls.__module__.rsplit(".", 1)[-1] for cls in map(load_all().get, LEARNERS)} == set(generate.FAMILIES)


def test_readme_counts_learners():
    assert f"{len(LEARNERS)} learners" in read("README.md")
    assert f"{len(LEARNERS)} learners" in read("CHANGELOG.md")


# ---- pages are current -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["learners.md", "cli.md"])
def test_generated_page_is_current(generate, name):
    assert read(f"docs/{name}") == generate.PAGES[name](), "run python docs/generate.py"


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
    options = {k for cls in load_all().values() for k in cls.defaults} - {
        f for cls in load_all().values() for f in cls.Params._fields
    }
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
            assert anchor in {h.lower().replace(" ", "-") for h in headings}, target
