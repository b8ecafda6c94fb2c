"""The user's own learners: Python files named by --plugin or NOREGRET_PLUGINS."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from .options import Option

loaded: set[Path] = set()


def load(paths: Iterable[str]) -> None:
    """Run files that define learners, each once; and those of NOREGRET_PLUGINS."""
    always = [p for p in os.environ.get("NOREGRET_PLUGINS", "").split(os.pathsep) if p]
    for path in map(Path, [*always, *paths]):
        if not path.is_file():
            raise click.ClickException(f"no plugin {path}: expected a Python file that defines learners (noregret new writes one)")
        if path.resolve() not in loaded:
            run(path.resolve())
            loaded.add(path.resolve())


def run(path: Path) -> None:
    """Run one file as the module of its name, so that compiled code finds it again."""
    name = path.stem
    if name in sys.modules:
        raise click.ClickException(
            f"plugin {path} cannot be called {name}: a module of that name is loaded already; rename the file"
        )
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise click.ClickException(f"plugin {path} is not a Python file: expected a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as e:
        del sys.modules[name]
        if os.environ.get("NOREGRET_DEBUG"):
            raise
        raise click.ClickException(f"plugin {path} fails: {type(e).__name__}: {e}") from e


def _load(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> None:
    if not ctx.resilient_parsing and (value or os.environ.get("NOREGRET_PLUGINS")):
        load(value)


def plugin_option(command: Any) -> Any:
    """Add --plugin, which loads when it is parsed."""
    what = "Python file with learners of your own; may be repeated. NOREGRET_PLUGINS names such files for good."
    add = click.option(
        "--plugin",
        cls=Option,
        group="Options",
        multiple=True,
        type=click.Path(),
        is_eager=True,
        expose_value=False,
        callback=_load,
        help=what,
    )
    return add(command)
