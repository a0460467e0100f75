"""What follows from proven lines of energy and cycles, beside exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dse.optimum.codesign.lemmas import Line, lowest_corner

EDP = (1, 1), (1, 2), (2, 1)


def lines_below(points: list[tuple[float, float]], rng: np.random.Generator) -> list[Line]:
    """Lines that all points keep, some of nearly the same slope; two are of energy and of cycles alone."""
    energy, cycles = (min(point[axis] for point in points) for axis in (0, 1))
    lines, slope = [Line(1.0, 0.0, energy), Line(0.0, 1.0, cycles)], energy / cycles
    for _ in range(rng.integers(1, 6)):
        near = 1 + rng.choice([0, 1e-15, 1e-12, 1e-8])
        slope *= near if rng.random() < 0.5 else 10 ** rng.uniform(-2, 2)
        least = min(e + slope * d for e, d in points) * rng.choice([1.0, 1 - 1e-12, 0.99])
        lines.append(Line(1.0, slope, least))
    return lines


def exact_least(lines: list[Line], powers: tuple[int, int]) -> Fraction:
    """The least value at a corner of the lines, without any rounding."""
    every = [tuple(map(Fraction, line)) for line in lines]
    values = []
    for (a, b, c), (d, e, f) in combinations(every, 2):
        if across := a * e - d * b:
            energy, cycles = (c * e - f * b) / across, (a * f - d * c) / across
            if all(one[0] * energy + one[1] * cycles >= one[2] for one in every):
                values.append(energy ** powers[0] * cycles ** powers[1])
    return min(values)


@pytest.mark.parametrize("powers", EDP)
def test_the_lowest_corner_of_lines_is_that_of_exact_arithmetic(powers: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)

    def value(energy: Any, cycles: Any) -> Any:
        return energy ** powers[0] * cycles ** powers[1]

    for _ in range(150):
        scale = 10 ** rng.uniform(0, 8, 2)
        points = [tuple(point) for point in (scale * rng.uniform(1, 3, (4, 2))).tolist()]
        lines = lines_below(points, rng)
        found = lowest_corner(lines, value)
        assert found.value == pytest.approx(float(exact_least(lines, powers)), rel=1e-10)
        assert found.value <= min(value(*point) for point in points) * (1 + 1e-14)
