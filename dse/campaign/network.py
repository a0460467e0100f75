"""A whole network: one search for each of its layers, in parallel, and what the best mappings add up to.

The layers are the cells of a campaign with one searcher and one seed, so that a search that was interrupted,
or whose processes died, goes on where it was.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.campaign.config import Campaign, NamedProblem, Variant
from dse.campaign.progress import Display
from dse.campaign.runner import run_campaign
from dse.campaign.store import Store
from dse.core.names import is_network_file, without_folders
from dse.core.problem import AnyProblem
from dse.search.api import Result
from dse.search.network import MAPPINGS, NETWORK, layer_file, network_totals
from dse.search.record import read_parquet
from dse.search.searcher import make_searcher
from dse.search.start import OWN, RANDOM, random_settings
from dse.support.errors import InputError
from dse.support.files import make_folder, write_json

SAMPLES = "samples"
"""The campaign in the folder of a network's search, beside the totals and the best mapping of each layer."""


@dataclass(frozen=True)
class NetworkSearch:
    """A network's layers, by their full names as in `vgg16:conv1_2`, and how each is to be searched."""

    network: str
    accelerator: str
    problems: Mapping[str, AnyProblem]
    searcher: str
    settings: Mapping[str, Any]
    budget: int
    seed: int
    start: str | None = None
    shared: bool = False
    """Whether `budget` is the whole network's: layers have equal shares, the first ones a sample more."""

    @property
    def budgets(self) -> tuple[int, ...]:
        """The samples of each layer."""
        count = len(self.problems)
        if not self.shared:
            return (self.budget,) * count
        if self.budget < count:
            raise InputError(f"a budget for {count} layers must be at least {count}, got {self.budget}")
        return tuple(self.budget // count + (place < self.budget % count) for place in range(count))


def search_network(
    search: NetworkSearch, display: Display, *, workers: int, out: Path | None = None
) -> tuple[dict[str, Any] | None, int]:
    """Search every layer, `workers` at a time: the result as plain data, and how many layers are finished.

    The result says what was searched and holds `layers`, an entry each, and their `totals`. The samples do
    not depend on `workers`. With `out`, a folder, everything stays there, and a search that was interrupted
    goes on; where Ctrl-C ends this one, the result is None. A layer whose search fails does not stop the
    others: its entry has a `failure` instead of figures.
    """
    plan = _campaign(search)
    with _folder(out) as folder, Store(folder / SAMPLES, plan) as store:
        ended = run_campaign(store, display, workers=workers)
        if ended.interrupted:
            return None, ended.done
        layers = _entries(search, store, kept=out is not None)
    data = {**_about(search), "layers": layers, "totals": network_totals(search.problems, layers)}
    if out is not None:
        for place, entry in enumerate(layers):
            if entry["best"]:
                write_json(out / MAPPINGS / layer_file(place, entry["layer"]), entry["best"]["mapping"])
        write_json(out / NETWORK, data)
    return data, ended.done


def _about(search: NetworkSearch) -> dict[str, Any]:
    problem = next(iter(search.problems.values()))
    return {
        "searcher": search.searcher,
        "network": search.network,
        "accelerator": search.accelerator,
        "objective": problem.objective,
        "cost_model": problem.model_spec,
        "seed": search.seed,
        "budget": search.budget,
        **({"shared": True} if search.shared else {}),
    }


def _campaign(search: NetworkSearch) -> Campaign:
    machine = _short(search.accelerator)
    problems = tuple(
        NamedProblem(f"{_short(search.network)}:{problem.layer.name}", machine, problem, whole=True)
        for problem in search.problems.values()
    )
    start, settings = search.start or OWN, search.settings
    settings = random_settings(search.searcher, settings) if start == RANDOM else settings
    searcher = make_searcher(search.searcher, settings)
    name = without_folders(search.searcher)
    variant = Variant(name, name, searcher, start=start)
    budgets = {one.label: budget for one, budget in zip(problems, search.budgets, strict=True)}
    return Campaign(
        _short(search.network), max(search.budgets), (search.seed,), problems, (variant,), budgets=budgets
    )


def _entries(search: NetworkSearch, store: Store, *, kept: bool) -> list[dict[str, Any]]:
    """What came of each layer, in the network's order."""
    failures = store.failures()
    entries = []
    for (spec, problem), named in zip(search.problems.items(), store.cells.values(), strict=True):
        entry: dict[str, Any] = {"layer": spec, "repeats": problem.layer.repeats}
        if named.key in failures:
            entries.append({**entry, "failure": failures[named.key], "best": None})
            continue
        path = store.record_path(named.key)
        record, _ = read_parquet(path)
        result = Result(named.cell, record, path if kept else None)
        entries.append(entry | result.to_dict(spec, search.accelerator))
    return entries


def _short(name: str) -> str:
    """A name for files and messages: of a file's path only the file."""
    return Path(name).name if is_network_file(name) else name


@contextlib.contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """`out`, or a folder that is removed in the end."""
    if out is not None:
        make_folder(out, MAPPINGS)
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="dse-") as folder:
        yield Path(folder)
