"""A spatial accelerator: an array of PEs with private L1 buffers, a shared L2, a NoC and an off-chip link."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from dse.checks import keys, positive_number, table, whole_number
from dse.errors import InputError, unknown

UNLIMITED = 2**30
MAX_FIGURE = 2**40


@dataclass(frozen=True)
class Accelerator:
    """Sizes in elements, bandwidths in elements per cycle, latency in cycles, clock in GHz.

    `l1_size` is one PE's buffer, `l2_size` the shared one, `simd_lanes` a PE's MACs per cycle.
    """

    num_pes: int
    l1_size: int
    l2_size: int
    noc_bandwidth: int
    offchip_bandwidth: int
    noc_latency: int = 1
    simd_lanes: int = 1
    clock_ghz: float = 1.0

    def __post_init__(self) -> None:
        for item in fields(self):
            value, what = getattr(self, item.name), f"accelerator: {item.name}"
            if item.name == "clock_ghz":
                number: float = positive_number(value, what)
            elif item.name == "num_pes":
                number = whole_number(value, what, most=2**20)
            else:
                number = whole_number(value, what, least=int(item.name != "noc_latency"), most=MAX_FIGURE)
            object.__setattr__(self, item.name, number)

    @classmethod
    def from_dict(cls, data: object, where: str = "accelerator") -> Accelerator:
        """The accelerator that parsed JSON or TOML describes; `where` names the place in messages."""
        entry = table(data, where)
        optional = ("noc_latency", "simd_lanes", "clock_ghz")
        names = [item.name for item in fields(cls)]
        keys(entry, where, required=[n for n in names if n not in optional], optional=optional)
        try:
            return cls(**entry)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain data; `from_dict` reads it back."""
        return asdict(self)

    @cached_property
    def cluster_sizes(self) -> tuple[int, ...]:
        """The divisors of the PE count, ascending: the cluster sizes that waste no PE."""
        return tuple(size for size in range(1, self.num_pes + 1) if self.num_pes % size == 0)

    @property
    def cycle_seconds(self) -> float:
        """Seconds of one clock cycle."""
        return 1.0 / (self.clock_ghz * 1e9)


PRESETS: dict[str, Accelerator] = {
    "eyeriss": Accelerator(168, 512, 108_000, 64, 16),
    "eyeriss-small": Accelerator(168, 256, 32_768, 16, 4),
    "edge": Accelerator(256, 512, 131_072, 32, 8),
    "edge-small": Accelerator(256, 256, 65_536, 16, 4),
    "tpu-like": Accelerator(1024, 256, 262_144, 64, 16),
    "cloud": Accelerator(1024, 2048, 1_048_576, 256, 64),
    "paper": Accelerator(256, UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED),
    "archgym": Accelerator(1024, UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED),
}


def load_accelerator(name: str) -> Accelerator:
    """A preset by its name, or the accelerator in the TOML file at the path `name`."""
    if name in PRESETS:
        return PRESETS[name]
    path = Path(name)
    if path.suffix != ".toml":
        raise unknown("accelerator", name, PRESETS, "the presets (or name a .toml file)")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"accelerator file {name!r} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"accelerator file {name!r} is not TOML: {error}") from None
    return Accelerator.from_dict(data, where=f"accelerator file {name!r}")
