"""Reports from whatever a campaign's folder holds: curves, a ledger, samples, or only some of them."""

from __future__ import annotations

import dataclasses
import io
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from dse.analysis import sources
from dse.analysis.ranking import Ranking
from dse.analysis.repriced import Repriced, reprice_winners
from dse.analysis.sources import LEDGER, RECORDS
from dse.analysis.study import Study, load_study
from dse.campaign.curves import CURVES
from dse.campaign.executors import InProcess
from dse.campaign.progress import LineDisplay
from dse.campaign.runner import run_campaign
from dse.campaign.store import Store
from dse.report.tables.repriced import LOWERED, repriced_notes
from dse.support.errors import unknown_name
from tests.campaign.campaign_searchers import Raising
from tests.campaign.test_campaign import campaign, run
from tests.conftest import Dse

BUDGET = 300
KEY = "alexnet_conv2--eyeriss-small--edp--random--s1"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small campaign that has ended: two problems, two searchers, two seeds."""
    folder = tmp_path_factory.mktemp("campaign")
    run(folder, campaign(("random", None), ("walk", None), seeds=2, budget=BUDGET))
    return folder


def part(whole: Path, folder: Path, *names: str) -> Path:
    """A folder with only some of what is in the whole one."""
    folder.mkdir(exist_ok=True)
    for name in names:
        if (whole / name).is_dir():
            shutil.copytree(whole / name, folder / name)
        else:
            shutil.copy(whole / name, folder / name)
    return folder


def unfinish(folder: Path, *keys: str) -> None:
    """Make the ledger forget that cells were finished."""
    with sqlite3.connect(folder / LEDGER) as database:
        for key in keys:
            database.execute(
                "UPDATE cells SET state = 'pending', summary = NULL, checksum = NULL WHERE key = ?", (key,)
            )
    database.close()


def keys(study: Study) -> set[str]:
    """The finished cells."""
    return {summary.key for summary in study.summaries}


def test_a_ledger_without_curves_tells_the_same(whole: Path, tmp_path: Path) -> None:
    there, here = load_study(whole), load_study(part(whole, tmp_path / "copy", LEDGER))
    assert here.summaries == there.summaries
    same = ("budget", "seeds", "cost_model", "searchers", "problems", "missing")
    assert [getattr(here, name) for name in same] == [getattr(there, name) for name in same]
    assert here.name == "copy"
    for name in ("settings", "versions"):
        assert here.about[name] == there.about[name]
    for problem in here.problems:
        # The ledger has a padded layer in its unpadded form: another layer, the same problem.
        one, other = here.make_problem(problem), there.make_problem(problem)
        assert one is not None
        assert other is not None
        points = other.space.sample(np.random.default_rng(0), 200)
        assert one.price(points).loss.tolist() == other.price(points).loss.tolist()


def test_samples_alone_tell_the_same_but_for_what_their_names_cannot_say(whole: Path, tmp_path: Path) -> None:
    there, here = load_study(whole), load_study(part(whole, tmp_path, RECORDS))
    assert here.missing == {}
    for one, other in zip(here.summaries, there.summaries, strict=True):
        # A file's name has no colon, and a layer no repeats.
        assert one.layer == other.layer.replace(":", "_")
        known = {name: getattr(other, name) for name in ("layer", "network", "repeats")}
        assert dataclasses.replace(one, **known) == other


def by_loopnest(folder: Path) -> Path:
    """The folder of a small campaign on the same problems under the other cost model."""
    plan = campaign(("random", None), ("walk", None), budget=BUDGET)
    problems = tuple(
        dataclasses.replace(named, problem=dataclasses.replace(named.problem, cost_model="loopnest"))
        for named in plan.problems
    )
    run(folder, dataclasses.replace(plan, problems=problems))
    return folder


def other_model(study: Study) -> Repriced:
    """The winners under the other model of those two that come along."""
    here = {"maestro": "loopnest", "loopnest": "maestro"}[study.cost_model]
    (found,) = reprice_winners(dataclasses.replace(study, about={**study.about, "reprice": [here]}), 50)
    return found


def by_objective(study: Study) -> dict[str, Ranking]:
    """The rankings of the one network under the other model."""
    return {group.objective: group for group in other_model(study).groups}


@pytest.mark.parametrize("kept", [LEDGER, RECORDS])
def test_a_campaign_under_loopnest_keeps_its_paddings_without_its_curves(tmp_path: Path, kept: str) -> None:
    whole = by_loopnest(tmp_path / "whole")
    there, here = load_study(whole), load_study(part(whole, tmp_path / "part", kept))
    made = [study.make_problem(problem) for study in (here, there) for problem in sorted(study.problems)]
    assert made[:2] == made[2:]
    assert all(one is not None and one.layer.padding == (2, 2) for one in made)
    assert [one.steps for one in here.summaries] == [one.steps for one in there.summaries]
    one, other = by_objective(here), by_objective(there)
    assert {name: group.rows for name, group in one.items()} == {
        name: group.rows for name, group in other.items()
    }
    assert repriced_notes(other_model(here)) == []


@pytest.mark.parametrize("kept", [LEDGER, RECORDS])
def test_without_curves_a_campaign_under_maestro_says_that_paddings_are_lost(
    whole: Path, tmp_path: Path, kept: str
) -> None:
    here, there = load_study(part(whole, tmp_path, kept)), load_study(whole)
    assert repriced_notes(other_model(there)) == []
    assert repriced_notes(other_model(here)) == [LOWERED]
    lost, known = by_objective(here), by_objective(there)
    for objective, group in known.items():
        mine = {row.searcher: row for row in lost[objective].rows}
        for row in group.rows:
            assert mine[row.searcher].own == row.own
            # Padding that counts as data is brought like any other.
            assert mine[row.searcher].other.value >= row.other.value


def test_a_run_that_is_killed_leaves_what_the_campaign_was_in_full(tmp_path: Path) -> None:
    seen: list[Study] = []

    def look(workers: int) -> InProcess:
        # What is there now is all that a kill would leave.
        shutil.copytree(tmp_path / "whole", tmp_path / "killed")
        seen.append(load_study(tmp_path / "killed"))
        return InProcess(workers)

    plan = campaign(("random", None), budget=BUDGET)
    with Store(tmp_path / "whole", plan) as store:
        run_campaign(store, LineDisplay(io.StringIO()), workers=1, make_executor=look)
    (begun,), whole = seen, load_study(tmp_path / "whole")
    assert (begun.summaries, begun.missing, begun.name) == ((), {"random": 2}, "test")
    for name in ("definitions", "templates", "settings", "problems"):
        assert begun.about[name] == whole.about[name]
    late = part(tmp_path / "whole", tmp_path / "late", LEDGER)
    shutil.copy(tmp_path / "killed" / CURVES, late)
    assert load_study(late).summaries == whole.summaries
    assert other_model(load_study(late)).groups == other_model(whole).groups
    assert repriced_notes(other_model(load_study(late))) == []


def test_a_campaign_under_way_is_reported_with_what_is_missing(whole: Path, tmp_path: Path) -> None:
    study = load_study(part(whole, tmp_path, LEDGER))
    unfinish(tmp_path, KEY)
    study = load_study(tmp_path)
    assert study.missing == {"random": 1}
    assert (len(study.summaries), study.planned, study.seeds) == (7, 8, 2)


def test_a_record_that_the_ledger_does_not_know_yet_counts(whole: Path, tmp_path: Path) -> None:
    part(whole, tmp_path, LEDGER, RECORDS)
    unfinish(tmp_path, KEY)
    assert load_study(tmp_path).summaries == load_study(whole).summaries


def test_cells_finished_since_the_curves_were_written_count(whole: Path, tmp_path: Path) -> None:
    part(whole, tmp_path, CURVES, LEDGER)
    more = campaign(("random", None), ("walk", None), ("genetic", None), seeds=3, budget=BUDGET)
    with Store(tmp_path, more):
        pass
    study = load_study(tmp_path)
    assert keys(study) == keys(load_study(whole))
    assert (study.searchers, study.seeds) == (("random", "walk", "genetic"), 3)
    assert study.missing == {"random": 2, "walk": 2, "genetic": 6}
    assert study.name == "test"


def test_failed_cells_and_their_reasons_are_told(tmp_path: Path) -> None:
    run(tmp_path, campaign(("random", None), ("raising", Raising()), budget=BUDGET))
    study = load_study(tmp_path)
    assert study.missing == {"raising": 2}
    assert "a plug-in's own trouble" in next(iter(study.about["failed"].values()))


def test_reading_leaves_no_trace(whole: Path, tmp_path: Path) -> None:
    part(whole, tmp_path, LEDGER, RECORDS)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    load_study(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_running_campaign_is_read_while_it_writes(whole: Path, tmp_path: Path) -> None:
    part(whole, tmp_path, LEDGER)
    with Store(tmp_path, campaign(("random", None), ("walk", None), seeds=2, budget=BUDGET)) as store:
        store.ledger.fail(KEY, "stopped for a test")
        study = load_study(tmp_path)
    assert study.about["failed"] == {KEY: "stopped for a test"}


def test_a_damaged_ledger_is_refused_in_one_line(whole: Path, tmp_path: Path, dse: Dse) -> None:
    (tmp_path / LEDGER).write_bytes(b"not a database" * 100)
    assert f"ledger '{tmp_path / LEDGER}' is damaged: " in dse("report", str(tmp_path)).refused()
    part(whole, tmp_path, LEDGER)
    with sqlite3.connect(tmp_path / LEDGER) as database:
        database.execute("UPDATE cells SET summary = '{' WHERE key = ?", (KEY,))
    database.close()
    assert f"ledger '{tmp_path / LEDGER}' is damaged: " in dse("report", str(tmp_path)).refused()


def test_a_damaged_record_is_refused_in_one_line(whole: Path, tmp_path: Path, dse: Dse) -> None:
    path = part(whole, tmp_path, RECORDS) / RECORDS / f"{KEY}.parquet"
    path.write_bytes(path.read_bytes()[:500])
    assert f"record '{path}' cannot be read: " in dse("report", str(tmp_path)).refused()


def test_a_record_of_a_searcher_that_is_not_installed_is_refused_by_name(
    whole: Path, tmp_path: Path, dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    part(whole, tmp_path, RECORDS)

    def gone(kind: str, settings: str) -> None:
        raise unknown_name("searcher", kind, ["cem"], "the installed searchers")

    monkeypatch.setattr(sources, "_searcher", gone)
    message = dse("report", str(tmp_path)).refused()
    assert "cannot be reported: unknown searcher 'random' in the installed searchers" in message


@pytest.mark.usefixtures("one_picture")
def test_the_whole_report_is_written_and_a_run_drawn(whole: Path, tmp_path: Path, dse: Dse) -> None:
    part(whole, tmp_path, CURVES, RECORDS)
    outcome = dse("report", str(tmp_path), "--run", KEY)
    assert outcome.code == 0, outcome
    assert outcome.out.endswith(f"report: {tmp_path / 'index.html'}\n")
    page = (tmp_path / "index.html").read_text()
    assert f"genes-{KEY}" in page
    assert "tables/reduction.csv" in page
    pictures = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"gap.png", f"genes-{KEY}.png"} <= pictures
    assert (tmp_path / "summary.json").stat().st_size < 20_000


def test_a_run_that_has_no_samples_is_refused_before_anything_is_written(
    whole: Path, tmp_path: Path, dse: Dse
) -> None:
    part(whole, tmp_path, CURVES)
    message = dse("report", str(tmp_path), "--run", "none").refused()
    assert "run 'none' has no samples" in message
    assert "such as alexnet_conv2--eyeriss-small--edp--random--s0" in message
    assert [path.name for path in tmp_path.iterdir()] == [CURVES]
    assert "give one of the two" in dse("report", str(tmp_path), "--run", KEY, "--tables-only").refused()


def test_a_run_can_report_in_tables_alone(tmp_path: Path, dse: Dse) -> None:
    plan = tmp_path / "tiny.toml"
    plan.write_text(
        'name = "tiny"\nbudget = 200\nseeds = 1\ncost_model = "maestro"\nobjectives = ["latency"]\n'
        'accelerators = ["eyeriss-small"]\nlayers = ["alexnet:conv2"]\n[searchers.random]\n'
    )
    outcome = dse("run", str(plan), "--workers", "1", "--tables-only")
    assert outcome.code == 0, outcome
    folder = tmp_path / "tiny"
    assert outcome.out.endswith(f"report: {folder / 'tables' / 'reduction.md'}\n")
    assert not (folder / "index.html").exists()
