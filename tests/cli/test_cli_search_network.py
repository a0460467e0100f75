"""`dse search --network`: what it prints and writes, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dse as package
from dse.domains.clustered.accelerator import Accelerator, load_accelerator
from dse.domains.clustered.problem import Problem
from dse.search.record import Record, read_parquet
from tests.cli.misbehaving_searchers import Stopping
from tests.conftest import Dse, Outcome
from workloads import load_layer

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
    assert first["failure"].startswith("RuntimeError: too few channels (misbehaving_searchers.py:")
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


def test_a_budget_may_be_that_of_the_whole_network(dse: Dse, network: str, tmp_path: Path) -> None:
    asked = (
        "search",
        "--network",
        network,
        "--accelerator",
        "edge",
        "--searcher",
        "random",
        "--workers",
        "1",
    )
    out = tmp_path / "out"
    found = dse(*asked, "--budget", "41", "--shared", "--json", "--out", str(out)).json
    assert (found["budget"], found["shared"]) == (41, True)
    assert [layer["samples"] for layer in found["layers"]] == [21, 20]
    assert [len(read_parquet(Path(layer["record"]))[0]) for layer in found["layers"]] == [21, 20]
    assert "at least 2" in dse(*asked, "--budget", "1", "--shared").refused()
    layer = ("search", "--layer", f"{network}:first", "--accelerator", "edge", "--budget", "5", "--shared")
    assert "--shared is for --network" in dse(*layer).refused()
