"""What a campaign is: which searchers meet which problems, how often, how long; and what has changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from dse.core.problem import AnyProblem
from dse.search.run import Cell
from dse.search.searcher import Searcher, shown_settings
from dse.search.start import OWN, RANDOM, Points, start_points, start_words
from dse.support.errors import InputError, errors_within, shorten
from dse.support.hashing import digest

MAX_NAMED = 6
"""Differences that a message names; of the others it says how many there are."""

_ABSENT = object()
LIMITS = ("seeds", "budget")
"""What a searcher may have less of than the campaign."""


LONGEST_KEY = 160
"""Letters of the names in a cell's key, from which files are named."""


@dataclass(frozen=True)
class NamedProblem:
    """A problem and what the campaign calls its parts, as in `vgg16:conv1_2`, `edge`, `edp`.

    `whole` says that it is there as one of all layers of its network, which has totals then.
    """

    layer: str
    accelerator: str
    problem: AnyProblem
    whole: bool = False

    @property
    def network(self) -> str:
        """The part of the layer's name before the colon."""
        return self.layer.rpartition(":")[0] or self.layer

    @property
    def objective(self) -> str:
        """What is minimised."""
        return self.problem.objective

    @property
    def label(self) -> str:
        """The problem in a few words."""
        return f"{self.layer} on {self.accelerator}, {self.objective}"


@dataclass(frozen=True)
class Variant:
    """A searcher under the name that the campaign gives it; `type` is its registered name.

    `seeds` and `budget`, where they are not None, are what it has of the campaign's. `start` is where it
    begins (see `dse.search.start`); settings that this takes of the searcher are in the searcher.
    """

    name: str
    type: str
    searcher: Searcher
    seeds: int | None = None
    budget: int | None = None
    start: str = OWN

    @property
    def has_points(self) -> bool:
        """Whether its first samples are given to it."""
        return self.start not in (OWN, RANDOM)


@dataclass(frozen=True)
class NamedCell:
    """A cell of the campaign and what the campaign calls it."""

    problem: NamedProblem
    variant: Variant
    cell: Cell

    @property
    def label(self) -> str:
        """The cell in a few words."""
        return f"{self.variant.name} on {self.problem.label}, seed {self.cell.seed}"

    @cached_property
    def key(self) -> str:
        """The cell's name in file names and tables: readable, and distinct within a campaign."""
        problem = self.problem
        named = _key_part(problem.layer, problem.accelerator, problem.objective, self.variant.name)
        return f"{named}--s{self.cell.seed}"


