"""Online learning for data that never stops: predict and learn one example at a time, in bounded memory, at C speed.

>>> import noregret as nr
>>> m = nr.PA1(C=0.1)
>>> m.learn_one({"free": 1, "viagra": 2}, "spam")
>>> m.learn_one({"meeting": 1, "agenda": 1}, "ham")
'spam'
>>> m.predict_one({"viagra": 1})
'spam'
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from . import families
from .version import __version__ as __version__

# Public names by module, imported when first used: `import noregret` loads neither numba nor scikit-learn.
_NAMES = {
    **{f"families.{module}": names for module, names in families.NAMES.items()},
    "calibration.alone": "Calibrator Coverage",
    "learners.base": "NotLearnedError",
    "learners.learner": "Learner",
    "files.model_file": "ModelFileError from_bytes load",
    "evaluation.comparator.batch_model": "batch",
    "evaluation.comparator.subspace": "best_subspace",
    "evaluation.report.report": "Report",
    "evaluation.runs.study": "compare evaluate sweep",
    "training.job": "train",
    "forests.mondrian": "MondrianForest MondrianForestRegressor",
    "pools.auto": "Auto AutoRegressor",
    "pools.expert_advice": "Experts",
    "pools.hedge": "Hedge",
    "pools.hedge_regressor": "HedgeRegressor",
    "parts.budgets": "Merge ProjectRemoved Projection RemoveOldest RemoveRandom RemoveRedundant RemoveSmallest Replace "
    "ReplaceNearest Shrink Stop",
    "parts.kernels": "Cauchy Laplacian Linear Polynomial RBF Sigmoid",
    "parts.projections": "HalfSpace",
    "parts.structures": "StringSubsequence SubsetTree",
    "recommender": "Recommender",
    "registry": "algorithms learner",
    "inputs.batch": "BadRow",
    "streams.stream": "Stream stream",
    "tasks.classification": "Classifier",
    "tasks.compact": "Compact",
    "tasks.one_class": "OneClass",
    "tasks.regression": "Regressor",
    "tasks.sampling": "SelectiveSampler",
    "transforms.namespaces": "Namespaces",
    "transforms.nystroem": "Nystroem",
    "transforms.pipeline": "Category Cross Date Hash Ignore Number Pipeline Text pipeline",
    "transforms.first": "First",
    "transforms.per_entry": "PerEntry",
    "transforms.random_features": "RandomBinning RandomFourier",
    "transforms.scale": "Normalize Scale",
    "transforms.table": "Table",
    "unsupervised.dictionary": "DictionaryLearner",
    "unsupervised.hdp": "OnlineHDP",
    "unsupervised.lda": "OnlineLDA",
    "unsupervised.pca": "OnlinePCA",
    "unsupervised.rating_svd": "RatingSVD",
    "unsupervised.svd": "OnlineSVD",
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = ("checks", "parts", "portfolio")

__all__ = sorted([*_WHERE, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
