"""What a mapping space is put together from: the dims that are cut, the cluster size, the open hardware.

A space is named, or a table of one's own:

- `default`: K, C, Y and X are tiled, ordered and spread, R and S stay whole and innermost; the cluster size
  is a divisor of the accelerator's PE count: 13 genes.
- `paper`: the 17 parameters of arXiv:2507.16249 (its Fig. 2): loop order, parallel dim and tiles of all six
  dims at two levels, and the PE count. The cluster size is no parameter there: see `FIT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

from dse.core.layer import DIMS
from dse.support.errors import InputError, shorten, unknown
from dse.support.toml import is_toml, read_toml
from dse.support.validation import keys, table, whole_number

MAPPED_DIMS = ("K", "C", "Y", "X")
"""The dims that the default space tiles, orders and spreads; R and S stay whole and innermost."""

LEVELS = ("outer", "inner")

DIVISORS, FIT = "divisors", "fit"
"""What gives the cluster size. `divisors`: a gene, over the divisors of the PE count (of every one, where
there are several). `fit`: no gene; a cluster has a PE for each inner tile that its outer tile holds along the
inner parallel dim, and where that is more than all PEs the mapping is not feasible."""

MOST_PES = 2**20
MOST_CHOICES = 4096


@dataclass(frozen=True)
class Parts:
    """What a mapping space is put together from.

    `dims` are tiled, ordered and may be parallel; the others stay whole and innermost. `cluster` is DIVISORS,
    FIT or the sizes to choose from. `num_pes` are the PE counts to choose from, or none: the accelerator's.
    A cluster size that does not divide a PE count leaves the PEs idle that make up no whole cluster, as in
    MAESTRO; one above it is infeasible.
    """

    dims: tuple[str, ...] = MAPPED_DIMS
    cluster: str | tuple[int, ...] = DIVISORS
    num_pes: tuple[int, ...] = ()

    @cached_property
    def gene_names(self) -> tuple[str, ...]:
        """The names of the genes, in the order of a vector."""
        names = ("order", "parallel", *(f"tile.{dim}" for dim in self.dims))
        levels = (f"{level}.{name}" for level in LEVELS for name in names)
        return (*levels, *(() if self.cluster == FIT else ("cluster",)), *self.hardware)

    @property
    def hardware(self) -> tuple[str, ...]:
        """The figures of an accelerator that are genes."""
        return ("num_pes",) if self.num_pes else ()

    @property
    def whole(self) -> tuple[str, ...]:
        """The dims that stay whole, innermost and in this order."""
        return tuple(dim for dim in DIMS if dim not in self.dims)

    @cached_property
    def orders(self) -> tuple[tuple[str, ...], ...]:
        """The loop orders that an order gene indexes, outermost loop first; `whole` follows each."""
        return tuple(permutations(self.dims))

    def to_dict(self) -> dict[str, Any]:
        """The parts as plain data, which `read_parts` reads."""
        cluster = self.cluster if isinstance(self.cluster, str) else list(self.cluster)
        pes = {"num_pes": list(self.num_pes)} if self.num_pes else {}
        return {"dims": "".join(self.dims), "cluster": cluster, **pes}

    @property
    def name(self) -> str | None:
        """The name of the space that has these parts, if it has one."""
        return next((name for name, parts in SPACES.items() if parts == self), None)


PAPER_PES = tuple(sorted({*(2**power for power in range(11)), *range(14, 1025, 14)}))
"""The powers of two, and the multiples of 14 (Eyeriss has 168 PEs), up to 1,024."""

SPACES = {"default": Parts(), "paper": Parts(DIMS, FIT, PAPER_PES)}
"""The spaces that have a name."""


def read_parts(given: object, where: str = "space") -> Parts:
    """The parts that a name, or a table such as `{dims = "KCYXRS", num_pes = [64, 128]}`, stands for."""
    if isinstance(given, Parts):
        return given
    if isinstance(given, str):
        if given not in SPACES:
            raise unknown("space", given, [*SPACES, "a table"], "" if where == "space" else where)
        return SPACES[given]
    if not isinstance(given, Mapping):
        raise InputError(f"{where} must be {' or '.join(SPACES)}, or a table, got {shorten(given)}")
    entry = table(given, where)
    keys(entry, where, required=(), optional=("dims", "cluster", "num_pes"))
    dims, cluster = entry.get("dims", MAPPED_DIMS), entry.get("cluster", DIVISORS)
    if not isinstance(cluster, str):
        cluster = _sizes(cluster, f"{where}.cluster")
    elif cluster not in (DIVISORS, FIT):
        raise unknown("cluster", cluster, (DIVISORS, FIT, "a list of sizes"), where)
    pes = _sizes(entry["num_pes"], f"{where}.num_pes") if "num_pes" in entry else ()
    return Parts(_dims(dims, f"{where}.dims"), cluster, pes)


def load_parts(given: str) -> Parts:
    """The parts that a name stands for, or those in the TOML file at the path `given`."""
    if not is_toml(given):
        if given not in SPACES:
            raise unknown("space", given, [*SPACES, "FILE.toml"])
        return SPACES[given]
    where = f"space file {given!r}"
    return read_parts(read_toml(given, where), where)


def _dims(given: object, where: str) -> tuple[str, ...]:
    letters = list(given) if isinstance(given, str | list | tuple) else []
    if not letters or set(map(str, letters)) - set(DIMS) or len(set(map(str, letters))) < len(letters):
        raise InputError(f"{where} must hold some of {' '.join(DIMS)} once each, got {shorten(given)}")
    return tuple(dim for dim in DIMS if dim in letters)


def _sizes(given: object, where: str) -> tuple[int, ...]:
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MOST_CHOICES:
        raise InputError(f"{where} must be a list of 1 to {MOST_CHOICES:,} sizes, got {shorten(given)}")
    return tuple(sorted({whole_number(size, where, most=MOST_PES) for size in given}))
