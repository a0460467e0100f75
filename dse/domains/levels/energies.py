"""The energies of a machine that its file takes from a table of published ones, with their sources."""

from __future__ import annotations

from dse.core.technology import ACCESSES, SRAM, Technology, load_technology
from dse.domains.levels.ert import ENDINGS, level_energies, mac_energy, read_ert
from dse.support.errors import InputError

ERT = "ert"
BY_TABLE = ACCESSES
"""What an access may be of, instead of a number."""


class Energies:
    """A machine's energy of a MAC, and those of accesses by a table; `sources` gathers what is used."""

    def __init__(
        self,
        technology: str | None,
        mac_pj: float | None,
        word_bits: int,
        scaled: tuple[float | None, float | None] = (None, None),
    ) -> None:
        self._table: Technology | None = None
        self._ert = read_ert(technology) if technology and technology.endswith(ENDINGS) else None
        if technology is not None and self._ert is None:
            self._table = load_technology(technology)
        self._file = technology
        process_nm, volts = scaled
        if process_nm is not None and volts is not None and self._table is not None:
            self._table = self._table.at(process_nm, volts)
        elif scaled != (None, None):
            raise InputError("a technology, process_nm and volts belong together: one of them is missing")
        self.sources: list[str] = []
        if self._ert is not None and mac_pj is None:
            component, mac_pj = mac_energy(self._ert)
            self.sources.append(f"MAC {mac_pj:.4g} pJ: {component}, compute ({technology})")
        elif self._table is None and mac_pj is None:
            raise InputError("lacks 'mac_pj', and a technology that says it")
        if self._table is not None and mac_pj is None:
            found = self._table.mac(word_bits)
            mac_pj = found.pj
            self._say(f"MAC of {word_bits} bits", found.pj, found.source)
        elif self._table is not None:
            self.own(f"MAC of {word_bits} bits", mac_pj or 0.0)
        self.mac_pj = mac_pj or 0.0

    def own(self, what: str, pj: float, how: str = "as the file says") -> None:
        """Say of an energy that it is the file's own, where others are a table's."""
        if self._table is not None or self._ert is not None:
            self.sources.append(f"{what} {pj:.4g} pJ: {how}")

    def of_component(self, level: str) -> dict[str, float]:
        """The pJ of a level's reads, writes and updates by an energy reference table."""
        if self._ert is None:
            raise InputError(f"access_pj is {ERT!r}, but technology names no file of Accelergy's, a .yaml")
        found = level_energies(self._ert, level)
        parts = ", ".join(f"{key.removesuffix('_pj')} {pj:.4g}" for key, pj in found.items())
        self.sources.append(f"{level}, {parts} pJ: its component's actions ({self._file})")
        return found

    def access(self, kind: str, level: str, capacity: int | None, block: int, bits: int) -> dict[str, float]:
        """The pJ of a level's reads, writes and updates, whose words have `bits`: `block` of them at once."""
        if self._table is None:
            raise InputError(f"access_pj is {kind!r}, but the machine names no technology")
        if kind == SRAM and capacity is None:
            raise InputError(f"access_pj is {kind!r}, but there is no size; give size or size_bytes")
        size = (capacity or 0) * bits / 8
        read, write = self._table.access(kind, block * bits, size, self.mac_pj)
        both = {"an access": read} if read == write else {"a read": read, "a write": write}
        for what, energy in both.items():
            self._say(f"{level}, {what} of {block * bits:,} bits", energy.pj, energy.source)
        return {"read_pj": read.pj, "write_pj": write.pj, "update_pj": write.pj}

    def _say(self, what: str, pj: float, source: str) -> None:
        table = self._table
        assert table is not None
        self.sources.append(f"{what} {pj:.4g} pJ: {source} ({table.name})")
