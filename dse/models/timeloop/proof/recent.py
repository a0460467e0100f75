"""What was made last, as far as it fits: other values are made again when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import RLock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Values by key, at most `most` of them and of a `weight` of at most `heaviest` together. The last one is
    there in any case. Threads may ask at the same time: one of them makes a value.
    """

    def __init__(self, weigh: Callable[[Value], int], heaviest: int, most: int = 2**31) -> None:
        self._weigh, self._heaviest, self._most = weigh, heaviest, most
        self._kept: dict[Hashable, Value] = {}
        self._weight = 0
        self._making = RLock()

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made if it is not there."""
        with self._making:
            if key in self._kept:
                value = self._kept.pop(key)
            else:
                value = make()
                self._weight += self._weigh(value)
            self._kept[key] = value
            while len(self._kept) > 1 and (len(self._kept) > self._most or self._weight > self._heaviest):
                self._weight -= self._weigh(self._kept.pop(next(iter(self._kept))))
            return value
