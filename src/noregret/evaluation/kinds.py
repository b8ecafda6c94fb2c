"""Everything in evaluation that depends on the task of a learner: one entry for each, and nobody else asks which task it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..parts.losses import CLASSIFICATION, REGRESSION
from ..text import percent
from .measures.allotted import (
    ExpertFigures,
    ExpertHindsight,
    MarketHindsight,
    PortfolioFigures,
    no_warnings,
    portfolio_warnings,
)
from .measures.baselines import Baselines, class_baselines, real_baselines
from .measures.figures import ClassFigures, Figures, RealFigures
from .measures.novelty import NoveltyFigures
from .measures.ratings import RatingFigures, rating_baselines
from .measures.wealth import COSTS, cost_name, wealth_text

if TYPE_CHECKING:
    from ..learners.learner import Learner

Making = Callable[[str, float, int | None, float | None], Figures]
Setting = Callable[[str, float, int | None, float | None, float], Baselines]


class Shown(NamedTuple):
    """A metric with a column in the table of learners: its name, its heading, and how much it is missed when there is no room."""

    name: str
    head: str
    weight: int
    form: Callable[[float | None], str] | None = None  # how it is written, where not as numbers of a column are
    unless: str = ""  # another metric: where no learner differs in the two, this one is left out


class ByRounds(NamedTuple):
    """What evaluation knows of a task whose learners divide a whole over columns, round by round."""

    figures: Callable[[Any], Any]  # of a learner
    hindsight: Callable[[], Any]  # what finds the best in hindsight, and the regret against it
    warnings: Callable[[list[dict[str, Any]], list[dict[str, Any]]], list[str]]
    noun: str  # what a column is
    curves: Mapping[str, bool]  # those to draw, and whether on a log axis


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
    log: tuple[str, ...] = ()  # of these curves, those that are drawn on a logarithmic axis
    unit: str = "example"  # what is counted
    onward: Callable[[Any, Any], None] = lambda new, before: None  # what figures of later rows take over from those before
    of: str = ""  # the task of the learners that do this one, where it is another
    best: str = ""  # what the best fixed model is here
    rounds: ByRounds | None = None  # of a task that is measured round by round, not by answers to rows


def by_rounds(*_: Any) -> Any:
    """Refuse to measure answers where there are none."""
    raise TypeError("this task is not measured by answers to rows")


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
    "portfolio": Kind(
        figures=by_rounds,
        baselines=by_rounds,
        cost="loss",
        decides="wealth",
        loss="log wealth",
        dozen=(
            "portfolio.crp", "portfolio.eg", "portfolio.universal", "portfolio.ons",
            "portfolio.anticor", "portfolio.pamr", "portfolio.pamr:variant=pamr2", "portfolio.cwmr:variant=var", "portfolio.cwmr",
            "portfolio.olmar", "portfolio.olmar:alpha=0.5", "portfolio.mixture",
        ),
        scores=("wealth", "annual_return", "sharpe", *(cost_name(c) for c in COSTS)),
        errors=("volatility", "drawdown", "turnover"),
        columns=(
            Shown("wealth", "wealth", 9, wealth_text), Shown("annual_return", "a year %", 6, percent),
            Shown("volatility", "volatility %", 4, percent), Shown("sharpe", "Sharpe", 5),
            Shown("drawdown", "drawdown %", 6, percent), Shown("turnover", "turnover %", 5, percent),
            *(Shown(cost_name(c), f"cost {100 * c:g} %", 7, wealth_text, "wealth") for c in COSTS),
        ),
        curves=("wealth", "drawdown"),
        unit="day",
        rounds=ByRounds(PortfolioFigures, MarketHindsight, portfolio_warnings, "asset", {"wealth": True, "drawdown": False}),
    ),
    "experts": Kind(
        figures=by_rounds,
        baselines=by_rounds,
        cost="loss",
        decides="paid",
        loss="given",
        dozen=("experts", "experts:rule=hedge", "experts:rule=fixed_share"),
        errors=("paid", "paid_a_round", "best_expert"),
        columns=(Shown("paid", "paid", 9), Shown("paid_a_round", "paid a round", 6)),
        curves=("loss",),
        unit="round",
        rounds=ByRounds(ExpertFigures, ExpertHindsight, no_warnings, "expert", {"loss": False}),
    ),
    "components": Kind(
        figures=by_rounds,
        baselines=by_rounds,
        cost="loss",
        decides="residual",
        loss="squared_residual",
        judged=True,
        dozen=("online_pca", "online_pca:method=ccipca", "online_pca:method=oja", "online_svd:keep=false", "dictionary"),
        errors=("residual", "unexplained", "angle", "gap"),
        columns=(Shown("residual", "residual", 9), Shown("unexplained", "unexplained %", 8, percent)),
        curves=("residual", "unexplained"),
        unit="row",
    ),
    "topics": Kind(
        figures=by_rounds,
        baselines=by_rounds,
        cost="loss",
        decides="completion",  # bounds of other models, or with other priors, do not compare
        loss="bound",
        judged=True,
        dozen=("online_lda", "online_lda:learn_alpha=true", "online_hdp"),
        errors=("perplexity", "completion"),
        columns=(Shown("perplexity", "perplexity", 9), Shown("completion", "completion", 8), Shown("topics", "topics", 7)),
        curves=("perplexity", "completion", "topics"),
        log=("perplexity", "completion"),
        unit="document",
    ),
    "recommendation": Kind(
        figures=lambda loss, epsilon, window, fading: RatingFigures(window, fading, epsilon, loss),
        baselines=rating_baselines,
        cost="loss",
        decides="rmse",
        dozen=("fm_regressor", "fm_regressor:k=20", "adagrad_regressor:eta=0.3", "nag_regressor"),
        loss="square",
        tube="epsilon_insensitive",
        scores=("r2", "hit_rate"),
        errors=("mae", "rmse", "bias"),
        losses=("square", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive"),
        main=("square", "absolute"),
        columns=(Shown("hit_rate", "hits %", 8, percent),),  # besides those of regression
        onward=RatingFigures.goes_on,
        curves=("loss",),
        unit="rating",
        of="regression",
        best="best additive model, a constant and an offset for each user and each item,",
    ),
}  # fmt: skip


def kind_of(learner: Learner, task: str | None = None) -> Kind:
    """Return the entry of a learner's task, or of another that it does."""
    other = None if task is None else KINDS[task]
    return other if other is not None and other.of and other.of == learner.task else KINDS[learner.task]


