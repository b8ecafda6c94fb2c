"""Run the command line as `python -m noregret.cli`."""

from . import main

main(prog_name="noregret")
