"""Words to leave out of texts: English ones, or those of a list or a file."""

from __future__ import annotations

import os
import re
from typing import Any

# Models keep the name of this list, not its words: it never changes. Texts are split at apostrophes, hence parts such as don.
ENGLISH = """
a about above after again against ain all also am an and any are aren as at be because been before being below between both
but by can couldn d did didn do does doesn doing don down during each either else ever every few for from further had hadn
has hasn have haven having he hence her here hers herself him himself his how however i if in into is isn it its itself just
ll m may me might more most much must mustn my myself neither no nor not now of off on once one only or other our ours
ourselves out over own per quite rather re s same shall shan she should shouldn since so some such t than that the their
theirs them themselves then there therefore these they this those though through thus to too toward towards under until up
upon us ve very was wasn we were weren what when where whether which while who whom whose why will with within without won
would wouldn y yet you your yours yourself yourselves
"""


def stop_words(given: Any, lower: bool) -> list[str]:
    """Return the words that are left out, sorted; one with other characters than those of words stands for its parts."""
    if given is None:
        return []
    if given == "english":
        said = ENGLISH.split()
    elif isinstance(given, (str, os.PathLike)):
        try:
            with open(given, encoding="utf-8-sig") as file:
                said = file.read().split("\n")
        except (OSError, UnicodeDecodeError) as e:
            raise ValueError(f"stop_words must be 'english', a list, or a file in UTF-8 with a word a line; {given}: {e}") from None
    else:
        said = list(given)
    for word in said:
        if not isinstance(word, str):
            raise ValueError(f"stop_words must be 'english', a list of words, or a file with a word a line; got {word!r}")
    return sorted({part.lower() if lower else part for word in said for part in re.findall(r"\w+", word)})
