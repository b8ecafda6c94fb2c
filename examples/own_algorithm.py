"""Relaxation (Agmon 1954; Motzkin, Schoenberg 1954): go a share eta of the way to the margin."""

from typing import Annotated, NamedTuple

import noregret as nr
from noregret.vocabulary import Range, Weights, add, dot, importance, norm2, required


class Params(NamedTuple):
    """Numbers, each with a default and a range."""

    eta: Annotated[float, Range(0.0, 2.0)] = 0.5


class State(NamedTuple):
    """What is remembered: a weight vector for `dot` and `add`."""

    w: Weights


def step(s, x, y, p):
    f = dot(s.w, x)
    loss, n2 = required(x) - y * f, norm2(s.w, x)
    if loss > 0.0 and n2 > 0.0:
        add(s.w, min(2.0, p.eta * importance(x)) * loss / n2 * y, x)
        return f, True
    return f, False


class Relaxation(nr.Classifier):
    """A share eta of the step of PA: w += eta (l / |x|^2) y x."""

    name = "relaxation"
    State, Params, step = State, Params, step
    takes_cost = True


if __name__ == "__main__":
    nr.checks.run(Relaxation())  # all the laws: splits, layouts, compiled = interpreted, files, threads, bad input, noise
    m = Relaxation(eta=0.2)
    for x, y in [({"a": 1}, "left"), ({"b": 1}, "right"), ({"c": 1}, "up"), ({"a": 1, "b": 1}, "right")]:
        print("said", m.learn_one(x, y), "- it was", y)
