"""The printed test vectors of the sparse learners, six decimals: compare with atol = 2e-6.

A line for each round: the score before the update; after it the mean gradient (gbar), z and n of FTRL, H of AdaGrad, the weights
w, or W feature by feature.
"""

from typing import NamedTuple

import numpy as np
from traces import M_LABELS, P_LABELS, P_TARGETS, M, P

P4 = np.column_stack([P, [1, 0, -1, 0, 2]])
TARGETS = P, P_TARGETS, None
LABELS = P, P_LABELS.astype(int), [-1, 1]
LABELS4 = P4, P_LABELS.astype(int), [-1, 1]
THREE = M, M_LABELS, [0, 1, 2]


class Trace(NamedTuple):
    """One printed run of the learner with that registry name and those parameters."""

    name: str
    registry: str
    params: dict
    on: tuple
    text: str

    def rounds(self):
        """One dict of arrays per round."""
        return [{k: np.array(v, float) for k, *v in map(str.split, line.split("|"))} for line in self.text.strip().split("\n")]


TRACES = [
    Trace(
        "rounding",
        "rounding_regressor",
        {"eta": 0.05, "theta": 0.12, "K": 2},
        TARGETS,
        """
score 0 | w 0.1 0.2 0
score -0.15 | w 0 0.235 0
score 0.1175 | w -0.03825 0.254125 0.0765
score 0.101125 | w 0.341525 0.444013 0
score 0.444013 | w 0.341525 0.499611 0.027799
""",
    ),
    Trace(
        "truncated gradient",
        "truncated_gradient_regressor",
        {"eta": 0.05, "g": 0.4, "theta": 0.3, "K": 1},
        TARGETS,
        """
score 0 | w 0.08 0.18 0
score -0.14 | w 0.042 0.196 -0.016
score 0.024 | w 0 0.1998 0.0592
score 0.1406 | w 0.37188 0.38574 -0.10674
score 0.33237 | w 0.37188 0.452503 -0.053358
""",
    ),
    Trace(
        "truncated gradient, every second round",
        "truncated_gradient_regressor",
        {"eta": 0.05, "g": 0.4, "theta": 0.3, "K": 2},
        TARGETS,
        """
score 0 | w 0.1 0.2 0
score -0.15 | w 0.0425 0.195 0
score 0.055 | w -0.002 0.21725 0.089
score 0.12425 | w 0.37315 0.404825 -0.058575
score 0.375537 | w 0.37315 0.467271 -0.027352
""",
    ),
    Trace(
        "truncated gradient without end",
        "truncated_gradient_regressor",
        {"eta": 0.05, "g": 0.4, "K": 1},
        TARGETS,
        """
score 0 | w 0.08 0.18 0
score -0.14 | w 0.042 0.196 -0.016
score 0.024 | w 0 0.1998 0.0592
score 0.1406 | w 0.35188 0.36574 -0.10674
score 0.31237 | w 0.33188 0.414503 -0.052358
""",
    ),
    Trace(
        "fobos l1",
        "fobos",
        {"loss": "hinge", "lambda_": 0.1},
        LABELS,
        """
score 0 | w 0.45 0.95 0
score -0.725 | w 0.237868 1.268198 -0.318198
score -0.240165 | w -0.02194 1.383668 0.230285
score 1.109504 | w -0.49694 1.108668 0.455285
score 1.33631 | w -0.474579 1.086307 0.432924
""",
    ),
    Trace(
        "fobos l2",
        "fobos",
        {"loss": "hinge", "lambda_": 0.1, "regularizer": "l2"},
        LABELS,
        """
score 0 | w 0.477639 0.955279 0
score -0.716459 | w 0.293203 1.275511 -0.344552
score -0.344552 | w 0.004437 1.391361 0.228127
score 1.172108 | w -0.486269 1.119955 0.46916
score 1.354535 | w -0.477956 1.100809 0.46114
""",
    ),
    Trace(
        "fobos l2sq",
        "fobos",
        {"loss": "hinge", "lambda_": 0.1, "regularizer": "l2sq"},
        LABELS,
        """
score 0 | w 0.47619 0.952381 0
score -0.714286 | w 0.289189 1.261339 -0.34148
score -0.34148 | w 0.0005 1.366237 0.229252
score 1.137985 | w -0.487317 1.089012 0.467563
score 1.322793 | w -0.476659 1.065193 0.457337
""",
    ),
    Trace(
        "fobos linf",
        "fobos",
        {"loss": "hinge", "lambda_": 0.1, "regularizer": "linf"},
        LABELS,
        """
score 0 | w 0.5 0.95 0
score -0.7 | w 0.323223 1.268198 -0.353553
score -0.396231 | w 0.034548 1.383668 0.223797
score 1.228968 | w -0.465452 1.108668 0.473797
score 1.345567 | w -0.465452 1.086307 0.473797
""",
    ),
    Trace(
        "fobos l1l2",
        "fobos",
        {"loss": "hinge", "lambda_": 0.1, "regularizer": "l1l2"},
        THREE,
        """
W 0.464645 -0.464645 0 0 0 0
W 0.439645 -0.439645 0 -0.328553 0.328553 0
W 0.416451 -0.143005 -0.273446 -0.312576 0.449895 -0.137319
W 0.147595 -0.126805 -0.02079 -0.420149 0.431977 -0.011828
W 0.017614 -0.007383 -0.010231 -0.181213 0.192118 -0.010906
""",
    ),
    Trace(
        "fobos l1linf",
        "fobos",
        {"loss": "hinge", "lambda_": 0.1, "regularizer": "l1linf"},
        THREE,
        """
W 0.475 -0.475 0 0 0 0
W 0.457322 -0.457322 0 -0.335876 0.335876 0
W 0.428455 -0.168647 -0.288675 -0.335876 0.451346 -0.144338
W 0.161051 -0.161051 -0.038675 -0.443611 0.443611 -0.019338
W 0.03827 -0.03827 -0.03827 -0.208824 0.208824 -0.019338
""",
    ),
    Trace(
        "rda",
        "rda",
        {"loss": "hinge", "lambda_": 0.1, "gamma": 2},
        LABELS,
        """
score 0 | gbar -1 -2 0 | w 0.45 0.95 0
score -0.725 | gbar -0.25 -1.5 0.5 | w 0.106066 0.989949 -0.282843
score -0.176777 | gbar 0.166667 -1.166667 -0.333333 | w -0.057735 0.92376 0.202073
score 0.606218 | gbar 0.625 -0.625 -0.5 | w -0.525 0.525 0.4
score 0.725 | gbar 0.5 -0.7 -0.5 | w -0.447214 0.67082 0.447214
""",
    ),
    Trace(
        "rda enhanced",
        "rda",
        {"loss": "hinge", "lambda_": 0.1, "gamma": 2, "rho": 0.05},
        LABELS,
        """
score 0 | gbar -1 -2 0 | w 0.4 0.9 0
score -0.7 | gbar -0.25 -1.5 0.5 | w 0.056066 0.939949 -0.232843
score -0.051777 | gbar 0.166667 -1.166667 -0.333333 | w -0.007735 0.87376 0.152073
score 0.706218 | gbar 0.625 -0.625 -0.5 | w -0.475 0.475 0.35
score 0.65 | gbar 0.5 -0.7 -0.5 | w -0.397214 0.62082 0.397214
""",
    ),
    Trace(
        "rda strongly convex",
        "rda",
        {"loss": "hinge", "lambda_": 0.1, "gamma": 0, "sigma": 2},
        LABELS,
        """
score 0 | gbar -1 -2 0 | w 0.45 0.95 0
score -0.725 | gbar -0.25 -1.5 0.5 | w 0.075 0.7 -0.2
score -0.125 | gbar 0.166667 -1.166667 -0.333333 | w -0.033333 0.533333 0.116667
score 0.35 | gbar 0.625 -0.625 -0.5 | w -0.2625 0.2625 0.2
score 0.3625 | gbar 0.5 -0.7 -0.5 | w -0.2 0.3 0.2
""",
    ),
    Trace(
        "ofs",
        "ofs",
        {"B": 2},
        LABELS,
        """
score 0 | w 0.2 0.4 0
score -0.3 | w 0 0.5992 -0.2
score -0.1004 | w 0 0.698002 0.2004
score 0.497602 | w -0.4 0.496606 0
score 0.496606 | w -0.3992 0.695612 0
""",
    ),
    Trace(
        "pe_trunc",
        "pe_trunc",
        {"B": 2},
        LABELS,
        """
score 0 | w 1 2 0
score -1.5 | w 1 2 0
score 0 | w 0 2.5 2
score 0.5 | w -2 0 3
score 1.5 | w -2 0 3
""",
    ),
    Trace(
        "ofs, ball active",
        "ofs",
        {"B": 2, "eta": 1.0, "lambda_": 0.25},
        LABELS,
        """
score 0 | w 0.894427 1.788854 0
score -1.341641 | w 0.67082 1.341641 0
score 0 | w 0 1.180167 1.567047
score -0.38688 | w -1.352629 0 1.471176
score 0.735588 | w -0.946001 0 1.495164
""",
    ),
    Trace(
        "group lasso",
        "group_lasso",
        {"groups": [0, 0, 1, 1], "lambda_": 0.1, "gamma": 2},
        LABELS4,
        """
score 0 | gbar -0.5 -1 0 -0.5 | w 0.218377 0.436754 0 0.179289
score -0.327566 | gbar -0.145292 -0.709417 0.209417 -0.25 | w 0.082673 0.403667 -0.083866 0.100118
score -0.148689 | gbar 0.082173 -0.562462 -0.218458 0.012368 | w -0.053459 0.365918 0.066912 -0.003788
score 0.192088 | gbar 0.335568 -0.284878 -0.300812 0.009276 | w -0.227757 0.193352 0.159458 -0.004917
score 0.263247 | gbar 0.268454 -0.314815 -0.284106 -0.166405 | w -0.197548 0.231663 0.181207 0.106136
""",
    ),
    Trace(
        "sparse group lasso",
        "group_lasso",
        {"groups": [0, 0, 1, 1], "lambda_": 0.1, "gamma": 2, "r": 0.5},
        LABELS4,
        """
score 0 | gbar -0.5 -1 0 -0.5 | w 0.19473 0.411096 0 0.154289
score -0.313731 | gbar -0.144449 -0.711102 0.211102 -0.25 | w 0.052643 0.368475 -0.051186 0.063544
score -0.03432 | gbar 0.073227 -0.558831 -0.198318 0.00286 | w -0.01453 0.318314 0.005973 0
score 0.28328 | gbar 0.340095 -0.276536 -0.291326 0.002145 | w -0.178633 0.139495 0.099905 0
score 0.189447 | gbar 0.272076 -0.311785 -0.278339 -0.179396 | w -0.146005 0.172111 0.117729 0.066715
""",
    ),
    Trace(
        "ftrl",
        "ftrl",
        {"alpha": 0.5, "lambda1": 0.3, "lambda2": 0.1},
        LABELS,
        """
score 0 | z -0.5 -1 0 | n 0.25 1 0 | w 0.064516 0.170732 0
score -0.138474 | z -0.273927 -1.500611 0.465437 | n 0.304158 1.216631 0.216631 | w 0 0.278821 -0.054584
score 0.030243 | z 0.218512 -1.761969 -0.451335 | n 0.546655 1.277256 1.186619 | w 0 0.33529 0.03537
score 0.29992 | z 1.367358 -1.27982 -1.035815 | n 1.866502 1.607217 1.516581 | w -0.220875 0.211372 0.161257
score 0.292001 | z 1.367358 -1.736987 -1.255511 | n 1.866502 1.789986 1.562273 | w -0.220875 0.300889 0.207728
""",
    ),
    Trace(
        "adagrad_fobos",
        "adagrad_fobos",
        {"loss": "hinge", "eta": 0.5, "delta": 1.0, "lambda_": 0.1},
        LABELS,
        """
score 0 | H 2 3 1 | w 0.225 0.316667 0
score -0.204167 | H 2.118034 3.236068 2 | w 0.083359 0.455724 -0.225
score -0.305497 | H 2.5 3.291288 3.236068 | w -0.096641 0.516491 0.068566
score 0.254643 | H 3.5 3.5 3.44949 | w -0.368069 0.359348 0.19902
score 0.458858 | H 3.5 3.692582 3.5 | w -0.353784 0.481214 0.256163
""",
    ),
    Trace(
        "adagrad_rda",
        "adagrad_rda",
        {"loss": "hinge", "eta": 0.5, "delta": 1.0, "lambda_": 0.1},
        LABELS,
        """
score 0 | gbar -1 -2 0 | H 2 3 1 | w 0.225 0.316667 0
score -0.204167 | gbar -0.25 -1.5 0.5 | H 2.118034 3.236068 2 | w 0.07082 0.432624 -0.2
score -0.254508 | gbar 0.166667 -1.166667 -0.333333 | H 2.5 3.291288 3.236068 | w -0.04 0.486132 0.108156
score 0.297976 | gbar 0.625 -0.625 -0.5 | H 3.5 3.5 3.44949 | w -0.3 0.3 0.231918
score 0.415959 | gbar 0.5 -0.7 -0.5 | H 3.5 3.692582 3.5 | w -0.285714 0.40622 0.285714
""",
    ),
]

