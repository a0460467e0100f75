# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-untyped-defs=False
"""The compiled arithmetic behind `dse.support.numerics`, which says what it is for.

Every sum has one order, and where several are made at once, they are beside each other, not parts of one sum:
so a CPU with wider vectors gives the same bits. Nothing here calls the C library, whose functions differ
between CPUs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dse.support.jit import OPTIONS

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
_BLOCK = 4


@njit(**OPTIONS)
def _power(exponent):
    """2 to a whole number between -1022 and 1023, made of its bits."""
    return np.int64((exponent + _BIAS) << _FRACTION).view(np.float64)


@njit(**OPTIONS)
def _scaled(value, exponent):
    """The value times 2 to a whole number, in two steps: one of them may be out of range."""
    half = exponent >> 1
    return value * _power(half) * _power(exponent - half)


@njit(**OPTIONS)
def _exp_near(rest):
    """exp of a number between -0.35 and 0.35, by its Taylor series."""
    total = 1.0
    for term in range(13, 0, -1):
        total = 1.0 + total * rest / term
    return total


@njit(**OPTIONS)
def exp_of(x):
    """exp."""
    if not x >= _SMALLEST:
        return x if x != x else 0.0
    if x > _LARGEST:
        return np.inf
    whole = np.floor(x * _LOG2_E + 0.5)
    return _scaled(_exp_near((x - whole * _LN2_HIGH) - whole * _LN2_LOW), np.int64(whole))


@njit(**OPTIONS)
def exp2_of(x):
    """2 to the power of x: exact for whole numbers."""
    if not x >= -1074.0:
        return x if x != x else 0.0
    if x >= 1024.0:
        return np.inf
    whole = np.floor(x + 0.5)
    return _scaled(_exp_near((x - whole) * _LN2), np.int64(whole))


@njit(**OPTIONS)
def _parts(x):
    """x > 0 as a whole power of 2 and the logarithm of the rest, which is near 1."""
    exponent = 0
    if x < 2.2250738585072014e-308:
        x *= 18014398509481984.0
        exponent = -54
    bits = np.float64(x).view(np.int64)
    exponent += int(bits >> _FRACTION) - _BIAS + 1
    rest = np.int64((bits & _MANTISSA) | ((_BIAS - 1) << _FRACTION)).view(np.float64)
    if rest < _ROOT_HALF:
        rest *= 2.0
        exponent -= 1
    share = (rest - 1.0) / (rest + 1.0)
    square = share * share
    total = 0.0
    for term in range(23, 0, -2):
        total = total * square + 1.0 / term
    return exponent, 2.0 * share * total


@njit(**OPTIONS)
def log_of(x):
    """The natural logarithm: -inf of 0, NaN below."""
    if not x > 0.0:
        return -np.inf if x == 0.0 else np.nan
    if x == np.inf:
        return x
    exponent, rest = _parts(x)
    return exponent * _LN2_HIGH + (rest + exponent * _LN2_LOW)


@njit(**OPTIONS)
def log2_of(x):
    """The logarithm to base 2: exact for powers of 2."""
    if not x > 0.0:
        return -np.inf if x == 0.0 else np.nan
    if x == np.inf:
        return x
    exponent, rest = _parts(x)
    return exponent + rest * _LOG2_E


@njit(**OPTIONS)
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


@njit(**OPTIONS)
def _scaled_erfc(x):
    """exp(x ** 2) times the complementary error function of x >= _SERIES_END: its continued fraction."""
    total = x
    for term in range(60, 0, -1):
        total = x + 0.5 * term / total
    return 1.0 / (total * _ROOT_PI)


@njit(**OPTIONS)
def ndtr_of(z):
    """The chance that a standard normal variable is below z."""
    size = abs(z) * _ROOT_HALF
    if size < _SERIES_END:
        square = 2.0 * size * size
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


@njit(**OPTIONS)
def log_ndtr_of(z):
    """The logarithm of that chance, which may be too small for a number."""
    size = -z * _ROOT_HALF
    if size >= _SERIES_END:
        return -size * size + log_of(0.5 * _scaled_erfc(size))
    return log_of(ndtr_of(z))


@njit(**OPTIONS)
def exp_all(values, out):
    for place in range(len(values)):
        out[place] = exp_of(values[place])


@njit(**OPTIONS)
def exp2_all(values, out):
    for place in range(len(values)):
        out[place] = exp2_of(values[place])


@njit(**OPTIONS)
def log_all(values, out):
    for place in range(len(values)):
        out[place] = log_of(values[place])


@njit(**OPTIONS)
def log2_all(values, out):
    for place in range(len(values)):
        out[place] = log2_of(values[place])


@njit(**OPTIONS)
def tanh_all(values, out):
    for place in range(len(values)):
        out[place] = tanh_of(values[place])


@njit(**OPTIONS)
def ndtr_all(values, out):
    for place in range(len(values)):
        out[place] = ndtr_of(values[place])


@njit(**OPTIONS)
def log_ndtr_all(values, out):
    for place in range(len(values)):
        out[place] = log_ndtr_of(values[place])


@njit(**OPTIONS)
def product(ones, others, out):
    """Write ones (n, k) times others (k, m) into `out`, which holds what is added to: row by row."""
    rows, inner, columns = ones.shape[0], ones.shape[1], others.shape[1]
    whole = inner - inner % _BLOCK
    for row in range(rows):
        for first in range(0, whole, _BLOCK):
            a, b, c, d = ones[row, first], ones[row, first + 1], ones[row, first + 2], ones[row, first + 3]
            for column in range(columns):
                total = out[row, column] + a * others[first, column]
                total = total + b * others[first + 1, column]
                total = total + c * others[first + 2, column]
                out[row, column] = total + d * others[first + 3, column]
        for last in range(whole, inner):
            a = ones[row, last]
            for column in range(columns):
                out[row, column] += a * others[last, column]


@njit(**OPTIONS)
def products(ones, others, out):
    """The same for stacks of matrices: (b, n, k), (b, k, m) and (b, n, m)."""
    for place in range(len(out)):
        product(ones[place], others[place], out[place])


@njit(**OPTIONS)
def factorise(matrix):
    """Make of a symmetric matrix (n, n) its upper factor U, U'U being the matrix: whether it is positive."""
    size = len(matrix)
    for row in range(size):
        whole = row - row % _BLOCK
        for first in range(0, whole, _BLOCK):
            a, b = matrix[first, row], matrix[first + 1, row]
            c, d = matrix[first + 2, row], matrix[first + 3, row]
            for column in range(row, size):
                total = matrix[row, column] - a * matrix[first, column]
                total = total - b * matrix[first + 1, column]
                total = total - c * matrix[first + 2, column]
                matrix[row, column] = total - d * matrix[first + 3, column]
        for last in range(whole, row):
            a = matrix[last, row]
            for column in range(row, size):
                matrix[row, column] -= a * matrix[last, column]
        pivot = matrix[row, row]
        if not pivot > 0.0:
            return False
        root = np.sqrt(pivot)
        for column in range(row, size):
            matrix[row, column] /= root
        for column in range(row):
            matrix[row, column] = 0.0
    return True


