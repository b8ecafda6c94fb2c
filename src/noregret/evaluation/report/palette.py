"""The colours of the page and the plots: seven that people with any colour vision tell apart (after Okabe and Ito)."""

from __future__ import annotations

LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b5568c", "#e69f00", "#3aa0d8", "#555555")
DARK = ("#5aaee6", "#f08a4b", "#35c99f", "#e39bc4", "#f2bc4b", "#9adcf8", "#bdbdbd")
LIGHT_PAPER = {"ground": "#f6f7f9", "card": "#ffffff", "ink": "#1b1f24", "soft": "#5a6572", "line": "#dfe3e8", "tint": "#eef5fb"}
DARK_PAPER = {"ground": "#14171b", "card": "#1c2026", "ink": "#e6e9ed", "soft": "#a0abb7", "line": "#343b44", "tint": "#213040"}
DASHES = ((), (9, 4), (2, 3), (9, 3, 2, 3))  # a second way to tell lines apart; as many in page.js


def css() -> str:
    """Return the colours as variables, light unless the reader prefers dark; light on paper."""

    def variables(lines: tuple[str, ...], paper: dict[str, str]) -> str:
        named = {**{f"c{i}": c for i, c in enumerate(lines)}, **paper, "band": f"{lines[0]}33"}
        return "".join(f"--{name}:{value};" for name, value in named.items())

    light, dark = variables(LIGHT, LIGHT_PAPER), variables(DARK, DARK_PAPER)
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark) {{ :root:not(.paper){{{dark}}} }}\n"
