"""All that a learner of your own is written in, in one place: needs of a State, ranges of Params, words, functions, bounds.

>>> from noregret.vocabulary import Positive, Weights, add, dot

CONTRIBUTING.md says what each is for. Import names from here: where they are defined may change.
"""

from __future__ import annotations

from .algorithm.bounds import Bound, Comparison
from .algorithm.params import (
    AboveOne,
    Choice,
    Derived,
    Exponent,
    Fixed,
    Fraction,
    NonNegative,
    Optional,
    OptionalFraction,
    Positive,
    Range,
    Real,
    Share,
    Switch,
    Times,
    Unbounded,
    Width,
)
from .algorithm.rounds import price
from .algorithm.state import (
    Count,
    Covariance,
    Dual,
    DualMeasured,
    Logs,
    Mean,
    Measured,
    Number,
    Own,
    PerClass,
    Scalable,
    Slot,
    Vote,
    Weights,
)
from .engine.elementary import exp, exp2, expm1, hypot, log, log1p, log2, normal_quantile, power, sine_cosine, tan, tanh
from .engine.words import rare, strict, word
from .families.confidence_weighted import Storage
from .parts.losses import ClassLoss, RealLoss, slope, steep, value
from .parts.projections import Region, project
from .parts.rates import Rate, rate
from .spaces.covariance import absorb, margin
from .spaces.examples import Biased, Block, Every, Pair, Sparse, Weighted, importance, item, nnz, required
from .spaces.sparse import Averages, Pending, shrink, take, weight
from .spaces.weights import add, dot, norm2, null, scale, spread, sqnorm
from .tasks.second_order import SecondOrder

__all__ = [
    "AboveOne",
    "Averages",
    "Biased",
    "Block",
    "Bound",
    "Choice",
    "ClassLoss",
    "Comparison",
    "Count",
    "Covariance",
    "Derived",
    "Dual",
    "DualMeasured",
    "Every",
    "Exponent",
    "Fixed",
    "Fraction",
    "Logs",
    "Mean",
    "Measured",
    "NonNegative",
    "Number",
    "Optional",
    "OptionalFraction",
    "Own",
    "Pair",
    "Pending",
    "PerClass",
    "Positive",
    "Range",
    "Rate",
    "Real",
    "RealLoss",
    "Region",
    "Scalable",
    "SecondOrder",
    "Share",
    "Slot",
    "Sparse",
    "Storage",
    "Switch",
    "Times",
    "Unbounded",
    "Vote",
    "Weighted",
    "Weights",
    "Width",
    "absorb",
    "add",
    "dot",
    "exp",
    "exp2",
    "expm1",
    "hypot",
    "importance",
    "item",
    "log",
    "log1p",
    "log2",
    "margin",
    "nnz",
    "norm2",
    "normal_quantile",
    "null",
    "power",
    "price",
    "project",
    "rare",
    "rate",
    "required",
    "scale",
    "shrink",
    "sine_cosine",
    "slope",
    "spread",
    "sqnorm",
    "steep",
    "strict",
    "take",
    "tan",
    "tanh",
    "value",
    "weight",
    "word",
]
