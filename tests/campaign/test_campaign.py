"""A campaign loses no sample: not when searchers raise, processes die, disks fill or files change."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

from dse.campaign.config import Campaign, NamedProblem, Variant
from dse.campaign.curves import CURVES, read_curves
from dse.campaign.executors import InProcess, LocalProcesses, MakeExecutor
from dse.campaign.progress import LineDisplay
from dse.campaign.reading import load_campaign
from dse.campaign.runner import CampaignResult, run_campaign
from dse.campaign.store import Store
from dse.campaign.worker import Outcome, Task
from dse.cli.commands.run import find_layers
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.record import read_parquet
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from tests import ROOT
from tests.campaign.campaign_searchers import Breaking, Dying, Quitter, Raising
from workloads import load_layer

BUDGET = 1500


def campaign(*searchers: tuple[str, object], seeds: int = 1, budget: int = BUDGET) -> Campaign:
    """Two problems; searchers by name, with None for the registered one of that name."""
    layer = load_layer("alexnet:conv2")
    problems = tuple(
        NamedProblem(
            "alexnet:conv2", "eyeriss-small", Problem(layer, PRESETS["eyeriss-small"], objective, "maestro")
        )
        for objective in ("latency", "edp")
    )
    variants = tuple(
        Variant(name, name, make_searcher(name) if searcher is None else searcher)  # type: ignore[arg-type]
        for name, searcher in searchers
    )
    return Campaign("test", budget, tuple(range(seeds)), problems, variants)


def run(
    folder: Path, plan: Campaign, *, make_executor: MakeExecutor = InProcess
) -> tuple[CampaignResult, str]:
    """Run a campaign, in this process unless told otherwise; returns how it ended and what was shown."""
    shown = io.StringIO()
    with Store(folder, plan) as store:
        result = run_campaign(store, LineDisplay(shown), workers=2, make_executor=make_executor)
    return result, shown.getvalue()


def records(folder: Path) -> dict[str, tuple[list, list]]:
    """Every finished cell's genes and losses."""
    found = {}
    for path in sorted((folder / "cells").glob("*.parquet")):
        record, _ = read_parquet(path)
        found[path.name] = (record.genes().tolist(), record.evaluations().loss.tolist())
    return found


def test_all_cells_run_and_only_their_records_are_left(tmp_path: Path) -> None:
    result, shown = run(tmp_path, campaign(("random", None), ("walk", None)))
    assert result == CampaignResult(cells=4, done=4, failed=0, interrupted=False)
    assert "[4/4]" in shown
    assert len(records(tmp_path)) == 4
    assert not list((tmp_path / "journals").iterdir())


def test_each_cell_goes_to_the_executor_once(tmp_path: Path) -> None:
    seen: list[str] = []

    class Counting(InProcess):
        def submit(self, function: Callable[[Task], Outcome], task: Task, /) -> Future[Outcome]:
            seen.append(task.named.key)
            return super().submit(function, task)

    plan = campaign(("random", None), ("walk", None), budget=200)
    run(tmp_path, plan, make_executor=Counting)
    assert sorted(seen) == sorted(named.key for named in plan.cells())


def test_a_raising_searcher_fails_alone_and_is_tried_again(tmp_path: Path) -> None:
    plan = campaign(("random", None), ("raising", Raising()), ("quitter", Quitter()))
    result, shown = run(tmp_path, plan)
    assert (result.done, result.failed) == (2, 4)
    assert "failed: RuntimeError: a plug-in's own trouble (campaign_searchers.py:" in shown
    with Store(tmp_path, plan) as store:
        reasons = store.failures()
        assert len(store.unfinished()) == 4
    assert sum("stopped with 1490 of 1500 samples left" in reason for reason in reasons.values()) == 2
    again, shown = run(tmp_path, plan)
    assert again == result
    assert "2 of them are done already" in shown


def test_records_do_not_depend_on_where_cells_run_or_on_a_worker_that_dies(tmp_path: Path) -> None:
    flag = tmp_path / "died"
    plan = campaign(("dying", Dying(once=str(flag))), ("random", None))
    result, shown = run(tmp_path / "processes", plan, make_executor=lambda _: LocalProcesses(1))
    assert flag.exists()
    assert result.done == 4
    assert "goes on from its journal" in shown
    run(tmp_path / "undisturbed", plan, make_executor=InProcess)
    assert records(tmp_path / "processes") == records(tmp_path / "undisturbed")


def test_a_searcher_that_always_kills_its_process_fails_and_takes_nobody_along(tmp_path: Path) -> None:
    result, shown = run(tmp_path, campaign(("dying", Dying()), ("random", None)), make_executor=Breaking)
    assert (result.done, result.failed) == (2, 2)
    assert shown.count("its process died 3 times") == 2


