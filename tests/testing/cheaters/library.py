"""A library with bad manners while it is imported, and none after."""

from __future__ import annotations

import random
import warnings

random.random()
warnings.warn("this library is old", FutureWarning, stacklevel=2)


def harmless(rng):
    return rng
