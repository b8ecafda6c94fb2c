"""River: predict_one + learn_one from dicts of names, against learn_one, which gives the prediction made before learning."""

from river import linear_model

from .ours import C, learn_one, pa1, predict_and_learn
from .streams import HASH_BITS, click_dicts, record_dicts, text_dicts
from .table import Row, rate
from .timing import interleave

TARGETS = {"75 names": 3.0}


def run(quick: bool) -> list[Row]:
    """Compare on dicts of 10 and 75 names, and on clicks with hashed names on our side."""
    n = 2000 if quick else 20_000
    work = {"10 names": record_dicts(n), "75 names": text_dicts(n), "30 click names": click_dicts(n)}
    rows = []
    for name, (dicts, y) in work.items():
        labels, truths = y.tolist(), (y > 0).tolist()
        race = {
            "learn_one": learn_one(dicts, labels),
            "learn_one, hashed": learn_one(dicts, labels, hash_bits=HASH_BITS),
            "predict_one + learn_one": predict_and_learn(dicts, labels, pa1),
            "river": predict_and_learn(dicts, truths, lambda: linear_model.PAClassifier(C=C, mode=1, learn_intercept=False)),
        }
        best = interleave(race, rounds=3 if quick else 5)
        peer = best.pop("river")
        rows += [rate(f"{name}: {way}", n, t, "River PA-I", peer, TARGETS.get(name)) for way, t in best.items()]
    return rows
