"""What a campaign hands over to its reports: whom to compare, who else prices, what was published, looks."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from dse.core.objective import canonical_objective
from dse.support.errors import InputError, errors_within, unknown_name
from dse.support.schema import Limits, Schema, read_schema
from dse.support.toml import read_toml
from dse.support.validation import check_table

SHOWING = ("reference", "baseline", "reprice", "published", "looks")
"""The keys of a campaign's file that reports alone read: no record depends on them."""
LINES = ("solid", "dashed", "dotted", "mixed")
MARKERS = "<>p8sv^DPXodh*x"
"""The markers that a searcher may have, as matplotlib calls them."""


@dataclass(frozen=True)
class Published(Schema):
    """Ratios to the reference's figure of a network, by searcher, that a `source` has published."""

    source: Annotated[str, Limits("a line of text", pattern=r"^[^\p{C}\p{Zl}\p{Zp}]+$")]
    network: str
    objective: str
    ratios: dict[str, Annotated[float, Limits("a finite ratio above 0", gt=0, allow_inf_nan=False)]]


@dataclass(frozen=True)
class Look(Schema):
    """How a searcher's curves are drawn."""

    colour: Annotated[str, Limits("like '#0072b2'", pattern="^#[0-9a-fA-F]{6}$")]
    line: Annotated[str, Limits(f"one of {', '.join(LINES)}", pattern=f"^({'|'.join(LINES)})$")]
    marker: Annotated[str, Limits(f"one of {' '.join(MARKERS)}", pattern=f"^[{re.escape(MARKERS)}]$")]


@dataclass(frozen=True)
class _PublishedFile(Schema):
    published: Annotated[list[Published], Limits("one or more [[published]] tables", min_length=1)]


def read_showing(
    data: Mapping[str, Any],
    searchers: Collection[str],
    problems: Collection[tuple[str, str]],
    folder: Path,
    where: str,
) -> dict[str, Any]:
    """Those of the keys SHOWING that a campaign's file has (not None), checked, as plain data.

    Whether the models of `reprice` can price its mappings is for who knows its own. `reference` and
    `baseline` are names of its `searchers`. `published` is a list of tables, `looks` has a table for each
    searcher. Either may stand in a TOML file of its own, which is named instead, as seen from `folder`: such
    a file may be of several campaigns, so looks of other searchers are left alone, and what is published of
    other searchers and `problems` (network and objective) too, where anything is of this one.
    """
    found: dict[str, Any] = {}
    for key in ("reference", "baseline"):
        if data[key] is not None:
            if data[key] not in searchers:
                raise unknown_name(key, data[key], searchers, f"{where}, which must be one of its searchers")
            found[key] = data[key]
    if data["reprice"]:
        found["reprice"] = list(dict.fromkeys(data["reprice"]))
    if data["published"] is not None:
        found["published"] = _published(data["published"], searchers, problems, folder, where)
    if data["looks"] is not None:
        found["looks"] = _looks(data["looks"], searchers, folder, where)
    return found


def _published(
    given: Any, searchers: Collection[str], problems: Collection[tuple[str, str]], folder: Path, where: str
) -> list[dict[str, Any]]:
    """What others have published, in the campaign's own table or in a file."""
    shared = isinstance(given, str)
    place = f"published {str(folder / given)!r}" if shared else where
    entries = read_toml(str(folder / given), place) if shared else {"published": given}
    found = []
    for number, entry in enumerate(read_schema(_PublishedFile, entries, place).published):
        at = f"{place}: published[{number}]"
        with errors_within(at):
            found.append(asdict(entry) | {"objective": canonical_objective(entry.objective)})
        if not shared:
            _see_own(found[-1], searchers, problems, at)
    if shared and not any(_is_shown(entry, searchers, problems) for entry in found):
        raise InputError(f"{place}: no entry has a network, objective and searcher of {where}")
    return found


def _is_shown(
    entry: Mapping[str, Any], searchers: Collection[str], problems: Collection[tuple[str, str]]
) -> bool:
    return (entry["network"], entry["objective"]) in problems and any(
        name in searchers for name in entry["ratios"]
    )


def _see_own(
    entry: Mapping[str, Any], searchers: Collection[str], problems: Collection[tuple[str, str]], at: str
) -> None:
    """InputError where an entry of a campaign's own is of nothing that the campaign has."""
    for place, key in enumerate(("network", "objective")):
        own = sorted({problem[place] for problem in problems})
        if entry[key] not in own:
            raise unknown_name(key, entry[key], own, f"{at}, which must be one of the campaign's")
    if not entry["ratios"]:
        raise InputError(f"{at}: ratios must have one or more of the campaign's searchers")
    for name in entry["ratios"]:
        if name not in searchers:
            raise unknown_name("searcher", name, searchers, f"{at}.ratios")


def _looks(given: Any, searchers: Collection[str], folder: Path, where: str) -> dict[str, Any]:
    """How searchers are drawn, by the campaign's own table or a file."""
    shared = isinstance(given, str)
    place = f"looks {str(folder / given)!r}" if shared else f"{where}: looks"
    entries = check_table(read_toml(str(folder / given), place) if shared else given, place)
    looks = {name: read_schema(Look, look, f"[{name}] of {place}") for name, look in entries.items()}
    own = {name: asdict(look) for name, look in looks.items() if name in searchers}
    others = [name for name in looks if name not in searchers]
    if others and not shared:
        raise unknown_name("searcher", others[0], searchers, place)
    if not looks:
        raise InputError(f"{place} must have a table of a searcher, with colour, line and marker")
    return own
