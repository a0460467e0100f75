"""The contract suite leaves the process as it was; `dse check` from the shell."""

from __future__ import annotations

import pickle
import random
import signal
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from dse.core.cost_models import cost_model, cost_models
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.cost_model import cost_columns
from dse.models import maestro
from dse.models.maestro import kernel, reference
from dse.testing import RULES, broken, candidate, check_searcher, landscapes
from dse.testing.candidate import Surroundings
from dse.testing.pricing import rows_priced
from dse.testing.runs import WatchedRun, run
from searchers.random import Random
from tests.conftest import Dse
from tests.testing.cheaters import records
from tests.testing.contract_cases import IN_PROCESS, problem


def test_the_suite_leaves_the_process_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002 - the legacy state is what has to be kept
    check_searcher(Random(), rules=IN_PROCESS[:3])
    before = surroundings()
    for searcher in (records.Reseeding(), records.Monopolising(), records.Silencing(), records.Printing()):
        assert broken(check_searcher(searcher, rules=IN_PROCESS, samples=100))
    assert surroundings() == before
    print("still heard")
    assert capfd.readouterr() == ("still heard\n", "")


def surroundings() -> list[object]:
    threads = sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info())
    legacy = np.random.get_state()[1].tolist()  # noqa: NPY002
    pricing = maestro.Maestro.prepared, maestro.Maestro.evaluate, kernel.price_rows, reference.price_by_walk
    alarm = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    return [random.getstate(), legacy, threads, np.geterr(), pricing, alarm, sys.stdout]


def through_the_kernel(rows: np.ndarray) -> None:
    made = problem()
    layers, hardware = maestro.layer_row(made.space.layer), maestro.hardware_row(made.accelerator)
    kernel.price_rows(layers, hardware, rows, False, (0, len(rows)), cost_columns(len(rows)))


def through_the_reference(rows: np.ndarray) -> None:
    made = problem()
    layer, hardware = maestro.layer_row(made.space.layer)[0], maestro.hardware_row(made.accelerator)[0]
    for row in rows:
        reference.price_by_walk(layer.tolist(), hardware.tolist(), row.tolist())


def through_the_cases(rows: np.ndarray, model: str) -> None:
    made = problem()
    layers, hardware = maestro.layer_row(made.space.layer), maestro.hardware_row(made.accelerator)
    cost_model(model).price_cases(layers, hardware, rows=rows)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "way",
    [
        lambda rows: problem()._priced(landscapes.MappingBatch(rows)),
        lambda rows: maestro.Maestro().prepared(landscapes.RESNET, PRESETS["edge"])(rows),
        *(
            lambda rows, name=name: cost_model(name).evaluate(
                landscapes.RESNET, PRESETS["edge"], landscapes.MappingBatch(rows)
            )
            for name in cost_models()
        ),
        *(lambda rows, name=name: through_the_cases(rows, name) for name in cost_models()),
        through_the_kernel,
        through_the_reference,
    ],
    ids=[
        "problem",
        "prepared",
        *cost_models(),
        *(f"{name} cases" for name in cost_models()),
        "kernel",
        "reference",
    ],
)
def test_rows_are_counted_once_by_whatever_way_they_reach_a_model(way: Callable[[np.ndarray], None]) -> None:
    space = problem().space
    rows = space.decode(space.sample(np.random.default_rng(1), 9)).rows
    with rows_priced() as priced:
        way(rows)
    assert priced.rows == 9
    with rows_priced() as priced:
        pass
    way(rows)
    assert priced.rows == 0


def test_an_import_is_found_wherever_it_runs_and_not_where_it_is_for_types_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dse.testing.conduct import forbidden_imports

    package = tmp_path / "plugin"
    package.mkdir()
    (package / "__init__.py").write_text("from typing import TYPE_CHECKING\nfrom .inner import fast\n")
    (package / "inner.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from dse.core.cost_models import cost_model\n"
        "def fast():\n    from dse.core import cost_models, layer\n"
        "    import dse.optimum.cache as cache\n"
    )
    (package / "unused.py").write_text("import dse.core.cost_models\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert forbidden_imports("plugin") == [
        "plugin.inner, line 5, imports dse.core.cost_models",
        "plugin.inner, line 6, imports dse.optimum.cache",
    ]


