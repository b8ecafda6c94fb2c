"""The same bits on every machine of a processor level: see golden.py."""

import dis
import importlib
import inspect
import json
import math
import os
import pathlib
import platform
import subprocess
import sys

import golden
import numpy as np
import pytest

import noregret as nr
from noregret.engine import compiling, elementary, processor
from noregret.engine.processor import level_for
from noregret.engine.words import Word

MODERN = {"SSE42": True, "AVX2": True, "FMA3": True, "AVX512_SKX": True}


# ---- digests --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", golden.names())
def test_bits(name):
    known = golden.known()
    if known is None:
        pytest.skip(f"no digests on file for the level {processor.chosen().name}: make them with tests/golden.py --write")
    assert golden.found(name) == known[name], "other bits than every machine of this level had; see tests/golden.py"


def test_every_level_has_the_same_names():
    for path in golden.HERE.glob("*.json"):
        assert sorted(json.loads(path.read_text())) == sorted(golden.names()), path.name


ELSEWHERE = {  # what other processors would make of Numba, NumPy, BLAS, the C library and hashes
    "haswell": {
        "NUMBA_CPU_NAME": "haswell",
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F",
    },
    "skylake": {"NUMBA_CPU_NAME": "skylake-avx512", "OPENBLAS_CORETYPE": "SkylakeX", "OPENBLAS_NUM_THREADS": "1"},
    "nehalem": {
        "NUMBA_CPU_NAME": "nehalem",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA",
    },
}
SAMPLE = ["pa1", "nag log", "functions"]


@pytest.mark.parametrize("where", ELSEWHERE)
def test_bits_elsewhere(where, tmp_path):
    """Compiled anew in a process that takes itself for one on another processor."""
    if golden.known() is None:
        pytest.skip(f"no digests on file for the level {processor.chosen().name}")
    level = {} if processor.chosen().name == "baseline" else {"NOREGRET_CPU": processor.chosen().name}
    env = {**os.environ, **ELSEWHERE[where], **level, "NOREGRET_CACHE": str(tmp_path), "PYTHONHASHSEED": str(len(where))}
    out = subprocess.run([sys.executable, golden.__file__, *SAMPLE], capture_output=True, text=True, env=env, check=True).stdout
    assert json.loads(out) == {name: golden.known()[name] for name in SAMPLE}


# ---- what must not be called ------------------------------------------------------------------------------------------------
LIBRARY = {
    *[
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "pow",
        "power",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
    ],
    *["hypot", "erf", "erfc", "gamma", "lgamma", "cbrt", "logaddexp", "dot", "matmul", "vdot"],
}


TYPED = (
    "calibration.coverage",
    "calibration.combination",
    "calibration.last_label",
    "calibration.platt",
    "calibration.vector_scaling",
    "pools.weighing",
)  # functions alone
FORESTS = ("chances", "descent", "experts", "nodes", "prunings", "runner")
COMPILED = (
    *TYPED,
    *(f"forests.{name}" for name in FORESTS),
    *("unsupervised.sparse_coding", "unsupervised.subspaces"),
    *("transforms.draws", "transforms.nystroem", "spaces.orthogonal", "transforms.random_features"),
)


def texts():
    """Every function that the loops of a registered learner can reach, and those of modules whose functions are compiled alone."""
    kinds = {kind for w in words() for case in w.cases for kind in case.kinds}
    roots = set(words())
    for name in nr.algorithms():
        cls = type(nr.learner(name))
        roots |= {fn for text in ("step", "score_row", "share") if inspect.isfunction(fn := getattr(cls, text, None))}
    for name in COMPILED:
        module = importlib.import_module(f"noregret.{name}")
        plain = (fn for fn in vars(module).values() if inspect.isfunction(fn))
        roots |= {fn for fn in plain if not fn.__annotations__ or name in TYPED}  # texts have no types
    found, _ = compiling.reach(roots, kinds)
    return {fn for fn in found if not isinstance(fn, Word)}


def words():
    """Every word of the library that is loaded."""
    modules = [m for name, m in sys.modules.items() if name.startswith("noregret.")]
    return {v for m in modules for v in vars(m).values() if isinstance(v, Word)}


