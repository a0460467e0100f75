"""A descent: samples that led to one another, the critic that learns from them, and the doubt in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from searchers.team.critic import Critic

if TYPE_CHECKING:
    from dse.space.blocks import Block
    from searchers.team.history import History


_PROGRESS = 0.001
"""Part of the best score by which a sample must be better to count as an improvement."""
_TRUST = 3.0
"""Errors as small as foretold that are taken for granted at first."""
_LARGEST_ERROR = 30.0
"""Deviations that an error counts for at most."""
_MEMORY = 0.95
"""What an error counts for after one more."""


class Doubt:
    """How many times larger than it said a critic's errors are, by figure: seen where it was priced."""

    def __init__(self) -> None:
        self._squares: FloatArray | float = _TRUST
        self._count = _TRUST

    @property
    def variance(self) -> FloatArray | float:
        """What a variance is to be multiplied by: (m,), or 1 if nothing has been seen."""
        return np.maximum(self._squares / self._count, 1.0)

    def see(self, errors: FloatArray, deviations: FloatArray) -> None:
        """Learn from errors (n, m) and the deviations that were foretold; later ones count for more."""
        squares = np.minimum(np.square(errors / deviations), _LARGEST_ERROR**2)
        for square in squares:
            self._squares = self._squares * _MEMORY + square
            self._count = self._count * _MEMORY + 1


class Descent:
    """Samples that led to one another: `rows` of the history."""

    def __init__(self, blocks: tuple[Block, ...], critic: Critic, lent: IntArray, survey: bool) -> None:
        self.blocks = blocks
        """Those whose agents act."""
        self.survey = survey
        """Whether it keeps the arrangement of the PEs with which it began."""
        self.rows: list[int] = []
        self.lent = lent
        """Rows of other descents from which its critic learns too."""
        self.critic = critic
        self.best = np.inf
        self.idle = 0
        self.refit_at = 0.0
        self.doubt = Doubt()
        self.foretold: tuple[FloatArray, FloatArray] | None = None
        """Of the last proposals (n, 13): expected figures (n, m), and deviations as the critic said."""
        self._members: set[int] = set()

    def join(self, rows: list[int], history: History) -> None:
        """Samples of the history are now of this descent too."""
        for row in rows:
            if row in self._members:
                continue
            self._members.add(row)
            self.rows.append(row)
            score = float(history.scores[row])
            self.idle = 0 if score < (1 - _PROGRESS) * self.best else self.idle + 1
            self.best = min(self.best, score)

    def __contains__(self, row: int) -> bool:
        return row in self._members
