"""Compiled code without its compiler: no Numba in later processes, arguments of every kind, object code, and trust."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest

from noregret.engine import code_cache, compiling, native

# What compiled code may call. A name that is not here was not thought about: memory, threads, files and output have no place in it.
ALLOWED = {
    "PyBool_FromLong", "PyDict_Next", "PyDict_SetItem", "PyDict_Size", "PyErr_Clear", "PyErr_SetNone", "PyEval_RestoreThread",
    "PyEval_SaveThread", "PyFloat_AsDouble", "PyFloat_FromDouble", "PyLong_AsLongLongAndOverflow", "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong", "PyObject_Hash", "PyObject_Vectorcall", "PyTuple_New", "PyTuple_SetItem", "PyType_IsSubtype",
    "PyUnicode_AsUTF8AndSize", "PyUnicode_Compare", "Py_DecRef", "Py_IncRef",
    "memcmp", "memcpy", "memmove", "memset",
    "sqrt",
}  # fmt: skip

TRAIN = """
import sys
import noregret as nr
m = nr.PA1()
for k in range(4):
    m.learn_one({"a": 1.0, "b": float(k)}, k % 2)
m.learn_many([{"a": 1.0}], [0])
print(m.predict_one({"a": 1.0}), nr.engine.native.made["compiled"], {"numba", "llvmlite", "scipy"} & set(sys.modules))
"""
SMALL = """
import numpy as np
from noregret.engine import code_cache, compiling, native
from noregret.inputs.checking import sum_of_sizes
"""
SAY = """
run = compiling.compiled(sum_of_sizes)
print(run(np.arange(4.0)), native.made["compiled"], type(run.run).__name__)
"""


def said(code, cache, **env):
    env = {**os.environ, "NOREGRET_CACHE": str(cache), **env}
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cached")
    folder.chmod(0o700)
    assert said(SMALL + SAY, folder)[0] == "6.0 1 builtin_function_or_method"
    return folder


def copied(cached, tmp_path):
    return pathlib.Path(shutil.copytree(cached, tmp_path / "cache"))


def test_a_later_process_has_no_compiler(tmp_path):
    first, later = (said(TRAIN, tmp_path / "cache")[0].split(maxsplit=2) for _ in range(2))
    assert int(first[1]) > 0
    assert later == [first[0], "0", "set()"]


def test_the_cache_holds_code_and_notes_alone(cached):
    assert {p.suffix for p in cached.iterdir()} == {".so", ".json"}
    assert {p.stat().st_mode & 0o777 for p in cached.iterdir()} == {0o600}


def test_without_a_linker_llvm_loads_object_code(tmp_path):
    for compiled in (1, 0):
        assert said(SMALL + SAY, tmp_path / "cache", NOREGRET_LINK="0")[0] == f"6.0 {compiled} builtin_function_or_method"
    assert {p.suffix for p in (tmp_path / "cache").iterdir()} == {".o", ".json"}


@pytest.mark.parametrize("cause", ["native.possible = lambda: False", "code_cache.opened = lambda *_: 1 / 0"])
def test_the_last_resort_is_the_dispatcher(cached, tmp_path, cause):
    """Where objects are laid out in another way, or nothing can be loaded."""
    cause = cause.replace("1 / 0", "(_ for _ in ()).throw(OSError())")
    found, _ = said(SMALL + cause + SAY, tmp_path / "cache")
    assert found.split()[0] == "6.0"
    assert "builtin" not in found


@pytest.mark.parametrize("which", ["file", "directory"])
def test_what_others_may_write_is_not_run(cached, tmp_path, which):
    folder = copied(cached, tmp_path)
    for path in [folder] if which == "directory" else folder.iterdir():
        path.chmod(path.stat().st_mode | 0o020)
    found, warned = said(SMALL + SAY, folder)
    assert found.split()[:2] == ["6.0", "1"]
    assert ("others may write there" in warned) is (which == "directory")


def test_code_of_another_machine_is_not_found(cached, tmp_path):
    folder = copied(cached, tmp_path)
    other = "native.machine = lambda: 'another machine'\n"
    assert said(SMALL + other + SAY, folder)[0].split()[:2] == ["6.0", "1"]


def test_a_note_of_another_format_does_not_count(cached, tmp_path):
    folder = copied(cached, tmp_path)
    for path in folder.glob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 0}))
    assert said(SMALL + SAY, folder)[0].split()[:2] == ["6.0", "1"]


def test_imports_are_in_the_list():
    """Of all code that this machine has compiled so far, at any time."""
    notes = [json.loads(path.read_text()) for path in code_cache.directory().glob("*.json")]
    found = {name for note in notes for name in note["imports"]}
    assert found <= ALLOWED


# ---- arguments -------------------------------------------------------------------------------------------------------
def total(v, k):
    found = 0.0
    for i in range(v.shape[0]):
        found += v[i] * k
    return found


def test_arguments_of_other_kinds_have_their_own_code():
    run, v = compiling.compiled(total), np.arange(6.0)
    frozen = v.copy()
    frozen.flags.writeable = False
    given = [
        (v, 2.0),
        (v[::2], 2.0),
        (v.astype(np.float32), 2.0),
        (frozen, 2.0),
        (v, 2),
        (v, np.float64(2)),
        (v, np.int64(2)),
        (v, True),
    ]
    for args in given * 2:
        assert run(*args) == total(*args)
    assert len(run.known) == 6


@pytest.mark.parametrize("k", [np.float32(2), np.uint64(1 << 63), (1 << 63) + 1])
def test_unusual_arguments_are_left_to_the_dispatcher(k):
    v = np.arange(3.0)
    assert compiling.compiled(total)(v, k) == total(v, float(k))


def test_wrong_arguments_are_an_error_and_not_a_crash():
    run = compiling.compiled(total)
    run(np.ones(2), 1.0)
    with pytest.raises(Exception, match="str|unicode"):
        run("ab", 1.0)
    with pytest.raises(TypeError):
        run(np.ones(2))


def first(pair):
    return pair.a + pair.b


def test_two_classes_of_one_name_are_two_kinds():
    one, other = (namedtuple("Twin", "a b") for _ in range(2))
    run = compiling.compiled(first)
    assert [run(one(1.0, 2.0)), run(other(3.0, 4.0)), run(one(5.0, 6.0))] == [3.0, 7.0, 11.0]


def results(k):
    return k, 0.5 * k, k > 1, np.uint64(k)


def test_results_are_plain_objects():
    found = compiling.compiled(results)(3)
    assert found == (3, 1.5, True, 3)
    assert [type(v) for v in found] == [int, float, bool, int]


def test_the_layout_of_objects_is_as_expected():
    assert native.possible()