def test_two_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    plan = campaign(("random", None))
    with Store(tmp_path, plan), pytest.raises(InputError, match="in use by another run"):
        Store(tmp_path, plan)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 1000}, "budget 1,500 -> 1,000;"),
        ({"seeds": (7,)}, "holds a cell .* that campaign 'test' does not have"),
    ],
)
def test_a_changed_campaign_under_an_old_folder_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    plan = campaign(("random", None))
    run(tmp_path, plan)
    before = records(tmp_path)
    changed = dataclasses.replace(plan, **change)  # type: ignore[arg-type]
    for path in (tmp_path / CURVES, None):
        if path is None:
            (tmp_path / CURVES).unlink()
        with pytest.raises(InputError, match=r"holds a(nother)? ") as error:
            Store(tmp_path, changed)
        assert "--out" in str(error.value)
    with pytest.raises(InputError, match=message):
        Store(tmp_path, changed)
    assert records(tmp_path) == before


def test_a_larger_campaign_keeps_what_is_done(tmp_path: Path) -> None:
    run(tmp_path, campaign(("random", None)))
    result, shown = run(tmp_path, campaign(("random", None), ("walk", None), seeds=2))
    assert result.done == 8
    assert "2 of them are done already" in shown


def limited(plan: Campaign, name: str, seeds: int | None, budget: int | None) -> Campaign:
    """The campaign with fewer seeds or samples for one searcher."""
    variants = tuple(
        dataclasses.replace(variant, seeds=seeds, budget=budget) if variant.name == name else variant
        for variant in plan.variants
    )
    return dataclasses.replace(plan, variants=variants)


