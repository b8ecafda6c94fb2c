"""`noregret new`: a first learner of the user's own, and its test."""

from __future__ import annotations

import json
import keyword
import re
from pathlib import Path

import click

from .options import Command, Option

HEAD = '''"""{title}: say here what it does, and whose idea it is.

Try it:  noregret evaluate '{source}' --model {name} --plugin {name}.py
Test it: python -m pytest test_{name}.py
"""

from typing import Annotated, NamedTuple

import noregret as nr
from noregret.vocabulary import Range, Weights, add, dot, {words}


class Params(NamedTuple):
    """What a user may set: each with its range and default. The command line makes an option of it."""

    eta: Annotated[float, Range(0.0, 2.0)] = 0.5


class State(NamedTuple):
    """What is remembered between rows."""

    w: Weights  # a weight for each feature; starts at 0


def step(s, x, y, p):
    """Answer one row, then learn from it; return the answer and whether anything changed.

    This is compiled: plain arithmetic, and words such as dot(w, x), norm2(w, x) and add(w, a, x), which does w += a x.
    """
'''
CLASSIFICATION = '''    f = dot(s.w, x)  # the answer, before the label is used
    loss = required(x) - y * f  # y is -1 or +1; required(x) is the margin asked for, 1 unless there are costs
    length = norm2(s.w, x)
    if loss > 0.0 and length > 0.0:
        share = min(2.0, p.eta * importance(x))  # importance(x) is the weight of the row
        add(s.w, share * loss / length * y, x)
        return f, True
    return f, False


class {title}(nr.Classifier):
    """Go a share eta of the way to the margin: w += eta (loss / |x|^2) y x.

    Parameters: `eta` in (0, 2), the share of the way; 1 meets the margin exactly.
    """

    name = "{name}"
    State, Params, step = State, Params, step
    takes_cost = True  # the step asks for required(x)
'''
REGRESSION = '''    f = dot(s.w, x)  # the answer, before the target y is used
    length = norm2(s.w, x)
    if f != y and length > 0.0:
        share = min(2.0, p.eta * importance(x))  # importance(x) is the weight of the row
        add(s.w, share * (y - f) / length, x)
        return f, True
    return f, False


class {title}(nr.Regressor):
    """Go a share eta of the way to the target: w += eta ((y - f) / |x|^2) x.

    Parameters: `eta` in (0, 2), the share of the way; 1 meets the target exactly.
    """

    name = "{name}"
    State, Params, step = State, Params, step
'''
TEST = '''"""{title} obeys the laws, and does what a calculation by hand says."""

import pytest
from {name} import {title}

import noregret as nr


def test_laws():
    """Splits, layouts, compiled = interpreted, files, threads, order, merging, bad input, noise."""
    nr.checks.run({title}())


def test_by_hand():
    """Three rows, calculated on paper: change the numbers when you change the step."""
    m = {title}(eta=0.5, fit_intercept=False)
    f = m.learn_many([[1, 0], [1, 1], [0, 2]], {y})
    assert f.tolist() == pytest.approx({f})
    assert m.coef_.ravel().tolist() == pytest.approx({w})
'''
TASKS = {
    "classification": (CLASSIFICATION, "importance, norm2, required", "[1, -1, 1]", "[0.0, 0.5, -0.75]", "[0.125, 0.0625]"),
    "regression": (REGRESSION, "importance, norm2", "[1.0, 0.0, 2.0]", "[0.0, 0.5, -0.25]", "[0.375, 0.4375]"),
}
TRY = {"classification": "synthetic:linear?n=5000", "regression": "synthetic:linear_regression?n=5000"}


@click.command("new", cls=Command, short_help="Write a learner of your own to begin with.")
@click.argument("name")
@click.option(
    "--task", cls=Option, type=click.Choice(list(TASKS)), default="classification", show_default=True, help="What it is to learn."
)
@click.option("--json", "as_json", cls=Option, is_flag=True, help="Print JSON instead of what to do next.")
def command(name: str, task: str, as_json: bool) -> None:
    """Write NAME.py, a complete learner, and test_NAME.py, its test, into this directory.

    Change the step and try it: noregret evaluate SOURCE --model NAME --plugin NAME.py.
    """
    check(name)
    body, words, y, f, w = TASKS[task]
    title = "".join(part.capitalize() for part in name.split("_"))
    files = {
        Path(f"{name}.py"): (HEAD + body).format(title=title, name=name, words=words, source=TRY[task]),
        Path(f"test_{name}.py"): TEST.format(title=title, name=name, y=y, f=f, w=w),
    }
    for path in files:
        if path.exists():
            raise click.ClickException(f"{path} is there already: choose another name, or move it away")
    for path, text in files.items():
        with path.open("x", encoding="utf-8") as out:
            out.write(text)
    if as_json:
        click.echo(json.dumps({"name": name, "class": title, "task": task, "files": [str(path) for path in files]}, indent=2))
        return
    click.echo(f"Wrote {name}.py and test_{name}.py. Next:")
    click.echo(f"  noregret evaluate '{TRY[task]}' --model {name} --plugin {name}.py")
    click.echo(f"  python -m pytest test_{name}.py")


def check(name: str) -> None:
    """Refuse names that cannot name both a learner and a module."""
    from importlib.util import find_spec

    from ..registry import by_name

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise click.UsageError(f"a learner is called by small letters, digits and _, such as my_learner; got {name!r}")
    if name in by_name():
        raise click.UsageError(f"there is a learner called {name} already: choose another name")
    if not Path(f"{name}.py").exists() and find_spec(name) is not None:
        raise click.UsageError(f"there is a Python module called {name} already: choose another name")
