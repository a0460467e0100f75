"""What a campaign's folder says in plain data, checked as it is read: ledger, records and curves.

Files get damaged, and are handed on by others. Whatever is wrong is one InputError that names the file, the
place in it and what to do. Unknown keys of a campaign are let pass: later versions may add some.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from dse.campaign.showing import Look, Published
from dse.campaign.summary import STEPS, Summary
from dse.search.run import MAX_SAMPLES
from dse.support.errors import InputError, shorten
from dse.support.schema import Limits, Schema, read_schema
from dse.support.validation import INT64_MAX

MAX_SEEDS = 100_000
MAX_CELLS = 100_000
"""Of a campaign: a million would take days before the first sample."""

Count = Annotated[int, Limits(ge=0, le=INT64_MAX)]
Seeds = Annotated[int, Limits(ge=1, le=MAX_SEEDS)]
Samples = Annotated[int, Limits(ge=1, le=MAX_SAMPLES)]
Loss = Annotated[float, Limits("a finite number above 0", gt=0, allow_inf_nan=False)]
Figure = Annotated[float, Limits("a finite number, at least 0", ge=0, allow_inf_nan=False)]
Names = Annotated[list[str], Limits("a list of one or more names", min_length=1)]
Triple = Annotated[list[str], Limits("layer, accelerator and objective", min_length=3, max_length=3)]
Steps = Annotated[list[Annotated[float, Limits(allow_inf_nan=False)]], Limits()]


@dataclass(frozen=True)
class _Stored(Schema):
    """A table in which there may be keys that this version does not know."""

    __pydantic_config__: ClassVar[Any] = {"strict": True, "extra": "ignore"}


@dataclass(frozen=True)
class _Optimum(_Stored):
    status: str
    lower_bound: Figure
    loss: Loss
    front: list[Annotated[list[Loss], Limits("cycles and nanojoules", min_length=2, max_length=2)]] = field(
        default_factory=list
    )
    front_genes: list[list[Count]] = field(default_factory=list)


@dataclass(frozen=True)
class _Template(_Stored):
    repeats: Annotated[int, Limits(ge=1, le=INT64_MAX)]
    loss: Figure
    seconds: Figure
    joules: Figure


@dataclass(frozen=True)
class _Limit(_Stored):
    seeds: Seeds
    budget: Samples


@dataclass(frozen=True)
class _Run(_Stored):
    cells: Count = 0
    workers: Count = 1
    wall_seconds: Figure = 0.0
    machine: dict[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Definition(_Stored):
    layer: dict[str, Any]
    accelerator: dict[str, Any]
    objective: str
    tiles: str
    fixed: dict[str, Any]
    parts: dict[str, Any] = field(default_factory=dict)
    area_budget: float | None = None
    limits: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _About(_Stored):
    """What a campaign was: all that reports read of it."""

    campaign: str
    budget: Samples
    cost_model: str
    seeds: Seeds
    searchers: Names
    problems: Annotated[list[Triple], Limits("one or more problems", min_length=1)]
    networks: list[Triple] = field(default_factory=list)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    definitions: dict[str, _Definition] = field(default_factory=dict)
    templates: dict[str, dict[str, _Template]] = field(default_factory=dict)
    optima: dict[str, _Optimum] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    runs: list[_Run] = field(default_factory=list)
    limits: dict[str, _Limit] = field(default_factory=dict)
    machines: dict[str, str] = field(default_factory=dict)
    start: str | None = None
    starts: dict[str, str] = field(default_factory=dict)
    begins: dict[str, str] = field(default_factory=dict)
    reference: str | None = None
    baseline: str | None = None
    reprice: list[str] = field(default_factory=list)
    published: list[Published] = field(default_factory=list)
    looks: dict[str, Look] = field(default_factory=dict)


@dataclass(frozen=True)
class _Space(_Stored):
    layer: dict[str, Any]
    accelerator: dict[str, Any]
    tiles: str
    fixed: dict[str, Any]
    parts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Problem(_Stored):
    layer: dict[str, Any]
    space: _Space
    objective: str
    cost_model: str
    area_budget: float | None = None
    limits: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Identity(_Stored):
    """All that a cell's record depends on."""

    problem: _Problem
    searcher: str
    settings: dict[str, Any]
    seed: Count
    budget: Samples
    versions: dict[str, str]
    start: list[list[Count]] = field(default_factory=list)


