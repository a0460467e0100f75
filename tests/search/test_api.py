"""`dse.search`: one search from Python, the same as a campaign's cell, and never lost."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.campaign.config import Campaign, NamedProblem, Variant
from dse.campaign.progress import LineDisplay
from dse.campaign.runner import run_campaign
from dse.campaign.store import Store
from dse.core.cost_models import cost_model
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.search.api import JOURNAL, MAPPING, RESULT, write_result
from dse.search.evaluator import Evaluator, Progress
from dse.search.record import RECORD, Record, read_parquet
from dse.search.run import SearcherStopped
from dse.search.searcher import make_searcher
from dse.support.errors import InputError, StorageError
from searchers.random import Random
from tests.campaign.campaign_searchers import Quitter, Raising
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp", "maestro")
TOO_SMALL = dse.Accelerator(4, l1_size=2, l2_size=4, noc_bandwidth=1, offchip_bandwidth=1)
HOPELESS = Problem(load_layer("alexnet:conv2"), TOO_SMALL, cost_model="maestro")
BUDGET = 600


def samples(record: Record) -> list[Any]:
    """A record's columns, to be compared bit by bit."""
    evaluations = record.evaluations()
    return [record.genes().tobytes(), *(column.tobytes() for column in evaluations.columns().values())]


