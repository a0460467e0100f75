"""How far searches in other processes are, and that they are to stop: numbers in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dse.search.evaluator import Observer, Progress

STOP = 0
"""Place among the shared numbers of the one that tells all workers to stop."""
PER_CELL = 2
"""Shared numbers of a cell: samples, and the lowest loss."""


class Stopped(Exception):
    """All searches are being stopped; the journal keeps what was drawn."""


class SharedProgress:
    """Numbers that workers write and the campaign's process reads, in a file: no lock, no queue to break."""

    def __init__(self, path: Path, cells: int | None = None) -> None:
        """Map the numbers at `path`; with `cells`, make them new for that many."""
        if cells is not None:
            # Made anew: a link that somebody has put there is not written through.
            path.unlink(missing_ok=True)
            with path.open("xb") as file:
                file.write(np.zeros(1 + PER_CELL * cells).tobytes())
        self._numbers = np.memmap(path, dtype=np.float64, mode="r+")

    def stop(self) -> None:
        """Tell all workers to stop."""
        self._numbers[STOP] = 1.0

    @property
    def stopping(self) -> bool:
        """Whether workers are to stop."""
        return bool(self._numbers[STOP])

    def show(self, place: int, samples: int, best: float) -> None:
        """Write how far a cell is."""
        start = 1 + PER_CELL * place
        self._numbers[start : start + PER_CELL] = samples, best

    def read(self, place: int) -> tuple[int, float]:
        """Samples and lowest loss of a cell."""
        start = 1 + PER_CELL * place
        return int(self._numbers[start]), float(self._numbers[start + 1])

    def observer(self, place: int) -> Observer:
        """Of a search: it writes how far that is to the place, and raises Stopped where all are to stop."""

        def observe(progress: Progress) -> None:
            self.show(place, progress.samples, progress.best_loss)
            if self.stopping and progress.samples < progress.budget:
                raise Stopped

        return observe
