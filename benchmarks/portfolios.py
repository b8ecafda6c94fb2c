"""Portfolios on NYSE(O): days per second beside the universal-portfolios package, and certified best constant weights."""

import logging
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from universal import algos

import noregret as nr

from .sets import DATA
from .table import Row
from .timing import Job, interleave

P = nr.portfolio
MARKETS = ("nyse-o", "sp500", "djia")
PEERS: dict[str, tuple[Callable[[], Any], Callable[[], Any], float | None]] = {  # ours, theirs, how many times faster
    "EG": (P.EG, lambda: algos.EG(eta=0.05), 50.0),
    "PAMR": (P.PAMR, lambda: algos.PAMR(eps=0.5, variant=0), 50.0),
    "CWMR": (P.CWMR, lambda: algos.CWMR(eps=0.5, confidence=0.95), 50.0),
    "OLMAR": (P.OLMAR, lambda: algos.OLMAR(window=5, eps=10), 50.0),
    "ONS": (P.ONS, lambda: algos.ONS(), 10.0),
    "Anticor, all of 2 to 30 (theirs: one window)": (P.Anticor, lambda: algos.Anticor(window=30), 10.0),
    "universal portfolio, 10,000 (theirs: 1,000)": (P.UniversalPortfolio, lambda: algos.UP(eval_points=1000), None),
}


def market(name: str) -> np.ndarray:
    """Return the relatives of a shared market."""
    return np.loadtxt(DATA / "olps" / f"{name}.csv.gz", delimiter=",")


def speeds(X: np.ndarray) -> list[Row]:
    """Time every strategy that both have."""
    rows = []
    prices = pd.DataFrame(np.cumprod(np.vstack([np.ones(X.shape[1]), X]), axis=0))
    for name, (ours, theirs, factor) in PEERS.items():

        def mine(ours: Callable[[], Any] = ours) -> Job:
            m = ours()
            return lambda: (m.learn_many(X), lambda: 0)[1]

        def peer(theirs: Callable[[], Any] = theirs) -> Job:
            m = theirs()
            return lambda: (m.weights(prices), lambda: 0)[1]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            best = {k: t.seconds for k, t in interleave({"ours": mine, "theirs": peer}, 1).items()}
        rows.append(
            Row(
                name,
                len(X) / best["ours"],
                "days/s",
                "universal-portfolios",
                len(X) / best["theirs"],
                at_least=factor,
                note=f"wealth {ours().fit(X).wealth_:.4g}",
            )
        )
    return rows


def certified(name: str) -> list[Row]:
    """Time the best constant weights until their certificate."""
    X = market(name)
    P.BCRP().fit(X[:50])
    start = perf_counter()
    best = P.BCRP().fit(X)
    seconds = perf_counter() - start
    note = f"wealth {best.wealth_:.2f}, certificate {best.gap_:.1e}"
    return [
        Row(f"BCRP, {name}", seconds, "s", at_most=1.0, note=note),
        Row(f"certificate of BCRP, {name}", best.gap_, "log wealth", at_most=1e-6),
    ]


def run(quick: bool) -> list[Row]:
    """Run everything."""
    logging.disable(logging.WARNING)
    X = market("nyse-o")
    return [*speeds(X[:600] if quick else X), *(row for name in MARKETS for row in certified(name))]
