"""The algorithms, one family a file: Params, State and step, in the words of the vocabulary."""

# Public classes by module; `docs/generate.py` writes this.
# fmt: off
# ruff: noqa: E501
NAMES = {
    "adaptive": "AdaGrad AdaGradRegressor NAG NAGRegressor",
    "against_rest": "IELLIP NAROW SOP",
    "budgeted": "BPANN BPAP BPAS FixedBudget Forgetron LeastRecent Projectron ProjectronPP RBP Stoptron",
    "coin": "Coin CoinRegressor",
    "confidence_weighted": "AROW CW CWVar NHERD SCW1 SCW2",
    "dual_averaging": "AdaGradFOBOS AdaGradFOBOSRegressor AdaGradRDA AdaGradRDARegressor FTRL FTRLRegressor GroupLasso GroupLassoRegressor RDA RDARegressor",
    "duol": "DUOL",
    "factors": "FM FMRegressor",
    "gradient": "MirrorDescent MirrorDescentRegressor OGD OGDRegressor",
    "kernel_rls": "KernelRLS",
    "large_margin": "ALMA AggressiveROMMA ROMMA",
    "least_squares": "RLS",
    "mira": "MIRA",
    "multiplicative": "BalancedWinnow EG EGRegressor EGpm EGpmRegressor Winnow",
    "multitask": "MultiTask MultiTaskRegressor",
    "norma": "NORMA NORMANovelty NORMARegressor",
    "passive_aggressive": "PA PA1 PA1Regressor PA2 PA2Regressor PARegressor",
    "perceptron": "AveragedPerceptron Perceptron ShiftingPerceptron VotedPerceptron",
    "scale_invariant": "ScInOL ScInOLRegressor",
    "segmented": "SegmentedLeastSquares",
    "selection": "OFS PETrunc",
    "splitting": "FOBOS FOBOSRegressor Rounding RoundingRegressor TruncatedGradient TruncatedGradientRegressor",
    "uniclass": "PAUniclass",
}
