"""The colours of the page and the plots: seven that people with any colour vision tell apart (after Okabe and Ito), then others."""

from __future__ import annotations

import colorsys

LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b5568c", "#e69f00", "#3aa0d8", "#555555")
DARK = ("#5aaee6", "#f08a4b", "#35c99f", "#e39bc4", "#f2bc4b", "#9adcf8", "#bdbdbd")
LIGHT_PAPER = {"ground": "#f6f7f9", "card": "#ffffff", "ink": "#1b1f24", "soft": "#5a6572", "line": "#dfe3e8", "tint": "#eef5fb"}
DARK_PAPER = {"ground": "#14171b", "card": "#1c2026", "ink": "#e6e9ed", "soft": "#a0abb7", "line": "#343b44", "tint": "#213040"}
DASHES = ((), (9, 4), (2, 3), (9, 3, 2, 3))  # a second way to tell lines apart; as many in page.js


def lines(n: int, dark: bool = False) -> list[str]:
    """Return n different colours: after the first seven, hues as far from each other as the golden section puts them."""
    first = DARK if dark else LIGHT
    made = []
    for i in range(n - len(first)):
        lightness = (0.62, 0.78, 0.70) if dark else (0.30, 0.46, 0.38)
        rgb = colorsys.hls_to_rgb((0.11 + 0.618034 * i) % 1.0, lightness[i % 3], 0.75)
        made.append("#" + "".join(f"{round(255 * v):02x}" for v in rgb))
    return [*first, *made][: max(n, len(first))]


def css(n: int) -> str:
    """Return the colours of n lines as variables, light unless the reader prefers dark; light on paper."""

    def variables(dark: bool, paper: dict[str, str]) -> str:
        found = lines(n, dark)
        named = {**{f"c{i}": c for i, c in enumerate(found)}, **paper, "band": f"{found[0]}33"}
        return "".join(f"--{name}:{value};" for name, value in named.items())

    light, dark = variables(False, LIGHT_PAPER), variables(True, DARK_PAPER)
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark) {{ :root:not(.paper){{{dark}}} }}\n"
