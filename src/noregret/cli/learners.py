"""Options made from the parameters of a learner: `--model pa1` brings -C, `--fit-intercept` and the others of PA-I."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from ..text import amount, first_of
from . import plugins
from .options import Command, Decorator, Option, ParamType
from .values import LISTS, Costs, Gathering, Grouping, Levels, ListOf, Named, Number, Pairs, Values
from .wording import PREFIX, spoken

LEFT_OUT = ("epochs", "shuffle", "seed", "hash_bits", "missing")  # of `fit`, or of the source
SHARED = {
    "fit_intercept": "A constant feature, learned like any other.",
    "kernel": "Learn in the space of a kernel, such as rbf(0.5) or polynomial(degree=2).",
    "budget": "With --kernel: what to do with one support vector too many, such as remove_oldest(500).",
    "average": "Answer with the mean of all weight vectors.",
    "classes": "The labels, if known beforehand.",
    "class_weight": "Weights of the labels, such as spam=2,ham=1.",
    "probabilities": "Learn how probable labels are too, for predict --proba.",
    "coverage": "Learn intervals, or sets of labels, that hold the truth this often, for predict --interval; 0.9, or 0.5,0.9.",
    "cost": "What a confusion costs, as TRUE:SAID=COST,...; 1 where nothing is said.",
    "mode": "With --cost: learn against the class of largest loss, or the one predicted.",
    "margin": "With --cost: the margin asked for.",
    "dtype": "Of the weights.",
    "groups": "Features that belong together: by a prefix of their names, or as a file says, a line for each.",
}
WORDS = {"mode": ("max_loss", "prediction"), "margin": ("sqrt_cost", "cost", "unit"), "dtype": ("float64", "float32")}
EXTRA = "noregret.cli.learner_options"


class LearnerName(ParamType):
    """The registry name of a learner, with settings after a colon and steps before a > if there are any."""

    name = "learner"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the names that begin with the text; in a list, or after maps of rows, for its last item."""
        from click.shell_completion import CompletionItem

        at = max(incomplete.rfind(mark) for mark in ",>") + 1
        before, last = incomplete[:at], incomplete[at:]
        return [CompletionItem(before + name) for name in sorted(known()) if name.startswith(last)]

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Say how to find one."""
        return "Name a learner; noregret algorithms lists them."


def known() -> dict[str, Any]:
    """Return the learners by name."""
    from ..registry import by_name

    return by_name()


def class_of(spec: str, task: str | None = None) -> Any:
    """Return the class that a name, with or without settings, stands for; under a task it may be a short one."""
    from .. import registry

    name = name_in(spec)
    entry = None if task is None else entry_of(task)
    room = "" if entry is None else entry.room
    found = (registry.known(f"{room}{name}") if room else None) or registry.known(name)
    if found is None:
        raise click.UsageError(registry.unknown(name, "" if entry is None or entry.of else room))
    return found


def entry_of(task: str) -> Any:
    """Return what depends on a task."""
    from ..training.by_task import BY_TASK

    if task not in BY_TASK:
        raise click.UsageError(f"--task must be one of {', '.join(BY_TASK)}, got {task!r}")
    return BY_TASK[task]


def start_of(task: str | None) -> str | None:
    """Return the learner whose options are there when only a task is named that rows do not tell."""
    entry = None if task is None else entry_of(task)
    return None if entry is None or not entry.own else str(entry.start)


def name_in(spec: str) -> str:
    """Return the name of the learner in "step(...)>name:C=0.1"."""
    from ..spec import parse_spec

    try:
        return parse_spec(spec).name
    except ValueError as e:
        raise click.UsageError(str(e)) from None


# ---- the command -----------------------------------------------------------------------------------------------------
class LearnerCommand(Command):
    """A command that has the options of the learner which `--model` names."""

    lists = False  # whether they take several values

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look for --model first, then parse with the options of that learner."""
        args = [part for arg in args for part in one_letter(arg)]
        spec, task = value_after(args, "--model", "-m"), value_after(args, "--task")
        own = implied_by(args) if spec is None and task is None else None
        task = task or own
        spec = start_of(task) if spec is None else spec
        ctx.meta[EXTRA] = []
        if spec is not None:
            try:
                plugins.load(values_after(args, "--plugin"))
                taken = {text for param in self.params for text in (*param.opts, *param.secondary_opts)}
                ctx.meta[EXTRA] = options_of(class_of(spec, task), taken, self.lists)
            except click.ClickException:
                if not ctx.resilient_parsing:
                    raise
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as e:
            not_an_option(e, spec, ctx)
        ctx.params["task"] = ctx.params.get("task") or own
        return rest

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of the command and those of its learner, the help last."""
        own = super().get_params(ctx)
        extra = ctx.meta.get(EXTRA, [])
        return [*own[:-1], *extra, own[-1]]


class SweepCommand(LearnerCommand):
    """The same, with lists of values."""

    lists = True


def one_letter(arg: str) -> list[str]:
    """Return an option of one letter as it is known: --K 50 and --K=50 are -K 50."""
    found = re.fullmatch(r"--(\w)(?:=(.*))?", arg, re.S)
    return [arg] if found is None else [f"-{found[1]}", *([] if found[2] is None else [found[2]])]


def implied_by(args: list[str]) -> str | None:
    """Return the task that the format of the source tells, where the source comes first."""
    from ..streams import formats

    if not args or args[0].startswith("-") or formats.of_address(args[0]) is not None:
        return None
    try:
        return formats.of_files(args[0], value_after(args, "--format")).task or None
    except (OSError, ValueError):  # said again, and better, when it is read
        return None


def values_after(args: list[str], *names: str) -> list[str]:
    """Return the values of an option, wherever it is given."""
    found = []
    for i, arg in enumerate(args):
        for name in names:
            if arg == name and i + 1 < len(args):
                found.append(args[i + 1])
            elif name.startswith("--") and arg.startswith(name + "="):
                found.append(arg.partition("=")[2])
            elif not name.startswith("--") and arg.startswith(name) and len(arg) > 2:
                found.append(arg[2:].removeprefix("="))
    return found


def value_after(args: list[str], *names: str) -> str | None:
    """Return the last value given to an option."""
    found = values_after(args, *names)
    return found[-1] if found else None


def not_an_option(e: click.NoSuchOption, spec: str | None, ctx: click.Context) -> NoReturn:
    """Say whose option it is that a user gave to another learner, or to none."""
    name = e.option_name
    having = [
        learner
        for learner, cls in sorted(known().items())
        if any(name in (*option.opts, *option.secondary_opts) for option in options_of(cls, set(), False))
    ]
    if not having:
        raise e
    whose = f"No such option {name!r}: it is an option of {first_of(having, 5)}."
    if spec is None:
        raise click.UsageError(f"{whose} Name the learner with --model.", ctx) from None
    own = ", ".join(option.opts[0] for option in ctx.meta[EXTRA])
    raise click.UsageError(f"{whose} {name_in(spec)} has {own}.", ctx) from None


def model_option(required: bool) -> Decorator:
    """Return the option --model."""
    what = "The learner, as noregret algorithms names it; its own options are shown by --model NAME --help. "
    what += "Maps of rows may come before it: random_fourier(200,rbf(0.1))>NAME."
    what += (
        ""
        if required
        else " Unless given, auto for labels, auto_regressor for numbers, norma_novelty on scaled columns for none, "
        "with --task portfolio.eg, experts, online_pca, online_lda or fm_regressor."
    )
    return click.option(
        "-m", "--model", cls=Option, group="Options", type=LearnerName(), required=required, metavar="NAME", help=what
    )


def settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the learner that the user gave."""
    return {k.removeprefix(PREFIX): v for k, v in options.items() if k.startswith(PREFIX) and v is not None}


