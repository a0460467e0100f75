"""Every installed searcher keeps the contract, and the suite that says so catches who does not."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from math import inf
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from dse.core.cost_models import cost_model, cost_models
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.models import maestro
from dse.domains.clustered.models.maestro import kernel, reference
from dse.domains.clustered.problem import Problem
from dse.search.abilities import abilities_of
from dse.search.run import Cell
from dse.search.searcher import Searcher, make_searcher, searcher_class, searchers
from dse.support.errors import InputError
from dse.support.numerics.cpu import numerical_cpu, other_cpu
from dse.testing import RULES, Verdict, broken, candidate, check_searcher, landscapes
from dse.testing.candidate import REFERENCE
from dse.testing.fresh import Surroundings
from dse.testing.pricing import rows_priced
from dse.testing.runs import WatchedRun, run
from searchers import SEARCHERS
from searchers.peers import PEERS
from searchers.random import Random
from tests import ROOT
from tests.conftest import Dse
from tests.testing.cheaters import budget, importing, records
from workloads import load_layer

IN_PROCESS = tuple(rule for rule in RULES if rule.name != "fresh-process")

CHEATERS: list[tuple[str, Searcher, str]] = [
    ("configuration", records.Thawed(), "expected @dataclass(frozen=True), Thawed is none"),
    ("configuration", records.Unnameable(), "rate is 1j"),
    ("configuration", records.Unpicklable(), "TypeError: this searcher stays here"),
    (
        "imports",
        importing.KnowsTheModel(),
        "tests.testing.cheaters.importing, line 7, imports dse.core.cost_models",
    ),
    ("inside", budget.Overstepping(), "after 0 samples: gene 'outer.order' of row 0 must be within 0 and 23"),
    ("inside", budget.Unaware(), "evaluate.space.sizes has the sizes"),
    ("budget", budget.WholeBatches(), "1 samples on a convolution; it ended, with 0 of 1 samples spent"),
    ("budget", budget.NeedsTwo(), "it raised ZeroDivisionError: half of the budget is nothing (budget.py:"),
    ("budget", budget.Insisting(), "it went on after BudgetExhausted, asking 100 times more, with 1,200"),
    ("one-choice", budget.NeedsAnotherValue(), "two genes have one choice; it raised ValueError"),
    ("small-space", budget.NeverTwice(), "in a space of 16: a point may be evaluated again"),
    ("any-space", budget.NeedsMappings(), "evaluate.space.structure is None; it raised AttributeError"),
    (
        "start",
        budget.ComesFirst(),
        "4 are known when the search begins (evaluate.known); it raised Runtime",
    ),
    ("infeasible", budget.Hopeful(), "no mapping fits the buffers, all losses inf; it raised Index"),
    ("same-seed", records.Entropic(), "sample 0 was ["),
    ("other-seed", records.Seedless(), "got the same 300 samples: use `rng`"),
    ("larger-budget", records.Planning(), "300 samples as the first of 1,200, or a declaration"),
    ("global-random-ignored", records.Eavesdropping(), "whatever the global random states; sample 0 was ["),
    ("reusable", records.Remembering(), "from the same object's next search; sample 0 was ["),
    ("fresh-process", records.Dispatching(), "OPENBLAS_CORETYPE=Nehalem"),
    ("fresh-process", records.Hashing(), "fresh process with PYTHONHASHSEED=1, OMP_NUM_THREADS=1; sample 0"),
    ("resume", records.KnowsItsRestart(), "after a restart at sample 1; it raised ReplayMismatch: "),
    ("easy-optimum", budget.Stuck(), "to be within 13.0 times the optimum, where 60 random ones get; it is"),
    ("easy-optimum", budget.Maximising(), "does it maximise?"),
    ("charged", budget.PricesBehindTheGate(), "1,200 rows to be priced for as many samples"),
    ("global-random-ignored", records.Borrowing(), "whatever the global random states; sample 0 was ["),
    ("global-random-kept", records.Reseeding(), "those of random were changed"),
    ("global-random-kept", records.Rewinding(), "those of random were changed, be it for a moment"),
    ("global-random-kept", records.ReseedingTorch(), "those of torch were changed"),
    ("settings-kept", records.Monopolising(), "torch threads is 1, was 3"),
    ("settings-kept", records.Silencing(), "numpy.geterr()['divide'] is raise, was warn"),
    ("quiet", records.Printing(), "in a search of 1,200 samples, got searching 1200"),
    ("quiet", records.PrintingFromC(), "got a library says hello"),
    ("quiet", records.Alarming(), "got RuntimeWarning: this does not converge (records.py:"),
]
CHEATER_NAMES = [type(cheater).__name__ for _, cheater, _ in CHEATERS]


SLOW = {
    "a2c": 100,
    "actorq": 100,
    "bayesian": 100,
    "d4pg": 100,
    "ddpg": 100,
    "dqn": 100,
    "generative": 100,
    "gradient": 100,
    "maddpg": 100,
    "masac": 100,
    "mast": 100,
    "policy": 300,
    "ppo": 300,
    "qmix": 100,
    "team": 100,
    "transfer": 100,
}
"""Samples of searchers that take minutes for the whole check, which is in `prove_contract.py`."""


FEW = {
    "a2c": 60,
    "actorq": 60,
    "bayesian": 60,
    "d4pg": 60,
    "ddpg": 60,
    "dqn": 60,
    "generative": 60,
    "gradient": 60,
    "maddpg": 60,
    "masac": 60,
    "mast": 60,
    "policy": 100,
    "qmix": 60,
    "team": 60,
    "transfer": 60,
}
"""Samples of slow searchers in `drawn`."""


_SELDOM = {
    "form": "one-step",
    "reward": "-log",
    "batch_size": 64,
    "learning_rate": 0.003,
    "tau": 0.01,
    "train_freq": 16,
}
_FEW_MOVES = {
    "n_teams": 1,
    "moves": 1,
    "early_moves": 2,
    "extra_teams": 1,
    "max_candidates": 8,
    "batch_fraction": 0.1,
}
_LATE = {"learning_starts": 32, "batch_size": 16, "train_freq": 16, "actors": 16}
QUICKER = {
    "actorq": _LATE,
    "bayesian": {"n_startup_trials": 30, "batch_fraction": 0.5},
    "d4pg": _LATE,
    "ddpg": {"gradient_steps": 1, "batch_size": 8, "learning_starts": 16, "n_envs": 16},
    "dqn": {"gradient_steps": 1, "batch_size": 8, "n_envs": 16},
    "gradient": {"gradient_steps": 1, "descent_steps": 3},
    "maddpg": _SELDOM,
    "masac": _SELDOM,
    "mast": {"train_freq": 16},
    "qmix": {"train_freq": 16},
    "team": _FEW_MOVES,
    "transfer": _FEW_MOVES,
}
"""Settings with which a slow searcher fits its models less often, or asks them less."""


OURS = [name for name in searchers() if name not in PEERS]
"""Peers bring libraries of their own: `prove_contract.py` has those that are there."""


@pytest.mark.parametrize("name", OURS)
def test_every_installed_searcher_keeps_the_contract(name: str) -> None:
    searcher = make_searcher(name, QUICKER.get(name))
    assert not broken(check_searcher(searcher, rules=IN_PROCESS, samples=SLOW.get(name, REFERENCE)))


def drawn() -> dict[str, list[list[int]]]:
    """What each installed searcher draws with few samples."""
    return {
        name: run(
            make_searcher(name, QUICKER.get(name)), landscapes.convolution, FEW.get(name, 300), time_limit=60
        ).genes.tolist()
        for name in OURS
    }


def test_portable_searchers_draw_the_same_in_a_fresh_process_on_another_cpu() -> None:
    """One process for them all, because it takes longer to start than to search."""
    code = "import json; from tests.testing.test_contract import drawn; print(json.dumps(drawn()))"
    environment = {**os.environ, "PYTHONHASHSEED": "2", "OMP_NUM_THREADS": "3", **other_cpu()}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as fresh:
        here = drawn()
        printed, _ = fresh.communicate(timeout=300)
    there = json.loads(printed)
    assert all(len(genes) >= FEW.get(name, 300) for name, genes in here.items())
    different = {name for name in OURS if there[name] != here[name]}
    assert different <= {name for name in searchers() if not abilities_of(searcher_class(name)).portable}
    apart = {"bayesian", "generative", "gradient", "maddpg", "masac", "mast", "policy", "ppo", "qmix"}
    apart |= {"a2c", "actorq", "d4pg", "ddpg", "dqn"}
    assert different <= apart | set(searchers()) - set(SEARCHERS)


def test_who_draws_by_the_cpu_has_to_say_so() -> None:
    problem = Problem(load_layer("alexnet:conv2"), PRESETS["edge"])
    said, other = (
        Cell(problem, "random", searcher, 0, 10).identity for searcher in (records.SaidToDispatch(), Random())
    )
    assert said["versions"]["cpu"] == numerical_cpu()
    assert "cpu" not in other["versions"]


def test_all_our_searchers_are_installed_and_so_are_checked() -> None:
    assert set(SEARCHERS) <= set(searchers())


@pytest.mark.parametrize(("rule", "cheater", "why"), CHEATERS, ids=CHEATER_NAMES)
def test_a_cheater_breaks_the_rule_that_it_was_written_against_and_no_other(
    rule: str, cheater: Searcher, why: str
) -> None:
    verdicts = check_searcher(cheater, rules=RULES if rule == "fresh-process" else IN_PROCESS)
    failed = {verdict.rule: verdict.why for verdict in verdicts if verdict.passed is False}
    assert list(failed) == [rule], broken(verdicts)
    assert why in failed[rule]


def test_there_is_a_cheater_for_every_rule() -> None:
    assert {rule for rule, _, _ in CHEATERS} == {rule.name for rule in RULES}


def test_who_has_found_the_optimum_may_explore() -> None:
    verdicts = named(check_searcher(budget.Exploring(), rules=IN_PROCESS))
    assert verdicts["easy-optimum"].passed, verdicts["easy-optimum"].why


@pytest.mark.parametrize("searcher", [budget.Idle(), budget.Asleep()], ids=["idle", "asleep"])
def test_a_search_that_never_ends_is_given_up(searcher: Searcher) -> None:
    verdicts = named(check_searcher(searcher, rules=IN_PROCESS, time_limit=0.2))
    assert "it had not ended after 0.2 s, with 0 of 1,200 samples spent" in verdicts["budget"].why
    assert verdicts["resume"].passed is None
    assert verdicts["resume"].why == "not judged: it builds on 'same-seed'"


def test_a_searcher_that_dies_in_another_process_is_told_with_its_last_words() -> None:
    stranger = records.Entropic()
    module, records.Entropic.__module__ = records.Entropic.__module__, "__main__"
    sys.modules["__main__"].Entropic = records.Entropic  # type: ignore[attr-defined]
    try:
        verdict = check_searcher(stranger, rules=[rule_without_needs("fresh-process")])[0]
    finally:
        records.Entropic.__module__ = module
    assert verdict.passed is False
    assert "exit code 1: AttributeError: Can't get attribute 'Entropic'" in verdict.why


def test_a_warning_is_heard_though_its_library_was_imported_before() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tests.testing.cheaters import library

    assert library.harmless(1) == 1
    failed = [verdict for verdict in check_searcher(records.ImportingAloud()) if not verdict.passed]
    # What libraries draw while they are imported is not held against a searcher: it happens once a process.
    assert [verdict.rule for verdict in failed] == ["quiet"]
    assert "got FutureWarning: this library is old (records.py:" in failed[0].why


def test_a_class_is_no_searcher_until_it_is_called() -> None:
    with pytest.raises(InputError, match=r"^expected an object like Random\(\)"):
        check_searcher(Random)  # type: ignore[arg-type]


def test_the_suite_leaves_the_process_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002 - the legacy state is what has to be kept
    check_searcher(Random(), rules=IN_PROCESS[:3])
    before = surroundings()
    for searcher in (records.Reseeding(), records.Monopolising(), records.Silencing(), records.Printing()):
        assert broken(check_searcher(searcher, rules=IN_PROCESS))
    assert surroundings() == before
    print("still heard")
    assert capfd.readouterr() == ("still heard\n", "")


def surroundings() -> list[object]:
    threads = sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info())
    legacy = np.random.get_state()[1].tolist()  # noqa: NPY002
    pricing = maestro.Maestro.prepared, maestro.Maestro.evaluate, kernel.price_rows, reference.price
    alarm = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    return [random.getstate(), legacy, threads, np.geterr(), pricing, alarm, sys.stdout]


def problem() -> Problem:
    return Problem(landscapes.RESNET, PRESETS["edge"], cost_model="maestro")


def through_the_kernel(rows: np.ndarray) -> None:
    made = problem()
    layers, hardware = maestro.layer_row(made.space.layer), maestro.hardware_row(made.accelerator)
    counts, figures = np.empty((4, len(rows)), np.int64), np.empty((3, len(rows)))
    reasons = np.empty(len(rows), np.uint8)
    kernel.price_rows(layers, hardware, rows, False, 0, len(rows), counts, figures, reasons)


def through_the_reference(rows: np.ndarray) -> None:
    made = problem()
    layer, hardware = maestro.layer_row(made.space.layer)[0], maestro.hardware_row(made.accelerator)[0]
    for row in rows:
        reference.price(layer.tolist(), hardware.tolist(), row.tolist())


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
    from dse.testing.imports import forbidden_imports

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


def test_check_prints_a_sentence_a_rule(dse: Dse) -> None:
    outcome = dse("check", "random")
    assert outcome.code == 0, outcome
    lines = outcome.out.splitlines()
    assert lines[0] == "random:"
    assert lines[1] == "      declares random_start = {}, aliases = {'batch': 'batch_size'}"
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
    outcome = dse("check", "walk", "--set", "n_walkers=3", "--json")
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
    outcome = dse("check", "seedless")
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


def named(verdicts: list[Verdict]) -> dict[str, Verdict]:
    return {verdict.rule: verdict for verdict in verdicts}


def rule_without_needs(name: str):
    from dataclasses import replace

    return replace(next(rule for rule in RULES if rule.name == name), needs=())
