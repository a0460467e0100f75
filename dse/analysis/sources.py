"""What a campaign's folder holds: `curves.parquet`, and whatever the ledger and the samples know beyond it.

A folder whose campaign is running or was killed has no `curves.parquet` yet, or an old one; a folder of
which only the samples were kept has neither that nor a ledger. Nothing here writes to the folder.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from dse.analysis.reduction import NamedTriple, problem_of
from dse.campaign.config import LIMITS, NamedCell, NamedProblem, Variant, safe_name
from dse.campaign.curves import CURVES, read_curves
from dse.campaign.ledger import DONE, FAILED, LEDGER, read_ledger
from dse.campaign.stored import check_record
from dse.campaign.summary import Summary, summarise_cell
from dse.campaign.worker import RECORDS
from dse.core.domains import layer_of_identity, problem_from_identity
from dse.core.problem import AnyProblem
from dse.search.record import Record, read_parquet
from dse.search.run import Cell, RunTimes
from dse.search.searcher import Searcher, make_searcher
from dse.support.errors import InputError, StorageError, errors_within, format_exception


@dataclass(frozen=True)
class Entry:
    """A cell as a ledger or a record tells it: its key, all that its record depends on, how it is."""

    key: str
    identity: Mapping[str, Any]
    state: str = DONE
    reason: str | None = None
    summary: Summary | None = None

    @property
    def names(self) -> tuple[str, str, str, str]:
        """Layer, accelerator, objective and searcher: as the summary has them, or else as the key has them.

        A key has no colon, so that a layer's network cannot be told from it.
        """
        if self.summary is not None:
            known = self.summary
            return known.layer, known.accelerator, known.objective, known.searcher
        layer, accelerator, objective, searcher, *_ = self.key.split("--")
        return layer, accelerator, objective, searcher


def problem_part(key: str) -> str:
    """What a cell's key says of its problem: all but the searcher and the seed."""
    return "--".join(key.split("--")[:3])


def read_folder(folder: Path) -> tuple[list[Summary], dict[str, Any]]:
    """The finished cells in a campaign's folder, and what the campaign was (as `write_curves` keeps it).

    InputError where the folder holds no campaign, or where what it holds is damaged.
    """
    curves, about = read_curves(folder / CURVES) if (folder / CURVES).is_file() else ([], {})
    found = {summary.key: summary for summary in curves}
    curved = {problem_part(summary.key): problem_of(summary) for summary in curves}
    # Of a hundred thousand cells the summaries are not to be in memory twice.
    curves.clear()
    by_key: dict[str, Entry] = {}
    path = folder / LEDGER
    for row in read_ledger(path) if path.is_file() else ():
        entry = Entry(row.key, row.identity, row.state, row.reason, row.summary)
        by_key[entry.key] = entry
        if entry.summary is not None:
            found[entry.key] = entry.summary
    for entry in list(_read_records(folder / RECORDS, by_key, found.values())):
        by_key[entry.key] = entry
        if entry.summary is not None:
            found[entry.key] = entry.summary
    if not about and not by_key:
        raise InputError(
            f"{str(folder)!r} holds no {CURVES} (nor {LEDGER}, nor {RECORDS}/); "
            "name a folder that `dse run` has written"
        )
    merged = _merged(about, _plan(folder, list(by_key.values()), curved, about)) if by_key else about
    return [found[key] for key in sorted(found)], merged


def _read_records(folder: Path, entries: Mapping[str, Entry], done: Iterable[Summary]) -> Iterator[Entry]:
    """The finished cells of which there are samples and no summary yet."""
    known = {summary.key for summary in done}
    siblings = {problem_part(summary.key): summary for summary in done}
    problems: dict[str, AnyProblem] = {}
    for path in sorted(folder.glob("[!.]*.parquet")):
        key = path.stem
        if key in known:
            continue
        try:
            record, about = read_parquet(path)
            about = check_record(about, "what it says of its cell")
            entry = entries.get(key) or Entry(key, about["identity"])
            if problem_part(key) not in problems:
                problems[problem_part(key)] = problem_from_identity(entry.identity["problem"])
            named = _named_cell(entry, problems[problem_part(key)])
            summary = summarise_cell(named, record, RunTimes(*about["times"]))
        except StorageError:
            raise
        except InputError as error:
            where, said = f"record {str(path)!r}", str(error)
            said = said if said.startswith(where) else f"{where} cannot be reported: {said}"
            raise InputError(f"{said}; remove it to run its cell again") from None
        except (IndexError, ValueError) as error:
            raise InputError(f"record {str(path)!r} is of no cell: {format_exception(error)}") from None
        sibling = siblings.get(problem_part(key))
        if sibling is not None:
            names = ("layer", "network", "repeats", "accelerator")
            summary = replace(summary, **{name: getattr(sibling, name) for name in names})
        yield replace(entry, state=DONE, reason=None, summary=summary)