def files(folder: Path) -> list[str]:
    """The names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


# What a search gives


def test_the_best_is_the_first_sample_with_the_lowest_loss() -> None:
    result = dse.search(PROBLEM, "walk", budget=BUDGET)
    losses = result.record.evaluations().loss
    best = result.best
    assert best is not None
    assert (best.loss, best.index) == (losses.min(), losses.tolist().index(losses.min()))
    assert best.genes == tuple(result.record.genes()[best.index])
    again = PROBLEM.evaluate(MappingBatch.of([best.mapping]))
    assert (again.loss[0], again.cycles[0], again.energy_nj[0]) == (best.loss, best.cycles, best.energy_nj)
    assert (again.l1_size[0], again.l2_size[0], again.macs[0]) == (best.l1_size, best.l2_size, best.macs)
    assert len(result.record) == BUDGET
    assert result.path is None


def test_the_history_is_a_table_of_every_sample() -> None:
    result = dse.search(PROBLEM, "random", budget=50, seed=3)
    history = result.history
    assert list(history.columns[:13]) == [gene.name for gene in PROBLEM.space.genes]
    assert history["loss"].min() == result.best.loss  # type: ignore[union-attr]
    for index in (0, 17, 49):
        row, mapping = history.iloc[index], PROBLEM.space.decode(result.record.genes())[index]
        assert row["outer.tile.K"] == mapping.outer["K"]
        assert row["inner.tile.X"] == mapping.inner["X"]
        assert row["outer.parallel"] == mapping.outer.parallel
        assert row["inner.parallel"] == mapping.inner.parallel
        assert (*row["inner.order"], "R", "S") == mapping.inner.order
        assert row["cluster"] == mapping.cluster_size
    assert ((history["reason"] == "feasible") == np.isfinite(history["loss"])).all()


def test_one_mapping_is_priced_and_shown_as_a_table() -> None:
    mapping = PROBLEM.template("nvdla")
    frame = PROBLEM.evaluate(mapping).to_frame()
    assert frame["reason"].tolist() == ["feasible"]
    assert frame["loss"][0] == PROBLEM.evaluate(MappingBatch.of([mapping])).loss[0]


def test_a_notebook_shows_the_best_mapping_and_a_curve() -> None:
    result = dse.search(PROBLEM, "random", budget=200)
    shown = result._repr_html_()
    assert f"{result.best.cycles:,} cycles" in shown  # type: ignore[union-attr]
    assert "parallel" in shown
    (axes,) = result.plot().axes
    curve = axes.lines[0].get_ydata()
    assert curve[-1] == result.best.loss  # type: ignore[index, union-attr]
    assert (np.diff(curve) <= 0).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("searcher", ["walk", "genetic"])
def test_a_search_ends_where_the_user_has_seen_enough_and_can_go_on(searcher: str, tmp_path: Path) -> None:
    whole = dse.search(PROBLEM, searcher, budget=400)
    ended = dse.search(PROBLEM, searcher, budget=400, out=tmp_path, on_progress=lambda at: at.samples < 150)
    assert 150 <= len(ended.record) < 400
    assert ended.best is not None
    genes = whole.record.genes()
    assert (ended.record.genes() == genes[: len(ended.record)]).all()
    assert (dse.search(PROBLEM, searcher, budget=400, out=tmp_path).record.genes() == genes).all()


def test_plain_data_say_all_about_the_search_and_its_best_mapping() -> None:
    result = dse.search(PROBLEM, "walk", budget=BUDGET, seed=2)
    data = result.to_dict("alexnet:conv2", "eyeriss-small")
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert list(data) == [
        "searcher", "layer", "accelerator", "objective", "cost_model", "seed", "budget", "samples",
        "distinct", "infeasible", "best", "in_all", "record",
    ]  # fmt: skip
    evaluations, best = result.record.evaluations(), data["best"]
    assert (data["samples"], data["seed"], data["record"]) == (BUDGET, 2, None)
    assert data["infeasible"] == np.isinf(evaluations.loss).sum() == sum(result.refusals.values())
    mappings = PROBLEM.space.decode(result.record.genes())
    assert data["distinct"] == len({tuple(row) for row in mappings.rows.tolist()})
    assert list(best) == [
        "loss", "index", "genes", "cycles", "energy_nj", "macs", "l1_size", "l2_size", "mapping", "case",
    ]  # fmt: skip
    assert Mapping.from_dict(best["mapping"]) == result.best.mapping  # type: ignore[union-attr]
    case = best["case"]
    assert Layer.from_dict(case["layer"]) == PROBLEM.layer.lowered()
    costs = cost_model("maestro").evaluate(
        Layer.from_dict(case["layer"]),
        PROBLEM.accelerator,
        MappingBatch.of([Mapping.from_dict(case["mapping"])]),
    )
    assert (costs.cycles[0], costs.energy_nj[0]) == (best["cycles"], best["energy_nj"])


def test_a_landscape_without_a_feasible_point_has_no_best() -> None:
    result = dse.search(HOPELESS, "walk", budget=300)
    assert result.best is None
    assert len(result.record) == 300
    data = result.to_dict("alexnet:conv2", "tiny.toml")
    assert (data["best"], data["infeasible"]) == (None, 300)
    assert list(result.refusals) == sorted(result.refusals, key=result.refusals.__getitem__, reverse=True)
    assert set(result.refusals) <= {Reason.L1_TOO_SMALL, Reason.L2_TOO_SMALL}


def test_observers_see_how_far_the_search_is() -> None:
    seen: list[Progress] = []
    result = dse.search(PROBLEM, "random", budget=BUDGET, observers=[seen.append])
    assert [progress.samples for progress in seen] == sorted(progress.samples for progress in seen)
    assert seen[-1] == Progress(BUDGET, BUDGET, 0, result.best.loss)  # type: ignore[union-attr]


# The same cell, the same record


def test_another_seed_or_setting_draws_other_samples() -> None:
    first = dse.search(PROBLEM, "walk", budget=100)
    assert samples(first.record) == samples(dse.search(PROBLEM, "walk", budget=100).record)
    for other in ({"seed": 1}, {"settings": {"patience": 3}}):
        assert samples(first.record) != samples(dse.search(PROBLEM, "walk", budget=100, **other).record)  # type: ignore[arg-type]


def test_a_registered_searchers_object_draws_what_its_name_does() -> None:
    by_name = dse.search(PROBLEM, "random", budget=100)
    by_object = dse.search(PROBLEM, Random(), budget=100)
    assert by_object.cell.name == "random"
    assert samples(by_name.record) == samples(by_object.record)


def test_a_search_reproduces_a_campaigns_cell_bit_by_bit(tmp_path: Path) -> None:
    settings = {"patience": 7}
    variant = Variant("patient", "walk", make_searcher("walk", settings))
    problem = NamedProblem("alexnet:conv2", "eyeriss-small", PROBLEM)
    plan = Campaign("test", BUDGET, (0, 5), (problem,), (variant,))
    with Store(tmp_path / "campaign", plan) as store:
        run_campaign(store, LineDisplay(io.StringIO()), workers=1)
        (named,) = [named for named in store.cells.values() if named.cell.seed == 5]
        path = store.record_path(named.key)
    result = dse.search(PROBLEM, "walk", budget=BUDGET, seed=5, settings=settings, out=tmp_path / "search")
    (theirs, about), (ours, alone) = read_parquet(path), read_parquet(tmp_path / "search" / RECORD)
    assert samples(theirs) == samples(ours) == samples(result.record)
    assert about["identity"] == alone["identity"]


# A folder


def test_a_folder_holds_the_record_and_no_journal_in_the_end(tmp_path: Path) -> None:
    result = dse.search(PROBLEM, "random", budget=BUDGET, out=tmp_path / "new" / "folder")
    assert result.path == tmp_path / "new" / "folder" / RECORD
    assert files(result.path.parent) == [RECORD]
    assert samples(read_parquet(result.path)[0]) == samples(result.record)


@dataclass(frozen=True)
class WithTuple:
    """A searcher with a setting that JSON writes as a list."""

    sizes: tuple[int, ...] = (64, 64)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        evaluate(evaluate.space.sample(rng, evaluate.remaining))


@pytest.mark.parametrize("searcher", ["random", WithTuple()])
def test_a_finished_search_is_not_done_again(tmp_path: Path, searcher: Any) -> None:
    first = dse.search(PROBLEM, searcher, budget=50, out=tmp_path)
    written = first.path.stat().st_mtime_ns  # type: ignore[union-attr]
    calls: list[Progress] = []
    second = dse.search(PROBLEM, searcher, budget=50, out=tmp_path, observers=[calls.append])
    assert samples(first.record) == samples(second.record)
    assert not calls
    assert second.path.stat().st_mtime_ns == written  # type: ignore[union-attr]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_a_search_that_was_stopped_goes_on_to_the_same_record(
    tmp_path: Path, stop: type[BaseException]
) -> None:
    def stop_midway(progress: Progress) -> None:
        if progress.samples > BUDGET // 2:
            raise stop

    with pytest.raises(stop):
        dse.search(PROBLEM, "walk", budget=BUDGET, out=tmp_path, observers=[stop_midway])
    assert files(tmp_path) == [JOURNAL]
    replayed: list[int] = []
    result = dse.search(
        PROBLEM, "walk", budget=BUDGET, out=tmp_path, observers=[lambda seen: replayed.append(seen.replayed)]
    )
    assert replayed[-1] > BUDGET // 2
    assert samples(result.record) == samples(dse.search(PROBLEM, "walk", budget=BUDGET).record)


def test_the_folder_of_another_search_is_refused(tmp_path: Path) -> None:
    dse.search(PROBLEM, "random", budget=50, out=tmp_path)
    for other, change in (
        ({"budget": 60}, "budget is 50 there and 60 now"),
        ({"budget": 50, "seed": 1}, "seed is 0 there and 1 now"),
    ):
        with pytest.raises(StorageError, match=f"is of another search: {change}; choose another folder"):
            dse.search(PROBLEM, "random", out=tmp_path, **other)  # type: ignore[arg-type]


def test_results_are_written_for_programs(tmp_path: Path) -> None:
    result = dse.search(PROBLEM, "random", budget=50, out=tmp_path)
    write_result(result, tmp_path, "alexnet:conv2", "eyeriss-small")
    assert files(tmp_path) == sorted([MAPPING, RECORD, RESULT])
    data = json.loads((tmp_path / RESULT).read_text())
    assert data == result.to_dict("alexnet:conv2", "eyeriss-small")
    assert json.loads((tmp_path / MAPPING).read_text()) == data["best"]["mapping"]
    assert data["record"] == str(tmp_path / RECORD)


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StorageError, match=r"folder '.*' cannot be made: "):
            dse.search(PROBLEM, "random", budget=50, out=out)


# What is wrong


def test_what_a_searcher_raises_passes(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="trouble"):
        dse.search(PROBLEM, Raising(), budget=BUDGET, out=tmp_path)
    with pytest.raises(SearcherStopped, match="'Quitter' stopped with 590 of 600 samples left"):
        dse.search(PROBLEM, Quitter(), budget=BUDGET)


@dataclass
class Thawed:
    """A searcher that is not frozen."""

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None: ...


def wrong() -> Iterator[tuple[dict[str, Any], str]]:
    """Arguments that are wrong, and what is said of them."""
    yield {"problem": "alexnet:conv2"}, "problem must be a Problem, as Problem(layer, accelerator)"
    yield {"searcher": "rando"}, "did you mean 'random'?"
    yield {"searcher": Random}, "searcher must be the name of one or a frozen dataclass"
    yield {"searcher": Thawed()}, "searcher must be the name of one or a frozen dataclass"
    yield {"searcher": Random(), "settings": {"batch": 1}}, "settings are for a searcher given by name"
    yield {"searcher": "walk", "settings": {"pateince": 1}}, "did you mean 'patience'?"
    yield {"budget": 0}, "budget must be at least 1"
    yield {"budget": 1.5}, "budget must be a whole number"
    yield {"seed": -1}, "seed must be at least 0"


@pytest.mark.parametrize(("change", "complaint"), list(wrong()))
def test_wrong_arguments_are_refused(change: dict[str, Any], complaint: str) -> None:
    arguments: dict[str, Any] = {"problem": PROBLEM, "searcher": "random", "budget": 10} | change
    with pytest.raises(InputError) as error:
        dse.search(**arguments)
    assert complaint in str(error.value)
