"""Suites: frozen, versioned files of problems with what is proven of them, each with a digest of itself.

A file is JSON: its name, version and digest, and a line a problem. The digest is SHA-256 of all else, so that
a file that was edited is refused, and records say which suite they are of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, overload

from dse.suite.problem import Entry, SuiteProblem
from dse.support.errors import InputError, shorten, unknown_name
from dse.support.files import read_text, write_whole
from dse.support.hashing import digest
from dse.support.schema import Limits, Schema, read_schema
from dse.support.strict_json import parse_json

FORMAT = 1
"""The version of what files are like: readers know no other."""
NAME = Limits("letters, digits, '.', '-' or '_'", pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")
Digest = Annotated[str, Limits("64 hexadecimal digits", pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class _File(Schema):
    format: int
    suite: Annotated[str, NAME]
    version: Annotated[int, Limits(ge=1)]
    about: str
    budget: Annotated[int, Limits(ge=1, le=10**9)]
    digest: Digest
    problems: Annotated[list[Entry], Limits("one or more problems", min_length=1)]
    records: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Suite(Sequence[SuiteProblem]):
    """Problems in their order; also by their names, as in `suite["yolo.conv2 on loopnest-1, latency"]`.

    `budget` is how many samples a run has by default. `records` are the folders of committed campaigns, from
    the root of the repository, that have runs on these problems.
    """

    name: str
    version: int
    about: str
    budget: int
    entries: tuple[Entry, ...] = field(repr=False)
    records: tuple[str, ...] = ()

    @cached_property
    def problems(self) -> tuple[SuiteProblem, ...]:
        """Its problems, in order."""
        return tuple(SuiteProblem(self, entry) for entry in self.entries)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that its file says."""
        return digest(self._data())

    @property
    def proven(self) -> int:
        """How many of the problems have a proven optimum; of the others a lower bound is known."""
        return sum(entry.proven for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[SuiteProblem]:
        return iter(self.problems)

    @overload
    def __getitem__(self, place: int | str) -> SuiteProblem: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[SuiteProblem, ...]: ...
    def __getitem__(self, place: int | str | slice) -> SuiteProblem | tuple[SuiteProblem, ...]:
        """The problem at a place, or of a name; InputError for a name that there is not."""
        if not isinstance(place, str):
            return self.problems[place]
        names = {problem.name: problem for problem in self.problems}
        if place not in names:
            raise unknown_name("problem", place, names, f"suite {self.name!r}")
        return names[place]

    def to_json(self) -> str:
        """The text of its file, a line a problem."""
        data = self._data() | {"digest": self.digest}
        problems = ",\n".join(json.dumps(entry, allow_nan=False) for entry in data.pop("problems"))
        head = json.dumps(data, allow_nan=False, indent=0)
        return f'{head[:-2]},\n"problems": [\n{problems}\n]\n}}\n'

    def write(self, path: Path) -> None:
        """Write its file, whole or not at all."""
        write_whole(path, self.to_json(), "suite")

    def _data(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "suite": self.name,
            "version": self.version,
            "about": self.about,
            "budget": self.budget,
            "records": list(self.records),
            "problems": [asdict(entry) for entry in self.entries],
        }


def named_suites() -> dict[str, Path]:
    """The suites that come along, by name: the paths of their files."""
    found = [Path(str(item)) for item in (resources.files("dse.suite") / "named").iterdir()]
    return {path.stem: path for path in sorted(found) if path.suffix == ".json"}


def suite(name: str | Path) -> Suite:
    """The suite of that name, or the one in a file; InputError for one that was edited, by its name."""
    named = named_suites()
    text = str(name)
    if text not in named and Path(text).suffix != ".json":
        raise unknown_name("suite", text, [*named, "FILE.json"])
    return read_suite(named.get(text, Path(text)))


def read_suite(path: Path) -> Suite:
    """The suite in a file, which must be as it was written."""
    where = f"suite {str(path)!r}"
    data = parse_json(read_text(path, where), where)
    if isinstance(data, dict) and data.get("format") not in (None, FORMAT):
        raise InputError(f"{where} is of format {shorten(data['format'])}; this version reads {FORMAT}")
    file = read_schema(_File, data, where)
    found = Suite(
        file.suite, file.version, file.about, file.budget, tuple(file.problems), tuple(file.records)
    )
    names = [problem.name for problem in found]
    if len(set(names)) < len(names):
        raise InputError(f"{where} has two problems of one name")
    if found.digest != file.digest:
        raise InputError(
            f"{where} was edited: its digest is {found.digest[:12]}, and it says {file.digest[:12]}; put "
            "back a good copy, or make a suite of your own by dse suite new"
        )
    return found