@dataclass(frozen=True)
class _RecordedCell(Cell):
    """A cell as it was when it ran, whatever is installed now."""

    recorded: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def common(self) -> dict[str, Any]:
        return {name: value for name, value in self.recorded.items() if name != "seed"}


def read_cell(path: Path) -> tuple[AnyProblem, Record]:
    """A cell's problem and its samples, from its record alone."""
    record, about = read_parquet(path)
    where = f"record {str(path)!r}"
    with errors_within(where):
        identity = check_record(about, "what it says of its cell")["identity"]
        return problem_from_identity(identity["problem"]), record


def _named_cell(entry: Entry, problem: AnyProblem) -> NamedCell:
    identity, (layer, accelerator, _, name) = entry.identity, entry.names
    kind = identity["searcher"]
    searcher = _searcher(kind, json.dumps(identity["settings"], sort_keys=True))
    cell = _RecordedCell(problem, kind, searcher, identity["seed"], identity["budget"], recorded=identity)
    return NamedCell(NamedProblem(layer, accelerator, problem), Variant(name, kind, searcher), cell)


@cache
def _searcher(kind: str, settings: str) -> Searcher:
    return make_searcher(kind, json.loads(settings))


def _plan(
    folder: Path, entries: list[Entry], curved: Mapping[str, NamedTriple], about: Mapping[str, Any]
) -> dict[str, Any]:
    """What the campaign was, from the cells that it entered; `curved` names the problems in the curves."""
    # A problem's own name is known where one of its cells is done, or where the curves have it.
    known = {"--".join(map(safe_name, names)): tuple(names) for names in about.get("problems", [])}
    known |= {problem_part(entry.key): entry.names[:3] for entry in entries if entry.summary is not None}
    known |= curved
    problems: dict[tuple[str, ...], list[str]] = {}
    settings: dict[str, Any] = {}
    versions: dict[str, str] = {}
    definitions: dict[str, Any] = {}
    has: dict[str, tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    for entry in entries:
        identity = entry.identity
        space, searcher = identity["problem"]["space"], entry.names[3]
        problem = known.get(problem_part(entry.key), entry.names[:3])
        problems[problem] = list(problem)
        has[searcher][0].add(identity["seed"])
        has[searcher][1].add(identity["budget"])
        settings[searcher] = {"type": identity["searcher"], **identity["settings"]}
        versions |= identity["versions"]
        definitions["{} on {}, {}".format(*problem)] = {
            "layer": layer_of_identity(identity["problem"]),
            "lowered": "stride" not in identity["problem"]["layer"],
            "accelerator": space["accelerator"],
            "objective": identity["problem"]["objective"],
            "tiles": space["tiles"],
            "fixed": space["fixed"],
            **({"parts": space["parts"]} if space.get("parts") else {}),
            "area_budget": identity["problem"].get("area_budget"),
            **({"limits": identity["problem"]["limits"]} if identity["problem"].get("limits") else {}),
        }
    first = entries[0].identity
    return {
        "campaign": folder.resolve().name,
        "budget": max(max(budgets) for _, budgets in has.values()),
        "cost_model": first["problem"]["cost_model"],
        "seeds": len({entry.identity["seed"] for entry in entries}),
        "limits": {
            name: {"seeds": len(seeds), "budget": max(budgets)} for name, (seeds, budgets) in has.items()
        },
        "searchers": list(settings),
        "problems": list(problems.values()),
        "settings": settings,
        "definitions": definitions,
        "versions": versions,
        "failed": {entry.key: entry.reason or "" for entry in entries if entry.state == FAILED},
    }


def _merged(about: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    """What the curves say of the campaign, with what has come since: more seeds, problems or searchers."""
    found = plan | about
    found["failed"] = plan["failed"]
    for name in ("searchers", "problems"):
        there = list(about.get(name, []))
        found[name] = there + [item for item in plan[name] if item not in there]
    found["seeds"] = max(about.get("seeds", 0), plan["seeds"])
    found.pop("limits")
    limits = {name: _limit(name, about, plan) for name in found["searchers"]}
    whole = {"seeds": found["seeds"], "budget": found["budget"]}
    if less := {name: limit for name, limit in limits.items() if limit != whole}:
        found["limits"] = less
    for name in ("settings", "definitions", "versions"):
        found[name] = plan[name] | about.get(name, {})
    return found


def _limit(name: str, *told: Mapping[str, Any]) -> dict[str, int]:
    """How many seeds and samples a run a searcher has: the most that what is `told` of it says."""
    knowing = [about for about in told if name in about.get("searchers", [])]
    return {key: max(about.get("limits", {}).get(name, about)[key] for about in knowing) for key in LIMITS}
