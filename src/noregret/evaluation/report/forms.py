"""The kinds of reports. Another kind is registered, with what it shows besides, and none of the code that shows reports changes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .report import Report

Rows = Sequence[dict[str, Any]]  # the learners of a report, best first


class Form(NamedTuple):
    """How a kind of report differs from a table of learners with a winner."""

    alone: bool = False  # one learner, told figure by figure; its JSON is flat
    plots: tuple[str, ...] = ()  # drawn first, where the report has them
    lines: Callable[[Report, Rows], list[str]] = lambda report, rows: []  # more lines of the text
    sections: Callable[[Report, Rows], list[str]] = lambda report, rows: []  # more sections of the page, as HTML
    drawings: Callable[[Rows], Mapping[str, Callable[..., None]]] = lambda rows: {}  # more plots: (figure, report, rows, chosen)
    headline: Callable[[dict[str, Any]], str] | None = None  # the figures by which a learner is judged, where they are others
    trivial: str = "answers from the labels alone"  # what baselines are
    manner: str = "each predicting before it learns"  # how learners take a stream
    curves: str = "Learning curves"  # what they are
    signed: bool = False  # whether regret is often below 0, so that a logarithmic axis shows little of it
    linear: bool = False  # whether curves are drawn over equal steps, and not over a logarithm of them


FORMS: dict[str, Form] = {
    "evaluate": Form(alone=True),
    "compare": Form(),
    "sweep": Form(plots=("frontier", "sweep")),
}


OF_TASKS = {  # imported when a report is shown
    "portfolio": "allocation_form:PORTFOLIO",
    "experts": "allocation_form:EXPERTS",
    "components": "component_form:COMPONENTS",
    "topics": "topic_form:TOPICS",
    "recommendation": "rating_form:RATINGS",
}


def register(kind: str, form: Form) -> None:
    """Make another kind of report known."""
    if kind in FORMS:
        raise ValueError(f"there is a kind of report called {kind!r} already: give yours another name")
    FORMS[kind] = form


def form_of(kind: str, task: str | None = None) -> Form:
    """Return how a kind of report is shown, and what a task shows besides."""
    if kind not in FORMS:
        raise ValueError(f"kind must be one of {', '.join(FORMS)}, not {kind!r}")
    if task not in OF_TASKS:
        return FORMS[kind]
    module, _, name = OF_TASKS[task].partition(":")
    own: Form = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    return own._replace(alone=FORMS[kind].alone, plots=(*FORMS[kind].plots, *own.plots))
