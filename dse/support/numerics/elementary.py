# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""Compiled elementary functions, for `dse.support.numerics`, which says what they are for.

Nothing here calls the C library, whose functions differ between CPUs.
"""

from __future__ import annotations

import numpy as np

from dse.support.compiling import kernel, subroutine

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""The natural logarithm of 2 in two parts, so that small multiples of the first are exact."""
_LN2 = 0.6931471805599453
_ROOT_HALF = 0.7071067811865476
_ROOT_PI = 1.772453850905516
_BIAS, _FRACTION = 1023, 52
_MANTISSA = (1 << _FRACTION) - 1
_LARGEST, _SMALLEST = 709.78, -745.13
_SERIES_END = 2.5
"""Where the error function is summed as a series below, and as a continued fraction above."""


@subroutine
def _power(exponent):
    """2 to a whole number between -1022 and 1023, made of its bits."""
    return np.int64((exponent + _BIAS) << _FRACTION).view(np.float64)


@subroutine
def _scaled(value, exponent):
    """The value times 2 to a whole number, in two steps: one of them may be out of range."""
    half = exponent >> 1
    return value * _power(half) * _power(exponent - half)


@subroutine
def _exp_near(rest):
    """exp of a number between -0.35 and 0.35, by its Taylor series."""
    total = 1.0
    for term in range(13, 0, -1):
        # The first term left out, 0.35 ** 14 / 14!, is below 1e-17: less than doubles near 1 can show.
        total = 1.0 + total * rest / term
    return total


@subroutine
def exp_of(x):
    """exp."""
    if not x >= _SMALLEST:
        # NaN fails every comparison, so it comes here, and is returned.
        return x if x != x else 0.0
    if x > _LARGEST:
        return np.inf
    whole = np.floor(x * _LOG2_E + 0.5)
    # The product with the high part is exact, so the rest keeps its last digits.
    return _scaled(_exp_near((x - whole * _LN2_HIGH) - whole * _LN2_LOW), np.int64(whole))


@subroutine
def exp2_of(x):
    """2 to the power of x: exact for whole numbers."""
    if not x >= -1074.0:
        return x if x != x else 0.0
    if x >= 1024.0:
        return np.inf
    whole = np.floor(x + 0.5)
    return _scaled(_exp_near((x - whole) * _LN2), np.int64(whole))


@subroutine
def _parts(x):
    """x > 0 as a whole power of 2 and the logarithm of the rest, which is near 1."""
    exponent = 0
    if x < 2.2250738585072014e-308:
        # Subnormal numbers have no leading 1 in their bits; times 2 ** 54 they do.
        x *= 18014398509481984.0
        exponent = -54
    bits = np.float64(x).view(np.int64)
    exponent += int(bits >> _FRACTION) - _BIAS + 1
    rest = np.int64((bits & _MANTISSA) | ((_BIAS - 1) << _FRACTION)).view(np.float64)
    if rest < _ROOT_HALF:
        rest *= 2.0
        exponent -= 1
    # log(rest) = 2 artanh(share); |share| is at most 0.172, so terms up to the 23rd power are enough.
    share = (rest - 1.0) / (rest + 1.0)
    square = share * share
    total = 0.0
    for term in range(23, 0, -2):
        total = total * square + 1.0 / term
    return exponent, 2.0 * share * total


@subroutine
def log_of(x):
    """The natural logarithm: -inf of 0, NaN below."""
    if not x > 0.0:
        return -np.inf if x == 0.0 else np.nan
    if x == np.inf:
        return x
    exponent, rest = _parts(x)
    return exponent * _LN2_HIGH + (rest + exponent * _LN2_LOW)


@subroutine
def log2_of(x):
    """The logarithm to base 2: exact for powers of 2."""
    if not x > 0.0:
        return -np.inf if x == 0.0 else np.nan
    if x == np.inf:
        return x
    exponent, rest = _parts(x)
    return exponent + rest * _LOG2_E


@subroutine
def tanh_of(x):
    """The hyperbolic tangent."""
    size = abs(x)
    if size < 0.15:
        # Beyond, the difference below loses no digits that anybody would miss.
        square = x * x
        series = -1382.0 / 155925.0
        for factor in (62.0 / 2835.0, -17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0):
            series = series * square + factor
        return x * series
    decay = exp_of(-2.0 * size)
    value = (1.0 - decay) / (1.0 + decay)
    return -value if x < 0.0 else value


@subroutine
def _scaled_erfc(x):
    """exp(x ** 2) times the complementary error function of x >= _SERIES_END: its continued fraction."""
    total = x
    for term in range(60, 0, -1):
        total = x + 0.5 * term / total
    return 1.0 / (total * _ROOT_PI)


@subroutine
def ndtr_of(z):
    """The chance that a standard normal variable is below z."""
    size = abs(z) * _ROOT_HALF
    if size < _SERIES_END:
        square = 2.0 * size * size
        # erf(s) = 2 / sqrt(pi) exp(-s s) (s + 2 s^3 / 3 + 4 s^5 / 15 + ...): all of one sign, none cancel.
        term = total = size
        divisor = 1.0
        for _ in range(60):
            divisor += 2.0
            term *= square / divisor
            total += term
        inside = total * exp_of(-size * size) / _ROOT_PI
        return 0.5 + inside if z > 0.0 else 0.5 - inside
    tail = 0.5 * _scaled_erfc(size) * exp_of(-size * size)
    return z if z != z else (1.0 - tail if z > 0.0 else tail)


@subroutine
def log_ndtr_of(z):
    """The logarithm of that chance, which may be too small for a number."""
    size = -z * _ROOT_HALF
    if size >= _SERIES_END:
        # The power that would underflow is never made, only its logarithm.
        return -size * size + log_of(0.5 * _scaled_erfc(size))
    return log_of(ndtr_of(z))


@kernel
def exp_all(values, out):
    for place in range(len(values)):
        out[place] = exp_of(values[place])


@kernel
def exp2_all(values, out):
    for place in range(len(values)):
        out[place] = exp2_of(values[place])


@kernel
def log_all(values, out):
    for place in range(len(values)):
        out[place] = log_of(values[place])


@kernel
def log2_all(values, out):
    for place in range(len(values)):
        out[place] = log2_of(values[place])


@kernel
def tanh_all(values, out):
    for place in range(len(values)):
        out[place] = tanh_of(values[place])


@kernel
def ndtr_all(values, out):
    for place in range(len(values)):
        out[place] = ndtr_of(values[place])


@kernel
def log_ndtr_all(values, out):
    for place in range(len(values)):
        out[place] = log_ndtr_of(values[place])
