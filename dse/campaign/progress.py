"""Showing how a campaign or a search is getting on: a live table on a terminal, lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, TextIO

import numpy as np

from dse.campaign.config import NamedCell
from dse.campaign.store import Store
from dse.campaign.summary import Summary
from dse.core.cost_models import unit_of
from dse.core.objective import names_several
from dse.support.errors import one_line
from dse.support.quantities import quantity_in_words

if TYPE_CHECKING:
    from rich.console import Group

PACE_SECONDS = 10.0
"""Between two lines of a search that nobody watches on a terminal."""
LABEL_WIDTH = 62


LINE_SECONDS = 60.0
"""Between two lines on how far all cells are."""


class LineDisplay:
    """A line for every cell that ends, and now and then one on the pace, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def begin(self, store: Store, waiting: int) -> None:
        """Say what there is to do."""
        self._cells = len(store.share)
        self._ended = self._cells - waiting
        campaign = store.campaign
        most = "up to " if any(cell.cell.budget < campaign.budget for cell in store.share.values()) else ""
        self._print(f"campaign {campaign.name}: {self._cells:,} cells of {most}{campaign.budget:,} samples")
        if self._ended:
            self._print(f"{self._ended:,} of them are done already")
        self._begun: dict[str, float] = {}
        self._worker: dict[str, str] = {}
        self._whole, self._samples = sum(cell.cell.budget for cell in store.unfinished()), 0
        self._start = self._said = time.monotonic()

    def started(self, cell: NamedCell, worker: str = "") -> None:
        """Start a cell's clock."""
        self._begun[cell.key] = time.monotonic()
        self._worker[cell.key] = f", on {worker}" if worker else ""

    def look(self, running: dict[str, tuple[int, float]]) -> None:
        """Say how far the cells are, if the last line on that was long ago."""
        now = time.monotonic()
        if now - self._said < LINE_SECONDS:
            return
        self._said = now
        drawn = self._samples + sum(samples for samples, _ in running.values())
        pace = in_words(drawn, now - self._start, self._whole - drawn)
        self._print(f"{drawn:,} of {self._whole:,} samples, {pace}")

    def ended(self, cell: NamedCell, summary: Summary | None, failure: str | None) -> None:
        """Say what came of a cell."""
        if summary is None and failure is None:
            return
        self._ended += 1
        self._samples += summary.samples if summary else 0
        seconds = time.monotonic() - self._begun[cell.key]
        came = f"failed: {failure}" if summary is None else f"{_best(cell, summary.best)}, {seconds:.1f} s"
        came += self._worker.pop(cell.key)
        self._print(f"[{self._ended}/{self._cells}] {cell.label}: {came}")

    def notice(self, text: str) -> None:
        """Say something that is no cell's end."""
        self._print(text)

    def close(self) -> None:
        """Nothing is open."""

    def _print(self, text: str) -> None:
        # Whoever read along may have left: the campaign goes on.
        with suppress(OSError, ValueError):
            print(one_line(text), file=self._stream, flush=True)


class NotebookDisplay(LineDisplay):
    """One line that changes, below a notebook's cell, and a line for every cell that fails."""

    def begin(self, store: Store, waiting: int) -> None:
        """Show the line."""
        from IPython.display import display

        self._handle = display({"text/plain": ""}, raw=True, display_id=True)
        self._last, self._running = "", ""
        super().begin(store, waiting)
        self._show()

    def look(self, running: dict[str, tuple[int, float]]) -> None:
        """Say which cells are running, and how far they are."""
        cells = (f"{key.rpartition('--')[0]} {samples:,}" for key, (samples, _) in running.items())
        self._running = "; ".join(cells)
        self._show()

    def ended(self, cell: NamedCell, summary: Summary | None, failure: str | None) -> None:
        """Count a cell, and say why it failed."""
        super().ended(cell, summary, failure)
        if failure is not None:
            print(one_line(f"failed: {cell.label}: {failure}"))
        self._show()

    def _show(self) -> None:
        text = f"{self._ended:,} of {self._cells:,} cells; {self._last}"
        text += f"; now: {self._running}" if self._running else ""
        self._handle.update({"text/plain": text}, raw=True)

    def _print(self, text: str) -> None:
        self._last = one_line(text)


