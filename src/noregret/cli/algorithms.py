"""`noregret algorithms`: the list of learners."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from typing import Any

import click

from ..text import plural, summary, table
from .options import TASKS, Command, Option
from .plugins import plugin_option

WHERE_TO_START = (
    "Start with auto for labels or auto_regressor for numbers, which weigh several learners and have nothing to set; with nag, "
    "a single classifier without settings, at a small part of the cost; with arow on text; or with rls on up to a few hundred "
    "numeric features. "
)


@click.command("algorithms", cls=Command, short_help="List the learners.")
@click.option("--task", cls=Option, type=click.Choice(TASKS), help="Only the learners of one task.")
@plugin_option
@click.option("--json", "as_json", cls=Option, is_flag=True, help="Print JSON instead of a table.")
def command(task: str | None, as_json: bool) -> None:
    """List the learners: registry name, class, task, how two of them merge, what they do."""
    found = learners(task)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    rows = [[a["name"], a["class"], a["task"], a["merges"], a["summary"]] for a in found]
    text = table(["name", "class", "task", "merge", "summary"], rows, left=range(5))
    click.echo(in_paragraphs(found, shutil.get_terminal_size().columns) if sys.stdout.isatty() else text)
    start = "" if task else WHERE_TO_START
    more = "noregret evaluate --model NAME --help shows the options of one, noregret cite NAME its paper."
    told = f"{plural(len(rows), 'learner')}. {start}{others(task)}{more}"
    click.echo("\n" + (textwrap.fill(told, shutil.get_terminal_size().columns) if sys.stdout.isatty() else told))


def others(task: str | None) -> str:
    """Return which learners of other tasks do a task, too."""
    from ..training.by_task import BY_TASK

    entry = None if task is None else BY_TASK[task]
    return (
        f"Learners for {' and '.join(entry.of)} do it too; {entry.start} is the usual one. "
        if entry is not None and entry.of
        else ""
    )


def in_paragraphs(found: list[dict[str, Any]], width: int) -> str:
    """Return names and summaries under their tasks, for a terminal of this width."""
    room = max((len(a["name"]) for a in found), default=0) + 2
    how: dict[str, Any] = {"width": max(width, room + 20), "subsequent_indent": " " * room, "break_on_hyphens": False}
    lines = []
    for task in dict.fromkeys(a["task"] for a in found):
        lines += ["", task.replace("_", "-")]
        for a in found:
            if a["task"] == task:
                lines.append(textwrap.fill(a["summary"], initial_indent=a["name"].ljust(room), **how))
    return "\n".join(lines[1:])


def learners(task: str | None = None) -> list[dict[str, Any]]:
    """Return facts about the learners of a task, or of all: by task, then by name."""
    from ..registry import by_name

    order = {task: k for k, task in enumerate(TASKS)}  # tasks of plugins come last
    tasks = {name: name.split(".")[0] if name.split(".")[0] in order else str(cls.task) for name, cls in by_name().items()}
    found = sorted(by_name().values(), key=lambda cls: (order.get(tasks[cls.name], len(order)), cls.name))
    return [
        {
            "name": cls.name,
            "class": cls.__name__,
            "task": tasks[cls.name],
            "merges": cls.merges,
            "bound": cls.algorithm.bound.name if cls.algorithm.bound else None,
            "cite": cls.cite,
            "summary": summary(cls.__doc__),
        }
        for cls in found
        if task in (None, tasks[cls.name])
    ]
