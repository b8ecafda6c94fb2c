"""Losses, projections and proximal maps against the specification sheet and plain NumPy."""

import numpy as np
import pytest
import reference
import traces
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from noregret.parts import losses, projections, proximal, rates

vectors = arrays(np.float64, st.integers(1, 12), elements=st.floats(-50, 50, width=32))
KINDS = {**losses.CLASSIFICATION, **losses.REGRESSION}


@pytest.mark.parametrize("name", [n for n in KINDS if n != "perceptron"])
@given(f=st.floats(-20, 20), y=st.floats(-20, 20))
def test_losses(name, f, y):
    y = (1.0 if y >= 0 else -1.0) if name in losses.CLASSIFICATION else y
    assert losses.value(KINDS[name](), f, y) == pytest.approx(reference.loss_value(name, f, y, 0.1), rel=1e-12, abs=1e-12)
    assert losses.slope(KINDS[name](), f, y) == pytest.approx(reference.loss_derivative(name, f, y, 0.1), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("f", [1e3, -1e3, 1e8, -1e8])
def test_losses_do_not_overflow(name, f):
    assert np.isfinite(losses.value(KINDS[name](), f, 1.0))
    assert np.isfinite(losses.slope(KINDS[name](), f, 1.0))


@given(f=vectors, y=st.integers(0, 11))
def test_softmax_slopes(f, y):
    y = y % len(f)
    g = np.empty_like(f)
    losses.softmax_slopes(f, y, g)
    e = np.exp(f - f.max())
    np.testing.assert_allclose(g, e / e.sum() - (np.arange(len(f)) == y), atol=1e-12)


def test_the_worked_vectors():
    """A.4: v = (2, -1, 0.5, 0.25)."""
    v = np.array(traces.V, float)
    maps = {
        "project_l2": lambda w: w * min(1.0, 1.0 / np.linalg.norm(w)),
        "project_l1": lambda w: projections.onto_l1_ball(w, 1.0),
        "project_simplex": lambda w: projections.onto_simplex(w, len(w), 1.0),
        "project_box": lambda w: projections.project(projections.Box(0.5), w, np.ones(len(w))),
        "prox_l1": lambda w: proximal.prox(proximal.L1(), w, 0.5),
        "prox_l2": lambda w: proximal.prox(proximal.L2(), w, 0.5),
        "prox_l2sq": lambda w: proximal.prox(proximal.SquaredL2(), w, 0.5),
        "prox_linf": lambda w: proximal.prox(proximal.LInf(), w, 0.5),
    }
    assert set(maps) == set(traces.V_MAPS)
    for name, wanted in traces.V_MAPS.items():
        w = v.copy()
        out = maps[name](w)
        np.testing.assert_allclose(w if out is None else out, wanted, atol=2e-6, err_msg=name)


def test_soft_threshold():
    assert [proximal.soft(z, 0.5) for z in (3.0, -0.2, 0.7, -1.5)] == pytest.approx([2.5, 0.0, 0.2, -1.0])


@given(v=vectors, z=st.floats(0.01, 20))
def test_projections_equal_the_transcription(v, z):
    w = v.copy()
    projections.onto_simplex(w, len(w), z)
    np.testing.assert_allclose(w, reference.project_simplex(v, z), atol=1e-9)
    w = v.copy()
    projections.onto_l1_ball(w, z)
    np.testing.assert_allclose(w, reference.project_l1(v, z), atol=1e-9)
    a = np.linspace(-1.0, 1.0, len(v)) + 0.1
    w = v.copy()
    projections.project(projections.HalfSpace(a, z), w, w)
    np.testing.assert_allclose(w, reference.project_halfspace(v, a, z), atol=1e-8)


@given(v=vectors, t=st.just(0.0) | st.floats(0.01, 20))
def test_proximal_maps_equal_the_transcription(v, t):
    table = [
        (proximal.L1(), reference.prox_l1),
        (proximal.L2(), reference.prox_l2),
        (proximal.SquaredL2(), reference.prox_l2sq),
        (proximal.LInf(), reference.prox_linf),
        (proximal.ElasticNet(0.3, 0.7), lambda v, t: reference.prox_elastic_net(v, t, 0.3, 0.7)),
    ]
    for penalty, wanted in table:
        w = v.copy()
        proximal.prox(penalty, w, t)
        np.testing.assert_allclose(w, wanted(v, t), atol=1e-9, err_msg=repr(penalty))


@given(v=arrays(np.float64, 6, elements=st.floats(-50, 50, width=32)), t=st.just(0.0) | st.floats(0.01, 5))
def test_groups_are_penalised_apart(v, t):
    for penalty, wanted in ((proximal.L2(), reference.prox_l2), (proximal.LInf(), reference.prox_linf)):
        w = v.copy()
        proximal.prox(proximal.Grouped(np.array([2, 6]), penalty), w, t)
        np.testing.assert_allclose(w, np.concatenate([wanted(v[:2], t), wanted(v[2:], t)]), atol=1e-9)


def test_rates():
    assert [rates.rate(kind(2.0), 4) for kind in (rates.Constant, rates.InvSqrt, rates.InvT)] == [2.0, 1.0, 0.5]
    assert rates.rate(rates.custom(lambda t: 7.0 * t), 3) == 21.0
