"""Drift detectors against river, on constants and noise, and in pieces."""

import numpy as np
import pytest
from river import drift as river

from noregret.engine import compiling
from noregret.evaluation.measures.drift import DETECTORS, detector


def stretches(seed):
    """Errors whose rate changes five times, and values in [0, 1] that move with it."""
    r = np.random.default_rng(seed)
    rate = np.repeat(r.uniform(0.02, 0.7, 6), [800, 1500, 300, 2000, 700, 1200])
    return (r.random(len(rate)) < rate).astype(float), np.clip(0.3 * r.beta(2, 5, len(rate)) + 0.7 * rate, 0, 1)


def watched(theirs, values):
    """What river's detector says: where drift, and where a warning begins."""
    drifts, warnings, was = [], [], False
    for i, v in enumerate(values):
        theirs.update(v)
        if theirs.drift_detected:
            drifts.append(i)
        now = getattr(theirs, "warning_detected", False) and not theirs.drift_detected
        if now and not was:
            warnings.append(i)
        was = now
    return drifts, warnings


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("adwin", {}),
        ("adwin", {"delta": 0.2, "clock": 1, "min_window": 20, "grace": 60}),
        ("adwin", {"max_buckets": 3, "clock": 7}),
        ("page_hinkley", {"threshold": 10.0}),
        ("page_hinkley", {"threshold": 10.0, "side": "up", "alpha": 1.0}),
        ("page_hinkley", {"threshold": 5.0, "side": "down", "delta": 0.02}),
        ("ddm", {}),
        ("ddm", {"warm_start": 100, "warning": 1.5, "drift": 2.5}),
        ("eddm", {}),
        ("eddm", {"warning": 0.8, "drift": 0.75, "warm_start": 10}),
    ],
)
def test_signals_are_those_of_river(name, ours, seed):
    makes = {"adwin": river.ADWIN, "page_hinkley": river.PageHinkley, "ddm": river.binary.DDM, "eddm": river.binary.EDDM}
    names = {
        "adwin": {"min_window": "min_window_length", "grace": "grace_period"},
        "page_hinkley": {"side": "mode", "warm_start": "min_instances"},
        "ddm": {"warning": "warning_threshold", "drift": "drift_threshold"},
        "eddm": {"warning": "alpha", "drift": "beta"},
    }[name]
    for values in stretches(seed)[: 1 if name in ("ddm", "eddm") else 2]:
        mine = detector(name, **ours)
        drifts, warnings = watched(makes[name](**{names.get(k, k): v for k, v in ours.items()}), values)
        assert mine.add(values).tolist() == drifts
        assert mine.warnings.tolist() == warnings


def plain_adwin(values, delta=0.002, clock=32, M=5, shortest=5, grace=10):
    """The paper's rule with every value kept: buckets are lists, statistics computed afresh, the older part dropped."""
    rows, drifts = [[]], []
    for i, x in enumerate(values):
        rows[0].append([x])
        for k in range(100):
            if k == len(rows) or len(rows[k]) <= M:
                break
            if k + 1 == len(rows):
                rows.append([])
            rows[k + 1].append(rows[k].pop(0) + rows[k].pop(0))
        if (i + 1) % clock:
            continue
        found = False
        while True:
            buckets = [b for row in reversed(rows) for b in row]
            w = np.concatenate(buckets)
            if len(w) <= grace and not found:
                break
            level = np.log(2 * np.log(len(w)) / delta)
            ends = np.cumsum([len(b) for b in buckets])[:-1]
            ends = ends[(ends >= shortest) & (len(w) - ends >= shortest)]
            m = 1 / (ends - shortest + 1) + 1 / (len(w) - ends - shortest + 1)
            before = np.cumsum(w)[ends - 1]
            apart = np.abs(before / ends - (w.sum() - before) / (len(w) - ends))
            if not (apart > np.sqrt(2 * m * w.var() * level) + 2 / 3 * level * m).any():
                break
            found = True
            rows[-1].pop(0)
            while not rows[-1]:
                rows.pop()
        drifts += [i] if found else []
    return drifts, sum(len(b) for row in rows for b in row)


