"""The command line. Each command is a short module here, with its `command`; what it needs is imported when it runs."""

from __future__ import annotations

import importlib
from typing import Any

import click

from .. import __version__

COMMANDS = ("algorithms", "cite", "demo", "warm")


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
        """Run a command; Ctrl-C ends it with exit code 130, as a shell expects."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(130)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="noregret")
def main() -> None:
    """Online learning: predict and learn one example at a time.

    Exit codes: 0 fine, 1 failure, 2 wrong usage, 130 interrupted.
    """
