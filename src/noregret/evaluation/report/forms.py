"""The kinds of reports. Another kind is registered, with what it shows besides, and none of the code that shows reports changes."""

from __future__ import annotations

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


FORMS: dict[str, Form] = {
    "evaluate": Form(alone=True),
    "compare": Form(),
    "sweep": Form(plots=("frontier", "sweep")),
}


def register(kind: str, form: Form) -> None:
    """Make another kind of report known."""
    if kind in FORMS:
        raise ValueError(f"there is a kind of report called {kind!r} already: give yours another name")
    FORMS[kind] = form


def form_of(kind: str) -> Form:
    """Return how a kind of report is shown."""
    if kind not in FORMS:
        raise ValueError(f"kind must be one of {', '.join(FORMS)}, not {kind!r}")
    return FORMS[kind]
