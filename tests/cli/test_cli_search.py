"""`dse search`: a layer or a network from the shell, what it prints and writes, and how it fails."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import dse as package
from dse.cli import search_view
from dse.core.cost_models import cost_models
from dse.domains.clustered.accelerator import load_accelerator
from dse.domains.clustered.problem import Problem
from searchers.random import Random
from searchers.team import Team
from tests import ROOT
from tests.conftest import Dse, Outcome
from workloads import load_layer

EXAMPLES = ROOT / "examples"


LAYER = ("--layer", "alexnet:conv2", "--accelerator", "eyeriss-small", "--objective", "edp")


WALK = (*LAYER, "--searcher", "walk", "--budget", "400")


PROBLEM = Problem(load_layer("alexnet:conv2"), load_accelerator("eyeriss-small"), "edp")


TINY = ("--layer", str(EXAMPLES / "network.toml:classifier"), "--accelerator", "edge", "--objective", "edp")


def failed(outcome: Outcome) -> str:
    """The one line on stderr with which a search has failed."""
    assert outcome.code == 1, outcome
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    return outcome.err.removeprefix("dse: error: ").rstrip("\n")


# One layer


def test_it_prints_what_the_python_search_finds(dse: Dse) -> None:
    found = dse("search", *WALK, "--seed", "4", "--json").json
    result = package.search(PROBLEM, "walk", budget=400, seed=4)
    assert found == result.to_dict("alexnet:conv2", "eyeriss-small")
    assert found["cost_model"] == "loopnest"


def test_area_and_power_have_the_units_of_the_cost_model(dse: Dse) -> None:
    arguments = ("search", *LAYER[:4], "--searcher", "random", "--budget", "200", "--objective")
    for objective, *units in (("area", "mm2", "um2"), ("power", "mW", "model units")):
        for model, words in zip(("loopnest", "maestro"), units, strict=True):
            shown = dse(*arguments, objective, "--cost-model", model).out
            best = dse(*arguments, objective, "--cost-model", model, "--json").json["best"]
            assert (
                f"best {objective} {best['loss']:.6g} {words}, found by sample {best['index'] + 1:,}: "
                in shown
            )


def test_samples_count_from_one(dse: Dse) -> None:
    shown = dse("search", *TINY, "--searcher", "random", "--budget", "1").out
    assert ", found by sample 1: " in shown


def test_one_sample_is_one_sample(dse: Dse) -> None:
    one = dse("search", *LAYER[:4], "--searcher", "random", "--budget", "1")
    assert "\n1 sample, 1 distinct mapping, 0 infeasible\n" in one.out


def test_people_see_the_best_mapping_as_a_nest_of_loops(dse: Dse) -> None:
    outcome = dse("search", *WALK)
    data = dse("search", *WALK, "--json").json
    assert outcome.code == 0
    assert outcome.err == ""
    assert "cost model loopnest" in outcome.out
    assert (
        f"400 samples, {data['distinct']} distinct mappings, {data['infeasible']} infeasible" in outcome.out
    )
    assert f"{data['best']['cycles']:,} cycles" in outcome.out
    assert "L1 is too small: " in outcome.out
    assert "parallel " in outcome.out


def test_without_searcher_and_budget_it_takes_the_defaults_and_says_so(
    dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is taken is the question here, not what it finds.
    monkeypatch.setattr(Team, "search", lambda self, evaluate, rng: Random().search(evaluate, rng))
    outcome = dse("search", *TINY, "--json")
    assert outcome.code == 0
    assert (outcome.json["searcher"], outcome.json["budget"]) == ("team", 2000)
    # On a busy machine lines on the pace follow.
    first = outcome.err.splitlines()[0]
    assert first == "searching with team and 2,000 samples; --searcher and --budget take others"


def test_the_best_is_set_beside_the_proven_optimum_where_that_is_cheap(
    dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is cheap on a machine that does nothing else may take long on one that does.
    monkeypatch.setattr(search_view, "PROOF_SECONDS", 600.0)
    found = dse("search", *TINY, "--searcher", "random", "--budget", "2").out.splitlines()[-1]
    best = dse("search", *TINY, "--searcher", "local", "--budget", "600").out.splitlines()[-1]
    # By default `dse certify` proves tiles of any size.
    assert found.endswith("% above the proven optimum of perfect factors")
    assert "e+" not in found
    assert best == "the proven optimum of perfect factors"
    other = ("--tiles", "any", "--cost-model", "maestro", "--objective", "power")
    unproven = dse("search", *TINY, "--searcher", "random", "--budget", "20", *other).out
    assert (
        "how far it is from the optimum is not known: of tiles 'any' objective 'power' cannot be certified"
        in unproven
    )


@pytest.mark.parametrize("model", cost_models())
def test_the_winner_is_a_case_that_evaluate_prices_the_same(dse: Dse, tmp_path: Path, model: str) -> None:
    best = dse("search", *WALK, "--cost-model", model, "--json").json["best"]
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps(best["case"]) + "\n")
    (priced,) = dse("evaluate", "--cases", str(cases), "--cost-model", model, "--json").lines
    assert priced["status"] == "ok"
    for figure in ("cycles", "energy_nj", "macs", "l1_size", "l2_size"):
        assert priced[figure] == best[figure]


def test_the_mapping_that_it_writes_is_one_that_evaluate_reads(dse: Dse, tmp_path: Path) -> None:
    found = dse("search", *WALK, "--out", str(tmp_path), "--json").json
    priced = dse("evaluate", *LAYER[:4], "--mapping", str(tmp_path / "mapping.json"), "--json").json
    assert priced["loss"]["edp"] == found["best"]["loss"]
    assert priced["feasible"] is True
    assert found["record"] == str(tmp_path / "record.parquet")
    assert json.loads((tmp_path / "result.json").read_text()) == found


def test_settings_tiles_and_fixed_genes_shape_the_search(dse: Dse) -> None:
    fixed = ("--fix", "inner.parallel=K", "--fix", "cluster=12", "--tiles", "any", "--set", "n_walkers=4")
    found = dse("search", *LAYER, "--searcher", "walk", "--budget", "2000", *fixed, "--json").json
    space = {"tiles": "any", "fixed": {"inner.parallel": "K", "cluster": 12}}
    problem = Problem(PROBLEM.layer, PROBLEM.accelerator, "edp", **space)  # type: ignore[arg-type]
    result = package.search(problem, "walk", budget=2_000, settings={"n_walkers": 4})
    assert found == result.to_dict("alexnet:conv2", "eyeriss-small")
    mapping = found["best"]["mapping"]
    assert (mapping["inner"]["parallel"], mapping["cluster_size"]) == ("K", 12)


def test_layers_and_accelerators_of_ones_own_are_searched(dse: Dse) -> None:
    machine = str(EXAMPLES / "accelerator.toml")
    for layer in ("network.toml:classifier", "network.toml:0"):
        spec = str(EXAMPLES / layer)
        found = dse(
            "search", "--layer", spec, "--accelerator", machine, "--searcher", "random", "--budget", "200",
            "--json",
        ).json  # fmt: skip
        assert (found["layer"], found["accelerator"], found["samples"]) == (spec, machine, 200)
        assert found["best"]["loss"] == found["best"]["cycles"] / 0.7e9


def test_an_infeasible_landscape_has_no_best_and_exit_code_1(dse: Dse, tmp_path: Path) -> None:
    machine = tmp_path / "dwarf.toml"
    machine.write_text("num_pes = 4\nl1_size = 2\nl2_size = 4\nnoc_bandwidth = 1\noffchip_bandwidth = 1\n")
    arguments = ("search", "--layer", "alexnet:conv2", "--accelerator", str(machine))
    arguments += ("--searcher", "walk", "--budget", "100")
    outcome = dse(*arguments, "--json", "--out", str(tmp_path / "out"))
    assert outcome.code == 1
    assert outcome.json["best"] is None
    assert (outcome.json["samples"], outcome.json["infeasible"]) == (100, 100)
    assert not (tmp_path / "out" / "mapping.json").exists()
    shown = dse(*arguments)
    assert shown.code == 1
    assert "nothing feasible was found" in shown.out


def test_a_search_stopped_by_ctrl_c_says_how_to_go_on_and_does(
    dse: Dse, misbehaving: Path, tmp_path: Path
) -> None:
    arguments = ("search", *LAYER, "--searcher", "stopping", "--budget", "400", "--json")
    arguments += ("--set", f"once={tmp_path / 'once'}")
    out = tmp_path / "out"
    outcome = dse(*arguments, "--out", str(out))
    assert outcome.code == 130
    assert outcome.out == ""
    # A machine that had to compile first has a line on its pace before.
    assert outcome.err.endswith("stopped after 200 of 400 samples; run the same command again to go on\n")
    resumed = dse(*arguments, "--out", str(out)).json
    undisturbed = dse(*arguments).json
    assert {**resumed, "record": None} == undisturbed
    assert undisturbed["samples"] == 400


def test_ctrl_c_without_a_folder_says_that_the_samples_are_lost(
    dse: Dse, misbehaving: Path, tmp_path: Path
) -> None:
    once = f"once={tmp_path / 'once'}"
    outcome = dse("search", *LAYER, "--searcher", "stopping", "--budget", "400", "--set", once)
    assert outcome.code == 130
    assert outcome.err.endswith("stopped after 200 of 400 samples; without --out DIR its samples are lost\n")


def test_a_raising_searcher_fails_in_one_line(dse: Dse, misbehaving: Path) -> None:
    message = failed(dse("search", *LAYER, "--searcher", "raising", "--budget", "400", "--json"))
    assert message.startswith(
        "searcher 'raising' failed: RuntimeError: a plug-in's own trouble (campaign_searchers.py:"
    )
    message = failed(dse("search", *LAYER, "--searcher", "quitter", "--budget", "400"))
    assert message == "searcher 'quitter' stopped with 390 of 400 samples left"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "search needs --layer LAYER or --network NETWORK, one of them"),
        (("--layer", "alexnet:1", "--network", "alexnet"), "one of them"),
        (("--layer", "alexnet"), "names no single layer"),
        (("--layer", "alexnet:99"), "out of range"),
        (("--network", "alexnett"), "did you mean 'alexnet'?"),
        (("--network", "alexnet:1"), "unknown network 'alexnet:1'; did you mean 'alexnet'?"),
        (("--network", "absent.toml"), "cannot be read"),
        (("--layer", "alexnet:1", "--accelerator", "egde"), "did you mean 'edge'?"),
        (("--layer", "alexnet:1", "--searcher", "rando"), "did you mean 'random'?"),
        (("--layer", "alexnet:1", "--objective", "edpp"), "did you mean 'edp'?"),
        (("--layer", "alexnet:1", "--cost-model", "maestr"), "did you mean 'maestro'?"),
        (("--layer", "alexnet:1", "--tiles", "some"), "unknown tiles 'some'"),
        (("--layer", "alexnet:1", "--budget", "0"), "--budget must be at least 1, got 0"),
        (("--layer", "alexnet:1", "--budget", "many"), "--budget"),
        (("--layer", "alexnet:1", "--seed", "-1"), "--seed must be at least 0, got -1"),
        (("--layer", "alexnet:1", "--set", "batch"), "NAME=VALUE"),
        (("--layer", "alexnet:1", "--set", "bach=3"), "did you mean 'batch_size'?"),
        (("--layer", "alexnet:1", "--fix", "cluster=11"), "cluster"),
        (("--layer", "alexnet:1", "--workers", "2"), "--workers is for --network"),
        (("--network", "alexnet", "--workers", "0"), "--workers must be at least 1, got 0"),
        (("--network", "alexnet", "--fix", "outer.tile.K=64"), "alexnet:fc8: "),
    ],
)
def test_wrong_input_is_refused_in_one_line(
    dse: Dse, tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    defaults = {"--accelerator": "edge", "--searcher": "random", "--budget": "10"}
    given = [part for pair in defaults.items() if pair[0] not in arguments for part in pair]
    out = tmp_path / "out"
    assert complaint in dse("search", *arguments, *given, "--out", str(out)).refused()
    assert not out.exists()


def test_the_folder_of_another_search_is_refused_and_left_alone(dse: Dse, tmp_path: Path) -> None:
    dse("search", *WALK, "--out", str(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    message = dse("search", *WALK, "--seed", "1", "--out", str(tmp_path)).refused()
    assert message == (
        f"record '{tmp_path / 'record.parquet'}' is of another search: seed is 0 there and 1 now; "
        "choose another folder"
    )
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["record.parquet", "record.journal"])
def test_a_damaged_folder_is_refused(dse: Dse, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"not what it should be" * 10)
    refused = dse("search", *WALK, "--out", str(tmp_path)).refused()
    assert re.search(f"'{tmp_path / name}' (is not|cannot be read)", refused)


def test_a_folder_that_cannot_be_made_is_refused(dse: Dse, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    message = dse("search", *WALK, "--out", str(tmp_path / "file" / "out")).refused()
    assert message == f"folder '{tmp_path / 'file' / 'out'}' cannot be made: Not a directory"