def test_compiled_texts_call_no_mathematics_of_the_c_library():
    """exp, log and the like differ between C libraries and processors; `engine.elementary` has ours."""
    wrong = []
    for fn in texts():
        if not fn.__module__.startswith("noregret."):
            continue
        used = inspect.getclosurevars(fn)
        modules = {k for k, v in {**used.globals, **used.nonlocals}.items() if v is math or v is np}
        before = None
        for step in dis.get_instructions(fn):
            module = step.opname in ("LOAD_ATTR", "LOAD_METHOD") and before.argval in modules
            if module and step.argval in LIBRARY:
                wrong.append(f"{fn.__module__}, line {fn.__code__.co_firstlineno}: {before.argval}.{step.argval}")
            whole = before is not None and before.opname == "LOAD_CONST" and before.argval in (2, 3, 4)
            if step.opname == "BINARY_OP" and step.argrepr.startswith("**") and not whole:
                wrong.append(f"{fn.__module__}, line {fn.__code__.co_firstlineno}: ** (see `power` and `whole_power`)")
            before = step
    assert not wrong


def test_that_test_can_fail():
    assert len(texts()) > 500
    assert {"exp", "waves", "fixed_share", "classify"} <= {fn.__name__ for fn in texts()}


# ---- the level --------------------------------------------------------------------------------------------------------------
def test_the_level_follows_the_processor():
    assert level_for("", "x86_64", MODERN).cpu == "x86-64-v3"  # also where there is AVX-512
    assert level_for("", "AMD64".lower(), {"SSE42": True, "AVX2": True}).cpu == "x86-64-v2"
    assert level_for("", "aarch64", {}).cpu == "generic"
    assert level_for("v2", "x86_64", MODERN).name == "v2"
    assert level_for("v4", "x86_64", MODERN).cpu == "x86-64-v4"
    assert level_for("host", "aarch64", {}) == processor.HOST


@pytest.mark.parametrize(
    ("wish", "machine", "features", "message"),
    [
        ("v5", "x86_64", MODERN, "must be one of v2, v3, v4, host, got 'v5'"),
        ("v4", "x86_64", {"AVX2": True, "FMA3": True}, "cannot run code for x86-64-v4"),
        ("v3", "aarch64", {}, "this machine is aarch64"),
    ],
)
def test_levels_that_cannot_be(wish, machine, features, message):
    with pytest.raises(ValueError, match=message):
        level_for(wish, machine, features)


# ---- elementary functions ---------------------------------------------------------------------------------------------------
RANGES = {
    "exp": (np.exp, -700.0, 700.0),
    "expm1": (np.expm1, -20.0, 20.0),
    "exp2": (np.exp2, -1000.0, 1000.0),
    "tanh": (np.tanh, -30.0, 30.0),
    "log": (np.log, 1e-300, 1e300),
    "log2": (np.log2, 1e-300, 1e300),
    "log1p": (np.log1p, 1e-300, 1e300),
    "asinh": (np.arcsinh, -1e12, 1e12),
}


@pytest.mark.parametrize("name", RANGES)
def test_elementary_functions_are_accurate(name):
    exact, low, high = RANGES[name]
    x = (
        np.geomspace(low, high, 5000)
        if low > 0
        else np.concatenate([np.linspace(low, high, 5000), np.geomspace(1e-12, high, 2000)])
    )
    want = exact(x.astype(np.longdouble))
    found = elementary.over(getattr(elementary, name), x)
    assert np.abs(found - want).max(where=want == 0, initial=0.0) == 0.0
    assert np.max(np.abs(found / np.where(want == 0, 1, want) - 1)[want != 0]) < 1e-15
    one = getattr(elementary, name)
    assert [one(v) for v in x[::500].tolist()] == found[::500].tolist()  # interpreted: the same bits


