"""Numbers as a reader wants them: with a few digits, a unit and the right prefix."""

from __future__ import annotations

import math

_PREFIXES = {0: "", -3: "m", -6: "µ", -9: "n", -12: "p"}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NO_BREAK = "\N{NO-BREAK SPACE}"
NONE = "\N{EN DASH}"
"""What stands where there is no number."""
TIMES = "\N{MULTIPLICATION SIGN}"


def quantity(value: float, unit: str) -> str:
    """A figure with its unit: `173.2 µs`, `9.583 µJ`, `7.462e-10 J s` as a power of ten, or `infeasible`."""
    if not math.isfinite(value):
        return "infeasible"
    if unit in ("s", "J"):
        return prefixed(value, unit)
    return f"{scientific(value)}{NO_BREAK}{unit}".strip().replace(" ", NO_BREAK)


def prefixed(value: float, unit: str) -> str:
    """Four digits, a prefix from pico to none, and the unit."""
    for power, prefix in _PREFIXES.items():
        if abs(value) >= 0.99995 * 10.0**power or power == -12:
            digits = f"{value / 10.0**power:#.4g}".removesuffix(".")
            return f"{digits}{NO_BREAK}{prefix}{unit}"
    raise AssertionError("the last prefix takes all")


def scientific(value: float) -> str:
    """Four digits; as a power of ten where the number is far from one."""
    text = f"{value:.4g}"
    mantissa, e, power = text.partition("e")
    return f"{mantissa} {TIMES} 10{str(int(power)).translate(_RAISED)}" if e else text


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