def test_the_landscapes_are_what_they_are_said_to_be() -> None:
    rng = np.random.default_rng(1)
    assert (landscapes.small().space.vectors, landscapes.single().space.vectors) == (16, 1)
    assert (landscapes.one_choice().space.sizes == 1).sum() == 8
    assert (landscapes.depthwise().space.sizes == 1).sum() == 2
    assert landscapes.one_choice().space.vectors > 10**4
    for hopeless in (landscapes.infeasible(), landscapes.refused()):
        assert (hopeless.price(hopeless.space.sample(rng, 2000)).loss == inf).all()
    made = landscapes.planted()
    losses = made.price(made.space.sample(rng, 2000)).loss
    best = made.price(made.space.sizes[np.newaxis] // 2).loss[0]
    assert best == made.layer.macs / 1e9
    assert (losses >= best).all()
    assert (losses < inf).all()


def test_every_step_to_the_planted_optimum_goes_down() -> None:
    made = landscapes.planted()
    best = made.space.sizes // 2
    for start in made.space.sample(np.random.default_rng(2), 50):
        for gene in np.flatnonzero(start != best):
            nearer = np.vstack([start, start])
            nearer[1, gene] = best[gene]
            far, near = made.price(nearer).loss
            assert near <= far or "tile" in made.space.genes[gene].name


@pytest.mark.usefixtures("no_fresh_process")
def test_check_prints_a_sentence_a_rule(dse: Dse) -> None:
    outcome = dse("check", "random")
    assert outcome.code == 0, outcome
    lines = outcome.out.splitlines()
    assert lines[0] == "random:"
    declared = "random_start = {}, takes_several = True, aliases = {'batch': 'batch_size'}"
    assert lines[1] == f"      declares {declared}"
    assert lines[2:-1:2] == [f"pass  {rule.sentence}" for rule in RULES]
    assert lines[-1] == f"random keeps all {len(RULES)} rules"
    assert outcome.err == ""


class SameProcess:
    """Stands in for a FreshRun where another process is not what is looked at: it takes a second to start."""

    def __init__(self, pickled: bytes, budget: int, seed: int, where: Surroundings, limit: float) -> None:
        self.surroundings = where
        self._ended = run(pickle.loads(pickled), landscapes.convolution, budget, seed=seed, time_limit=limit)

    def __enter__(self) -> SameProcess:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def result(self) -> WatchedRun:
        return self._ended


@pytest.fixture
def no_fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate, "FreshRun", SameProcess)


@pytest.mark.usefixtures("no_fresh_process")
def test_check_takes_settings_and_gives_json(dse: Dse) -> None:
    outcome = dse("check", "walk", "--set", "n_walkers=3", "--samples", "200", "--json")
    assert outcome.code == 0, outcome
    assert outcome.json["searcher"] == "walk"
    assert outcome.json["passed"] is True
    assert [rule["rule"] for rule in outcome.json["rules"]] == [rule.name for rule in RULES]
    assert all(rule["passed"] is True and rule["why"] for rule in outcome.json["rules"])


@pytest.mark.usefixtures("no_fresh_process")
def test_check_takes_fewer_samples_and_another_time_for_slow_searchers(dse: Dse) -> None:
    outcome = dse("check", "walk", "--samples", "100", "--time-limit", "100")
    assert outcome.code == 0, outcome
    assert "1,200" not in outcome.out
    assert "100 samples" in outcome.out
    slow = dse("check", "walk", "--samples", "99")
    assert slow.code == 2
    assert slow.err == "dse: error: samples must be at least 100, got 99\n"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """`install(name, value)` registers a searcher as an installed package would."""

    def register(name: str, value: str) -> None:
        info = tmp_path / f"{name}-0.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
        (info / "entry_points.txt").write_text(f"[dse.searchers]\n{name} = {value}\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return register


@pytest.mark.usefixtures("no_fresh_process")
def test_check_exits_with_1_and_says_what_is_broken(dse: Dse, install: Callable[[str, str], None]) -> None:
    install("seedless", "tests.testing.cheaters.records:Seedless")
    outcome = dse("check", "seedless", "--samples", "200")
    assert outcome.code == 1
    assert "FAIL  draws another record from another seed\n      expected another record" in outcome.out
    assert outcome.out.splitlines()[-1] == f"seedless breaks 1 of {len(RULES)} rules"


def test_check_refuses_what_it_does_not_know(dse: Dse) -> None:
    assert dse("check", "randm").refused().endswith("did you mean 'random'?")
    assert "unknown key 'walker'" in dse("check", "walk", "--set", "walker=3").refused()


def test_check_refuses_a_broken_plug_in_in_one_line(dse: Dse, install: Callable[[str, str], None]) -> None:
    install("lost", "no.such.module:Searcher")
    install("thawed", "tests.testing.cheaters.records:Thawed")
    assert "of lost 0.1) cannot be loaded: ModuleNotFoundError" in dse("check", "lost").refused()
    assert "must be a frozen dataclass with a method search" in dse("check", "thawed", "--json").refused()
