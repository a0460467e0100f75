"""`dse search`: a layer or a network from the shell, what it prints and writes, and how it fails."""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse as package
from dse.core.cost_models import cost_models
from dse.domains.clustered.accelerator import Accelerator, load_accelerator
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import Evaluator
from dse.search.record import Record, read_parquet
from dse.search.searcher import GROUP
from searchers.random import Random
from searchers.team import Team
from tests import ROOT
from tests.conftest import Dse, Outcome
from workloads import load_layer

EXAMPLES = ROOT / "examples"
LAYER = ("--layer", "alexnet:conv2", "--accelerator", "eyeriss-small", "--objective", "edp")
WALK = (*LAYER, "--searcher", "walk", "--budget", "400")
PROBLEM = Problem(load_layer("alexnet:conv2"), load_accelerator("eyeriss-small"), "edp")

NETWORK = """
name = "tiny"
[[layers]]
name = "first"
type = "CONV"
K = 16
C = 8
Y = 14
X = 14
R = 3
S = 3
padding = 1
[[layers]]
name = "a/b c"
type = "DSCONV"
C = 16
Y = 14
X = 14
R = 3
S = 3
repeats = 3
"""
REPEATS = [1, 3]

TINY = ("--layer", str(EXAMPLES / "network.toml:classifier"), "--accelerator", "edge", "--objective", "edp")


@dataclass(frozen=True)
class Stopping:
    """Presses Ctrl-C halfway, the first time: afterwards the file `once` is there."""

    once: str

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        while evaluate.remaining:
            evaluate(evaluate.space.sample(rng, 10))
            if evaluate.remaining <= evaluate.budget // 2 and not Path(self.once).exists():
                Path(self.once).touch()
                os.kill(os.getpid(), signal.SIGINT)


@dataclass(frozen=True)
class Partial:
    """Raises where the layer has few channels."""

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        if evaluate.space.layer.C < 16:
            raise RuntimeError("too few\nchannels")
        evaluate(evaluate.space.sample(rng, evaluate.remaining))


@pytest.fixture
def misbehaving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Searchers of these tests, as a distribution offers them that is installed in this folder."""
    info = tmp_path / "site" / "misbehaving-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.0\n")
    entries = {
        "stopping": f"{__name__}:Stopping",
        "partial": f"{__name__}:Partial",
        "raising": "tests.campaign.campaign_searchers:Raising",
        "quitter": "tests.campaign.campaign_searchers:Quitter",
    }
    lines = [f"{name} = {value}" for name, value in entries.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]))
    monkeypatch.syspath_prepend(info.parent)
    return info.parent


@pytest.fixture
def network(tmp_path: Path) -> str:
    """A network file of two layers."""
    path = tmp_path / "tiny.toml"
    path.write_text(NETWORK)
    return str(path)


def samples(record: Record) -> list[Any]:
    """A record's columns, to be compared bit by bit."""
    columns = record.evaluations().columns().values()
    return [record.genes().tobytes(), *(column.tobytes() for column in columns)]


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
            assert f"best {objective} {best['loss']:.6g} {words}, found by sample" in shown


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


def test_the_best_is_set_beside_the_proven_optimum_where_that_is_cheap(dse: Dse) -> None:
    found = dse("search", *TINY, "--searcher", "random", "--budget", "2").out.splitlines()[-1]
    best = dse("search", *TINY, "--searcher", "team", "--budget", "300").out.splitlines()[-1]
    assert found.endswith("% above the proven optimum")
    assert "e+" not in found
    assert best == "the proven optimum"
    unproven = dse("search", *TINY, "--searcher", "random", "--budget", "20", "--tiles", "any").out
    assert "no proof to set it beside: only tiles 'factors' can be certified" in unproven


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


# A network


def search_network(dse: Dse, network: str, *arguments: str) -> Outcome:
    options = ("--accelerator", "edge-small", "--objective", "edp", "--budget", "300")
    return dse("search", "--network", network, *options, *arguments)