@dataclass(frozen=True)
class _RecordAbout(_Stored):
    identity: _Identity
    times: Annotated[list[Figure], Limits("CPU seconds of searcher and model", min_length=2, max_length=2)]


@dataclass(frozen=True)
class _Summary(Schema):
    """The fields of a Summary, each with what it may be."""

    key: str
    fingerprint: str
    layer: str
    network: str
    repeats: Annotated[int, Limits(ge=1, le=INT64_MAX)]
    accelerator: str
    clock_ghz: Figure
    objective: str
    searcher: str
    type: str
    seed: Count
    budget: Samples
    samples: Samples
    distinct: Count
    infeasible: dict[str, Count]
    elsewhere: Count
    searcher_seconds: Figure
    model_seconds: Figure
    genes: list[Count]
    mean_losses: list[float]
    steps: dict[str, Steps]


def parse_stored(text: object, where: str) -> Any:
    """The value of JSON that may have infinities in it; `where` names the place in messages."""
    if not isinstance(text, str | bytes):
        raise InputError(f"{where} must be JSON text, got {shorten(text)}")
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError(f"{where} is not usable JSON: nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}") from None


def check_about(about: Any, where: str) -> dict[str, Any]:
    """What curves say of their campaign, as it is, if it is all well."""
    read_schema(_About, about, where)
    for name in (
        "campaign",
        "cost_model",
        "searchers",
        "problems",
        "networks",
        "reference",
        "baseline",
        "reprice",
        "published",
        "machines",
        "start",
        "starts",
        "begins",
    ):
        _check_text(about.get(name), f"{where}: {name}")
    for name in ("definitions", "templates", "optima", "limits", "looks", "versions", "runs", "settings"):
        _check_text(list(about.get(name, ())), f"{where}: {name}")
    found: dict[str, Any] = about
    return found


def check_identity(identity: Any, where: str) -> dict[str, Any]:
    """A cell's identity, as it is, if it is all well."""
    read_schema(_Identity, identity, where)
    _check_text([identity["searcher"], identity["problem"]["cost_model"], *identity["versions"]], where)
    found: dict[str, Any] = identity
    return found


def check_record(about: Any, where: str) -> dict[str, Any]:
    """What a record says of its cell, as it is, if it is all well."""
    read_schema(_RecordAbout, about, where)
    check_identity(about["identity"], f"{where}: identity")
    found: dict[str, Any] = about
    return found


def check_summary(row: Any, where: str) -> Summary:
    """The summary in a row as `Summary.to_dict` made it, if it is all well."""
    if not isinstance(row, Mapping):
        raise InputError(f"{where} must be a table of names and values, got {shorten(row)}")
    row = Summary.renamed(row)
    read_schema(_Summary, row, where)
    _check_text([value for value in row.values() if isinstance(value, str)], where)
    _check_text(list(row["infeasible"]), f"{where}: infeasible")
    steps = row["steps"]
    index = steps.get("index", [])
    ordered = all(a < b for a, b in pairwise(index))
    if set(steps) != set(STEPS) or len({len(column) for column in steps.values()}) != 1:
        raise InputError(f"{where}: steps must have columns of one length: {', '.join(STEPS)}")
    if not ordered or (index and not 0 <= index[0] <= index[-1] < row["samples"]):
        raise InputError(f"{where}: steps.index must be ascending, within the {row['samples']} samples")
    if any(loss < 0 for loss in steps["loss"]) or any(loss != loss for loss in row["mean_losses"]):
        raise InputError(f"{where}: losses must be numbers of at least 0")
    return Summary(**row)


def _check_text(value: Any, where: str) -> None:
    """See that no text in `value` could do more on a terminal than be read."""
    if isinstance(value, str):
        if not value.isprintable():
            raise InputError(f"{where} must be one line of text, got {shorten(value)}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _check_text([key, item], where)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_text(item, where)