@njit(**OPTIONS)
def forward(upper, values):
    """Solve U'x = values (n, m) in place."""
    columns = values.shape[1]
    for row in range(len(upper)):
        whole = row - row % _BLOCK
        for first in range(0, whole, _BLOCK):
            a, b = upper[first, row], upper[first + 1, row]
            c, d = upper[first + 2, row], upper[first + 3, row]
            for column in range(columns):
                total = values[row, column] - a * values[first, column]
                total = total - b * values[first + 1, column]
                total = total - c * values[first + 2, column]
                values[row, column] = total - d * values[first + 3, column]
        for last in range(whole, row):
            a = upper[last, row]
            for column in range(columns):
                values[row, column] -= a * values[last, column]
        for column in range(columns):
            values[row, column] /= upper[row, row]


@njit(**OPTIONS)
def backward(upper, values):
    """Solve Ux = values (n, m) in place."""
    columns = values.shape[1]
    for row in range(len(upper) - 1, -1, -1):
        for later in range(row + 1, len(upper)):
            a = upper[row, later]
            for column in range(columns):
                values[row, column] -= a * values[later, column]
        for column in range(columns):
            values[row, column] /= upper[row, row]


@njit(**OPTIONS)
def non_negative(squares, targets, found):
    """Write the weights >= 0 of least squares, from A'A (k, k) and A'b (k,): whether there was an end to it.

    Bro and de Jong, "A fast non-negativity-constrained least squares algorithm" (1997).
    """
    count = len(targets)
    passive = np.zeros(count, np.bool_)
    found[:] = 0.0
    least = 1e-12 * max(1.0, np.abs(targets).max())
    slope = targets.copy()
    for _ in range(3 * count):
        enters, steepest = -1, least
        for place in range(count):
            if not passive[place] and slope[place] > steepest:
                enters, steepest = place, slope[place]
        if enters < 0:
            return True
        passive[enters] = True
        while True:
            places = np.flatnonzero(passive)
            part, solved = np.empty((len(places), len(places))), np.empty((len(places), 1))
            for row in range(len(places)):
                solved[row, 0] = targets[places[row]]
                for column in range(len(places)):
                    part[row, column] = squares[places[row], places[column]]
                part[row, row] *= 1.0 + 1e-10
            if not factorise(part):
                return False
            forward(part, solved)
            backward(part, solved)
            share = 1.0
            for row in range(len(places)):
                if solved[row, 0] <= 0.0:
                    before = found[places[row]]
                    share = min(share, before / (before - solved[row, 0]) if before > 0.0 else 0.0)
            for row in range(len(places)):
                found[places[row]] += share * (solved[row, 0] - found[places[row]])
            if share == 1.0:
                break
            for row in range(len(places)):
                if found[places[row]] <= 1e-14 and solved[row, 0] <= 0.0:
                    found[places[row]] = 0.0
                    passive[places[row]] = False
            if not passive.any():
                break
        for place in range(count):
            total = targets[place]
            for other in range(count):
                total -= squares[place, other] * found[other]
            slope[place] = total
        slope[enters] = slope[enters] if passive[enters] else 0.0
    return False
