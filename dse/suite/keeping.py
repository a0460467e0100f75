"""Runs from outside, kept as a campaign keeps its cells: a folder a suite and cost model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.campaign.config import Campaign, NamedCell, NamedProblem, Variant, safe_name
from dse.campaign.curves import CURVES, open_curves
from dse.campaign.store import Store
from dse.campaign.summary import summarise_cell
from dse.campaign.worker import record_path
from dse.search.record import Record, write_parquet
from dse.search.run import Cell, RunTimes
from dse.search.session import OUTSIDE, Outside
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.suite.problem import SuiteProblem
    from dse.suite.suites import Suite


@dataclass(frozen=True)
class Kept:
    """Where a run of a problem is kept. InputError where such a run is there already."""

    folder: Path
    problem: SuiteProblem
    cell: Cell

    def __post_init__(self) -> None:
        path = record_path(self.place, self._named.key)
        if path.exists():
            raise InputError(
                f"run {str(path)!r} is there already; take another seed, another name of the searcher, or "
                "another folder"
            )

        mine, known = self._variant, self._variants().get(self._variant.name)
        now, there = self._told(mine), self._told(known or mine)
        if there != now:
            changed = [key for key in now if there[key] != now[key]]
            change = ", ".join(f"{key} {there[key]!r} there, {now[key]!r} now" for key in changed)
            raise InputError(
                f"folder {str(self.place)!r} holds runs of another {mine.name!r}: {change}; take another "
                "name or another folder"
            )

    @staticmethod
    def _told(variant: Variant) -> dict[str, Any]:
        made = variant.searcher
        assert isinstance(made, Outside)
        return asdict(made) | {"budget": variant.budget}

    @property
    def place(self) -> Path:
        """The campaign's folder: of the problems that have one cost model."""
        return self.folder / safe_name(f"{self.problem.suite.name}-{self.problem.problem.model.name}")

    @property
    def _variant(self) -> Variant:
        made = self.cell.searcher
        assert isinstance(made, Outside)
        return Variant(made.name, OUTSIDE, made, self.cell.seed + 1, self.cell.budget, made.start)

    @property
    def _named(self) -> NamedCell:
        return NamedCell(named_problem(self.problem), self._variant, self.cell)

    def keep(self, cell: Cell, record: Record, times: RunTimes) -> None:
        """Write the record and the campaign's curves."""
        named = self._named
        with Store(self.place, self._campaign()) as store:
            about = {
                "identity": cell.identity,
                "times": [times.searcher, times.model],
                "suite": {"name": self.problem.suite.name, "digest": self.problem.suite.digest},
                "problem": self.problem.name,
            }
            write_parquet(record, store.record_path(named.key), about)
            store.finish(summarise_cell(named, record, times))
            store.optima |= optima_of(self.problem.suite)
            store.write_curves()

    def _variants(self) -> dict[str, Variant]:
        """The searchers that the folder has, by name."""
        path, found = self.place / CURVES, {}
        about = open_curves(path).about if path.exists() else {"searchers": []}
        for name in about["searchers"]:
            settings = {key: value for key, value in about["settings"][name].items() if key != "type"}
            has = {"seeds": about["seeds"], "budget": about["budget"]} | about.get("limits", {}).get(name, {})
            made = Outside(**settings)
            found[name] = Variant(name, OUTSIDE, made, has["seeds"], has["budget"], made.start)
        return found

    def _campaign(self) -> Campaign:
        """The campaign of all runs that the folder has, and of this one."""
        variants, mine = self._variants(), self._variant
        known = variants.get(mine.name, mine)
        variants[mine.name] = replace(mine, seeds=max(mine.seeds or 1, known.seeds or 1))
        suite, spec = self.problem.suite, self.problem.entry.cost_model
        problems = tuple(named_problem(one) for one in suite if one.entry.cost_model == spec)
        return Campaign(
            suite.name,
            max(one.budget or 1 for one in variants.values()),
            tuple(range(max(one.seeds or 1 for one in variants.values()))),
            problems,
            tuple(variants.values()),
        )


def named_problem(problem: SuiteProblem) -> NamedProblem:
    """The problem as a campaign names it: by its layer and machine, of which its name is made."""
    layer, _, rest = problem.name.partition(" on ")
    return NamedProblem(layer, rest.rpartition(", ")[0], problem.problem)


def optima_of(suite: Suite) -> dict[str, dict[str, Any]]:
    """What is proven, as campaigns keep it."""
    return {
        entry.name: {"status": entry.status, "lower_bound": entry.lower_bound, "loss": entry.loss}
        for entry in suite.entries
    }
