"""The tables of what a learner is made of: members of a pool, tasks, features in use."""

from __future__ import annotations

from typing import Any

from ...text import amount, percent, plural, printable, shortened

Learner = dict[str, Any]
SHOWN_TASKS = 20  # the others are in the JSON


def pool_rows(learner: Learner) -> list[list[str]]:
    """Return the learners of a pool, the heaviest first, with weights and losses."""
    heaviest = sorted(learner["pool"], key=lambda member: -member["weight"])
    return [[member["learner"], f"{member['weight']:.3f}", amount(member["loss"])] for member in heaviest]


def task_rows(learner: Learner) -> tuple[list[str], list[list[str]]]:
    """Return the largest tasks with their error (or loss) and the weights they use, under a heading; the others in one line."""
    cost, form = ("error", percent) if "error" in learner["tasks"][0] else ("loss", amount)
    largest = sorted(learner["tasks"], key=lambda task: -task["examples"])
    rows = [
        [shortened(printable(str(task["task"])), 40), f"{task['examples']:,}", form(task[cost]), f"{task['nonzeros']:,}"]
        for task in largest[:SHOWN_TASKS]
    ]
    rest = len(largest) - len(rows)
    rows += [[f"({plural(rest, 'more task')})", f"{sum(t['examples'] for t in largest[-rest:]):,}", "", ""]] if rest else []
    return ["task", "examples", "error %" if cost == "error" else "loss", "weights"], rows


def feature_words(learner: Learner) -> str:
    """Return how many features a learner uses, and how alike the choices of several orders are."""
    found = learner["features"]
    alike = f"; the choices of the orders are {percent(found['stability'])} % alike" if "stability" in found else ""
    return f"{learner['label']} uses {found['count']:,} of {plural(found['of'], 'feature')}{alike}."


def feature_rows(learner: Learner) -> tuple[list[str], list[list[str]]]:
    """Return the table of the largest weights: head and cells."""
    top = learner["features"]["top"]
    stable, several = (any(key in row for row in top) for key in ("orders", "of"))
    whose = "task" if learner.get("tasks") else "class"
    head = ["feature", "weight", *([f"for {whose}"] if several else []), "since example", *(["orders %"] if stable else [])]
    rows = [
        [shortened(printable(row["feature"]), 40), amount(row.get("weight", row["size"]))]
        + ([shortened(printable(row["of"]), 20)] if several else [])
        + [amount(row["since"], 9)]
        + ([percent(row["orders"])] if stable else [])
        for row in top
    ]
    return head, rows
