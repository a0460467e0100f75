"""Every installed searcher keeps the contract, and the suite that says so catches who does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.abilities import abilities_of
from dse.search.run import Cell
from dse.search.searcher import Searcher, make_searcher, searcher_class, searchers
from dse.support.errors import InputError
from dse.support.numerics.cpu import numerical_cpu, other_cpu
from dse.testing import RULES, Verdict, broken, candidate, check_searcher, landscapes
from dse.testing.conduct import EASY
from dse.testing.runs import run
from searchers import SEARCHERS
from searchers.peers import PEERS
from searchers.random import Random
from tests import ROOT
from tests.testing.cheaters import budget, importing, records
from tests.testing.contract_cases import FEW_MOVES, IN_PROCESS, shorten
from workloads import load_layer

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
    ("budget", budget.Insisting(), "it went on after BudgetExhausted, asking 100 times more, with 320"),
    ("one-choice", budget.NeedsAnotherValue(), "two genes have one choice; it raised ValueError"),
    ("small-space", budget.NeverTwice(), "in a space of 16: a point may be evaluated again"),
    ("any-space", budget.NeedsMappings(), "evaluate.space.structure is None; it raised AttributeError"),
    (
        "start",
        budget.ComesFirst(),
        "2 are known when the search begins (evaluate.known); it raised Runtime",
    ),
    ("infeasible", budget.Hopeful(), "no mapping fits the buffers, all losses inf; it raised Index"),
    ("same-seed", records.Entropic(), "sample 0 was ["),
    ("other-seed", records.Seedless(), "got the same 160 samples: use `rng`"),
    ("larger-budget", records.Planning(), "160 samples as the first of 320, or a declaration"),
    ("global-random-ignored", records.Eavesdropping(), "whatever the global random states; sample 0 was ["),
    ("reusable", records.Remembering(), "from the same object's next search; sample 0 was ["),
    ("fresh-process", records.Dispatching(), "OPENBLAS_CORETYPE=Nehalem"),
    ("fresh-process", records.Hashing(), "fresh process with PYTHONHASHSEED=1, OMP_NUM_THREADS=1; sample 0"),
    ("resume", records.KnowsItsRestart(), "after a restart at sample 1; it raised ReplayMismatch: "),
    ("easy-optimum", budget.Stuck(), "to be within 13.8 times the optimum, where 32 random ones get; it is"),
    ("easy-optimum", budget.Maximising(), "does it maximise?"),
    ("charged", budget.PricesBehindTheGate(), "320 rows to be priced for as many samples"),
    ("global-random-ignored", records.Borrowing(), "whatever the global random states; sample 0 was ["),
    ("global-random-kept", records.Reseeding(), "those of random were changed"),
    ("global-random-kept", records.Rewinding(), "those of random were changed, be it for a moment"),
    ("global-random-kept", records.ReseedingTorch(), "those of torch were changed"),
    ("settings-kept", records.Monopolising(), "torch threads is 1, was 3"),
    ("settings-kept", records.Silencing(), "numpy.geterr()['divide'] is raise, was warn"),
    ("quiet", records.Printing(), "in a search of 320 samples, got searching 320"),
    ("quiet", records.PrintingFromC(), "got a library says hello"),
    ("quiet", records.Alarming(), "got RuntimeWarning: this does not converge (records.py:"),
]


CHEATER_NAMES = [type(cheater).__name__ for _, cheater, _ in CHEATERS]


SAMPLES = dict.fromkeys(
    (
        *("a2c", "actorq", "bayesian", "calibrated", "d4pg", "ddpg", "dqn", "generative", "gradient"),
        *("maddpg", "mast", "qmix", "team", "transfer"),
    ),
    32,
) | {"masac": 64, "ppo": 96, "factored-ppo": 96, "marl": 96, "local": 200, "policy": 200}
"""Samples of slow searchers; `prove_contract.py` has the whole check, which takes minutes."""


USUAL = 320
"""Samples of the others, and of cheaters."""


FEW = {"team": 24, "transfer": 24}
"""Samples of slow searchers in `drawn`."""


_OFF_POLICY = {
    "learning_starts": 10,
    "batch_size": 8,
    "train_freq": 10,
    "actors": 10,
    "gradient_steps": 1,
    "net_arch": [16],
}


_SELDOM = {"batch_size": 8, "train_freq": 8, "net_arch": [16], "reward": "-log", "learning_rate": 0.003}


_MIXED = {"form": "one-step", "batch_size": 8, "train_freq": 8, "hidden": 16}


QUICKER = {
    "a2c": {"n_envs": 4, "net_arch": [16]},
    "actorq": _OFF_POLICY | {"pull_every": 1},
    "bayesian": {"n_startup_trials": 10, "batch_fraction": 1.0, "refit_growth": 4.0},
    "calibrated": {"n_alone": 16},
    "d4pg": _OFF_POLICY,
    "ddpg": {"gradient_steps": 1, "batch_size": 8, "learning_starts": 8, "n_envs": 8, "net_arch": [16]},
    "dqn": {"gradient_steps": 1, "batch_size": 8, "n_envs": 8, "net_arch": [16]},
    "factored-ppo": {"batch_size": 16},
    "generative": {"n_generated": 16},
    "gradient": {"n_startup_trials": 8, "gradient_steps": 1, "descent_steps": 3, "hidden": 16},
    "maddpg": _SELDOM | {"form": "refine"},
    "marl": {"batch_size": 16},
    "masac": _SELDOM | {"form": "one-step"},
    "mast": _MIXED,
    "ppo": {"n_envs": 16, "n_epochs": 3},
    "qmix": _MIXED,
    "team": FEW_MOVES,
    "transfer": FEW_MOVES,
}
"""Settings with which a slow searcher learns within its few samples, by few updates of small models."""


OURS = [name for name in searchers() if name not in PEERS]
"""Peers bring libraries of their own: `prove_contract.py` has those that are there."""


@pytest.mark.parametrize("name", OURS)
def test_every_installed_searcher_keeps_the_contract(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch)
    searcher = make_searcher(name, QUICKER.get(name))
    assert not broken(check_searcher(searcher, rules=IN_PROCESS, samples=SAMPLES.get(name, USUAL)))


APART = {"bayesian", "generative", "gradient", "maddpg", "masac", "mast", "policy", "ppo", "qmix"}
APART |= {"a2c", "actorq", "calibrated", "d4pg", "ddpg", "dqn"}
"""Ours that need not draw the same on another CPU."""


def drawn() -> dict[str, list[list[int]]]:
    """What each installed searcher that says it is portable draws with few samples."""
    return {
        name: run(
            make_searcher(name, QUICKER.get(name)), landscapes.convolution, FEW.get(name, 100), time_limit=60
        ).genes.tolist()
        for name in OURS
        if abilities_of(searcher_class(name)).portable
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
    assert json.loads(printed) == here
    assert all(len(genes) >= FEW.get(name, 100) for name, genes in here.items())
    assert set(SEARCHERS) - set(PEERS) - set(here) <= APART


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
    rule: str, cheater: Searcher, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another hash seed shows the one, another CPU the other; each process takes a second to start.
    first = isinstance(cheater, records.Hashing)
    monkeypatch.setattr(candidate, "FRESH", candidate.FRESH[:1] if first else candidate.FRESH[1:])
    shorten(monkeypatch)
    verdicts = check_searcher(
        cheater,
        rules=RULES if rule == "fresh-process" else IN_PROCESS,
        # It begins to walk uphill after 400 samples.
        samples=600 if isinstance(cheater, budget.Maximising) else USUAL,
    )
    failed = {verdict.rule: verdict.why for verdict in verdicts if verdict.passed is False}
    assert list(failed) == [rule], broken(verdicts)
    assert why in failed[rule]


def test_there_is_a_cheater_for_every_rule() -> None:
    assert {rule for rule, _, _ in CHEATERS} == {rule.name for rule in RULES}


def test_who_has_found_the_optimum_may_explore() -> None:
    rules = [rule for rule in RULES if rule.name in ("inside", "budget", "easy-optimum")]
    verdicts = named(check_searcher(budget.Exploring(), rules=rules, samples=EASY))
    assert verdicts["easy-optimum"].passed, verdicts["easy-optimum"].why


@pytest.mark.parametrize("searcher", [budget.Idle(), budget.Asleep()], ids=["idle", "asleep"])
def test_a_search_that_never_ends_is_given_up(searcher: Searcher) -> None:
    verdicts = named(check_searcher(searcher, rules=IN_PROCESS, time_limit=0.2))
    assert "it had not ended after 0.2 s, with 0 of 1,200 samples spent" in verdicts["budget"].why
    assert verdicts["resume"].passed is None
    assert verdicts["resume"].why == "not judged: it builds on 'same-seed'"


def test_a_searcher_that_dies_in_another_process_is_told_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(candidate, "FRESH", candidate.FRESH[:1])
    stranger = records.Entropic()
    module, records.Entropic.__module__ = records.Entropic.__module__, "__main__"
    sys.modules["__main__"].Entropic = records.Entropic  # type: ignore[attr-defined]
    try:
        verdict = check_searcher(stranger, rules=[rule_without_needs("fresh-process")], samples=USUAL)[0]
    finally:
        records.Entropic.__module__ = module
    assert verdict.passed is False
    assert "exit code 1: AttributeError: Can't get attribute 'Entropic'" in verdict.why


def test_a_warning_is_heard_though_its_library_was_imported_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate, "FRESH", candidate.FRESH[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tests.testing.cheaters import library

    assert library.harmless(1) == 1
    verdicts = check_searcher(records.ImportingAloud(), samples=USUAL)
    failed = [verdict for verdict in verdicts if not verdict.passed]
    # What libraries draw while they are imported is not held against a searcher: it happens once a process.
    assert [verdict.rule for verdict in failed] == ["quiet"]
    assert "got FutureWarning: this library is old (records.py:" in failed[0].why


def test_a_class_is_no_searcher_until_it_is_called() -> None:
    with pytest.raises(InputError, match=r"^expected an object like Random\(\)"):
        check_searcher(Random)  # type: ignore[arg-type]


def named(verdicts: list[Verdict]) -> dict[str, Verdict]:
    return {verdict.rule: verdict for verdict in verdicts}


def rule_without_needs(name: str):
    from dataclasses import replace

    return replace(next(rule for rule in RULES if rule.name == name), needs=())