def from_spec(spec: str | None, given: Mapping[str, Any] | None = None, task: str | None = None) -> Any:
    """Return the learner of "name:C=0.1,average=true", or a pipeline where steps come before a >; wrong settings are wrong usage.

    `given` are the parameters given as options; None stands for the learner of a task that has one to begin with, if there are
    any. Errors come before a source is opened.
    """
    from ..spelling import validated
    from ..training.by_task import made_for

    if spec is None and (start_of(task) is None or not given):
        return None
    spec = str(start_of(task)) if spec is None else spec
    class_of(spec, task)
    try:
        return validated(made_for(task, spec, given))
    except (TypeError, ValueError) as e:
        raise click.UsageError(spoken(str(e))) from None


# ---- options of a learner --------------------------------------------------------------------------------------------
def options_of(cls: Any, taken: set[str], lists: bool) -> list[Option]:
    """Return an option for each parameter; one whose name is taken by the command is called --model-NAME."""
    hints = cls.parameters.types
    heading = f"Options of {cls.name}"
    found = []
    for name, default in cls.defaults.items():
        if name in LEFT_OUT and name not in hints:
            continue
        flag = written(name)
        if flag in taken:
            flag = f"--model-{name.rstrip('_').replace('_', '-')}"
        kind = type_of(name, default, hints.get(name))
        said = help_of(cls, name, default, hints.get(name))
        if kind is bool and not lists:
            flag, kind = f"{flag}/--no-{flag.lstrip('-')}", click.BOOL
        elif kind is bool:
            kind = Named({"true": True, "false": False})
        if lists and not isinstance(kind, (*LISTS, Grouping)):
            kind = ListOf(kind)
        option = Gathering if isinstance(kind, LISTS) else Option
        found.append(option([flag, PREFIX + name], type=kind, default=None, metavar=metavar(kind), help=said, group=heading))
    return found


