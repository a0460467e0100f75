"""`dse codesign`: what it shows and writes, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from dse.core.domains import domain_of
from tests.conftest import Dse

T = TypeVar("T")

SPACE = """
name = "small"
base = "edge"
cost_model = "loopnest"

[hardware]
num_pes = [4, 16]
l1_size = [8, 64]
l2_size = [256, 2048]

[constraints]
area_mm2 = 0.05
"""
NETWORK = """
name = "tiny"

[[layers]]
name = "fc"
type = "FC"
outputs = 12
inputs = 32
repeats = 2
"""


@pytest.fixture
def given(tmp_path: Path) -> tuple[str, ...]:
    """A network and a space of hardware, as options."""
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "net.toml").write_text(NETWORK)
    return ("--network", str(tmp_path / "net.toml"), "--hardware", str(tmp_path / "space.toml"), "--fresh")


def test_it_shows_the_machine_and_its_proof(dse: Dse, given: tuple[str, ...], tmp_path: Path) -> None:
    found = dse("codesign", *given, "--objective", "latency", "--verify", "--out", str(tmp_path / "out"))
    assert found.code == 0
    assert "optimal latency" in found.out
    assert found.out.count("verified:") == 7
    entry = json.loads((tmp_path / "out" / "codesign.json").read_text())
    bounded = re.search(r"proof: (\d+) box(?:es)? of machines bounded, ", found.out)
    kept = re.search(
        r"(\d+) box(?:es)? that were not divided further: 8 of 8 machines, 0 in two boxes",
        found.out,
    )
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert bounded
    assert kept
    assert (int(bounded[1]), int(kept[1])) == (entry["boxes"], len(certificate["boxes"]))
    assert entry["best"]["area_mm2"] <= entry["limits"]["area_mm2"] == 0.05
    assert ", area at most 0.05 mm2, cost model " in found.out
    mapping = tmp_path / "out" / "mappings" / "00-fc.json"
    assert json.loads(mapping.read_text()) == entry["best"]["layers"][0]["mapping"]


def test_leakage_is_a_machines_and_mean_power_is_energy_over_latency(
    dse: Dse, given: tuple[str, ...], tmp_path: Path
) -> None:
    found = dse("codesign", *given, "--out", str(tmp_path / "out"))
    best = json.loads((tmp_path / "out" / "codesign.json").read_text())["best"]
    totals, (layer,) = best["totals"], best["layers"]
    assert best["leakage_mw"] == pytest.approx(85 * best["area_mm2"])
    assert totals["mean_power_mw"] == pytest.approx(1e3 * totals["energy"] / totals["latency"])
    assert layer["mean_power_mw"] == pytest.approx(1e3 * layer["energy_nj"] / layer["cycles"])
    assert f"leakage {best['leakage_mw']:.4g} mW" in found.out
    assert f"mean power {totals['mean_power_mw']:,.4g} mW" in found.out


@pytest.mark.parametrize("how", [(), ("--searcher", "random", "--budget", "50")])
def test_the_machine_is_a_file_that_prices_its_mappings_alike(
    dse: Dse, given: tuple[str, ...], tmp_path: Path, how: tuple[str, ...]
) -> None:
    constants, out = tmp_path / "constants.toml", tmp_path / "out"
    constants.write_text("mac_pj = 7.5\n")
    found = dse("codesign", *given, *how, "--constants", str(constants), "--out", str(out), "--json").json
    head, *_ = (out / "machine.toml").read_text().splitlines()
    _, model = shlex.split(head.partition("Priced with ")[2])
    (layer,) = found["best"]["layers"]
    asked = ("--layer", str(tmp_path / "net.toml:fc"), "--accelerator", str(out / "machine.toml"))
    asked = (*asked, "--mapping", str(out / "mappings" / "00-fc.json"), "--cost-model", model)
    priced = dse("evaluate", *asked, "--json").json
    assert priced["cycles"] == layer["cycles"]
    assert priced["energy_nj"] == pytest.approx(layer["energy_nj"])
    assert dse("evaluate", *asked[:-1], "loopnest", "--json").json["energy_nj"] < priced["energy_nj"]


def test_a_machine_of_levels_is_a_file_too(dse: Dse, tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text(NETWORK)
    (tmp_path / "space.toml").write_text(
        'base = "gemmini"\ncost_model = "timeloop"\n[hardware]\n"levels.Scratchpad.size" = [4096, 8192]\n'
    )
    given = ("--network", str(tmp_path / "net.toml"), "--hardware", str(tmp_path / "space.toml"), "--fresh")
    found = dse("codesign", *given, "--objective", "latency", "--out", str(tmp_path / "out"), "--json").json
    machine = domain_of("timeloop").load_hardware(str(tmp_path / "out" / "machine.toml"), "timeloop")
    assert machine.to_dict() == found["best"]["hardware"]


def test_json_is_alone_on_stdout(dse: Dse, given: tuple[str, ...]) -> None:
    entry = dse("codesign", *given, "--json").json
    assert (entry["status"], entry["gap"], entry["machines"]) == ("optimal", 0, 8)


def test_that_no_machine_keeps_an_area_exits_with_1_and_says_so(
    dse: Dse, given: tuple[str, ...], tmp_path: Path
) -> None:
    found = dse("codesign", *given, "--area", "0.001", "--out", str(tmp_path / "none"))
    assert found.code == 1
    assert "no machine keeps the limits: that is proven; even the least has area 0.0151968" in found.out
    assert json.loads((tmp_path / "none" / "certificate.json").read_text())["network"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--area", "0"), "--area must be a finite number above 0, got 0"),
        (("--workers", "0"), "workers must be at least 1"),
        (("--objective", "area"), "no product of powers"),
        (("--cost-model", "timeloop"), "unknown figure 'num_pes'"),
        (("--cost-model", "maestro", "--leakage", "3"), "leakage_mw is limited, and nothing says"),
        (("--power", "3"), "--power is called --leakage now, as leakage is all that it was of"),
        (("--cache", "here"), "--fresh keeps no proofs"),
        (("--hardware", "none.toml"), "cannot be read"),
        (("--hardware", "edge"), "cannot be read"),
    ],
)
def test_wrong_options_are_refused(
    dse: Dse, given: tuple[str, ...], more: tuple[str, ...], said: str
) -> None:
    assert said in dse("codesign", *given, *more).refused()


def test_a_space_has_to_be_named(dse: Dse) -> None:
    assert "needs --network NETWORK and --hardware SPACE.toml" in dse("codesign").refused()


def test_workers_end_with_the_command_when_it_is_killed(given: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dse", "codesign", *given, "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        workers = wait_for(lambda: [pid for pid in children(process.pid) if spawned(pid)])
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    wait_for(lambda: not any(spawned(pid) for pid in workers))


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in found for child in path.read_text().split()]


def spawned(pid: int) -> bool:
    """Whether a process is a worker, and alive."""
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def wait_for(found: Callable[[], T]) -> T:
    """What a function returns as soon as that is true."""
    deadline = time.monotonic() + 60
    while not (now := found()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return now


def test_one_machine_for_several_networks(dse: Dse, given: tuple[str, ...]) -> None:
    network = given[1]
    found = dse("codesign", *given, "--also", f"{network}=3", "--objective", "latency", "--json").json
    alone = dse("codesign", *given, "--objective", "latency", "--json").json
    assert found["network"] == "tiny + 3 x tiny"
    assert found["best"]["cycles"] == 4 * alone["best"]["cycles"]
    assert "--also must be like" in dse("codesign", *given, "--also", f"{network}=few").refused()
    assert "at least 1" in dse("codesign", *given, "--also", f"{network}=0").refused()