def test_a_searcher_with_less_joins_a_campaign_whose_other_cells_stay_done(tmp_path: Path) -> None:
    run(tmp_path, campaign(("random", None), seeds=2))
    before = records(tmp_path)
    whole = campaign(("random", None), ("walk", None), seeds=2)
    less = limited(whole, "walk", 1, BUDGET // 2)
    result, shown = run(tmp_path, less)
    assert result == CampaignResult(cells=6, done=6, failed=0, interrupted=False)
    assert "6 cells of up to 1,500 samples" in shown
    assert "4 of them are done already" in shown
    after = records(tmp_path)
    assert before.items() <= after.items()
    joined = {name: found for name, found in after.items() if name not in before}
    assert [len(losses) for _, losses in joined.values()] == [BUDGET // 2] * 2
    run(tmp_path / "whole", whole)
    for name, (genes, losses) in joined.items():
        there = records(tmp_path / "whole")[name]
        assert (genes, losses) == (there[0][: BUDGET // 2], there[1][: BUDGET // 2])
    summaries, about = read_curves(tmp_path / CURVES)
    assert {(s.searcher, s.seed, s.budget, s.samples) for s in summaries} == {
        ("random", 0, BUDGET, BUDGET),
        ("random", 1, BUDGET, BUDGET),
        ("walk", 0, BUDGET // 2, BUDGET // 2),
    }
    assert about["limits"] == {"walk": {"seeds": 1, "budget": BUDGET // 2}}
    assert (about["seeds"], about["budget"]) == (2, BUDGET)
    again, shown = run(tmp_path, less)
    assert again == result
    assert "6 of them are done already" in shown


def test_cells_without_a_sample_give_way_to_a_smaller_budget(tmp_path: Path) -> None:
    run(tmp_path, campaign(("random", None), seeds=2))
    both = campaign(("random", None), ("walk", None), seeds=2)
    with Store(tmp_path, both) as store:
        assert len(store.unfinished()) == 4
    with Store(tmp_path, limited(both, "walk", 1, 500)) as store:
        assert [(c.cell.seed, c.cell.budget) for c in store.unfinished()] == [(0, 500)] * 2
        assert len(store.ledger.states()) == 6
        begun = store.unfinished()[0]
        store.journal_path(begun.key).touch()
    with pytest.raises(InputError, match=r"budget 500 -> 400; .* to begin it anew") as error:
        Store(tmp_path, limited(both, "walk", 1, 400))
    store.journal_path(begun.key).unlink()
    assert str(store.journal_path(begun.key)) in str(error.value)
    with Store(tmp_path, both) as store:
        assert len(store.unfinished()) == 4
        assert len(store.summaries()) == 4


@pytest.mark.parametrize(
    ("seeds", "budget", "message"),
    [
        (1, None, "holds a cell .*--walk--s1' that campaign 'test' does not have"),
        (None, 500, "holds another walk on .*"),
    ],
)
def test_finished_cells_are_not_cut_to_what_their_searcher_has_now(
    tmp_path: Path, seeds: int | None, budget: int | None, message: str
) -> None:
    plan = campaign(("random", None), ("walk", None), seeds=2)
    run(tmp_path, plan)
    before = records(tmp_path)
    for _ in range(2):
        with pytest.raises(InputError, match=message):
            Store(tmp_path, limited(plan, "walk", seeds, budget))
        (tmp_path / CURVES).unlink(missing_ok=True)
    assert records(tmp_path) == before


def test_an_interrupted_searcher_with_less_goes_on_from_its_journal(tmp_path: Path) -> None:
    flag = tmp_path / "died"
    plan = campaign(("dying", Dying(once=str(flag))), ("random", None), seeds=2)
    plan = limited(plan, "dying", 1, 1200)
    result, shown = run(tmp_path / "campaign", plan, make_executor=Breaking)
    assert flag.exists()
    assert (result.cells, result.done) == (6, 6)
    assert "goes on from its journal" in shown
    run(tmp_path / "undisturbed", plan)
    assert records(tmp_path / "campaign") == records(tmp_path / "undisturbed")


def test_the_names_of_accelerators_go_into_the_curves_and_into_no_record(tmp_path: Path) -> None:
    plan = campaign(("random", None), budget=100)
    called = dataclasses.replace(PRESETS["eyeriss-small"], name="mine")
    named = [
        dataclasses.replace(one, problem=dataclasses.replace(one.problem, accelerator=called))
        for one in plan.problems
    ]
    for part, problems in (("without", plan.problems), ("with", tuple(named))):
        run(tmp_path / part, dataclasses.replace(plan, problems=problems))
    about = read_curves(tmp_path / "with" / CURVES)[1]
    assert about["machines"] == {plan.problems[0].accelerator: "mine"}
    assert "machines" not in read_curves(tmp_path / "without" / CURVES)[1]
    assert records(tmp_path / "with") == records(tmp_path / "without")


def test_a_reference_named_after_the_last_cell_reaches_the_curves(tmp_path: Path) -> None:
    plan = campaign(("random", None), ("walk", None))
    run(tmp_path, plan)
    path, (before, _) = tmp_path / CURVES, read_curves(tmp_path / CURVES)
    written = path.stat().st_mtime_ns
    run(tmp_path, plan)
    assert path.stat().st_mtime_ns == written
    run(tmp_path, dataclasses.replace(plan, showing={"reference": "walk"}))
    after, about = read_curves(path)
    assert about["reference"] == "walk"
    assert after == before


def test_a_cell_in_committed_curves_counts_as_done(tmp_path: Path) -> None:
    plan = campaign(("random", None))
    run(tmp_path / "old", plan)
    fresh = tmp_path / "clone"
    fresh.mkdir()
    (fresh / CURVES).write_bytes((tmp_path / "old" / CURVES).read_bytes())
    result, _ = run(fresh, dataclasses.replace(plan, seeds=(0, 1)))
    assert result.done == 4
    assert len(records(fresh)) == 2
    assert len(read_curves(fresh / CURVES)[0]) == 4


def test_curves_hold_each_improvement_and_the_ledger(tmp_path: Path) -> None:
    plan = campaign(("random", None))
    run(tmp_path, plan)
    summaries, about = read_curves(tmp_path / CURVES)
    for summary in summaries:
        record, _ = read_parquet(tmp_path / "cells" / f"{summary.key}.parquet")
        losses = record.evaluations().loss
        best = np.minimum.accumulate(losses)
        for samples in (1, 10, 500, BUDGET):
            assert summary.at(samples)["loss"] == best[samples - 1]
        assert summary.samples == BUDGET
        assert sum(summary.infeasible.values()) == np.isinf(losses).sum()
        assert summary.genes == record.genes()[int(np.argmin(losses))].tolist()
    assert about["cost_model"] == "maestro"
    assert set(about["templates"]) == {"nvdla", "shidiannao", "eyeriss"}


def test_a_record_written_just_before_its_process_died_is_taken(tmp_path: Path) -> None:
    plan = campaign(("random", None))
    run(tmp_path, plan)
    before = records(tmp_path)
    for path in (tmp_path / "ledger.sqlite", tmp_path / CURVES):
        path.unlink()
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    result, _ = run(tmp_path, plan)
    assert result.done == 2
    assert records(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()} == times


def test_a_damaged_journal_fails_its_cell_by_name(tmp_path: Path) -> None:
    plan = campaign(("random", None))
    with Store(tmp_path, plan) as store:
        first = store.unfinished()[0]
        store.journal_path(first.key).write_bytes(b"not a journal of anything" * 10)
    result, shown = run(tmp_path, plan)
    assert (result.done, result.failed) == (1, 1)
    assert "is not a journal of samples" in shown
    with Store(tmp_path, plan) as store:
        store.journal_path(first.key).unlink()
    assert run(tmp_path, plan)[0].done == 2


def test_a_folder_that_cannot_be_made_is_said_in_one_line(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("here")
    with pytest.raises(InputError, match=r"cannot be used: .*choose another with --out"):
        Store(blocked / "campaign", campaign(("random", None)))


def test_the_campaigns_that_come_along_read() -> None:
    for name in ("quickstart", "table3", "dev8"):
        path = ROOT / "results" / "campaigns" / f"{name}.toml"
        assert load_campaign(str(path), find_layers).name == name
