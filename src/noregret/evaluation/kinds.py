"""Everything in evaluation that depends on the task of a learner: one entry for each, and nobody else asks which task it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from .measures.baselines import Baselines, class_baselines, real_baselines
from .measures.figures import ClassFigures, Figures, RealFigures
from .measures.novelty import NoveltyFigures

if TYPE_CHECKING:
    from ..learners.learner import Learner

Making = Callable[[str, float, int | None, float | None], Figures]
Setting = Callable[[str, float, int | None, float | None, float], Baselines]


class Shown(NamedTuple):
    """A metric with a column in the table of learners: its name, its heading, and how much it is missed when there is no room."""

    name: str
    head: str
    weight: int


class Kind(NamedTuple):
    """What evaluation knows of a task."""

    figures: Making  # of a learner's own loss and its epsilon, for a window and a fading
    baselines: Setting  # the same, of a loss that curves follow, for labels that come so late
    cost: str  # what a row costs in short tables: "error" or "loss"
    decides: str  # the figure that orders learners
    loss: str  # of learners that name none: regret is measured in it
    tube: str = ""  # the same, of those that have an epsilon
    read_as: Mapping[str, str] = {}  # losses that regret measures as another, which is the same where scores are
    dozen: tuple[str, ...] = ()  # compared when none is named
    judged: bool = False  # whether labels, where there are any, are held against answers and never learned from
    alone: str = ""  # why there is no fixed model to compare with, where there is none
    scores: tuple[str, ...] = ()  # metrics of which more is better
    errors: tuple[str, ...] = ()  # metrics of which less is better
    probable: tuple[str, ...] = ()  # metrics of probabilities: to sort by one is to ask for them
    losses: tuple[str, ...] = ()  # all that learners may be measured in
    main: tuple[str, ...] = ()  # of these the ones to show first
    columns: tuple[Shown, ...] = ()
    curves: tuple[str, ...] = ("error", "loss")  # followed along the stream, also in a window and fading
    unit: str = "example"  # what is counted


KINDS: dict[str, Kind] = {
    "classification": Kind(
        figures=lambda loss, epsilon, window, fading: ClassFigures(window, fading, loss=loss),
        baselines=class_baselines,
        cost="error",
        decides="error",
        dozen=(
            "perceptron", "averaged_perceptron", "pa1", "pa1:average=true", "alma", "ogd", "ogd:loss=log", "arow", "scw1",
            "adagrad", "nag", "coin",
        ),
        loss="hinge",
        read_as={"square": "squared_hinge"},  # the same on scores within [-1, 1], where learners with this loss keep theirs
        scores=("accuracy", "balanced_accuracy", "precision", "recall", "f1", "f1_macro", "kappa", "mcc", "auc"),
        errors=("log_loss", "brier", "ece"),
        probable=("log_loss", "brier", "ece"),
        losses=("hinge", "squared_hinge", "log", "exponential", "perceptron"),
        main=("hinge", "log"),
        columns=(
            Shown("auc", "AUC", 5), Shown("log_loss", "log loss of p", 7), Shown("ece", "calibration", 6),
            Shown("set_size", "set size", 6),
        ),
    ),
    "regression": Kind(
        figures=lambda loss, epsilon, window, fading: RealFigures(window, fading, epsilon, loss),
        baselines=real_baselines,
        cost="loss",
        decides="rmse",
        dozen=(
            "pa1_regressor", "pa2_regressor", "ogd_regressor", "ogd_regressor:loss=absolute", "adagrad_regressor",
            "nag_regressor", "coin_regressor", "norma_regressor", "mirror_descent_regressor", "rls",
        ),
        loss="square",
        tube="epsilon_insensitive",
        scores=("r2",),
        errors=("mae", "rmse", "bias"),
        losses=("square", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive"),
        main=("square", "absolute"),
        columns=(Shown("rmse", "RMSE", 6), Shown("r2", "R2", 6), Shown("coverage", "coverage", 5), Shown("width", "width", 6)),
        curves=("loss",),
    ),
    "one_class": Kind(
        figures=lambda loss, epsilon, window, fading: NoveltyFigures(window, fading),
        baselines=class_baselines,
        cost="loss",
        decides="error",
        loss="outside",
        judged=True,
        alone="without labels there is no fixed model to compare with",
        errors=("outlier_rate",),
        losses=("outside",),
    ),
}  # fmt: skip


def kind_of(learner: Learner) -> Kind:
    """Return the entry of a learner's task."""
    return KINDS[learner.task]


def every(name: str) -> Iterator[str]:
    """Yield the names that the kinds have under a heading: "scores", "errors", "losses", "main" or "curves"."""
    yield from dict.fromkeys(found for kind in KINDS.values() for found in getattr(kind, name))


def along(curves: Iterable[str]) -> list[str]:
    """Return the figures that are followed for these curves: of all rows so far, in a window, and fading."""
    return [f"{how}{what}" for what in curves for how in ("", "window_", "faded_")]


def all_columns() -> list[Shown]:
    """Return the columns of all kinds."""
    return [shown for kind in KINDS.values() for shown in kind.columns]
