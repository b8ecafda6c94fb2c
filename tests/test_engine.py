"""The engine: kernels are cached, edits are seen, processes may race, a missing cache is no failure, errors are the user's own."""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
from typing import NamedTuple

import numpy as np
import pytest

import noregret as nr
from noregret.algorithm.state import Covariance, Weights
from noregret.engine import code_cache, compiling
from noregret.engine.words import strict
from noregret.registry import by_name
from noregret.spaces.examples import Pair, Whole, walk_dot
from noregret.spaces.weights import add, dot
from noregret.tasks.second_order import SecondOrder

LEARN = """
import warnings
import numpy as np, noregret as nr
from scipy.sparse import csr_matrix
from noregret.engine import compiling
from noregret.engine.words import strict
X = np.random.default_rng(0).standard_normal((30, 4)); y = np.where(X[:, 0] > 0, 1, -1)
m = nr.PA1().partial_fit(X, y); m.predict(X)
nr.PA1().partial_fit(csr_matrix(X), np.arange(30) % 3)
m.learn_one({0: 1.0}, 1)
print(compiling.compilations(), m.coef_.sum().round(9))
"""


SMALL = """
import numpy as np
from noregret.engine import compiling
from noregret.inputs.checking import sum_of_sizes
found = compiling.compiled(sum_of_sizes)(np.ones(3))
print(compiling.compilations(), found)
"""


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    """Return a cache of one function, and what the function says."""
    folder = tmp_path_factory.mktemp("cached")
    return folder, run(SMALL, folder)[0][1]


def run(code, cache, **env):
    env = {**os.environ, "NOREGRET_CACHE": str(cache), **env}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def test_a_later_process_compiles_nothing(tmp_path):
    (first, a), _ = run(LEARN, tmp_path)
    (later, b), _ = run(LEARN, tmp_path)
    assert int(first) > 0
    assert int(later) == 0
    assert a == b
    assert oct(tmp_path.stat().st_mode & 0o777) in ("0o700", "0o755", "0o750")  # pytest made the directory itself


def changed(content, how):
    """Return the content of a file after damage."""
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]
    return {"emptied": b"", "cut": content[:-3], "halved": content[:middle], "flipped": flipped}[how]


@pytest.mark.parametrize("ending", [".so", ".json"])
@pytest.mark.parametrize("how", ["emptied", "cut", "halved", "flipped"])
def test_damaged_files_of_the_cache_are_made_again(cached, tmp_path, ending, how):
    """Every kind of file, damaged in every way: compiled again once, and never run."""
    shutil.copytree(cached[0], tmp_path, dirs_exist_ok=True)
    damaged = [path for path in tmp_path.rglob(f"*{ending}") if path.is_file()]
    assert damaged
    for path in damaged:
        path.write_bytes(changed(path.read_bytes(), how))
    (first, a), _ = run(SMALL, tmp_path)
    (later, b), _ = run(SMALL, tmp_path)
    assert int(first) > 0
    assert int(later) == 0
    assert a == b == cached[1]


def test_a_cache_that_cannot_be_written_is_no_failure(cached, tmp_path):
    """Code that was compiled runs, though the disk is full or something else is in its place."""
    shutil.copytree(cached[0], tmp_path, dirs_exist_ok=True)
    for path in [*tmp_path.rglob("*.so")]:
        path.unlink()
        path.mkdir()
    assert run(SMALL, tmp_path)[0][1] == cached[1]


def test_the_cache_directory_is_private(tmp_path):
    run(LEARN, tmp_path / "kernels")
    assert (tmp_path / "kernels").stat().st_mode & 0o777 == 0o700


