"""What is counted of a tensor at a level: the accesses that figures are made of."""

from __future__ import annotations

from dataclasses import dataclass

ACCESSES = ("reads", "fills", "updates")


@dataclass(frozen=True)
class Counts:
    """Of one tensor at one level that keeps it, for one instance: accesses over the run, in words.

    `tile` is what the instance holds, `share` the part of the tensor that it works on, `instances` how many
    are at work. A word takes `bits` of what levels count. Where tiles do not divide, it is the one that does
    most, `everywhere` are reads, fills and updates of all of them, and `share` is not told (0); of one into
    which all else waits for transfers, `waited` are the words that come, those that the next instance outside
    reads for them and for its others, and those that it gets back.
    """

    reads: int
    fills: int
    updates: int
    tile: int
    share: int
    instances: int
    bits: int = 1
    everywhere: tuple[int, int, int] | None = None
    waited: tuple[int, int, int] | None = None

    def words(self, kind: str) -> int:
        """The reads, fills or updates of all instances."""
        alike = int(getattr(self, kind)) * self.instances
        return alike if self.everywhere is None else self.everywhere[ACCESSES.index(kind)]
