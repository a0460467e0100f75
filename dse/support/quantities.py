"""A figure with its unit, as people are shown it everywhere: `459.6 µs`, `1.153 mJ`, `5.301e-07 J s`."""

from __future__ import annotations

import math

PREFIXES = {9: "G", 6: "M", 3: "k", 0: "", -3: "m", -6: "\N{MICRO SIGN}", -9: "n", -12: "p", -15: "f"}
"""By powers of ten. Prefixes go with `s` and `J` alone: of a product of units nobody reads them."""
PREFIXED = ("s", "J")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def quantity_in_words(value: float, unit: str, digits: int = 4) -> str:
    """So many digits and the unit, with the prefix that keeps the number short if the unit takes one.

    `infeasible` where there is no finite figure; a unit of "" is none.
    """
    if not math.isfinite(value):
        return "infeasible"
    if unit in PREFIXED:
        return prefixed(value, unit, digits)
    return f"{value:,.{digits}g} {unit}".strip()


def energy_in_words(nanojoule: float, digits: int = 4) -> str:
    """The energy that figures have in nanojoule."""
    return quantity_in_words(nanojoule * 1e-9, "J", digits)


def energy_of_mapping(nanojoule: float, digits: int = 4) -> str:
    """The energy of a mapping, which is above 0: 0 stands for a cost model that says none."""
    return energy_in_words(nanojoule, digits) if nanojoule else "energy unknown"


def prefixed(value: float, unit: str, digits: int = 4) -> str:
    """So many digits, a prefix, and the unit."""
    # What would be rounded up to 1,000 has the next prefix.
    least = 1 - 0.5 * 10.0**-digits
    last = min(PREFIXES)
    power = next((power for power in PREFIXES if abs(value) >= least * 10.0**power), last if value else 0)
    number = f"{value / 10.0**power:#.{digits}g}" if value else "0"
    return f"{number.removesuffix('.')} {PREFIXES[power]}{unit}"


def raised_power(power: int) -> str:
    """A power as it is printed above the line."""
    return str(power).translate(_RAISED)


def counted_noun(count: int, noun: str) -> str:
    """A count with its noun: "1 seed", "2 seeds"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
