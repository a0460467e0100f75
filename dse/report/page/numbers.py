"""Numbers as a reader of the page wants them."""

from __future__ import annotations

import math
import re

from dse.support import quantities

_POWER = re.compile(r"e([+-][0-9]+)")
NO_BREAK = "\N{NO-BREAK SPACE}"
NONE = "\N{EN DASH}"
"""What stands where there is no number."""
TIMES = "\N{MULTIPLICATION SIGN}"


def quantity(value: float, unit: str) -> str:
    """`dse.support.quantities.quantity` as it is printed: `173.2 µs`, or with a power of ten."""
    return printed(quantities.quantity(value, unit))


def energy(nanojoule: float) -> str:
    """The energy that figures have in nanojoule."""
    return printed(quantities.energy(nanojoule))


def scientific(value: float) -> str:
    """Four digits; as a power of ten where the number is far from one."""
    return printed(f"{value:.4g}")


def printed(text: str) -> str:
    """A figure set as in print: a power of ten with its exponent raised, and no line breaks."""
    powers = _POWER.sub(lambda found: f" {TIMES} 10{quantities.raised(int(found[1]))}", text)
    return powers.replace(" ", NO_BREAK)


def percent(share: float) -> str:
    """`0.0043 %`, `1.9 %`, `54 %`."""
    hundredths = 100 * share
    return f"{hundredths:.2g}{NO_BREAK}%" if abs(hundredths) < 9.95 else f"{hundredths:.0f}{NO_BREAK}%"


def compared(ratio: float, base: str) -> str:
    """A ratio of 1 or more to something: `1.9 % above the optimum`, from 2 on `3.2 times the optimum`."""
    return f"{percent(ratio - 1)} above {base}" if ratio < 2 else f"{ratio:.3g} times {base}"


def ratio_text(value: float) -> str:
    """A ratio to the best known: three decimals, or fewer; `infeasible` where it is infinite."""
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return "infeasible"
    return f"{value:.3f}" if value < 10 else f"{value:,.3g}" if value < 1000 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """`12 s`, `4 min 5 s`, `3 h 20 min`."""
    whole = round(seconds)
    if whole < 1:
        return f"{seconds:.2g} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def counted(number: int, noun: str) -> str:
    """`1 seed`, `2,000 samples`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