def every(name: str) -> Iterator[str]:
    """Yield the names that the kinds have under a heading: "scores", "errors", "losses", "main" or "curves"."""
    yield from dict.fromkeys(found for kind in KINDS.values() for found in getattr(kind, name))


def along(curves: Iterable[str]) -> list[str]:
    """Return the figures that are followed for these curves: of all rows so far, in a window, and fading."""
    return [f"{how}{what}" for what in curves for how in ("", "window_", "faded_")]


def all_columns() -> list[Shown]:
    """Return the columns of all kinds."""
    return [shown for kind in KINDS.values() for shown in kind.columns]


def log_curves() -> set[str]:
    """Return the curves that are drawn on a logarithmic axis."""
    by_round = {name for kind in KINDS.values() if kind.rounds is not None for name, log in kind.rounds.curves.items() if log}
    return by_round | {*along(every("log"))}


def loss_of(learner: Learner) -> tuple[str, float]:
    """Return the loss in which a learner's regret is measured, and its epsilon: its own, or that of its family's theorems."""
    kind = kind_of(learner)
    loss = getattr(learner, "loss", kind.tube if kind.tube and "epsilon" in learner.defaults else kind.loss)
    if not isinstance(loss, str):
        named = {part: name for name, part in {**CLASSIFICATION, **REGRESSION}.items()}
        return named.get(type(loss), kind.loss), float(getattr(loss, "epsilon", 0.0))
    loss = kind.read_as.get(loss, loss)
    return loss, float(learner.epsilon) if "epsilon" in loss else 0.0
