"""Limits of a user's own: shares of a machine's buffers that mappings may use, and of its PEs that they must.

`l2_use <= 0.8` leaves a fifth of L2 to something else, `pe_use >= 0.75` has no more than a quarter of the
PEs idle. Which figures there are is the domain's to say; each has one sign. Shares are decimals, and all that
follows from them is exact: words are at most the share of a capacity, rounded down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from fractions import Fraction
from typing import NamedTuple

from dse.support.errors import InputError, shorten, unknown_name

AT_MOST, AT_LEAST = "<=", ">="
PE_USE, USE = "pe_use", "_use"
READS = "must read FIGURE <= SHARE or FIGURE >= SHARE, in quotes, as in 'l2_use <= 0.8'"
_TEXT = re.compile(r"\s*(\S(?:.*?\S)?)\s*(<=|>=|==|=|<|>)\s*(\S.*?)\s*")
_LONGEST, _DIGITS = 200, 12
"""Letters of a limit, and decimals of its share."""


class Limit(NamedTuple):
    """A figure, its sign and the share that it may not be above, or not below."""

    figure: str
    sign: str
    share: Decimal

    def __str__(self) -> str:
        return f"{self.figure} {self.sign} {self.share:f}"

    def loosened(self, use: float) -> Limit:
        """The limit that a mapping of this use keeps, by four decimals."""
        rounded = ROUND_CEILING if self.sign == AT_MOST else ROUND_FLOOR
        share = Decimal(use).quantize(Decimal("0.0001"), rounded)
        return self._replace(share=min(max(share, Decimal("0.0001")), Decimal(1)).normalize())

    def of(self, capacity: int) -> int:
        """The most of so many words that it leaves."""
        return int(Fraction(self.share) * capacity)

    def most_cycles(self, ideal: int) -> int:
        """The most cycles of the busiest PE where all PEs together need `ideal`: see `PE_USE` in the docs."""
        return int(ideal / Fraction(self.share))


def read_limits(given: object, figures: Mapping[str, str]) -> dict[str, Limit]:
    """The limits in texts, or in one text, by figure and in the order of `figures`, which have their signs.

    InputError for what is none.
    """
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, Iterable) or isinstance(texts, Mapping):
        raise InputError(f"limits must be a list of texts, as in ['l2_use <= 0.8'], got {shorten(given)}")
    found: dict[str, Limit] = {}
    for text in texts:
        limit = _read(text, figures)
        if limit.figure in found:
            raise InputError(f"{limit.figure} is limited twice: {found[limit.figure]} and {limit}")
        found[limit.figure] = limit
    return {figure: found[figure] for figure in figures if figure in found}


def words_of(limits: Mapping[str, Limit]) -> tuple[str, ...]:
    """The limits as texts."""
    return tuple(map(str, limits.values()))


def _read(text: object, figures: Mapping[str, str]) -> Limit:
    parts = _TEXT.fullmatch(text) if isinstance(text, str) and len(text) <= _LONGEST else None
    if parts is None:
        raise InputError(f"a limit {READS}, got {shorten(text)}")
    figure, sign, share = parts.groups()
    if figure not in figures:
        raise unknown_name("figure", figure, figures, "limit", USE)
    if sign != figures[figure]:
        what = "may be used at most" if figures[figure] == AT_MOST else "has to be used at least"
        raise InputError(f"limit {text}: {figure} takes {figures[figure]!r}, as a share that {what}")
    return Limit(figure, sign, _share(share, str(text)))


def _share(text: str, limit: str) -> Decimal:
    """A share such as 0.8 or 80 %."""
    number, percent, rest = text.partition("%")
    try:
        share = Decimal(number.strip()) / (100 if percent else 1)
    except InvalidOperation:
        share = Decimal(0)
    # A bare `nan` compares with nothing.
    if rest or not share.is_finite() or not 0 < share <= 1 or share != round(share, _DIGITS):
        raise InputError(
            f"limit {shorten(limit)}: a share must be above 0 and at most 1, with up to {_DIGITS} decimals, "
            f"as in 0.8 or 80 %, got {shorten(text)}"
        )
    return share.normalize()
