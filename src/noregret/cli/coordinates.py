"""What commands say of learners of components: the coordinates of rows, and what the components are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TextIO

import click
import numpy as np

from ..text import amount, percent, plural, printable, shortened, table
from .answers import FORMS, Beside

ANSWERS = "coordinates"
ROWS = True  # predict needs a source
SHOWN = 5  # loadings of a component in the text
LISTED = 24  # components there


class Coordinates(NamedTuple):
    """Some rows by their coordinates."""

    ids: Any
    y: np.ndarray  # squared residuals
    coordinates: np.ndarray
    truth: Any


def standing(learner: Any) -> dict[str, Any]:
    """Return how many components there are, and how many rows wait for a batch."""
    return {"unit": "row", "components": learner.n_components_, "pending": learner.n_pending_}


def told(learner: Any) -> str:
    """Return that in words."""
    waiting = f", {plural(learner.n_pending_, 'row')} waiting for a batch" if learner.n_pending_ else ""
    return f"{plural(learner.n_components_, 'component')} of {plural(learner.n_features_in_, 'feature')}{waiting}"


# ---- predict -------------------------------------------------------------------------------------------------------------
def predicted(
    model: Any, source: Any, options: Mapping[str, Any], out: TextIO, form: str, *, limit: int | None, scores: bool, quiet: bool
) -> None:
    """Write the coordinates of each row, and with `scores` its squared residual; where labels mark outliers, tell the AUC."""
    from ..evaluation.measures.residuals import Ground, Residuals

    learner = getattr(model, "learner", model)
    names = [str(name) for name in learner.get_feature_names_out()]
    beside = [Beside("coordinates", names), *([Beside("y", ["residual"])] if scores else [])]
    lines = FORMS[form](out, beside, answers=False)
    figures, ground = Residuals(), Ground()
    for said in taken_apart(model, source, options, limit):
        lines.write(said)
        figures.take(said.y, said.y, ground.judge(said.truth))
    if not figures.examples:
        raise click.ClickException(f"{source} has no rows")
    found = figures.metrics(ground.marked)
    facts = {"rows": figures.examples, "residual": found["residual"], **({"auc": found["auc"]} if "auc" in found else {})}
    lines.end(facts)
    if not quiet and form != "json":
        auc = f", AUC of outliers {amount(found['auc'])}" if "auc" in found else ""
        click.echo(f"{plural(figures.examples, 'row')}, mean squared residual {amount(found['residual'])}{auc}.", err=True)


def taken_apart(model: Any, source: Any, options: Mapping[str, Any], limit: int | None) -> Iterator[Coordinates]:
    """Yield the rows of a source by their coordinates; nothing is learned."""
    from ..streams.stream import stream
    from ..training.opening import options_for, same_rows

    learner = getattr(model, "learner", model)
    opened = stream(source, **options_for(model, dict(options)))
    same_rows(opened, model)
    for batch in opened.chunks(front=getattr(model, "front", None), learn=False, limit=limit):
        with batch.named_in_errors():
            Z, E = learner.answered_rows(batch.data)
        yield Coordinates(batch.ids, E, Z, batch.y)


# ---- inspect -------------------------------------------------------------------------------------------------------------
def inspected(model: Any, top: int) -> dict[str, Any]:
    """Return what is known of such a model."""
    from ..evaluation.measures.features_in_use import naming
    from ..evaluation.measures.portraits import loadings, variances

    learner = getattr(model, "learner", model)
    m, V = learner.model, learner.components_
    of, sizes = variances(learner, np.zeros((1, len(V))))
    named = loadings(V, naming(getattr(model, "front", None), m), top)
    known = any(sizes)
    rows = [
        {"component": j, **({"size": size} if known else {}), "features": found}
        for j, (size, found) in enumerate(zip(sizes, named, strict=True))
    ]
    return {
        "examples": learner.n_seen_,
        **standing(learner),
        "features": learner.n_features_in_,
        "memory": sum(a.nbytes for a in m.arrays().values()),
        "of": of,
        **({"singular_values": learner.singular_values_} if hasattr(learner, "singular_values_") else {}),
        "found": rows,
    }


def inspected_lines(found: dict[str, Any], learner_told: str) -> tuple[list[tuple[str, str | None]], list[str]]:
    """Return lines and tables that tell it."""
    lines: list[tuple[str, str | None]] = [("learned", f"{plural(found['examples'], found['unit'])}: {learner_told}")]
    total = sum(row.get("size", 0.0) for row in found["found"])
    cells = []
    for row in found["found"][:LISTED]:
        size = [amount(row["size"]), percent(row["size"] / total)] if total else []
        made = ", ".join(f"{shortened(printable(f['feature']), 24)} {f['loading']:+.3f}" for f in row["features"][:SHOWN])
        cells.append([str(row["component"]), *size, made])
    head = ["component", *([found["of"], "share %"] if total else []), "largest loadings"]
    return lines, [table(head, cells, (0, len(head) - 1))] if cells else []