def test_elementary_functions_at_their_ends():
    inf, nan = math.inf, math.nan
    for fn, x, want in [
        (elementary.exp, [710.0, -800.0, inf, -inf, nan, 0.0], [inf, 0.0, inf, 0.0, nan, 1.0]),
        (elementary.exp2, [1024.0, -2000.0, 10.0, -3.0, nan], [inf, 0.0, 1024.0, 0.125, nan]),
        (elementary.log, [0.0, -1.0, inf, nan, 1.0, 5e-324], [-inf, nan, inf, nan, 0.0, math.log(5e-324)]),
        (elementary.log1p, [-1.0, -2.0, inf, 0.0], [-inf, nan, inf, 0.0]),
        (elementary.log2, [8.0, 0.25, 2.0**-1060], [3.0, -2.0, -1060.0]),
        (elementary.expm1, [-800.0, 800.0, 0.0], [-1.0, inf, 0.0]),
        (elementary.asinh, [math.inf, -math.inf, 0.0], [math.inf, -math.inf, 0.0]),
        (elementary.tanh, [-50.0, 50.0, 0.0], [-1.0, 1.0, 0.0]),
    ]:
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal([fn(v) for v in x], want, err_msg=fn.__name__)
        np.testing.assert_array_equal(elementary.over(fn, x), want, err_msg=f"{fn.__name__}, compiled")


def test_powers():
    for a in (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, -1.5, 2.7, 12.0):
        x = np.geomspace(1e-9, 1e9, 300)
        assert elementary.over(elementary.power, x, a) == pytest.approx(x**a, rel=1e-13)
    assert [elementary.whole_power(3.0, n) for n in range(4)] == [1.0, 3.0, 9.0, 27.0]
    assert elementary.power(0.0, 1.5) == 0.0
    assert elementary.hypot(3e200, -4e200) == pytest.approx(5e200)


def test_normal_quantiles():
    from statistics import NormalDist

    p = np.concatenate([np.linspace(0.001, 0.999, 500), np.geomspace(1e-300, 1e-3, 200)])
    assert [elementary.normal_quantile(v) for v in p] == pytest.approx([NormalDist().inv_cdf(v) for v in p], rel=1e-14, abs=1e-15)


def test_a_users_own_numba_code_keeps_its_target():
    """Our level is ours alone: compiled code of the same process is for its own processor."""
    code = """if True:
        import numba, noregret as nr
        from noregret.engine.target import LevelDispatcher
        nr.PA1().partial_fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
        own = numba.njit(lambda x: x + 1)
        own(1)
        print(own.targetctx.codegen().magic_tuple()[1], LevelDispatcher.targetdescr.target_context.codegen().magic_tuple()[1])
    """
    env = {k: v for k, v in os.environ.items() if k != "NOREGRET_CPU"}
    own, ours = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True).stdout.split()
    assert ours == level_for("", platform.machine().lower(), processor.cpu_features()).cpu
    assert own != ours


def test_the_golden_files_are_small():
    assert all(path.stat().st_size < 50_000 for path in pathlib.Path(golden.HERE).glob("*.json"))


def test_a_command_refuses_a_level_that_cannot_be_at_once():
    args = [sys.executable, "-m", "noregret.cli", "evaluate", "nowhere.svm"]
    done = subprocess.run(args, capture_output=True, text=True, env={**os.environ, "NOREGRET_CPU": "v9"}, check=False)
    assert (done.returncode, done.stderr) == (1, "Error: NOREGRET_CPU must be one of v2, v3, v4, host, got 'v9'\n")


def test_reports_say_which_level_it_was(tmp_path):
    env = {**os.environ, "NOREGRET_JIT": "0"}
    args = [
        sys.executable,
        "-m",
        "noregret.cli",
        "evaluate",
        "synthetic:sea?n=50",
        "-m",
        "pa1",
        "--html",
        str(tmp_path / "page.html"),
    ]
    out = subprocess.run(args, capture_output=True, text=True, env=env, check=True).stdout
    assert "Learned by interpreted code: last bits may differ" in out
    assert ", interpreted code, " in (tmp_path / "page.html").read_text().rpartition("noregret ")[2]
    report = nr.evaluate("synthetic:sea?n=50", nr.PA1())
    assert report.to_dict()["data"]["level"] == compiling.level() == processor.chosen().name
    assert processor.described("v2") == "code for x86-64-v2"
