"""Examples in docstrings as blocks of code: Markdown would take `>>>` for a quotation."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Puts fences around the examples of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(
                r"^>>> (?:.+\n?)+", lambda m: f"```python\n{m[0].rstrip()}\n```\n", obj.docstring.value, flags=re.M
            )
