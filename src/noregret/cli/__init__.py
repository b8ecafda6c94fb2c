"""The command line. Each command is a short module here, with its `command`; what it needs is imported when it runs."""

from __future__ import annotations

import importlib
import os
import re
import warnings
from typing import Any

import click

from ..files.drafts import DRAFT, FULL
from ..version import __version__
from .wording import spoken

# Threads of NumPy's BLAS wait for work in a loop that takes a tenth of a second of a processor at the start of each command: let
# them sleep at once.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

COMMANDS = ("evaluate", "compare", "sweep", "train", "predict", "inspect", "convert", "algorithms", "cite", "new", "warm")
COMPLETION = """\b
Completion of commands, options and learners by the Tab key:
  bash: eval "$(_NOREGRET_COMPLETE=bash_source noregret)" in ~/.bashrc
  zsh:  eval "$(_NOREGRET_COMPLETE=zsh_source noregret)" in ~/.zshrc
  fish: _NOREGRET_COMPLETE=fish_source noregret | source
        in ~/.config/fish/completions/noregret.fish
"""


class Group(click.Group):
    """A group whose commands are modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error is one line, and Ctrl-C ends it with exit code 130, as a shell expects."""
        shown = warnings.showwarning
        warnings.showwarning = lambda text, *_, **__: click.echo(f"Warning: {spoken(str(text))}", err=True)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(130)
        except BrokenPipeError:
            raise
        except (ValueError, TypeError, OSError, ImportError, MemoryError) as e:
            if os.environ.get("NOREGRET_DEBUG"):
                raise
            raise click.ClickException(message(e)) from e
        finally:
            warnings.showwarning = shown


def message(e: BaseException) -> str:
    """Return what to tell a user about an error."""
    if isinstance(e, MemoryError):
        return "out of memory: fold the features with --hash-bits, or take fewer rows with --limit"
    if isinstance(e, OSError) and e.strerror and e.filename is not None:
        return f"{re.sub(DRAFT, '', str(e.filename))}: {e.strerror}"
    if isinstance(e, OSError) and e.errno in FULL:  # files are named
        return f"standard output: {e.strerror}"
    return spoken(str(e)) or type(e).__name__


@click.group(cls=Group, epilog=COMPLETION, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="noregret")
def main() -> None:
    """Online learning: predict and learn one example at a time.

    \b
    noregret compare data.svm                              which learner?
    noregret sweep data.svm --model pa1 -C 2^-4..2^4       which setting?
    noregret train data.svm --model pa1 -C 0.1 --save m.nr
    noregret predict new.svm --model-file m.nr

    Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted. NOREGRET_DEBUG=1 shows where a failure happened.
    """  # noqa: D301  click reads the mark
