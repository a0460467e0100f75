"""What `dse bench cost` times: a domain says how its designs are priced, and what else prices the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dse.core.problem import AnyProblem, Designs


@dataclass(frozen=True)
class Other:
    """Another implementation of a cost model's figures: `price` prices `count` designs, one at a time.

    There are so many that it takes seconds, not minutes.
    """

    count: int
    price: Callable[[], object]


@dataclass(frozen=True)
class Timed:
    """Designs that are ready to be priced: `price` does it on one of the `threads`, a number of them.

    `single` prices the design at a place alone. `others` are other implementations, by name.
    """

    price: Callable[[int], object]
    single: Callable[[int], object]
    threads: tuple[int, ...] = (1, 2)
    others: Mapping[str, Other] = field(default_factory=dict)


class Others(Protocol):
    """The `bench_module` of a cost model."""

    def others(self, problem: AnyProblem, designs: Designs) -> Mapping[str, Other]:
        """Other implementations, made ready to price the first of some designs."""
        ...
