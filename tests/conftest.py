"""Configurations that the law tests run: every learner by default, and what its options change in kind."""

from __future__ import annotations

import contextlib
import gc

import noregret as nr

# What compiling leaves behind stays: looking through it for garbage again and again would take a tenth of the time.
gc.set_threshold(100_000, 50, 50)

# Compiling takes most of the time of a first run. Loops over sparse rows are compiled for one learner of each kind of loop; for the
# others those over dense rows are, and the text itself is run on sparse rows by the interpreter.
SPARSE = {
    "perceptron", "averaged_perceptron", "voted_perceptron", "pa1", "pa1_regressor", "alma p=4", "romma", "mira", "ogd",
    "mirror descent p=3", "norma", "eg", "balanced_winnow", "pa_uniclass", "sop", "cw", "arow", "nherd", "narow", "iellip",
    "adagrad", "nag", "coin", "rls", "auto",
}  # fmt: skip


def on_sparse_rows(name: str):
    """Return the context in which a learner takes sparse rows or dicts in a test: compiled, or interpreted."""
    return contextlib.nullcontext() if name in SPARSE else nr.engine.compiling.interpreted()


CONFIGURATIONS = {
    "perceptron uniform": lambda: nr.Perceptron(update="uniform"),
    "perceptron proportional": lambda: nr.Perceptron(update="proportional", alpha=0.5),
    "perceptron decaying, averaged": lambda: nr.Perceptron(beta=0.1, gamma=0.9, average=True),
    "perceptron line search": lambda: nr.Perceptron(beta=1.0, schedule="line_search"),
    "averaged perceptron decaying": lambda: nr.AveragedPerceptron(gamma=0.95, schedule="inv_sqrt"),
    "voted perceptron decaying": lambda: nr.VotedPerceptron(gamma=0.95, schedule="inv_updates"),
    "pa1 averaged": lambda: nr.PA1(average=True),
    "pa1 by cost": lambda: nr.PA1(cost={(0, 1): 4.0, (2, 0): 9.0}),
    "pa2 by cost, prediction": lambda: nr.PA2(cost={(0, 1): 4.0}, mode="prediction", margin="cost"),
    "pa1 float32": lambda: nr.PA1(dtype="float32"),
    "romma float32": lambda: nr.ROMMA(dtype="float32"),
    "alma p=4": lambda: nr.ALMA(p=4.0),
    "ogd log": lambda: nr.OGD(loss="log"),
    "ogd squared hinge, decaying": lambda: nr.OGD(loss="squared_hinge", l2=0.1, eta=0.1),
    "ogd in an l2 ball": lambda: nr.OGD(projection="l2", radius=0.7),
    "ogd log in an l2 ball": lambda: nr.OGD(loss="log", projection="l2", radius=0.7),
    "ogd in an l1 ball, decaying": lambda: nr.OGD(projection="l1", l2=0.1),
    "ogd log in a box": lambda: nr.OGD(loss="log", projection="box", radius=0.2),
    "ogd on the simplex": lambda: nr.OGD(projection="simplex"),
    "ogd regressor absolute, inv_t": lambda: nr.OGDRegressor(loss="absolute", rate="inv_t", projection="l2"),
    "mirror descent p=3": lambda: nr.MirrorDescent(p=3.0),
    "mirror descent p=6 log": lambda: nr.MirrorDescent(p=6.0, loss="log"),
    "mirror descent regressor p=3": lambda: nr.MirrorDescentRegressor(p=3.0, loss="epsilon_insensitive"),
    "norma nu, offset": lambda: nr.NORMA(nu=0.3, offset=True),
    "norma regressor nu": lambda: nr.NORMARegressor(nu=0.3, rate="inv_sqrt"),
    "norma regressor square": lambda: nr.NORMARegressor(loss="square", eta=0.01),
    "eg log": lambda: nr.EG(loss="log"),
    "eg_pm log": lambda: nr.EGpm(loss="log", U=5.0),
    "eg_pm regressor absolute": lambda: nr.EGpmRegressor(loss="absolute", U=5.0),
    "arow full": lambda: nr.AROW(covariance="full"),
    "arow drop, by cost": lambda: nr.AROW(update="drop", cost={(0, 1): 4.0, (2, 0): 9.0}),
    "nherd exact": lambda: nr.NHERD(update="exact"),
    "cw drop": lambda: nr.CW(update="drop"),
    "scw1 float32": lambda: nr.SCW1(dtype="float32"),
    "fobos l1l2, hinge": lambda: nr.FOBOS(regularizer="l1l2", loss="hinge", lambda_=0.01),
    "fobos linf": lambda: nr.FOBOS(regularizer="linf", loss="hinge", lambda_=0.01),
    "truncated gradient, hinge": lambda: nr.TruncatedGradient(loss="hinge", g=0.05, theta=0.5, K=3),
    "rda enhanced": lambda: nr.RDA(loss="hinge", lambda_=0.01, rho=0.01),
    "winnow-1": lambda: nr.Winnow(zero_on_demotion=True, theta=3.0),
    "pa uniclass, learned radius": lambda: nr.PAUniclass(variant="pa", B=4.0),
    "perceptron averaged, laplacian, smallest removed": lambda: nr.Perceptron(
        kernel=nr.Laplacian(0.2), budget=nr.RemoveSmallest(30), average=True
    ),
    "without intercept": lambda: nr.PA1(fit_intercept=False),
}


def learners() -> dict[str, object]:
    """Every registered learner by default, then the configurations."""
    return {**{name: nr.learner(name) for name in nr.algorithms()}, **{k: make() for k, make in CONFIGURATIONS.items()}}
