"""The compiled MAESTRO kernel on many more cases of every kind; run by `make prove`."""

from __future__ import annotations

import numpy as np
import pytest

from dse.models.maestro import Maestro
from tests.models.mapping_cases import KINDS, draw_cases
from tests.models.test_maestro import assert_equals_reference


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_equals_the_reference_on_fresh_cases(kind: str) -> None:
    cases = draw_cases(kind, 2000, np.random.default_rng([8, KINDS.index(kind)]))
    assert_equals_reference(Maestro().price_cases(*cases), *cases)
