"""What follows searches from outside, such as loggers: a protocol of three methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dse.search.api import Result
    from dse.search.evaluator import Progress
    from dse.search.run import Cell


class Callback:
    """Follows a search. It sees it and cannot change it; a method that is not there does nothing.

    One is given as `dse.search(..., callbacks=[mine])`, or to `ask_tell`.
    """

    def begin(self, cell: Cell) -> None:
        """The search begins: `cell.name`, `cell.settings`, `cell.seed`, `cell.budget`, `cell.problem`."""

    def progress(self, progress: Progress) -> None:
        """A batch was evaluated: `progress.samples` are spent, the best so far is `progress.best_loss`."""

    def end(self, result: Result) -> None:
        """The search has ended, with `result.best` and `result.history`."""
