"""What an author of an algorithm gets wrong is said when the class is made, with what to write instead."""

import pathlib
import re
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import noregret as nr
from noregret.algorithm.params import Positive
from noregret.algorithm.state import Count, Covariance, Scalable, Weights
from noregret.learners.base import REGISTRY
from noregret.registry import by_name
from noregret.spaces.weights import add, dot, scale


class Params(NamedTuple):
    C: Positive = 1.0


class State(NamedTuple):
    w: Weights


def step(s, x, y, p):
    f = dot(s.w, x)
    if y * f < 1.0:
        add(s.w, p.C * y, x)
        return f, True
    return f, False


@pytest.fixture
def declare():
    """Make a class with these declarations; the registry forgets it."""

    def make(face=nr.Classifier, **said):
        return type("Mine", (face,), {"name": "mine", "State": State, "Params": Params, "step": step, **said})

    yield make
    REGISTRY.pop("mine", None)


def test_a_sound_declaration(declare):
    assert declare()(C=0.5).fit([[1.0], [-1.0]], [1, -1]).predict([[2.0]]).tolist() == [1]
    assert declare()().get_params()["C"] == 1.0  # defined again, as a notebook cell run twice


def test_a_parameter_without_a_range(declare):
    class Bare(NamedTuple):
        C: float = 1.0

    with pytest.raises(TypeError, match=r"Mine: Params.C is float, which has no range: write C: Positive, or one of .*NonNegative"):
        declare(Params=Bare)


def test_a_parameter_without_a_default(declare):
    class Open(NamedTuple):
        C: Positive

    with pytest.raises(TypeError, match=r"Params.C has no default: write C: ... = 1.0, so that Mine\(\) works"):
        declare(Params=Open)


def test_a_class_without_a_name():
    with pytest.raises(TypeError, match="Nameless: a step needs a name to be found by: write name = 'nameless' in the class"):
        type("Nameless", (nr.Classifier,), {"State": State, "Params": Params, "step": step})


def test_weights_that_are_not_first(declare):
    class Late(NamedTuple):
        t: Count
        w: Weights

    with pytest.raises(TypeError, match="the first field of State is t, and must be the weights: put w: Weights first"):
        declare(State=Late)


def test_a_field_that_says_nothing(declare):
    class Bare(NamedTuple):
        w: np.ndarray

    with pytest.raises(TypeError, match=r"State.w is ndarray, which does not say .* write w: Weights \(dot, add\), Scalable"):
        declare(State=Bare)


def shrinking(s, x, y, p):
    f = dot(s.w, x)
    scale(s.w, 0.5)
    return f, True


def test_a_word_that_the_weights_cannot_do(declare):
    class Able(NamedTuple):
        w: Scalable

    with pytest.raises(TypeError, match=r"the step calls scale\(s.w, ...\), which State does not allow: write w: Scalable"):
        declare(step=shrinking)
    assert declare(State=Able, step=shrinking)().partial_fit([[1.0], [2.0]], [0, 1]).n_updates_ == 2


def score_alone(s, x, y, p):
    f = dot(s.w, x)
    add(s.w, y, x)
    return f


def arithmetic_alone(s, x, y, p):
    return 2.0 * dot(s.w, x)


def by_another(s, x, y, p):
    return step(s, x, y, p)


@pytest.mark.parametrize("wrong", [score_alone, arithmetic_alone])
def test_a_step_that_returns_one_value(declare, wrong):
    what = r"returns one value in line \d+: return \(score before the update, whether it updated\)"
    with pytest.raises(TypeError, match=f"step '{wrong.__name__}' {what}"):
        declare(step=wrong)
    declare(step=by_another)  # what it returns is for the other to say


def test_a_name_that_is_taken(declare):
    with pytest.raises(TypeError, match="name = 'pa1' is taken by noregret.families.passive_aggressive.PA1: choose another name"):
        declare(name="pa1")
    with pytest.raises(TypeError, match="name = 'multitask' is taken"):
        declare(name="multitask")
    assert nr.learner("pa1").__class__ is nr.PA1


def test_a_covariance_without_its_parameters(declare):
    class Gaussian(NamedTuple):
        mean: Weights
        spread: Covariance

    with pytest.raises(
        TypeError, match=r"State.spread is a Covariance, for which Params need a: Positive = 1.0 .* covariance"
    ) as error:
        declare(State=Gaussian)
    (example,) = re.findall(r"families/\w+\.py", str(error.value))
    assert (pathlib.Path(nr.__file__).parent / example).exists()


def test_second_order_learners_may_call_their_fields_as_they_like():
    """Mean and covariance are the first two fields, whatever their names."""
    from noregret.families.confidence_weighted import ArowParams
    from noregret.spaces.covariance import absorb, margin
    from noregret.tasks.second_order import SecondOrder

    class Gaussian(NamedTuple):
        mean: Weights
        spread: Covariance

    def learn(s, x, y, p):
        f, v = margin(s.mean, s.spread, x)
        if y * f < 1.0:
            b = 1.0 / (v + p.r)
            absorb(s.mean, s.spread, (1.0 - y * f) * b * y, 1.0 / p.r, b, x)
            return f, True
        return f, False

    cls = type("Named", (SecondOrder,), {"name": "named", "State": Gaussian, "Params": ArowParams, "step": learn})
    del REGISTRY["named"]
    X, y = np.eye(3), [0, 1, 1]
    with nr.engine.compiling.interpreted():
        m, arow = cls().partial_fit(X, y), nr.AROW().partial_fit(X, y)
        assert m.confidence(X).tolist() == arow.confidence(X).tolist()


def test_the_library_keeps_its_own_rules():
    for cls in by_name().values():
        cls.check_declaration()


def test_own_parts_need_no_range(declare):
    from noregret.algorithm.params import Choice

    class Chosen(NamedTuple):
        kind: Annotated[Any, Choice({"plain": Params})] = "plain"

    assert declare(Params=Chosen)().get_params()["kind"] == "plain"
