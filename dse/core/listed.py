"""The mappings near the optimum, all of them, with the proof that there are no others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dse.support.errors import InputError, shorten
from dse.support.validation import whole_number

if TYPE_CHECKING:
    from dse.core.certificate import Incumbent

MOST = 100_000
"""So many mappings are listed at most: of more, the best ones."""
FIGURES = ("loss", "cycles", "energy_nj", "l1_size", "l2_size")


class Wanted(NamedTuple):
    """Which mappings are asked for: the `most` best, or all whose loss is at most a `share` above the least,
    0.05 say, or of these the `most` best.
    """

    share: float | None = None
    most: int | None = None

    def __bool__(self) -> bool:
        """Whether any are."""
        return self.share is not None or self.most is not None

    def check(self) -> Wanted:
        """Itself, if what is asked for can be; else InputError."""
        share, most = self
        if share is not None and not (
            isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share < math.inf
        ):
            raise InputError(f"within must be a share of at least 0, as 0.05 for 5 %, got {shorten(share)}")
        if most is not None:
            whole_number(most, "best", most=MOST)
        return self


NONE = Wanted()


@dataclass(frozen=True)
class Listed:
    """Mappings by their losses, the best first, each nest of loops once.

    Where it is `complete`, no other mapping belongs here: that is proven. Else the time ran out, or there are
    more than `MOST` within the share. No other nest has a loss below `bound`.
    """

    wanted: Wanted
    mappings: tuple[Incumbent, ...]
    complete: bool
    bound: float
    seconds: float

    def __len__(self) -> int:
        return len(self.mappings)

    def __iter__(self) -> Iterator[Incumbent]:
        return iter(self.mappings)

    def __getitem__(self, place: int) -> Incumbent:
        """The mapping at a place, 0 for the best."""
        return self.mappings[place]

    def to_dict(self) -> dict[str, Any]:
        """The list as plain data."""
        return {
            "share": self.wanted.share,
            "most": self.wanted.most,
            "complete": self.complete,
            "count": len(self),
            "bound": self.bound if math.isfinite(self.bound) else None,
            "seconds": self.seconds,
            "mappings": [
                {name: getattr(one, name) for name in FIGURES}
                | {"genes": list(one.genes), "mapping": one.mapping.to_dict()}
                for one in self
            ],
        }


def read_share(text: str, where: str) -> float:
    """The share that a text such as '5%' or '0.05' means; InputError, with `where`, for another text.

    A number of 1 or more needs its %: by '1' few mean 100 %.
    """
    number, percent, after = text.strip().partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = math.nan
    if after or not 0 <= share < math.inf:
        raise InputError(f"{where} must be a share of at least 0, as 5% or 0.05, got {shorten(text)}")
    if not percent and share >= 1:
        number = number.strip()
        raise InputError(f"{where} {number} would be {100 * share:g}%: did you mean {number}%?")
    return share
