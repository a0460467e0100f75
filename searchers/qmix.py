"""QMIX as a searcher: an agent a gene, each with values of its moves, mixed to the team's; or VDN, their sum.

The algorithm and its sources are in learners.qmix. The form is `refine`, in which agents act at once on a
point that they see. Defaults are dense and without the aids of `mast`.
"""

from __future__ import annotations

from dataclasses import dataclass

from searchers.common.play import version_of
from searchers.common.value_play import ValuePlay


@dataclass(frozen=True)
class QMIX(ValuePlay):
    """Agents that learn what moves are worth, off-policy, their values mixed into one (QMIX)."""

    version = property(version_of)
