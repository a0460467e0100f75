"""A local search: samples that led to one another, and the critic that learns from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dse.support.arrays import IntArray
from searchers.common.local_search import LocalSearchSamples
from searchers.team.calibration import Calibration
from searchers.team.critic import Critic

if TYPE_CHECKING:
    from dse.core.space import Block


_PROGRESS = 0.001
"""Part of the best score by which a sample must be better to count as an improvement."""


@dataclass
class LocalSearch:
    """The state of a local search."""

    blocks: tuple[Block, ...]
    """Those whose agents act."""
    restricted: bool
    """Whether it is a restricted search, which keeps the spatial mapping with which it began."""
    critic: Critic
    borrowed: IntArray
    """Rows of other local searches from which its critic learns too."""
    samples: LocalSearchSamples = field(default_factory=lambda: LocalSearchSamples(_PROGRESS))
    calibration: Calibration = field(default_factory=Calibration)
    choose_kernel_at: float = 0.0
    """Samples that the critic learns from, from which on its kernel is chosen anew."""