# two tasks: (task, x, target), then the score before and W after each round, by variant
TASKS = [(0, (1, 0, 1), 1.0), (1, (1, 1, 0), -1.0), (0, (0, 1, 1), 0.5), (1, (1, 0, -1), 1.0)]
MULTITASK = {
    "individual": Trace(
        "individual",
        "multitask",
        {},
        (),
        """
score 0 | W 0.95 0 0 0 0.95 0
score 0 | W 0.636396 -0.636396 0 -0.636396 0.636396 0
score 0.636396 | W 0.490748 -0.490748 0 -0.490748 0.411999 0
score -0.490748 | W 0.4 0.145374 0 -0.4 0.331802 -0.645374
""",
    ),
    "all": Trace(
        "all",
        "multitask",
        {},
        (),
        """
score 0 | W 0.95 0 0 0 0.95 0
score 0 | W 0.657107 -0.657107 0 -0.636396 0.636396 0
score 0.636396 | W 0.516113 -0.516113 -0.067044 -0.491542 0.411999 0
score -0.516113 | W 0.411137 0.212193 -0.054684 -0.400917 0.382307 -0.671164
""",
    ),
    "both": Trace(
        "both",
        "multitask",
        {},
        (),
        """
score 0 | W 0.925 0 0 0 0.925 0
score 0 | W 0.621751 -0.621751 0 -0.601041 0.601041 0
score 0.601041 | W 0.472812 -0.472812 -0.012598 -0.447481 0.389111 0
score -0.472812 | W 0.357613 0.148136 -0.000405 -0.35 0.349179 -0.599977
""",
    ),
}

# partial input of OFS: which features are seen, the score of them, the weights after
PARTIAL = [
    ((0, 1), 0, (0.6, 1.2, 0)),
    ((0, 1), -0.9, (0.6, 1.2, 0)),
    ((1, 2), 0.6, (0.6, 1.2, 0)),
    ((0, 1), 2.4, (0.12, 0.96, 0)),
    ((0, 2), 0, (0, 0.96, 0.3)),
]
