"""`noregret train`: learn from a source into a model file, with checkpoints; resume where one stopped, continue with new files."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import click

from ..text import plural, printable, size
from . import learners
from .options import ARGS, Option, ParamType, as_usage, reading, source_argument, source_of, source_options
from .own_words import speaker_of
from .plugins import plugin_option
from .progress import in_main_thread, watching
from .wording import options_alone

HANGUP = getattr(signal, "SIGHUP", None)  # the terminal is gone; not every system has it
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Interval(ParamType):
    """A number of rows, or a time: 100000, 30s, 5m, 1h."""

    name = "interval"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int | None, float | None]:
        """Return (rows, None) or (None, seconds)."""
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", value)
        if found is None or float(found[1]) == 0.0 or (not found[2] and "." in found[1]):
            self.fail(f"expected a number of rows, or a time such as 30s, 5m or 1h, got {value!r}", param, ctx)
        return (int(found[1]), None) if not found[2] else (None, float(found[1]) * UNITS[found[2]])


@click.command("train", cls=learners.LearnerCommand, short_help="Learn from a source into a model file.")
@source_argument
@learners.model_option(required=False)
@plugin_option
@click.option("--save", cls=Option, required=True, type=click.Path(dir_okay=False), help="The model file.")
@click.option(
    "--checkpoint-every",
    cls=Option,
    type=Interval(),
    default="5m",
    show_default=True,
    metavar="N|TIME",
    help="Also save every so often: a number of rows, or a time (30s, 5m, 1h).",
)
@click.option("--resume", cls=Option, is_flag=True, help="Resume where the model in the file stopped, if there is one.")
@click.option(
    "--continue",
    "continue_",
    cls=Option,
    is_flag=True,
    help="The same, and learn from other files than before and from what was added to them; those learned already are left out.",
)
@click.option("--follow", cls=Option, is_flag=True, help="Read to the last whole line of a file, and on as it grows, until Ctrl-C.")
@click.option("--overwrite", cls=Option, is_flag=True, help="Start over, although the file holds a training that was stopped.")
@click.option(
    "--epochs", cls=Option, type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Passes over the source."
)
@click.option("--json", "as_json", cls=Option, is_flag=True, help="Print JSON instead of a line.")
@click.option("--quiet", cls=Option, is_flag=True, help="Show no progress.")
@source_options
@click.pass_context
def command(ctx: click.Context, /, source: tuple[str, ...], model: str | None, save: str, quiet: bool, **options: Any) -> None:
    """Learn from SOURCE into a model file.

    Ctrl-C, SIGTERM or SIGHUP finishes the current rows, saves, and says how to continue; a second Ctrl-C exits at once. With
    --resume training continues bit for bit as if it had never stopped. With --continue a new file is learned bit for bit as if it
    had followed the earlier ones in one file; the command may be repeated, as it learns no file twice.

    \b
    noregret train mail.svm --model pa1 -C 0.1 --save spam.nr
    noregret train mail.csv --target spam --text body --model pa1 --save spam.nr
    noregret train mail.svm --model 'random_fourier(200,rbf(0.1))>pa1' --save spam.nr
    noregret train mail.svm --save spam.nr --resume
    noregret train tuesday.svm --save spam.nr --continue
    noregret train today.svm --save spam.nr --continue --follow
    """  # noqa: D301  click reads the mark
    from ..evaluation.runs.training import OnTheWay, compared_words
    from ..training.job import train

    given = learners.settings(options)
    chosen = learners.from_spec(model, given, options["task"])
    resuming = check_file(Path(save), options["resume"] or options["continue_"], options["overwrite"], chosen)
    if options["continue_"] and not resuming:
        click.echo(f"Note: {save} is not there yet: the model begins with this source.", err=True)
    rows, seconds = options["checkpoint_every"]
    start, answered = monotonic(), OnTheWay()
    with watching(quiet, model or "a learner", leave=False) as shown, stopping() as stop, as_usage():

        def same(found: Any) -> None:
            if resuming and shown.calls == 0 and chosen is not None:
                same_steps(found, chosen, save)
                same_learner(getattr(found, "learner", found), getattr(chosen, "learner", chosen), given, save)

        def watch(done: int, opened: Any, learner: Any) -> None:
            same(learner)
            shown(done, opened, learner)

        done = train(
            source_of(source),
            chosen,
            save=save,
            resume=options["resume"],
            continue_=options["continue_"],
            follow=options["follow"],
            epochs=options["epochs"],
            limit=options["limit"],
            checkpoint_every=rows,
            checkpoint_seconds=seconds,
            stop=lambda: stop.signal is not None,
            watch=watch,
            answered=answered,
            **reading(options),
        )
        same(done.model)  # a training that is over brings no rows to watch
    found = facts(done, answered, save, monotonic() - start)
    if options["as_json"]:
        click.echo(json.dumps(found, indent=2))
    else:
        said = [*(f"Note: {note}" for note in found["notes"]), *(f"Warning: {line}" for line in found["warnings"])]
        for line in said:
            click.echo(line, err=True)
        click.echo("\n".join(filter(None, [sentence(found), compared_words(found, found["added"] == found["examples"])])))
    if stop.signal is not None and (options["follow"] or not done.finished):
        pipe = "-" in source
        click.echo("Standard input cannot be read again." if pipe else f"To continue:\n  {again(ctx)}", err=True)
        ctx.exit(0 if options["follow"] else 128 + stop.signal)  # following ends in no other way


def check_file(path: Path, resume: bool, overwrite: bool, chosen: Any) -> bool:
    """Return whether there is a model to resume; refuse to overwrite another file, or a training that has not finished."""
    from ..files.model_file import ModelFileError, load

    if not path.is_file():  # there is none, or a device, which is written to as it is
        return False
    if resume:
        return True
    if chosen is None:
        raise click.UsageError(f"{path} exists: give --resume or --continue, or name a learner with --model to start over")
    if overwrite:
        return False
    try:
        model = load(path)
    except ModelFileError:
        raise click.ClickException(f"{path} exists and is not a noregret model: name another file, or give --overwrite") from None
    at = model.extras.get("stream") or {}
    if at.get("position") is not None:
        raise click.ClickException(
            f"{path} holds a training that was stopped after {plural(model.n_seen_, 'row')}: "
            "give --resume to continue it, or --overwrite to start over"
        )
    return False


def same_learner(found: Any, chosen: Any, given: Mapping[str, Any], path: str) -> None:
    """Refuse to resume with another learner, or other parameters, than the file has."""
    from ..algorithm.params import same_value

    if found.name != chosen.name:
        raise click.UsageError(f"{path} holds {found.name}, not {chosen.name}: leave out --model to continue it")
    for name, value in chosen.get_params().items():
        was = getattr(found, name)
        if not same_value(was, value) and (name in given or not same_value(value, found.defaults[name])):
            raise click.UsageError(f"{path} was trained with {name}={was}, not {value}: leave out the option to continue it")


def same_steps(found: Any, chosen: Any, path: str) -> None:
    """Refuse to resume behind other maps of rows; those of the options of the source come before them."""
    from ..spelling import spelled

    wanted, have = ([spelled(m) for m in model.front.maps] if hasattr(model, "front") else [] for model in (chosen, found))
    if wanted != have[len(have) - len(wanted) :]:
        shown = ">".join([*have, found.name])
        raise click.UsageError(f"{path} holds {shown}, not {'>'.join([*wanted, chosen.name])}: leave out --model to continue it")


# ---- being stopped ---------------------------------------------------------------------------------------------------
class Stop:
    """The signal that asked to stop."""

    signal: int | None = None


@contextmanager
def stopping() -> Iterator[Stop]:
    """Let Ctrl-C, SIGTERM and the end of the terminal ask for a stop inside this block; a second one exits at once."""
    found = Stop()

    def ask(number: int, frame: Any) -> None:
        if found.signal is not None:
            os._exit(128 + number)
        found.signal = number
        with suppress(OSError):  # the terminal may be gone
            os.write(2, b"\nFinishing the current rows, then saving. Press Ctrl-C again to exit at once.\n")

    heard = [signal.SIGINT, signal.SIGTERM]
    heard += [] if HANGUP is None or signal.getsignal(HANGUP) == signal.SIG_IGN else [HANGUP]  # which nohup ignores
    was = {s: signal.signal(s, ask) for s in heard} if in_main_thread() else {}
    try:
        yield found
    finally:
        for s, handler in was.items():
            signal.signal(s, handler)


def again(ctx: click.Context) -> str:
    """Return the command that resumes."""
    args = [arg for arg in ctx.meta[ARGS] if arg != "--overwrite"]
    return f"{ctx.command_path} {shlex.join([*args, *([] if {'--resume', '--continue'} & {*args} else ['--resume'])])}"


# ---- what is said at the end -----------------------------------------------------------------------------------------
def facts(done: Any, answered: Any, path: str, seconds: float) -> dict[str, Any]:
    """Return the results of a training."""
    from ..training.by_task import by_task
    from ..transforms.scale import Scale

    learner = getattr(done.model, "learner", done.model)
    counted, speaker = by_task(learner).classes, speaker_of(learner)
    front = getattr(done.model, "front", None)
    scaled = front is not None and any(isinstance(m, Scale) for m in front.maps)
    table = front.table if front is not None else None
    found = {
        "model": learner.name,
        "source": done.stream.name,
        "file": path,
        "bytes": os.path.getsize(path),
        "examples": done.examples,
        "mistakes": learner.n_mistakes_ if counted else None,
        "error": learner.n_mistakes_ / learner.n_seen_ if counted else None,
        "updates": learner.n_updates_,
        "added": done.added,
        "skipped": done.stream.skipped.count,
        "finished": done.finished,
        **answered.result(learner.name, done.added, done.mistakes if counted else None, scaled, table),
        **({} if speaker is None else {**speaker.standing(learner), "told": speaker.told(learner)}),
        "notes": list(done.notes),
        "seconds": seconds,
    }
    return found | {key: [options_alone(line) for line in found[key]] for key in ("notes", "warnings")}


def sentence(found: dict[str, Any]) -> str:
    """Return them as a line."""
    from ..evaluation.runs.cautions import cost_words

    error = "" if found["error"] is None else f", error {100 * found['error']:.2f} % on the way"
    if "learned" in found and found["error"] is None and found["added"] == found["examples"]:
        error = f", {cost_words(found['learned'])} on the way"
    skipped = f", {plural(found['skipped'], 'bad row')} left out" if found["skipped"] else ""
    if not found["added"]:
        return f"Nothing new: {printable(found['file'])} has learned {printable(found['source'])} already. It stays as it was."
    verb = "learned" if found["finished"] else "was stopped after"
    learned = f"{found['model']} {verb} {plural(found['examples'], 'row')}{error}, {plural(found['updates'], 'update')}{skipped}."
    if "told" in found:
        learned = f"{found['model']} {verb} {plural(found['examples'], found['unit'])}: {found['told']}{skipped}."
    return f"{learned} Saved in {printable(found['file'])} ({size(found['bytes'])})."
