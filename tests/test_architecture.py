"""The plan of the house: imports form a DAG, numba has one door, importing is light, public names are complete."""

import ast
import pathlib
import re
import subprocess
import sys

import noregret as nr
from noregret.evaluation import kinds
from noregret.training import by_task

ROOT = pathlib.Path(nr.__file__).parent
ORDER = [  # each may import what stands before it
    "text",
    "version",
    "spec",
    "owners",
    "engine",
    "inputs",
    "spaces",
    "algorithm",
    "files",
    "calibration",
    "learners",
    "allocations",
    "parts",
    "tasks",
    "families",
    "forests",
    "portfolio",
    "unsupervised",
    "transforms",
    "pools",
    "registry",
    "spelling",
    "recommender",
    "vocabulary",
    "streams",
    "training",
    "evaluation",
    "checks",
    "river",
    "cli",
]
EVALUATION = ["measures", "kinds", "comparator", "report", "runs"]  # the same, inside the room


def imports(path):
    """(module inside noregret, whether at the top level) of every import of a file, those for types alone left out."""
    tree = ast.parse(path.read_text())
    top = {id(n) for n in tree.body}
    typing = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    left_out = {id(inner) for n in typing for inner in ast.walk(n)}
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Import):
            for a in node.names:
                yield a.name, id(node) in top
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or "", id(node) in top
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1]
            for name in [node.module] if node.module else [a.name for a in node.names]:
                yield ".".join(("noregret", *base, name)), id(node) in top


def test_rooms_import_only_what_stands_before_them():
    """Imports inside functions count too. What must be found from below is in one table, `owners`."""
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0].removesuffix(".py")
        for module, _ in imports(path):
            parts = module.split(".")
            if room != "__init__" and parts[0] == "noregret" and len(parts) > 1:
                assert ORDER.index(parts[1]) <= ORDER.index(room), f"{path.relative_to(ROOT)} imports {module}"


def test_contributing_lists_the_rooms_in_order():
    page = (ROOT.parent.parent / "CONTRIBUTING.md").read_text("utf-8")
    rows = page.split("\n| in `src/noregret/` | holds |\n")[1].split("\n\n")[0].splitlines()[1:]
    assert [name for row in rows for name in re.findall(r"`(\w+)(?:/|\.py)`", row.split(" | ")[0])] == ORDER


def test_modules_form_no_cycle():
    """Within a room too, at the top of files."""
    above = {}
    for path in ROOT.rglob("*.py"):
        name = ".".join(("noregret", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        above[name] = {module for module, top in imports(path) if top and module.startswith("noregret.")}
    while free := {name for name, used in above.items() if not used & {*above} - {name}}:
        above = {name: used for name, used in above.items() if name not in free}
    assert not above


def test_rooms_of_evaluation_import_only_what_stands_before_them():
    for path in (ROOT / "evaluation").rglob("*.py"):
        room = path.relative_to(ROOT / "evaluation").parts[0].removesuffix(".py")
        for module, _ in imports(path):
            parts = module.removeprefix("noregret.evaluation.").split(".")
            if module.startswith("noregret.evaluation.") and parts[0] in EVALUATION:
                assert EVALUATION.index(parts[0]) <= EVALUATION.index(room), f"{path.name} imports {module}"


def test_what_depends_on_the_task_is_in_a_table():
    """Training and evaluation have an entry for each task; no code there, nor a command, asks which task it is."""
    for room in ("training", "evaluation", "cli"):
        for path in (ROOT / room).rglob("*.py"):
            assert not re.search(r"\.task\s*(==|!=|in\b)", path.read_text()), f"{path.name} compares the name of a task"
    own = [cls for cls in nr.registry.by_name().values() if cls.__module__.startswith("noregret.")]
    assert [*by_task.BY_TASK] == [*kinds.KINDS]
    assert {name for name, kind in kinds.KINDS.items() if not kind.of} == {cls.task for cls in own}
    assert all(kind.of in by_task.BY_TASK[name].of for name, kind in kinds.KINDS.items() if kind.of)


def test_no_two_files_of_one_name():
    names = [p.name for p in ROOT.rglob("*.py") if p.name not in ("__init__.py", "__main__.py")]
    assert len(names) == len(set(names)), sorted({n for n in names if names.count(n) > 1})


def test_only_the_engine_imports_numba():
    found = {p.name for p in ROOT.rglob("*.py") if any(m.split(".")[0] == "numba" for m, _ in imports(p))}
    assert found == {"compiling.py", "emitting.py", "target.py"}


def test_steps_reach_no_function_through_a_module():
    """`module.fn` is invisible to the fingerprint: an edit would not be seen. `math.` and `np.` are the exceptions."""
    for room in ("families", "forests", "parts", "portfolio", "unsupervised"):
        for path in (ROOT / room).glob("*.py"):
            tree = ast.parse(path.read_text())
            modules = {
                a.asname or a.name
                for n in ast.walk(tree)
                if isinstance(n, ast.ImportFrom) and n.level and not n.module
                for a in n.names
            }
            assert not modules, f"{path.name} imports modules {modules}: import the names"


def test_importing_is_light():
    heavy = ("numba", "sklearn", "pandas", "river", "scipy")
    code = f"import sys, noregret as nr; nr.PA1(); print([n for n in {heavy} if n in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_public_names_are_there_and_nothing_else():
    assert sorted(nr.__all__) == nr.__all__ == dir(nr)
    for name in nr.__all__:
        assert getattr(nr, name) is not None
    classes = {cls.__name__ for cls in nr.learners.base.REGISTRY.values() if cls.__module__.startswith("noregret.")}
    assert classes <= set(nr.__all__)


def test_typed():
    assert (ROOT / "py.typed").exists()


def test_no_file_is_a_drawer():
    for path in ROOT.rglob("*.py"):
        assert path.read_text().count("\n") <= 600, f"{path} is too long to hold in the head"


def test_versions_agree():
    text = (ROOT.parent.parent / "CITATION.cff").read_text()
    assert re.search(r"^version: \"?" + re.escape(nr.__version__.split(".dev")[0]), text, re.M)