@cache
def _key_part(*parts: str) -> str:
    """What a cell's key is before the seed."""
    safe = [safe_name(part) for part in parts]
    long = sum(map(len, safe)) > LONGEST_KEY
    if long:
        # File names end at 255 bytes.
        safe = [part[: LONGEST_KEY // len(safe)] for part in safe]
    if long or any(re.search(r"[^A-Za-z0-9._:-]", part) for part in parts):
        # Two names that differ in such characters only must not become one.
        safe.append(digest(parts)[:8])
    return "--".join(safe)


def safe_name(name: str) -> str:
    """A name as the keys of cells have it."""
    return re.sub(r"[^A-Za-z0-9._:-]+", "_", name).replace(":", "_")


@dataclass(frozen=True)
class Shard:
    """One of several parts of a campaign: the `number`-th of `count`, counted from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard written as 2/8; InputError for anything else."""
        found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise InputError(f"--shard must be like 2/8, the second of eight parts, got {shorten(text)}")
        return cls(int(found[1]), int(found[2]))

    def of(self, cells: Iterable[NamedCell]) -> set[str]:
        """The keys of its cells: dealt out seed by seed, so that each shard has a little of everything."""
        order = sorted((named.cell.seed, digest(named.key), named.key) for named in cells)
        return {key for _, _, key in order[self.number - 1 :: self.count]}


@dataclass(frozen=True)
class Campaign:
    """Problems x searchers x seeds; `showing` is what reports are handed over, as `read_showing` has it.

    `start` is where its searchers begin, but for variants that have another. `budgets` are those of cells by
    their problem's label, where they are not the campaign's.
    """

    name: str
    budget: int
    seeds: tuple[int, ...]
    problems: tuple[NamedProblem, ...]
    variants: tuple[Variant, ...]
    showing: Mapping[str, Any] = field(default_factory=dict)
    start: str = OWN
    budgets: Mapping[str, int] = field(default_factory=dict)

    @property
    def cost_model(self) -> str:
        """The cost model of all its problems."""
        return self.problems[0].problem.model_spec

    @property
    def limits(self) -> dict[str, dict[str, int]]:
        """By name, how many seeds and samples a run those searchers have that have fewer than the others."""
        found = {variant.name: self._has(variant) for variant in self.variants}
        whole = {"seeds": len(self.seeds), "budget": self.budget}
        return {name: has for name, has in found.items() if has != whole}

    @property
    def networks(self) -> list[list[str]]:
        """The networks that it has as a whole, each with an accelerator and an objective."""
        found = {(p.network, p.accelerator, p.objective): None for p in self.problems if p.whole}
        return [list(names) for names in found]

    @cached_property
    def starts(self) -> dict[tuple[str, str], Points]:
        """The first samples of the searchers that are given them, by the start and the problem's label."""
        points = {}
        for start in {variant.start: None for variant in self.variants if variant.has_points}:
            for problem in self.problems:
                with errors_within(problem.label):
                    points[start, problem.label] = start_points(problem.problem, start)
        return points

    @cached_property
    def begins(self) -> dict[str, str]:
        """By searcher, with what it begins, in words: several where problems differ."""
        spaces = [problem.problem.space for problem in self.problems]
        found = {}
        for variant in self.variants:
            words = (start_words(variant.searcher, space, variant.start) for space in spaces)
            found[variant.name] = " or ".join(dict.fromkeys(words))
        return found

    def cells(self) -> Iterator[NamedCell]:
        """Every cell, seed by seed, so that an unfinished campaign has a little of everything."""
        rows = []
        for problem in self.problems:
            for variant in self.variants:
                seeds, budget = self._has(variant).values()
                budget = self.budgets.get(problem.label, budget)
                start = self.starts[variant.start, problem.label] if variant.has_points else ()
                cell = Cell(problem.problem, variant.type, variant.searcher, self.seeds[0], budget, start)
                rows.append((problem, variant, seeds, cell))
        for place, seed in enumerate(self.seeds):
            for problem, variant, seeds, first in rows:
                if place < seeds:
                    yield NamedCell(problem, variant, first.with_seed(seed))

    def _has(self, variant: Variant) -> dict[str, int]:
        return {
            "seeds": len(self.seeds) if variant.seeds is None else variant.seeds,
            "budget": self.budget if variant.budget is None else variant.budget,
        }


def changes_of_identity(before: Mapping[str, Any], now: Mapping[str, Any], searcher: str) -> str:
    """The differences of two cells' identities: `budget 5,000 -> 20,000; genetic.population 40 -> 60`.

    `searcher` is what the campaign calls it. Empty where nothing differs.
    """
    found = list(_differences(_by_shown_names(before), _by_shown_names(now), ""))
    named = [f"{_name(path, searcher)} {_shown(old)} -> {_shown(new)}" for path, old, new in found]
    more = f"; and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
    return "; ".join(named[:MAX_NAMED]) + more


def _by_shown_names(identity: Mapping[str, Any]) -> Mapping[str, Any]:
    if "settings" not in identity or "searcher" not in identity:
        return identity
    return {**identity, "settings": shown_settings(identity["searcher"], identity["settings"])}


def only_grown(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether nothing but the budget differs, which is larger now."""
    return bool(before["budget"] < now["budget"] and {**before, "budget": now["budget"]} == now)


def _differences(before: Any, now: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*before, *now)):
            old, new = before.get(key, _ABSENT), now.get(key, _ABSENT)
            yield from _differences(old, new, f"{path}.{key}" if path else str(key))
    elif before != now:
        yield path, before, now


def _name(path: str, searcher: str) -> str:
    """A setting by its searcher, a version by what it is of, a part of the problem by its own name."""
    part, _, rest = path.partition(".")
    if part == "settings":
        return f"{searcher}.{rest}" if rest else searcher
    return rest if part in ("versions", "problem") and rest else path


def _shown(value: object) -> str:
    if value is _ABSENT:
        return "nothing"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) and value.isprintable() and len(value) < 60 else shorten(value)
