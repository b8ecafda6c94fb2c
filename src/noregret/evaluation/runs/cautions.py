"""Warnings: where figures mislead, or a learner has learned nothing, a report says so and what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...inputs.batch import Skipped
from ...text import amount, brief, first_of, percent, plural

CHANCE = 2.0  # standard deviations by which two counts of mistakes differ by chance
NOTICED = 1.01  # ratio of two RMSEs that is worth a word
RUNS = 2  # stretches of rows per class in a file that is sorted by class: two sorted files, one after the other
SHUFFLED = 20  # changes of label that shuffled rows must be expected to have: with fewer, some orders have none
CLOSER = 0.55  # share of rows that are closer to the row before than to a distant one, from which on neighbours are alike
SORTED = 0.1  # share of these that rows sorted by class have at most
NAMED = 5  # learners in a list
UNIQUE = 0.8  # share of rows that bring a category of their own, from which on a column names the rows
FEWEST = 50  # rows to tell that from


def warnings(
    learners: Sequence[dict[str, Any]], baselines: Sequence[dict[str, Any]], order: dict[str, float] | None, best: str, scaled: bool
) -> list[str]:
    """Return what must be said of the results of learners, the best of which has the label `best`."""
    by_class = order is not None and is_sorted(order)
    apart = order is not None and not are_alike(order)
    found = [sorted_words(order)] if order is not None and by_class else []
    if not baselines:
        return found
    *_, blind, last = baselines  # those from labels alone come last
    if not has_finite_losses(blind):
        found.append(
            "The squares of the targets are too large for a number, and figures made of them are missing (-). Divide the target by "
            "a power of ten."
        )
    if lost := [row["label"] for row in learners if row.get("error") is not None and not has_finite_losses(row)]:
        found.append(
            f"Scores of {named(lost, len(learners))} are not finite numbers, so the answers mean nothing. Scale the features "
            "(--scale); of a learner of your own, look at what its step returns."
        )
    if worse := [row["label"] for row in learners if is_worse(row, blind)]:
        found.append(worse_words(named(worse, len(learners)), blind, None if best in worse else best, scaled))
    behind = [row["label"] for row in learners if is_worse(row, last)]
    if behind and is_worse(blind, last) and not by_class and not apart:
        found.append(behind_words(named(behind, len(learners)), last))
    return found


def identifiers(table: Any, rows: int) -> list[str]:
    """Return what must be said of columns that nearly every row has another category in: nothing is learned from them."""
    met = {} if table is None or rows < FEWEST else table.categories
    return [
        f"Column {name!r} has {plural(n, 'category')} in {plural(rows, 'row')}, and tells rows apart rather than what they have in "
        f"common: leave it out (ignore, --ignore {name})."
        for name, n in met.items()
        if n >= UNIQUE * rows
    ]


def unlearned(where: str, figures: dict[str, Any], skipped: Skipped | None = None) -> list[str]:
    """Return what must be said of rows that were answered and not learned."""
    found = []
    if skipped is not None and skipped.count:
        found.append(f"Skipped {plural(skipped.count, 'bad row')} of {where}, the first {skipped.first[0]}.")
    if not figures["examples"]:
        found.append(f"No row of {where} counts, so there are no figures of it: all rows are bad or have weight 0.")
    if unseen := figures.get("unseen"):
        labels = named([brief(v) for v in unseen["labels"]], 0)
        rows = "1 row has a label that was" if unseen["examples"] == 1 else f"{unseen['examples']:,} rows have labels that were"
        found.append(f"In {where} {rows} never learned, {labels}: every answer there is a mistake.")
    return found


def has_finite_losses(row: dict[str, Any]) -> bool:
    """Return whether every loss is a number."""
    return all(v is not None and math.isfinite(v) for v in row.get("losses", {}).values())


def is_worse(row: dict[str, Any], than: dict[str, Any]) -> bool:
    """Return whether answers were worse, by more than chance. How often two err differs by at most the root of all mistakes."""
    if than.get("error") is None:
        return not rmse(row) <= NOTICED * rmse(than)
    mine, theirs = (found["error"] * found["examples"] for found in (row, than))
    return bool(mine - theirs > CHANCE * math.sqrt(mine + theirs))


def rmse(row: dict[str, Any]) -> float:
    """Return the RMSE, infinity where it is too large for a number."""
    value = row["metrics"]["rmse"]
    return math.inf if value is None else value


def is_sorted(order: dict[str, float]) -> bool:
    """Return whether rows come class by class."""
    if "changes" not in order:
        return False
    few = order["changes"] + 1 <= RUNS * order["classes"]
    return few and order["shuffled"] >= SHUFFLED and order["changes"] <= SORTED * order["shuffled"]


def are_alike(order: dict[str, float]) -> bool:
    """Return whether neighbouring targets are alike; of labels, that the last one is often right says so."""
    return "closer" not in order or order["closer"] >= CLOSER * (order["closer"] + order["farther"])


def cost_words(row: dict[str, Any]) -> str:
    """Return how good answers were."""
    return f"RMSE {amount(rmse(row))}" if row.get("error") is None else f"error {percent(row['error'])} %"


def named(labels: Sequence[str], of: int) -> str:
    """Return the words for the learners that are meant, given how many there are."""
    if len(labels) == of > 1:
        return "both learners" if of == 2 else f"all {of} learners"
    return first_of(labels, NAMED)


def sorted_words(order: dict[str, float]) -> str:
    """Return that rows come class by class."""
    return (
        f"The rows are sorted by class: the label changes {plural(order['changes'], 'time')}; if the rows were shuffled, it "
        f"would change about {amount(round(order['shuffled']), 6)} times. The figures do not hold for shuffled rows: shuffle the "
        "file, or compare in random orders (permutations=10, --permutations 10)."
    )


def worse_words(who: str, blind: dict[str, Any], best: str | None, scaled: bool) -> str:
    """Return that learners did worse than answers without a look at the columns."""
    other = "try another learner or other settings" if best is None else f"use {best}, the best here"
    scale = "" if scaled else "if columns are of different sizes, standardise them (scale=True, --scale), or "
    advice = f"{scale}{other}"
    return f"Worse than the {blind['label']} ({cost_words(blind)}): {who}. {advice[0].upper()}{advice[1:]}."


def behind_words(who: str, last: dict[str, Any]) -> str:
    """Return that learners did worse than no change."""
    what = last["label"].removeprefix("last ")
    return (
        f"Worse than repeating the {last['label']} ({cost_words(last)}): {who}. Neighbouring rows have like {what}s. Where the "
        f"{last['label']} is known in time, add it as a column."
    )
