"""Recommendation by online singular value decomposition."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.params import NonNegative, Positive, Times
from ..inputs import checking
from ..tasks.regression import Regressor
from .rated import Rated
from .svd import OnlineSVD


class Params(NamedTuple):
    """RatingSVD."""

    r_max: Times = 10
    nu: Positive = 1.0
    revise: Times = 16
    reg_item: NonNegative = 5.0
    reg_user: NonNegative = 5.0


class RatingSVD(Regressor):
    """Ratings by offsets and the singular value decomposition of what these leave: mu + b_item + b_user + (U S y)_item.

    mu is the mean so far, b_item = sum(r - mu)/(reg_item + n_item), b_user = sum(r - mu - b_item)/(reg_user + n_user).
    What they leave is a matrix with a row for each user, whose unknown entries are imputed, kept as its thin SVD of rank `r_max`.
    For a user y solves (G'G + nu I) y = G'x over the items rated, G = U diag(s)/sqrt(n): every answer counts all that the user has
    rated. The row of a user joins with the `revise`-th rating, and is revised after every `revise` more. A new rating of
    the same pair takes the place of the old one, and the row is revised at once.

    Parameters: `r_max`, components; `nu`, the variance of the noise, about 1 for stars from 1 to 5; `revise`; `reg_item` and
    `reg_user`, ratings of 0 that are added to those of each offset.

    Read back: `factors()`, of items; `state`, the arrays of the decomposition.

    Pitfalls: it keeps every rating, and a revision takes time in proportion to users and items: some 0.5 ms with thousands of them.
    More frequent revisions are not better: each of them turns the components a little towards what one user alone has.

    Reference: Brand (2003), *Fast online SVD revisions for lightweight recommender systems*.

    >>> import noregret as nr
    >>> r = nr.Recommender("online_svd", r_max=2, nu=0.1)
    >>> for user, item, rating in [("ann", "alien", 5), ("ann", "bambi", 1), ("bob", "alien", 1), ("bob", "bambi", 5)]:
    ...     said = r.learn_one(user, item, rating)
    >>> r.predict_one("cid", "alien")
    3.0
    """

    name = "recommendation.online_svd"
    cite = "brand2003"
    Params: ClassVar[Any] = Params
    model_class: ClassVar[Any] = Rated
    listed: ClassVar[bool] = False
    loss = "square"
    merges = "none"
    without: ClassVar[tuple[str, ...]] = ("fit_intercept", "average", "dtype")

    @classmethod
    def like(cls, svd: OnlineSVD) -> RatingSVD:
        """Return one with the settings of a decomposition that has learned nothing."""
        if svd.started:
            raise ValueError("expected an OnlineSVD that has learned nothing: a recommender learns its own matrix")
        mine = {k: v for k, v in svd.get_params().items() if k in ("r_max", "nu") and v is not None}
        other = [k for k, v in svd.get_params().items() if k not in ("r_max", "nu", "missing") and v != svd.defaults[k]]
        if other:
            raise ValueError(f"{', '.join(other)}: a recommender takes r_max and nu of an OnlineSVD, and no other settings")
        return cls(**mine)

    def targets(self, y: Any, n: int) -> np.ndarray:
        """Return the ratings, checked: sums of their squares must stay finite."""
        return checking.refuse_large(super().targets(y, n))

    def factors(self) -> np.ndarray:
        """Return the factors of items: features x components, with zeros for users."""
        found: np.ndarray = self.model.factors()
        return found