def test_processes_may_compile_at_once(tmp_path):
    env = {**os.environ, "NOREGRET_CACHE": str(tmp_path)}
    racing = [subprocess.Popen([sys.executable, "-c", LEARN], env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    sums = {p.communicate(timeout=300)[0].split()[1] for p in racing}
    assert all(p.returncode == 0 for p in racing)
    assert len(sums) == 1
    (later, same), _ = run(LEARN, tmp_path)
    assert int(later) == 0
    assert same in sums
    assert not [f for f in tmp_path.iterdir() if f.suffix not in (".so", ".json")], "drafts are left behind"


def test_no_cache_directory_is_one_warning(tmp_path):
    (tmp_path / "file").write_text("not a directory")
    (count, total), err = run(LEARN, tmp_path / "file" / "kernels")
    assert int(count) > 0
    assert err.count("cannot cache compiled code") == 1
    assert total == run(LEARN, tmp_path / "ok")[0][1]


def test_interpreted_gives_the_same(tmp_path):
    (count, total), _ = run(LEARN, tmp_path, NOREGRET_JIT="0")
    assert int(count) == 0
    assert not list(tmp_path.iterdir())
    assert float(total) == pytest.approx(float(run(LEARN, tmp_path)[0][1]), abs=1e-9)


def test_compiled_code_also_works_with_reference_counts(tmp_path):
    """_nrt is a private option of Numba: nothing must depend on it but speed and the refusal to allocate."""
    code = "from noregret.engine import compiling; del compiling.OPTIONS['_nrt']\n" + LEARN
    assert run(code, tmp_path)[0][1] == run(LEARN, tmp_path)[0][1]


MINE = """
from typing import NamedTuple
import noregret as nr
from noregret.algorithm.params import Positive
from noregret.algorithm.state import Weights
from noregret.spaces.weights import add, dot
from noregret.engine.words import word
from helper import twice

class Part(NamedTuple):
    pass

@word
def lift(part, v):
    "Return more."

@lift.on(Part)
def _(part, v):
    return v + 1.0

class Params(NamedTuple):
    eta: Positive = 1.0

class State(NamedTuple):
    w: Weights

def step(s, x, y, p):
    f = dot(s.w, x)
    add(s.w, p.eta * twice(lift(Part(), y)), x)
    return f, True

class Mine(nr.Regressor):
    "Mine."
    name = "mine"
    State, Params, step = State, Params, step

if __name__ == "__main__":
    import numpy as np
    from noregret.engine import compiling
    m = Mine(fit_intercept=False).partial_fit(np.ones((1, 1)), [1.0])
    print(compiling.compilations(), m.coef_[0])
"""


def test_edits_are_seen_wherever_they_are(tmp_path):
    (tmp_path / "helper.py").write_text("def twice(v):\n    return 2.0 * v\n")
    script = tmp_path / "mine.py"
    script.write_text(MINE)

    def outcome():
        env = {**os.environ, "NOREGRET_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, cwd=tmp_path, timeout=300)
        assert done.returncode == 0, done.stderr
        count, value = done.stdout.split()
        return int(count) > 0, float(value)

    assert outcome() == (True, 4.0)
    assert outcome() == (False, 4.0)  # cached, though it is a script
    script.write_text("# a comment changes nothing\n" + MINE)
    assert outcome() == (False, 4.0)
    script.write_text(MINE.replace("add(s.w, p.eta *", "add(s.w, 3.0 * p.eta *"))  # the step
    assert outcome() == (True, 12.0)
    script.write_text(MINE.replace("return v + 1.0", "return v + 2.0"))  # a part
    assert outcome() == (True, 6.0)
    script.write_text(MINE)
    (tmp_path / "helper.py").write_text("def twice(v):\n    return 5.0 * v\n")  # a function two calls down
    assert outcome() == (True, 10.0)
    assert outcome() == (False, 10.0)


def test_a_new_kind_recompiles_nothing(tmp_path):
    code = "from typing import NamedTuple\nfrom noregret.spaces.weights import dot\n" + textwrap.dedent("""
        class Elsewhere(NamedTuple):
            z: object

        @dot.on(Elsewhere)
        def _(w, x):
            return 0.0
        """)
    run(LEARN, tmp_path)
    (count, _), _ = run(code + LEARN, tmp_path)
    assert int(count) == 0


def learner(step, **texts):
    """A classifier with this step, not kept in the registry."""
    from noregret.families import passive_aggressive as pa

    cls = type("Odd", (nr.Classifier,), {"name": "odd", "State": pa.State, "Params": pa.Params1, "step": step, **texts})
    del nr.learners.base.REGISTRY["odd"]
    return cls()


def test_errors_are_in_the_terms_of_the_step():
    def allocates(s, x, y, p):
        z = np.zeros(3)
        return z[0], False

    def misspells(s, x, y, p):
        return p.gamma, False

    def strings(s, x, y, p):
        return "high" + y, False

    X, y = np.ones((2, 2)), [0, 1]
    with pytest.raises(TypeError, match=r"step 'allocates' cannot be compiled: a step may not allocate.*test_engine.py, line \d+"):
        learner(allocates).partial_fit(X, y)
    with pytest.raises(TypeError, match=r"step 'misspells'.*gamma.*test_engine.py, line \d+"):
        learner(misspells).partial_fit(X, y)
    with pytest.raises(TypeError, match=r"step 'strings' cannot be compiled"):
        learner(strings).partial_fit(X, y)
    with compiling.interpreted():
        assert learner(allocates).partial_fit(X, y).n_updates_ == 0


@pytest.mark.parametrize("y", [[0, 1], [0, 1, 2]])
def test_one_step_with_other_scores_is_another_driver(y):
    def scores(s, x, p):
        return dot(s.w, x)

    def opposes(s, x, p):
        return -dot(s.w, x)

    X = np.eye(3)[: len(y)]
    a, b, c = (learner(nr.PA1.step, **texts).partial_fit(X, y) for texts in ({}, {"score_row": scores}, {"score_row": opposes}))
    assert np.array_equal(a.decision_function(X), b.decision_function(X))
    assert np.array_equal(b.state.w, c.state.w) == (len(y) == 2)  # with two classes the step takes no notice of it
    assert np.array_equal(c.decision_function(X), -dot_of_all(c, X))


def dot_of_all(m, X):
    f = np.column_stack([X, np.ones(len(X))]) @ m.state.w.reshape(X.shape[1] + 1, -1)
    return f if f.shape[1] > 1 else m.task.margins(m.model, f)


def test_errors_of_a_score_are_in_its_terms_too():
    def misreads(s, x, p):
        return p.gamma * dot(s.w, x)

    m = learner(nr.PA1.step, score_row=misreads).partial_fit(np.eye(2), [0, 1])
    said = r"step 'misreads' cannot be compiled: .*gamma.*test_engine.py, line \d+"
    with pytest.raises(TypeError, match=said):
        m.predict(np.eye(2))
    with pytest.raises(TypeError, match=said):
        m.predict_one([1.0, 0.0])


class Misnamed(NamedTuple):
    w: Weights
    Sigma: Covariance


def test_mean_and_covariance_are_found_by_their_place():
    def step(s, x, y, p):
        f = dot(s.w, x)
        add(s.w, y, x)
        return f, True

    cls = type("Odd", (SecondOrder,), {"name": "odd", "State": Misnamed, "Params": nr.AROW.Params, "step": step})
    del nr.learners.base.REGISTRY["odd"]
    m = cls().partial_fit(np.eye(2), [0, 1])
    assert m.confidence(np.eye(2)).shape == (2,)


def test_a_word_without_a_case_says_so():
    from noregret.spaces.weights import scale

    def scales(s, x, y, p):
        scale(s.w, 0.5)
        return 0.0, True

    with pytest.raises(TypeError, match=r"scale\(ndarray, object\) has no meaning"):
        learner(scales).partial_fit(np.ones((2, 2)), [0, 1])


def test_kernels_release_the_gil():
    """A kernel must not hold the interpreter: while one runs, another thread makes progress."""
    import threading
    import time

    X = np.random.default_rng(0).standard_normal((400_000, 50))
    m = nr.PA1().partial_fit(X[:10], np.arange(10) % 2)
    rows = nr.inputs.checking.rows(X, "float64")
    y, out = np.where(X[:, 0] > 0, 1.0, -1.0), np.empty((len(X), 1))
    learn = m.model.loop("dense", False).learn
    ticks, done = [], threading.Event()

    def clock():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0)

    t = threading.Thread(target=clock)
    t.start()
    begin = time.perf_counter()
    learn(*m.model.args, *rows.arrays, y, m.model.tally, m.model.work, out)
    end = time.perf_counter()
    done.set()
    t.join()
    assert sum(begin < k < end for k in ticks) >= 2


def test_code_that_holds_the_gil_has_a_name_of_its_own():
    """The cache knows compiled code by its digest: without the GIL or with it must not be one name."""
    text = "@jit\ndef run(v):\n    return v + 1\n"
    free, held = (compiling.build("gil", text, {}, nogil=nogil) for nogil in (True, False))
    assert free["run"].digest != held["run"].digest
    assert free["run"].digest == compiling.build("gil", text, {})["run"].digest


def test_cache_directory_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("NOREGRET_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert code_cache.directory() == tmp_path / "noregret" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert code_cache.directory() == pathlib.Path("~/.cache/noregret/kernels").expanduser()


def test_a_strict_function_stays_strict_inside_one_that_is_not():
    compiled = compiling.compiled(loose_sum)
    assert compiled(1.0, 1e-17) == loose_sum(1.0, 1e-17) == -1e-17


@strict
def careful(a, b):
    return (a + b - a) - b


def loose_sum(a, b):
    return careful(a, b)


def test_formulas_are_taken_as_written_and_loops_over_features_are_not():
    dense = walk_dot.find([np.ndarray, np.ndarray, Whole])
    assert not compiling.taken_as_written(dense)
    assert not compiling.taken_as_written(walk_dot)  # a word is what its cases are
    assert compiling.taken_as_written(dot.find([np.ndarray, Pair]))
    steps = {name: cls.step for name, cls in by_name().items() if cls.step is not None}
    assert {name for name, step in steps.items() if not compiling.taken_as_written(step)} == set()


def test_a_loop_is_found_in_all_its_forms():
    def counted(n):
        for _ in range(n):
            pass

    def endless(n):
        while True:
            n -= 1
            if n < 0:
                break

    def asked(n):
        while n > 0:
            n -= 1

    def chosen(n):
        return n if n > 0 else -n

    assert [compiling.loops(f) for f in (counted, endless, asked, chosen)] == [True, True, True, False]


def loop_of_formulas(a, b, n):
    total = 0.0
    for _ in range(n):
        total += formula(a, b)
    return total


def formula(a, b):
    return (a + b - a) - b


def test_a_formula_stays_as_written_inside_a_loop():
    assert compiling.compiled(loop_of_formulas)(1.0, 1e-17, 1) == -1e-17


def test_sums_of_a_share_are_over_classes_and_in_order():
    sharing = [cls for cls in by_name().values() if cls.share is not None]
    assert len(sharing) > 5
    assert all(compiling.taken_as_written(cls.share) for cls in sharing)


def test_docstrings_recompile_nothing():
    def plain(x):
        """One."""
        return x + 1.0

    def reworded(x):
        """Another."""
        return x + 1.0

    def other(x):
        """One."""
        return x + 2.0

    keys = [compiling.code_key(fn.__code__) for fn in (plain, reworded, other)]
    assert keys[0] == keys[1] != keys[2]