def test_a_networks_layers_are_those_of_searches_of_their_own_and_add_up(
    dse: Dse, network: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    found = search_network(
        dse, network, "--searcher", "walk", "--workers", "2", "--out", str(out), "--json"
    ).json
    assert json.loads((out / "network.json").read_text()) == found
    specs = [f"{network}:first", f"{network}:a/b c"]
    assert [entry["layer"] for entry in found["layers"]] == specs
    assert [entry["repeats"] for entry in found["layers"]] == REPEATS
    machine = load_accelerator("edge-small")
    for spec, entry in zip(specs, found["layers"], strict=True):
        alone = package.search(Problem(load_layer(spec), machine, "edp"), "walk", budget=300)
        assert samples(read_parquet(Path(entry["record"]))[0]) == samples(alone.record)
        assert entry["best"] == alone.to_dict(spec, "edge-small")["best"]
        assert entry["samples"] == 300
    bests = [entry["best"] for entry in found["layers"]]
    latency = sum(best["cycles"] * n for best, n in zip(bests, REPEATS, strict=True)) * 1e-9
    energy = sum(best["energy_nj"] * n for best, n in zip(bests, REPEATS, strict=True)) * 1e-9
    assert found["totals"] == pytest.approx({"latency": latency, "energy": energy, "edp": latency * energy})
    mappings = sorted(path.name for path in (out / "mappings").iterdir())
    assert mappings == ["00-first.json", "01-a_b_c.json"]
    assert json.loads((out / "mappings" / mappings[1]).read_text()) == bests[1]["mapping"]


def test_the_number_of_workers_changes_nothing_and_a_finished_network_is_not_searched_again(
    dse: Dse, network: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    one = search_network(dse, network, "--searcher", "random", "--workers", "1", "--out", out, "--json").json
    records = [Path(entry["record"]) for entry in one["layers"]]
    written = [path.stat().st_mtime_ns for path in records]
    again = search_network(dse, network, "--searcher", "random", "--workers", "2", "--out", out, "--json")
    assert again.json == one
    assert [path.stat().st_mtime_ns for path in records] == written
    two = search_network(dse, network, "--searcher", "random", "--workers", "2", "--json").json
    for entry in [*one["layers"], *two["layers"]]:
        entry["record"] = None
    assert two == one
    shown = search_network(dse, network, "--searcher", "random", "--out", out)
    assert "whole network: " in shown.out
    assert "distinct layers, each times its repeats; EDP is total energy times total latency." in shown.out
    assert "was minimised by itself" in shown.out
    assert " a/b c " in shown.out


def test_a_layer_whose_search_fails_does_not_stop_the_others(
    dse: Dse, misbehaving: Path, network: str
) -> None:
    outcome = search_network(dse, network, "--searcher", "partial", "--workers", "1", "--json")
    assert outcome.code == 1
    first, second = outcome.json["layers"]
    assert first["failure"].startswith("RuntimeError: too few channels (test_cli_search.py:")
    assert first["best"] is None
    assert second["best"]["loss"] > 0
    assert "failure" not in second
    assert outcome.json["totals"] is None
    assert "Traceback" not in outcome.err


def test_a_network_stopped_by_ctrl_c_goes_on_to_the_same_result(
    dse: Dse, misbehaving: Path, network: str, tmp_path: Path
) -> None:
    out, once = tmp_path / "out", tmp_path / "once"
    arguments = (
        "--searcher", "stopping", "--set", f"once={once}", "--budget", "400", "--workers", "1",
        "--out", str(out), "--json",
    )  # fmt: skip
    outcome = search_network(dse, network, *arguments)
    assert outcome.code == 130
    assert outcome.out == ""
    last = outcome.err.splitlines()[-1]
    assert last == "stopped: 0 of 2 layers are done; run the same command again to go on"
    assert not (out / "network.json").exists()
    (journal,) = (out / "samples" / "journals").iterdir()
    assert journal.stat().st_size > 1000
    resumed = search_network(dse, network, *arguments).json
    for entry in resumed["layers"]:
        problem = Problem(load_layer(entry["layer"]), load_accelerator("edge-small"), "edp")
        alone = package.search(problem, Stopping(str(once)), budget=400)
        assert samples(read_parquet(Path(entry["record"]))[0]) == samples(alone.record)


def test_layers_whose_names_differ_in_punctuation_only_are_kept_apart(dse: Dse, tmp_path: Path) -> None:
    path = tmp_path / "alike.toml"
    path.write_text(NETWORK.replace("first", "a/b_c"))
    out = tmp_path / "out"
    outcome = search_network(dse, str(path), "--searcher", "random", "--workers", "1", "--out", str(out))
    assert outcome.code == 0
    assert len(list((out / "mappings").iterdir())) == 2


def test_a_networks_folder_of_another_search_is_refused(dse: Dse, network: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    search_network(dse, network, "--searcher", "random", "--workers", "1", "--out", out)
    message = search_network(dse, network, "--searcher", "random", "--seed", "1", "--out", out)
    assert message.code == 2
    assert "choose another folder with --out" in message.err


@pytest.mark.parametrize(
    ("command", "link"),
    [
        ("search --network {network} --searcher random --budget 10 --workers 1", "mappings"),
        ("search --network {network} --searcher random --budget 10 --workers 1", "samples"),
        ("search --network {network} --searcher random --budget 10 --workers 1", "mappings/00-first.json"),
        ("search --layer {network}:first --searcher random --budget 10", "result.json"),
        ("certify --network {network}", "certificates"),
        ("correlate --layer {network}:first --samples 300", "correlation.json"),
    ],
)
def test_nothing_is_written_through_a_link_under_out(
    dse: Dse, network: str, tmp_path: Path, command: str, link: str
) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    outside.mkdir()
    (out / link).parent.mkdir(parents=True)
    (out / link).symlink_to(outside)
    asked = [word.format(network=network) for word in command.split()]
    refused = dse(*asked, "--accelerator", "edge-small", "--out", str(out)).refused()
    assert refused.startswith(f"'{out / link}' is a link: ")
    assert list(outside.iterdir()) == []


def test_a_tight_accelerator_makes_a_network_without_totals(dse: Dse, network: str, tmp_path: Path) -> None:
    machine = tmp_path / "dwarf.toml"
    dwarf = Accelerator(4, l1_size=40, l2_size=64, noc_bandwidth=1, offchip_bandwidth=1)
    machine.write_text("\n".join(f"{name} = {value}" for name, value in dwarf.to_dict().items()))
    outcome = dse(
        "search", "--network", network, "--accelerator", str(machine), "--searcher", "random",
        "--budget", "100", "--workers", "1",
    )  # fmt: skip
    assert outcome.code == 1
    assert "no totals: some layer has no feasible mapping" in outcome.out
