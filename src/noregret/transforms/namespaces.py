"""Which namespaces of VW text to multiply: a step of a pipeline, kept with the model, whose work the reader does."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inputs.checking import Rows
from .step import Map
from .table import crosses_of, names_in

ANY = ":"


class Namespaces(Map):
    r"""Add the products of the features of namespaces, as VW's `-q` and `--interactions` do. For VW text.

    `cross` is one or several of "user,item": every feature of one namespace times every feature of the other, in the place where VW
    has the product. Three names multiply three namespaces. In a pair `:` is any namespace of the row. A namespace crossed with
    itself gives every pair of its features once, squares included. Sparse rows that are not read from text pass as they are.

    >>> import noregret as nr
    >>> m = nr.pipeline(nr.Namespaces("user,item"), nr.PA1())
    >>> data = b"1 |user ann |item tea\n-1 |user bob |item tea\n"
    >>> done = nr.train(data, m, format="vw")
    >>> [batch.data.arrays[0].tolist() for batch in done.stream.chunks()]
    [[0, 3, 6]]
    """

    def __init__(self, cross: Any = ()) -> None:
        self.cross = cross
        self.crosses = [names_in(c) for c in crosses_of(cross)]
        for k, c in enumerate(self.crosses):
            check(c)
            if any(covers(other, c) for i, other in enumerate(self.crosses) if i != k and (other != c or i < k)):
                raise ValueError(f"the namespaces {','.join(c)!r} are crossed twice: leave one cross out")

    def rows(self, rows: Rows, learn: bool, measured: np.ndarray | None = None) -> Rows:
        """Return the rows: the reader has added the products."""
        if measured is not None or rows.layout == "dense":
            raise TypeError("Namespaces crosses namespaces of VW text, and these rows have columns: Cross is for columns")
        return rows


def check(c: tuple[str, ...]) -> None:
    """Refuse what is not two or three namespaces."""
    if not 2 <= len(c) <= 3:
        raise ValueError(f"a cross takes two or three namespaces, such as 'a,b'; got {','.join(c)!r}")
    if len(c) == 3 and ANY in c:
        raise ValueError(f"{ANY} stands for any namespace in a cross of two alone, such as 'a,:'; got {','.join(c)!r}")
    if len(c) == 3 and c[0] == c[2] != c[1]:
        raise ValueError(f"a namespace that a cross has twice stands in neighbouring places, such as 'a,a,b'; got {','.join(c)!r}")


def covers(wide: tuple[str, ...], c: tuple[str, ...]) -> bool:
    """Return whether a cross gives the products of another."""
    return len(wide) == len(c) and all(w in (ANY, name) for w, name in zip(wide, c, strict=True))