@pytest.mark.parametrize("seed", range(3))
def test_adwin_that_keeps_the_newer_part_by_definition(seed):
    for values in stretches(seed):
        mine = detector("adwin", restart=False)
        drifts, width = plain_adwin(values)
        assert mine.add(values).tolist() == drifts
        assert mine.width == width
        assert len(drifts) >= 4


@pytest.mark.parametrize("name", DETECTORS)
def test_the_split_does_not_show_and_neither_does_the_compiler(name):
    values = stretches(3)[0]
    whole = detector(name)
    expected = whole.add(values)
    warned = whole.warnings
    assert len(expected) >= 2
    pieces, drifts, warnings, at = detector(name), [], [], 0
    for part in np.split(values, [0, 1, 2, 33, 900, 901, 4000]):
        drifts += (pieces.add(part) + at).tolist()
        warnings += (pieces.warnings + at).tolist()
        at += len(part)
    assert drifts == expected.tolist()
    assert warnings == warned.tolist()
    with compiling.interpreted():
        slow = detector(name)
        assert slow.add(values).tolist() == expected.tolist()
    for key, v in whole.state.items():
        assert np.array_equal(v, pieces.state[key])
        assert np.array_equal(v, slow.state[key])
    whole.reset()
    assert whole.add(values).tolist() == expected.tolist()


@pytest.mark.parametrize("name", DETECTORS)
def test_a_constant_is_no_drift(name):
    for value in (0.0, 1.0) if name == "eddm" else (0.0, 0.1, 1 / 3, 1.0):
        assert len(detector(name).add(np.full(200_000, value))) == 0
    if name in ("adwin", "page_hinkley"):
        assert len(detector(name).add(np.full(200_000, 1e6 / 7))) == 0


def test_false_alarms_of_adwin_are_rare():
    alarms = 0
    for seed in range(40):
        r = np.random.default_rng(seed)
        values = (r.random(20_000) < r.uniform(0.05, 0.5)).astype(float)
        alarms += len(detector("adwin").add(values))
    assert alarms <= 2, "of 800,000 values, 25,000 checks"


@pytest.mark.parametrize("name", DETECTORS)
def test_a_doubled_error_is_found_and_soon(name):
    r = np.random.default_rng(5)
    values = (r.random(10_000) < np.repeat([0.2, 0.45], 5000)).astype(float)
    found = detector(name).add(values)
    after = found[found >= 5000]
    assert len(after)
    assert after[0] < (6500 if name == "ddm" else 5800), "DDM averages over all it has seen, and is slow after a long quiet time"


def test_only_the_wanted_side():
    r = np.random.default_rng(6)
    values = (r.random(9000) < np.repeat([0.2, 0.6, 0.2], 3000)).astype(float)
    for name in ("adwin", "page_hinkley"):
        up, down = (detector(name, side=side).add(values) for side in ("up", "down"))
        assert ((up >= 3000) & (up < 6000)).all()
        assert (down >= 6000).all()
        assert len(up) >= 1 <= len(down)


def test_what_is_refused():
    for make, said in (
        (lambda: detector("adwim"), "unknown drift detector 'adwim'; expected one of adwin, ddm, eddm, page_hinkley"),
        (lambda: detector("ddm", delta=1), "'ddm' has no parameter 'delta'; it has warm_start, warning, drift"),
        (lambda: detector("adwin", delta=2.0), "delta must be from 1e-300 to 1, got 2.0"),
        (lambda: detector("adwin", side="left"), "side must be one of both, up, down, got 'left'"),
        (lambda: detector("eddm", drift=0.99), "warning must not be below drift"),
        (lambda: detector("ddm").add(np.array([0.0, 1.5])), "values from 0 to 1, got 1.5 at position 1"),
        (lambda: detector("eddm").add(np.array([0.0, 1.0, 0.5])), "0 or 1, got 0.5 at position 2"),
        (lambda: detector("adwin").add(np.array([0.0, np.nan])), "finite numbers, got nan at position 1"),
        (lambda: detector("adwin").add(np.zeros((2, 2))), "one value an example"),
    ):
        with pytest.raises(ValueError, match=said):
            make()