class LiveDisplay:
    """The campaign as a live table: a bar for the whole, a row for each running cell."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True, highlight=False, emoji=False)
        self._live = Live(console=self._console, refresh_per_second=4, transient=True)
        self._running: dict[str, tuple[NamedCell, float, int]] = {}
        self._now: dict[str, tuple[int, float]] = {}
        self._worker: dict[str, str] = {}

    def begin(self, store: Store, waiting: int) -> None:
        """Open the table."""
        self._campaign = store.campaign
        self._cells, self._waiting, self._ended = len(store.share), waiting, 0
        self._failed = 0
        self._samples = 0
        self._whole = sum(cell.cell.budget for cell in store.unfinished())
        self._start = time.monotonic()
        self._live.start()

    def started(self, cell: NamedCell, worker: str = "") -> None:
        """Add a row."""
        self._worker[cell.key] = worker
        self._running[cell.key] = (cell, time.monotonic(), 0)

    def look(self, running: dict[str, tuple[int, float]]) -> None:
        """Bring the rows up to date."""
        self._now = running
        for key, (samples, _) in running.items():
            cell, _, first = self._running[key]
            if not first and samples:
                # What a resumed cell had drawn before does not count for its speed.
                self._running[key] = (cell, time.monotonic(), samples)
        self._live.update(self._table())

    def ended(self, cell: NamedCell, summary: Summary | None, failure: str | None) -> None:
        """Remove a row, and keep a line where the cell has failed."""
        self._running.pop(cell.key, None)
        self._ended += 1
        self._samples += summary.samples if summary else 0
        if failure is not None:
            self._failed += 1
            self._console.print(f"failed: {cell.label}: {failure}", style="red", markup=False)

    def notice(self, text: str) -> None:
        """Print a line above the table."""
        self._console.print(text, markup=False)

    def close(self) -> None:
        """Take the table away."""
        self._live.stop()

    def _table(self) -> Group:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        drawn = self._samples + sum(samples for samples, _ in self._now.values())
        seconds = time.monotonic() - self._start
        done = self._cells - self._waiting + self._ended
        failed = f", {self._failed} failed" if self._failed else ""
        head = Text(
            f"{self._campaign.name}: {done:,} of {self._cells:,} cells{failed}, "
            + in_words(drawn, seconds, self._whole - drawn),
            style="bold",
        )
        bar = ProgressBar(total=self._whole, completed=drawn, width=LABEL_WIDTH)
        table = Table.grid(padding=(0, 2))
        for key, (cell, begun, first) in self._running.items():
            samples, best = self._now.get(key, (0, np.inf))
            spent = time.monotonic() - begun
            speed = (samples - first) / spent if spent > 0.5 else 0.0
            table.add_row(
                Text(cell.label, overflow="ellipsis", no_wrap=True),
                f"{samples:,} of {cell.cell.budget:,}",
                f"{shown_rate(speed)}/s",
                _best(cell, best) if samples else "",
                self._worker[key],
            )
        line = Table.grid()
        line.add_row(bar)
        return Group(head, line, table)


Display = LineDisplay | LiveDisplay
"""Whoever shows how a campaign is getting on."""


def make_display() -> Display:
    """The live table on a terminal, lines elsewhere."""
    return LiveDisplay() if sys.stderr.isatty() else LineDisplay()


def _best(cell: NamedCell, loss: float) -> str:
    objective = cell.problem.objective
    if names_several(objective):
        return "a front"
    if not np.isfinite(loss):
        return "nothing feasible"
    return f"best {objective} {quantity_in_words(loss, _unit(objective, cell.problem.problem.model.name))}"


# To find a model takes milliseconds, and a campaign may have a hundred thousand cells.
_unit = cache(unit_of)


class Pace:
    """Of one search, whose samples are counted as they come.

    Those replayed from a journal do not count, nor do the first to come after them, and the time until then:
    kernels are compiled in it.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._begun = self._said = time.monotonic()
        self._samples = self._before = 0

    def seen(self, samples: int, replayed: int) -> str:
        """So many samples are there, so many of them replayed: the pace in words."""
        if self._samples <= replayed:
            self._begun, self._before = time.monotonic(), samples
        self._samples = samples
        return in_words(samples - self._before, time.monotonic() - self._begun, self._budget - samples)

    def worth_a_line(self) -> bool:
        """Whether the last line was long ago, and there is more to come: then this is one."""
        now = time.monotonic()
        if now - self._said < PACE_SECONDS or self._samples >= self._budget:
            return False
        self._said = now
        return True


def in_words(samples: int, seconds: float, left: int) -> str:
    """`49 samples/s, 0 min 38 s left`, where so many samples came in so many seconds."""
    rate = samples / seconds if seconds > 0 else 0.0
    return f"{shown_rate(rate)} samples/s, {_duration(left / rate if rate else math.inf)} left"


def shown_rate(rate: float) -> str:
    """A number of samples a second, with a digit behind the point where it is small."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def _duration(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "some time"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
