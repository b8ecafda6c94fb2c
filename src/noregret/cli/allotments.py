"""What commands say of learners that divide a whole over columns: the weights for the next round, and how they stand."""

from __future__ import annotations

import copy
import csv
import json
import math
from collections.abc import Mapping
from typing import Any, TextIO

from ..text import amount, plural, printable, shortened, table

ANSWERS = "weights"
ROWS = False  # predict may do without a source
STANDING = ("wealth", "log_wealth", "paid", "regret", "bound")  # what such learners may know of themselves, with a _ behind


def standing(learner: Any) -> dict[str, Any]:
    """Return what a round is, and how a learner stands: wealth, or what was paid, regret and bound, None where it is infinite."""
    found = {name: getattr(learner, f"{name}_", None) for name in STANDING}
    return {"unit": learner.unit, **{k: float(v) if math.isfinite(v) else None for k, v in found.items() if v is not None}}


def weights_of(learner: Any) -> dict[str, float]:
    """Return the weights for the next round by name, or by the numbers of columns."""
    w = learner.weights_.tolist()
    return dict(zip(learner.names_ or [f"column {k}" for k in range(len(w))], w, strict=True))


def told(learner: Any) -> str:
    """Return how a learner stands, in words."""
    from ..evaluation.measures.wealth import wealth_text

    found = standing(learner)
    if "wealth" in found:
        return f"wealth {wealth_text(found['wealth'])}"
    bound = f", of {amount(found['bound'])} that the theorem allows" if found["bound"] is not None else ""
    return f"paid {amount(found['paid'])}, regret {amount(found['regret'])}{bound}"


# ---- predict -------------------------------------------------------------------------------------------------------------
def predicted(
    model: Any, source: Any, options: Mapping[str, Any], out: TextIO, form: str, limit: int | None = None, **others: Any
) -> None:
    """Write the weights for the next round, a line for each column; with a source, those after its rounds too.

    A copy learns the rounds of a source, so that the model stays as it is. Of experts with a loss, rows without a truth are
    answered: the advice of the whole is written, a line for each.
    """
    if source is not None and advises(model, options):
        return advised(model, source, options, out, form, limit)
    learner = copy.deepcopy(model)
    if source is not None:
        from ..training.allocating import gone_before, learn_rounds
        from ..training.job import opened_for

        opened, _ = opened_for(learner, source, None, dict(options))
        reader: Any = opened.reader
        reader.before = gone_before(learner.extras.get("stream"))
        for batch in opened.chunks(limit=limit):
            if batch.data.n:
                learn_rounds(learner, batch)
    rows = weights_of(learner)
    if form == "json":
        out.write(json.dumps({"weights": rows, "examples": learner.n_seen_, **standing(learner)}, indent=2) + "\n")
    elif form == "jsonl":
        out.writelines(json.dumps({"name": name, "weight": w}) + "\n" for name, w in rows.items())
    elif form == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["name", "weight"])
        writer.writerows(rows.items())
    else:
        out.writelines(f"{printable(name)}\t{w:.6f}\n" for name, w in rows.items())
    return None


def advises(model: Any, options: Mapping[str, Any]) -> bool:
    """Return whether rows are advice to be mixed: a learner that has a loss, and no truth is named."""
    return getattr(model, "loss", None) is not None and not options.get("target")


def advised(model: Any, source: Any, options: Mapping[str, Any], out: TextIO, form: str, limit: int | None) -> None:
    """Write the advice of the whole for each row of advice; nothing is learned."""
    from ..streams.round_reader import Manner, rounds
    from ..training.allocating import NOTED, READ, rows_in_errors

    known = model.extras.get(NOTED, {})
    truth = known.get("target")
    manner = Manner(unit=model.unit, column=model.axis, time=known.get("time"), ignore=tuple(known.get("ignore", ())))
    opened = rounds(source, manner=manner, **{k: v for k, v in options.items() if k in READ})
    found: list[float] = []
    for batch in opened.chunks(limit=limit):
        kept = [k for k, name in enumerate(batch.data.names or []) if name != truth]
        names = None if batch.data.names is None else [batch.data.names[k] for k in kept]
        X = batch.data.arrays[0] if names is None else batch.data.arrays[0][:, kept]
        with rows_in_errors(model, batch):
            found += model.predict(X, names=names).tolist()
    if form == "json":
        out.write(json.dumps({"predictions": [{"prediction": v} for v in found], "rows": len(found)}, indent=2) + "\n")
    elif form == "jsonl":
        out.writelines(json.dumps({"prediction": v}) + "\n" for v in found)
    else:
        out.write("prediction\n" if form == "csv" else "")
        out.writelines(f"{v}\n" for v in found)


# ---- inspect -------------------------------------------------------------------------------------------------------------
def inspected(learner: Any, top: int) -> dict[str, Any]:
    """Return what is known of the model of such a learner."""
    largest = sorted(weights_of(learner).items(), key=lambda item: -item[1])
    return {
        "examples": learner.n_seen_,
        "columns": len(largest),
        "axis": learner.axis,
        "memory": sum(a.nbytes for a in learner.model.arrays().values()),
        **standing(learner),
        "weights": [{"name": name, "weight": w} for name, w in largest[:top]],
    }


def inspected_lines(found: dict[str, Any], learner_told: str) -> tuple[list[tuple[str, str | None]], list[str]]:
    """Return lines and tables that tell it."""
    lines: list[tuple[str, str | None]] = [
        ("learned", f"{plural(found['examples'], found['unit'])}, {learner_told}"),
        ("columns", plural(found["columns"], found["axis"])),
    ]
    rows = [[shortened(printable(row["name"]), 40), f"{row['weight']:.4f}"] for row in found["weights"]]
    return lines, [table([found["axis"], f"weight for the next {found['unit']}"], rows)] if rows else []
