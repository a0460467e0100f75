"""What a campaign hands over to its reports: whom to compare, who else prices, what was published, looks."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from dse.core.objective import known_objective
from dse.support.errors import unknown
from dse.support.schema import Limits, Schema, read
from dse.support.toml import read_toml
from dse.support.validation import table

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


def _canonical(entry: Published) -> str:
    """The entry's objective as the campaign's problems have it."""
    known = known_objective(entry.objective)
    return entry.objective if known is None else known.name


def read_showing(
    data: Mapping[str, Any], searchers: Collection[str], folder: Path, where: str
) -> dict[str, Any]:
    """Those of the keys SHOWING that a campaign's file has (not None), checked, as plain data.

    Whether the models of `reprice` can price its mappings is for who knows its own. `reference` and
    `baseline` are names of its `searchers`. `published` is a list of tables, `looks` has a table for each
    searcher, of which the campaign's own are kept. Either may stand in a TOML file of its own, which is named
    instead, as seen from `folder`.
    """
    found: dict[str, Any] = {}
    for key in ("reference", "baseline"):
        if data[key] is not None:
            if data[key] not in searchers:
                raise unknown(key, data[key], searchers, f"{where}, which must be one of its searchers")
            found[key] = data[key]
    if data["reprice"]:
        found["reprice"] = list(dict.fromkeys(data["reprice"]))
    if data["published"] is not None:
        entries, place = data["published"], where
        if isinstance(entries, str):
            place = f"published {str(folder / entries)!r}"
            entries = read_toml(str(folder / entries), place).get("published")
        read_entries = read(_PublishedFile, {"published": entries}, place).published
        found["published"] = [asdict(entry) | {"objective": _canonical(entry)} for entry in read_entries]
    if data["looks"] is not None:
        entries, place = data["looks"], f"{where}: looks"
        if isinstance(entries, str):
            place = f"looks {str(folder / entries)!r}"
            entries = read_toml(str(folder / entries), place)
        looks = {
            name: read(Look, look, f"[{name}] of {place}") for name, look in table(entries, place).items()
        }
        found["looks"] = {name: asdict(look) for name, look in looks.items() if name in searchers}
    return found
