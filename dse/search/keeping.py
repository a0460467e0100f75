"""What a searcher has learned, kept for other searches: a policy in a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dse.search.record import Record
from dse.support.errors import InputError
from dse.support.files import make_folder


class Saveable(Protocol):
    """What a searcher has learned, for a folder."""

    def save(self, folder: Path, about: Mapping[str, Any]) -> None:
        """Write it there, with what is to be said `about` how it was learned, in plain data."""


Keep = Callable[[Callable[[], Saveable]], None]
"""What a search is handed that is to keep its policy: it is told, before samples are drawn, how to get what
has been learned by the time that it is asked. A search may tell it anew: the last counts."""


class Kept:
    """A Keep for a folder, made if it is not there."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self._folder = folder
        self._learned: Callable[[], Saveable] | None = None

    def __call__(self, learned: Callable[[], Saveable]) -> None:
        self._learned = learned

    def save(self, name: str, about: Mapping[str, Any]) -> None:
        """Save what the searcher of that `name` has learned by now."""
        if self._learned is None:
            raise InputError(f"searcher {name!r} has learned no policy in this search")
        self._learned().save(self._folder, about)


@dataclass(frozen=True)
class Held:
    """A whole record in place of a journal: a search that is answered from it prices nothing."""

    path: Path
    recovered: Record

    @property
    def samples(self) -> int:
        """How many samples it holds."""
        return len(self.recovered)

    def sync(self, record: Record, *, force: bool = False) -> None:
        """Nothing: all is written."""

    def discard(self) -> None:
        """Nothing: it stays."""