def written(name: str) -> str:
    """Return a parameter as an option: -C, --eta, --lambda."""
    name = name.rstrip("_")
    return f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"


def type_of(name: str, default: Any, hint: Any) -> Any:
    """Return how the value of a parameter is read."""
    from ..algorithm.params import Choice, Range

    marks = getattr(hint, "__metadata__", ())
    mark = marks[0] if marks else None
    if isinstance(mark, Range):
        return Number(name, mark, None in marks)
    if isinstance(mark, Choice):
        return Named({"none" if k is None else str(k): k for k in mark.table})
    if isinstance(default, bool):
        return bool
    kinds = {"coverage": Levels(), "classes": Values(), "class_weight": Pairs(), "cost": Costs(), "groups": Grouping()}
    return Named({v: v for v in WORDS[name]}) if name in WORDS else kinds.get(name, click.STRING)


def metavar(kind: Any) -> str | None:
    """Return how the value is shown in the help."""
    return getattr(kind, "shown", None)


def help_of(cls: Any, name: str, default: Any, hint: Any) -> str:
    """Return what the docstring says about a parameter, with its default and range."""
    marks = getattr(hint, "__metadata__", ())
    said = sentence(inspect.getdoc(cls) or "", name) or SHARED.get(name, "")
    notes = [] if default is None and hint is None else [f"default: {value_text(default)}"]
    if marks and hasattr(marks[0], "ends"):
        notes.append(f"range {marks[0]}")
    return "  ".join(part for part in (said, f"[{'; '.join(notes)}]" if notes else "") if part)


def value_text(value: Any) -> str:
    """Return a default as it would be given."""
    if isinstance(value, float):
        return amount(value).replace(",", "")
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def sentence(doc: str, name: str) -> str:
    """Return the clause of the sentence on parameters that names this one."""
    at = doc.find("Parameters:")
    if at < 0:
        return ""
    paragraph = " ".join(doc[at + len("Parameters:") :].split("\n\n")[0].split())
    for clause in re.split(r";\s|\.\s(?=[A-Z])|\.$", paragraph):
        if re.search(rf"`{re.escape(name)}\b", clause):
            text = in_options(clause.replace("`", "").strip(), name)
            return f"{text[0].upper() + text[1:] if text.startswith('the ') else text}."
    return ""


def in_options(text: str, name: str) -> str:
    """Return what a docstring says about a parameter as the command line has it: values without quotes, switches as options."""
    text = re.sub(rf"^{name}[:,] ", "", text)
    text = re.sub(r"\b(\w+)=True\b", lambda found: written(found[1]), text)
    return re.sub(r'"(\w+)"', r"\1", text).replace("lambda_", "lambda").replace("None", "none")
